"""One function for all the formats a matrix is kept in."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .columns import find_column
from .errors import FileError, quoted
from .numpy_format import read_npy, read_npz
from .text import read_text

FORMATS = (".npy", ".npz", ".csv", ".tsv")

# What files start with, to tell a file that is not what its ending says. Text starts with none of these.
_SIGNATURES = {
    b"\x93NUMPY": ".npy",
    b"PK": ".npz",  # any zip archive, empty ones too
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"PAR1": "Parquet",
    b"\x89HDF": "HDF5",
    b"\xd0\xcf\x11\xe0": "Excel",
    b"%PDF": "PDF",
    b"\x89PNG": "PNG",
    b"\x80\x04": "pickle",
    b"\x80\x05": "pickle",
}


def read_matrix(
    path: str | os.PathLike[str],
    *,
    array: str | None = None,
    drop_columns: Sequence[str | int] = (),
    header: bool | None = None,
) -> np.ndarray:
    r"""Read a matrix of finite numbers, samples in rows, from a .npy, .npz, .csv or .tsv file.

    Parameters
    ----------
    path : str or path-like
        The file. Its ending says its format; a file that is something else is refused.
    array : str, optional
        Name of the array in a .npz file; by default the one named "X", else the only one with two dimensions.
    drop_columns : sequence of str or int, default=()
        Columns to leave out, such as an id or a label: by their name in the header line of a text file, else by
        number, counted from 0 or, negative, from the end.
    header : bool, optional
        Whether the first line of a text file names the columns. By default it does if it holds no numbers.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        C-contiguous; float32 where the file holds float32, float64 otherwise.

    Raises
    ------
    FileError
        If the file cannot be read as such a matrix. The message is one line.

    Notes
    -----
    Nothing is ever unpickled, and the size a header declares is compared with the memory available before data are
    read. Text must be UTF-8; a .csv file may be separated by semicolons or tabs instead of commas.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> from l0graph.files import read_matrix
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "points.csv"
    >>> _ = file.write_text("name,x,y\na,1,2\nb,3,4\n")
    >>> read_matrix(file, drop_columns=["name"])
    array([[1., 2.],
           [3., 4.]])
    """
    path = Path(path)
    columns = tuple(str(column) for column in drop_columns)
    try:
        ending = _check_kind(path)
        if array is not None and ending != ".npz":
            msg = f"{path}: only a .npz file holds named arrays: leave --array {array} out"
            raise FileError(msg)
        if ending in (".csv", ".tsv"):
            return read_text(path, drop_columns=columns, header=header)
        if header is not None:
            msg = f"{path}: only .csv and .tsv files have a header line: leave --header and --no-header out"
            raise FileError(msg)
        return _as_matrix(read_npy(path) if ending == ".npy" else read_npz(path, array), columns, path)
    except OSError as error:
        msg = f"{path}: {error.strerror or error}: check the path and its permissions"
        raise FileError(msg) from error


def _check_kind(path: Path) -> str:
    """Return the file's ending once it is known that its first bytes agree with it."""
    if not path.exists():
        msg = f"{path}: no such file: check the path"
        raise FileError(msg)
    if not path.is_file():
        msg = f"{path}: {'a directory' if path.is_dir() else 'not a regular file'}: give one of {', '.join(FORMATS)}"
        raise FileError(msg)
    ending = path.suffix.lower()
    if ending not in FORMATS:
        msg = f"{path}: cannot read files ending in {quoted(ending)}: give one of {', '.join(FORMATS)}"
        raise FileError(msg)
    with path.open("rb") as file:
        start = file.read(4096)
    if not start:
        msg = f"{path}: empty: no bytes in it"
        raise FileError(msg)
    found = next((kind for signature, kind in _SIGNATURES.items() if start.startswith(signature)), "")
    is_text = ending in (".csv", ".tsv")
    # A zero byte is in no text but UTF-16, which the decoder names better.
    binary = b"\0" in start and not start.startswith((b"\xff\xfe", b"\xfe\xff"))
    if (is_text and (found or binary)) or (not is_text and found != ending):
        msg = f"{path}: not a {ending} file but {_described(found, binary)}: convert it, or give it its true ending"
        raise FileError(msg)
    return ending


def _described(found: str, binary: bool) -> str:
    if found:
        return "a zip archive" if found == ".npz" else f"a {found} file"
    return "some other binary file" if binary else "some other file"


def _as_matrix(X: np.ndarray, drop_columns: tuple[str, ...], path: Path) -> np.ndarray:
    """Return the array as a C-contiguous matrix of finite floats without the dropped columns."""
    dropped = [find_column(column, None, X.shape[1], path) for column in drop_columns]
    if dropped:
        X = np.delete(X, dropped, axis=1)
    if 0 in X.shape:
        msg = f"{path}: an empty matrix of shape {X.shape}: samples and features are needed"
        raise FileError(msg)
    X = np.ascontiguousarray(X, dtype=np.float32 if X.dtype == np.float32 else np.float64)
    for row, values in enumerate(X):
        if not np.isfinite(values).all():
            column = int(np.argmin(np.isfinite(values)))
            msg = f"{path}: row {row}, column {column} is {values[column]}: finite numbers are needed, fill or drop it"
            raise FileError(msg)
    return X

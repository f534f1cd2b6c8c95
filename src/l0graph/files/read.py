"""One function for all the formats a matrix is kept in."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .columns import Columns
from .errors import FileError, quoted
from .hdf5 import read_hdf5
from .images import read_images
from .matlab import read_matlab
from .numpy_format import read_npy, read_npz
from .parquet import read_parquet
from .table import Table
from .text import read_lines, read_text

STANDARD_INPUT = "-"

# What the first bytes must say of a file with such an ending; text has no such sign.
_KINDS: dict[str, tuple[str, ...]] = {
    ".npy": (".npy",),
    ".npz": ("zip",),
    ".csv": (),
    ".tsv": (),
    ".parquet": ("Parquet",),
    ".mat": ("MATLAB 5", "MATLAB 7.3"),
    ".h5": ("HDF5",),
    ".hdf5": ("HDF5",),
    ".h5ad": ("HDF5",),
}
FORMATS = tuple(_KINDS)

# What files start with, to tell a file that is not what its ending says. Text starts with none of these.
_SIGNATURES = {
    b"\x93NUMPY": ".npy",
    b"PK": "zip",  # empty archives too
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"PAR1": "Parquet",
    b"\x89HDF": "HDF5",
    b"MATLAB 5.0 MAT": "MATLAB 5",
    b"MATLAB 7.3 MAT": "MATLAB 7.3",
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
    r"""Read a matrix of finite numbers, samples in rows, from a file or a folder of images.

    Parameters
    ----------
    path : str or path-like
        The file; see `read_table`.
    array : str, optional
        Name of the matrix in a file of several.
    drop_columns : sequence of str or int, default=()
        Columns to leave out, by name or number.
    header : bool, optional
        Whether the first line of a text file names the columns.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        C-contiguous; float32 where the file holds float32, float64 otherwise.

    Raises
    ------
    FileError
        If the file cannot be read as such a matrix. The message is one line.

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
    return read_table(path, array=array, drop_columns=drop_columns, header=header).X


def read_table(
    path: str | os.PathLike[str],
    *,
    array: str | None = None,
    drop_columns: Sequence[str | int] = (),
    label_column: str | int | None = None,
    id_column: str | int | None = None,
    header: bool | None = None,
    transpose: bool = False,
    resize: tuple[int, int] | None = None,
    color: bool = False,
) -> Table:
    r"""Read a matrix, and with it the labels and ids of its samples, from a file or a folder of images.

    Parameters
    ----------
    path : str or path-like
        A file ending in .npy, .npz, .csv, .tsv, .parquet, .mat (MATLAB 5 to 7.3), .h5, .hdf5 or .h5ad; a folder of
        images; or "-" for CSV from standard input. A file that is not what its ending says is refused.
    array : str, optional
        Name of the matrix in a .npz, .mat or HDF5 file; by default the one named "X", else the only one.
    drop_columns : sequence of str or int, default=()
        Columns that are no features: by name, where columns have names, else by number, counted from 0 or, negative,
        from the end.
    label_column : str or int, optional
        The column of known classes. In files of several arrays also the name of an array of one value a sample, of a
        column of ``obs`` in .h5ad; for images "folder", the folders they lie in.
    id_column : str or int, optional
        The column of the samples' names or numbers; given like ``label_column``. The samples of .h5ad files and
        images bring their names along.
    header : bool, optional
        Whether the first line of a text file names the columns. By default it does if it holds no numbers.
    transpose : bool, default=False
        Whether samples are columns. Columns are then chosen, and named, before they become samples.
    resize : tuple of int, optional
        Width and height to scale images to; by default all must be of one size.
    color : bool, default=False
        Read images in colour, three features a pixel, instead of grey.

    Returns
    -------
    Table

    Raises
    ------
    FileError
        If the file cannot be read as such a matrix. The message is one line.

    Notes
    -----
    Nothing is ever unpickled, no link in a file is followed to another, and the size that a file declares is compared
    with the memory available before data are read. Sparse matrices become dense. Text must be UTF-8; a .csv file may
    be separated by semicolons or tabs instead of commas.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from l0graph.files import read_table
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "points.csv"
    >>> _ = file.write_text("name,x,y,kind\na,1,2,cat\nb,3,4,dog\n")
    >>> table = read_table(file, id_column="name", label_column="kind")
    >>> table.X.tolist(), table.ids.tolist(), table.labels.tolist()
    ([[1.0, 2.0], [3.0, 4.0]], ['a', 'b'], ['cat', 'dog'])
    """
    columns = Columns(
        tuple(str(column) for column in drop_columns),
        None if label_column is None else str(label_column),
        None if id_column is None else str(id_column),
    )
    if str(path) == STANDARD_INPUT:
        _refuse_options("standard input", ".csv", array, header, resize, color)
        file = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8-sig", newline="")
        try:
            table = read_lines(file, "standard input", columns, header, None)
        finally:
            file.detach()  # which would close standard input else
        return (table.transposed("standard input") if transpose else table).checked("standard input")
    path = Path(path)
    try:
        ending, found = _check_kind(path)
        _refuse_options(str(path), ending, array, header, resize, color)
        if ending == "":
            table = read_images(path, columns, resize=resize, color=color)
        elif ending in (".csv", ".tsv"):
            table = read_text(path, columns, header)
        elif ending == ".parquet":
            table = read_parquet(path, columns)
        elif ending == ".npy":
            table = read_npy(path, columns)
        elif ending == ".npz":
            table = read_npz(path, columns, array)
        elif found == "MATLAB 5":
            table = read_matlab(path, columns, array)
        else:
            table = read_hdf5(path, columns, array)
        return (table.transposed(path) if transpose else table).checked(path)
    except OSError as error:
        msg = f"{path}: {error.strerror or error}: check the path and its permissions"
        raise FileError(msg) from error


def _refuse_options(
    where: str, ending: str, array: str | None, header: bool | None, resize: tuple[int, int] | None, color: bool
) -> None:
    """Raise if an option was given that means nothing for a file of this kind."""
    if array is not None and ending in ("", ".npy", ".csv", ".tsv", ".parquet"):
        msg = f"{where}: only .npz, .mat and HDF5 files hold named arrays: leave --array {array} out"
        raise FileError(msg)
    if header is not None and ending not in (".csv", ".tsv"):
        msg = f"{where}: only .csv and .tsv files have a header line: leave --header and --no-header out"
        raise FileError(msg)
    if (resize is not None or color) and ending != "":
        msg = f"{where}: no folder of images: leave --resize and --color out"
        raise FileError(msg)


def _check_kind(path: Path) -> tuple[str, str]:
    """Return the file's ending, none for a directory, and what its first bytes say, once they agree."""
    if not path.exists():
        msg = f"{path}: no such file: check the path"
        raise FileError(msg)
    if path.is_dir():
        return "", ""
    if not path.is_file():
        msg = f"{path}: not a regular file: give one of {', '.join(FORMATS)}, or - for standard input"
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
    expected = _KINDS[ending]
    # A zero byte is in no text but UTF-16, which the decoder names better.
    binary = b"\0" in start and not start.startswith((b"\xff\xfe", b"\xfe\xff"))
    if (not expected and (found or binary)) or (expected and found not in expected):
        msg = f"{path}: not a {ending} file but {_described(found, binary)}: convert it, or give it its true ending"
        raise FileError(msg)
    return ending, found


def _described(found: str, binary: bool) -> str:
    if found:
        return "a zip archive" if found == "zip" else f"a {found} file"
    return "some other binary file" if binary else "some other file"

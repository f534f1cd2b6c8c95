"""Results are written whole or not at all."""

from __future__ import annotations

import csv
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

from .errors import FileError, optional_package, quoted

STANDARD_OUTPUT = "-"
LABEL_FORMATS = (".csv", ".tsv", ".parquet", ".npy")


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    r"""Open a file that appears under its name only when the block ends well.

    Parameters
    ----------
    path : str or path-like
        Where the file will be. A file already there stays as it is until it is replaced in one step, its permissions
        kept; a symbolic link is followed. Something that is no regular file, such as a pipe, is written to directly.
    mode : {"w", "wb"}, default="w"
        Text, in UTF-8 with "\n" at line ends, or bytes.

    Yields
    ------
    file : file object
        Opened under a temporary name in the same directory, which is removed when the block raises.
    """
    text: dict[str, Any] = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        with target.open(mode, **text) as file:
            yield file
        return
    draft = target.with_name(f".l0graph-{secrets.token_hex(6)}.tmp")
    try:
        # "x": never into a file that is there already; its permissions are those of any new file.
        with draft.open(mode.replace("w", "x"), **text) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            draft.chmod(target.stat().st_mode & 0o7777)
        draft.replace(target)
    except BaseException:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise


def check_target(path: str, formats: tuple[str, ...] = LABEL_FORMATS, *, or_output: bool = True) -> None:
    """Raise unless a result can be written to ``path``: asked before the computation, not after.

    Parameters
    ----------
    path : str
        The file, or "-" for standard output if ``or_output``.
    formats : tuple of str
        Endings, one of which the file must have; none for any name.
    or_output : bool, default=True
        Whether standard output will do.

    Raises
    ------
    FileError
        If it cannot.
    """
    if path == STANDARD_OUTPUT and or_output:
        if sys.stdout is None:
            msg = "standard output is closed: name a file instead"
            raise FileError(msg)
        return
    target = Path(path)
    choice = f", ending in {' or '.join(formats)}" if formats else ""
    if target.is_dir():
        msg = f"{path}: a directory: give the name of a file in it{choice}"
        raise FileError(msg)
    if is_device(target):
        return
    if formats and target.suffix.lower() not in formats:
        msg = f"{path}: cannot write files ending in {quoted(target.suffix)}: name it {' or '.join(formats)}"
        raise FileError(msg)
    directory = target.resolve().parent
    if not directory.is_dir():
        msg = f"{path}: there is no directory {directory}: create it first"
        raise FileError(msg)
    if not os.access(directory, os.W_OK | os.X_OK):
        msg = f"{path}: no permission to write in {directory}: choose another directory"
        raise FileError(msg)
    if target.suffix.lower() == ".parquet":
        optional_package("pyarrow", path)


def write_labels(path: str, labels: np.ndarray, *, ids: np.ndarray | None = None, id_name: str = "id") -> None:
    """Write the labels of the samples to a file or, for "-", to standard output.

    Parameters
    ----------
    path : str
        A .csv, .tsv or .parquet file gets two columns, ``sample``, counted from 0, and ``label``; a .npy file the
        array of labels. Standard output and pipes get the same as a .csv file.
    labels : ndarray of shape (n_samples,)
        Label of each sample.
    ids : ndarray of shape (n_samples,), optional
        What to call the samples instead of counting them; not in a .npy file.
    id_name : str, default="id"
        Name of that column.

    Raises
    ------
    FileError
        If nothing can be written there.
    """
    check_target(path)
    names = np.arange(len(labels)) if ids is None else ids
    header = ("sample" if ids is None else "id" if id_name == "label" else id_name, "label")
    if path == STANDARD_OUTPUT:
        try:
            _write_table(sys.stdout, header, names, labels)
            sys.stdout.flush()  # here, where a failure can still be reported
        except BrokenPipeError:
            raise
        except OSError as error:
            msg = f"standard output: {error.strerror or error}: not all labels were written"
            raise FileError(msg) from error
        return
    ending = Path(path).suffix.lower()
    if ending == ".npy":
        write_array(path, labels)
    elif ending == ".parquet":
        with whole_or_not_at_all(path, "wb") as file:
            _write_parquet(file, header, names, labels)
    else:
        with whole_or_not_at_all(path) as file:
            _write_table(file, header, names, labels, "\t" if ending == ".tsv" else ",")


def write_array(path: str, array: np.ndarray) -> None:
    """Write an array to a .npy file."""
    with whole_or_not_at_all(path, "wb") as file:
        np.save(file, array, allow_pickle=False)


def write_sparse(path: str, matrix: sp.csr_array) -> None:
    """Write a sparse matrix to a .npz file that `scipy.sparse.load_npz` reads; nothing in it is pickled."""
    with whole_or_not_at_all(path, "wb") as file:
        sp.save_npz(file, matrix, compressed=False)


@contextmanager
def whole_or_not_at_all(path: str | os.PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    """Open a file as `atomic_write` does, and say in one line why nothing was written."""
    try:
        with atomic_write(path, mode) as file:
            yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        msg = f"{path}: {error.strerror or error}: nothing was written"
        raise FileError(msg) from error


def _write_table(file: IO[str], header: tuple[str, str], ids: np.ndarray, labels: np.ndarray, mark: str = ",") -> None:
    writer = csv.writer(file, delimiter=mark, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(zip(ids.tolist(), labels.tolist(), strict=True))


def _write_parquet(file: IO[bytes], header: tuple[str, str], ids: np.ndarray, labels: np.ndarray) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({header[0]: pa.array(ids.tolist()), header[1]: pa.array(labels)}), file)


def is_device(target: Path) -> bool:
    """Return whether something is there that is neither file nor directory."""
    return target.exists() and not target.is_file() and not target.is_dir()

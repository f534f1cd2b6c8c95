"""Results are written whole or not at all."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from .errors import FileError, quoted

STANDARD_OUTPUT = "-"
LABEL_FORMATS = (".csv", ".npy")


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


def check_target(path: str) -> None:
    """Raise unless labels can be written to ``path``: asked before the computation, not after."""
    if path == STANDARD_OUTPUT:
        return
    target = Path(path)
    if target.is_dir():
        msg = f"{path}: a directory: give the name of a file in it, ending in {' or '.join(LABEL_FORMATS)}"
        raise FileError(msg)
    if _is_device(target):
        return
    if target.suffix.lower() not in LABEL_FORMATS:
        msg = f"{path}: cannot write files ending in {quoted(target.suffix)}: name it {' or '.join(LABEL_FORMATS)}"
        raise FileError(msg)
    directory = target.resolve().parent
    if not directory.is_dir():
        msg = f"{path}: there is no directory {directory}: create it first"
        raise FileError(msg)
    if not os.access(directory, os.W_OK | os.X_OK):
        msg = f"{path}: no permission to write in {directory}: choose another directory"
        raise FileError(msg)


def write_labels(path: str, labels: np.ndarray) -> None:
    """Write the labels of the samples to a file or, for "-", to standard output.

    Parameters
    ----------
    path : str
        A .csv file gets a header line ``sample,label`` and one line a sample, samples counted from 0; a .npy file
        the array. Standard output and pipes get the same as a .csv file.
    labels : ndarray of shape (n_samples,)
        Label of each sample.

    Raises
    ------
    FileError
        If nothing can be written there.
    """
    check_target(path)
    if path == STANDARD_OUTPUT:
        _write_table(sys.stdout, labels)
        sys.stdout.flush()  # here, where a broken pipe can still be reported
        return
    try:
        if Path(path).suffix.lower() == ".npy":
            with atomic_write(path, "wb") as file:
                np.save(file, labels, allow_pickle=False)
        else:
            with atomic_write(path) as file:
                _write_table(file, labels)
    except OSError as error:
        msg = f"{path}: {error.strerror or error}: the labels were not written"
        raise FileError(msg) from error


def _write_table(file: IO[str], labels: np.ndarray) -> None:
    file.write("sample,label\n")
    file.writelines(f"{sample},{label}\n" for sample, label in enumerate(labels.tolist()))


def _is_device(target: Path) -> bool:
    return target.exists() and not target.is_file() and not target.is_dir()

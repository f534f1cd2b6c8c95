"""Arrays from .npy and .npz files. The header is read and judged before any data; nothing is ever unpickled."""

from __future__ import annotations

import io
import math
import os
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from .columns import Columns
from .errors import FileError, first_line, listed, quoted
from .table import Table, check_declared, check_vector, split_columns

NPY_MAGIC = b"\x93NUMPY"
ZIP_MAGIC = b"PK\x03\x04"

# NumPy refuses longer headers than 10,000 bytes itself, but reads them first.
_LONGEST_HEADER = 16_384


@dataclass(frozen=True)
class Header:
    """What a .npy header declares, and where the data begin."""

    shape: tuple[int, ...]
    dtype: np.dtype
    offset: int

    @property
    def n_bytes(self) -> int:
        """Declared size of the data."""
        return math.prod(self.shape) * self.dtype.itemsize

    def __str__(self) -> str:
        return f"{self.dtype} of shape {self.shape}"


def read_npy(path: Path, columns: Columns) -> Table:
    """Return the array in a .npy file."""
    with path.open("rb") as file:
        header = read_header(file, str(path))
        check_declared(header.dtype, header.shape, str(path))
        present = os.fstat(file.fileno()).st_size - header.offset
        if present < header.n_bytes:
            msg = f"{path}: truncated: {present} bytes of data, the header declares {header.n_bytes}: write it again"
            raise FileError(msg)
        return split_columns(read_array(file, header, str(path)), columns, path)


def read_npz(path: Path, columns: Columns, array: str | None = None) -> Table:
    """Return one array of a .npz file: the named one, else "X", else the only 2-D one; labels may be another."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = {
                info.filename.removesuffix(".npy"): info
                for info in archive.infolist()
                if info.filename.endswith(".npy")
            }
            name = array if array is not None else _choose(archive, members, path)
            if name not in members:
                held = _contents(archive, members)
                msg = f"{path}: holds no array {quoted(name)}; it holds {held}: choose one with --array"
                raise FileError(msg)
            what = f"{path}: array {quoted(name)}"
            with archive.open(members[name]) as file:
                header = read_header(file, what)
                check_declared(header.dtype, header.shape, what)
                X = read_array(file, header, what)
            return split_columns(X, columns, path, lambda name: _vector(archive, members, name, path))
    except (zipfile.BadZipFile, zlib.error, EOFError, UnicodeDecodeError, NotImplementedError, RuntimeError) as error:
        # Truncated or damaged archives, encrypted members and unknown compression, in the words of zipfile.
        msg = f"{path}: not a readable .npz archive ({error}): write it again with numpy.savez"
        raise FileError(msg) from error


def _vector(archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo], name: str, path: Path) -> np.ndarray | None:
    """Return an array of one value a sample, None if there is none of this name."""
    if name not in members:
        return None
    what = f"{path}: array {quoted(name)}"
    with archive.open(members[name]) as file:
        header = read_header(file, what)
        check_vector(header.dtype, header.shape, what)
        return read_array(file, header, what).ravel()


def _choose(archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo], path: Path) -> str:
    """Return the name of the array that can only be meant."""
    if "X" in members:
        return "X"
    matrices = [name for name in members if _is_matrix(archive, members[name])]
    if len(matrices) == 1:
        return matrices[0]
    found = "no 2-D array" if not matrices else f"{len(matrices)} 2-D arrays, none of them named X"
    advice = "choose one with --array" if matrices else "one of shape (n_samples, n_features) is needed"
    if {"data", "indices", "indptr"} <= members.keys():
        advice = "a sparse matrix cannot be read, save its toarray()"
    msg = f"{path}: {found}; it holds {_contents(archive, members)}: {advice}"
    raise FileError(msg)


def _is_matrix(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bool:
    try:
        with archive.open(member) as file:
            return len(read_header(file, member.filename).shape) == 2
    except FileError:
        return False


def _contents(archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo]) -> str:
    """Return the names of the arrays with what their headers declare."""
    described = []
    for name, member in list(members.items())[:8]:
        with archive.open(member) as file:
            try:
                described.append(f"{quoted(name)} ({read_header(file, name)})")
            except FileError:
                described.append(f"{quoted(name)} (unreadable)")
    return listed(described + list(members)[8:]) if members else "no array at all"


def read_header(file: IO[bytes], what: str) -> Header:
    """Return what the header declares, reading a bounded number of bytes."""
    head = io.BytesIO(file.read(_LONGEST_HEADER))
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    try:
        version = np.lib.format.read_magic(head)
        if version not in readers:
            msg = f"format version {version[0]}.{version[1]}, where numbers have 1.0 or 2.0"
            raise ValueError(msg)
        shape, _, dtype = readers[version](head)
    # A damaged header makes Python's parser, which NumPy hands it to, fail in a dozen ways.
    except Exception as error:
        msg = f"{what}: not a readable .npy array, truncated or damaged ({first_line(error)}): save it again"
        raise FileError(msg) from error
    if any(extent < 0 for extent in shape):
        msg = f"{what}: the header declares the impossible shape {shape}: save it again"
        raise FileError(msg)
    return Header(shape, dtype, head.tell())


def read_array(file: IO[bytes], header: Header, what: str) -> np.ndarray:
    """Return the array whose header was read from the file."""
    file.seek(0)
    try:
        return np.lib.format.read_array(file, allow_pickle=False)
    except ValueError as error:
        msg = f"{what}: the data do not match their header, {header} ({first_line(error)}): write it again"
        raise FileError(msg) from error

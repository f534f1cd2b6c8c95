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

from .errors import FileError, listed, quoted
from .memory import check_fits

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


def read_npy(path: Path) -> np.ndarray:
    """Return the array in a .npy file."""
    with path.open("rb") as file:
        header = _read_header(file, str(path))
        _check_numeric(header, str(path))
        present = os.fstat(file.fileno()).st_size - header.offset
        if present < header.n_bytes:
            msg = f"{path}: truncated: {present} bytes of data, the header declares {header.n_bytes}: write it again"
            raise FileError(msg)
        return _read_array(file, header, str(path))


def read_npz(path: Path, array: str | None = None) -> np.ndarray:
    """Return one array of a .npz file: the named one, else "X", else the only 2-D one."""
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
                header = _read_header(file, what)
                _check_numeric(header, what)
                return _read_array(file, header, what)
    except (zipfile.BadZipFile, zlib.error, EOFError, UnicodeDecodeError, NotImplementedError, RuntimeError) as error:
        # Truncated or damaged archives, encrypted members and unknown compression, in the words of zipfile.
        msg = f"{path}: not a readable .npz archive ({error}): write it again with numpy.savez"
        raise FileError(msg) from error


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
            return len(_read_header(file, member.filename).shape) == 2
    except FileError:
        return False


def _contents(archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo]) -> str:
    """Return the names of the arrays with what their headers declare."""
    described = []
    for name, member in list(members.items())[:8]:
        with archive.open(member) as file:
            try:
                described.append(f"{quoted(name)} ({_read_header(file, name)})")
            except FileError:
                described.append(f"{quoted(name)} (unreadable)")
    return listed(described + list(members)[8:]) if members else "no array at all"


def _read_header(file: IO[bytes], what: str) -> Header:
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
        msg = f"{what}: not a readable .npy array, truncated or damaged ({_first_line(error)}): save it again"
        raise FileError(msg) from error
    if any(extent < 0 for extent in shape):
        msg = f"{what}: the header declares the impossible shape {shape}: save it again"
        raise FileError(msg)
    return Header(shape, dtype, head.tell())


def _check_numeric(header: Header, what: str) -> None:
    """Raise unless the array is a real numeric matrix that fits in memory."""
    if header.dtype.hasobject:
        msg = f"{what}: holds Python objects (dtype {header.dtype}), never unpickled: save numbers, X.astype(float)"
        raise FileError(msg)
    if header.dtype.kind == "c":
        msg = f"{what}: holds complex numbers (dtype {header.dtype}): save their real part or absolute value"
        raise FileError(msg)
    if header.dtype.kind not in "fiub":
        msg = f"{what}: dtype {header.dtype} is not numeric: save numbers, X.astype(float)"
        raise FileError(msg)
    if len(header.shape) != 2:
        msg = f"{what}: has shape {header.shape}; a matrix of shape (n_samples, n_features) is needed: reshape it"
        raise FileError(msg)
    # Integers and half precision become float64 beside the original.
    converted = 0 if header.dtype in (np.float32, np.float64) else 8 * math.prod(header.shape)
    check_fits(header.n_bytes + converted, what)


def _read_array(file: IO[bytes], header: Header, what: str) -> np.ndarray:
    file.seek(0)
    try:
        return np.lib.format.read_array(file, allow_pickle=False)
    except ValueError as error:
        msg = f"{what}: the data do not match their header, {header} ({_first_line(error)}): write it again"
        raise FileError(msg) from error


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__

"""Matrices from .mat files of MATLAB up to version 7; version 7.3 is HDF5, see there.

Read here and not by SciPy, whose reader takes the sizes in a file on trust and can crash on a damaged one.
"""

from __future__ import annotations

import math
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from .columns import Columns
from .errors import FileError, first_line, listed, quoted
from .memory import check_fits
from .sparse import compressed
from .table import Table, check_vector, of_strings, split_columns

_HEADER = 128
_MATRIX, _COMPRESSED = 14, 15
_UTF8, _UTF16, _UTF32 = 16, 17, 18
_STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
"""How numbers are kept, which need not be their class: MATLAB keeps whole numbers short."""
_CLASSES = dict(
    enumerate(
        (
            *("cell", "struct", "object", "char", "sparse", "double", "single"),
            *("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "function", "opaque"),
        ),
        start=1,
    )
)
_NUMBERS = set(_CLASSES.values()) - {"cell", "struct", "object", "char", "function", "opaque"}
_COMPLEX, _CHUNK, _LONGEST_NAME, _MOST_EXTENTS = 0x0800, 2**16, 1024, 32


@dataclass(frozen=True)
class _Variable:
    """What a file declares of a variable, and where its values begin."""

    kind: str
    shape: tuple[int, ...]
    is_complex: bool
    values: _Element

    def __str__(self) -> str:
        return f"{self.kind} of shape {self.shape}"


def read_matlab(path: Path, columns: Columns, array: str | None) -> Table:
    """Return one matrix of a .mat file: the named one, else "X", else the only one; labels may be another variable."""
    try:
        with path.open("rb") as file:
            held = _variables(file)
            name = array if array is not None else _choose(held, path)
            if name not in held:
                msg = f"{path}: holds no variable {quoted(name)}; it holds {_contents(held)}: choose one with --array"
                raise FileError(msg)
            X = _matrix(held[name], f"{path}: variable {quoted(name)}")
            return split_columns(X, columns, path, lambda vector: _vector(held, vector, path))
    except FileError:
        raise
    except (ValueError, struct.error, zlib.error, EOFError, OverflowError) as error:
        msg = f"{path}: not a readable .mat file, truncated or damaged ({first_line(error)}): save it again, with -v7"
        raise FileError(msg) from error


class _Element:
    """The bytes of a variable, inflated as they are read; never more than asked for."""

    def __init__(self, file: IO[bytes], start: int, size: int, *, compressed: bool, order: str) -> None:
        self.file, self.at, self.end, self.order = file, start, start + size, order
        self.inflate = zlib.decompressobj() if compressed else None

    def read(self, size: int) -> bytes:
        """Return exactly so many bytes."""
        if self.inflate is None:
            content = self._stored(size)
        else:
            parts, left = [], size
            while left:
                content = self.inflate.unconsumed_tail or self._stored(_CHUNK)
                part = self.inflate.decompress(content, left)
                if not part and not content:
                    break
                parts.append(part)
                left -= len(part)
            content = b"".join(parts)
        if len(content) < size:
            msg = f"it ends {size - len(content)} bytes early"
            raise EOFError(msg)
        return content

    def _stored(self, size: int) -> bytes:
        self.file.seek(self.at)
        content = self.file.read(min(size, self.end - self.at))
        self.at += len(content)
        return content

    def tag(self) -> tuple[int, int, bytes | None]:
        """Return the type and size of the next part, and its bytes where they are so few that they are in the tag."""
        head = self.read(8)
        kind, size = struct.unpack(f"{self.order}II", head)
        if kind >> 16:
            return kind & 0xFFFF, kind >> 16, head[4 : 4 + (kind >> 16)]
        return kind, size, None

    def numbers(self, most: int) -> np.ndarray:
        """Return the next part, at most so many numbers."""
        kind, size, content = self.tag()
        if kind not in _STORED:
            msg = f"numbers of the unknown type {kind}"
            raise ValueError(msg)
        dtype = np.dtype(self.order + _STORED[kind])
        if size > most * dtype.itemsize or size % dtype.itemsize:
            msg = f"{size} bytes where {most} numbers of {dtype.itemsize} are declared"
            raise ValueError(msg)
        return np.frombuffer(self._rest(size) if content is None else content, dtype=dtype)

    def text(self, most: int) -> str:
        """Return the next part, text of at most so many characters."""
        kind, size, content = self.tag()
        codec = {_UTF16: "utf-16", 4: "utf-16", _UTF32: "utf-32"}.get(kind, "utf-8")
        if size > 4 * most:
            msg = f"{size} bytes where {most} characters are declared"
            raise ValueError(msg)
        content = self._rest(size) if content is None else content
        suffix = "" if codec == "utf-8" else "-le" if self.order == "<" else "-be"
        return content.decode(codec + suffix, "replace")

    def _rest(self, size: int) -> bytes:
        content = self.read(size)
        if size % 8:
            self.read(8 - size % 8)
        return content


def _variables(file: IO[bytes]) -> dict[str, _Variable]:
    """Return what the file declares, reading the beginning of each variable only."""
    head = file.read(_HEADER)
    order = {b"IM": "<", b"MI": ">"}.get(head[126:128])
    if order is None:
        msg = "its header is not one"
        raise ValueError(msg)
    end = file.seek(0, 2)
    held: dict[str, _Variable] = {}
    at = _HEADER
    while at < end:
        file.seek(at)
        kind, size = struct.unpack(f"{order}II", file.read(8))
        if at + 8 + size > end:
            msg = f"a variable of {size} bytes where {end - at - 8} are left"
            raise ValueError(msg)
        element = _Element(file, at + 8, size, compressed=kind == _COMPRESSED, order=order)
        at += 8 + size
        if kind == _COMPRESSED:
            kind = element.tag()[0]
        if kind == _MATRIX:
            name, variable = _declared(element)
            if name:  # what MATLAB keeps for itself has none
                held[name] = variable
    return held


def _declared(element: _Element) -> tuple[str, _Variable]:
    flags = element.numbers(2)
    if len(flags) < 2:
        msg = "a variable without flags"
        raise ValueError(msg)
    kind = _CLASSES.get(int(flags[0]) & 0xFF, "unknown")
    shape = tuple(element.numbers(_MOST_EXTENTS).tolist()) if kind != "opaque" else ()
    if any(extent < 0 for extent in shape):
        msg = f"the impossible shape {shape}"
        raise ValueError(msg)
    return element.text(_LONGEST_NAME), _Variable(kind, shape, bool(flags[0] & _COMPLEX), element)


def _matrix(variable: _Variable, what: str) -> np.ndarray:
    if variable.kind not in _NUMBERS or len(variable.shape) != 2:
        msg = f"{what}: {variable}, where a matrix of numbers is needed: choose another with --array"
        raise FileError(msg)
    if variable.is_complex:
        msg = f"{what}: holds complex numbers: save their real part or absolute value"
        raise FileError(msg)
    rows, columns = variable.shape
    # As it is kept, and as floats.
    check_fits(2 * 8 * rows * columns, what)
    if variable.kind == "sparse":
        indices = variable.values.numbers(rows * columns)
        starts = variable.values.numbers(columns + 1)
        data = variable.values.numbers(rows * columns).astype(np.float64)
        used = int(starts[-1]) if len(starts) else 0
        return compressed(data[:used], indices[:used], starts, variable.shape, by_rows=False).toarray()
    values = variable.values.numbers(rows * columns)
    if len(values) != rows * columns:
        msg = f"{len(values)} numbers for the shape {variable.shape}"
        raise ValueError(msg)
    dtype = np.float32 if variable.kind == "single" else np.float64
    return values.reshape(variable.shape, order="F").astype(dtype)


def _vector(held: dict[str, _Variable], name: str, path: Path) -> np.ndarray | None:
    """Return a variable of one value a sample, numbers or rows of text."""
    if name not in held:
        return None
    variable = held[name]
    what = f"{path}: variable {quoted(name)}"
    if variable.kind == "char" and len(variable.shape) == 2:
        n_rows, width = variable.shape
        check_fits(8 * n_rows * width, what)
        text = variable.values.text(n_rows * width)
        if len(text) != n_rows * width:
            msg = f"{len(text)} characters for the shape {variable.shape}"
            raise ValueError(msg)
        return of_strings([text[row::n_rows].strip() for row in range(n_rows)])
    if variable.kind not in _NUMBERS - {"sparse"} or variable.is_complex:
        msg = f"{what}: {variable}, where labels and ids are numbers or rows of text: name another"
        raise FileError(msg)
    check_vector(np.dtype(np.float64), variable.shape, what)
    return np.array(variable.values.numbers(math.prod(variable.shape)))


def _choose(held: dict[str, _Variable], path: Path) -> str:
    """Return the name of the variable that can only be meant."""
    if "X" in held:
        return "X"
    matrices = [
        name for name, each in held.items() if each.kind in _NUMBERS and len(each.shape) == 2 and 1 not in each.shape
    ]
    if len(matrices) == 1:
        return matrices[0]
    found = f"{len(matrices)} matrices of numbers, none named X" if matrices else "no matrix of numbers"
    advice = "choose one with --array" if matrices else "one of shape (n_samples, n_features) is needed"
    msg = f"{path}: {found}; it holds {_contents(held)}: {advice}"
    raise FileError(msg)


def _contents(held: dict[str, _Variable]) -> str:
    return listed([f"{quoted(name)} ({each})" for name, each in held.items()]) if held else "no variable at all"

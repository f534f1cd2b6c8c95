"""Matrices from .csv and .tsv files, cell by cell, so that what is wrong can be named by line and column."""

from __future__ import annotations

import csv
import warnings
from array import array
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import IO

import numpy as np

from .columns import column_number, find_column
from .errors import FileError, quoted


def read_text(path: Path, *, drop_columns: tuple[str, ...] = (), header: bool | None = None) -> np.ndarray:
    """Return the finite numbers in a .csv or .tsv file, one row a line; ``header=None`` looks at the first line."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _read_table(file, path, drop_columns, header)
    except UnicodeDecodeError as error:
        start = error.object[:2]
        found = "it seems to be UTF-16" if start in (b"\xff\xfe", b"\xfe\xff") else f"{error.reason}"
        msg = f"{path}: not UTF-8 text ({found}): save it as CSV in UTF-8"
        raise FileError(msg) from error
    except csv.Error as error:
        msg = f"{path}: not readable as a table ({error}): is a quotation mark left open?"
        raise FileError(msg) from error


def _read_table(file: IO[str], path: Path, drop_columns: tuple[str, ...], header: bool | None) -> np.ndarray:
    reader = csv.reader(file, delimiter=_delimiter(file, path))
    rows: Iterator[tuple[int, list[str]]]
    rows = ((reader.line_num, row) for row in reader if any(map(str.strip, row)))
    line, first = next(rows, (0, []))
    if not first:
        msg = f"{path}: empty: one line a sample is needed"
        raise FileError(msg)
    first = [cell.strip() for cell in first]
    if header is None:
        header = _is_header(first, drop_columns, f"{path}: line {line}")
    names = first if header else None
    dropped = {find_column(column, names, len(first), path) for column in drop_columns}
    kept = [column for column in range(len(first)) if column not in dropped]
    if not kept:
        msg = f"{path}: no column is left once {len(dropped)} of {len(first)} are dropped: drop fewer"
        raise FileError(msg)

    values, lines = array("d"), array("q")
    samples = rows if header else chain([(line, first)], rows)
    for line, row in samples:
        if len(row) != len(first):
            msg = f"{path}: line {line}: cells number {len(row)}, in the first line {len(first)}: make all lines agree"
            raise FileError(msg)
        cells = [row[column] for column in kept] if dropped else row
        try:
            values.extend(map(float, cells))
            broken = "_" in "".join(cells)  # float() reads "1_000" as Python source would
        except ValueError:
            broken = True
        if broken:
            column = next(column for column in kept if not _is_number(row[column]))
            raise FileError(_cell_message(path, line, column, names, row[column]))
        lines.append(line)
    if not lines:
        msg = f"{path}: a header line and no sample: one line a sample is needed"
        raise FileError(msg)

    X = np.array(values).reshape(len(lines), len(kept))
    _check_finite(X, lines, kept, names, path)
    if names is not None and names[kept[0]] == "" and np.array_equal(X[:, 0], np.arange(len(X))):
        msg = f"{path}: column 1 has no name and counts the samples; if it is an index, drop it with --drop-column 0"
        warnings.warn(msg, UserWarning, stacklevel=4)
    return X


def _delimiter(file: IO[str], path: Path) -> str:
    """Return the tab for .tsv; for .csv the comma, unless the first line has only semicolons or tabs."""
    if path.suffix.lower() == ".tsv":
        return "\t"
    first = file.readline(65_536)
    file.seek(0)
    return next((mark for mark in ",;\t" if mark in first), ",")


def _is_header(cells: list[str], drop_columns: tuple[str, ...], where: str) -> bool:
    """Return whether the first line names the columns; raise if it is half names, half numbers."""
    if any(column in cells and not _is_number(column) for column in drop_columns):
        return True
    numbers_dropped = {column_number(column) for column in drop_columns}
    judged = [i for i in range(len(cells)) if not {i, i - len(cells)} & numbers_dropped]
    numbers = [cells[i] for i in judged if _is_number(cells[i])]
    # pandas names columns 0, 1, 2, ... where they have no names, beside an index without a name.
    counting = numbers == [str(i) for i in range(len(numbers))]
    if counting and len(numbers) < len(judged):
        return True
    if counting and len(numbers) >= 3:
        msg = f"{where}: taken as column names, since it counts 0, 1, 2, ...; if it is a sample, say --no-header"
        warnings.warn(msg, UserWarning, stacklevel=5)
        return True
    if len(numbers) == len(judged):
        return False
    column = next(i for i in judged if not _is_number(cells[i]))
    msg = (
        f"{where}, column {column + 1}: {quoted(cells[column])} is not a number, but others in this first line are: "
        "correct it, drop its column with --drop-column, or say --header if the line names the columns"
    )
    raise FileError(msg)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def _cell_message(path: Path, line: int, column: int, names: list[str] | None, cell: str) -> str:
    """Return what to say of a cell that is not a finite number."""
    name = f" ({quoted(names[column])})" if names and names[column] else ""
    what = f"{quoted(cell.strip())} is not a finite number" if cell.strip() else "the cell is empty"
    return f"{path}: line {line}, column {column + 1}{name}: {what}: correct it or drop its column with --drop-column"


def _check_finite(X: np.ndarray, lines: array, kept: list[int], names: list[str] | None, path: Path) -> None:
    finite = np.isfinite(X)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        raise FileError(_cell_message(path, lines[row], kept[column], names, str(X[row, column])))

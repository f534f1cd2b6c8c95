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

from .columns import Columns, column_number
from .errors import FileError, quoted
from .table import Table, of_strings

Where = Path | str


def read_text(path: Path, columns: Columns, header: bool | None = None) -> Table:
    """Return the finite numbers in a .csv or .tsv file, one row a line; ``header=None`` looks at the first line."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return read_lines(file, path, columns, header, "\t" if path.suffix.lower() == ".tsv" else None)


def read_lines(file: IO[str], path: Where, columns: Columns, header: bool | None, delimiter: str | None) -> Table:
    """Return the finite numbers in lines of text, which come from anywhere; ``path`` says where in messages."""
    try:
        return _read_table(file, path, columns, header, delimiter)
    except UnicodeDecodeError as error:
        start = error.object[:2]
        found = "it seems to be UTF-16" if start in (b"\xff\xfe", b"\xfe\xff") else f"{error.reason}"
        msg = f"{path}: not UTF-8 text ({found}): save it as CSV in UTF-8"
        raise FileError(msg) from error
    except csv.Error as error:
        msg = f"{path}: not readable as a table ({error}): is a quotation mark left open?"
        raise FileError(msg) from error


def _read_table(file: IO[str], path: Where, columns: Columns, header: bool | None, delimiter: str | None) -> Table:
    opening = file.readline()
    reader = csv.reader(chain([opening], file), delimiter=delimiter or _delimiter(opening))
    rows: Iterator[tuple[int, list[str]]]
    rows = ((reader.line_num, row) for row in reader if any(map(str.strip, row)))
    line, first = next(rows, (0, []))
    if not first:
        msg = f"{path}: empty: one line a sample is needed"
        raise FileError(msg)
    first = [cell.strip() for cell in first]
    if header is None:
        header = _is_header(first, columns.named, f"{path}: line {line}")
    names = first if header else None
    places = columns.places(names, len(first), path)
    kept = places.kept

    values, lines = array("d"), array("q")
    labels: list[str] = []
    ids: list[str] = []
    samples = rows if header else chain([(line, first)], rows)
    for line, row in samples:
        if len(row) != len(first):
            msg = f"{path}: line {line}: cells number {len(row)}, in the first line {len(first)}: make all lines agree"
            raise FileError(msg)
        cells = [row[column] for column in kept] if len(kept) < len(first) else row
        try:
            values.extend(map(float, cells))
            broken = "_" in "".join(cells)  # float() reads "1_000" as Python source would
        except ValueError:
            broken = True
        if broken:
            column = next(column for column in kept if not _is_number(row[column]))
            raise FileError(_cell_message(path, line, column, names, row[column]))
        lines.append(line)
        if places.label is not None:
            labels.append(row[places.label].strip())
        if places.id is not None:
            ids.append(row[places.id].strip())
    if not lines:
        msg = f"{path}: a header line and no sample: one line a sample is needed"
        raise FileError(msg)

    X = np.array(values).reshape(len(lines), len(kept))
    _check_finite(X, lines, kept, names, path)
    if names is not None and names[kept[0]] == "" and np.array_equal(X[:, 0], np.arange(len(X))):
        msg = f"{path}: column 1 has no name and counts the samples; if it is an index, drop it with --drop-column 0"
        warnings.warn(msg, UserWarning, stacklevel=5)
    return Table(
        X,
        features=None if names is None else [names[column] for column in kept],
        labels=None if places.label is None else of_strings(labels),
        ids=None if places.id is None else of_strings(ids),
        id_name=(names[places.id] if names is not None and places.id is not None else "") or "id",
    )


def _delimiter(first: str) -> str:
    """Return the comma, unless the first line has only semicolons or tabs."""
    return next((mark for mark in ",;\t" if mark in first), ",")


def _is_header(cells: list[str], set_apart: tuple[str, ...], where: str) -> bool:
    """Return whether the first line names the columns; raise if it is half names, half numbers."""
    if any(column in cells and not _is_number(column) for column in set_apart):
        return True
    numbers_apart = {column_number(column) for column in set_apart}
    judged = [i for i in range(len(cells)) if not {i, i - len(cells)} & numbers_apart]
    numbers = [cells[i] for i in judged if _is_number(cells[i])]
    # pandas names columns 0, 1, 2, ... where they have no names, beside an index without a name.
    counting = numbers == [str(i) for i in range(len(numbers))]
    if counting and len(numbers) < len(judged):
        return True
    if counting and len(numbers) >= 3:
        msg = f"{where}: taken as column names, since it counts 0, 1, 2, ...; if it is a sample, say --no-header"
        warnings.warn(msg, UserWarning, stacklevel=6)
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


def _cell_message(path: Where, line: int, column: int, names: list[str] | None, cell: str) -> str:
    """Return what to say of a cell that is not a finite number."""
    name = f" ({quoted(names[column])})" if names and names[column] else ""
    what = f"{quoted(cell.strip())} is not a finite number" if cell.strip() else "the cell is empty"
    advice = "correct it or drop its column with --drop-column"
    if cell.strip() and not _is_number(cell):
        which = quoted(names[column]).strip("'\"") if names and names[column] else column
        advice = f"if it is no feature, say --label-column {which}, --id-column {which} or --drop-column {which}"
    return f"{path}: line {line}, column {column + 1}{name}: {what}: {advice}"


def _check_finite(X: np.ndarray, lines: array, kept: list[int], names: list[str] | None, path: Where) -> None:
    finite = np.isfinite(X)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        raise FileError(_cell_message(path, lines[row], kept[column], names, str(X[row, column])))

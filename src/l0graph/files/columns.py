"""Columns as people name them: by the header's name or by number."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from .errors import FileError, listed, quoted


def column_number(column: str) -> int | None:
    """Return the number that a column is given by, None if it is given by name."""
    with suppress(ValueError):
        return int(column)
    return None


def find_column(column: str, names: list[str] | None, n_columns: int, path: Path) -> int:
    """Return the index of a column given by its name or else its number, from 0 or, negative, from the end."""
    if names is not None and column in names:
        if names.count(column) > 1:
            msg = f"{path}: {names.count(column)} columns are named {quoted(column)}: drop them by number, from 0"
            raise FileError(msg)
        return names.index(column)
    number = column_number(column)
    if number is not None and -n_columns <= number < n_columns:
        return number % n_columns
    known = f"its columns are {listed([quoted(name) for name in names])}" if names else "it has no column names"
    msg = f"{path}: no column {quoted(column)} to drop; {known}, numbered 0 to {n_columns - 1}"
    raise FileError(msg)

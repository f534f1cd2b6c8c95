"""Columns as people name them: by the header's name or by number."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .errors import FileError, listed, quoted


@dataclass(frozen=True)
class Columns:
    """The columns that are no features, as a person named them."""

    drop: tuple[str, ...] = ()
    label: str | None = None
    id: str | None = None

    @property
    def named(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.drop, *(name for name in (self.label, self.id) if name is not None))

    def places(self, names: list[str] | None, n_columns: int, path: Path | str) -> Places:
        """Return where they are in a table of so many columns."""
        label = None if self.label is None else find_column(self.label, names, n_columns, path)
        id_ = None if self.id is None else find_column(self.id, names, n_columns, path)
        dropped = {find_column(column, names, n_columns, path) for column in self.drop}
        kept = [column for column in range(n_columns) if column not in dropped | {label, id_}]
        if not kept:
            msg = f"{path}: no column is left once {n_columns} of {n_columns} are set apart: features are needed"
            raise FileError(msg)
        return Places(kept, label, id_)


@dataclass(frozen=True)
class Places:
    """Indices of the columns: those of features, of labels, of ids."""

    kept: list[int]
    label: int | None
    id: int | None


def column_number(column: str) -> int | None:
    """Return the number that a column is given by, None if it is given by name."""
    with suppress(ValueError):
        return int(column)
    return None


def find_column(column: str, names: list[str] | None, n_columns: int, path: Path | str) -> int:
    """Return the index of a column given by its name or else its number, from 0 or, negative, from the end."""
    if names is not None and column in names:
        if names.count(column) > 1:
            msg = f"{path}: {names.count(column)} columns are named {quoted(column)}: give its number, from 0"
            raise FileError(msg)
        return names.index(column)
    number = column_number(column)
    if number is not None and -n_columns <= number < n_columns:
        return number % n_columns
    known = f"its columns are {listed([quoted(name) for name in names])}" if names else "it has no column names"
    msg = f"{path}: no column {quoted(column)}; {known}, numbered 0 to {n_columns - 1}"
    raise FileError(msg)

"""Finished runs, one line of JSON each, kept through whatever ends the process."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

Row = dict[str, Any]
NAME = "results.jsonl"


def read_rows(folder: Path) -> dict[str, Row]:
    """Return the finished runs by key. A last line that was cut off does not count."""
    path = folder / NAME
    if not path.is_file():
        return {}
    rows: dict[str, Row] = {}
    for line in path.read_bytes().split(b"\n")[:-1]:
        try:
            row = json.loads(line)
            rows[row["key"]] = row
        except (ValueError, TypeError, KeyError):
            continue  # torn by a loss of power: the run is done again
    return rows


class Store:
    """The results of one folder, open for appending; without a file for reading alone."""

    def __init__(self, file: IO[bytes] | None, rows: dict[str, Row]) -> None:
        self._file = file
        self.rows = rows

    def add(self, row: Row) -> None:
        """Append a row: it is there as a whole, or not at all."""
        if self._file is None:
            msg = "these results were opened for reading alone"
            raise ValueError(msg)
        line = json.dumps(row, sort_keys=True, allow_nan=False).encode() + b"\n"
        self._file.write(line)
        self._file.flush()
        os.fsync(self._file.fileno())
        self.rows[row["key"]] = row


@contextmanager
def open_store(folder: Path) -> Iterator[Store]:
    """Open the results of a folder, for one process at a time; what a killed process left of a line is cut off."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / NAME
    with path.open("ab") as file:
        _lock(file, path)
        content = path.read_bytes()
        end = content.rfind(b"\n") + 1
        if end < len(content):
            file.truncate(end)
        yield Store(file, read_rows(folder))


def _lock(file: IO[bytes], path: Path) -> None:
    """Raise where another process writes the same results. The system takes the lock back when a process ends."""
    try:
        import fcntl
    except ImportError:  # Windows has none of this; two processes would do the same runs twice
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        msg = f"{path}: another process is writing these results: wait for it, or name another folder"
        raise ValueError(msg) from error

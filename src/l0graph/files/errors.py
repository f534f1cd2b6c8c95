"""The one exception of this room, and how its messages quote what was found in a file."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class FileError(ValueError):
    """A file cannot be read or written; the message is one line for a person."""


def quoted(text: str, longest: int = 40) -> str:
    """Return text from a file as it can stand in a message: escaped, and short."""
    return repr(text if len(text) <= longest else text[: longest - 3] + "...")


def listed(items: list[str], longest: int = 8) -> str:
    """Return the items joined by commas, the first few of many."""
    rest = len(items) - longest
    return ", ".join(items[:longest]) + (f" and {rest} more" if rest > 0 else "")


def first_line(error: BaseException) -> str:
    """Return the first line of what an exception says, shortened: other packages quote whole files in theirs."""
    line = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
    return line if len(line) <= 120 else line[:117] + "..."


def optional_package(name: str, path: object) -> Any:
    """Return a package that only some formats need."""
    try:
        return import_module(name)
    except ImportError as error:
        msg = f"{path}: {name.partition('.')[0]} is needed for such a file: pip install 'l0graph[io]'"
        raise ImportError(msg) from error

"""The one exception of this room, and how its messages quote what was found in a file."""

from __future__ import annotations


class FileError(ValueError):
    """A file cannot be read or written; the message is one line for a person."""


def quoted(text: str, longest: int = 40) -> str:
    """Return text from a file as it can stand in a message: escaped, and short."""
    return repr(text if len(text) <= longest else text[: longest - 3] + "...")


def listed(items: list[str], longest: int = 8) -> str:
    """Return the items joined by commas, the first few of many."""
    rest = len(items) - longest
    return ", ".join(items[:longest]) + (f" and {rest} more" if rest > 0 else "")

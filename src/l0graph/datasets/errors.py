"""What can be wrong with a data set; every message is one line for a person."""

from __future__ import annotations


class DataError(ValueError):
    """A file is there and does not hold the set that its name promises."""


class DataNotFoundError(FileNotFoundError):
    """The set is nowhere; the message says where to get it and where to put it."""


class DataVersionWarning(UserWarning):
    """A set has the right shape and classes, and contents that are not known here."""

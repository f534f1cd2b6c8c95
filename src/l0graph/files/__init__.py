"""Matrices read from files, results written whole or not at all."""

from .errors import FileError
from .read import read_matrix
from .write import atomic_write, check_target, write_labels

__all__ = ["FileError", "atomic_write", "check_target", "read_matrix", "write_labels"]

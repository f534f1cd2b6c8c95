"""Matrices read from files, results written whole or not at all."""

from l0graph.files.errors import FileError
from l0graph.files.read import read_matrix
from l0graph.files.write import atomic_write, check_target, write_labels

__all__ = ["FileError", "atomic_write", "check_target", "read_matrix", "write_labels"]

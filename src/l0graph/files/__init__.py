"""Matrices read from files, results written whole or not at all."""

from .errors import FileError
from .read import read_matrix, read_table
from .table import Table
from .write import atomic_write, check_target, write_array, write_labels, write_sparse

__all__ = [
    "FileError",
    "Table",
    "atomic_write",
    "check_target",
    "read_matrix",
    "read_table",
    "write_array",
    "write_labels",
    "write_sparse",
]

"""Data sets: made here, or loaded."""

from l0graph.datasets.errors import DataError, DataNotFoundError, DataVersionWarning
from l0graph.datasets.load import load
from l0graph.datasets.synthetic import make_subspaces

__all__ = ["DataError", "DataNotFoundError", "DataVersionWarning", "load", "make_subspaces"]

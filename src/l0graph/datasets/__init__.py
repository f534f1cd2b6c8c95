"""Data sets: made here, or loaded."""

from l0graph.datasets.synthetic import make_subspaces

__all__ = ["make_subspaces"]

"""Past memory and past one machine: samples read by blocks, codes on disk, workers elsewhere."""

from .exemplars import select_exemplars
from .predict import predict
from .run_directory import run_status
from .sources import open_matrix

__all__ = ["open_matrix", "predict", "run_status", "select_exemplars"]

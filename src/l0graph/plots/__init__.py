"""Results as figures; nothing is fitted here. Needs matplotlib: ``pip install l0graph[plots]``."""

from .affinity import plot_affinity
from .curves import plot_eigenvalues, plot_nonzeros, plot_objective, plot_path
from .embedding import plot_embedding
from .images import plot_explanation, plot_members

__all__ = [
    "plot_affinity",
    "plot_eigenvalues",
    "plot_embedding",
    "plot_explanation",
    "plot_members",
    "plot_nonzeros",
    "plot_objective",
    "plot_path",
]

"""Results as figures; nothing is solved here. Needs matplotlib: ``pip install l0graph[plots]``."""

from .affinity import plot_affinity

__all__ = ["plot_affinity"]

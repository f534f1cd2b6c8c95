"""Sparse subspace clustering: the l0-graph and its relatives."""

from importlib.metadata import version

from ._types import CodeResult, Status
from ._warmup import warmup
from .codes.l0 import l0_codes
from .codes.l1 import l1_codes
from .estimators.l0 import L0Graph
from .estimators.l1 import L1Graph
from .graph.affinity import affinity
from .graph.assign import assign_labels
from .graph.cluster import FragmentedGraphWarning, GraphClustering, cluster_graph
from .graph.embedding import spectral_embedding

__version__ = version("l0graph")

__all__ = [
    "CodeResult",
    "FragmentedGraphWarning",
    "GraphClustering",
    "L0Graph",
    "L1Graph",
    "Status",
    "affinity",
    "assign_labels",
    "cluster_graph",
    "l0_codes",
    "l1_codes",
    "spectral_embedding",
    "warmup",
]

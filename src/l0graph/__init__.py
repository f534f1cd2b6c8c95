"""Sparse subspace clustering: the l0-graph and its relatives.

Names are imported when they are first used: ``l0graph --help`` need not wait for scikit-learn and Numba.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import datasets as datasets
    from . import experiments as experiments
    from . import files as files
    from . import metrics as metrics
    from . import plots as plots
    from . import report as report
    from ._progress import progress as progress
    from ._types import CodeResult as CodeResult
    from ._types import Status as Status
    from ._warmup import warmup as warmup
    from .backends.namespaces import to_scipy as to_scipy
    from .codes.l0 import l0_codes as l0_codes
    from .codes.l1 import l1_codes as l1_codes
    from .codes.omp import omp_codes as omp_codes
    from .codes.regularized import regularized_l0_codes as regularized_l0_codes
    from .codes.smce import smce_codes as smce_codes
    from .diagnostics import Diagnosis as Diagnosis
    from .diagnostics import Finding as Finding
    from .diagnostics import diagnose as diagnose
    from .estimators.l0 import L0Graph as L0Graph
    from .estimators.l1 import L1Graph as L1Graph
    from .estimators.omp import OMPGraph as OMPGraph
    from .estimators.path import PathPoint as PathPoint
    from .estimators.path import l0_path as l0_path
    from .estimators.regularized import RegularizedL0Graph as RegularizedL0Graph
    from .estimators.semi_supervised import GraphLabelSpreading as GraphLabelSpreading
    from .estimators.smce import SMCE as SMCE
    from .estimators.spectral import SpectralGraph as SpectralGraph
    from .graph.affinity import affinity as affinity
    from .graph.assign import assign_labels as assign_labels
    from .graph.cluster import FragmentedGraphWarning as FragmentedGraphWarning
    from .graph.cluster import GraphClustering as GraphClustering
    from .graph.cluster import cluster_graph as cluster_graph
    from .graph.count import ClusterCount as ClusterCount
    from .graph.count import estimate_n_clusters as estimate_n_clusters
    from .graph.embedding import spectral_embedding as spectral_embedding
    from .graph.gaussian import self_tuning_affinity as self_tuning_affinity
    from .persistence.model import load_model as load_model
    from .persistence.model import save_model as save_model

_HOMES = {
    "CodeResult": "_types",
    "ClusterCount": "graph.count",
    "Diagnosis": "diagnostics",
    "Finding": "diagnostics",
    "FragmentedGraphWarning": "graph.cluster",
    "GraphClustering": "graph.cluster",
    "GraphLabelSpreading": "estimators.semi_supervised",
    "L0Graph": "estimators.l0",
    "L1Graph": "estimators.l1",
    "OMPGraph": "estimators.omp",
    "SMCE": "estimators.smce",
    "PathPoint": "estimators.path",
    "RegularizedL0Graph": "estimators.regularized",
    "SpectralGraph": "estimators.spectral",
    "Status": "_types",
    "affinity": "graph.affinity",
    "assign_labels": "graph.assign",
    "cluster_graph": "graph.cluster",
    "diagnose": "diagnostics",
    "estimate_n_clusters": "graph.count",
    "l0_codes": "codes.l0",
    "l0_path": "estimators.path",
    "l1_codes": "codes.l1",
    "load_model": "persistence.model",
    "omp_codes": "codes.omp",
    "progress": "_progress",
    "regularized_l0_codes": "codes.regularized",
    "save_model": "persistence.model",
    "smce_codes": "codes.smce",
    "self_tuning_affinity": "graph.gaussian",
    "spectral_embedding": "graph.embedding",
    "to_scipy": "backends.namespaces",
    "warmup": "_warmup",
}
_MODULES = ("datasets", "experiments", "files", "metrics", "plots", "report")

__all__ = [*_HOMES, *_MODULES]  # noqa: PLE0604 - all strings


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    elif name in _MODULES:
        value = import_module(f".{name}", __name__)
    elif name == "__version__":
        from importlib.metadata import version

        value = version("l0graph")
    else:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})

"""Labels spread over the graphs: the error on the samples without labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..codes.l0 import l0_codes
from ..estimators.l0 import L0Graph
from ..estimators.semi_supervised import GraphLabelSpreading
from ..graph.affinity import affinity
from .problems import Samples


class _FixedGraph(L0Graph):
    """A graph that is known already."""

    def __init__(self, W: sp.csr_array | None = None) -> None:
        super().__init__()
        self.W = W

    def _graph(self, dictionary: Any) -> Any:
        del dictionary
        return self.W


def errors_by_share(samples: Samples, parameters: dict[str, Any], context: Any) -> dict[str, Any]:
    """Return mean and standard deviation of the error over draws of labels, by share; all graphs see the same draws."""
    W = _graph(samples, parameters["graph"], context)
    rng = np.random.default_rng(context.seed)
    found: dict[str, Any] = {}
    for share in parameters["shares"]:
        draws = [_shown(samples.y, share, rng) for _ in range(parameters["draws"])]
        errors = [_error(samples, W, labels) for labels in draws]
        found[f"{share:g}"] = [float(np.mean(errors)), float(np.std(errors))]
    return {"errors": found}


def _graph(samples: Samples, name: str, context: Any) -> sp.csr_array:
    from .methods import start_codes

    if name == "knn":
        model = GraphLabelSpreading("knn", n_jobs=context.n_jobs)
        return model.fit(samples.X, samples.y).affinity_matrix_
    codes = start_codes(samples, 0.1, context)
    if name == "l0":
        codes = l0_codes(samples.dictionary, init=codes, n_jobs=context.n_jobs).codes
    return affinity(codes)


def _shown(y: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Return y with all but a share of each class hidden, one sample of each at least."""
    labels = np.full_like(y, -1)
    for label in np.unique(y):
        members = rng.permutation(np.flatnonzero(y == label))
        shown = members[: max(1, round(share * len(members)))]
        labels[shown] = label
    return labels


def _error(samples: Samples, W: sp.csr_array, labels: np.ndarray) -> float:
    found = GraphLabelSpreading(_FixedGraph(W)).fit(samples.X, labels).transduction_
    return float(np.mean((found != samples.y)[labels == -1]))

"""The l0-graph over a range of penalties."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from .._progress import report, stage, talking
from .._types import CodeResult
from .._validation import check_data, check_n_clusters, check_number
from ..codes.working_set import Dictionary
from ..graph.affinity import affinity
from ..graph.cluster import cluster_graph
from ..graph.neighbors import unit_rows
from .l0 import L0Graph


@dataclass(frozen=True)
class PathPoint:
    """The l0-graph at one penalty.

    Attributes
    ----------
    l0_penalty : float
        The penalty.
    n_nonzero : float
        Mean number of nonzeros of a code.
    objective : float
        Total objective at this penalty.
    n_components, n_attached : int
        Connected components of the graph; samples attached to clusters after the embedding.
    labels : ndarray of shape (n_samples,)
        Clusters.
    codes : csr_array of shape (n_samples, n_samples)
        Codes.
    """

    l0_penalty: float
    n_nonzero: float
    objective: float
    n_components: int
    n_attached: int
    labels: np.ndarray
    codes: sp.csr_array


def l0_path(estimator: Any, X: Any, l0_penalties: Iterable[float]) -> list[PathPoint]:
    """Cluster at several values of ``l0_penalty``, each started from the codes at the one before.

    Parameters
    ----------
    estimator : L0Graph
        Says all other parameters; it is not fitted.
    X : array-like of shape (n_samples, n_features)
        Samples in rows.
    l0_penalties : iterable of float
        The penalties, in any order. They are followed upwards: the first starts from l1 codes, and supports shrink on.

    Returns
    -------
    list of PathPoint
        In the order of the penalties, ascending.

    Examples
    --------
    >>> from l0graph import L0Graph, l0_path
    >>> from l0graph.datasets import make_subspaces
    >>> X, y = make_subspaces(30, n_subspaces=2, dim=2, ambient_dim=8, random_state=0)
    >>> path = l0_path(L0Graph(n_clusters=2, random_state=0), X, [0.5, 0.1])
    >>> [point.l0_penalty for point in path]
    [0.1, 0.5]
    >>> path[0].n_nonzero >= path[1].n_nonzero
    True
    """
    if not isinstance(estimator, L0Graph):
        msg = f"estimator must be an L0Graph, got {type(estimator).__name__}"
        raise TypeError(msg)
    estimator = clone(estimator)
    try:
        penalties = list(l0_penalties)
    except TypeError:
        msg = f"l0_penalties must be several numbers, got {l0_penalties!r}: put it in a list"
        raise TypeError(msg) from None
    if not penalties:
        msg = "l0_penalties is empty: give at least one"
        raise ValueError(msg)
    for penalty in penalties:
        check_number(penalty, "l0_penalties", above=0)
    penalties.sort()
    X = check_data(X)
    check_n_clusters(estimator.n_clusters, len(X))
    X = unit_rows(X) if estimator.normalize else X
    dictionary = Dictionary(X)
    points: list[PathPoint] = []
    with talking(estimator.verbose), stage("path"):
        with stage("l1 codes"):
            result = estimator._start(dictionary)
        for penalty in penalties:
            report("path", len(points), len(penalties))
            with stage("l0 codes"):
                result = estimator.set_params(l0_penalty=penalty)._iterate(dictionary, result)
            points.append(_clustered(estimator, X, float(penalty), result))
    return points


def _clustered(estimator: L0Graph, X: np.ndarray, penalty: float, result: CodeResult) -> PathPoint:
    codes = result.codes
    clustering = cluster_graph(
        affinity(codes),
        estimator.n_clusters,
        X=X,
        fragments=estimator.fragments,
        min_fraction=estimator.min_fraction,
        min_gap=estimator.min_gap,
        n_init=estimator.n_init,
        random_state=estimator.random_state,
        n_jobs=estimator.n_jobs,
    )
    return PathPoint(
        l0_penalty=penalty,
        n_nonzero=codes.nnz / len(X),
        objective=float(result.objective[-1]),
        n_components=clustering.n_components,
        n_attached=clustering.n_attached,
        labels=clustering.labels,
        codes=codes,
    )

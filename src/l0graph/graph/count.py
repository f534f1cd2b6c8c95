"""How many clusters a graph has, by its eigengaps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .._validation import check_affinity, check_number
from .embedding import component_labels, spectral_embedding
from .fragments import large_components

_CLEAR = 0.6
"""A relative eigengap that counts as clear; see `estimate_n_clusters`."""


@dataclass(frozen=True)
class ClusterCount:
    """An estimated number of clusters, and what else it might be.

    Attributes
    ----------
    n_clusters : int
        The estimate.
    candidates : ndarray of int
        All numbers looked at, the one of largest gap first.
    gaps : ndarray
        Their relative eigengaps, between 0 and 1.
    eigenvalues : ndarray
        Leading eigenvalues of the normalised affinity, descending.
    """

    n_clusters: int
    candidates: np.ndarray
    gaps: np.ndarray
    eigenvalues: np.ndarray


def estimate_n_clusters(W: sp.csr_array, *, max_clusters: int = 20, min_fraction: float = 0.3) -> ClusterCount:
    """Estimate the number of clusters of a graph from the gaps between its leading eigenvalues.

    Parameters
    ----------
    W : sparse matrix of shape (n_samples, n_samples)
        Affinity: symmetric and nonnegative.
    max_clusters : int, default=20
        Largest number to consider.
    min_fraction : float, default=0.3
        Components of under ``min_fraction * n_samples / max_clusters`` samples are left out, as `cluster_graph` does.

    Returns
    -------
    ClusterCount

    Notes
    -----
    The relative gap of k is 1 - (1 - lambda_k) / (1 - lambda_{k+1}): 1 where the k clusters are disconnected, near 0
    where nothing tells k from k + 1. The estimate is the largest k, from 2 on, whose gap is at least 0.6, or the one
    of largest gap where none is. It is an estimate: look at the candidates. On rings of images (COIL-20) it is low by
    one to three, on Yale B it is exact for 5 and 10 people.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from l0graph import estimate_n_clusters
    >>> W = sp.csr_array(np.kron(np.eye(3), np.ones((5, 5)) - np.eye(5)))
    >>> estimate_n_clusters(W, max_clusters=8).n_clusters
    3
    """
    W = check_affinity(W)
    check_number(max_clusters, "max_clusters", at_least=2, integer=True)
    check_number(min_fraction, "min_fraction", at_least=0, at_most=1)
    n_connected = np.count_nonzero(np.diff(W.indptr))
    if n_connected < 3:
        msg = f"the graph has {n_connected} samples with edges: too few to look for clusters"
        raise ValueError(msg)
    kept = large_components(W, max_clusters, min_fraction)
    W = W[kept][:, kept]
    n_components = component_labels(W)[0]
    if n_components > max_clusters:
        msg = (
            f"the graph has {n_components} large components, more than max_clusters={max_clusters}: raise that, or make"
            " the graph denser by a smaller penalty"
        )
        raise ValueError(msg)
    most = min(max_clusters, W.shape[0] - 1)
    _, eigenvalues = spectral_embedding(W, most + 1)
    distance = 1 - eigenvalues.astype(np.float64)
    gaps = np.ones(most)  # with nothing between lambda_{k+1} and 1 there are more components than k: no gap at all
    np.divide(distance[:-1], distance[1:], out=gaps, where=distance[1:] > 0)
    gaps = 1 - gaps
    numbers = np.arange(2, most + 1)
    gaps = gaps[1:]
    clear = numbers[gaps >= _CLEAR]
    order = np.argsort(-gaps, kind="stable")
    return ClusterCount(
        n_clusters=int(clear[-1] if len(clear) else numbers[order[0]]),
        candidates=numbers[order],
        gaps=gaps[order],
        eigenvalues=eigenvalues,
    )

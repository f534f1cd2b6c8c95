"""Fragments: components too small to be clusters, and what to do about them.

Every component has eigenvalue 1, so a handful of isolated pairs take the leading eigenvectors and leave none for the
component that holds the data: the accuracy of a graph that is good but for a few loose samples collapses.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .embedding import component_labels
from .neighbors import most_similar

_WEAK = 1e-3
"""Weight of a link between components, relative to the mean weight of an edge."""


def large_components(W: sp.csr_array, n_clusters: int, min_fraction: float) -> np.ndarray:
    """Mark the samples to embed: those in components of at least ``min_fraction * n / n_clusters`` samples.

    Samples without edges are never marked. Where that would leave under half of the samples, or fewer than
    ``n_clusters``, all components are fragments, more or less, and the bar goes down until it does not.
    """
    n = W.shape[0]
    _, labels = component_labels(W)
    size = np.bincount(labels)[labels]
    has_edges = np.diff(W.indptr) > 0
    bar = min_fraction * n / n_clusters
    while True:
        kept = has_edges & (size >= bar)
        if np.count_nonzero(kept) >= max(n_clusters, n / 2):
            return kept
        if bar <= 1:
            return has_edges if np.count_nonzero(has_edges) >= n_clusters else np.ones(n, dtype=bool)
        bar /= 2


def link_components(W: sp.csr_array, X: np.ndarray, n_clusters: int, n_threads: int = 1) -> sp.csr_array:
    """Link each component to its most similar sample outside by one weak edge, while there are more than n_clusters.

    X has unit rows, one per row of W.
    """
    everything = np.arange(W.shape[0])
    weight = _WEAK * (W.data.mean() if W.nnz else 1.0)
    while True:
        count, labels = component_labels(W)
        if count <= n_clusters:
            return W
        partner, cosine = most_similar(X, everything, everything, groups=labels, n_threads=n_threads)
        # The best pair of each component; of equals the first sample's.
        order = np.lexsort((everything, -cosine, labels))
        start = order[np.searchsorted(labels[order], np.arange(count))]
        end = partner[start]
        links = sp.csr_array((np.full(count, weight, dtype=W.dtype), (start, end)), shape=W.shape)
        W = sp.csr_array(W + links.maximum(links.T))


def attach(X: np.ndarray, labels: np.ndarray, kept: np.ndarray, n_threads: int = 1) -> np.ndarray:
    """Label the samples that are not ``kept`` like their most similar kept sample.

    X has unit rows; ``labels`` are the kept samples'. A sample like none, of cosine zero with all, goes to
    the largest cluster.
    """
    result = np.empty(len(X), dtype=labels.dtype)
    result[kept] = labels
    left_out = np.flatnonzero(~kept)
    nearest, cosine = most_similar(X, left_out, np.flatnonzero(kept), n_threads=n_threads)
    result[left_out] = np.where(cosine > 0, result[nearest], np.bincount(labels).argmax())
    return result

"""Affinity -> labels: the composition of embedding and k-means, with fragments taken care of."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp

from .._progress import stage
from .._threads import resolve_n_jobs
from .._validation import check_affinity, check_data, check_n_clusters, check_number, check_option
from .assign import assign_labels, relabel
from .embedding import component_labels, spectral_embedding
from .fragments import attach, large_components, link_components
from .neighbors import unit_rows

_A_FEW = 5
_A_SMALL_SHARE = 0.02
"""So many samples, or such a share of them, may be attached without a word."""


class FragmentedGraphWarning(UserWarning):
    """Many samples lie in components too small to be clusters."""


@dataclass(frozen=True)
class GraphClustering:
    """A clustered graph.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,)
        Cluster of each sample, from 0.
    embedding : ndarray of shape (n_samples, n_dimensions)
        The leading eigenvectors that were used, n_clusters or a few less (see ``min_gap``); rows of samples that were
        left out are zero.
    eigenvalues : ndarray of shape (n_dimensions,)
        Their eigenvalues, descending.
    n_components : int
        Connected components of the affinity as given.
    n_attached : int
        Samples left out of the embedding and attached afterwards.
    """

    labels: np.ndarray
    embedding: np.ndarray
    eigenvalues: np.ndarray
    n_components: int
    n_attached: int


def cluster_graph(
    W: sp.csr_array,
    n_clusters: int,
    *,
    X: np.ndarray | None = None,
    fragments: Literal["attach", "keep"] = "attach",
    min_fraction: float = 0.3,
    min_gap: float = 0.01,
    n_init: int = 20,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
) -> GraphClustering:
    """Cluster a graph: spectral embedding, unit rows, k-means; fragments are attached afterwards.

    Parameters
    ----------
    W : sparse matrix of shape (n_samples, n_samples)
        Affinity: symmetric and nonnegative.
    n_clusters : int
        Number of clusters.
    X : ndarray of shape (n_samples, n_features), default=None
        The samples; without them fragments cannot be attached and the graph is taken as it is.
    fragments : {"attach", "keep"}, default="attach"
        "attach" leaves components of under ``min_fraction * n_samples / n_clusters`` samples, and samples without
        edges, out of the embedding and gives them the cluster of their most similar sample (largest absolute cosine);
        if more components than clusters remain, each is first linked by one weak edge to its most similar sample
        outside. "keep" embeds everything, as the paper does.
    min_fraction : float, default=0.3
        Size under which a component is a fragment, as a share of the mean cluster size.
    min_gap : float, default=0.01
        The last eigenvectors are used only if their eigenvalues differ from the next one by this share of the distance
        of that one from 1; otherwise they are an arbitrary part of a group that belongs together. More than half of
        ``n_clusters``, and more than there are components, are used in any case. 0 always uses ``n_clusters``, as the
        paper does.
    n_init, random_state, n_jobs
        See `assign_labels`.

    Returns
    -------
    GraphClustering

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from l0graph import cluster_graph
    >>> W = sp.csr_array(np.kron(np.eye(2), np.ones((3, 3)) - np.eye(3)))
    >>> cluster_graph(W, 2, random_state=0).labels
    array([0, 0, 0, 1, 1, 1])
    """
    W = check_affinity(W)
    n = W.shape[0]
    check_n_clusters(n_clusters, n)
    check_option(fragments, "fragments", ("attach", "keep"))
    check_number(min_fraction, "min_fraction", at_least=0, at_most=1)
    check_number(min_gap, "min_gap", at_least=0, at_most=1)
    check_number(n_init, "n_init", at_least=1, integer=True)
    n_threads = resolve_n_jobs(n_jobs)

    kept = np.ones(n, dtype=bool)
    graph = W
    n_components = component_labels(W)[0]
    unit = None
    if fragments == "attach" and X is not None:
        X = check_data(X, min_samples=1)
        if len(X) != n:
            msg = f"X has {len(X)} samples but W has {n}: they must describe the same samples"
            raise ValueError(msg)
        kept = large_components(W, n_clusters, min_fraction)
        graph = W if kept.all() else W[kept][:, kept]
        if not kept.all() or n_components > n_clusters:
            unit = unit_rows(X)
            graph = link_components(graph, unit[kept], n_clusters, n_threads)

    with stage("embedding"):
        # One more than needed shows where the gap is.
        vectors, values = spectral_embedding(graph, min(n_clusters + 1, graph.shape[0]))
        n_dimensions = _cut_at_gap(values, n_clusters, min_gap)
        kept_embedding, eigenvalues = vectors[:, :n_dimensions], values[:n_dimensions]
    with stage("k-means"):
        labels = assign_labels(kept_embedding, n_clusters, n_init=n_init, random_state=random_state, n_jobs=n_jobs)
    embedding = kept_embedding
    if unit is not None and not kept.all():
        with stage("attach"):
            labels = relabel(attach(unit, labels, kept, n_threads))
        embedding = np.zeros((n, n_dimensions), dtype=kept_embedding.dtype)
        embedding[kept] = kept_embedding
    n_attached = n - int(np.count_nonzero(kept))
    if n_attached > max(_A_FEW, _A_SMALL_SHARE * n):
        n_fragments = n_components - component_labels(W[kept][:, kept])[0]
        msg = (
            f"{n_attached} of {n} samples lie in {n_fragments} components too small to be clusters and were attached to"
            " their most similar samples' clusters: a smaller l0_penalty or l1_penalty makes the graph denser"
        )
        warnings.warn(msg, FragmentedGraphWarning, stacklevel=2)
    return GraphClustering(labels, embedding, eigenvalues, n_components, n_attached)


def _cut_at_gap(eigenvalues: np.ndarray, n_clusters: int, min_gap: float) -> int:
    """Return how many eigenvectors to use: n_clusters, or fewer where the last are not separated from the next."""
    # With no more vectors than components, all samples of a component would have one and the same row.
    fewest = max(n_clusters // 2, int(np.count_nonzero(eigenvalues == 1)))
    for m in range(min(n_clusters, len(eigenvalues) - 1), fewest, -1):
        if eigenvalues[m - 1] - eigenvalues[m] >= min_gap * (1 - eigenvalues[m]):
            return m
    return n_clusters

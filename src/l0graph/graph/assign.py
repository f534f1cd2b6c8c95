"""Embedding -> labels: unit rows, k-means from many starts."""

from __future__ import annotations

import warnings

import numpy as np
from joblib import Parallel, delayed
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from .._threads import one_blas_thread, resolve_n_jobs
from .._validation import check_data, check_n_clusters, check_number

_Random = int | np.random.RandomState | None


def assign_labels(
    embedding: np.ndarray,
    n_clusters: int,
    *,
    n_init: int = 20,
    random_state: _Random = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Cluster the rows of an embedding, scaled to unit norm, by k-means.

    Parameters
    ----------
    embedding : ndarray of shape (n_samples, n_components)
        Rows of zeros stay as they are.
    n_clusters : int
        Number of clusters.
    n_init : int, default=20
        Number of k-means++ starts; the one of least inertia wins, of equals the first.
    random_state : int, RandomState or None, default=None
        Seeds the starts.
    n_jobs : int or None, default=None
        Starts that run at once. The labels do not depend on it.

    Returns
    -------
    ndarray of shape (n_samples,)
        Labels from 0, numbered in the order of their first samples.

    Examples
    --------
    >>> import numpy as np
    >>> from l0graph import assign_labels
    >>> assign_labels(np.array([[1.0, 0.0], [0.0, 2.0], [0.0, 1.0]]), 2, random_state=0)
    array([0, 1, 1])
    """
    embedding = check_data(embedding, name="embedding", min_samples=1)
    check_n_clusters(n_clusters, len(embedding))
    check_number(n_init, "n_init", at_least=1, integer=True)
    norms = np.linalg.norm(embedding, axis=1, keepdims=True)
    rows = np.divide(embedding, norms, out=np.zeros_like(embedding), where=norms > 0)
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=n_init)
    # BLAS is limited here, once: its thread count is the process's, and starts that set and restore it side by side
    # would leave it wrong.
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore", ConvergenceWarning)  # said once, below
        runs = Parallel(n_jobs=resolve_n_jobs(n_jobs), prefer="threads")(
            delayed(_one_start)(rows, n_clusters, int(seed)) for seed in seeds
        )
    labels = relabel(min(runs, key=lambda run: run[0])[1])
    n_found = int(labels.max()) + 1
    if n_found < n_clusters:
        msg = (
            f"only {n_found} of n_clusters={n_clusters} clusters are not empty: the embedding has too few distinct"
            " rows; ask for fewer clusters or a denser graph"
        )
        warnings.warn(msg, ConvergenceWarning, stacklevel=2)
    return labels


def _one_start(rows: np.ndarray, n_clusters: int, seed: int) -> tuple[float, np.ndarray]:
    # scikit-learn adds up per-thread sums in the order in which threads finish: one thread, one result. (OpenMP's
    # thread count is the calling thread's own.)
    with threadpool_limits(1, user_api="openmp"):
        kmeans = KMeans(n_clusters, n_init=1, random_state=seed).fit(rows)
    return float(kmeans.inertia_), kmeans.labels_


def relabel(labels: np.ndarray) -> np.ndarray:
    """Number labels from 0 in the order of their first appearance."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]

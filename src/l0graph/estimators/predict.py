"""Clusters of new samples, from their codes over the training samples."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .._threads import run_rows
from ..graph.neighbors import most_similar, unit_rows
from ..kernels.residuals import best_cluster


def predict_labels(
    codes: sp.csr_array, X: np.ndarray, labels: np.ndarray, X_new: np.ndarray, n_threads: int
) -> np.ndarray:
    """Return for each new sample the cluster that explains it best; see `SelfExpressiveClusterer.predict`."""
    best = np.empty(len(X_new), dtype=np.int64)
    X, X_new = X.view(), X_new.view()
    X.flags.writeable = X_new.flags.writeable = False  # one compiled version for all callers
    run_rows(
        best_cluster,
        len(X_new),
        n_threads,
        X,
        X_new,
        codes.indptr.astype(np.int64),
        codes.indices.astype(np.int64),
        codes.data.astype(np.float64),
        labels.astype(np.int64),
        best,
    )
    empty = np.flatnonzero(best < 0)
    if len(empty):
        rows = unit_rows(np.concatenate([X, X_new[empty]]))
        queries = np.arange(len(X), len(rows))
        nearest, cosine = most_similar(rows, queries, np.arange(len(X)), n_threads=n_threads)
        best[empty] = np.where(cosine > 0, labels[nearest], np.bincount(labels).argmax())
    return best

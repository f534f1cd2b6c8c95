"""How well the samples of each cluster explain a sample alone."""

from __future__ import annotations

import numpy as np
from numba import njit

from ._rows import as_float64


@njit(cache=True, nogil=True)
def best_cluster(start, stop, X, targets, indptr, indices, data, labels, best):
    """For each coded target the cluster whose part of the code leaves the smallest residual; of equals the first.

    ``indptr, indices, data`` are the codes over the rows of X, whose clusters are ``labels``. OUT ``best`` (rows,);
    -1 for an empty code.
    """
    for b in range(start, stop):
        x = as_float64(targets[b])
        first, last = indptr[b], indptr[b + 1]
        best[b] = -1
        smallest = np.inf
        # Clusters in ascending order, so that of equal residuals the first cluster wins.
        present = np.unique(labels[indices[first:last]])
        for cluster in present:
            residual = x.copy()
            for position in range(first, last):
                j = indices[position]
                if labels[j] == cluster:
                    for t in range(x.shape[0]):
                        residual[t] -= data[position] * X[j, t]
            rr = 0.0
            for t in range(x.shape[0]):
                rr += residual[t] * residual[t]
            if rr < smallest:
                smallest = rr
                best[b] = cluster

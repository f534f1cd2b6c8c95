"""The nearest samples of each row, decided exactly.

``cosines`` come from a float32 product of unit vectors and are off by at most ``error``. All samples that may be
among the nearest within that error are compared again by their float64 distances.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _squared_distance(X, j, x):
    total = 0.0
    for t in range(x.shape[0]):
        difference = np.float64(X[j, t]) - np.float64(x[t])
        total += difference * difference
    return total


@njit(cache=True, nogil=True)
def _insert(items, keys, count, item, key):
    """Insert into a list sorted by key, of equals the earlier item first; what falls off its end is lost."""
    if count == keys.shape[0]:
        if not key < keys[count - 1]:  # items arrive in ascending order
            return count
        position = count - 1
    else:
        position = count
        count += 1
    while position > 0 and key < keys[position - 1]:
        keys[position] = keys[position - 1]
        items[position] = items[position - 1]
        position -= 1
    keys[position] = key
    items[position] = item
    return count


@njit(cache=True, nogil=True)
def nearest(start, stop, cosines, scales, error, X, norms, targets, own, items):
    """OUT ``items`` (rows, k): the samples of X nearest to each target, not itself; of equals the earlier first."""
    for b in range(start, stop):
        keys = np.empty(items.shape[1])
        count = 0
        # The k-th smallest upper bound of a distance: whatever is certainly farther is not among the k nearest.
        for j in range(cosines.shape[1]):
            if j != own[b]:
                product = scales[b] * norms[j]
                bound = (norms[j] - scales[b]) ** 2 + 2.0 * product * (1.0 - np.float64(cosines[b, j]) + error)
                count = _insert(items[b], keys, count, j, bound)
        limit = keys[count - 1] + 1e-12 * (scales[b] + np.sqrt(max(keys[count - 1], 0.0))) ** 2
        count = 0
        for j in range(cosines.shape[1]):
            if j != own[b]:
                product = scales[b] * norms[j]
                bound = (norms[j] - scales[b]) ** 2 + 2.0 * product * (1.0 - np.float64(cosines[b, j]) - error)
                if bound <= limit:
                    count = _insert(items[b], keys, count, j, _squared_distance(X, j, targets[b]))

"""The nearest samples of each row, decided exactly.

``cosines`` come tile by tile (see `screen`) from a float32 product of unit vectors and are off by at most ``error``.
Whatever may be nearer within that error than what has been found so far is compared by its float64 distance.
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
def nearest(cosines, first, scales, error, X, norms, targets, own, items, keys, counts):
    """The samples of X nearest to each target, not itself; of equals the earlier first.

    IN/OUT ``items`` and ``keys`` (rows, k), their squared distances, ascending, and ``counts`` (rows,): what has been
    found so far.
    """
    k = items.shape[1]
    for b in range(cosines.shape[0]):
        for i in range(cosines.shape[1]):
            j = first + i
            if j == own[b]:
                continue
            if counts[b] == k:
                product = scales[b] * norms[j]
                least = (norms[j] - scales[b]) ** 2 + 2.0 * product * (1.0 - np.float64(cosines[b, i]) - error)
                farthest = keys[b, k - 1]
                if least > farthest + 1e-12 * (scales[b] + np.sqrt(farthest)) ** 2:
                    continue
            counts[b] = _insert(items[b], keys[b], counts[b], j, _squared_distance(X, j, targets[b]))

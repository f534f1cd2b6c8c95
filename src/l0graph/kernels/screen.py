"""Which atoms correlate with a residual by at least a bound, or most, decided exactly.

``cosines`` come from a float32 matrix product of unit vectors and are off by at most ``error``. Where that leaves the
comparison open, the inner product is taken again in float64.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _inner(X, j, r):
    total = 0.0
    for t in range(r.shape[0]):
        total += np.float64(X[j, t]) * r[t]
    return total


@njit(cache=True, nogil=True)
def _allowed(j, own, group_first, group_rank):
    # Of a group of equal atoms only the first counts, or the second where the first is the sample itself.
    return j != own and (group_rank[j] == 0 or (group_rank[j] == 1 and group_first[j] == own))


@njit(cache=True, nogil=True)
def _sift_down(keys, items, size):
    """Restore the min-heap after its root was replaced. Smaller key first; of equal keys, the larger index first."""
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            return
        right = child + 1
        if right < size and (keys[right] < keys[child] or (keys[right] == keys[child] and items[right] > items[child])):
            child = right
        if keys[i] < keys[child] or (keys[i] == keys[child] and items[i] > items[child]):
            return
        keys[i], keys[child] = keys[child], keys[i]
        items[i], items[child] = items[child], items[i]
        i = child


@njit(cache=True, nogil=True)
def _sift_up(keys, items, i):
    while i > 0:
        parent = (i - 1) // 2
        if keys[parent] < keys[i] or (keys[parent] == keys[i] and items[parent] > items[i]):
            return
        keys[i], keys[parent] = keys[parent], keys[i]
        items[i], items[parent] = items[parent], items[i]
        i = parent


@njit(cache=True, nogil=True)
def _largest_of_row(
    cosines, scale, bound, shift, error, X, norms, residual, own, group_first, group_rank, members, items, keys
):
    """Fill ``items`` with the atoms whose correlation, less ``shift``, exceeds ``bound``: the largest; return how many.

    ``members`` (sorted) are passed over: they are in the working set already.
    """
    capacity = items.shape[0]
    count = 0
    for j in range(cosines.shape[0]):
        correlation = abs(np.float64(cosines[j]) * norms[j] * scale - shift)
        slack = error * norms[j] * scale
        if correlation < bound - slack or not _allowed(j, own, group_first, group_rank):
            continue
        position = np.searchsorted(members, j)
        if position < members.shape[0] and members[position] == j:
            continue
        if correlation <= bound + slack:
            correlation = abs(_inner(X, j, residual) - shift)
            if correlation <= bound:
                continue
        if count < capacity:
            keys[count] = correlation
            items[count] = j
            _sift_up(keys, items, count)
            count += 1
        elif correlation > keys[0]:
            keys[0] = correlation
            items[0] = j
            _sift_down(keys, items, count)
    return count


@njit(cache=True, nogil=True)
def largest_above(
    start,
    stop,
    cosines,
    scales,
    bounds,
    shifts,
    error,
    X,
    norms,
    residuals,
    own,
    group_first,
    group_rank,
    members,
    n_members,
    items,
    counts,
):
    """For each row the atoms whose correlation, less its shift, is above its bound in absolute value: the largest.

    OUT: ``items`` (rows, capacity) in no particular order, ``counts`` (rows,).
    """
    for b in range(start, stop):
        keys = np.empty(items.shape[1])
        counts[b] = _largest_of_row(
            cosines[b],
            scales[b],
            bounds[b],
            shifts[b],
            error,
            X,
            norms,
            residuals[b],
            own[b],
            group_first,
            group_rank,
            members[b, : n_members[b]],
            items[b],
            keys,
        )


@njit(cache=True, nogil=True)
def largest_entries_above(start, stop, residuals, bound, n_atoms, members, n_members, items, counts):
    """For each row append the largest atoms of the identity, feature t as ``n_atoms + t``, that are above ``bound``.

    Their correlations are the residual's entries. As many as ``items`` has room for. IN/OUT ``items``, ``counts``.
    """
    for b in range(start, stop):
        first = counts[b]
        capacity = items.shape[1] - first
        keys = np.empty(capacity)
        chosen = items[b, first:]
        known = members[b, : n_members[b]]
        count = 0
        for t in range(residuals.shape[1]):
            size = abs(residuals[b, t])
            if size <= bound:
                continue
            position = np.searchsorted(known, n_atoms + t)
            if position < known.shape[0] and known[position] == n_atoms + t:
                continue
            if count < capacity:
                keys[count] = size
                chosen[count] = n_atoms + t
                _sift_up(keys, chosen, count)
                count += 1
            elif size > keys[0]:
                keys[0] = size
                chosen[0] = n_atoms + t
                _sift_down(keys, chosen, count)
        counts[b] = first + count


@njit(cache=True, nogil=True)
def all_at_least(
    start, stop, cosines, scales, bounds, error, X, norms, residuals, own, offsets, items, values, counts, fill
):
    """For each row every atom whose correlation is at least its bound, in ascending order.

    Called twice: with ``fill`` false only OUT ``counts`` are written; with ``fill`` true OUT ``items`` and ``values``
    (exact float64 correlations), each row from ``offsets[row]`` on.
    """
    for b in range(start, stop):
        count = 0
        for j in range(cosines.shape[1]):
            correlation = abs(np.float64(cosines[b, j])) * norms[j] * scales[b]
            slack = error * norms[j] * scales[b]
            if correlation < bounds[b] - slack or j == own[b]:
                continue
            if not fill and correlation > bounds[b] + slack:
                count += 1
                continue
            exact = _inner(X, j, residuals[b])
            if abs(exact) < bounds[b]:
                continue
            if fill:
                items[offsets[b] + count] = j
                values[offsets[b] + count] = exact
            count += 1
        counts[b] = count


@njit(cache=True, nogil=True)
def _strongest_of_row(cosines, scale, error, X, norms, residual, own, group_first, group_rank, members):
    """Return the atom of largest absolute correlation and that correlation; -1 where no atom has any.

    Of equal ones the first wins.
    """
    n = cosines.shape[0]
    floor = 0.0  # the largest absolute correlation is at least this
    for j in range(n):
        low = (abs(np.float64(cosines[j])) - error) * norms[j] * scale
        if low > floor and _allowed(j, own, group_first, group_rank) and not (members == j).any():
            floor = low
    strongest = -1
    largest = 0.0
    for j in range(n):
        high = (abs(np.float64(cosines[j])) + error) * norms[j] * scale
        if high < floor or high <= abs(largest):
            continue
        if not _allowed(j, own, group_first, group_rank) or (members == j).any():
            continue
        correlation = _inner(X, j, residual)
        if abs(correlation) > abs(largest):
            largest = correlation
            strongest = j
    return strongest, largest


@njit(cache=True, nogil=True)
def strongest(
    start,
    stop,
    cosines,
    scales,
    error,
    X,
    norms,
    residuals,
    own,
    group_first,
    group_rank,
    members,
    n_members,
    items,
    values,
):
    """For each row the atom of largest absolute correlation that is not among its members.

    OUT: ``items`` (rows,), -1 for none, and ``values`` (rows,), the exact float64 correlations.
    """
    for b in range(start, stop):
        items[b], values[b] = _strongest_of_row(
            cosines[b],
            scales[b],
            error,
            X,
            norms,
            residuals[b],
            own[b],
            group_first,
            group_rank,
            members[b, : n_members[b]],
        )

"""Which atoms correlate with a residual by at least a bound, or most, decided exactly.

Correlations come tile by tile: ``cosines`` (rows, atoms of the tile), from a float32 matrix product of unit vectors,
off by at most ``error``; ``first`` is the tile's first atom. A correlation is cosine times the atom's ``weight``, its
norm relative to the largest, times the row's ``unit``, the residual's norm times that largest one. Where the error
leaves a comparison open, the inner product is taken again in float64. Kernels keep what they have found so far in their
arguments, from one tile to the next.

Nearly all atoms are far below any bound, so a run of them is first compared at once, in a loop that the compiler turns
into vector instructions (`_some_reach`), and only runs with a hit are looked at atom by atom.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_RUN = 32
# What rounding in the float32 comparison of a run may take away, relative to its terms.
_MARGIN = np.float32(1e-6)
# What a weight may be off by where float32 has no digits left.
_TINY = 1e-37
_BISECTIONS = 12


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
def _is_member(members, j):
    position = np.searchsorted(members, j)
    return position < members.shape[0] and members[position] == j


@njit(cache=True, nogil=True)
def _in_runs(row):
    """Return the whole runs of a row, (runs, _RUN)."""
    n_runs = row.shape[0] // _RUN
    return row[: n_runs * _RUN].reshape((n_runs, _RUN))


@njit(cache=True, nogil=True)
def _some_reach(cosines, weights, run, shift, error, threshold):
    """Whether any |cosine weight - shift| + error weight of a run reaches the threshold; in float32, missing none.

    What is past the last whole run is taken to.
    """
    if run >= cosines.shape[0]:
        return True
    lowered = threshold - _MARGIN * (np.float32(1.0) + abs(shift)) - np.float32(_TINY)
    hits = 0
    for i in range(cosines.shape[1]):
        hits += abs(cosines[run, i] * weights[run, i] - shift) + error * weights[run, i] >= lowered
    return hits > 0


@njit(cache=True, nogil=True)
def _in_units(value, unit):
    """Return value / unit as float32, where a unit of zero makes everything reach every threshold."""
    if unit <= 0.0:
        return np.float32(-np.inf)
    return np.float32(min(value / unit, 1e30))


@njit(cache=True, nogil=True)
def sift_down(keys, items, size):
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
def _push(key, item, keys, items, count):
    """Put an item among the largest; return how many there are."""
    if count < items.shape[0]:
        keys[count] = key
        items[count] = item
        _sift_up(keys, items, count)
        return count + 1
    if key > keys[0]:
        keys[0] = key
        items[0] = item
        sift_down(keys, items, count)
    return count


@njit(cache=True, nogil=True)
def _reached_by(cosines, weights, shift, least):
    """Return a value that ``least`` of |cosine weight - shift| reach, and as few more as bisection finds; or 0."""
    low, high = np.float32(0.0), np.float32(1.0)
    for _ in range(_BISECTIONS):
        middle = (low + high) / np.float32(2.0)
        reached = 0
        for i in range(cosines.shape[0]):
            reached += abs(cosines[i] * weights[i] - shift) >= middle
        if reached >= least:
            low = middle
            if reached <= 1.25 * least:
                break
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _largest_of_row(
    cosines,
    first,
    weights,
    unit,
    bound,
    floor,
    shift,
    error,
    X,
    residual,
    own,
    group_first,
    group_rank,
    members,
    items,
    keys,
    count,
    violated,
):
    """As `largest` for one row; return (count, violated)."""
    n = cosines.shape[0]
    error32 = np.float32(error)
    shift32 = np.float32(shift / unit) if unit > 0.0 else np.float32(0.0)
    runs = _in_runs(cosines)
    weights_of_runs = _in_runs(weights[first : first + n])
    for run in range(-(-n // _RUN)):
        threshold = floor
        if count == items.shape[0]:
            threshold = max(floor, keys[0])
        # What exceeds the bound is noticed even where the heap is full of larger ones.
        if not violated:
            threshold = min(threshold, bound)
        rough = threshold - (error + _TINY) * unit
        if not _some_reach(runs, weights_of_runs, run, shift32, error32, _in_units(threshold, unit)):
            continue
        for i in range(run * _RUN, min(run * _RUN + _RUN, n)):
            j = first + i
            correlation = abs(np.float64(cosines[i]) * weights[j] * unit - shift)
            if correlation < rough:
                continue
            slack = (error * weights[j] + _TINY) * unit
            if correlation + slack < threshold or not _allowed(j, own, group_first, group_rank):
                continue
            if _is_member(members, j):
                continue
            if not violated and correlation + slack > bound:
                if correlation - slack > bound:
                    violated = True
                else:
                    correlation = abs(_inner(X, j, residual) - shift)
                    violated = correlation > bound
                if violated:
                    # Many atoms may lie within rounding of the bound: they must not push out the one that is known to
                    # violate, or the row would be asked for ever.
                    correlation = np.inf
            if correlation > floor:
                count = _push(correlation, j, keys, items, count)
                if count == items.shape[0]:
                    threshold = max(floor, keys[0])
                    if not violated:
                        threshold = min(threshold, bound)
    return count, violated


@njit(cache=True, nogil=True)
def largest(
    cosines,
    first,
    weights,
    units,
    bounds,
    floors,
    shifts,
    error,
    X,
    residuals,
    own,
    group_first,
    group_rank,
    members,
    n_members,
    items,
    keys,
    counts,
    violated,
):
    """For each row the atoms whose correlation, less its shift, is largest in absolute value and above its floor.

    ``violated`` tells, exactly, of those whether any is above the row's bound. IN/OUT: ``items`` and ``keys`` (rows,
    capacity), heaps; ``counts`` and ``violated`` (rows,).
    """
    n, capacity = cosines.shape[1], items.shape[1]
    for b in range(cosines.shape[0]):
        floor = floors[b]
        if counts[b] == 0 and n >= 8 * capacity and units[b] > 0.0:
            # An empty heap would take in most of what comes first, only to throw it out again.
            least = capacity + n_members[b] + 1
            shift = np.float32(shifts[b] / units[b])
            floor = max(floor, _reached_by(cosines[b], weights[first : first + n], shift, least) * units[b])
        while True:
            count, has_violator = _largest_of_row(
                cosines[b],
                first,
                weights,
                units[b],
                bounds[b],
                floor,
                shifts[b],
                error,
                X,
                residuals[b],
                own[b],
                group_first,
                group_rank,
                members[b, : n_members[b]],
                items[b],
                keys[b],
                counts[b],
                violated[b],
            )
            if floor == floors[b] or count == capacity:
                break
            floor = floors[b]  # so much of it was not allowed that there is room for less
        counts[b], violated[b] = count, has_violator


@njit(cache=True, nogil=True)
def largest_entries(residuals, bound, n_atoms, members, n_members, items, counts, violated):
    """For each row append the largest atoms of the identity, feature t as ``n_atoms + t``, that are above ``bound``.

    Their correlations are the residual's entries. As many as ``items`` has room for. IN/OUT ``items``, ``counts``,
    ``violated``.
    """
    keys = np.empty(items.shape[1])
    for b in range(residuals.shape[0]):
        first = counts[b]
        chosen = items[b, first:]
        known = members[b, : n_members[b]]
        count = 0
        for t in range(residuals.shape[1]):
            size = abs(residuals[b, t])
            if size > bound and not _is_member(known, n_atoms + t):
                count = _push(size, n_atoms + t, keys[: chosen.shape[0]], chosen, count)
        violated[b] = violated[b] or count > 0
        counts[b] = first + count


@njit(cache=True, nogil=True)
def all_at_least(
    cosines, first, weights, units, bounds, error, X, residuals, own, offsets, items, values, counts, fill
):
    """For each row every atom of the tile whose correlation is at least its bound, in ascending order.

    Called twice: with ``fill`` false only OUT ``counts`` are written; with ``fill`` true OUT ``items`` and ``values``
    (exact float64 correlations), each row from ``offsets[row]`` on.
    """
    n = cosines.shape[1]
    error32 = np.float32(error)
    weights_of_runs = _in_runs(weights[first : first + n])
    for b in range(cosines.shape[0]):
        count = 0
        threshold = _in_units(bounds[b], units[b])
        runs = _in_runs(cosines[b])
        for run in range(-(-n // _RUN)):
            if not _some_reach(runs, weights_of_runs, run, np.float32(0.0), error32, threshold):
                continue
            for i in range(run * _RUN, min(run * _RUN + _RUN, n)):
                j = first + i
                correlation = abs(np.float64(cosines[b, i])) * weights[j] * units[b]
                slack = (error * weights[j] + _TINY) * units[b]
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
def strongest(
    cosines, first, weights, units, error, X, residuals, own, group_first, group_rank, members, n_members, items, values
):
    """For each row the atom of largest absolute correlation that is not among its members; of equal ones the first.

    IN/OUT: ``items`` (rows,), -1 for none, and ``values`` (rows,), the exact float64 correlations.
    """
    n = cosines.shape[1]
    error32 = np.float32(error)
    weights_of_runs = _in_runs(weights[first : first + n])
    for b in range(cosines.shape[0]):
        known = members[b, : n_members[b]]
        runs = _in_runs(cosines[b])
        for run in range(-(-n // _RUN)):
            threshold = _in_units(abs(values[b]), units[b])
            if not _some_reach(runs, weights_of_runs, run, np.float32(0.0), error32, threshold):
                continue
            for i in range(run * _RUN, min(run * _RUN + _RUN, n)):
                j = first + i
                high = ((abs(np.float64(cosines[b, i])) + error) * weights[j] + _TINY) * units[b]
                if high <= abs(values[b]) or not _allowed(j, own[b], group_first, group_rank) or (known == j).any():
                    continue
                correlation = _inner(X, j, residuals[b])
                if abs(correlation) > abs(values[b]):
                    values[b] = correlation
                    items[b] = j

"""Coordinate descent on the regularised problem, sample by sample, on the coordinates that matter.

The problem of sample i, its neighbours' codes z_j and weights w_j = S~_ij fixed, is

    min  |x_i - sum_k z_ik x_k|^2 + gamma sum_j w_j |z_i - z_j|_0,    z_ii = 0.

One proximal step is v = z + (2/L) q with q = b - G z, b_k = x_k^T x_i, G the Gram matrix, and then `scalar_step` in
every coordinate. A coordinate where the sample and all its neighbours are zero stays zero unless
|q_k| >= sqrt(gamma w L / 2), w = sum_j w_j. So a visit works on the union of the supports, and looks at the others only
when the residual is long enough for that.

L for a step from z to u must be at least 2 tau sigma_max of the Gram matrix of both supports. Where it is raised
for that, the step is taken anew: with a larger L any nonzero value of a zero coordinate only gets worse beside zero,
so the new u has no support that the old one had not.

Codes live in a pool: row i has ``counts[i]`` entries from ``starts[i]`` on in ``items`` (sorted) and ``values``, and
room for ``capacities[i]``.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ._rows import as_float64, gather, residual_of


@njit(cache=True, nogil=True)
def scalar_step(v, L, gamma, values, weights):
    """Minimise (L/2) (u - v)^2 + gamma (sum of the weights of the values that differ from u) over u.

    ``values`` are distinct. Returns u and the weight of the value that u is, 0 for none. Of equally good u the first
    wins, in the order v, ``values``: an entry exactly at the threshold stays, as in the l0-graph.
    """
    best = 0.0
    u = v
    weight = 0
    for c in range(values.shape[0]):
        score = 0.5 * L * (values[c] - v) ** 2 - gamma * weights[c]
        if score < best:
            best = score
            u = values[c]
            weight = weights[c]
    return u, weight


@njit(cache=True, nogil=True)
def _candidates(own, ids, neighbors, weights, starts, counts, items, values):
    """Return what the neighbours say of each coordinate.

    ``coordinates``: the sorted union of ``ids`` and the neighbours' supports, without ``own``. Coordinate p has the
    distinct ``candidates`` from ``offsets[p]`` to ``offsets[p + 1]``, zero first and then ascending, which is the order
    that ties are decided in; ``votes`` are their weights.
    """
    total = ids.shape[0]
    for j in neighbors:
        total += counts[j]
    where = np.empty(total, dtype=np.int64)
    what = np.zeros(total)
    vote = np.zeros(total, dtype=np.int64)
    where[: ids.shape[0]] = ids
    n = ids.shape[0]
    for a in range(neighbors.shape[0]):
        j = neighbors[a]
        for p in range(starts[j], starts[j] + counts[j]):
            where[n] = items[p]
            what[n] = values[p]
            vote[n] = weights[a]
            n += 1
    order = np.argsort(where, kind="mergesort")
    weight_sum = weights.sum()
    coordinates = np.empty(total, dtype=np.int64)
    offsets = np.zeros(total + 1, dtype=np.int64)
    candidates = np.empty(2 * total)
    votes = np.empty(2 * total, dtype=np.int64)
    k = 0
    end = 0
    p = 0
    while p < total:
        coordinate = where[order[p]]
        first = end
        candidates[first] = 0.0
        votes[first] = weight_sum
        end += 1
        while p < total and where[order[p]] == coordinate:
            value = what[order[p]]
            weight = vote[order[p]]
            p += 1
            if value == 0.0:
                continue
            votes[first] -= weight
            at = end
            while at > first + 1 and candidates[at - 1] > value:
                at -= 1
            if at > first + 1 and candidates[at - 1] == value:
                votes[at - 1] += weight
                continue
            for later in range(end, at, -1):
                candidates[later] = candidates[later - 1]
                votes[later] = votes[later - 1]
            candidates[at] = value
            votes[at] = weight
            end += 1
        if coordinate == own:
            end = first
            continue
        coordinates[k] = coordinate
        k += 1
        offsets[k] = end
    return coordinates[:k], offsets[: k + 1], candidates[:end], votes[:end]


@njit(cache=True, nogil=True)
def _spread(ids, z, coordinates):
    """Return the values of a sparse code at coordinates that include its support."""
    spread = np.zeros(coordinates.shape[0])
    for i in range(ids.shape[0]):
        spread[np.searchsorted(coordinates, ids[i])] = z[i]
    return spread


@njit(cache=True, nogil=True)
def _fill_gram(A, G, filled, z):
    """Compute the rows of G = A A^T at nonzeros of z that are not there yet."""
    missing = np.flatnonzero((z != 0.0) & ~filled)
    if missing.shape[0] == 0:
        return
    B = np.empty((missing.shape[0], A.shape[1]))
    for i in range(missing.shape[0]):
        B[i] = A[missing[i]]
    products = np.dot(B, A.T)
    for i in range(missing.shape[0]):
        G[missing[i]] = products[i]
        filled[missing[i]] = True


@njit(cache=True, nogil=True)
def _correlations(b, G, z):
    q = b.copy()
    for j in range(z.shape[0]):
        if z[j] != 0.0:
            for i in range(q.shape[0]):
                q[i] -= z[j] * G[j, i]
    return q


@njit(cache=True, nogil=True)
def _majorising(G, chosen, L, tau):
    """Return the least number not under L that majorises on the chosen coordinates: 2 tau sigma_max of their Gram."""
    members = np.flatnonzero(chosen)
    H = np.empty((members.shape[0], members.shape[0]))
    squares = 0.0
    for i in range(members.shape[0]):
        for j in range(members.shape[0]):
            H[i, j] = G[members[i], members[j]]
            squares += H[i, j] * H[i, j]
    if 2.0 * tau * np.sqrt(squares) <= L:  # the Frobenius norm bounds sigma_max, and is cheap
        return L
    return max(L, 2.0 * tau * np.linalg.eigvalsh(H)[-1])


@njit(cache=True, nogil=True)
def _step(z, q, L, gamma, offsets, candidates, votes, new):
    """OUT ``new``: the proximal step. Returns the weight of the neighbours that agree with it, over all coordinates."""
    agreement = 0
    for p in range(z.shape[0]):
        first = offsets[p]
        last = offsets[p + 1]
        new[p], weight = scalar_step(z[p] + 2.0 / L * q[p], L, gamma, candidates[first:last], votes[first:last])
        agreement += weight
    return agreement


@njit(cache=True, nogil=True)
def _agreement(z, offsets, candidates, votes):
    agreement = 0
    for p in range(z.shape[0]):
        for c in range(offsets[p], offsets[p + 1]):
            if candidates[c] == z[p]:
                agreement += votes[c]
    return agreement


@njit(cache=True, nogil=True)
def _inner(X, j, r):
    total = 0.0
    for t in range(r.shape[0]):
        total += np.float64(X[j, t]) * r[t]
    return total


@njit(cache=True, nogil=True)
def _all_correlations(X, r, correlations):
    """OUT ``correlations``: |x_j^T r| of all atoms, up to rounding."""
    size = 256
    for start in range(0, X.shape[0], size):
        members = np.arange(start, min(start + size, X.shape[0]))
        correlations[start : start + members.shape[0]] = np.abs(np.dot(gather(X, members), r))


@njit(cache=True, nogil=True)
def _entering(X, norms, r, bound, own, coordinates, known, reference, correlations):
    """Return all atoms outside the sorted ``coordinates`` with |x_j^T r| >= bound, in ascending order.

    ``known``: ``correlations`` has |x_j^T reference| of all atoms. As x_j^T r differs from that by at most
    |x_j| |r - reference|, most atoms are decided without another product. IN/OUT ``reference``, ``correlations``.
    """
    n = X.shape[0]
    drift = 0.0
    if known:
        drift = np.sqrt(np.sum((r - reference) ** 2))
    else:
        _all_correlations(X, r, correlations)
        reference[:] = r
    rounding = 1e-15 * r.shape[0] * (np.sqrt(np.dot(r, r)) + np.sqrt(np.dot(reference, reference)))
    undecided = 0
    for j in range(n):
        if correlations[j] + norms[j] * (drift + rounding) >= bound:
            undecided += 1
    if drift > 0.0 and 8 * undecided > n:
        _all_correlations(X, r, correlations)
        reference[:] = r
        drift = 0.0
    found = np.empty(undecided, dtype=np.int64)
    count = 0
    for j in range(n):
        if j == own or correlations[j] + norms[j] * (drift + rounding) < bound:
            continue
        position = np.searchsorted(coordinates, j)
        if position < coordinates.shape[0] and coordinates[position] == j:
            continue
        if abs(_inner(X, j, r)) >= bound:
            found[count] = j
            count += 1
    return found[:count]


@njit(cache=True, nogil=True)
def _visit(
    X,
    norms,
    max_norm,
    target,
    own,
    gamma,
    L,
    tau,
    check_step,
    max_iter,
    tol,
    neighbors,
    weights,
    starts,
    counts,
    items,
    values,
    row,
):
    """Iterate the problem of one sample, its neighbours' codes fixed; return support, values, and whether done."""
    x = as_float64(target)
    xx = np.dot(x, x)
    weight_sum = weights.sum()
    support = items[starts[row] : starts[row] + counts[row]].copy()
    ids, offsets, candidates, votes = _candidates(own, support, neighbors, weights, starts, counts, items, values)
    z = _spread(support, values[starts[row] : starts[row] + counts[row]], ids)
    A = gather(X, ids)
    b = np.dot(A, x)
    G = np.empty((ids.shape[0], ids.shape[0]))
    filled = np.zeros(ids.shape[0], dtype=np.bool_)
    agreement = _agreement(z, offsets, candidates, votes)
    majorised = z != 0.0  # coordinates on which L is known to majorise
    reference = np.empty(0)
    correlations = np.empty(0)
    known = False
    before = np.inf
    done = False
    t = 0
    while True:
        _fill_gram(A, G, filled, z)
        q = _correlations(b, G, z)
        rr = max(xx - np.dot(z, b + q), 0.0)
        objective = rr + gamma * (weight_sum * ids.shape[0] - agreement)
        if t > 0 and abs(before - objective) < tol:
            done = True
            break
        if t == max_iter:
            break
        before = objective
        if check_step and t == 0:
            L = _majorising(G, majorised, L, tau)
        bound = np.sqrt(0.5 * gamma * weight_sum * L)
        # The slack is for rounding: it must not close a sample that the exact bound leaves open.
        if np.sqrt(rr + 1e-13 * xx) * max_norm >= bound:
            if not known:
                reference = np.empty(X.shape[1])
                correlations = np.empty(X.shape[0])
            residual = np.empty(X.shape[1])
            residual_of(x, A, z, residual)
            entering = _entering(X, norms, residual, bound, own, ids, known, reference, correlations)
            known = True
            if entering.shape[0] > 0:
                # Once more from the supports, so that atoms which entered, left and stay out are not carried along.
                used = np.flatnonzero((z != 0.0) | (np.abs(q) >= bound))
                support = ids[used]
                kept = z[used]
                ids, offsets, candidates, votes = _candidates(
                    own, np.concatenate((support, entering)), neighbors, weights, starts, counts, items, values
                )
                z = _spread(support, kept, ids)
                A = gather(X, ids)
                b = np.dot(A, x)
                G = np.empty((ids.shape[0], ids.shape[0]))
                filled = np.zeros(ids.shape[0], dtype=np.bool_)
                majorised = z != 0.0
                _fill_gram(A, G, filled, z)
                q = _correlations(b, G, z)
        new = np.empty(ids.shape[0])
        agreement = _step(z, q, L, gamma, offsets, candidates, votes, new)
        if check_step:
            union = (z != 0.0) | (new != 0.0)
            if (union & ~majorised).any():
                _fill_gram(A, G, filled, new)
                raised = _majorising(G, union, L, tau)
                if raised > L:
                    # With a larger L fewer coordinates leave zero, so it majorises for the step taken anew.
                    L = raised
                    agreement = _step(z, q, L, gamma, offsets, candidates, votes, new)
                majorised = union
        z = new
        t += 1
    used = np.flatnonzero(z)
    return ids[used], z[used], done


@njit(cache=True, nogil=True)
def visit(
    start,
    stop,
    X,
    norms,
    max_norm,
    targets,
    first,
    own,
    gamma,
    L,
    tau,
    check_step,
    max_iter,
    tol,
    indptr,
    neighbors,
    weights,
    rows,
    starts,
    capacities,
    counts,
    items,
    values,
    needed,
    done,
):
    """Visit rows of the pool, no two of them neighbours.

    Row i codes ``targets[i - first]``, whose neighbours are the rows ``neighbors`` from ``indptr[i - first]`` on.
    IN/OUT ``counts``, ``items``, ``values`` where the row has room. OUT for each of ``rows``, ``needed``, the entries
    of its new code: where they are more than its capacity the row is as before; and ``done``.
    """
    for b in range(start, stop):
        row = rows[b]
        i = row - first
        ids, z, done[b] = _visit(
            X,
            norms,
            max_norm,
            targets[i],
            own[i],
            gamma,
            L,
            tau,
            check_step,
            max_iter,
            tol,
            neighbors[indptr[i] : indptr[i + 1]],
            weights[indptr[i] : indptr[i + 1]],
            starts,
            counts,
            items,
            values,
            row,
        )
        needed[b] = ids.shape[0]
        if ids.shape[0] <= capacities[row]:
            counts[row] = ids.shape[0]
            items[starts[row] : starts[row] + ids.shape[0]] = ids
            values[starts[row] : starts[row] + ids.shape[0]] = z


@njit(cache=True, nogil=True)
def _distance(a, u, b, v):
    """Number of coordinates where two codes differ."""
    p = 0
    r = 0
    distance = 0
    while p < a.shape[0] or r < b.shape[0]:
        if r == b.shape[0] or (p < a.shape[0] and a[p] < b[r]):
            distance += 1
            p += 1
        elif p == a.shape[0] or b[r] < a[p]:
            distance += 1
            r += 1
        else:
            if u[p] != v[r]:
                distance += 1
            p += 1
            r += 1
    return distance


@njit(cache=True, nogil=True)
def terms(start, stop, X, targets, first, indptr, neighbors, weights, starts, counts, items, values, losses, distances):
    """OUT for each target: its squared residual, and the weighted sum of the l0 distances to its neighbours' codes."""
    for i in range(start, stop):
        row = first + i
        ids = items[starts[row] : starts[row] + counts[row]]
        z = values[starts[row] : starts[row] + counts[row]]
        residual = np.empty(X.shape[1])
        residual_of(as_float64(targets[i]), gather(X, ids), z, residual)
        losses[i] = np.dot(residual, residual)
        distance = 0
        for p in range(indptr[i], indptr[i + 1]):
            j = neighbors[p]
            distance += weights[p] * _distance(
                ids, z, items[starts[j] : starts[j] + counts[j]], values[starts[j] : starts[j] + counts[j]]
            )
        distances[i] = distance


@njit(cache=True, nogil=True)
def levels(indptr, neighbors):
    """Return for each sample a level: one more than the highest of its neighbours that come before it.

    Visiting level by level is the same as visiting in order: when a sample's turn comes, its neighbours before it have
    been visited and those after it have not. The adjacency must be symmetric.
    """
    level = np.zeros(indptr.shape[0] - 1, dtype=np.int64)
    for i in range(level.shape[0]):
        for p in range(indptr[i], indptr[i + 1]):
            if neighbors[p] < i:
                level[i] = max(level[i], level[neighbors[p]] + 1)
    return level

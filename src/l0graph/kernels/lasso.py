"""Small lassos on working sets, one sample each:  min_z ||x - A^T z||^2 + 2 sum_j h_j |z_j|,  A the members' rows.

Members are rows of X and, past them, of the identity, which takes up gross errors of single features. A round lets
members in: which ones is found roughly, in float32 over atoms of norm one; the minimiser over them in float64, whatever
X is. The finish solves a row once more from its support alone.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ._rows import as_float64, gather, residual_of
from ._small_lasso import ROUNDING, SWEEPS, descend, minimise, solve_support

# While a working set still grows its problem is solved roughly, and so many of the items enter at a time.
_ROUGH_SWEEPS = 10
_ENTER = 16
# A float32 correlation this close to its bound, relative to it, is computed again.
_NEAR = 1e-3


@njit(cache=True, nogil=True)
def _norm_and_price(norms, j, h, h_outlier):
    """Norm of atom j, and h of its coefficient."""
    if j < norms.shape[0]:
        return norms[j], h
    return 1.0, h_outlier


@njit(cache=True, nogil=True)
def _gather_unit(unit, ids, U):
    """OUT ``U``: the atoms of norm one in float32."""
    n, d = unit.shape
    for i in range(ids.shape[0]):
        j = ids[i]
        if j < n:
            for t in range(d):
                U[i, t] = unit[j, t]
        else:
            U[i] = np.float32(0.0)
            U[i, j - n] = np.float32(1.0)


@njit(cache=True, nogil=True)
def _worst(ratios, chosen, keys):
    """Choose the positions of the largest ratios above 1, in rising order; return how many there are.

    OUT ``chosen``, ``keys`` (capacity,).
    """
    count = 0
    for i in range(ratios.shape[0]):
        ratio = ratios[i]
        if ratio <= 1.0:
            continue
        if count < chosen.shape[0]:
            position = count
            count += 1
        elif ratio > keys[count - 1]:
            position = count - 1
        else:
            continue
        while position > 0 and keys[position - 1] < ratio:
            keys[position] = keys[position - 1]
            chosen[position] = chosen[position - 1]
            position -= 1
        keys[position] = ratio
        chosen[position] = i
    for i in range(1, count):
        moving = chosen[i]
        position = i
        while position > 0 and chosen[position - 1] > moving:
            chosen[position] = chosen[position - 1]
            position -= 1
        chosen[position] = moving
    return count


@njit(cache=True, nogil=True)
def _swap_rows(U, i, j):
    for t in range(U.shape[1]):
        U[i, t], U[j, t] = U[j, t], U[i, t]


@njit(cache=True, nogil=True)
def _extend_gram(A, G, first, size):
    """Fill the rows and columns of G from ``first`` to ``size``."""
    new = np.dot(A[:size], A[first:size].T)
    for i in range(size):
        for j in range(first, size):
            G[i, j] = new[i, j - first]
            G[j, i] = new[i, j - first]


@njit(cache=True, nogil=True)
def _grow(ids, U, G, prices, target, y, n_inside, residual):
    """Let those atoms in that violate, the worst first, and minimise over them; all roughly, in float32.

    The atoms have norm one and the target too; the first ``n_inside`` are in. IN/OUT: the atoms' order (``ids``, ``U``
    and ``prices``; those that are in come first), ``y`` and ``residual``. Returns how many are in.
    """
    total = ids.shape[0]
    chosen = np.empty(_ENTER, dtype=np.int64)
    keys = np.empty(_ENTER)
    q = np.empty(total, dtype=np.float32)
    ratios = np.empty(total)
    size = n_inside
    _extend_gram(U, G, 0, size)
    q[:size] = np.dot(U[:size], residual)
    refined = False
    while True:
        correlations = np.dot(U[size:total], residual)
        for c in range(total - size):
            ratios[c] = abs(correlations[c]) / (prices[size + c] * np.float32(1.0 + _NEAR))
        count = _worst(ratios[: total - size], chosen, keys)
        if count == 0 and refined:
            return size
        # In rising order no swap displaces an atom that is still to enter.
        for i in range(count):
            position, place = size + chosen[i], size + i
            q[place] = correlations[position - size]
            if position != place:
                correlations[position - size] = correlations[place - size]
                ids[position], ids[place] = ids[place], ids[position]
                prices[position], prices[place] = prices[place], prices[position]
                _swap_rows(U, position, place)
            y[place] = np.float32(0.0)
        _extend_gram(U, G, size, size + count)
        size += count
        # On the way a few sweeps are enough; float32's best only once nobody wants to enter any more.
        refined = count == 0
        descend(G, prices, y[:size], q, SWEEPS if refined else _ROUGH_SWEEPS, 1e-4 if refined else 1e-2)
        residual[:] = target
        for i in range(size):
            if y[i] != np.float32(0.0):
                for t in range(residual.shape[0]):
                    residual[t] -= y[i] * U[i, t]


@njit(cache=True, nogil=True)
def _settle(X, norms, x, h, h_outlier, ids, U, prices, z, inside, A, G, residual):
    """Minimise exactly over the atoms that are ``inside``, letting in those of ``ids`` that violate.

    IN ``z``: coefficients to start from, zero but for those inside. IN/OUT ``z`` and ``inside``, which only grows.
    OUT ``residual``. ``prices`` are those of atoms of norm one and a target of norm one.
    """
    total, n, d = ids.shape[0], X.shape[0], x.shape[0]
    members = np.empty(total, dtype=np.int64)
    b = np.empty(total)
    hs = np.empty(total)
    size = 0
    entering = np.empty(total, dtype=np.int64)
    n_entering = 0
    for c in range(total):
        if inside[c]:
            entering[n_entering] = c
            n_entering += 1
    keys = np.empty(_ENTER)
    ratios = np.empty(total)
    w = np.empty(total)
    norm = np.sqrt(np.dot(x, x))
    unit_residual = np.empty(d, dtype=np.float32)
    while True:
        first = size
        for c in entering[:n_entering]:
            j = ids[c]
            members[size] = c
            hs[size] = _norm_and_price(norms, j, h, h_outlier)[1]
            if j < n:
                for t in range(d):
                    A[size, t] = X[j, t]
            else:
                A[size] = 0.0
                A[size, j - n] = 1.0
            b[size] = np.dot(A[size], x)
            size += 1
        _extend_gram(A, G, first, size)
        for i in range(size):
            w[i] = z[members[i]]
        minimise(np.ascontiguousarray(G[:size, :size]), b[:size], hs[:size], w[:size])
        for i in range(size):
            z[members[i]] = w[i]
        residual_of(x, A, w[:size], residual)
        left = np.sqrt(np.dot(residual, residual))
        if left == 0.0:
            return
        for t in range(d):
            unit_residual[t] = residual[t] / left
        cosines = np.dot(U[:total], unit_residual)
        for c in range(total):
            ratios[c] = abs(cosines[c]) * (left / norm) / prices[c]
            if inside[c] or ratios[c] < 1.0 - _NEAR:
                ratios[c] = 0.0
            elif ratios[c] < 1.0 + _NEAR:  # too close for float32
                j = ids[c]
                if j < n:
                    correlation = 0.0
                    for t in range(d):
                        correlation += X[j, t] * residual[t]
                    ratios[c] = abs(correlation) / (h * (1.0 + ROUNDING))
                else:
                    ratios[c] = abs(residual[j - n]) / (h_outlier * (1.0 + ROUNDING))
        n_entering = _worst(ratios, entering[:_ENTER], keys)
        if n_entering == 0:
            return
        for c in entering[:n_entering]:
            inside[c] = True


@njit(cache=True, nogil=True)
def _round_of_row(X, unit, norms, x, h, h_outlier, members, coefs, k, items, exactly, residual, U, G32, A, G):
    """As `lasso_round` for one row; return the size of its support and how far its residual has moved.

    U, G32, A and G are room to work.
    """
    d = x.shape[0]
    norm = np.sqrt(np.dot(x, x))
    if norm == 0.0:
        return 0, 0.0
    before = residual.copy()
    total = k + items.shape[0]
    ids = np.empty(total, dtype=np.int64)
    prices = np.empty(total, dtype=np.float32)
    y = np.zeros(total, dtype=np.float32)
    for c in range(total):
        ids[c] = members[c] if c < k else items[c - k]
        size, price = _norm_and_price(norms, ids[c], h, h_outlier)
        prices[c] = min(price / (size * norm), 1e30) if size > 0.0 else 1e30
        if c < k:
            y[c] = coefs[c] * size / norm
    _gather_unit(unit, ids, U)
    target = np.empty(d, dtype=np.float32)
    rough = np.empty(d, dtype=np.float32)
    for t in range(d):
        target[t] = x[t] / norm
        rough[t] = residual[t] / norm
    n_inside = _grow(ids, U, G32, prices, target, y, k, rough)
    z = np.zeros(total)
    inside = np.zeros(total, dtype=np.bool_)
    for c in range(n_inside):
        if y[c] != np.float32(0.0):
            z[c] = y[c] * norm / _norm_and_price(norms, ids[c], h, h_outlier)[0]
            inside[c] = True
    if exactly:
        _settle(X, norms, x, h, h_outlier, ids, U, prices, z, inside, A, G, residual)
    else:
        for t in range(d):
            residual[t] = rough[t] * norm
    # The support, sorted.
    k = 0
    for c in range(total):
        if z[c] == 0.0:
            continue
        position = k
        while position > 0 and members[position - 1] > ids[c]:
            members[position] = members[position - 1]
            coefs[position] = coefs[position - 1]
            position -= 1
        members[position] = ids[c]
        coefs[position] = z[c]
        k += 1
    moved = 0.0
    for t in range(d):
        moved += (before[t] - residual[t]) ** 2
    return k, np.sqrt(moved)


@njit(cache=True, nogil=True)
def lasso_round(
    X, unit, norms, targets, h, h_outlier, members, coefs, n_members, items, n_items, exactly, residuals, moved
):
    """Minimise over each row's members and what of its items violates, until none of them does; keep the support.

    Growth is rough and in float32; with ``exactly`` the minimiser is then found in float64.
    IN/OUT ``members``, ``coefs`` (rows, capacity; members sorted), ``n_members`` and ``residuals`` (rows, d), which
    are those of ``coefs``, or nearly so. OUT ``moved`` (rows,): the norm of the residual's change. The
    capacity is enough for members and items together.
    """
    d = X.shape[1]
    capacity = int(n_members.max()) + items.shape[1] if n_members.shape[0] else 0
    U = np.empty((capacity, d), dtype=np.float32)
    G32 = np.empty((capacity, capacity), dtype=np.float32)
    A = np.empty((capacity, d))
    G = np.empty((capacity, capacity))
    for b in range(targets.shape[0]):
        n_members[b], moved[b] = _round_of_row(
            X,
            unit,
            norms,
            as_float64(targets[b]),
            h,
            h_outlier,
            members[b],
            coefs[b],
            n_members[b],
            items[b, : n_items[b]],
            exactly,
            residuals[b],
            U,
            G32,
            A,
            G,
        )


@njit(cache=True, nogil=True)
def _weights(members, n_atoms, h, h_outlier):
    weights = np.empty(members.shape[0])
    for i in range(members.shape[0]):
        weights[i] = h if members[i] < n_atoms else h_outlier
    return weights


@njit(cache=True, nogil=True)
def _finish_row(X, target, h, h_outlier, slack, members, coefs, k):
    """Return (objective, gap)."""
    x = as_float64(target)
    A = gather(X, members[:k])
    G = np.dot(A, A.T)
    correlations = np.dot(A, x)
    z = coefs[:k]
    weights = _weights(members[:k], X.shape[0], h, h_outlier)
    signs = np.empty(k)
    places = np.empty(k, dtype=np.int64)
    for i in range(k):
        signs[i] = 1.0 if z[i] > 0.0 else -1.0
        places[i] = i
    y = np.empty(k)
    if solve_support(G, correlations, weights, places, signs, k, np.empty((k, k)), y, 0) < 0:
        agree = True
        for i in range(k):
            agree = agree and y[i] * signs[i] > 0.0
        if agree:
            z[:] = y
    residual = np.empty(x.shape[0])
    residual_of(x, A, z, residual)
    rr = np.dot(residual, residual)
    xr = np.dot(x, residual)
    inside = correlations - np.dot(G, z)
    weighted = 0.0
    excess = 1.0 + slack
    for i in range(k):
        weighted += weights[i] * abs(z[i])
        excess = max(excess, abs(inside[i]) / weights[i])
    objective = rr + 2.0 * weighted
    scale = 0.0
    if rr > 0.0:
        scale = max(-1.0 / excess, min(1.0 / excess, xr / rr))
    return objective, max(0.0, objective - (2.0 * scale * xr - scale * scale * rr))


@njit(cache=True, nogil=True)
def lasso_finish(X, targets, h, h_outlier, slack, members, coefs, n_members, objectives, gaps):
    """Solve each row once more from its sorted support and signs alone, so that the way there leaves no trace.

    No member outside the support may correlate with the residual by more than its h (1 + ``slack``): the caller has
    screened. With that, ``gaps`` bounds the objective's distance from the minimum by the dual point that is the
    residual scaled into the feasible set. IN/OUT ``coefs``; OUT ``objectives``, ``gaps``.
    """
    for b in range(targets.shape[0]):
        objectives[b], gaps[b] = _finish_row(X, targets[b], h, h_outlier, slack, members[b], coefs[b], n_members[b])

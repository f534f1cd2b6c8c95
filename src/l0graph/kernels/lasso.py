"""Small lassos on working sets, one sample each:  min_z ||x - A^T z||^2 + 2 sum_j h_j |z_j|,  A the members' rows.

Members are rows of X and, past them, of the identity, which takes up gross errors of single features. With G = A A^T
and b = A x the optimality condition reads: b - G z = h sign(z) on the support, and at most h in absolute value
elsewhere. All arithmetic is float64, whatever X is.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ._rows import as_float64, gather, residual_of

# A Cholesky pivot under this share of the diagonal means that the member depends on earlier ones.
_PIVOT = 1e-11
# What counts as zero beside h in the optimality condition of a small problem: rounding, not a tolerance of the method.
_ROUNDING = 1e-13
_SWEEPS = 50
_FALLBACK_SWEEPS = 20_000


@njit(cache=True, nogil=True)
def _soft(value, h):
    if value > h:
        return value - h
    if value < -h:
        return value + h
    return 0.0


@njit(cache=True, nogil=True)
def _descend(G, b, h, z, q, max_sweeps, tol):
    """Cyclic coordinate descent in place, until no coordinate moves by ``tol`` of its h; keeps q = b - G z."""
    k = z.shape[0]
    for _ in range(max_sweeps):
        largest = 0.0
        for j in range(k):
            g = G[j, j]
            if g <= 0.0:
                continue
            delta = _soft(q[j] + g * z[j], h[j]) / g - z[j]
            if delta != 0.0:
                z[j] += delta
                for i in range(k):
                    q[i] -= delta * G[j, i]
                largest = max(largest, abs(delta) * g / h[j])
        if largest <= tol:
            return
    return


@njit(cache=True, nogil=True)
def _solve_support(G, b, h, support, signs, k, L, y, n_factored):
    """Solve G_SS y = b_S - h signs by Cholesky; return -1.

    Where a member depends on the ones before it, return its place in the support instead, and in y the combination of
    members that vanishes: A_S^T y = 0, with 1 at that member. The first ``n_factored`` rows of L are taken as they are.
    """
    for i in range(n_factored, k):
        si = support[i]
        for j in range(i + 1):
            value = G[si, support[j]]
            for t in range(j):
                value -= L[i, t] * L[j, t]
            if i == j:
                if value <= _PIVOT * G[si, si]:
                    y[:k] = 0.0
                    y[i] = 1.0
                    for t in range(i - 1, -1, -1):
                        value = -L[i, t]
                        for u in range(t + 1, i):
                            value -= L[u, t] * y[u]
                        y[t] = value / L[t, t]
                    return i
                L[i, i] = np.sqrt(value)
            else:
                L[i, j] = value / L[j, j]
    for i in range(k):
        value = b[support[i]] - h[support[i]] * signs[i]
        for t in range(i):
            value -= L[i, t] * y[t]
        y[i] = value / L[i, i]
    for i in range(k - 1, -1, -1):
        value = y[i]
        for t in range(i + 1, k):
            value -= L[t, i] * y[t]
        y[i] = value / L[i, i]
    return -1


@njit(cache=True, nogil=True)
def _step_to_boundary(z, support, signs, k, direction):
    """Return the largest step that keeps all signs and the place of the member that blocks it (-1: nobody)."""
    step = np.inf
    blocking = -1
    for i in range(k):
        if direction[i] * signs[i] < 0.0:
            reach = -z[support[i]] / direction[i]
            if reach < step:
                step = reach
                blocking = i
    return step, blocking


@njit(cache=True, nogil=True)
def _polish(G, b, h, z, q):
    """Active-set steps from z to the exact minimiser. False where they do not settle; z is then as good as before.

    On the support with its signs the problem is quadratic: go to its minimiser, or to the first coordinate that
    would change sign, and drop that one. Then let the worst violator in. Each step lowers the objective.
    """
    n = z.shape[0]
    support = np.empty(n, dtype=np.int64)
    signs = np.empty(n)
    y = np.empty(n)
    L = np.empty((n, n))
    k = 0
    n_factored = 0  # rows of L that hold: a new member costs one row, not a factorisation
    for j in range(n):
        if z[j] != 0.0:
            support[k] = j
            signs[k] = 1.0 if z[j] > 0.0 else -1.0
            k += 1
    for _ in range(10 * n + 10):
        dependent = _solve_support(G, b, h, support, signs, k, L, y, n_factored)
        n_factored = k if dependent < 0 else dependent
        if dependent < 0:
            for i in range(k):
                y[i] -= z[support[i]]
        else:
            # Along y the fit stays the same; go where the l1 norm falls until a member drops out.
            slope = 0.0
            for i in range(k):
                slope += h[support[i]] * signs[i] * y[i]
            if slope > 0.0:
                for i in range(k):
                    y[i] = -y[i]
        step, blocking = _step_to_boundary(z, support, signs, k, y)
        if dependent < 0 and step > 1.0:
            step = 1.0
            blocking = -1
        if dependent >= 0 and blocking < 0:
            return False
        for i in range(k):
            z[support[i]] += step * y[i]
        if blocking >= 0:
            z[support[blocking]] = 0.0
            for i in range(blocking, k - 1):
                support[i] = support[i + 1]
                signs[i] = signs[i + 1]
            k -= 1
            n_factored = min(n_factored, blocking)
            continue
        for i in range(n):
            q[i] = b[i]
        for i in range(k):
            j = support[i]
            for t in range(n):
                q[t] -= z[j] * G[j, t]
        worst = -1
        violation = 1.0 + _ROUNDING
        for j in range(n):
            if z[j] == 0.0 and abs(q[j]) > violation * h[j]:
                violation = abs(q[j]) / h[j]
                worst = j
        if worst < 0:
            return True
        support[k] = worst
        signs[k] = 1.0 if q[worst] > 0.0 else -1.0
        k += 1
    return False


@njit(cache=True, nogil=True)
def _minimise(G, b, h, z):
    """Minimise over z in place, from z: descent to find the support, the active set to finish it."""
    q = b - np.dot(G, z)
    _descend(G, b, h, z, q, _SWEEPS, 1e-3)
    if not _polish(G, b, h, z, q):
        # Rounding at nearly dependent members; descent converges all the same, slowly.
        q = b - np.dot(G, z)
        _descend(G, b, h, z, q, _FALLBACK_SWEEPS, _ROUNDING)


@njit(cache=True, nogil=True)
def _merge(members, coefs, n_members, items, n_items):
    """Return the sorted union of the members, sorted already, and the new items, which start at zero."""
    total = n_members + n_items
    ids = np.empty(total, dtype=np.int64)
    z = np.zeros(total)
    for i in range(n_members):
        ids[i] = members[i]
        z[i] = coefs[i]
    for i in range(n_items):
        # Insertion: np.argsort would take longer to compile than all else here, and this is short.
        position = n_members + i
        while position > 0 and ids[position - 1] > items[i]:
            ids[position] = ids[position - 1]
            z[position] = z[position - 1]
            position -= 1
        ids[position] = items[i]
        z[position] = 0.0
    return ids, z


@njit(cache=True, nogil=True)
def _weights(members, n_atoms, h, h_outlier):
    weights = np.empty(members.shape[0])
    for i in range(members.shape[0]):
        weights[i] = h if members[i] < n_atoms else h_outlier
    return weights


@njit(cache=True, nogil=True)
def _round_of_row(X, target, h, h_outlier, members, coefs, n_members, items, n_items, residual):
    ids, z = _merge(members, coefs, n_members, items, n_items)
    x = as_float64(target)
    A = gather(X, ids)
    _minimise(np.dot(A, A.T), np.dot(A, x), _weights(ids, X.shape[0], h, h_outlier), z)
    k = 0
    for i in range(ids.shape[0]):
        if z[i] != 0.0:
            members[k] = ids[i]
            coefs[k] = z[i]
            k += 1
    residual_of(x, A, z, residual)
    return k


@njit(cache=True, nogil=True)
def lasso_round(start, stop, X, targets, h, h_outlier, members, coefs, n_members, items, n_items, residuals):
    """Let the items into each row's working set, minimise over it, keep the support.

    IN/OUT ``members``, ``coefs`` (rows, capacity; members sorted) and ``n_members``; OUT ``residuals`` (rows, d).
    """
    for b in range(start, stop):
        n_members[b] = _round_of_row(
            X, targets[b], h, h_outlier, members[b], coefs[b], n_members[b], items[b], n_items[b], residuals[b]
        )


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
    if _solve_support(G, correlations, weights, places, signs, k, np.empty((k, k)), y, 0) < 0:
        agree = True
        for i in range(k):
            agree = agree and y[i] * signs[i] > 0.0
        if agree:
            z[:] = y
    residual = np.empty(x.shape[0])
    residual_of(x, A, z, residual)
    rr = 0.0
    xr = 0.0
    for t in range(x.shape[0]):
        rr += residual[t] * residual[t]
        xr += x[t] * residual[t]
    weighted = 0.0
    excess = 1.0 + slack
    for i in range(k):
        weighted += weights[i] * abs(z[i])
        correlation = 0.0
        for t in range(x.shape[0]):
            correlation += A[i, t] * residual[t]
        excess = max(excess, abs(correlation) / weights[i])
    objective = rr + 2.0 * weighted
    scale = 0.0
    if rr > 0.0:
        scale = max(-1.0 / excess, min(1.0 / excess, xr / rr))
    return objective, max(0.0, objective - (2.0 * scale * xr - scale * scale * rr))


@njit(cache=True, nogil=True)
def lasso_finish(start, stop, X, targets, h, h_outlier, slack, members, coefs, n_members, objectives, gaps):
    """Solve each row once more from its sorted support and signs alone, so that the way there leaves no trace.

    No member outside the support may correlate with the residual by more than its h (1 + ``slack``): the caller has
    screened. With that, ``gaps`` bounds the objective's distance from the minimum by the dual point that is the
    residual scaled into the feasible set. IN/OUT ``coefs``; OUT ``objectives``, ``gaps``.
    """
    for b in range(start, stop):
        objectives[b], gaps[b] = _finish_row(X, targets[b], h, h_outlier, slack, members[b], coefs[b], n_members[b])

"""Small lassos on working sets, one sample each:  min_z ||x - A^T z||^2 + 2 h ||z||_1,  A the members' rows of X.

With G = A A^T and b = A x the optimality condition reads: b - G z = h sign(z) on the support, and at most h in
absolute value elsewhere. All arithmetic is float64, whatever X is.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

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
    """Cyclic coordinate descent in place, q = b - G z kept up to date, until no coordinate moves by ``tol`` of h."""
    k = z.shape[0]
    for _ in range(max_sweeps):
        largest = 0.0
        for j in range(k):
            g = G[j, j]
            if g <= 0.0:
                continue
            delta = _soft(q[j] + g * z[j], h) / g - z[j]
            if delta != 0.0:
                z[j] += delta
                for i in range(k):
                    q[i] -= delta * G[j, i]
                largest = max(largest, abs(delta) * g)
        if largest <= tol * h:
            return
    return


@njit(cache=True, nogil=True)
def _solve_support(G, b, h, support, signs, k, L, y):
    """Solve G_SS y = b_S - h signs by Cholesky; return -1.

    Where a member depends on the ones before it, return its place in the support instead, and in y the combination of
    members that vanishes: A_S^T y = 0, with 1 at that member.
    """
    for i in range(k):
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
        value = b[support[i]] - h * signs[i]
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
    for j in range(n):
        if z[j] != 0.0:
            support[k] = j
            signs[k] = 1.0 if z[j] > 0.0 else -1.0
            k += 1
    for _ in range(10 * n + 10):
        dependent = _solve_support(G, b, h, support, signs, k, L, y)
        if dependent < 0:
            for i in range(k):
                y[i] -= z[support[i]]
        else:
            # Along y the fit stays the same; go where the l1 norm falls until a member drops out.
            slope = 0.0
            for i in range(k):
                slope += signs[i] * y[i]
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
            continue
        for i in range(n):
            q[i] = b[i]
        for i in range(k):
            j = support[i]
            for t in range(n):
                q[t] -= z[j] * G[j, t]
        worst = -1
        violation = h * (1.0 + _ROUNDING)
        for j in range(n):
            if z[j] == 0.0 and abs(q[j]) > violation:
                violation = abs(q[j])
                worst = j
        if worst < 0:
            return True
        position = k
        while position > 0 and support[position - 1] > worst:
            support[position] = support[position - 1]
            signs[position] = signs[position - 1]
            position -= 1
        support[position] = worst
        signs[position] = 1.0 if q[worst] > 0.0 else -1.0
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
    """Sorted union of the members and the new items, which start at zero."""
    total = n_members + n_items
    ids = np.empty(total, dtype=np.int64)
    z = np.zeros(total)
    ids[:n_members] = members[:n_members]
    ids[n_members:] = items[:n_items]
    order = np.argsort(ids)
    ids = ids[order]
    for i in range(total):
        if order[i] < n_members:
            z[i] = coefs[order[i]]
    return ids, z


@njit(cache=True, nogil=True, parallel=True)
def lasso_round(X, targets, h, members, coefs, n_members, items, n_items, residuals):
    """Let the items into each row's working set, minimise over it, keep the support.

    IN/OUT ``members``, ``coefs`` (rows, capacity; members sorted) and ``n_members``; OUT ``residuals`` (rows, d).
    """
    for b in prange(targets.shape[0]):
        ids, z = _merge(members[b], coefs[b], n_members[b], items[b], n_items[b])
        x = as_float64(targets[b])
        A = gather(X, ids)
        _minimise(np.dot(A, A.T), np.dot(A, x), h, z)
        k = 0
        for i in range(ids.shape[0]):
            if z[i] != 0.0:
                members[b, k] = ids[i]
                coefs[b, k] = z[i]
                k += 1
        n_members[b] = k
        residual_of(x, A, z, residuals[b])


@njit(cache=True, nogil=True, parallel=True)
def lasso_finish(X, targets, h, slack, members, coefs, n_members, objectives, gaps):
    """Solve each row once more from its sorted support and signs alone, so that the way there leaves no trace.

    No atom outside the support may correlate with the residual by more than h (1 + ``slack``): the caller has
    screened. With that, ``gaps`` bounds the objective's distance from the minimum by the dual point that is the
    residual scaled into the feasible set. IN/OUT ``coefs``; OUT ``objectives``, ``gaps``.
    """
    for b in prange(targets.shape[0]):
        k = n_members[b]
        x = as_float64(targets[b])
        A = gather(X, members[b, :k])
        G = np.dot(A, A.T)
        correlations = np.dot(A, x)
        z = coefs[b, :k]
        signs = np.sign(z)
        y = np.empty(k)
        if _solve_support(G, correlations, h, np.arange(k), signs, k, np.empty((k, k)), y) < 0:
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
        l1 = 0.0
        top = h * (1.0 + slack)
        for i in range(k):
            l1 += abs(z[i])
            correlation = 0.0
            for t in range(x.shape[0]):
                correlation += A[i, t] * residual[t]
            top = max(top, abs(correlation))
        objectives[b] = rr + 2.0 * h * l1
        scale = 0.0
        if rr > 0.0:
            scale = max(-h / top, min(h / top, xr / rr))
        gaps[b] = max(0.0, objectives[b] - (2.0 * scale * xr - scale * scale * rr))

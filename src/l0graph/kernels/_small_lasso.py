"""One small lasso, given by its Gram matrix:  min_z z^T G z - 2 b^T z + 2 sum_j h_j |z_j|.

The optimality condition reads: q = b - G z is h sign(z) on the support, and at most h in absolute value elsewhere.

Change with care: callers' caches do not notice (see the package's note).
"""

from __future__ import annotations

import numpy as np
from numba import njit

# A Cholesky pivot under this share of the diagonal means that the member depends on earlier ones. That is what rounding
# makes of zero: nearly equal samples are independent.
_PIVOT = 1e-13
# What counts as zero beside h in the optimality condition: rounding, not a tolerance of the method.
ROUNDING = 1e-13
SWEEPS = 50
_FALLBACK_SWEEPS = 20_000


@njit(cache=True, nogil=True)
def _soft(value, h):
    if value > h:
        return value - h
    if value < -h:
        return value + h
    return value - value


@njit(cache=True, nogil=True)
def descend(G, h, z, q, max_sweeps, tol):
    """Cyclic coordinate descent in place, until no coordinate moves by ``tol`` of its h; keeps q = b - G z.

    G may be larger than z.
    """
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


@njit(cache=True, nogil=True)
def solve_support(G, b, h, support, signs, k, L, y, n_factored):
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
        dependent = solve_support(G, b, h, support, signs, k, L, y, n_factored)
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
        violation = 1.0 + ROUNDING
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
def minimise(G, b, h, z):
    """Minimise over z in place, from z: descent to find the support, the active set to finish it."""
    q = b - np.dot(G, z)
    descend(G, h, z, q, SWEEPS, 1e-3)
    if not _polish(G, b, h, z, q):
        # Rounding at nearly dependent members; descent converges all the same, slowly.
        q = b - np.dot(G, z)
        descend(G, h, z, q, _FALLBACK_SWEEPS, ROUNDING)

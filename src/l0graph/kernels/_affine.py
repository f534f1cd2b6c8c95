"""Small lassos under an affine constraint, shared by kernels:  min_c 1/2 c^T G c + sum_j p_j |c_j|,  sum_j c_j = 1.

With mu the constraint's multiplier the optimality condition reads: mu - (G c)_j = p_j sign(c_j) on the support, and at
most p_j in absolute value elsewhere.
"""

from __future__ import annotations

import numpy as np
from numba import njit

# A Cholesky pivot under this share of the diagonal means that the member depends on earlier ones.
_PIVOT = 1e-11
# What counts as zero in the optimality condition: rounding, not a tolerance of the method.
_ROUNDING = 1e-13


@njit(cache=True, nogil=True)
def _factor(H, support, k, L):
    """Write the Cholesky factor of H on the support into L; return the place of the first dependent member, or -1."""
    for i in range(k):
        for j in range(i + 1):
            value = H[support[i], support[j]]
            for t in range(j):
                value -= L[i, t] * L[j, t]
            if i > j:
                L[i, j] = value / L[j, j]
            elif value <= _PIVOT * H[support[i], support[i]]:
                return i
            else:
                L[i, i] = np.sqrt(value)
    return -1


@njit(cache=True, nogil=True)
def _solve_in_place(L, k, y):
    """Solve L L^T y = y."""
    for i in range(k):
        for t in range(i):
            y[i] -= L[i, t] * y[t]
        y[i] /= L[i, i]
    for i in range(k - 1, -1, -1):
        for t in range(i + 1, k):
            y[i] -= L[t, i] * y[t]
        y[i] /= L[i, i]


@njit(cache=True, nogil=True)
def _vanishing(L, dependent, k, y):
    """Write into y the combination that costs nothing: H_SS y = 0 with 1 at the dependent member."""
    y[:k] = 0.0
    y[dependent] = 1.0
    for t in range(dependent - 1, -1, -1):
        value = -L[dependent, t]
        for u in range(t + 1, dependent):
            value -= L[u, t] * y[u]
        y[t] = value / L[t, t]


@njit(cache=True, nogil=True)
def _optimum(L, prices, support, signs, k, y):
    """Write into y the minimiser on the support with these signs; return the multiplier."""
    ones = np.ones(k)
    _solve_in_place(L, k, ones)
    for i in range(k):
        y[i] = prices[support[i]] * signs[i]
    _solve_in_place(L, k, y)
    mu = (1.0 + y[:k].sum()) / ones.sum()
    for i in range(k):
        y[i] = mu * ones[i] - y[i]
    return mu - 1.0  # H c = G c + 1 on the constraint


@njit(cache=True, nogil=True)
def minimise(G, prices, c):
    """Active-set steps from the cheapest vertex to the minimiser. OUT ``c``; return the multiplier.

    On a support with its signs the problem is quadratic: go to its minimiser, or to the first coordinate that would
    change sign, and drop that one. At the minimiser let the worst violator in. Each step lowers the objective.
    Should rounding keep that from coming to an end, c is feasible all the same and its duality gap tells.
    """
    n = c.shape[0]
    H = G + 1.0
    support = np.empty(n, dtype=np.int64)
    signs = np.empty(n)
    y = np.empty(n)
    L = np.empty((n, n))
    c[:] = 0.0
    support[0] = np.argmin(0.5 * np.diag(G) + prices)
    signs[0] = 1.0
    c[support[0]] = 1.0
    k = 1
    mu = 0.0
    for _ in range(20 * n + 20):
        dependent = _factor(H, support, k, L)
        if dependent < 0:
            mu = _optimum(L, prices, support, signs, k, y)
            for i in range(k):
                y[i] -= c[support[i]]
        else:
            # Along y the fit stays the same; go where the weighted l1 norm falls until a member drops out.
            _vanishing(L, dependent, k, y)
            slope = 0.0
            for i in range(k):
                slope += prices[support[i]] * signs[i] * y[i]
            if slope > 0.0:
                for i in range(k):
                    y[i] = -y[i]
        step = 1.0 if dependent < 0 else np.inf
        blocking = -1
        for i in range(k):
            if y[i] * signs[i] < 0.0 and -c[support[i]] / y[i] < step:
                step = -c[support[i]] / y[i]
                blocking = i
        if step == np.inf:
            break
        for i in range(k):
            c[support[i]] += step * y[i]
        if blocking >= 0:
            c[support[blocking]] = 0.0
            for i in range(blocking, k - 1):
                support[i] = support[i + 1]
                signs[i] = signs[i + 1]
            k -= 1
            continue
        worst = -1
        violation = 0.0
        slack = mu - np.dot(G, c)
        for j in range(n):
            excess = abs(slack[j]) - prices[j] - _ROUNDING * (1.0 + prices[j])
            if c[j] == 0.0 and excess > violation:
                violation = excess
                worst = j
        if worst < 0:
            return mu
        support[k] = worst
        signs[k] = 1.0 if slack[worst] > 0.0 else -1.0
        k += 1
    return np.dot(c, np.dot(G, c)) + (prices * np.abs(c)).sum()

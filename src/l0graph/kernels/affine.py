"""Lassos on working sets under an affine constraint:  min_z ||x - A^T z||^2 + l ||z||_1,  sum_j z_j = 1.

As the entries sum to one, x - A^T z = -(A - 1 x^T)^T z, a problem without a linear term. With r the residual and mu
the multiplier of `_affine.minimise`, an atom x_j is optimal at zero if |x_j^T r - shift| <= l / 2, where
shift = x^T r - mu / 2.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ._affine import minimise
from ._rows import as_float64, gather, residual_of


@njit(cache=True, nogil=True)
def _merge(members, n_members, items, n_items):
    """Return the sorted union of the members, sorted already, and the new items."""
    ids = np.empty(n_members + n_items, dtype=np.int64)
    ids[:n_members] = members[:n_members]
    for i in range(n_items):
        position = n_members + i
        while position > 0 and ids[position - 1] > items[i]:
            ids[position] = ids[position - 1]
            position -= 1
        ids[position] = items[i]
    return ids


@njit(cache=True, nogil=True)
def _solve(x, A, penalty, z):
    """Minimise over z; return the multiplier."""
    U = np.empty_like(A)
    for i in range(A.shape[0]):
        for t in range(A.shape[1]):
            U[i, t] = A[i, t] - x[t]
    return minimise(2.0 * np.dot(U, U.T), np.full(A.shape[0], penalty), z)


@njit(cache=True, nogil=True)
def _inner(x, residual):
    total = 0.0
    for t in range(x.shape[0]):
        total += x[t] * residual[t]
    return total


@njit(cache=True, nogil=True)
def affine_round(X, targets, penalty, members, coefs, n_members, items, n_items, residuals, shifts):
    """Let the items into each row's working set, minimise over it, keep the support.

    IN/OUT ``members``, ``coefs`` (rows, capacity; members sorted) and ``n_members``; OUT ``residuals`` (rows, d) and
    ``shifts``, what the residual's correlations are compared with.
    """
    for b in range(targets.shape[0]):
        ids = _merge(members[b], n_members[b], items[b], n_items[b])
        x = as_float64(targets[b])
        A = gather(X, ids)
        z = np.empty(ids.shape[0])
        mu = _solve(x, A, penalty, z)
        k = 0
        for i in range(ids.shape[0]):
            if z[i] != 0.0:
                members[b, k] = ids[i]
                coefs[b, k] = z[i]
                k += 1
        n_members[b] = k
        residual_of(x, A, z, residuals[b])
        shifts[b] = _inner(x, residuals[b]) - mu / 2.0


@njit(cache=True, nogil=True)
def affine_finish(X, targets, penalty, slack, members, coefs, n_members, objectives, gaps):
    """Solve each row once more from its sorted support alone, so that the way there leaves no trace.

    No atom outside may violate its condition by more than the share ``slack``: the caller has screened. IN/OUT
    ``coefs``; OUT ``objectives``, and ``gaps`` by the dual point that is residual and multiplier scaled.
    """
    for b in range(targets.shape[0]):
        k = n_members[b]
        x = as_float64(targets[b])
        A = gather(X, members[b, :k])
        z = coefs[b, :k]
        mu = _solve(x, A, penalty, z)
        residual = np.empty(x.shape[0])
        residual_of(x, A, z, residual)
        rr = _inner(residual, residual)
        xr = _inner(x, residual)
        excess = 1.0 + slack
        l1 = 0.0
        for i in range(k):
            l1 += abs(z[i])
            excess = max(excess, abs(mu + 2.0 * (_inner(A[i], residual) - xr)) / penalty)
        objectives[b] = rr + penalty * l1
        gaps[b] = max(0.0, objectives[b] - (mu / excess - rr / excess**2))

"""One step of orthogonal matching pursuit, a row each:  let an atom in, refit by least squares on the support.

With A the members' rows of X, in the order in which they came, and A A^T = L L^T, the fit is z with L^T z = y,
L y = A x. A new member adds one row to L and one entry to y. All arithmetic is float64, whatever X is.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ._rows import as_float64

# A Cholesky pivot under this share of the atom's squared norm means that the atom depends on the members.
_PIVOT = 1e-11
# A correlation under this share of the norms of atom and sample is rounding.
_ROUNDING = 64 * 2.3e-16


@njit(cache=True, nogil=True)
def _inner(X, j, x):
    total = 0.0
    for t in range(x.shape[0]):
        total += np.float64(X[j, t]) * x[t]
    return total


@njit(cache=True, nogil=True)
def _admit(X, x, item, members, k, L, y):
    """Extend L and y by an atom, member number k; False where it depends on the members before it."""
    atom = as_float64(X[item])
    for i in range(k):
        value = _inner(X, members[i], atom)
        for t in range(i):
            value -= L[i, t] * L[k, t]
        L[k, i] = value / L[i, i]
    square = _inner(X, item, atom)
    pivot = square
    value = _inner(X, item, x)
    for t in range(k):
        pivot -= L[k, t] * L[k, t]
        value -= L[k, t] * y[t]
    if pivot <= _PIVOT * square:
        return False
    L[k, k] = np.sqrt(pivot)
    y[k] = value / L[k, k]
    return True


@njit(cache=True, nogil=True)
def _fit(L, y, k, z):
    """Solve L^T z = y for k members."""
    for i in range(k - 1, -1, -1):
        value = y[i]
        for t in range(i + 1, k):
            value -= L[t, i] * z[t]
        z[i] = value / L[i, i]


@njit(cache=True, nogil=True)
def omp_step(
    X,
    norms,
    targets,
    chosen,
    items,
    correlations,
    floors,
    members,
    n_members,
    L,
    y,
    coefs,
    residuals,
    squares,
    going,
):
    """Take one step with the chosen rows; a row whose atom brings nothing, or whose residual is small, stops.

    ``items``, ``correlations`` (one per chosen row) are the strongest atoms, -1 for none; ``floors`` (rows,) the
    squared residual at which a row is done. IN/OUT, of all rows: ``members`` (rows, capacity) in order of choice,
    ``n_members``, ``L``, ``y``, ``coefs``, ``residuals``, ``squares`` (rows,), the squared residuals; OUT ``going``.
    """
    for a in range(chosen.shape[0]):
        b = chosen[a]
        j = items[a]
        k = n_members[b]
        x = as_float64(targets[b])
        going[b] = False
        if j < 0 or abs(correlations[a]) <= _ROUNDING * norms[j] * np.sqrt(_squared(x)):
            continue
        if not _admit(X, x, j, members[b], k, L[b], y[b]):
            continue
        members[b, k] = j
        n_members[b] = k + 1
        _fit(L[b], y[b], k + 1, coefs[b])
        residual = residuals[b]
        residual[:] = x
        for i in range(k + 1):
            for t in range(x.shape[0]):
                residual[t] -= coefs[b, i] * np.float64(X[members[b, i], t])
        squares[b] = _squared(residual)
        going[b] = squares[b] > floors[b]


@njit(cache=True, nogil=True)
def _squared(x):
    total = 0.0
    for t in range(x.shape[0]):
        total += x[t] * x[t]
    return total

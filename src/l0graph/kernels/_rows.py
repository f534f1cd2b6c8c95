"""Rows of X as float64, shared by the kernels.

Change with care: callers' caches do not notice (see the package's note).
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def gather(X, members):
    """Rows ``members`` of [X; I]: past the rows of X come those of the identity."""
    A = np.empty((members.shape[0], X.shape[1]))
    for i in range(members.shape[0]):
        j = members[i]
        if j < X.shape[0]:
            for t in range(X.shape[1]):
                A[i, t] = X[j, t]
        else:
            A[i] = 0.0
            A[i, j - X.shape[0]] = 1.0
    return A


@njit(cache=True, nogil=True)
def as_float64(row):
    """One row of X."""
    x = np.empty(row.shape[0])
    for t in range(row.shape[0]):
        x[t] = row[t]
    return x


@njit(cache=True, nogil=True)
def residual_of(x, A, z, residual):
    """OUT ``residual`` = x - A^T z."""
    residual[:] = x
    for i in range(z.shape[0]):
        if z[i] != 0.0:
            for t in range(x.shape[0]):
                residual[t] -= z[i] * A[i, t]

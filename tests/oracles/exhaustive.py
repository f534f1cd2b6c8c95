"""The sparsest exact codes, by trying all supports in order of size. For a dozen samples."""

from itertools import combinations

import numpy as np

TOL = 1e-9
"""Norm of the residual, relative to the sample's, that counts as none."""


def sparsest_supports(X, i, tol=TOL):
    """Return all smallest supports that write sample i exactly by others, as tuples; none if no support does."""
    X = np.asarray(X, dtype=float)
    others = [j for j in range(len(X)) if j != i]
    for size in range(1, min(len(others), X.shape[1]) + 1):
        found = [s for s in combinations(others, size) if _residual(X, i, s) <= tol * np.linalg.norm(X[i])]
        if found:
            return found
    return []


def best_penalised(X, i, penalty):
    """Return the support, code and objective of min ||x_i - X^T z||^2 + penalty ||z||_0, z_i = 0."""
    others = [j for j in range(len(X)) if j != i]
    best = ((), np.zeros(len(X)), float(X[i] @ X[i]))
    for size in range(1, len(others) + 1):
        if size * penalty >= best[2]:
            break
        for support in combinations(others, size):
            code = np.zeros(len(X))
            code[list(support)] = np.linalg.lstsq(X[list(support)].T, X[i], rcond=None)[0]
            objective = float(np.sum((X[i] - code @ X) ** 2)) + penalty * size
            if objective < best[2]:
                best = (support, code, objective)
    return best


def _residual(X, i, support):
    A = X[list(support)].T
    return np.linalg.norm(X[i] - A @ np.linalg.lstsq(A, X[i], rcond=None)[0])

"""The proximal l0 iteration on dense n x n matrices, as the paper prints it, samples in rows."""

import numpy as np


def _raised(X, S, L, tau):
    """The least number not under L that majorises on the support S: 2 tau sigma_max of its Gram matrix."""
    if not S.any():
        return L
    return max(L, 2 * tau * np.linalg.norm(X[S], 2) ** 2)


def dense_l0_iteration(X, Z0, penalty, *, lipschitz, tau=1.1, max_iter=100, tol=0.0):
    """Return (codes, total objectives, per-column step constants, all iterates)."""
    X = np.asarray(X, dtype=float)
    n = len(X)
    Z = np.array(Z0, dtype=float)
    np.fill_diagonal(Z, 0)
    if lipschitz == "global":
        L = np.full(n, 2 * tau * np.linalg.norm(X, 2) ** 2 if X.any() else 1.0)
    else:
        L = np.full(n, float(lipschitz))

    def total(Z):
        return np.sum((X - Z @ X) ** 2) + penalty * np.count_nonzero(Z)

    objectives = [total(Z)]
    iterates = [Z.copy()]
    for _ in range(max_iter):
        correlations = X @ (X - Z @ X).T  # column i: correlations of all atoms with residual i
        new = np.empty_like(Z)
        for i in range(n):
            if lipschitz != "global":
                support = Z[i] != 0
                L[i] = _raised(X, support, L[i], tau)
                enter = np.abs(correlations[:, i]) >= np.sqrt(penalty * L[i] / 2)
                enter[i] = False
                L[i] = _raised(X, enter | support, L[i], tau)
            v = Z[i] + 2 / L[i] * correlations[:, i]
            v[np.abs(v) < np.sqrt(2 * penalty / L[i])] = 0
            v[i] = 0
            new[i] = v
        Z = new
        iterates.append(Z.copy())
        objectives.append(total(Z))
        if abs(objectives[-1] - objectives[-2]) < tol:
            break
    return Z, np.array(objectives), L, iterates

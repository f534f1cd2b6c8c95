"""Coordinate descent on the regularised problem on dense n x n matrices, as the paper prints it, samples in rows."""

import numpy as np


def nearest_neighbors(X, n_neighbors, X_new=None):
    """For each sample the nearest others, of equally near ones the earlier; straight from all distances."""
    chosen = []
    for i, x in enumerate(X if X_new is None else X_new):
        distances = [sum((float(a) - float(b)) ** 2 for a, b in zip(x, other, strict=True)) for other in X]
        order = sorted(range(len(X)), key=lambda j: (distances[j], j))
        chosen.append([j for j in order if X_new is not None or j != i][:n_neighbors])
    return chosen


def adjacency(X, n_neighbors):
    """S: S_ij = 1 iff sample i is among the nearest neighbours of sample j."""
    S = np.zeros((len(X), len(X)))
    for j, near in enumerate(nearest_neighbors(X, n_neighbors)):
        S[near, j] = 1
    return S


def total_objective(X, Z, S, gamma):
    total = np.sum((X - Z @ X) ** 2)
    for i in range(len(X)):
        for j in np.flatnonzero(S[i]):
            total += gamma * S[i, j] * np.count_nonzero(Z[i] != Z[j])
    return total


def coordinate_objective(u, v, L, gamma, values, weights):
    """F_k of the Proposition."""
    return L / 2 * (u - v) ** 2 + gamma * sum(w for z, w in zip(values, weights, strict=True) if u != z)


def best_candidate(v, L, gamma, values, weights):
    """The Proposition, ties in the order v, zero, smallest."""
    candidates = [v, *sorted(set(values), key=lambda z: (z != 0, z))]
    return min(candidates, key=lambda u: coordinate_objective(u, v, L, gamma, values, weights))


def _majorising(X, support, L, tau):
    return max(L, 2 * tau * np.linalg.norm(X[support], 2) ** 2) if support.any() else L


def visit(X, x, z, own, others, weights, gamma, *, lipschitz, tau, max_iter, tol):
    """One sample's proximal iteration over all coordinates; returns its code and the last step constant."""
    L = 2 * tau * np.linalg.norm(X, 2) ** 2 if lipschitz == "global" else _majorising(X, z != 0, lipschitz, tau)

    def objective(z):
        distance = sum(w * np.count_nonzero(z != other) for other, w in zip(others, weights, strict=True))
        return np.sum((x - z @ X) ** 2) + gamma * distance

    def step(L):
        v = z + 2 / L * (X @ (x - z @ X))
        columns = np.transpose(others)
        new = np.array([best_candidate(v[k], L, gamma, columns[k], weights) for k in range(len(X))])
        if own >= 0:
            new[own] = 0
        return new

    before = objective(z)
    for _ in range(max_iter):
        new = step(L)
        if lipschitz != "global":
            raised = _majorising(X, (z != 0) | (new != 0), L, tau)
            if raised > L:
                L = raised
                new = step(L)
        z = new
        after = objective(z)
        if abs(after - before) < tol:
            break
        before = after
    return z, L


def dense_coordinate_descent(
    X, Z0, gamma, n_neighbors, *, lipschitz, tau=1.1, max_iter=30, max_sweeps=5, tol=1e-6, sweep_tol=1e-6
):
    """Return (codes, total objectives, largest step constant used, all codes at the ends of sweeps)."""
    X = np.asarray(X, dtype=float)
    Z = np.array(Z0, dtype=float)
    np.fill_diagonal(Z, 0)
    S = adjacency(X, n_neighbors)
    weights = S + S.T
    objectives = [total_objective(X, Z, S, gamma)]
    sweeps = [Z.copy()]
    largest = 0.0
    for _ in range(max_sweeps):
        for i in range(len(X)):
            near = np.flatnonzero(weights[i])
            Z[i], L = visit(
                X,
                X[i],
                Z[i],
                i,
                Z[near],
                weights[i, near],
                gamma,
                lipschitz=lipschitz,
                tau=tau,
                max_iter=max_iter,
                tol=tol,
            )
            largest = max(largest, L)
        sweeps.append(Z.copy())
        objectives.append(total_objective(X, Z, S, gamma))
        if abs(objectives[-1] - objectives[-2]) < sweep_tol:
            break
    return Z, np.array(objectives), largest, sweeps

"""Affine l1 codes: entries sum to one, and nothing better does."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from l0graph import l1_codes
from methods import random_data


def objective(X, i, z, penalty):
    return np.sum((X[i] - z @ X) ** 2) + penalty * np.abs(z).sum()


def general_solver(X, i, penalty):
    """The same problem in split variables z = p - m, p, m >= 0, by a general convex solver."""
    others = np.delete(X, i, axis=0)
    n = len(others)
    D = others - X[i]
    H = 2 * D @ D.T

    def value(v):
        z = v[:n] - v[n:]
        return 0.5 * z @ H @ z + penalty * v.sum()

    def gradient(v):
        g = H @ (v[:n] - v[n:])
        return np.concatenate([g, -g]) + penalty

    start = np.concatenate([np.full(n, 1 / n), np.zeros(n)])
    row = np.concatenate([np.ones(n), -np.ones(n)])
    found = minimize(
        value,
        start,
        jac=gradient,
        bounds=[(0, None)] * (2 * n),
        constraints=LinearConstraint(row, 1, 1),
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return found.fun


@pytest.mark.parametrize("penalty", [0.02, 0.3])
@pytest.mark.parametrize("shape", [(25, 4), (20, 30)])
def test_objective_is_the_minimum(shape, penalty):
    X = random_data(*shape) + 0.5
    result = l1_codes(X, l1_penalty=penalty, affine=True)
    codes = result.codes.toarray()
    np.testing.assert_allclose(codes.sum(axis=1), 1, atol=1e-12)
    assert not codes.diagonal().any()
    assert result.gap.max() <= 1e-9
    for i in range(0, shape[0], 6):
        assert objective(X, i, codes[i], penalty) <= general_solver(X, i, penalty) + 1e-8


def test_optimality_condition_over_all_atoms(real_data):
    X = real_data("umist")[0].astype(float)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    result = l1_codes(X, affine=True, n_jobs=2)
    Z = result.codes.toarray()
    assert result.gap.max() <= 1e-9
    correlations = (X - Z @ X) @ X.T
    # One multiplier per row: where the code is nonzero, correlation minus it is 0.05 times the sign.
    for i in range(len(X)):
        S = Z[i] != 0
        shift = (correlations[i] - 0.05 * np.sign(Z[i]))[S].mean()
        np.testing.assert_allclose((correlations[i] - shift)[S], 0.05 * np.sign(Z[i][S]), atol=1e-9)
        outside = np.delete(np.abs(correlations[i] - shift)[~S], np.flatnonzero(np.flatnonzero(~S) == i))
        assert outside.max() <= 0.05 * (1 + 1e-9)


def test_is_invariant_to_translation():
    X = random_data(60, 5)
    moved = l1_codes(X + 3.0, affine=True).codes
    np.testing.assert_allclose(moved.toarray(), l1_codes(X, affine=True).codes.toarray(), atol=1e-8)
    plain, plain_moved = l1_codes(X).codes, l1_codes(X + 3.0).codes
    assert abs(plain - plain_moved).max() > 0.1


def test_threads_blocks_and_rows_leave_no_trace(monkeypatch):
    X = random_data(120, 8) + 1
    whole = l1_codes(X, affine=True).codes
    assert (l1_codes(X, affine=True, n_jobs=2).codes != whole).nnz == 0
    assert (l1_codes(X, affine=True, rows=[7, 3]).codes != whole[[7, 3]]).nnz == 0
    monkeypatch.setattr("l0graph.codes.working_set._ROWS", 11)
    assert (l1_codes(X, affine=True).codes != whole).nnz == 0


def test_duplicates_and_the_origin():
    X = np.vstack([random_data(15, 3), np.zeros((1, 3))])
    X = np.vstack([X, X[[2]], -X[[4]]])
    result = l1_codes(X, affine=True)
    np.testing.assert_allclose(result.codes.sum(axis=1), 1, atol=1e-12)
    assert result.codes[[16]].indices.tolist() == [2]
    assert result.gap.max() <= 1e-9


def test_not_with_outliers():
    with pytest.raises(ValueError, match="cannot be combined"):
        l1_codes(random_data(), affine=True, outliers=True)

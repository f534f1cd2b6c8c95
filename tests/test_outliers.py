"""Gross errors: codes over [X; I] are codes over that dictionary, split."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Lasso

from l0graph import l0_codes, l1_codes
from methods import random_data
from oracles.l0 import dense_l0_iteration


def spiked(n=50, d=20, seed=0):
    X = random_data(n, d, seed)
    rng = np.random.default_rng(seed)
    X[np.arange(n), rng.integers(0, d, n)] += 1.5 * rng.choice([-1, 1], n)
    return X


@pytest.mark.parametrize("weight", [0.05, 0.1, 0.4])
def test_l1_is_the_lasso_over_the_joint_dictionary(weight):
    X = spiked()
    n, d = X.shape
    result = l1_codes(X, l1_penalty=0.2, outliers=True, outlier_penalty=weight)
    assert result.gap.max() <= 1e-9
    assert result.codes.shape == (n, n)
    assert result.outliers.shape == (n, d)
    Z, E = result.codes.toarray(), result.outliers.toarray()
    total = np.sum((X - Z @ X - E) ** 2) + 0.2 * np.abs(Z).sum() + weight * np.abs(E).sum()
    assert result.objective[-1] == pytest.approx(total)
    # The identity's atoms scaled so that one weight serves for all.
    for i in range(0, n, 9):
        A = np.vstack([np.delete(X, i, axis=0), np.eye(d) * 0.2 / weight])
        model = Lasso(alpha=0.2 / (2 * d), fit_intercept=False, tol=1e-12, max_iter=1_000_000).fit(A.T, X[i])
        expected = np.sum((X[i] - model.coef_ @ A) ** 2) + 0.2 * np.abs(model.coef_).sum()
        ours = np.sum((X[i] - Z[i] @ X - E[i]) ** 2) + 0.2 * np.abs(Z[i]).sum() + weight * np.abs(E[i]).sum()
        assert ours == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("lipschitz", ["global", 100.0, 3.0])
@pytest.mark.parametrize("penalty", [0.3, 0.01])
def test_l0_is_the_dense_iteration_over_the_joint_dictionary(lipschitz, penalty):
    X = spiked()
    n, d = X.shape
    start = l1_codes(X, outliers=True)
    result = l0_codes(X, init=start, l0_penalty=penalty, outliers=True, lipschitz=lipschitz, max_iter=20, tol=0)
    # The same iteration with the identity's rows as n + 1-th to n + d-th sample, which code nobody themselves.
    joint = np.vstack([X, np.eye(d)])
    Z0 = np.zeros((n + d, n + d))
    Z0[:n] = np.hstack([start.codes.toarray(), start.outliers.toarray()])
    step = 2 * 1.1 * (np.linalg.norm(X, 2) ** 2 + 1) if lipschitz == "global" else lipschitz
    Z, _, _, _ = dense_l0_iteration(joint, Z0, penalty, lipschitz=step, max_iter=20)
    np.testing.assert_allclose(result.codes.toarray(), Z[:n, :n], atol=1e-10)
    np.testing.assert_allclose(result.outliers.toarray(), Z[:n, n:], atol=1e-10)
    assert np.diff(result.objective).max() <= 1e-12
    E = result.outliers.toarray()
    total = np.sum((X - result.codes @ X - E) ** 2) + penalty * (result.codes.nnz + np.count_nonzero(E))
    assert result.objective[-1] == pytest.approx(total)


def test_l0_prices_outliers_apart():
    X = spiked()
    cheap = l0_codes(X, outliers=True, outlier_penalty=0.05)
    dear = l0_codes(X, outliers=True, outlier_penalty=5.0)
    assert cheap.outliers.nnz > dear.outliers.nnz


def test_spikes_are_found():
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((40, 3)))[0].T
    X = rng.standard_normal((60, 3)) @ basis
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    rows, features = np.arange(0, 60, 5), rng.integers(0, 40, 12)
    X[rows, features] += 0.8
    found = l1_codes(X, l1_penalty=0.05, outliers=True).outliers
    np.testing.assert_array_equal(np.abs(found[rows].toarray()).argmax(axis=1), features)


def test_no_outlier_term_no_outliers():
    X = random_data()
    assert l1_codes(X).outliers is None
    assert l0_codes(X).outliers is None
    plain = l1_codes(X).codes
    assert (l1_codes(X, outliers=True, outlier_penalty=1e6).codes != plain).nnz == 0


def test_init_without_outliers_starts_from_none():
    X = spiked()
    start = l1_codes(X).codes
    result = l0_codes(X, init=start, outliers=True, max_iter=0)
    assert result.outliers.nnz == 0
    assert (result.codes != start).nnz == 0
    assert sp.issparse(result.outliers)


@pytest.mark.parametrize("codes", [l1_codes, l0_codes])
def test_bad_outlier_penalty(codes):
    with pytest.raises(ValueError, match="outlier_penalty must be greater than 0, got -1"):
        codes(random_data(), outliers=True, outlier_penalty=-1)


def corrupted_subspaces():
    from l0graph.datasets import make_subspaces

    X, y = make_subspaces(40, n_subspaces=3, dim=2, ambient_dim=40, random_state=0)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    rng = np.random.default_rng(0)
    hit = rng.random(X.shape) < 0.02
    X[hit] += rng.choice([-0.6, 0.6], hit.sum())
    return X, y


@pytest.mark.parametrize("method", ["l0", "l1"])
def test_estimators_keep_outliers_out_of_the_graph(method):
    from l0graph import L0Graph, L1Graph
    from l0graph.metrics import clustering_accuracy

    X, y = corrupted_subspaces()
    if method == "l0":
        model = L0Graph(3, outliers=True, outlier_penalty=0.3, l1_outlier_penalty=0.1, random_state=0)
        plain = L0Graph(3, random_state=0)
    else:
        model = L1Graph(3, outliers=True, outlier_penalty=0.1, random_state=0)
        plain = L1Graph(3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        accuracy = clustering_accuracy(y, model.fit(X).labels_)
        assert accuracy >= clustering_accuracy(y, plain.fit(X).labels_)
    assert accuracy >= 0.9
    assert model.outliers_.shape == X.shape
    assert model.outliers_.nnz
    assert not hasattr(plain, "outliers_")
    assert (model.predict(X) == model.labels_).mean() >= 0.9

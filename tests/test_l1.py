"""The l1 codes against scikit-learn's Lasso and their own optimality condition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.linear_model import Lasso

from l0graph import Status, l1_codes
from l0graph.codes.working_set import Dictionary
from methods import random_data, unit


def objective(X, i, z, penalty):
    return np.sum((X[i] - z @ X) ** 2) + penalty * np.abs(z).sum()


def lasso_objective(X, i, penalty):
    others = np.delete(X, i, axis=0)
    # scikit-learn minimises ||y - Xw||^2 / (2 d) + alpha ||w||_1
    model = Lasso(alpha=penalty / (2 * X.shape[1]), fit_intercept=False, tol=1e-10, max_iter=1_000_000)
    z = np.insert(model.fit(others.T, X[i]).coef_, i, 0.0)
    return objective(X, i, z, penalty)


@pytest.mark.parametrize("penalty", [0.01, 0.1, 0.5, 3.0])
@pytest.mark.parametrize("shape", [(40, 5), (40, 60), (150, 20)])
@pytest.mark.filterwarnings("ignore:Objective did not converge")
def test_objective_is_not_above_scikit_learns(shape, penalty):
    X = random_data(*shape)
    codes = l1_codes(X, l1_penalty=penalty).codes.toarray()
    for i in range(0, shape[0], 7):
        assert objective(X, i, codes[i], penalty) <= lasso_objective(X, i, penalty) + 1e-8


def optimality_violation(X, codes, penalty):
    """Largest relative violation of |x_j^T r| <= penalty / 2, with equality and the right sign on the support."""
    Z = codes.toarray()
    correlations = (X - Z @ X) @ X.T
    np.fill_diagonal(correlations, 0)
    on_support = Z != 0
    outside = np.abs(correlations[~on_support]).max(initial=0) / (penalty / 2) - 1
    inside = np.abs(correlations - penalty / 2 * np.sign(Z))[on_support].max(initial=0) / (penalty / 2)
    return max(outside, inside)


@pytest.mark.parametrize("name", ["coil20", "umist", "ionosphere"])
def test_optimality_and_gap_on_real_data(real_data, name):
    X, _ = real_data(name)
    X = unit(X.astype(float))
    result = l1_codes(X, n_jobs=2)
    assert result.status is Status.CONVERGED
    assert result.gap.max() <= 1e-10
    assert optimality_violation(X, result.codes, 0.1) <= 1e-9
    total = sum(objective(X, i, result.codes[[i]].toarray().ravel(), 0.1) for i in range(len(X)))
    assert result.objective[-1] == pytest.approx(total, rel=1e-12)


@given(
    arrays(np.float64, st.tuples(st.integers(2, 12), st.integers(1, 5)), elements=st.integers(-3, 3)),
    st.sampled_from([0.05, 0.3, 1.0]),
)
def test_certified_on_degenerate_data(X, penalty):
    # Small integers: duplicates, negated and collinear samples, zero rows, ties everywhere.
    result = l1_codes(X, l1_penalty=penalty)
    assert result.status is Status.CONVERGED
    assert optimality_violation(X, result.codes, penalty) <= 1e-8


def test_gap_bounds_the_distance_from_the_minimum():
    X = random_data(60, 8)
    with pytest.warns(match="relative duality gap over tol"):
        rough = l1_codes(X, l1_penalty=0.02, max_iter=1)
    exact = l1_codes(X, l1_penalty=0.02)
    assert rough.status is Status.MAX_ITER
    excess = rough.objective[-1] - exact.objective[-1]
    assert 0 <= excess <= rough.gap.sum()


def test_only_the_first_of_equal_samples_is_used():
    X = random_data(20, 4)
    X = np.vstack([X, X[[3, 3]], -X[[5]]])
    codes = l1_codes(X).codes
    others = np.setdiff1d(np.arange(20), [3, 5])
    assert codes[others][:, 20:].nnz == 0  # copies come later than their originals
    np.testing.assert_array_equal(codes[[20]].indices, [3])
    np.testing.assert_array_equal(codes[[21]].indices, [3])
    np.testing.assert_array_equal(codes[[3]].indices, [20])  # the original uses its first copy
    np.testing.assert_allclose(codes[[22]].toarray().ravel()[5], -0.95)


def test_codes_do_not_depend_on_the_way_there(monkeypatch):
    X = random_data(100, 15)
    expected = l1_codes(X, l1_penalty=0.02).codes
    monkeypatch.setattr("l0graph.codes._lasso.N_ITEMS", (3, 3))
    other = l1_codes(X, l1_penalty=0.02).codes
    np.testing.assert_array_equal(expected.indices, other.indices)
    np.testing.assert_array_equal(expected.data, other.data)


def test_a_sketch_leaves_no_trace(monkeypatch):
    # Samples that a few directions describe well, so that the sketch is used.
    rng = np.random.default_rng(0)
    X = unit(rng.standard_normal((300, 8)) @ rng.standard_normal((8, 40)) + 0.3 * rng.standard_normal((300, 40)))
    expected = l1_codes(X, l1_penalty=0.05)
    monkeypatch.setattr("l0graph.codes.working_set._SKETCH", 8)
    monkeypatch.setattr("l0graph.codes.working_set._SKETCH_SAMPLES", 200)
    assert Dictionary(X).sketch is not None
    other = l1_codes(X, l1_penalty=0.05)
    np.testing.assert_array_equal(expected.codes.indices, other.codes.indices)
    np.testing.assert_array_equal(expected.codes.data, other.codes.data)
    assert other.n_iter < expected.n_iter


def test_large_penalty_gives_empty_codes():
    result = l1_codes(random_data(), l1_penalty=2.0)
    assert result.codes.nnz == 0
    assert result.objective[0] == result.objective[1]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("noise", [1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize("penalty", [1e-3, 0.1])
def test_certified_where_many_atoms_are_within_rounding_of_the_bound(noise, penalty, seed):
    X = unit(np.ones((60, 5)) + noise * np.random.default_rng(seed).standard_normal((60, 5)))
    result = l1_codes(X, l1_penalty=penalty)  # warns, and that is an error, where a row is not certified
    assert result.n_iter < 50

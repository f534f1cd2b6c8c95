"""OMP codes against scikit-learn's orthogonal_mp, and where they stop."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.linear_model import orthogonal_mp

from l0graph import OMPGraph, Status, omp_codes
from methods import random_data, unit


def reference(X, i, n_nonzero):
    dictionary = X.T.copy()
    dictionary[:, i] = 0
    return orthogonal_mp(dictionary, X[i], n_nonzero_coefs=n_nonzero)


@pytest.mark.parametrize("normalize", [True, False])
def test_equals_scikit_learn_on_a_thousand_samples(normalize):
    X = random_data(1000, 40)
    if not normalize:  # atoms of larger norm are preferred, by both
        X = X * np.random.default_rng(1).uniform(0.5, 2, (1000, 1))
    result = omp_codes(X, n_nonzero=5, n_jobs=2)
    codes = result.codes.toarray()
    rows = range(1000) if normalize else range(0, 1000, 9)
    for i in rows:
        expected = reference(X, i, 5)
        np.testing.assert_array_equal(np.flatnonzero(codes[i]), np.flatnonzero(expected))
        np.testing.assert_allclose(codes[i], expected, atol=1e-12)
    assert result.objective[-1] == pytest.approx(np.sum((X - codes @ X) ** 2), rel=1e-12)


def test_equals_scikit_learn_on_real_data(real_data):
    # Images 5 degrees apart: correlations that float32 cannot tell apart.
    X = unit(real_data("coil20")[0])
    rows = np.arange(0, 1440, 61)
    codes = omp_codes(X, n_nonzero=6, rows=rows).codes.toarray()
    for code, i in zip(codes, rows, strict=True):
        expected = reference(X, i, 6)
        np.testing.assert_array_equal(np.flatnonzero(code), np.flatnonzero(expected))
        np.testing.assert_allclose(code, expected, atol=1e-9)


def test_float32_cosines_decide_nothing():
    # Atoms whose correlations differ by 1e-9: the largest must win wherever it stands.
    rng = np.random.default_rng(0)
    for place in range(8):
        X = np.zeros((9, 30))
        X[0, 0] = 1
        cosines = np.full(8, 0.7)
        cosines[place] += 1e-9
        X[1:, 0] = cosines
        X[np.arange(1, 9), np.arange(1, 9)] = np.sqrt(1 - cosines**2)
        X = X @ np.linalg.qr(rng.standard_normal((30, 30)))[0]
        np.testing.assert_array_equal(omp_codes(X, n_nonzero=1, rows=[0]).codes.indices, [place + 1])


def test_of_equal_correlations_the_first_wins():
    X = np.array([[1.0, 0, 0], [0.6, 0.8, 0], [0.6, 0, 0.8], [0.6, 0, -0.8]])
    np.testing.assert_array_equal(omp_codes(X, n_nonzero=1, rows=[0]).codes.indices, [1])
    np.testing.assert_array_equal(omp_codes(X[[0, 3, 2, 1]], n_nonzero=1, rows=[0]).codes.indices, [1])


@given(
    arrays(np.float64, st.tuples(st.integers(2, 12), st.integers(1, 5)), elements=st.integers(-3, 3)),
    st.integers(1, 6),
)
def test_projection_on_degenerate_data(X, n_nonzero):
    # Small integers: duplicates, negated and collinear samples, zero rows, ties everywhere.
    result = omp_codes(X, n_nonzero=n_nonzero)
    codes = result.codes.toarray()
    residuals = X - codes @ X
    assert np.isfinite(codes).all()
    assert ((codes != 0).sum(axis=1) <= n_nonzero).all()
    assert not np.diag(codes).any()
    assert np.abs((residuals @ X.T)[codes != 0]).max(initial=0) <= 1e-9  # least squares on the support
    assert np.diff(result.objective).max(initial=0) <= 1e-12
    assert result.objective[-1] == pytest.approx(np.sum(residuals**2), abs=1e-12)
    assert len(result.objective) == result.n_iter + 1


def test_objective_counts_the_steps():
    X = random_data(50, 20)
    result = omp_codes(X, n_nonzero=4)
    assert result.status is Status.CONVERGED
    assert result.n_iter == 4
    for steps in range(1, 5):
        assert omp_codes(X, n_nonzero=steps).objective[-1] == result.objective[steps]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_stops_where_nothing_is_left(dtype):
    rng = np.random.default_rng(0)
    X = unit(rng.standard_normal((60, 2)) @ rng.standard_normal((2, 30))).astype(dtype)
    result = omp_codes(X, n_nonzero=8)
    np.testing.assert_array_equal(np.diff(result.codes.indptr), 2)
    assert result.n_iter == 2
    rough = omp_codes(random_data(300, 5), n_nonzero=5, tol=0.2)
    counts = np.diff(rough.codes.indptr)
    assert counts.min() < counts.max() <= 5
    residuals = random_data(300, 5) - rough.codes @ random_data(300, 5)
    assert np.linalg.norm(residuals, axis=1).max() <= 0.2


def test_orthogonal_and_equal_samples():
    assert omp_codes(np.eye(4)).codes.nnz == 0
    X = random_data(20, 6)
    X = np.vstack([X, X[[3, 3]], -X[[5]]])
    codes = omp_codes(X, n_nonzero=4).codes
    assert codes[np.setdiff1d(np.arange(20), [3, 5])][:, 20:].nnz == 0  # copies come later than their originals
    for copy, original, sign in ((3, 20, 1), (20, 3, 1), (21, 3, 1), (22, 5, -1)):
        np.testing.assert_array_equal(codes[[copy]].indices, [original])
        np.testing.assert_allclose(codes[[copy]].data, sign)


def test_more_atoms_than_there_can_be():
    result = omp_codes(random_data(5, 3), n_nonzero=100)
    assert np.diff(result.codes.indptr).max() == 3
    assert result.objective[-1] <= 1e-20


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"n_nonzero": 0}, "n_nonzero must be at least 1, got 0"),
        ({"n_nonzero": 2.5}, "n_nonzero must be an integer, got 2.5"),
        ({"tol": -1.0}, "tol must be at least 0"),
        ({"rows": [99]}, "rows must lie in"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_bad_parameters_are_refused(kwargs, message):
    with pytest.raises((ValueError, TypeError), match=message):
        omp_codes(random_data(), **kwargs)
    if "rows" not in kwargs:
        with pytest.raises((ValueError, TypeError), match=message):
            OMPGraph(2, **kwargs).fit(random_data())

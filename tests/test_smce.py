"""SMCE codes: the optimality condition of their problems, a general solver, neighbours and the 95% rule."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from l0graph import SMCE, Status, smce_codes
from l0graph.codes import smce
from l0graph.codes.working_set import Dictionary, targets_of
from methods import random_data, unit


def solve(X, n_neighbors=15, penalty=0.1):
    dictionary = Dictionary(np.ascontiguousarray(X))
    return smce.solve(dictionary, targets_of(dictionary, None, None), n_neighbors, penalty, 1)


def problem(X, solution, i, penalty):
    """Directions, prices and the solution c of sample i."""
    k = solution.n_neighbors[i]
    offsets = X[solution.neighbors[i, :k]] - X[i]
    distances = np.linalg.norm(offsets, axis=1)
    np.testing.assert_allclose(solution.distances[i, :k], distances, rtol=1e-12)
    return offsets / distances[:, None], penalty * distances / distances.sum(), solution.coefs[i, :k]


def violation(X, solution, penalty):
    """Largest violation of the optimality conditions over all samples."""
    worst = 0.0
    for i in np.flatnonzero(solution.n_neighbors):
        U, prices, c = problem(X, solution, i, penalty)
        slack = solution.multipliers[i] - U @ (U.T @ c)
        inside = np.abs(slack - prices * np.sign(c))[c != 0].max()
        outside = (np.abs(slack) - prices)[c == 0].max(initial=0)
        worst = max(worst, inside, outside, abs(c.sum() - 1))
    return worst


@pytest.mark.parametrize("penalty", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize("shape", [(60, 2), (60, 5), (40, 60)])
def test_optimality_condition(shape, penalty):
    X = random_data(*shape)
    solution = solve(X, penalty=penalty)
    assert violation(X, solution, penalty) <= 1e-11
    assert (solution.gaps <= 1e-12 * (1 + penalty)).all()


@pytest.mark.parametrize("name", ["coil20", "umist", "ionosphere"])
def test_optimality_condition_on_real_data(real_data, name):
    X = unit(real_data(name)[0].astype(float))
    assert violation(X, solve(X), 0.1) <= 1e-11


@given(
    arrays(np.float64, st.tuples(st.integers(2, 12), st.integers(1, 4)), elements=st.integers(-3, 3)),
    st.sampled_from([0.01, 0.1, 3.0]),
)
def test_optimality_condition_on_degenerate_data(X, penalty):
    # Small integers: duplicates, collinear and cocircular samples, ties everywhere.
    solution = solve(X, penalty=penalty)
    assert violation(X, solution, penalty) <= 1e-10
    assert smce_codes(X, penalty=penalty).status is Status.CONVERGED


def general_minimum(U, prices):
    """The minimum by a general solver, in split variables c = p - m, polished from several starts."""
    k = len(prices)
    G = U @ U.T

    def value(v):
        c = v[:k] - v[k:]
        return 0.5 * c @ G @ c + prices @ (v[:k] + v[k:])

    def gradient(v):
        g = G @ (v[:k] - v[k:])
        return np.concatenate([g + prices, prices - g])

    normal = np.concatenate([np.ones(k), -np.ones(k)])
    constraint = {"type": "eq", "fun": lambda v: normal @ v - 1, "jac": lambda _: normal}
    v = np.concatenate([np.full(k, 1 / k), np.zeros(k)])
    for _ in range(3):
        found = minimize(
            value,
            v,
            jac=gradient,
            bounds=[(0, None)] * (2 * k),
            constraints=[constraint],
            method="SLSQP",
            options={"ftol": 1e-16, "maxiter": 1000},
        )
        v = np.maximum(found.x, 0)
    return value(v), abs(normal @ v - 1)


def test_objective_equals_a_general_solvers():
    n_compared = 0
    for dim, penalty in ((2, 0.1), (4, 0.01), (10, 0.1), (30, 1.0), (20, 1e-3)):
        X = random_data(80, dim, seed=dim)
        solution = solve(X, n_neighbors=8, penalty=penalty)
        for i in range(10):
            U, prices, c = problem(X, solution, i, penalty)
            objective = 0.5 * np.sum((c @ U) ** 2) + prices @ np.abs(c)
            expected, infeasibility = general_minimum(U, prices)
            assert infeasibility <= 1e-10
            assert objective == pytest.approx(expected, abs=1e-8)
            assert objective == pytest.approx(solution.objectives[i, 1], abs=1e-14)
            n_compared += 1
    assert n_compared == 50


def test_neighbours_are_the_nearest():
    X = random_data(200, 6)
    solution = solve(X, n_neighbors=9)
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    np.testing.assert_array_equal(solution.neighbors, np.sort(np.argsort(distances, axis=1)[:, :9], axis=1))


def test_weights_are_the_heaviest_up_to_95_percent():
    X = random_data(100, 8)
    solution = solve(X)
    codes = smce_codes(X).codes.toarray()
    for i in range(100):
        w = np.zeros(100)
        w[solution.neighbors[i]] = solution.coefs[i] / solution.distances[i]
        w /= np.abs(w).sum()
        kept = codes[i] != 0
        np.testing.assert_allclose(codes[i][kept], w[kept], atol=1e-14)
        magnitudes = np.sort(np.abs(w[kept]))
        assert magnitudes[0] >= np.abs(w[~kept]).max()
        assert magnitudes.sum() >= 0.95 - 1e-12
        assert magnitudes[1:].sum() < 0.95


def test_moving_and_scaling_the_samples_changes_nothing():
    X = random_data(60, 5)
    expected = smce_codes(X).codes.toarray()
    np.testing.assert_allclose(smce_codes(100 * X + 7).codes.toarray(), expected, atol=1e-9)


def test_copies_are_no_neighbours():
    X = random_data(30, 4)
    plain = smce_codes(X).codes.toarray()
    doubled = np.vstack([X, X[[3, 3, 8]]])
    codes = smce_codes(doubled).codes.toarray()
    np.testing.assert_allclose(codes[:30, :30], plain, atol=1e-12)  # copies take nobody's place
    assert not codes[:, 30:].any()
    for copy, original in ((30, 3), (31, 3), (32, 8)):
        np.testing.assert_array_equal(codes[copy], codes[original])
    # Opposite samples are not copies of each other.
    assert smce_codes(np.array([[1.0, 0], [-1, 0], [0, 1]])).codes[[0]].nnz == 2


def test_copies_up_to_the_rounding_of_a_normalisation():
    X = random_data(30, 7)
    X = unit(np.vstack([X, 3 * X[:5]]))
    codes = smce_codes(X).codes.toarray()
    assert not codes[:, 30:].any()
    assert not codes[np.arange(30, 35), np.arange(5)].any()


def test_few_samples():
    np.testing.assert_array_equal(smce_codes(np.array([[0.0], [1.0]])).codes.toarray(), [[0, 1], [1, 0]])
    assert smce_codes(np.ones((4, 2))).codes.nnz == 0
    np.testing.assert_array_equal(smce_codes(np.ones((4, 2)), X_new=np.ones((1, 2))).codes.toarray(), [[1, 0, 0, 0]])


def test_uncertified_rows_are_reported(monkeypatch):
    def far_from_optimal(*arguments):
        for objectives_or_gaps in arguments[-2:]:
            objectives_or_gaps.fill(1.0)

    monkeypatch.setattr(smce.kernel, "smce_rows", far_from_optimal)
    with pytest.warns(match="30 of 30 rows have a relative duality gap"):
        assert smce_codes(random_data(30)).status is Status.MAX_ITER


def test_graph_is_the_maximum():
    model = SMCE(2, random_state=0).fit(random_data(40, 3))
    Z = np.abs(model.codes_.toarray())
    np.testing.assert_array_equal(model.affinity_matrix_.toarray(), np.maximum(Z, Z.T))


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors must be at least 1, got 0"),
        ({"n_neighbors": 2.5}, "n_neighbors must be an integer, got 2.5"),
        ({"penalty": 0}, "penalty must be greater than 0, got 0"),
        ({"tol": -1.0}, "tol must be at least 0"),
        ({"rows": [99]}, "rows must lie in"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_bad_parameters_are_refused(kwargs, message):
    with pytest.raises((ValueError, TypeError), match=message):
        smce_codes(random_data(), **kwargs)
    if "rows" not in kwargs:
        with pytest.raises((ValueError, TypeError), match=message):
            SMCE(2, **kwargs).fit(random_data())

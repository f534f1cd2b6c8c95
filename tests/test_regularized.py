"""The regularised l0 codes against the dense coordinate descent, and what the paper prints of them."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from l0graph import RegularizedL0Graph, Status, l0_codes, l1_codes, regularized_l0_codes
from l0graph.codes import regularized
from l0graph.codes.neighbors import nearest, neighbor_weights
from l0graph.codes.working_set import Dictionary, targets_of
from l0graph.kernels.regularized import scalar_step
from l0graph.metrics import clustering_accuracy, normalized_mutual_info
from methods import random_data, unit
from oracles import regularized as oracle

VALUES = st.sampled_from([-1.5, -0.2, 0.0, 0.0, 0.1, 0.3, 2.0])


@given(
    st.floats(-3, 3) | VALUES,
    st.floats(0.01, 200),
    st.floats(1e-4, 2),
    st.lists(st.tuples(VALUES, st.integers(1, 2)), min_size=1, max_size=8),
)
def test_scalar_step_minimises(v, L, gamma, neighbors):
    values, weights = [z for z, _ in neighbors], [w for _, w in neighbors]
    distinct = sorted(set(values), key=lambda z: (z != 0, z))
    votes = [sum(w for z, w in neighbors if z == u) for u in distinct]
    u, weight = scalar_step(v, L, gamma, np.array(distinct), np.array(votes))
    assert weight == sum(w for z, w in neighbors if z == u)

    def objective(u):
        return oracle.coordinate_objective(u, v, L, gamma, values, weights)

    grid = np.concatenate([np.linspace(-4, 4, 401), v + np.linspace(-0.1, 0.1, 201), values, [v]])
    assert objective(u) <= min(map(objective, grid)) + 1e-12 * (1 + gamma)
    assert u == v or u in values


def test_scalar_step_at_a_tie_keeps_the_gradient_step():
    # (L / 2) v^2 = gamma w: as in the l0-graph, an entry exactly at the threshold stays.
    assert scalar_step(0.5, 8.0, 0.5, np.array([0.0]), np.array([2])) == (0.5, 0)
    assert scalar_step(np.nextafter(0.5, 0), 8.0, 0.5, np.array([0.0]), np.array([2])) == (0.0, 2)
    # Of equally good values of neighbours, zero, then the smallest.
    assert scalar_step(0.0, 2.0, 10.0, np.array([-1.0, 1.0]), np.array([1, 1])) == (-1.0, 1)
    assert scalar_step(0.5, 2.0, 10.0, np.array([0.0, 1.0]), np.array([1, 1])) == (0.0, 1)


GRID = arrays(
    np.float64, st.tuples(st.integers(2, 14), st.integers(1, 3)), elements=st.integers(-2, 2).map(lambda v: v / 2)
)


@given(GRID, st.integers(1, 5), st.sampled_from([np.float32, np.float64]))
def test_neighbors_are_the_nearest_of_equals_the_earlier(X, n_neighbors, dtype):
    X = X.astype(dtype)
    k = min(n_neighbors, len(X) - 1)
    dictionary = Dictionary(X)
    found = nearest(dictionary, targets_of(dictionary, None, None), k, 1)
    assert found.tolist() == oracle.nearest_neighbors(X, k)
    S = oracle.adjacency(X, k)
    np.testing.assert_array_equal(neighbor_weights(found, len(X), symmetric=True).toarray(), S + S.T)
    new = nearest(dictionary, targets_of(dictionary, None, X + 0.5), k, 1)
    assert new.tolist() == oracle.nearest_neighbors(X, k, X + 0.5)


@pytest.mark.parametrize("name", ["umist", "heart"])
def test_neighbors_on_real_data(real_data, name):
    X = unit(real_data(name)[0].astype(float))
    dictionary = Dictionary(X)
    distances = ((X[:, None, :] - X[None, :50]) ** 2).sum(axis=2).T
    distances[np.arange(50), np.arange(50)] = np.inf
    found = nearest(dictionary, targets_of(dictionary, np.arange(50), None), 5, 1)
    np.testing.assert_array_equal(found, np.argsort(distances, axis=1, kind="stable")[:, :5])


RULES = [
    pytest.param(0.1, 100.0, id="paper"),
    pytest.param(0.01, "global", id="global"),
    pytest.param(0.05, 1.0, id="raised"),
    pytest.param(1e-4, 0.5, id="entering-and-raised"),
    pytest.param(1e-6, 0.1, id="almost-everything-enters"),
    pytest.param(1e-4, "global", id="global-entering"),
]


def compare(X, init, gamma, lipschitz, *, n_neighbors=3, max_iter=8, max_sweeps=2, tol=1e-6, atol=1e-10):
    kwargs = {"lipschitz": lipschitz, "max_iter": max_iter, "max_sweeps": max_sweeps, "tol": tol}
    Z, objectives, largest, sweeps = oracle.dense_coordinate_descent(X, init.toarray(), gamma, n_neighbors, **kwargs)
    for n_sweeps in range(1, len(sweeps)):
        kwargs["max_sweeps"] = n_sweeps
        result = regularized_l0_codes(X, init=init, gamma=gamma, n_neighbors=n_neighbors, **kwargs)
        np.testing.assert_allclose(result.codes.toarray(), sweeps[n_sweeps], rtol=0, atol=atol)
        assert result.n_iter == n_sweeps
    np.testing.assert_allclose(result.objective, objectives, rtol=0, atol=1e-10)
    return Z, largest


@pytest.mark.parametrize(("gamma", "lipschitz"), RULES)
@pytest.mark.parametrize("shape", [(40, 12), (30, 40)])
def test_equals_the_dense_descent(shape, gamma, lipschitz):
    X = random_data(*shape)
    _, largest = compare(X, l1_codes(X).codes, gamma, lipschitz)
    assert lipschitz in ("global", 100.0) or largest > lipschitz


@pytest.mark.parametrize(("gamma", "lipschitz"), [(1e-3, 2.0), (1e-4, 0.5), (1e-4, "global")])
def test_equals_the_dense_descent_where_all_entries_come_from_outside(gamma, lipschitz):
    X = random_data(40, 12, seed=3)
    Z, _ = compare(X, sp.csr_array((40, 40)), gamma, lipschitz, tol=0)
    assert np.count_nonzero(Z) > 150


@pytest.mark.parametrize(("gamma", "lipschitz"), [(0.1, 100.0), (1e-3, 3.0)])
@pytest.mark.parametrize("name", ["umist", "heart"])
def test_equals_the_dense_descent_on_real_data(real_data, name, gamma, lipschitz):
    X = unit(real_data(name)[0][:70].astype(float))
    compare(X, l1_codes(X).codes, gamma, lipschitz, n_neighbors=5, max_iter=5)


def test_equals_the_dense_descent_with_duplicates_and_zero_samples():
    X = random_data(24, 6)
    X[[5, 17]] = 0
    X[8] = X[2]
    X[9] = -X[3]
    for gamma, lipschitz in [(0.1, 100.0), (0.01, 4.0)]:
        compare(X, l1_codes(X).codes, gamma, lipschitz)


def test_equals_the_dense_descent_in_float32():
    X = random_data(40, 12).astype(np.float32)
    compare(X, l1_codes(X).codes, 0.05, 20.0, atol=1e-6)


def test_threads_leave_no_trace_where_groups_are_small(monkeypatch):
    X = random_data(150, 20)
    alone = regularized_l0_codes(X).codes
    monkeypatch.setattr(regularized, "_WORTH_THREADS", 2)
    assert (regularized_l0_codes(X, n_jobs=2).codes != alone).nnz == 0


def rises(objective):
    return np.diff(objective).max() > 1e-12 * objective[0]


@pytest.mark.parametrize("name", ["heart", "umist", "yaleb_32x32"])
def test_objective_never_rises_on_real_data(real_data, name):
    X = unit(real_data(name)[0].astype(float))
    init = l1_codes(X, n_jobs=2).codes
    for lipschitz in (100.0, 5.0):
        result = regularized_l0_codes(X, init=init, lipschitz=lipschitz, max_sweeps=2, n_jobs=2)
        assert not rises(result.objective)
        assert result.objective[1] < result.objective[0]
        assert result.codes.nnz


DATA = arrays(
    np.float64,
    st.tuples(st.integers(2, 12), st.integers(1, 6)),
    elements=st.floats(-2, 2, allow_subnormal=False).map(lambda v: round(v, 3)),
)


@given(DATA, st.sampled_from([1e-3, 0.05, 0.5]), st.sampled_from(["global", 0.1, 3.0, 100.0]), st.integers(1, 4))
def test_objective_is_the_problems_and_never_rises(X, gamma, lipschitz, n_neighbors):
    init = l1_codes(X, l1_penalty=0.05).codes
    result = regularized_l0_codes(X, init=init, gamma=gamma, lipschitz=lipschitz, n_neighbors=n_neighbors, sweep_tol=0)
    S = oracle.adjacency(X, min(n_neighbors, len(X) - 1))
    for codes, value in ((init, result.objective[0]), (result.codes, result.objective[-1])):
        np.testing.assert_allclose(oracle.total_objective(X, codes.toarray(), S, gamma), value, rtol=1e-10, atol=1e-12)
    assert np.diff(result.objective).max() <= 1e-12 * (1 + result.objective[0])
    assert not result.codes.diagonal().any()


def test_stops_on_the_total_objective():
    X = random_data(40, 8)
    result = regularized_l0_codes(X, max_iter=300, max_sweeps=200, sweep_tol=1e-4, tol=0)
    assert result.status is Status.CONVERGED
    assert 1 < result.n_iter < 200
    assert abs(np.diff(result.objective)[-1]) < 1e-4
    assert (np.abs(np.diff(result.objective)[:-1]) >= 1e-4).all()
    limited = regularized_l0_codes(X, max_sweeps=1)
    assert limited.status is Status.MAX_ITER
    assert limited.n_iter == 1


def test_nothing_to_do_returns_the_start():
    X = random_data(30, 6)
    init = l1_codes(X).codes
    for kwargs in ({"max_iter": 0}, {"max_sweeps": 0}):
        assert (regularized_l0_codes(X, init=init, **kwargs).codes != init).nnz == 0


def test_default_start_is_the_l1_codes_and_another_is_cleaned():
    X = random_data(30, 6)
    expected = regularized_l0_codes(X, l1_penalty=0.2).codes
    init = l1_codes(X, l1_penalty=0.2).codes.tolil()
    init.setdiag(1.0)
    init = sp.csr_array(init)
    before = init.toarray()
    assert (regularized_l0_codes(X, init=init).codes != expected).nnz == 0
    np.testing.assert_array_equal(init.toarray(), before)
    assert (regularized_l0_codes(X, init=l0_codes(X).codes).codes != expected).nnz > 0


def test_fewer_samples_than_neighbors():
    X = random_data(4, 6)
    codes = regularized_l0_codes(X, n_neighbors=50).codes
    assert (codes != regularized_l0_codes(X, n_neighbors=3).codes).nnz == 0


@pytest.mark.parametrize(("gamma", "lipschitz"), [(0.05, 100.0), (1e-4, 0.5)])
def test_new_samples_are_solved_beside_fixed_codes(gamma, lipschitz):
    X, X_new = random_data(40, 12), random_data(9, 12, seed=1)
    kwargs = {"gamma": gamma, "lipschitz": lipschitz, "n_neighbors": 4, "max_iter": 5, "max_sweeps": 2}
    codes = regularized_l0_codes(X, **kwargs).codes
    result = regularized_l0_codes(X, X_new=X_new, codes=codes, **kwargs)
    init = l1_codes(X, X_new=X_new).codes.toarray()
    Z = codes.toarray()
    for i, near in enumerate(oracle.nearest_neighbors(X, 4, X_new)):
        limits = {"lipschitz": lipschitz, "tau": 1.1, "max_iter": 10, "tol": 1e-6}
        expected, _ = oracle.visit(X, X_new[i], init[i], -1, Z[sorted(near)], np.ones(4), gamma, **limits)
        np.testing.assert_allclose(result.codes[[i]].toarray()[0], expected, rtol=0, atol=1e-10)
        alone = regularized_l0_codes(X, X_new=X_new[[i]], codes=codes, n_jobs=2, **kwargs).codes
        np.testing.assert_array_equal(alone.toarray()[0], result.codes[[i]].toarray()[0])
    assert not rises(result.objective)
    assert result.codes.shape == (9, 40)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"gamma": 0.0}, "gamma must be greater than 0, got 0.0"),
        ({"n_neighbors": 0}, "n_neighbors must be at least 1"),
        ({"n_neighbors": 2.5}, "n_neighbors must be an integer"),
        ({"lipschitz": "local"}, "lipschitz must be a number or 'global', got 'local'"),
        ({"tau": 1.0}, "tau must be greater than 1, got 1.0"),
        ({"max_iter": -1}, "max_iter must be at least 0"),
        ({"max_sweeps": -1}, "max_sweeps must be at least 0"),
        ({"tol": -1.0}, "tol must be at least 0"),
        ({"sweep_tol": -1.0}, "sweep_tol must be at least 0"),
        ({"init": sp.csr_array((3, 3))}, r"init must have shape \(60, 60\), got \(3, 3\)"),
        ({"X_new": np.ones((3, 12))}, "X_new and codes belong together"),
        ({"codes": sp.csr_array((60, 60))}, "X_new and codes belong together"),
        ({"codes": sp.csr_array((3, 3)), "X_new": np.ones((3, 12))}, r"codes must have shape \(60, 60\)"),
    ],
)
def test_bad_parameters(kwargs, message):
    with pytest.raises((ValueError, TypeError), match=message):
        regularized_l0_codes(random_data(), **kwargs)


@pytest.mark.parametrize(("name", "cell"), [("heart", (0.6444, 0.0590)), ("umist", (0.7078, 0.8153))])
def test_cells_of_the_paper(real_data, name, cell):
    X, y = real_data(name)
    labels = RegularizedL0Graph(len(np.unique(y)), random_state=0).fit(X).labels_
    assert clustering_accuracy(y, labels) >= cell[0] - 0.005
    assert normalized_mutual_info(y, labels) >= cell[1] - 0.005

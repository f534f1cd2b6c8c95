"""The l0 codes against the dense iteration, and the paper's theorem on them."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from l0graph import Status, l0_codes, l1_codes
from methods import random_data, unit
from oracles.l0 import dense_l0_iteration

RULES = [
    pytest.param(0.5, 100.0, id="paper"),
    pytest.param(0.01, "global", id="global"),
    pytest.param(0.5, 10.0, id="raised-at-the-start"),
    pytest.param(1e-3, 5.0, id="entering-and-raised"),
    pytest.param(1e-5, 0.1, id="almost-everything-enters"),
    pytest.param(1e-4, "global", id="global-entering"),
]


def compare(X, init, penalty, lipschitz, max_iter=30, tol=1e-6, atol=1e-10):
    result = l0_codes(X, init=init, l0_penalty=penalty, lipschitz=lipschitz, max_iter=max_iter, tol=tol)
    Z, objectives, _, _ = dense_l0_iteration(
        X, init.toarray(), penalty, lipschitz=lipschitz, max_iter=max_iter, tol=tol
    )
    assert len(objectives) == result.n_iter + 1
    np.testing.assert_allclose(result.codes.toarray(), Z, rtol=0, atol=atol)
    np.testing.assert_allclose(result.objective, objectives, rtol=0, atol=1e-10)
    return result


@pytest.mark.parametrize(("penalty", "lipschitz"), RULES)
@pytest.mark.parametrize("shape", [(60, 20), (40, 60)])
def test_equals_the_dense_iteration(shape, penalty, lipschitz):
    X = random_data(*shape)
    compare(X, l1_codes(X).codes, penalty, lipschitz)


@pytest.mark.parametrize(("penalty", "lipschitz"), [(1e-3, 5.0), (1e-4, "global")])
def test_equals_the_dense_iteration_where_hundreds_enter(penalty, lipschitz):
    X = random_data(250, 60)
    result = compare(X, sp.csr_array((250, 250)), penalty, lipschitz, max_iter=8)
    assert np.diff(result.codes.indptr).max() >= 100
    assert result.codes.nnz > 250 * 80


@pytest.mark.parametrize(("penalty", "lipschitz"), [(0.5, 100.0), (0.5, "global"), (1e-3, "global")])
@pytest.mark.parametrize("name", ["umist", "ionosphere"])
def test_equals_the_dense_iteration_on_real_data(real_data, name, penalty, lipschitz):
    X = unit(real_data(name)[0].astype(float))
    compare(X, l1_codes(X).codes, penalty, lipschitz, max_iter=12)


@pytest.mark.parametrize(("penalty", "lipschitz"), RULES)
def test_equals_the_dense_iteration_in_float32(penalty, lipschitz):
    X = random_data().astype(np.float32)
    compare(X, l1_codes(X).codes, penalty, lipschitz, max_iter=30, atol=1e-6)


def test_stops_on_the_total_objective():
    X = random_data(40, 8)
    result = compare(X, l1_codes(X).codes, 0.5, 30.0, max_iter=5000, tol=1e-5)
    assert result.status is Status.CONVERGED
    assert 1 < result.n_iter < 5000
    assert abs(np.diff(result.objective)[-1]) < 1e-5
    assert (np.abs(np.diff(result.objective)[:-1]) >= 1e-5).all()


DATA = arrays(
    np.float64,
    st.tuples(st.integers(2, 12), st.integers(1, 6)),
    elements=st.floats(-2, 2, allow_subnormal=False).map(lambda v: round(v, 3)),
)


@given(DATA, st.sampled_from([1e-3, 0.05, 0.5]), st.sampled_from(["global", 0.1, 3.0, 100.0]), st.floats(1.01, 3))
def test_sufficient_decrease(X, penalty, lipschitz, tau):
    """Theorem 2, in each column: L(t) <= L(t-1) - (tau - 1) s / 2 ||Z(t) - Z(t-1)||^2."""
    Z0 = l1_codes(X, l1_penalty=0.05).codes
    steps = 12
    codes = [l0_codes(X, init=Z0, l0_penalty=penalty, lipschitz=lipschitz, tau=tau, max_iter=0).codes.toarray()]
    for t in range(1, steps + 1):
        result = l0_codes(X, init=Z0, l0_penalty=penalty, lipschitz=lipschitz, tau=tau, max_iter=t, tol=0)
        codes.append(result.codes.toarray())
    if lipschitz == "global":
        L = np.full(len(X), max(2 * tau * np.linalg.norm(X, 2) ** 2, 1e-300))
    else:  # a column's constant only grows, so the one it started with is a valid, weaker bound
        L = np.full(len(X), lipschitz)
    per_row = np.array([((X - Z @ X) ** 2).sum(axis=1) + penalty * (Z != 0).sum(axis=1) for Z in codes])
    moved = np.array([((a - b) ** 2).sum(axis=1) for a, b in zip(codes[1:], codes[:-1], strict=True)])
    slack = 1e-12 * (1 + per_row[:-1])
    s = L / tau
    assert (per_row[1:] <= per_row[:-1] - (tau - 1) * s / 2 * moved + slack).all()


# 1000 majorises on any support of such data: no column has a larger constant of its own.
@given(DATA, st.sampled_from([1e-2, 0.1, 0.5]), st.sampled_from(["global", 1000.0]))
def test_final_codes_are_a_fixed_point_of_the_step(X, penalty, lipschitz):
    Z0 = l1_codes(X, l1_penalty=0.05).codes
    steps = 3000
    Z = l0_codes(X, init=Z0, l0_penalty=penalty, lipschitz=lipschitz, max_iter=steps, tol=0).codes.toarray()
    again, _, _, _ = dense_l0_iteration(X, Z, penalty, lipschitz=lipschitz, max_iter=1)
    np.testing.assert_array_equal(again != 0, Z != 0)
    # On a settled support a gradient step still moves by up to (distance at the start) / t where the support is close
    # to dependent, and by nothing where it is not.
    np.testing.assert_allclose(again, Z, atol=2 / steps * (1 + np.abs(Z).max()))


def test_default_start_is_the_l1_codes():
    X = random_data()
    expected = l0_codes(X, init=l1_codes(X, l1_penalty=0.2).codes).codes
    assert (l0_codes(X, l1_penalty=0.2).codes != expected).nnz == 0


def test_init_is_cleaned_not_changed():
    X = random_data(30, 6)
    init = l1_codes(X).codes.tolil()
    init.setdiag(1.0)
    init = sp.csr_array(init)
    before = init.toarray()
    result = l0_codes(X, init=init, tol=0)
    np.testing.assert_array_equal(init.toarray(), before)
    assert (result.codes != l0_codes(X, tol=0).codes).nnz == 0
    dense = l0_codes(X, init=before, tol=0)
    assert (result.codes != dense.codes).nnz == 0


def test_max_iter_zero_returns_the_start():
    X = random_data(30, 6)
    init = l1_codes(X).codes
    result = l0_codes(X, init=init, max_iter=0)
    assert result.n_iter == 0
    assert (result.codes != init).nnz == 0


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"l0_penalty": 0.0}, "l0_penalty must be greater than 0, got 0.0"),
        ({"lipschitz": "local"}, "lipschitz must be a number or 'global', got 'local'"),
        ({"lipschitz": -1.0}, "lipschitz must be greater than 0"),
        ({"tau": 1.0}, "tau must be greater than 1, got 1.0"),
        ({"init": sp.csr_array((3, 3))}, r"init must have shape \(60, 60\), got \(3, 3\)"),
        ({"init": "codes"}, "init must be a sparse matrix"),
        ({"init": sp.csr_array(np.full((60, 60), np.nan))}, "init contain NaN"),
    ],
)
def test_bad_parameters(kwargs, message):
    with pytest.raises((ValueError, TypeError), match=message):
        l0_codes(random_data(), **kwargs)

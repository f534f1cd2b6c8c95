"""Theorem 1 of the paper on small unions of subspaces, solved exhaustively, and where its assumptions end.

Why it holds. Let A be any set of at most d_k samples other than x, x drawn from S_k. Given A, x lies in span(A) with
probability 0 unless S_k is inside span(A), by continuity; and then both have dimension d_k, so they are equal, and all
of A lies in S_k. With n_k >= d_k + 1 there is such an A. What the theorem says is therefore where the chosen samples
*lie*: a sample of a line inside a plane lies in the plane too.
"""

import numpy as np
import pytest
from scipy.optimize import linprog

from l0graph import l0_codes, l1_codes
from l0graph.datasets import make_subspaces
from methods import unit
from oracles.exhaustive import best_penalised, sparsest_supports


def lies_in(x, basis):
    return np.linalg.norm(x - (x @ basis.T) @ basis) <= 1e-9 * np.linalg.norm(x)


def basis_pursuit(X, i):
    """The solution of min ||z||_1 with x_i = X^T z, z_i = 0, as a linear program."""
    others = np.delete(np.arange(len(X)), i)
    A = X[others].T
    result = linprog(np.ones(2 * len(others)), A_eq=np.hstack([A, -A]), b_eq=X[i])
    assert result.success
    code = np.zeros(len(X))
    code[others] = result.x[: len(others)] - result.x[len(others) :]
    return code


UNIONS = [
    pytest.param("distinct", 2, 1, 4, [4, 4, 4], id="planes-of-one-3-space"),
    pytest.param("distinct", 3, 1, 4, [5, 6], id="two-hyperplanes"),
    pytest.param("overlapping", 2, 1, 3, [3, 3, 3, 3], id="planes-through-one-line"),
    pytest.param("overlapping", 3, 2, 5, [5, 6], id="3-spaces-through-one-plane"),
    pytest.param("overlapping", (2, 3), 1, 4, [4, 5], id="plane-and-3-space"),
    pytest.param("disjoint", 2, 1, 4, [3, 4, 4], id="disjoint-planes"),
]


@pytest.mark.parametrize("distribution", ["uniform", "skewed"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("arrangement", "dim", "overlap", "ambient", "sizes"), UNIONS)
def test_sparsest_codes_are_subspace_preserving(arrangement, dim, overlap, ambient, sizes, seed, distribution):
    X, y, bases = make_subspaces(
        sizes,
        n_subspaces=len(sizes),
        dim=dim,
        ambient_dim=ambient,
        arrangement=arrangement,
        overlap=overlap,
        distribution=distribution,
        random_state=seed,
        return_bases=True,
    )
    for i in range(len(X)):
        supports = sparsest_supports(X, i)
        assert supports
        for support in supports:
            assert len(support) == len(bases[y[i]])
            assert set(y[list(support)]) == {y[i]}


def test_samples_of_a_line_inside_a_plane_serve_the_plane_too():
    X, y, bases = make_subspaces(
        [3, 4, 5],
        n_subspaces=3,
        dim=(1, 2, 3),
        ambient_dim=4,
        arrangement="distinct",
        random_state=0,
        return_bases=True,
    )
    used = [set(), set(), set()]
    for i in range(len(X)):
        for support in sparsest_supports(X, i):
            assert all(lies_in(X[j], bases[y[i]]) for j in support)
            used[y[i]] |= set(y[list(support)].tolist())
    # By labels the codes of the larger subspaces are not pure, though every chosen sample lies in them.
    assert used == [{0}, {0, 1}, {0, 1, 2}]


def test_too_few_samples_of_a_subspace_are_written_by_others():
    """n_k = d_k: no sample of the first plane has enough of its own left."""
    X, y = make_subspaces([2, 5, 5], n_subspaces=3, dim=2, ambient_dim=3, arrangement="distinct", random_state=0)
    for i in (0, 1):
        assert all(set(y[list(support)]) != {0} for support in sparsest_supports(X, i))
    assert all(set(y[list(s)]) == {y[i]} for i in range(2, 12) for s in sparsest_supports(X, i))


def samples_that_deceive_l1():
    """x = e_1 in the plane z = 0 with two of its own at 80 degrees, and a tilted plane with two at about 5 degrees."""
    c80, s80 = np.cos(np.radians(80)), np.sin(np.radians(80))
    c5, s5 = np.cos(np.radians(5)), np.sin(np.radians(5))
    plane = np.array([[1, 0, 0], [c80, s80, 0], [c80, -s80, 0]])
    tilted = np.array([[c5, 0, s5], [c5, s5, -s5]])
    return unit(np.vstack([plane, tilted, 0.3 * tilted[0] + tilted[1]])), np.repeat([0, 1], 3)


def test_l1_is_deceived_where_l0_is_not():
    X, y = samples_that_deceive_l1()
    assert sparsest_supports(X, 0) == [(1, 2)]
    code = basis_pursuit(X, 0)
    np.testing.assert_allclose(code @ X, X[0], atol=1e-9)
    own = np.abs(code[y == 0]).sum()
    assert own < 0.1 * np.abs(code).sum()
    # The penalised code goes to it as the penalty goes to 0.
    penalised = l1_codes(X, l1_penalty=1e-5, rows=[0]).codes.toarray()[0]
    np.testing.assert_allclose(penalised, code, atol=1e-3)
    # The penalised l0 problem agrees with the exact one once a nonzero is cheaper than the residual of one atom.
    support, exact, _ = best_penalised(X, 0, 1e-4)
    assert support == (1, 2)
    # The proximal method is local: started right it stays right.
    kept = l0_codes(X, init=np.vstack([exact]), rows=[0], l0_penalty=1e-4, lipschitz=5.0).codes.toarray()[0]
    np.testing.assert_allclose(kept, exact, atol=1e-9)


def test_l1_is_wrong_often_on_skewed_samples_of_planes_in_3_space():
    wrong = 0
    for seed in range(10):
        X, y = make_subspaces(
            [4, 4, 4],
            n_subspaces=3,
            dim=2,
            ambient_dim=3,
            arrangement="distinct",
            distribution="skewed",
            random_state=seed,
        )
        X = unit(X)
        for i in range(len(X)):
            code = np.abs(basis_pursuit(X, i))
            wrong += code[y != y[i]].sum() > 1e-6 * code.sum()
    assert wrong > 50  # of 120 samples; 63 when this was written

"""The codes of arrays of torch and of the strict namespace, against those of NumPy arrays."""

import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from l0graph import (
    L0Graph,
    L1Graph,
    OMPGraph,
    RegularizedL0Graph,
    affinity,
    l0_codes,
    l1_codes,
    omp_codes,
    regularized_l0_codes,
    smce_codes,
    spectral_embedding,
    to_scipy,
)
from l0graph.backends import on_device, operations
from l0graph.backends.l0 import by_squaring, majorising
from l0graph.backends.namespaces import space_of
from l0graph.backends.regularized import Rule, _Visit
from l0graph.codes import _arrays
from l0graph.datasets import make_subspaces
from l0graph.estimators.predict import predict_labels
from l0graph.kernels.regularized import scalar_step
from methods import random_data, unit

LIBRARIES = ["torch", "array_api_strict"]
ATOL = {"float64": 1e-8, "float32": 1e-4}


@pytest.fixture(params=LIBRARIES)
def library(request):
    return pytest.importorskip(request.param, reason=f"{request.param} is not installed")


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="torch is not installed: see make test")


def with_twins(n, d, dtype):
    """Random data with equal, opposite and zero samples."""
    X = random_data(n, d, seed=1)
    X[5], X[7], X[8], X[9], X[11] = X[2], -X[3], X[3], X[3], 0
    return X.astype(dtype)


def assert_same(expected, result, atol):
    ours = to_scipy(result.codes)
    np.testing.assert_array_equal(ours.indptr, expected.codes.indptr)
    np.testing.assert_array_equal(ours.indices, expected.codes.indices)
    np.testing.assert_allclose(ours.data, expected.codes.data, rtol=0, atol=atol)
    np.testing.assert_allclose(result.objective, expected.objective, rtol=1e-12 if atol < 1e-6 else 1e-5)
    assert result.status is expected.status


RULES = [
    pytest.param({"l0_penalty": 0.5}, id="paper"),
    pytest.param({"l0_penalty": 0.01, "lipschitz": "global"}, id="global"),
    pytest.param({"l0_penalty": 0.5, "lipschitz": 10.0}, id="raised-at-the-start"),
    pytest.param({"l0_penalty": 1e-3, "lipschitz": 0.5, "max_iter": 20}, id="entering-and-raised"),
    pytest.param({"l0_penalty": 1e-5, "lipschitz": 0.1}, id="almost-everything-enters"),
]


@pytest.mark.parametrize("dtype", ATOL)
@pytest.mark.parametrize("shape", [(60, 12), (30, 50)])
def test_l1_codes(library, shape, dtype):
    X = with_twins(*shape, dtype)
    result = l1_codes(library.asarray(X))
    assert_same(l1_codes(X), result, ATOL[dtype])
    assert float(max(result.gap)) <= 1e-10


@pytest.mark.parametrize("dtype", ATOL)
@pytest.mark.parametrize("rule", RULES)
def test_l0_codes(library, rule, dtype):
    X = with_twins(60, 12, dtype)
    init = l1_codes(X)
    assert_same(l0_codes(X, init=init, **rule), l0_codes(library.asarray(X), init=init, **rule), ATOL[dtype])


def test_chosen_rows_and_new_samples(library):
    X, X_new = with_twins(50, 12, "float64"), random_data(20, 12, seed=3)
    rows = np.array([7, 3, 40])
    for codes in (l1_codes, l0_codes):
        assert_same(codes(X, rows=rows), codes(library.asarray(X), rows=rows), 1e-8)
        assert_same(codes(X, X_new=X_new), codes(library.asarray(X), X_new=library.asarray(X_new)), 1e-8)


def test_l0_starts_from_anything_and_a_diagonal_is_ignored(library):
    X = with_twins(40, 12, "float64")
    init = sp.csr_array(np.random.default_rng(0).standard_normal((40, 40)) * (random_data(40, 40) > 0.2))
    for start in (init, sp.csr_array((40, 40))):
        expected = l0_codes(X, init=start, max_iter=10)
        assert_same(expected, l0_codes(library.asarray(X), init=start, max_iter=10), 1e-8)


def test_zero_tiny_and_huge_data(library):
    for X in (np.zeros((4, 3)), 1e-30 * random_data(12, 5)):
        assert_same(l1_codes(X), l1_codes(library.asarray(X)), 1e-8)
        assert_same(l0_codes(X), l0_codes(library.asarray(X)), 1e-8)
    X = random_data(12, 20)
    scaled = to_scipy(l1_codes(library.asarray(1e30 * X), l1_penalty=1e59).codes)
    np.testing.assert_allclose(scaled.toarray(), l1_codes(X).codes.toarray(), atol=1e-8)


def test_an_entry_at_the_threshold_stays(library):
    X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    init = sp.csr_array(np.array([[0, 0.5, 0], [0, 0, 0], [0, 0, 0.0]]))
    # With L = 4 the step leads to 0.75, and sqrt(2 penalty / L) = 0.75 for this penalty.
    codes = to_scipy(l0_codes(library.asarray(X), init=init, l0_penalty=1.125, lipschitz=4.0, max_iter=1).codes)
    assert codes[0, 1] == 0.75


@pytest.mark.parametrize("name", ["coil20", "yaleb_32x32", "mnist"])
@pytest.mark.parametrize("dtype", ATOL)
@pytest.mark.slow
def test_equals_numpy_on_real_data(library, real_data, name, dtype):
    X = unit(real_data(name)[0][: 2100 if name == "mnist" else None].astype(float)).astype(dtype)
    X, X_new, atol = X[:-100], X[-100:], ATOL[dtype]
    arrays, new_arrays = library.asarray(X), library.asarray(X_new)
    init = l1_codes(X)
    assert_same(init, l1_codes(arrays), atol)
    expected = l0_codes(X, init=init)
    assert_same(expected, l0_codes(arrays, init=init), atol)
    assert_same(omp_codes(X), omp_codes(arrays), atol)
    assert_same(regularized_l0_codes(X, init=init.codes), regularized_l0_codes(arrays, init=init.codes), atol)
    labels = np.arange(len(X)) * 10 // len(X)
    codes = l0_codes(X, X_new=X_new)
    ours = l0_codes(arrays, X_new=new_arrays).codes
    predicted = np.asarray(_arrays.predict_labels(ours, arrays, labels, new_arrays))
    np.testing.assert_array_equal(predicted, predict_labels(codes.codes, X, labels, X_new, 1))
    W = affinity(expected.codes.astype(float))
    embedding, eigenvalues = spectral_embedding(W, 10)
    on_device, values = spectral_embedding(library.asarray(W.toarray()), 10)
    np.testing.assert_allclose(np.asarray(values), eigenvalues, atol=1e-8)
    gaps = np.abs(np.diff(eigenvalues)) > 1e-4
    alone = np.append(True, gaps) & np.append(gaps, False)  # of close eigenvalues the vectors are arbitrary
    np.testing.assert_allclose(np.asarray(on_device)[:, alone], embedding[:, alone], atol=1e-5)


def test_codes_stay_where_the_data_are(torch):
    result = l0_codes(torch.asarray(random_data().astype(np.float32)))
    assert result.codes.layout == torch.sparse_csr
    assert result.codes.dtype == torch.float32


def test_the_number_of_operations_does_not_depend_on_the_number_of_samples(torch):
    X, X_new = random_data(80, 20), random_data(10, 20, seed=5)
    counts = []
    for copies in (1, 4, 16):
        with operations() as counted:
            l0_codes(torch.asarray(X), X_new=torch.asarray(np.tile(X_new, (copies, 1))))
        counts.append(counted.per_block)
        assert len(counted.per_block) == 2
    numbers = [[block[1:] for block in blocks] for blocks in counts]
    assert numbers[0] == numbers[1] == numbers[2]


@pytest.mark.parametrize("rule", [{"l0_penalty": 0.5}, {"l0_penalty": 1e-3, "lipschitz": 0.5, "max_iter": 20}])
def test_small_blocks_give_the_same(torch, monkeypatch, rule):
    X = with_twins(60, 12, "float64")
    expected = l0_codes(X, **rule)
    monkeypatch.setattr("l0graph.backends.namespaces._BUDGET", 200_000)
    assert_same(expected, l0_codes(torch.asarray(X), **rule), 1e-8)


def test_rows_part_where_too_many_atoms_enter_for_the_memory(torch, monkeypatch):
    X = random_data(100, 30)
    rule = {"init": sp.csr_array((100, 100)), "l0_penalty": 1e-4, "lipschitz": "global", "max_iter": 8}
    expected = l0_codes(X, **rule)
    assert np.diff(expected.codes.indptr).max() > 50
    monkeypatch.setattr("l0graph.backends.namespaces._BUDGET", 2**20)
    assert_same(expected, l0_codes(torch.asarray(X), **rule), 1e-8)


def test_largest_eigenvalues_by_products(library):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((7, 12, 9))
    A[1] = 0
    A[2] *= 1e-9
    A[3, :, 0] *= 1e6
    G = np.swapaxes(A, 1, 2) @ A
    G[4] = np.eye(9)  # no gap at all
    G[5] = np.diag([*(1 - 1e-7 * np.arange(8)), 0])  # nor much of one
    G[6, 5:], G[6, :, 5:] = 0, 0  # padding
    expected = np.linalg.eigvalsh(G)[:, -1]
    xp = space_of(library.asarray(G)).xp
    np.testing.assert_allclose(np.asarray(by_squaring(xp, library.asarray(G))), expected, rtol=5e-12, atol=0)


def test_constants_are_raised_where_they_must(library):
    rng = np.random.default_rng(1)
    G = np.einsum("rik,rjk->rij", *2 * [rng.standard_normal((40, 6, 3)) * rng.uniform(0, 1, (40, 1, 1))])
    sigma = np.linalg.eigvalsh(G)[:, -1]
    traces = 2.2 * np.trace(G, axis1=1, axis2=2)
    L = np.sort(rng.uniform(0, traces.max(), 40))[::-1].copy()
    expected = np.maximum(L, 2.2 * sigma)
    assert 3 < np.count_nonzero(expected > L) < np.count_nonzero(traces > L) < 40  # all three ways are taken
    space = space_of(library.asarray(G))
    raised = majorising(space, library.asarray(G), library.asarray(L), 1.1)
    np.testing.assert_allclose(np.asarray(raised), expected, rtol=1e-12)


def test_errors_are_clear(torch):
    X = random_data(20, 5)
    bad = X.copy()
    bad[3, 2] = np.nan
    with pytest.raises(ValueError, match="X contains NaN or infinity"):
        l1_codes(torch.asarray(bad))
    with pytest.raises(ValueError, match="X must be a 2-D array"):
        l1_codes(torch.asarray(X[0]))
    with pytest.raises(ValueError, match="affine=True is not available for arrays of torch or CuPy"):
        l1_codes(torch.asarray(X), affine=True)
    with pytest.raises(ValueError, match="smce_codes is not available for arrays of torch or CuPy"):
        smce_codes(torch.asarray(X))
    with pytest.raises(ValueError, match="X_new has 4 features but X has 5"):
        l1_codes(torch.asarray(X), X_new=torch.asarray(X[:, :4]))
    with pytest.raises(ValueError, match="init must have shape"):
        l0_codes(torch.asarray(X), init=sp.csr_array((3, 3)))
    with pytest.raises(ValueError, match="device must be None or a name"):
        on_device(X, "gpu")
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="device='cuda' was asked for, but PyTorch finds 0 CUDA devices"):
            on_device(X, "cuda")


@pytest.mark.parametrize("dtype", ATOL)
@pytest.mark.parametrize("n_nonzero", [1, 6])
def test_omp_codes(library, n_nonzero, dtype):
    X, X_new = with_twins(60, 12, dtype), random_data(9, 12, seed=4).astype(dtype)
    arrays = library.asarray(X)
    assert_same(omp_codes(X, n_nonzero=n_nonzero), omp_codes(arrays, n_nonzero=n_nonzero), ATOL[dtype])
    expected = omp_codes(X, n_nonzero=n_nonzero, X_new=X_new)
    assert_same(expected, omp_codes(arrays, n_nonzero=n_nonzero, X_new=library.asarray(X_new)), ATOL[dtype])


REGULARIZED = [
    pytest.param({}, id="paper"),
    pytest.param({"gamma": 1e-4, "lipschitz": 0.5, "max_iter": 10, "max_sweeps": 2}, id="entering-and-raised"),
    pytest.param({"gamma": 0.01, "lipschitz": "global", "n_neighbors": 2, "max_sweeps": 2}, id="global"),
]


@pytest.mark.parametrize("rule", REGULARIZED)
def test_regularized_l0_codes(library, rule):
    X, X_new = random_data(30, 10), random_data(6, 10, seed=4)
    init = l1_codes(X).codes
    expected = regularized_l0_codes(X, init=init, **rule)
    assert_same(expected, regularized_l0_codes(library.asarray(X), init=init, **rule), 1e-8)
    codes = expected.codes
    new = regularized_l0_codes(library.asarray(X), X_new=library.asarray(X_new), codes=codes, **rule)
    assert_same(regularized_l0_codes(X, X_new=X_new, codes=codes, **rule), new, 1e-8)


@pytest.mark.parametrize("rule", REGULARIZED)
def test_jacobi_sweeps(library, rule, monkeypatch):
    X = random_data(18, 8)
    rule = {"sweep": "jacobi", "init": l1_codes(X).codes, "max_sweeps": 2, **rule}
    expected = regularized_l0_codes(X, **rule)
    assert expected.n_iter > 0
    assert (np.diff(expected.objective) <= 0).all()
    monkeypatch.setattr("l0graph.backends.namespaces._BUDGET", 200_000)  # some samples at a time
    assert_same(expected, regularized_l0_codes(library.asarray(X), **rule), 1e-8)


@pytest.mark.parametrize("v", np.arange(-2, 2.5, 0.5))
def test_ties_of_a_regularised_step_go_the_same_way(library, v):
    rng = np.random.default_rng(0)
    values = rng.integers(-2, 3, (4, 200)).astype(float)  # of four neighbours, in 200 coordinates
    weights = np.array([1, 1, 2, 1])
    everyone = np.vstack([np.zeros(200), values])
    votes = np.array([[weights[values[:, c] == u].sum() for c, u in enumerate(row)] for row in everyone])
    state = object.__new__(_Visit)
    asarray = library.asarray
    state.atoms = SimpleNamespace(space=space_of(asarray(values)))
    state.rule = Rule(gamma=1.0, lipschitz=2.0, tau=1.1, raise_where_needed=False, max_iter=1, tol=0.0)
    state.z, state.L = asarray(np.zeros((1, 200))), asarray(np.array([2.0]))
    state.values, state.votes = asarray(everyone[None]), asarray(votes[None].astype(float))
    ours = np.asarray(state.stepped(asarray(np.full((1, 200), v))))[0]
    for c in range(200):
        distinct = np.array([0.0, *sorted(set(values[:, c]) - {0.0})])
        counts = np.array([weights[values[:, c] == u].sum() for u in distinct])
        assert ours[c] == scalar_step(v, 2.0, 1.0, distinct, counts)[0]


@pytest.mark.parametrize("dense", [True, False])
def test_spectral_embedding(library, dense, monkeypatch):
    if not dense:
        monkeypatch.setattr("l0graph.backends.eigen._DENSE", 20)
    X, _ = make_subspaces(120, n_subspaces=2, dim=3, ambient_dim=12, noise=0.1, random_state=0)
    W = affinity(l1_codes(unit(X)).codes)
    embedding, eigenvalues = spectral_embedding(W, 4)
    on_device, values = spectral_embedding(library.asarray(W.toarray()), 4)
    assert type(on_device) is type(library.asarray(X))
    np.testing.assert_allclose(np.asarray(values), eigenvalues, atol=1e-10)
    np.testing.assert_allclose(np.asarray(on_device), embedding, atol=1e-6)


@pytest.mark.parametrize("estimator", [L0Graph, L1Graph, OMPGraph, RegularizedL0Graph])
def test_estimators_on_a_device(torch, estimator):
    X, _ = make_subspaces(20, n_subspaces=3, dim=2, ambient_dim=9, noise=0.02, random_state=0)
    X, X_new = X[:50], np.concatenate([X[50:], np.zeros((1, 9))])
    expected = estimator(n_clusters=3, random_state=0).fit(X)
    fitted = estimator(n_clusters=3, random_state=0, device="cpu").fit(X)
    np.testing.assert_array_equal(fitted.labels_, expected.labels_)
    assert abs(fitted.codes_ - expected.codes_).max() < 1e-8
    np.testing.assert_array_equal(fitted.predict(X_new), expected.predict(X_new))


DISPATCH = """
import sys
import numpy as np
from sklearn import config_context
from l0graph import L0Graph, SMCE
from l0graph.datasets import make_subspaces
from l0graph.estimators.predict import predict_labels
library = __import__(sys.argv[1])
X, _ = make_subspaces(20, n_subspaces=3, dim=2, ambient_dim=9, noise=0.02, random_state=0)
for estimator in (L0Graph(n_clusters=3, random_state=0), SMCE(n_clusters=3, random_state=0)):
    expected = estimator.fit(X).labels_
    arrays = library.asarray(X)
    with config_context(array_api_dispatch=True):
        fitted = estimator.fit(arrays)
        labels = fitted.predict(arrays[:7, :])
        fewer = fitted.recluster(2)
    for array in (fitted.labels_, fitted.embedding_, labels, fewer.labels_):
        assert type(array) is type(arrays), type(array)
    np.testing.assert_array_equal(np.asarray(fitted.labels_), expected)
    np.testing.assert_array_equal(np.asarray(labels), expected[:7])
"""


@pytest.mark.parametrize("library", ["torch", pytest.param("array_api_strict", marks=pytest.mark.slow)], indirect=True)
def test_estimators_follow_the_dispatch_of_scikit_learn(library):
    # SciPy reads the variable when it is imported, so it needs a process of its own.
    command = [sys.executable, "-c", DISPATCH, library.__name__]
    done = subprocess.run(command, env={**os.environ, "SCIPY_ARRAY_API": "1"}, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_a_missing_device_is_an_error(torch):
    if torch.cuda.is_available():
        pytest.skip("a CUDA device is there")
    with pytest.raises(ValueError, match="device='cuda' was asked for, but PyTorch finds 0 CUDA devices"):
        L0Graph(device="cuda").fit(random_data())
    with pytest.raises(ValueError, match="a fit by blocks runs on the host"):
        L0Graph(device="cpu", dictionary=20).fit(random_data())

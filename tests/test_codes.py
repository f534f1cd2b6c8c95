"""What holds for the codes of every method."""

import inspect

import numpy as np
import pytest
import scipy.sparse as sp

from l0graph.codes import working_set
from methods import CODES, random_data


@pytest.fixture(params=CODES)
def method(request):
    return CODES[request.param]


def same(a, b):
    return (
        np.array_equal(a.indptr, b.indptr) and np.array_equal(a.indices, b.indices) and np.array_equal(a.data, b.data)
    )


def needs_rows(method):
    if "rows" not in inspect.signature(method).parameters:
        pytest.skip("the codes of this method are coupled: no row without the others")


def test_codes_are_sorted_csr_with_zero_diagonal(method):
    X = random_data()
    codes = method(X).codes
    assert isinstance(codes, sp.csr_array)
    assert codes.shape == (60, 60)
    assert codes.has_sorted_indices
    assert not codes.diagonal().any()
    assert codes.nnz
    assert (codes.data != 0).all()


def test_input_is_not_written_to(method):
    X = random_data()
    before = X.copy()
    method(X)
    np.testing.assert_array_equal(X, before)


def test_objective_never_rises(method):
    objective = method(random_data()).objective
    assert np.diff(objective).max() <= 1e-12 * objective[0]


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_threads_leave_no_trace(method, n_jobs):
    X = random_data(200, 30)
    assert same(method(X, n_jobs=1).codes, method(X, n_jobs=n_jobs).codes)


def test_block_size_leaves_no_trace(method, monkeypatch):
    X = random_data(150, 30)
    whole = method(X).codes
    monkeypatch.setattr(working_set, "_ROWS", 17)
    monkeypatch.setattr(working_set, "_TILE", 41)
    assert same(whole, method(X).codes)


def test_rows_are_the_rows_of_the_whole(method):
    needs_rows(method)
    X = random_data(80)
    # tol=0: Algorithm 1 stops on the total over the rows that it is given.
    kwargs = {} if method in (CODES["l1"], CODES["smce"]) else {"tol": 0}
    whole = method(X, **kwargs).codes
    rows = np.array([5, 70, 3, 41])
    assert same(whole[rows], method(X, rows=rows, **kwargs).codes)
    assert same(whole[20:30], method(X, rows=slice(20, 30), **kwargs).codes)
    assert method(X, rows=[], **kwargs).codes.shape == (0, 80)


def test_new_samples_are_coded_over_the_old(method):
    needs_rows(method)
    kwargs = {} if method in (CODES["l1"], CODES["smce"]) else {"tol": 0}
    X, X_new = random_data(80), random_data(25, seed=1)
    codes = method(X, X_new=X_new, **kwargs).codes
    assert codes.shape == (25, 80)
    # The global step constant knows one sample more, so its iterates differ a little.
    tolerance = 1e-3 if method is CODES["l0-global"] else 1e-9
    # As last samples of a set in which only the first 80 may be used: code one at a time.
    for i in range(0, 25, 8):
        alone = method(np.vstack([X, X_new[i]]), rows=[80], **kwargs).codes
        np.testing.assert_allclose(codes[[i]].toarray(), alone.toarray()[:, :80], atol=tolerance)
    # A sample of the training set is best explained by itself.
    assert (method(X, X_new=X[:5], **kwargs).codes.toarray().argmax(axis=1) == np.arange(5)).all()


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"X_new": np.ones((3, 5))}, "X_new has 5 features but X has 12"),
        ({"X_new": np.ones((3, 12)), "rows": [1]}, "exclude each other"),
        ({"X_new": np.full((3, 12), np.nan)}, "X_new contains NaN"),
    ],
)
def test_bad_new_samples_are_refused(method, kwargs, message):
    if "rows" in kwargs:
        needs_rows(method)
    with pytest.raises(ValueError, match=message):
        method(random_data(), **kwargs)


def test_float32_is_kept_and_agrees(method):
    X = random_data().astype(np.float32)
    single, double = method(X), method(X.astype(np.float64))
    assert single.codes.dtype == np.float32
    assert double.codes.dtype == np.float64
    np.testing.assert_allclose(single.codes.toarray(), double.codes.toarray(), atol=1e-6)


def test_memory_layout_and_type_do_not_matter(method):
    X = random_data()
    expected = method(X).codes
    assert same(expected, method(np.asfortranarray(X)).codes)
    assert same(expected, method(np.repeat(X, 2, axis=0)[::2]).codes)
    assert same(expected, method(X.tolist()).codes)
    frozen = X.copy()
    frozen.flags.writeable = False
    assert same(expected, method(frozen).codes)


def test_zero_samples_get_empty_codes_and_are_not_used(method):
    if method is CODES["smce"]:
        pytest.skip("to affine combinations zero is a point like any other")
    X = random_data()
    X[[4, 9]] = 0
    codes = method(X).codes
    assert codes[[4, 9]].nnz == 0
    assert codes[:, [4, 9]].nnz == 0


def test_all_zero_data(method):
    result = method(np.zeros((5, 3)))
    assert result.codes.nnz == 0
    assert result.objective[-1] == 0


@pytest.mark.parametrize("scale", [1e-60, 1e60])
def test_scale_of_the_data_is_no_trouble(method, scale):
    X = random_data(30, 6)
    name = next(k for k, v in CODES.items() if v is method)
    if name == "l1":
        codes = method(X * scale, l1_penalty=0.1 * scale**2).codes
    elif name in ("omp", "smce"):
        codes = method(X * scale).codes
    elif name.startswith("regularized"):
        kwargs = {"gamma": 0.1, "lipschitz": 100.0, "tol": 0, "sweep_tol": 1e-6, **getattr(method, "keywords", {})}
        scaled = {name: kwargs[name] * scale**2 for name in ("gamma", "lipschitz", "sweep_tol")}
        codes = CODES["regularized"](X * scale, l1_penalty=0.1 * scale**2, **{**kwargs, **scaled}).codes
    else:
        penalty = 0.5 if name == "l0" else method.keywords["l0_penalty"]
        lipschitz = {"l0": 100.0, "l0-open": 0.5}.get(name)
        step = {"lipschitz": "global" if lipschitz is None else lipschitz * scale**2}
        kwargs = {**getattr(method, "keywords", {}), **step, "l0_penalty": penalty * scale**2, "tol": 0}
        codes = CODES["l0"](X * scale, l1_penalty=0.1 * scale**2, **kwargs).codes
    kwargs = {} if name in ("l1", "omp", "smce") else {"tol": 0}
    np.testing.assert_allclose(codes.toarray(), method(X, **kwargs).codes.toarray(), atol=1e-9)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.array([[1.0, np.nan], [0.0, 1.0]]), "NaN"),
        (np.array([[1.0, np.inf], [0.0, 1.0]]), "infinity"),
        (np.empty((0, 3)), "0 sample"),
        (np.empty((3, 0)), "0 feature"),
        (np.ones((1, 3)), "minimum of 2"),
        (np.ones(3), "1D array"),
        (np.ones((2, 2, 2)), "dim 3"),
        (np.array([["a", "b"], ["c", "d"]]), "convert string to float"),
        (np.array([[1j, 1], [0, 1]]), "Complex"),
        (sp.csr_array(np.eye(3)), "dense data is required"),
        (np.full((3, 3), 1e200), "overflow"),
    ],
)
def test_bad_data_is_refused(method, X, message):
    with pytest.raises((ValueError, TypeError), match=message):
        method(X)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"l1_penalty": -1.0}, "l1_penalty must be greater than 0, got -1.0"),
        ({"l1_penalty": 0}, "l1_penalty must be greater than 0"),
        ({"l1_penalty": np.nan}, "l1_penalty"),
        ({"l1_penalty": "x"}, "l1_penalty must be a number, got 'x'"),
        ({"max_iter": -1}, "max_iter must be at least"),
        ({"max_iter": 1.5}, "max_iter must be an integer, got 1.5"),
        ({"tol": -1.0}, "tol must be"),
        ({"rows": [0, 99]}, "rows must lie in"),
        ({"rows": [0.5]}, "rows must be"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
        ({"n_jobs": 1.5}, "n_jobs must be an integer, got 1.5"),
        ({"n_jobs": "all"}, "n_jobs must be an integer, got 'all'"),
    ],
)
@pytest.mark.parametrize("name", ["l1", "l0"])
def test_bad_parameters_are_refused(name, kwargs, message):
    with pytest.raises((ValueError, TypeError), match=message):
        CODES[name](random_data(), **kwargs)

"""Label spreading against a dense solve, its conventions, and samples that no label reaches."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from l0graph import GraphLabelSpreading, L0Graph, L1Graph, SpectralGraph, affinity, l0_codes
from l0graph.datasets import make_subspaces
from l0graph.estimators.semi_supervised import spread
from methods import unit

NAMES = ["l0", "regularized", "l1", "omp", "smce", "knn"]


def dense_spread(W, Y, alpha):
    """The definition, by a dense solve."""
    degrees = W.sum(axis=1)
    root = np.divide(1, np.sqrt(degrees), out=np.zeros(len(W)), where=degrees > 0)
    S = root[:, None] * W * root
    return (1 - alpha) * np.linalg.solve(np.eye(len(W)) - alpha * S, Y)


@pytest.fixture(scope="module")
def data():
    """Samples, classes, and labels of which nine in ten are hidden."""
    X, y = make_subspaces(40, n_subspaces=3, dim=2, ambient_dim=12, random_state=0)
    few = np.full(len(y), -1)
    few[::10] = y[::10]
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order], few[order]


@parametrize_with_checks([GraphLabelSpreading(name) for name in NAMES])
def test_scikit_learn_conventions(estimator, check):
    with warnings.catch_warnings():
        # The checks' labels -1 and 1.
        warnings.simplefilter("ignore")
        check(estimator)


@pytest.mark.parametrize("alpha", [0.01, 0.5, 0.99, 0.9999])
def test_equals_the_dense_solve(alpha):
    rng = np.random.default_rng(0)
    W = rng.random((50, 50)) * (rng.random((50, 50)) < 0.1)
    W = W + W.T
    np.fill_diagonal(W, 0)
    W[7] = W[:, 7] = 0  # a sample without edges
    Y = np.zeros((50, 3))
    Y[[0, 1, 2, 3, 7], [0, 1, 2, 0, 1]] = 1
    F, bound, n_iter = spread(sp.csr_array(W), Y, alpha)
    expected = dense_spread(W, Y, alpha)
    assert np.abs(F - expected).max() <= max(bound, 1e-13)
    assert bound <= 1e-9
    assert F.min() >= 0
    assert n_iter > 0


def test_fit_is_the_formula(data):
    X, y, few = data
    model = GraphLabelSpreading("l0").fit(X, few)
    W = affinity(l0_codes(unit(X)).codes)
    np.testing.assert_allclose(model.affinity_matrix_.toarray(), W.toarray(), atol=1e-12)
    F = dense_spread(W.toarray(), (few[:, None] == [0, 1, 2]).astype(float), 0.99)
    np.testing.assert_allclose(model.label_distributions_, F / F.sum(axis=1, keepdims=True), atol=1e-9)
    assert model.n_attached_ == 0
    np.testing.assert_array_equal(model.transduction_, y)


@pytest.mark.parametrize("graph", [*NAMES, L0Graph(l0_penalty=0.3), L1Graph(), SpectralGraph(n_kept=20)], ids=str)
def test_few_labels_are_enough_and_predictions_are_inductive(graph, data):
    X, y, few = data
    model = GraphLabelSpreading(graph).fit(X[:100], few[:100])
    least = 0.95 if str(graph)[0] in "lL" else 0.4  # distances know little of subspaces
    assert np.mean(model.transduction_ == y[:100]) >= least
    assert np.mean(model.predict(X[100:]) == y[100:]) >= least
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(X), model.classes_[proba.argmax(axis=1)])
    # Neither the others in a batch nor the number of threads matter.
    np.testing.assert_allclose(np.vstack([model.predict_proba(x[None]) for x in X[95:105]]), proba[95:105], atol=1e-12)
    two = GraphLabelSpreading(graph, n_jobs=2).fit(X[:100], few[:100])
    np.testing.assert_array_equal(two.label_distributions_, model.label_distributions_)


def test_a_component_without_labels_follows_the_most_similar_sample():
    """Three planes, orthogonal pairs of axes, slightly tilted: each is a component of its own."""
    rng = np.random.default_rng(0)
    planes = [rng.standard_normal((20, 2)) @ np.eye(6)[2 * i : 2 * i + 2] for i in range(3)]
    X = unit(np.concatenate(planes))
    X[20:40] += 0.01 * X[rng.integers(0, 20, 20)]  # the second plane leans a little towards samples of the first
    y = np.full(60, -1)
    y[[0, 1, 40, 41]] = [5, 5, 8, 8]
    model = GraphLabelSpreading("l0").fit(X, y)
    cosines = np.abs(unit(X) @ unit(X).T)
    reached = np.r_[0:20, 40:60]
    assert model.n_attached_ == 20
    partners = reached[cosines[20:40][:, reached].argmax(axis=1)]
    np.testing.assert_array_equal(model.label_distributions_[20:40], model.label_distributions_[partners])
    np.testing.assert_array_equal(model.transduction_, np.repeat([5, 5, 8], 20))


def test_samples_like_none_get_the_shares_of_the_classes(data):
    X, _, few = data
    X = np.concatenate([X, np.zeros((2, X.shape[1]))])
    few = np.r_[few, [-1, 2]]
    model = GraphLabelSpreading("l1").fit(X, few)
    np.testing.assert_allclose(model.label_distributions_[-2], [4 / 13, 4 / 13, 5 / 13])
    np.testing.assert_array_equal(model.label_distributions_[-1], [0, 0, 1])  # without edges, but labelled
    np.testing.assert_allclose(model.predict_proba(np.zeros((1, X.shape[1]))), [[4 / 13, 4 / 13, 5 / 13]])


@pytest.mark.parametrize("unknown", [-1, "-1"])
def test_labels_may_be_strings(data, unknown):
    X, y, few = data
    names = np.array(["ant", "bee", "cat"])
    labels = np.array([names[c] if c >= 0 else unknown for c in few], dtype=object if unknown == -1 else str)
    model = GraphLabelSpreading().fit(X, labels)
    assert model.classes_.tolist() == ["ant", "bee", "cat"]
    np.testing.assert_array_equal(model.transduction_, names[y])
    np.testing.assert_array_equal(model.predict(X[:3]), names[y[:3]])
    numbers = GraphLabelSpreading().fit(X, few.astype(float))
    np.testing.assert_array_equal(numbers.label_distributions_, model.label_distributions_)


def test_one_and_minus_one_are_two_classes(data):
    X, y, _ = data
    with pytest.warns(UserWarning, match="taken for two classes"):
        model = GraphLabelSpreading().fit(X, np.where(y == 0, 1, -1))
    assert model.classes_.tolist() == [-1, 1]
    one = GraphLabelSpreading().fit(X, np.where(y == 0, 2, -1))
    assert one.classes_.tolist() == [2]
    assert set(one.predict(X)) == {2}


@pytest.mark.parametrize("graph", NAMES)
def test_float32_is_kept(data, graph):
    X, _, few = data
    model = GraphLabelSpreading(graph).fit(X.astype(np.float32), few)
    assert model.label_distributions_.dtype == model.affinity_matrix_.dtype == model.X_.dtype == np.float32
    assert model.predict_proba(X).dtype == np.float32
    wide = GraphLabelSpreading(graph).fit(X, few)
    np.testing.assert_array_equal(wide.transduction_, model.transduction_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 0}, "alpha must be greater than 0"),
        ({"alpha": 1.0}, "alpha must be less than 1, got 1.0"),
        ({"graph": "l2"}, "graph must be one of 'l0', .*'knn' or a clusterer of this library, got 'l2'"),
        ({"graph": None}, "graph must be one of"),
        ({"graph": "knn", "n_neighbors": 0}, "n_neighbors must be at least 1"),
        ({"graph": L1Graph(l1_penalty=-1)}, "l1_penalty must be greater than 0"),
    ],
)
def test_bad_parameters_are_refused(data, parameters, message):
    X, _, few = data
    with pytest.raises(ValueError, match=message):
        GraphLabelSpreading(**parameters).fit(X, few)


def test_bad_labels_are_refused(data):
    X, _, few = data
    with pytest.raises(ValueError, match="no sample is labelled: y is -1"):
        GraphLabelSpreading().fit(X, np.full(len(X), -1))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        GraphLabelSpreading().fit(X, few[1:])
    with pytest.raises(ValueError, match="NaN"):
        GraphLabelSpreading().fit(X, np.where(few < 0, np.nan, few))
    with pytest.raises(ValueError, match="Unknown label type"):
        GraphLabelSpreading().fit(X, few + 0.5)


def test_what_cannot_be_solved_well_is_said(data, monkeypatch):
    X, _, few = data
    monkeypatch.setattr("l0graph.estimators.semi_supervised._MOST_STEPS", 3)
    with pytest.warns(ConvergenceWarning, match="relative residual of"):
        GraphLabelSpreading(alpha=0.999).fit(X, few)

"""The self-tuning affinity against its formula, and the estimator on it."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from l0graph import SpectralGraph, self_tuning_affinity
from l0graph.datasets import make_subspaces
from l0graph.metrics import clustering_accuracy


def formula(X, k=7):
    """The dense definition, by differences."""
    D = np.linalg.norm(X[:, None].astype(float) - X[None].astype(float), axis=2)
    sorted_others = np.sort(D + np.diag(np.full(len(X), np.inf)), axis=1)
    scales = sorted_others[:, min(k, len(X) - 1) - 1]
    for i in np.flatnonzero(scales == 0):
        scales[i] = D[i][D[i] > 0].min()
    W = np.exp(-(D**2) / np.outer(scales, scales))
    np.fill_diagonal(W, 0)
    return W


@pytest.fixture
def blobs():
    rng = np.random.default_rng(0)
    return np.concatenate([c + rng.standard_normal((40, 5)) for c in (0, 4, 9)])


@pytest.mark.parametrize("k", [1, 7, 1000])
def test_equals_the_formula(blobs, k):
    W = self_tuning_affinity(blobs + 1000, n_neighbors=k, n_kept=None, min_weight=0)
    np.testing.assert_allclose(W.toarray(), formula(blobs, k), rtol=1e-7, atol=1e-300)


def test_keeps_the_largest_weights_of_either_sample(blobs):
    dense = formula(blobs)
    W = self_tuning_affinity(blobs, n_kept=5)
    among = dense >= np.sort(dense, axis=1)[:, -5][:, None]
    expected = np.where((among | among.T) & (dense >= 1e-8), dense, 0)
    np.testing.assert_allclose(W.toarray(), expected, rtol=1e-8)
    assert (abs(W - W.T)).nnz == 0
    assert W.indices.dtype == np.int32
    all_kept = self_tuning_affinity(blobs, n_kept=len(blobs))
    assert (all_kept != self_tuning_affinity(blobs, n_kept=None)).nnz == 0


def test_scale_of_samples_with_many_equals(blobs):
    X = np.concatenate([np.repeat(blobs[:1], 10, axis=0), blobs[1:20]])
    W = self_tuning_affinity(X, n_kept=None)
    np.testing.assert_allclose(W.toarray(), np.where(formula(X) >= 1e-8, formula(X), 0), rtol=1e-8)
    np.testing.assert_array_equal(W.toarray()[:10, :10], 1 - np.eye(10))
    equal = self_tuning_affinity(np.ones((9, 3)), n_kept=None)
    np.testing.assert_array_equal(equal.toarray(), 1 - np.eye(9))


def test_float32_is_kept_and_threads_change_nothing(blobs, monkeypatch):
    monkeypatch.setattr("l0graph.graph.gaussian._BLOCK_BYTES", 3 * 8 * len(blobs) * 17)  # several blocks
    W = self_tuning_affinity(blobs.astype(np.float32))
    assert W.dtype == np.float32
    np.testing.assert_allclose(W.toarray(), self_tuning_affinity(blobs).toarray(), rtol=1e-4, atol=1e-7)
    one, two = (self_tuning_affinity(blobs, n_jobs=n) for n in (1, 2))
    assert (one != two).nnz == 0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors must be at least 1"),
        ({"n_kept": 0}, "n_kept must be at least 1"),
        ({"min_weight": 2}, "min_weight must be at most 1"),
    ],
)
def test_bad_parameters_are_refused(blobs, parameters, message):
    with pytest.raises(ValueError, match=message):
        self_tuning_affinity(blobs, **parameters)
    with pytest.raises(ValueError, match=message):
        SpectralGraph(2, **parameters).fit(blobs)


def test_a_graph_too_large_for_memory_is_refused_before_it_is_computed():
    X = np.zeros((50_000, 1))
    with pytest.raises(ValueError, match="over 26 GB: keep fewer weights, n_kept=100"):
        self_tuning_affinity(X, n_kept=None)


@parametrize_with_checks([SpectralGraph()])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_clusters_and_predicts(blobs):
    y = np.repeat([0, 1, 2], 40)
    model = SpectralGraph(3, normalize=False, random_state=0).fit(blobs)
    assert clustering_accuracy(y, model.labels_) == 1
    np.testing.assert_array_equal(model.predict(blobs + 0.01), model.labels_)
    assert (model.affinity_matrix_ != self_tuning_affinity(blobs, n_kept=None)).nnz == 0
    assert model.recluster(2).labels_.max() == 1
    X32 = blobs.astype(np.float32)
    assert SpectralGraph(3, n_kept=20).fit(X32).affinity_matrix_.dtype == np.float32


def test_new_samples_without_weights_follow_the_most_similar(blobs):
    model = SpectralGraph(3, normalize=False, min_weight=1, random_state=0)
    model.fit(blobs)
    np.testing.assert_array_equal(model.predict(3 * blobs[[0, 50, 110]] + 0.001), model.labels_[[0, 50, 110]])
    assert model.predict(np.zeros((1, 5)))[0] == np.bincount(model.labels_).argmax()


@pytest.mark.parametrize("c", [4, 8, 12, 16, 20])
def test_coil20_cells_of_the_paper(real_data, c):
    printed = {4: 0.6701, 8: 0.4462, 12: 0.4965, 16: 0.4271, 20: 0.4278}
    X, y = real_data("coil20")
    X, y = X[y < c], y[y < c]
    accuracy = clustering_accuracy(y, SpectralGraph(c, random_state=0).fit(X).labels_)
    assert abs(accuracy - printed[c]) < 0.07
    assert clustering_accuracy(y, SpectralGraph(c, n_kept=20, random_state=0).fit(X).labels_) > accuracy


def test_l0_beats_it_on_subspaces():
    X, y = make_subspaces(40, n_subspaces=3, dim=2, ambient_dim=6, random_state=0)
    assert clustering_accuracy(y, SpectralGraph(3, random_state=0).fit(X).labels_) < 0.9

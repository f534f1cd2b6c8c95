"""The estimators: scikit-learn's conventions, what they store, and what bad input meets."""

import warnings

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from l0graph import L0Graph, affinity, l0_codes
from l0graph.datasets import make_subspaces
from l0graph.metrics import clustering_accuracy
from methods import ESTIMATORS


@parametrize_with_checks([E() for E in ESTIMATORS.values()])
def test_scikit_learn_conventions(estimator, check):
    with warnings.catch_warnings():
        # The checks' data are not subspaces; what the library says about that is tested elsewhere.
        warnings.simplefilter("ignore")
        check(estimator)


# Two atoms of a plane solve its samples exactly, and their nearest neighbours make few edges: parts split off.
@pytest.fixture(
    params=[
        pytest.param(name, marks=pytest.mark.filterwarnings("ignore::l0graph.FragmentedGraphWarning"))
        if name == "omp"
        else name
        for name in ESTIMATORS
    ]
)
def Estimator(request):
    return ESTIMATORS[request.param]


@pytest.fixture(scope="module")
def data():
    return make_subspaces(40, n_subspaces=3, dim=2, ambient_dim=12, random_state=0)


def test_finds_the_subspaces(Estimator, data):
    X, y = data
    model = Estimator(n_clusters=3, random_state=0).fit(X)
    assert clustering_accuracy(y, model.labels_) == 1
    n = len(X)
    assert model.codes_.shape == model.affinity_matrix_.shape == (n, n)
    assert model.embedding_.shape[0] == n
    assert model.embedding_.shape[1] == len(model.eigenvalues_)
    assert model.n_features_in_ == 12
    assert model.n_components_ >= 1
    assert model.n_attached_ >= 0
    assert model.objective_[-1] <= model.objective_[0]
    assert {"affinity", "embedding", "k-means"} <= set(model.stage_seconds_)
    assert any(stage.endswith(" codes") for stage in model.stage_seconds_)


def test_is_the_spine_and_nothing_else(data):
    X, _ = data
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    model = L0Graph(3, random_state=0).fit(X)
    codes = l0_codes(unit).codes
    np.testing.assert_allclose(model.codes_.toarray(), codes.toarray(), atol=1e-12)
    np.testing.assert_allclose(model.affinity_matrix_.toarray(), affinity(codes).toarray(), atol=1e-12)
    raw = L0Graph(3, random_state=0, normalize=False, lipschitz="global").fit(2 * X)
    assert (raw.codes_ != l0_codes(2 * X, lipschitz="global").codes).nnz == 0


def test_same_seed_same_labels_on_any_number_of_threads(Estimator, data):
    X, _ = data
    X = X + 0.3 * np.random.default_rng(0).standard_normal(X.shape)
    first = Estimator(n_clusters=3, random_state=1).fit(X)
    for n_jobs in (1, 2, -1):
        again = Estimator(n_clusters=3, random_state=1, n_jobs=n_jobs).fit(X)
        np.testing.assert_array_equal(first.labels_, again.labels_)
        np.testing.assert_array_equal(first.embedding_, again.embedding_)


def test_float32_is_kept(Estimator, data):
    X, y = data
    model = Estimator(n_clusters=3, random_state=0).fit(X.astype(np.float32))
    assert clustering_accuracy(y, model.labels_) == 1
    for name in ("codes_", "affinity_matrix_", "embedding_", "eigenvalues_"):
        assert getattr(model, name).dtype == np.float32, name


def test_scale_of_samples_does_not_matter(Estimator, data):
    X, _ = data
    scale = np.logspace(-150, 150, len(X))[:, None]
    expected = Estimator(n_clusters=3, random_state=0).fit(X)
    scaled = Estimator(n_clusters=3, random_state=0).fit(X * scale)
    np.testing.assert_array_equal(expected.labels_, scaled.labels_)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_zero_constant_and_duplicate_samples_are_served(Estimator, data):
    X, y = data
    X = np.hstack([X, np.full((len(X), 1), 0.01), np.zeros((len(X), 1))])
    X = np.vstack([X, X[:5], np.zeros((2, X.shape[1]))])
    labels = Estimator(n_clusters=3, random_state=0).fit(X).labels_
    n = len(y)
    assert clustering_accuracy(y, labels[:n]) == 1
    np.testing.assert_array_equal(labels[n : n + 5], labels[:5])
    assert len(labels) == n + 7


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.array([[np.nan, 1.0], [0, 1]]), "NaN"),
        (np.array([[np.inf, 1.0], [0, 1]]), "infinity"),
        (np.empty((0, 4)), "0 sample"),
        (np.ones((1, 4)), "1 sample"),
        (np.ones((3, 4)), "n_clusters=8 is more than the n_samples=3"),
        (np.ones(4), "Expected 2D array"),
        ([["a", "b"]] * 9, "could not convert"),
    ],
)
def test_bad_data_is_refused(Estimator, X, message):
    with pytest.raises(ValueError, match=message):
        Estimator().fit(X)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be at least 1"),
        ({"l1_penalty": -0.1}, "l1_penalty must be greater than 0, got -0.1"),
        ({"fragments": "x"}, "fragments must be one of"),
        ({"n_init": 0}, "n_init must be at least 1"),
        ({"tol": -1}, "tol must be"),
    ],
)
def test_bad_parameters_are_refused(Estimator, data, parameters, message):
    if not parameters.keys() <= Estimator().get_params().keys():
        pytest.skip("not a parameter of this method")
    with pytest.raises(ValueError, match=message):
        Estimator(**{"n_clusters": 3, **parameters}).fit(data[0])


def test_verbose_logs_the_stages(Estimator, data, caplog):
    Estimator(n_clusters=3, verbose=1, random_state=0).fit(data[0])
    assert " codes: " in caplog.text
    assert "k-means" in caplog.text


@pytest.mark.parametrize("c", [4, 8, 12, 16, 20])
@pytest.mark.parametrize("method", ["l0", "l1"])
def test_coil20_cells_of_the_paper(real_data, method, c):
    printed = {
        "l0": {4: (1, 1), 8: (0.9705, 0.9638), 12: (0.831, 0.9149), 16: (0.9002, 0.9552), 20: (0.8472, 0.9428)},
        "l1": {4: (1, 1), 8: (0.7986, 0.895), 12: (0.7697, 0.896), 16: (0.8273, 0.9301), 20: (0.7854, 0.9148)},
    }
    from l0graph.metrics import normalized_mutual_info

    X, y = real_data("coil20")
    X, y = X[y < c], y[y < c]
    labels = ESTIMATORS[method](c, random_state=0, n_jobs=2).fit(X).labels_
    accuracy, information = printed[method][c]
    assert clustering_accuracy(y, labels) >= accuracy - 0.005
    assert normalized_mutual_info(y, labels) >= information - 0.005


def test_predict_gives_back_the_training_labels(Estimator, data):
    X, _ = data
    model = Estimator(n_clusters=3, random_state=0).fit(X)
    assert (model.predict(X) == model.labels_).mean() >= 0.99
    np.testing.assert_array_equal(model.predict(X[:1]), model.predict(X)[:1])


def test_predict_knows_new_samples_of_the_subspaces(Estimator):
    X, y = make_subspaces(60, n_subspaces=3, dim=2, ambient_dim=12, random_state=1)
    train, test = np.arange(len(X)) % 2 == 0, np.arange(len(X)) % 2 == 1
    model = Estimator(n_clusters=3, random_state=0).fit(X[train])
    predicted = model.predict(X[test])
    # Where two planes come close, a sample's near neighbours lie in both.
    least = 0.97 if Estimator is ESTIMATORS["smce"] else 1
    assert clustering_accuracy(np.r_[y[train], y[test]], np.r_[model.labels_, predicted]) >= least
    single = Estimator(n_clusters=3, random_state=0).fit(X[train].astype(np.float32))
    np.testing.assert_array_equal(single.predict(X[test]), predicted)
    threaded = Estimator(n_clusters=3, random_state=0, n_jobs=2).fit(X[train])
    np.testing.assert_array_equal(threaded.predict(X[test]), predicted)


def test_predict_of_samples_without_a_code():
    X = np.array([[1.0, 0, 0], [1, 0.1, 0], [0, 1, 0], [0.1, 1, 0], [0.05, 1, 0]])
    model = L0Graph(2, l1_penalty=1.0, random_state=0).fit(X)
    # Too far from all samples for a code at this penalty; zero; and a plain one.
    new = np.array([[0.3, 0.1, 5], [0, 0, 0], [0.9, 0, 0]])
    np.testing.assert_array_equal(model.predict(new), [model.labels_[0], model.labels_[2], model.labels_[0]])


def test_recluster_uses_the_same_graph(Estimator, data):
    X, _ = data
    model = Estimator(n_clusters=3, random_state=0).fit(X)
    labels = model.labels_.copy()
    other = model.recluster(5)
    np.testing.assert_array_equal(other.labels_, Estimator(n_clusters=5, random_state=0).fit(X).labels_)
    np.testing.assert_array_equal(model.labels_, labels)
    assert (model.n_clusters, other.n_clusters) == (3, 5)
    assert other.affinity_matrix_ is model.affinity_matrix_
    assert not any(stage.endswith(" codes") for stage in other.stage_seconds_)
    with pytest.raises(ValueError, match="n_clusters=121 is more than"):
        model.recluster(121)

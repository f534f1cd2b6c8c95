"""More than one answer from one coding: the number of clusters, and the path over the penalty."""

import numpy as np
import pytest
import scipy.sparse as sp

from l0graph import L0Graph, affinity, estimate_n_clusters, l0_codes, l0_path, l1_codes
from l0graph.datasets import make_subspaces
from l0graph.metrics import clustering_accuracy
from methods import random_data


@pytest.mark.parametrize("k", [2, 5, 9])
@pytest.mark.parametrize("leak", [0, 0.02])
def test_number_of_clusters_of_blocks(k, leak):
    W = np.kron(np.eye(k), np.ones((12, 12))) + leak
    np.fill_diagonal(W, 0)
    count = estimate_n_clusters(sp.csr_array(W))
    assert count.n_clusters == count.candidates[0] == k
    assert (np.diff(count.gaps) <= 0).all()
    assert len(count.eigenvalues) == 21


def test_number_of_subspaces():
    X, _ = make_subspaces(60, n_subspaces=6, dim=3, ambient_dim=24, noise=0.01, random_state=0)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    assert estimate_n_clusters(affinity(l0_codes(X, l0_penalty=0.2).codes)).n_clusters == 6


def test_fragments_do_not_count():
    W = sp.block_diag([np.ones((30, 30)) - np.eye(30)] * 2 + [np.array([[0, 1.0], [1, 0]])] * 3 + [np.zeros((2, 2))])
    assert estimate_n_clusters(sp.csr_array(W), max_clusters=5).n_clusters == 2


def test_too_small_a_graph_is_refused():
    with pytest.raises(ValueError, match="2 samples with edges"):
        estimate_n_clusters(sp.csr_array(np.array([[0, 1.0], [1, 0]])))
    with pytest.raises(ValueError, match="0 samples with edges"):
        estimate_n_clusters(sp.csr_array((9, 9)))
    with pytest.raises(ValueError, match="max_clusters must be at least 2"):
        estimate_n_clusters(sp.csr_array(np.ones((9, 9))), max_clusters=1)


def test_more_components_than_clusters_to_consider_are_refused():
    W = sp.csr_array(sp.block_diag([np.ones((10, 10)) - np.eye(10)] * 30))
    with pytest.raises(ValueError, match="30 large components, more than max_clusters=20"):
        estimate_n_clusters(W)
    assert estimate_n_clusters(W, max_clusters=30).n_clusters == 30


def test_path_is_warm_started_codes_at_each_penalty():
    X, y = make_subspaces(40, n_subspaces=3, dim=2, ambient_dim=12, noise=0.02, random_state=0)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    path = l0_path(L0Graph(3, random_state=0), X, [0.6, 0.05, 0.3])
    assert [p.l0_penalty for p in path] == [0.05, 0.3, 0.6]
    codes = l1_codes(unit).codes
    for point in path:
        result = l0_codes(unit, init=codes, l0_penalty=point.l0_penalty)
        codes = result.codes
        np.testing.assert_allclose(point.codes.toarray(), codes.toarray(), atol=1e-12)
        assert point.objective == pytest.approx(result.objective[-1])
        assert point.n_nonzero == codes.nnz / len(X)
        assert clustering_accuracy(y, point.labels) >= 0.99
    assert (np.diff([p.n_nonzero for p in path]) <= 0).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((None, [0.1]), "estimator must be an L0Graph, got NoneType"),
        ((L0Graph(2), []), "l0_penalties is empty"),
        ((L0Graph(2), 0.1), "l0_penalties must be several numbers, got 0.1"),
        ((L0Graph(2), [0.1, "a"]), "l0_penalties must be a number, got 'a'"),
        ((L0Graph(2), [0.1, -1]), "l0_penalties must be greater than 0, got -1"),
        ((L0Graph(99), [0.1]), "n_clusters=99 is more than"),
    ],
)
def test_bad_path(arguments, message):
    estimator, penalties = arguments
    with pytest.raises((TypeError, ValueError), match=message):
        l0_path(estimator, random_data(), penalties)

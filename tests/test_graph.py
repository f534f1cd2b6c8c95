"""Affinity, embedding, assignment, fragments: against dense algebra and on built cases."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from l0graph import FragmentedGraphWarning, affinity, assign_labels, cluster_graph, spectral_embedding
from l0graph.graph.fragments import attach, large_components, link_components
from l0graph.metrics import clustering_accuracy
from methods import random_data, unit


def random_graph(n, rng, density=None):
    """A connected graph of n nodes: a random tree and some more edges, random weights."""
    rows = np.arange(1, n)
    cols = (rows * rng.random(n - 1)).astype(int)
    extra = rng.integers(0, n, (2, int(n * (2 if density is None else density))))
    i, j = np.concatenate([rows, extra[0]]), np.concatenate([cols, extra[1]])
    off = i != j
    W = sp.coo_array((rng.random(off.sum()) + 0.1, (i[off], j[off])), shape=(n, n)).tocsr()
    return sp.csr_array(W + W.T)


def graph_of(sizes, seed=0):
    rng = np.random.default_rng(seed)
    W = sp.block_diag([random_graph(s, rng) if s > 1 else sp.csr_array((1, 1)) for s in sizes], format="csr")
    order = rng.permutation(W.shape[0])
    return sp.csr_array(W[order][:, order])


def dense_normalised(W):
    d = np.asarray(W.sum(axis=1)).ravel()
    r = np.divide(1, np.sqrt(d), out=np.zeros(len(d)), where=d > 0)
    return r[:, None] * W.toarray() * r


def check_embedding(W, k):
    """Against dense eigh: eigenvalues, orthonormality, and the subspace where it is determined."""
    E, values = spectral_embedding(W, k)
    A = dense_normalised(W)
    expected, vectors = np.linalg.eigh(A)
    expected, vectors = expected[::-1], vectors[:, ::-1]
    np.testing.assert_allclose(values, expected[:k], atol=1e-9)
    np.testing.assert_allclose(E.T @ E, np.eye(k), atol=1e-8)
    np.testing.assert_allclose(A @ E, E * values, atol=1e-7)
    if k == len(expected) or expected[k - 1] - expected[k] > 1e-3:
        assert scipy.linalg.subspace_angles(E, vectors[:, :k]).max() <= 1e-6


@pytest.mark.parametrize("n_parts", [1, 2, 7, 30, 200])
@pytest.mark.parametrize("k", [1, 5, 40])
def test_embedding_equals_dense_eigh(n_parts, k):
    rng = np.random.default_rng(n_parts)
    sizes = rng.integers(2, 12, n_parts) if n_parts > 1 else [90]
    check_embedding(graph_of(sizes), min(k, sum(sizes)))


@pytest.mark.parametrize("sizes", [[900], [700, 650], [620, 30, 5, 2, 1, 1]])
@pytest.mark.parametrize("k", [2, 12])
def test_embedding_of_large_components_equals_dense_eigh(sizes, k):
    check_embedding(graph_of(sizes), k)


def test_embedding_sees_repeated_eigenvalues_inside_a_component():
    # Nine equal branches on one hub: every eigenvalue of a branch repeats eightfold.
    rng = np.random.default_rng(0)
    branch = random_graph(100, rng)
    W = sp.lil_array(sp.block_diag([branch] * 9 + [sp.csr_array((1, 1))]))
    for b in range(9):
        W[100 * b, 900] = W[900, 100 * b] = 0.05
    check_embedding(sp.csr_array(W), 9)
    check_embedding(sp.csr_array(W), 20)


@pytest.mark.parametrize("ring", [False, True])
def test_embedding_of_a_long_chain(ring):
    # Eigenvalues so close together that Lanczos on the affinity would take tens of thousands of steps.
    n, k = 20_000, 6
    start = np.arange(n if ring else n - 1)
    W = sp.coo_array((np.ones(len(start)), (start, (start + 1) % n)), shape=(n, n))
    shuffled = np.random.default_rng(0).permutation(n)
    embedding, values = spectral_embedding(sp.csr_array((W + W.T).tocsr()[shuffled][:, shuffled]), k)
    angles = 2 * np.pi * (np.arange(1, k + 1) // 2) / n if ring else np.pi * np.arange(k) / (n - 1)
    np.testing.assert_allclose(values, np.cos(angles), rtol=0, atol=1e-12)
    np.testing.assert_allclose(embedding.T @ embedding, np.eye(k), rtol=0, atol=1e-10)


def test_embedding_with_more_components_than_vectors_takes_the_largest():
    W = graph_of([5, 9, 3, 7])
    E, values = spectral_embedding(W, 2)
    np.testing.assert_array_equal(values, 1)
    np.testing.assert_array_equal(np.sort((E != 0).sum(axis=0)), [7, 9])


@given(st.lists(st.integers(1, 9), min_size=1, max_size=8), st.integers(0, 5), st.integers(1, 40))
def test_embedding_on_any_small_graph(sizes, seed, k):
    check_embedding(graph_of(sizes, seed), min(k, sum(sizes)))


def test_embedding_is_the_same_on_every_run_and_in_float32():
    W = graph_of([700, 20, 20])
    first, _ = spectral_embedding(W, 5)
    for _ in range(3):
        np.testing.assert_array_equal(spectral_embedding(W, 5)[0], first)
    single, values = spectral_embedding(W.astype(np.float32), 5)
    assert single.dtype == values.dtype == np.float32
    np.testing.assert_allclose(np.abs(single), np.abs(first), atol=1e-4)


def test_affinity_by_the_maximum():
    Z = sp.csr_array(np.array([[0, -1, 0], [0.5, 0, 2], [0, 0, 0]], dtype=np.float32))
    W = affinity(Z, "max")
    assert W.dtype == np.float32
    np.testing.assert_array_equal(W.toarray(), [[0, 1, 0], [1, 0, 2], [0, 2, 0]])
    with pytest.raises(ValueError, match="symmetrize must be one of 'mean', 'max', got 'sum'"):
        affinity(Z, "sum")


def test_affinity():
    Z = sp.random_array(
        (30, 30), density=0.2, rng=np.random.default_rng(0), data_sampler=lambda size: np.full(size, -2.0)
    )
    W = affinity(Z)
    np.testing.assert_allclose(W.toarray(), (abs(Z.toarray()) + abs(Z.toarray()).T) / 2)
    assert W.has_sorted_indices


@pytest.mark.parametrize(
    ("W", "message"),
    [
        (sp.csr_array((2, 3)), "square"),
        (sp.csr_array(np.array([[0.0, 1], [0, 0]])), "symmetric"),
        (sp.csr_array(np.array([[0.0, -1], [-1, 0]])), "nonnegative"),
        (sp.csr_array(np.array([[0.0, np.nan], [np.nan, 0]])), "NaN"),
        (sp.csr_array(np.array([[0, 1j], [-1j, 0]])), "real, got complex128"),
        ("W", "sparse matrix or an ndarray"),
    ],
)
def test_bad_affinity_is_refused(W, message):
    with pytest.raises((ValueError, TypeError), match=message):
        spectral_embedding(W, 1)


def test_labels_are_the_same_for_a_seed_on_any_number_of_threads():
    E = random_data(300, 6)
    first = assign_labels(E, 5, random_state=3)
    for n_jobs in (1, 2, -1):
        np.testing.assert_array_equal(assign_labels(E, 5, random_state=3, n_jobs=n_jobs), first)
    assert first[0] == 0
    np.testing.assert_array_equal(np.unique(first), np.arange(5))


def test_labels_of_a_degenerate_embedding_warn():
    E = np.repeat(np.eye(2), 5, axis=0)
    with pytest.warns(match="only 2 of n_clusters=3"):
        assign_labels(E, 3, random_state=0)


def test_more_clusters_than_samples_is_refused():
    with pytest.raises(ValueError, match="n_clusters=4 is more than the n_samples=3"):
        assign_labels(np.eye(3), 4)


def test_large_components_and_their_bar():
    sizes = [40, 30, 5, 2, 1]
    W = graph_of(sizes)
    kept = large_components(W, 2, 0.3)  # the bar is 11.7
    assert kept.sum() == 70
    assert large_components(W, 2, 0.1).sum() == 75
    assert large_components(W, 2, 0.0).sum() == 77  # samples without edges are never embedded
    # Only fragments: the bar goes down until half of the samples are in.
    assert large_components(graph_of([4] * 10), 2, 0.3).all()
    assert large_components(sp.csr_array((6, 6)), 2, 0.3).all()


def test_linking_joins_the_most_similar_components():
    X = unit(np.array([[1, 0.0], [1, 0.1], [0, 1.0], [0.1, 1], [1, 0.2], [1, 0.25]]))
    W = sp.csr_array(sp.block_diag([[[0, 1.0], [1, 0]]] * 3))
    linked = link_components(W, X, 2)
    assert linked[1, 4] > 0
    assert linked.max() == 1
    n_components = sp.csgraph.connected_components(linked)[0]
    assert n_components <= 2
    np.testing.assert_array_equal(linked.toarray(), linked.toarray().T)


def test_attach_follows_the_most_similar_sample():
    X = unit(np.array([[1.0, 0, 0], [0, 1, 0], [0, 1, 0.1], [0.9, 0.1, 0], [0, -2, 0.3], [0, 0, 0.0]]))
    kept = np.array([True, True, True, False, False, False])
    np.testing.assert_array_equal(attach(X, np.array([0, 1, 1]), kept), [0, 1, 1, 0, 1, 1])


def two_planes(n=60, seed=0):
    rng = np.random.default_rng(seed)
    bases = [np.linalg.qr(rng.standard_normal((8, 2)))[0] for _ in range(2)]
    X = np.vstack([rng.standard_normal((n, 2)) @ B.T for B in bases])
    return unit(X), np.repeat([0, 1], n)


def test_fragments_are_attached():
    X, y = two_planes()
    same_plane = y[:, None] == y[None, :]
    W = np.where(same_plane, np.abs(X @ X.T), 0)
    np.fill_diagonal(W, 0)
    loose = [0, 1, 60, 61, 62, 63]
    W[loose] = 0
    W[:, loose] = 0
    W[0, 1] = W[1, 0] = W[60, 61] = W[61, 60] = 1  # two pairs and two isolated samples
    W = sp.csr_array(W)
    with pytest.warns(FragmentedGraphWarning, match=r"6 of 120 samples lie in 4 components too small"):
        result = cluster_graph(W, 2, X=X, random_state=0)
    assert result.n_attached == 6
    assert result.n_components == 6
    assert clustering_accuracy(y, result.labels) == 1
    assert not result.embedding[loose].any()
    kept = cluster_graph(W, 2, X=X, fragments="keep", random_state=0)
    assert kept.n_attached == 0
    np.testing.assert_array_equal(kept.labels, cluster_graph(W, 2, random_state=0).labels)


def ring(n):
    links = sp.diags_array([np.ones(n - 1), np.ones(1)], offsets=[1, n - 1], shape=(n, n))
    return sp.csr_array(links + links.T)


def test_last_eigenvectors_are_cut_at_the_gap():
    # Two rings on a weak link: after the pair's own vector come the rings' modes, which nearly coincide.
    W = sp.lil_array(sp.block_diag([ring(40), ring(40)]))
    W[0, 40] = W[40, 0] = 0.01
    W = sp.csr_array(W)
    assert cluster_graph(W, 3, random_state=0).embedding.shape == (80, 2)
    assert cluster_graph(W, 3, min_gap=0, random_state=0).embedding.shape == (80, 3)
    assert cluster_graph(W, 2, random_state=0).embedding.shape == (80, 2)
    # Never down to one vector per component: its samples could not be told apart.
    apart = sp.csr_array(sp.block_diag([ring(40), ring(40)]))
    assert cluster_graph(apart, 3, random_state=0).embedding.shape == (80, 3)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be at least 1, got 0"),
        ({"n_clusters": 2.0}, "n_clusters must be an integer, got 2.0"),
        ({"fragments": "drop"}, "fragments must be one of 'attach', 'keep', got 'drop'"),
        ({"min_fraction": -0.1}, "min_fraction must be at least 0"),
        ({"min_gap": 2}, "min_gap must be at most 1"),
        ({"n_init": 0}, "n_init must be at least 1"),
        ({"X": np.ones((3, 2))}, "X has 3 samples but W has 20"),
    ],
)
def test_bad_parameters(kwargs, message):
    arguments = {"n_clusters": 2, **kwargs}
    with pytest.raises((ValueError, TypeError), match=message):
        cluster_graph(graph_of([10, 10]), **arguments)

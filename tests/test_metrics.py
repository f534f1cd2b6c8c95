"""Metrics against brute force, dense linear algebra and closed forms."""

from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from l0graph import metrics
from l0graph.metrics import (
    clustering_accuracy,
    connectivity,
    normalized_mutual_info,
    subspace_preserving_error,
)

labellings = st.integers(1, 12).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(-1, 3), min_size=n, max_size=n)] * 2)
)
quick = settings(max_examples=60, deadline=None)


def brute_force_accuracy(true, pred):
    classes, clusters = sorted(set(true)), sorted(set(pred))
    classes += [None] * max(len(clusters) - len(classes), 0)
    names = (dict(zip(clusters, chosen, strict=True)) for chosen in permutations(classes, len(clusters)))
    return max(sum(name[p] == t for t, p in zip(true, pred, strict=True)) for name in names) / len(true)


def entropy_ratio(true, pred):
    """Mutual information over the larger entropy, from the definition."""
    joint = np.array([[np.sum((true == t) & (pred == p)) for p in set(pred)] for t in set(true)]) / len(true)
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)
    inside = joint > 0
    information = np.sum(joint[inside] * np.log((joint / np.outer(rows, columns))[inside]))
    entropy = max(-np.sum(rows * np.log(rows)), -np.sum(columns * np.log(columns)))
    return information / entropy


def dense_connectivity(W, labels):
    """Second-smallest Laplacian eigenvalue per class, from the definition; isolated samples count as 0."""
    values = []
    for name in np.unique(labels):
        block = W[np.ix_(labels == name, labels == name)].copy()
        np.fill_diagonal(block, 0.0)
        degrees = block.sum(axis=1)
        if len(block) == 1:
            values.append(np.nan)
        elif (degrees == 0).any():
            values.append(0.0)
        else:
            laplacian = np.eye(len(block)) - block / np.sqrt(np.outer(degrees, degrees))
            values.append(np.linalg.eigvalsh(laplacian)[1])
    return np.array(values)


def random_codes(rng, n, density):
    return sp.csr_array(rng.standard_normal((n, n)) * (rng.random((n, n)) < density))


def random_affinity(seed, n, density):
    codes = random_codes(np.random.default_rng(seed), n, density)
    return sp.csr_array(abs(codes + codes.T))


def path(n):
    return sp.csr_array(sp.diags_array([np.ones(n - 1)] * 2, offsets=[-1, 1]))


# accuracy and mutual information


@quick
@given(labellings)
def test_accuracy_is_the_best_of_all_matchings(pair):
    true, pred = pair
    assert clustering_accuracy(true, pred) == pytest.approx(brute_force_accuracy(true, pred))


@quick
@given(labellings)
def test_scores_are_symmetric_and_ignore_names(pair):
    true, pred = pair
    renamed = [f"cluster {-label}" for label in pred]
    for score in (clustering_accuracy, normalized_mutual_info):
        value = score(true, pred)
        assert 0 <= value <= 1
        assert score(pred, true) == pytest.approx(value)
        assert score(true, renamed) == pytest.approx(value)
        assert score(pred, renamed) == pytest.approx(1.0)


@quick
@given(labellings)
def test_mutual_information_follows_its_definition(pair):
    true, pred = map(np.array, pair)
    one_class = len(set(pair[0])) == 1, len(set(pair[1])) == 1
    expected = float(all(one_class)) if any(one_class) else entropy_ratio(true, pred)
    assert normalized_mutual_info(true, pred) == pytest.approx(expected, abs=1e-12)


def test_accuracy_with_unequal_numbers_of_classes():
    assert clustering_accuracy([0] * 6, [0, 0, 1, 1, 1, 2]) == 0.5
    assert clustering_accuracy([0, 1, 2, 3], [5, 5, 5, 5]) == 0.25
    assert clustering_accuracy(["x"], [7]) == 1.0


@pytest.mark.parametrize("score", [clustering_accuracy, normalized_mutual_info])
@pytest.mark.parametrize(
    ("true", "pred", "error", "text"),
    [
        ([0, 1], [0, 1, 1], ValueError, "labels_pred must have one label per sample .* got 3 for 2"),
        ([], [], ValueError, "labels_true must be a 1-D array of at least one label"),
        ([[0], [1]], [0, 1], ValueError, r"labels_true .* got shape \(2, 1\)"),
        ([0, 1], 3, ValueError, "labels_pred must be a 1-D array"),
        ([0.0, np.nan], [0, 1], ValueError, "labels_true contain NaN or None"),
        (["a", np.nan], [0, 1], ValueError, "labels_true contain NaN or None"),
        ([0, 1], ["a", None], ValueError, "labels_pred contain NaN or None"),
        ([0, 1], np.array(["a", 1], dtype=object), TypeError, "labels_pred must be all numbers or all"),
    ],
)
def test_bad_labels_are_refused(score, true, pred, error, text):
    with pytest.raises(error, match=text):
        score(true, pred)


# subspace-preserving error


@quick
@given(st.integers(0, 10**6), st.integers(1, 15), st.floats(0, 0.6))
def test_error_follows_its_definition(seed, n, density):
    rng = np.random.default_rng(seed)
    Z = random_codes(rng, n, density).toarray()
    labels = rng.integers(3, size=n)
    mass = np.abs(Z)
    coded = mass.sum(axis=1) > 0
    wrong = (mass * (labels[:, None] != labels)).sum(axis=1)
    expected = np.mean(wrong[coded] / mass.sum(axis=1)[coded]) if coded.any() else np.nan
    for codes in (Z, sp.csr_array(Z), sp.coo_matrix(Z)):
        assert subspace_preserving_error(codes, labels) == pytest.approx(expected, nan_ok=True)


def test_empty_codes_are_left_out_of_the_error():
    codes = np.zeros((4, 4))
    codes[0, 1] = 2.0
    assert subspace_preserving_error(codes, [0, 1, 1, 1]) == 1.0
    stored_zeros = sp.csr_array((np.zeros(2), ([0, 1], [1, 0])), shape=(4, 4))
    assert np.isnan(subspace_preserving_error(stored_zeros, [0, 1, 1, 1]))


def test_error_of_huge_and_tiny_codes():
    codes = np.array([[0, 1e308, 1e308], [1e-308, 0, 1e-308], [1e-3, 1e-3, 0]])
    assert subspace_preserving_error(codes, [0, 0, 1]) == pytest.approx(2 / 3)


def test_error_of_float32_codes_leaves_them_alone():
    codes = random_codes(np.random.default_rng(0), 30, 0.2).astype(np.float32)
    before = codes.copy()
    labels = np.arange(30) % 3
    expected = subspace_preserving_error(codes.astype(np.float64), labels)
    assert subspace_preserving_error(codes, labels) == pytest.approx(expected, abs=1e-7)
    assert (codes != before).nnz == 0


def test_bad_codes_are_refused():
    with pytest.raises(ValueError, match=r"codes must have shape \(3, 3\), got \(2, 2\)"):
        subspace_preserving_error(np.eye(2), [0, 1, 1])
    with pytest.raises(ValueError, match="codes contain NaN"):
        subspace_preserving_error(np.full((2, 2), np.nan), [0, 1])
    with pytest.raises(ValueError, match="labels contain NaN"):
        subspace_preserving_error(np.eye(2), [0, np.nan])


# connectivity


@quick
@given(st.integers(0, 10**6), st.integers(1, 25), st.sampled_from([0.05, 0.3, 1.0]), st.booleans())
def test_connectivity_is_the_dense_eigenvalue(seed, n, density, lanczos):
    labels = np.random.default_rng(seed).choice(["b", "a", "c"], size=n)
    W = random_affinity(seed, n, density)
    with pytest.MonkeyPatch.context() as patch:
        if lanczos:
            patch.setattr(metrics, "_DENSE_BLOCK", 4)
        values = connectivity(W, labels)
    np.testing.assert_allclose(values, dense_connectivity(W.toarray(), labels), atol=1e-9)


def test_large_classes_agree_with_dense():
    labels = np.arange(1150) % 2
    W = random_affinity(3, 1150, 0.02)
    values = connectivity(W, labels)
    np.testing.assert_allclose(values, dense_connectivity(W.toarray(), labels), atol=1e-9)
    np.testing.assert_array_equal(values, connectivity(W, labels))


def test_long_chains_and_complete_graphs_have_their_closed_forms():
    for n in (100, 800, 5000):
        expected = 1 - np.cos(np.pi / (n - 1))
        np.testing.assert_allclose(connectivity(path(n), np.zeros(n)), expected, rtol=1e-4)
    for n in (3, 600):
        np.testing.assert_allclose(connectivity(np.ones((n, n)), np.zeros(n)), n / (n - 1), rtol=1e-9)


@pytest.mark.parametrize("n", [10, 700])
def test_disconnected_classes_have_exactly_zero(n):
    halves = sp.block_diag([path(n), path(n)], format="csr")
    assert connectivity(halves, np.zeros(2 * n)) == 0.0
    values = connectivity(halves, np.arange(2 * n) // n)
    assert (values > 0).all()
    with_isolated = sp.block_diag([path(n), sp.csr_array((1, 1))], format="csr")
    assert connectivity(with_isolated, np.zeros(n + 1)) == 0.0


def test_stored_zeros_and_self_loops_link_nothing():
    W = path(4)
    W.data[2:4] = 0.0  # the edge between samples 1 and 2
    assert W.nnz == 6
    assert connectivity(W, np.zeros(4)) == 0.0
    assert connectivity(np.eye(2), [0, 0]) == 0.0
    np.testing.assert_allclose(connectivity(np.ones((2, 2)), [0, 0]), 2.0)


def test_connectivity_of_single_samples_is_nan():
    np.testing.assert_allclose(connectivity(path(3), ["b", "b", "a"]), [np.nan, 2.0])


@pytest.mark.parametrize("scale", [1e-300, 1e308])
def test_connectivity_does_not_depend_on_the_scale(scale):
    W = random_affinity(0, 20, 0.5)
    W = sp.csr_array(W / W.max())
    labels = np.arange(20) % 2
    np.testing.assert_allclose(connectivity(W * scale, labels), connectivity(W, labels), rtol=1e-9)


def test_bad_affinities_are_refused():
    with pytest.raises(ValueError, match="labels must have one label per sample of W, got 2 for 3 samples"):
        connectivity(path(3), [0, 1])
    with pytest.raises(ValueError, match="W must be symmetric"):
        connectivity(np.triu(np.ones((3, 3))), [0, 1, 1])
    with pytest.raises(ValueError, match="labels contain NaN"):
        connectivity(path(3), [0, None, 1])

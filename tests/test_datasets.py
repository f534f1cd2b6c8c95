"""Synthetic unions of subspaces: ranks prove the arrangement, moments the distribution."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from l0graph.datasets import make_subspaces

seeds = st.integers(0, 2**32 - 1)
quick = settings(max_examples=40, deadline=None)


def rank(*bases):
    return np.linalg.matrix_rank(np.concatenate(bases), tol=1e-9)


def intersection_dim(first, second):
    return len(first) + len(second) - rank(first, second)


def bases_of(arrangement, seed, dims, ambient_dim, **options):
    X, y, bases = make_subspaces(
        5,
        n_subspaces=len(dims),
        dim=dims,
        ambient_dim=ambient_dim,
        arrangement=arrangement,
        random_state=seed,
        return_bases=True,
        **options,
    )
    assert [len(basis) for basis in bases] == list(dims)
    for k, basis in enumerate(bases):
        np.testing.assert_allclose(basis @ basis.T, np.eye(len(basis)), atol=1e-12)
        members = X[y == k]
        np.testing.assert_allclose(members @ basis.T @ basis, members, atol=1e-12)
    return bases


# arrangements


@quick
@given(seeds, st.lists(st.integers(1, 4), min_size=1, max_size=5), st.integers(0, 3))
def test_independent_dimensions_add_up(seed, dims, spare):
    bases = bases_of("independent", seed, dims, sum(dims) + spare)
    assert rank(*bases) == sum(dims)


def test_independent_subspaces_are_not_orthogonal():
    first, second = bases_of("independent", 0, [3, 3], 6)
    assert np.abs(first @ second.T).max() > 0.1


@quick
@given(seeds, st.lists(st.integers(1, 4), min_size=1, max_size=6), st.integers(0, 30))
def test_disjoint_subspaces_meet_in_zero_only(seed, dims, spare):
    bases = bases_of("disjoint", seed, dims, sum(sorted(dims)[-2:]) + spare)
    assert all(intersection_dim(*pair) == 0 for pair in combinations(bases, 2))
    assert (rank(*bases) < sum(dims)) == (len(dims) > 2)


@quick
@given(seeds, st.integers(1, 3), st.lists(st.integers(1, 3), min_size=1, max_size=5), st.integers(0, 20))
def test_overlapping_subspaces_share_one_subspace(seed, overlap, further, spare):
    dims = [overlap + more for more in further]
    ambient_dim = max(dims) + sum(sorted(further)[-2:-1]) + spare
    bases = bases_of("overlapping", seed, dims, ambient_dim, overlap=overlap)
    assert all(intersection_dim(*pair) == overlap for pair in combinations(bases, 2))
    # The same subspace in all: projections onto them have its vectors, and no others, fixed in common.
    fixed = np.linalg.eigvalsh(sum(basis.T @ basis for basis in bases))
    if len(dims) > 1:
        assert np.sum(fixed > len(dims) - 1e-9) == overlap


def test_distinct_subspaces_are_nested():
    space, line, plane = bases_of("distinct", 0, [3, 1, 2], 6)
    assert rank(space, plane) == 3
    assert rank(plane, line) == 2
    assert rank(line) == 1


@quick
@given(seeds, st.lists(st.integers(1, 4), min_size=1, max_size=6), st.integers(0, 5))
def test_distinct_subspaces_differ_and_smaller_ones_lie_inside(seed, dims, spare):
    several = dims.count(max(dims)) > 1
    bases = bases_of("distinct", seed, dims, max(dims) + several + spare)
    for first, second in combinations(bases, 2):
        assert rank(first, second) > min(len(first), len(second))
    for basis in bases:
        larger = [other for other in bases if len(other) > len(basis)]
        if larger:
            smallest = min(larger, key=len)  # the first of the next larger dimension
            assert rank(smallest, basis) == len(smallest)
    assert rank(*bases) == max(dims) + several


# samples


def test_shapes_labels_and_order():
    X, y = make_subspaces([4, 1, 2], dim=[1, 2, 3], n_outliers=3, random_state=0)
    assert X.shape == (10, 20)
    assert X.dtype == np.float64
    assert X.flags.c_contiguous
    np.testing.assert_array_equal(y, [0] * 4 + [1] + [2] * 2 + [-1] * 3)


@pytest.mark.parametrize("arrangement", ["independent", "disjoint", "overlapping", "distinct"])
@pytest.mark.parametrize("distribution", ["uniform", "gaussian", "skewed"])
def test_the_same_seed_gives_the_same_data(arrangement, distribution):
    options = {"arrangement": arrangement, "distribution": distribution, "noise": 0.1, "n_outliers": 5}
    X, y = make_subspaces(10, random_state=7, **options)
    again, _ = make_subspaces(10, random_state=np.random.RandomState(7), **options)
    other, _ = make_subspaces(10, random_state=8, **options)
    np.testing.assert_array_equal(X, again)
    assert not np.isclose(X, other).any()
    assert len(y) == 35


def test_a_random_state_moves_on():
    state = np.random.RandomState(0)
    first, _ = make_subspaces(5, random_state=state)
    second, _ = make_subspaces(5, random_state=state)
    assert not np.isclose(first, second).any()
    unseeded, _ = make_subspaces(5)
    assert not np.isclose(unseeded, make_subspaces(5)[0]).any()


def coefficients(distribution, dim=3, n=20000):
    X, _, (basis,) = make_subspaces(
        n, n_subspaces=1, dim=dim, ambient_dim=4, distribution=distribution, random_state=1, return_bases=True
    )
    return X @ basis.T


@pytest.mark.parametrize("distribution", ["uniform", "gaussian", "skewed"])
def test_named_distributions_have_mean_squared_norm_one_and_fill_the_subspace(distribution):
    drawn = coefficients(distribution)
    assert np.mean(np.sum(drawn**2, axis=1)) == pytest.approx(1.0, abs=0.05)
    octants = np.unique(drawn > 0, axis=0, return_counts=True)[1]
    assert len(octants) == 8
    if distribution != "skewed":
        np.testing.assert_allclose(octants / len(drawn), 1 / 8, atol=0.02)
        np.testing.assert_allclose(np.cov(drawn.T), np.eye(3) / 3, atol=0.02)


def test_shape_of_the_distributions():
    np.testing.assert_allclose(np.linalg.norm(coefficients("uniform"), axis=1), 1.0)
    assert np.mean(coefficients("gaussian") ** 4) == pytest.approx(3 / 9, rel=0.1)
    skewed = coefficients("skewed")
    scales = np.abs(skewed).mean(axis=0)
    np.testing.assert_allclose(scales[0] / scales, [1, 2, 3], rtol=0.05)
    np.testing.assert_allclose((skewed > 0).mean(axis=0), 0.8, atol=0.02)


def test_a_callable_gives_the_coefficients():
    def ones(rng, n, dim):
        assert isinstance(rng, np.random.Generator)
        return np.ones((n, dim))

    X, _, bases = make_subspaces(3, distribution=ones, random_state=0, return_bases=True)
    np.testing.assert_allclose(X, np.repeat([basis.sum(axis=0) for basis in bases], 3, axis=0))


def test_noise_is_added_to_the_same_samples_and_spares_outliers():
    clean, y = make_subspaces(400, random_state=3, n_outliers=50)
    noisy, _ = make_subspaces(400, random_state=3, n_outliers=50, noise=0.2)
    noise = (noisy - clean)[y >= 0]
    assert noise.std() == pytest.approx(0.2, rel=0.02)
    assert np.linalg.matrix_rank(np.cov(noise.T)) == 20
    np.testing.assert_allclose(np.linalg.norm(noisy[y == -1], axis=1), 1.0)


def test_outliers_fill_the_ambient_sphere():
    X, y = make_subspaces(1, n_outliers=5000, random_state=0)
    outliers = X[y == -1]
    np.testing.assert_allclose(outliers.T @ outliers / 5000, np.eye(20) / 20, atol=0.005)


# refusals


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"n_samples": 0}, ValueError, "n_samples must be at least 1"),
        ({"n_samples": [1, 2]}, ValueError, "n_samples must be one integer or one for each of the 3 subspaces"),
        ({"n_samples": 2.5}, TypeError, "n_samples must be an integer"),
        ({"n_samples": True}, TypeError, "n_samples must be an integer"),
        ({"n_samples": "abc"}, TypeError, "n_samples must be an integer"),
        ({"n_subspaces": 0}, ValueError, "n_subspaces must be at least 1"),
        ({"dim": [1, 2, 0]}, ValueError, "dim must be at least 1"),
        ({"dim": None}, TypeError, "dim must be an integer"),
        ({"ambient_dim": 0}, ValueError, "ambient_dim must be at least 1"),
        ({"ambient_dim": 8}, ValueError, "independent subspaces of .* need ambient_dim of at least 9, got 8"),
        ({"arrangement": "disjoint", "ambient_dim": 5}, ValueError, "disjoint .* at least 6, got 5"),
        ({"arrangement": "overlapping", "ambient_dim": 4}, ValueError, "overlapping .* at least 5, got 4"),
        ({"arrangement": "distinct", "ambient_dim": 3}, ValueError, "distinct .* at least 4, got 3"),
        ({"arrangement": "overlapping", "overlap": 3}, ValueError, "overlap must be smaller than every dim"),
        ({"overlap": 0}, ValueError, "overlap must be at least 1"),
        ({"arrangement": "orthogonal"}, ValueError, "arrangement must be one of"),
        ({"distribution": "normal"}, ValueError, "distribution must be one of"),
        ({"distribution": lambda rng, n, dim: np.ones(n)}, ValueError, "distribution must return .* shape"),
        ({"distribution": lambda rng, n, dim: np.full((n, dim), np.nan)}, ValueError, "return finite numbers"),
        ({"noise": -0.1}, ValueError, "noise must be at least 0"),
        ({"noise": np.nan}, ValueError, "noise must be"),
        ({"n_outliers": -1}, ValueError, "n_outliers must be at least 0"),
        ({"random_state": "seed"}, ValueError, "seed"),
    ],
)
def test_bad_parameters_are_refused(options, error, text):
    with pytest.raises(error, match=text) as caught:
        make_subspaces(**options)
    assert "\n" not in str(caught.value)


def test_the_smallest_rooms_are_enough():
    for arrangement, ambient_dim in [("independent", 9), ("disjoint", 6), ("overlapping", 5), ("distinct", 4)]:
        X, _ = make_subspaces(2, arrangement=arrangement, ambient_dim=ambient_dim, random_state=0)
        assert X.shape == (6, ambient_dim)
    assert make_subspaces(2, n_subspaces=1, dim=4, ambient_dim=4, arrangement="overlapping")[0].shape == (2, 4)

"""Samples from unions of random linear subspaces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, overload

import numpy as np
from sklearn.utils import check_random_state

from l0graph._threads import one_blas_thread
from l0graph._validation import check_number, check_option

__all__ = ["make_subspaces"]

Counts: TypeAlias = int | Sequence[int] | np.ndarray
Arrangement: TypeAlias = Literal["independent", "disjoint", "overlapping", "distinct"]
Distribution: TypeAlias = (
    Literal["uniform", "gaussian", "skewed"] | Callable[[np.random.Generator, int, int], np.ndarray]
)

_ARRANGEMENTS = ("independent", "disjoint", "overlapping", "distinct")
_DISTRIBUTIONS = ("uniform", "gaussian", "skewed")


@overload
def make_subspaces(
    n_samples: Counts = ...,
    *,
    n_subspaces: int = ...,
    dim: Counts = ...,
    ambient_dim: int = ...,
    arrangement: Arrangement = ...,
    overlap: int = ...,
    distribution: Distribution = ...,
    noise: float = ...,
    n_outliers: int = ...,
    random_state: int | np.random.RandomState | None = ...,
    return_bases: Literal[False] = ...,
) -> tuple[np.ndarray, np.ndarray]: ...


@overload
def make_subspaces(
    n_samples: Counts = ...,
    *,
    n_subspaces: int = ...,
    dim: Counts = ...,
    ambient_dim: int = ...,
    arrangement: Arrangement = ...,
    overlap: int = ...,
    distribution: Distribution = ...,
    noise: float = ...,
    n_outliers: int = ...,
    random_state: int | np.random.RandomState | None = ...,
    return_bases: Literal[True],
) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]: ...


def make_subspaces(
    n_samples: Counts = 100,
    *,
    n_subspaces: int = 3,
    dim: Counts = 3,
    ambient_dim: int = 20,
    arrangement: Arrangement = "independent",
    overlap: int = 1,
    distribution: Distribution = "uniform",
    noise: float = 0.0,
    n_outliers: int = 0,
    random_state: int | np.random.RandomState | None = None,
    return_bases: bool = False,
) -> tuple[np.ndarray, np.ndarray] | tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Draw samples from a union of random linear subspaces.

    Parameters
    ----------
    n_samples : int or sequence of int, default=100
        Number of samples per subspace.
    n_subspaces : int, default=3
        Number of subspaces.
    dim : int or sequence of int, default=3
        Dimension of the subspaces.
    ambient_dim : int, default=20
        Dimension of the space around them, the number of features.
    arrangement : {"independent", "disjoint", "overlapping", "distinct"}, default="independent"
        How the subspaces lie. None is made orthogonal to another, and all statements hold almost surely.

        - "independent": the dimension of their sum is the sum of their dimensions.
        - "disjoint": any two intersect in 0 only, but three or more are not independent: they lie in a common space
          of one dimension less than the sum of theirs (or in the ambient space, if that is smaller).
        - "overlapping": all share one random subspace of dimension `overlap`, and any two share no more.
        - "distinct": no two are equal, and that is all. Those of the largest dimension lie in a common space of one
          dimension more, each smaller one inside the first of the next larger dimension: ``dim=(3, 2, 1)`` gives a line
          in a plane in a 3-space, ``dim=2`` planes of one 3-space, which meet in lines.
    overlap : int, default=1
        Dimension of what the subspaces share; used by "overlapping" only, and smaller than every `dim`.
    distribution : {"uniform", "gaussian", "skewed"} or callable, default="uniform"
        How samples spread in their subspace.

        - "uniform": uniform on its unit sphere.
        - "gaussian": isotropic normal.
        - "skewed": along the j-th vector of a random orthonormal basis, exponential of scale 1/j, the sign plus four
          times out of five: neither isotropic nor symmetric, but with a density on the whole subspace.
        - ``distribution(rng, n, dim) -> ndarray of shape (n, dim)``: coefficients in an orthonormal basis, drawn from a
          `numpy.random.Generator`.

        Samples of the named ones have a mean squared norm of 1; those of a callable are taken as they come.
    noise : float, default=0.0
        Standard deviation of the Gaussian noise on every feature of the samples, to be seen relative to their norm of
        1. The noise on a sample has a norm of about ``noise * sqrt(ambient_dim)``.
    n_outliers : int, default=0
        Number of further samples, uniform on the unit sphere of the ambient space and without noise.
    random_state : int, RandomState or None, default=None
        Where the randomness comes from. The same seed gives the same data.
    return_bases : bool, default=False
        Whether to return the bases of the subspaces too.

    Returns
    -------
    X : ndarray of shape (n_total, ambient_dim)
        The samples, grouped by subspace, the outliers last.
    y : ndarray of shape (n_total,)
        Index of each sample's subspace, -1 for outliers.
    bases : list of ndarray of shape (dim, ambient_dim)
        An orthonormal basis of each subspace, in rows. Only if `return_bases`.

    Examples
    --------
    >>> from l0graph.datasets import make_subspaces
    >>> X, y = make_subspaces([4, 2], n_subspaces=2, dim=(1, 2), ambient_dim=5, n_outliers=1, random_state=0)
    >>> X.shape
    (7, 5)
    >>> y
    array([ 0,  0,  0,  0,  1,  1, -1])
    """
    check_number(n_subspaces, "n_subspaces", at_least=1, integer=True)
    check_number(ambient_dim, "ambient_dim", at_least=1, integer=True)
    check_number(overlap, "overlap", at_least=1, integer=True)
    check_number(noise, "noise", at_least=0)
    check_number(n_outliers, "n_outliers", at_least=0, integer=True)
    check_option(arrangement, "arrangement", _ARRANGEMENTS)
    if not callable(distribution):
        check_option(distribution, "distribution", _DISTRIBUTIONS)
    sizes = _per_subspace(n_samples, "n_samples", n_subspaces)
    dims = _per_subspace(dim, "dim", n_subspaces)
    _check_room(arrangement, dims, ambient_dim, overlap)

    seed = check_random_state(random_state).randint(2**32, size=4, dtype=np.uint32)
    rng = np.random.default_rng(seed)
    with one_blas_thread():  # the bits of a product may depend on the number of threads
        bases = _arrange(rng, arrangement, dims, ambient_dim, overlap)
        groups = [
            _coefficients(rng, distribution, size, len(basis)) @ basis for size, basis in zip(sizes, bases, strict=True)
        ]
    inliers = np.concatenate(groups)
    if noise > 0:
        inliers += noise * rng.standard_normal(inliers.shape)
    outliers = _on_sphere(rng, n_outliers, ambient_dim)
    X = np.concatenate((inliers, outliers))
    y = np.repeat([*range(n_subspaces), -1], [*sizes, n_outliers])
    return (X, y, bases) if return_bases else (X, y)


def _per_subspace(value: Any, name: str, n_subspaces: int) -> list[int]:
    """Return one positive integer per subspace."""
    if np.ndim(value) == 0:
        value = [value] * int(n_subspaces)
    if len(value) != n_subspaces:
        msg = f"{name} must be one integer or one for each of the {n_subspaces} subspaces, got {value!r}"
        raise ValueError(msg)
    for number in value:
        check_number(number, name, at_least=1, integer=True)
    return [int(number) for number in value]


def _check_room(arrangement: str, dims: list[int], ambient_dim: int, overlap: int) -> None:
    """Raise unless subspaces of these dimensions can be arranged so in the ambient space."""
    largest_two = sorted(dims)[-2:]
    if arrangement == "overlapping" and overlap >= min(dims):
        msg = f"overlap must be smaller than every dim, got overlap={overlap} with dim={min(dims)}"
        raise ValueError(msg)
    needed = {
        "independent": sum(dims),
        "disjoint": sum(largest_two),
        "overlapping": sum(largest_two) - overlap * (len(largest_two) - 1),
        "distinct": max(dims) + (dims.count(max(dims)) > 1),
    }[arrangement]
    if needed > ambient_dim:
        msg = f"{arrangement} subspaces of dim={dims} need ambient_dim of at least {needed}, got {ambient_dim}"
        raise ValueError(msg)


def _arrange(
    rng: np.random.Generator, arrangement: str, dims: list[int], ambient_dim: int, overlap: int
) -> list[np.ndarray]:
    """Return an orthonormal basis, in rows, for each subspace."""
    space = np.eye(ambient_dim)
    if arrangement == "independent":
        return [_subspace(rng, dim, space) for dim in dims]
    if arrangement == "disjoint":
        # Two drawn at random intersect in 0 only where there is room for the sum of their dimensions; from three on,
        # room for less than the sum of all keeps them from being independent.
        room = max(sum(sorted(dims)[-2:]), min(ambient_dim, sum(dims) - 1))
        space = _subspace(rng, room, space)
        return [_subspace(rng, dim, space) for dim in dims]
    if arrangement == "overlapping":
        shared = _subspace(rng, overlap, space)
        return [_subspace_through(rng, dim, shared) for dim in dims]
    return _nested(rng, dims, space)


def _nested(rng: np.random.Generator, dims: list[int], space: np.ndarray) -> list[np.ndarray]:
    """Return distinct subspaces, each inside the first of the next larger dimension."""
    host = _subspace(rng, min(max(dims) + 1, len(space)), space)
    bases: dict[int, np.ndarray] = {}
    for dim in sorted(set(dims), reverse=True):
        same = [index for index, other in enumerate(dims) if other == dim]
        # The host has a larger dimension (or there is one of this only), so that two drawn in it differ.
        bases.update((index, _subspace(rng, dim, host)) for index in same)
        host = bases[same[0]]
    return [bases[index] for index in range(len(dims))]


def _subspace(rng: np.random.Generator, dim: int, host: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis, in rows, of a random subspace of the span of the rows of ``host``."""
    directions, _ = np.linalg.qr(rng.standard_normal((len(host), dim)))
    return directions.T @ host


def _subspace_through(rng: np.random.Generator, dim: int, shared: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis, in rows, of a random subspace that contains the span of ``shared``."""
    further = rng.standard_normal((dim - len(shared), shared.shape[1]))
    joined, _ = np.linalg.qr(np.concatenate((shared, further)).T)
    return _subspace(rng, dim, joined.T)  # turned, so that no basis vector points along what is shared


def _on_sphere(rng: np.random.Generator, n: int, dim: int) -> np.ndarray:
    """Return n points uniform on the unit sphere."""
    points = rng.standard_normal((n, dim))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def _coefficients(rng: np.random.Generator, distribution: Distribution, n: int, dim: int) -> np.ndarray:
    """Return the coefficients of n samples in an orthonormal basis of their subspace."""
    if callable(distribution):
        drawn = np.asarray(distribution(rng, n, dim), dtype=np.float64)
        if drawn.shape != (n, dim) or not np.isfinite(drawn).all():
            msg = f"distribution must return finite numbers of shape {(n, dim)}, got shape {drawn.shape}"
            raise ValueError(msg)
        return drawn
    if distribution == "uniform":
        return _on_sphere(rng, n, dim)
    if distribution == "gaussian":
        return rng.standard_normal((n, dim)) / np.sqrt(dim)
    scales = 1.0 / np.arange(1, dim + 1)
    scales /= np.sqrt(2.0 * np.sum(scales**2))  # the square of a standard exponential has mean 2
    signs = np.where(rng.random((n, dim)) < 0.8, 1.0, -1.0)
    return signs * rng.standard_exponential((n, dim)) * scales

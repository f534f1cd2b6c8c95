"""Pictures for samples that are images: who is in a cluster, and what a sample is written with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from .._validation import check_number, check_option
from ._style import INK, axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARGIN = 0.12
"""Room between images, as a share of an image's side."""


def as_images(X: ArrayLike, image_shape: tuple[int, ...], order: Literal["C", "F"] = "C") -> np.ndarray:
    """Return samples as images with values from 0 to 1, each from its own darkest to its own brightest.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples in rows.
    image_shape : tuple of int
        (height, width), or (height, width, 3) for colours.
    order : {"C", "F"}, default="C"
        How a row runs through its image: "C" line by line, "F" column by column, as data from Matlab does.

    Returns
    -------
    ndarray of shape (n_samples, height, width) or (n_samples, height, width, 3)
    """
    X = np.asarray(X, dtype=np.float64)
    check_option(order, "order", ("C", "F"))
    shape = tuple(image_shape)
    if len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] != 3) or min(shape) < 1:
        msg = f"image_shape must be (height, width) or (height, width, 3), got {image_shape!r}"
        raise ValueError(msg)
    if X.ndim != 2 or X.shape[1] != np.prod(shape):
        needed = " x ".join(map(str, shape))
        msg = f"image_shape {needed} needs {np.prod(shape)} features, but X has shape {X.shape}"
        raise ValueError(msg)
    low, high = X.min(axis=1, keepdims=True), X.max(axis=1, keepdims=True)
    scaled = np.divide(X - low, high - low, out=np.zeros_like(X), where=high > low)
    # Transposing C-ordered axes is what reading in Fortran order is, for a stack of images.
    if order == "F":
        return scaled.reshape(len(X), *shape[::-1]).transpose(0, *range(len(shape), 0, -1))
    return scaled.reshape(len(X), *shape)


def plot_members(
    estimator: Any,
    X: ArrayLike,
    image_shape: tuple[int, ...],
    *,
    order: Literal["C", "F"] = "C",
    n_members: int = 16,
    ax: Axes | None = None,
) -> Axes:
    """Draw members of each cluster, one row per cluster, from those that it holds most strongly to the least.

    Parameters
    ----------
    estimator : fitted clusterer
        Has ``labels_`` and ``affinity_matrix_``.
    X : array-like of shape (n_samples, n_features)
        The samples it was fitted to.
    image_shape : tuple of int
        (height, width), or (height, width, 3) for colours.
    order : {"C", "F"}, default="C"
        How a row runs through its image: "C" line by line, "F" column by column, as data from Matlab does.
    n_members : int, default=16
        Images in a row, at even distances in the order of their weights to the cluster.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from l0graph import OMPGraph
    >>> from l0graph.plots import plot_members
    >>> X = load_digits().data[:100]
    >>> ax = plot_members(OMPGraph(4, random_state=0).fit(X), X, (8, 8), n_members=5)
    >>> len(ax.get_yticklabels())
    4
    """
    check_number(n_members, "n_members", at_least=1, integer=True)
    X = _samples(X, estimator)
    names, clusters, sizes = np.unique(estimator.labels_, return_inverse=True, return_counts=True)
    chosen = np.full((len(names), n_members), -1)
    for c in range(len(names)):
        members = np.flatnonzero(clusters == c)
        strength = estimator.affinity_matrix_[members] @ (clusters == c).astype(np.float64)
        members = members[np.lexsort((members, -strength))]
        ranks = np.unique(np.linspace(0, len(members) - 1, n_members).round().astype(int))
        chosen[c, : len(ranks)] = members[ranks]
    images = as_images(X[chosen[chosen >= 0]], image_shape, order)
    height, width = images.shape[1:3]
    steps = (1 + _MARGIN) * np.array([height, width])
    unit = min(0.55, 11 / n_members)
    ax = axes_for(ax, unit * n_members + 1.2, unit * len(names) * height / width + 0.5)
    for image, (row, column) in zip(images, np.argwhere(chosen >= 0), strict=True):
        _draw(ax, image, row * steps[0], column * steps[1])
    ax.set_yticks(
        steps[0] * np.arange(len(names)) + height / 2, [f"{n}  ({s:,})" for n, s in zip(names, sizes, strict=True)]
    )
    _close(ax, n_members * steps[1], len(names) * steps[0])
    ax.set_xlabel("held most strongly by its cluster  →  least", color=INK)
    ax.set_ylabel("cluster  (samples)", color=INK)
    return ax


def plot_explanation(
    estimator: Any,
    X: ArrayLike,
    sample: int,
    image_shape: tuple[int, ...],
    *,
    order: Literal["C", "F"] = "C",
    n_atoms: int = 12,
    ax: Axes | None = None,
) -> Axes:
    """Draw a sample and the samples its code writes it with, by falling weight.

    Parameters
    ----------
    estimator : fitted clusterer
        One whose graph comes from codes.
    X : array-like of shape (n_samples, n_features)
        The samples it was fitted to.
    sample : int
        Index of the sample.
    image_shape : tuple of int
        (height, width), or (height, width, 3) for colours.
    order : {"C", "F"}, default="C"
        How a row runs through its image: "C" line by line, "F" column by column, as data from Matlab does.
    n_atoms : int, default=12
        Most atoms to draw.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from l0graph import OMPGraph
    >>> from l0graph.plots import plot_explanation
    >>> X = load_digits().data[:100]
    >>> ax = plot_explanation(OMPGraph(4, random_state=0).fit(X), X, 7, (8, 8))
    >>> len(ax.images)  # the sample and its three atoms
    4
    """
    check_number(sample, "sample", at_least=0, at_most=len(estimator.labels_) - 1, integer=True)
    check_number(n_atoms, "n_atoms", at_least=1, integer=True)
    X = _samples(X, estimator)
    codes = getattr(estimator, "codes_", None)
    if codes is None:
        msg = f"{type(estimator).__name__} has no codes: its graph does not come from sparse self-expression"
        raise ValueError(msg)
    begin, end = codes.indptr[sample : sample + 2]
    atoms, weights = codes.indices[begin:end], codes.data[begin:end]
    order_of_atoms = np.lexsort((atoms, -np.abs(weights)))
    atoms, weights = atoms[order_of_atoms][:n_atoms], weights[order_of_atoms][:n_atoms]
    images = as_images(X[[sample, *atoms]], image_shape, order)
    height, width = images.shape[1:3]
    step = width * (1 + _MARGIN)
    unit = min(1.2, 12 / (len(atoms) + 1.5))
    ax = axes_for(ax, unit * (len(atoms) + 1.5), unit * height / width + 1.0)
    labels = estimator.labels_
    _draw(ax, images[0], 0, 0)
    captions = [(width / 2, f"sample {sample}\ncluster {labels[sample]}")]
    for place, (atom, weight) in enumerate(zip(atoms, weights, strict=True)):
        left = 1.5 * width + place * step
        _draw(ax, images[place + 1], 0, left)
        other = "" if labels[atom] == labels[sample] else "  ✗"
        captions.append((left + width / 2, f"{weight:+.2f}\n{atom}{other}\ncluster {labels[atom]}"))
    for x, text in captions:
        ax.text(x, height * 1.06, text, ha="center", va="top", fontsize=8, color=INK)
    ax.text(
        1.25 * width, height / 2, "≈" if len(atoms) else "empty code", ha="center", va="center", fontsize=14, color=INK
    )
    rest = int(end - begin) - len(atoms)
    ax.set_yticks([])
    _close(ax, 1.5 * width + len(atoms) * step, height * 1.06)
    ax.set_title(
        f"{len(atoms)} of {end - begin} atoms, by weight" if rest else f"{len(atoms)} atoms, by weight", fontsize=10
    )
    return ax


def _samples(X: ArrayLike, estimator: Any) -> np.ndarray:
    X = np.asarray(X)
    if len(X) != len(estimator.labels_):
        msg = f"X has {len(X)} samples, but the estimator was fitted to {len(estimator.labels_)}: give the same samples"
        raise ValueError(msg)
    return X


def _draw(ax: Axes, image: np.ndarray, top: float, left: float) -> None:
    height, width = image.shape[:2]
    ax.imshow(
        image, cmap="gray", vmin=0, vmax=1, extent=(left, left + width, top + height, top), interpolation="nearest"
    )


def _close(ax: Axes, right: float, bottom: float) -> None:
    """Show everything that was drawn, without a frame."""
    ax.set(xlim=(0, right), ylim=(bottom, 0), xticks=[], aspect="equal")
    ax.tick_params(axis="y", length=0)
    ax.spines[:].set_visible(False)

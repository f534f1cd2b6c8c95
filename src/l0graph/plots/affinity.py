"""The affinity of a clustering as a picture."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .._validation import check_affinity, check_number
from ._style import axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DECADES = 3
"""Most powers of ten between the strongest and the weakest cell that are told apart."""

_FEWEST_CELLS = 200
"""Cells a side that sparse graphs keep, however little falls into each."""

_LINE = "0.55"
_TEXT_HEIGHT = 0.027
"""Height of a line of text as a share of the picture's, at the default size."""


def plot_affinity(
    W: Any,
    labels: ArrayLike,
    *,
    ax: Axes | None = None,
    max_cells: int = 600,
    cmap: str = "cividis_r",
    colorbar: bool = True,
) -> Axes:
    """Draw an affinity with its samples sorted by cluster, so that a good clustering shows as dark squares.

    Inside a cluster the samples that hold to it most come first. Beside each square stand the cluster's label and
    size; under the picture the share of all weight that lies inside clusters.

    Parameters
    ----------
    W : sparse matrix or ndarray of shape (n_samples, n_samples)
        Symmetric and nonnegative, such as ``affinity_matrix_``.
    labels : array-like of shape (n_samples,)
        Cluster of each sample.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    max_cells : int, default=600
        Most cells along a side. Larger graphs are drawn as means over square cells of samples.
    cmap : str, default="cividis_r"
        Colour map. The default is one that colour-blind readers and grey printers keep in order: darker is stronger.
    colorbar : bool, default=True
        Whether to draw the scale.

    Returns
    -------
    Axes
        What was drawn on; ``ax.figure.savefig(...)`` keeps it.

    Notes
    -----
    Memory is O(nonzeros + max_cells^2). Colours are logarithmic over three powers of ten; cells without any weight
    stay white.

    Examples
    --------
    >>> import numpy as np
    >>> from l0graph.plots import plot_affinity
    >>> W = np.kron(np.eye(2), np.ones((5, 5))) - np.eye(10)
    >>> plot_affinity(W, np.repeat([0, 1], 5)).get_xlabel()
    '100% of the weight lies inside clusters'
    """
    check_number(max_cells, "max_cells", at_least=1, integer=True)
    W = check_affinity(W)
    names, clusters = _check_labels(labels, W.shape[0])
    ax = axes_for(ax, 7.2, 6)
    from matplotlib.colors import LogNorm
    from matplotlib.ticker import LogLocator

    sizes = np.bincount(clusters)
    edges = W.tocoo()
    rows, columns = edges.coords
    inside = clusters[rows] == clusters[columns]
    order = _sorted_samples(rows, edges.data * inside, clusters)
    per_cell = _samples_per_cell(sizes, edges.nnz, max_cells)
    cells = _mean_weights(rows, columns, edges.data, order, per_cell)

    strongest = cells.max(initial=0.0) or 1.0
    weakest = max(strongest * 10.0**-_DECADES, cells[cells > 0].min(initial=strongest / 10))
    extent = len(cells) * per_cell
    image = ax.imshow(
        np.ma.masked_equal(cells, 0.0),
        cmap=cmap,
        norm=LogNorm(weakest, strongest, clip=True),
        extent=(0, extent, extent, 0),
        interpolation="nearest",
    )
    _mark_clusters(ax, names, sizes)
    share = edges.data[inside].sum() / edges.data.sum() if edges.nnz else 0.0
    ax.set_xlabel(f"{100 * share:.3g}% of the weight lies inside clusters")
    if colorbar:
        of = "weight" if per_cell == 1 else f"mean weight of {per_cell} x {per_cell} samples"
        bar = ax.figure.colorbar(image, ax=ax, label=of, shrink=0.7, ticks=LogLocator(subs=(1, 2, 5)), format="%.2g")
        bar.minorticks_off()
    return ax


def _check_labels(labels: ArrayLike, n_samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct labels, sorted, and the cluster of each sample as an index into them."""
    labels = np.asarray(labels)
    if labels.shape != (n_samples,):
        msg = f"labels must have shape ({n_samples},), one for each row of W, got {labels.shape}"
        raise ValueError(msg)
    names, clusters = np.unique(labels, return_inverse=True)
    return names, clusters


def _sorted_samples(rows: np.ndarray, weights_inside: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Return the samples by cluster, in each by falling weight to their own cluster."""
    strength = np.bincount(rows, weights_inside, minlength=len(clusters))
    return np.lexsort((-strength, clusters))


def _samples_per_cell(sizes: np.ndarray, n_edges: int, max_cells: int) -> int:
    """Return how many samples a cell has a side: so many that about half the cells inside clusters have an edge."""
    n_samples = int(sizes.sum())
    readable = math.isqrt(int((sizes.astype(float) ** 2).sum()) // max(n_edges, 1))
    return max(1, -(-n_samples // max_cells), min(readable, n_samples // _FEWEST_CELLS))


def _mean_weights(
    rows: np.ndarray, columns: np.ndarray, weights: np.ndarray, order: np.ndarray, per_cell: int
) -> np.ndarray:
    """Return the mean weight of each square of ``per_cell`` samples a side, samples in the given order."""
    n_cells = -(-len(order) // per_cell)
    cell_of = np.empty(len(order), dtype=np.int64)
    cell_of[order] = np.arange(len(order)) // per_cell
    total = np.bincount(cell_of[rows] * n_cells + cell_of[columns], weights, minlength=n_cells * n_cells)
    return total.reshape(n_cells, n_cells) / per_cell**2


def _mark_clusters(ax: Axes, names: np.ndarray, sizes: np.ndarray) -> None:
    """Frame the squares of the clusters and write their labels and sizes beside them."""
    from matplotlib.patches import Rectangle

    n_samples = int(sizes.sum())
    starts = np.cumsum(sizes) - sizes
    width = 0.8 if len(sizes) <= 30 else 0.4
    for start, size in zip(starts, sizes, strict=True):
        ax.add_patch(Rectangle((start, start), size, size, fill=False, edgecolor=_LINE, linewidth=width))
    middles = starts + sizes / 2
    named = _apart(middles, sizes, _TEXT_HEIGHT * n_samples)
    ax.set_yticks(middles[named], [f"{names[i]}  ({sizes[i]:,})" for i in named])
    ax.set_xticks([])
    ax.set_xlim(0, n_samples)
    ax.set_ylim(n_samples, 0)
    ax.tick_params(axis="y", length=0)
    ax.set_ylabel(f"{len(names)} clusters  (samples)")
    ax.spines[:].set_color(_LINE)


def _apart(middles: np.ndarray, sizes: np.ndarray, distance: float) -> list[int]:
    """Return the clusters whose names fit beside the picture, larger ones first served."""
    chosen: list[int] = []
    for i in np.argsort(-sizes, kind="stable").tolist():
        if all(abs(middles[i] - middles[j]) >= distance for j in chosen):
            chosen.append(i)
    return sorted(chosen)

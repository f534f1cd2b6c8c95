"""The spectral embedding as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._map import cluster_map
from ._style import COLORS, FAINT, INK, MARKERS, axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FAR = 1.55
"""Where a cluster's name stands, from the middle of the picture."""
_MOST_NAMES = 60


def plot_embedding(estimator: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the samples by their spectral coordinates, projected to the plane so that the clusters lie on a circle.

    A sample that sits between clusters, or in the middle, is one that the embedding leaves between them. Samples at
    the same place are spread a little; samples that were attached afterwards have no coordinates and are drawn hollow
    at their cluster's rim.

    Parameters
    ----------
    estimator : fitted clusterer
        Has ``embedding_``, ``labels_`` and ``affinity_matrix_``.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes

    Notes
    -----
    The projection is linear in the coordinates as k-means has them (rows of unit norm), the best one in the sense of
    least squares for bringing the clusters' means onto the circle; far outside of it distances are shortened. Similar
    clusters are put side by side.

    Examples
    --------
    >>> from l0graph import L0Graph
    >>> from l0graph.datasets import make_subspaces
    >>> from l0graph.plots import plot_embedding
    >>> X, y = make_subspaces(30, n_subspaces=3, dim=2, ambient_dim=8, random_state=0)
    >>> len(plot_embedding(L0Graph(3, random_state=0).fit(X)).collections)
    3
    """
    ax = axes_for(ax, 6.4, 6.4)
    drawn = cluster_map(estimator)
    names, clusters, sizes = np.unique(estimator.labels_, return_inverse=True, return_counts=True)
    area = float(np.clip(12_000 / len(clusters), 3, 40))
    around = np.argsort(-np.arctan2(drawn.centers[:, 1], drawn.centers[:, 0]), kind="stable")
    for place, c in enumerate(around.tolist()):
        color, marker = COLORS[place % len(COLORS)], MARKERS[place % len(MARKERS)]
        members = clusters == c
        faces = [color if embedded else "white" for embedded in drawn.embedded[members]]
        x, y = drawn.positions[members].T
        ax.scatter(x, y, s=area, marker=marker, c=faces, edgecolors=color, linewidths=0.7)
        if len(names) <= _MOST_NAMES:
            x, y = _FAR * drawn.centers[c]
            text = f"{names[c]}" if len(names) > 12 else f"{names[c]}  ({sizes[c]:,})"
            ax.text(x, y, text, ha="center", va="center", color=INK, fontsize=9)
    n_attached = int(np.count_nonzero(~drawn.embedded))
    hollow = f"; hollow: {n_attached:,} attached afterwards" if n_attached else ""
    ax.set_xlabel(f"{len(clusters):,} samples, {len(names)} clusters{hollow}", color=INK)
    ax.set(xticks=[], yticks=[], aspect="equal", xlim=(-1.75, 1.75), ylim=(-1.75, 1.75))
    ax.spines[:].set_color(FAINT)
    return ax

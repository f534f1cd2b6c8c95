"""Pictures of numbers: eigenvalues, nonzeros, objectives, and what a path over the penalty passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..diagnostics.evidence import embedded_samples, leading_eigenvalues, relative_gaps
from ..metrics import clustering_accuracy
from ._style import COLORS, FAINT, INK, axes_for, open_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..estimators.path import PathPoint

_MOST_BARS = 40


def plot_eigenvalues(estimator: Any, *, n_eigenvalues: int | None = None, ax: Axes | None = None) -> Axes:
    """Draw the leading eigenvalues of the graph, beyond the number of clusters, and mark the gap there.

    Parameters
    ----------
    estimator : fitted clusterer
        Its graph is what is analysed, without the fragments that were attached afterwards.
    n_eigenvalues : int, optional
        How many; by default half as many again as clusters, at least 8 more. They are computed anew: a fit keeps only
        those that it uses.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from l0graph import L0Graph
    >>> from l0graph.datasets import make_subspaces
    >>> from l0graph.plots import plot_eigenvalues
    >>> X, y = make_subspaces(30, n_subspaces=3, dim=2, ambient_dim=8, random_state=0)
    >>> plot_eigenvalues(L0Graph(3, random_state=0).fit(X)).get_ylabel()
    'eigenvalue'
    """
    ax = axes_for(ax, 6.4, 4)
    k = estimator.n_clusters
    values = leading_eigenvalues(estimator, n_eigenvalues)
    numbers = np.arange(1, len(values) + 1)
    size = 6 if len(values) <= 60 else 3
    ax.plot(numbers[:k], values[:k], "o", color=COLORS[0], markersize=size, label=f"the {k} of the clusters")
    ax.plot(numbers[k:], values[k:], "s", color=COLORS[1], mfc="none", markersize=size, label="the next")
    if len(values) > k:
        gap = relative_gaps(values)[k - 1]
        ax.axvline(k + 0.5, color=FAINT, linewidth=1, linestyle="--")
        ax.fill_between([k, k + 1], values[k], values[k - 1], color=FAINT, alpha=0.25, linewidth=0)
        ax.set_title(f"gap behind cluster {k}: {gap:.0%} of the next eigenvalue's distance from 1", fontsize=10)
    left_out = int(np.count_nonzero(~embedded_samples(estimator)))
    ax.set_xlabel("number" + (f"   ({left_out:,} samples in fragments left out)" if left_out else ""))
    ax.set_ylabel("eigenvalue")
    ax.locator_params(axis="x", integer=True)
    ax.legend(frameon=False, loc="lower left")
    open_frame(ax)
    return ax


def plot_nonzeros(estimator: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how many samples have a code of so many nonzeros.

    Parameters
    ----------
    estimator : fitted clusterer
        One whose graph comes from codes.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from l0graph import OMPGraph
    >>> from l0graph.datasets import make_subspaces
    >>> from l0graph.plots import plot_nonzeros
    >>> X, y = make_subspaces(30, n_subspaces=3, dim=2, ambient_dim=8, random_state=0)
    >>> plot_nonzeros(OMPGraph(3, random_state=0).fit(X)).get_ylabel()
    'samples'
    """
    codes = getattr(estimator, "codes_", None)
    if codes is None:
        msg = f"{type(estimator).__name__} has no codes: its graph does not come from sparse self-expression"
        raise ValueError(msg)
    ax = axes_for(ax, 6.4, 4)
    nonzeros = np.diff(codes.indptr)
    width = -(-(int(nonzeros.max(initial=0)) + 1) // _MOST_BARS)
    edges = np.arange(0, nonzeros.max(initial=0) + width + 1, width)
    counts, _ = np.histogram(nonzeros, edges)
    ax.bar(edges[:-1] + (width - 1) / 2, counts, width=0.9 * width, color=COLORS[0])
    n_empty = int(np.count_nonzero(nonzeros == 0))
    empty = f"; {n_empty:,} empty codes" if n_empty else ""
    ax.axvline(nonzeros.mean(), color=INK, linewidth=1, linestyle="--")
    ax.set_title(f"mean {nonzeros.mean():.1f}, median {np.median(nonzeros):g}{empty}", fontsize=10)
    ax.set_xlabel("nonzeros of a code")
    ax.set_ylabel("samples")
    open_frame(ax)
    return ax


def plot_objective(estimator: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the total objective over the iterations.

    Parameters
    ----------
    estimator : fitted clusterer
        One that iterates and has ``objective_``.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from l0graph import L0Graph
    >>> from l0graph.datasets import make_subspaces
    >>> from l0graph.plots import plot_objective
    >>> X, y = make_subspaces(30, n_subspaces=3, dim=2, ambient_dim=8, random_state=0)
    >>> plot_objective(L0Graph(3, random_state=0).fit(X)).get_ylabel()
    'objective'
    """
    objective = np.asarray(getattr(estimator, "objective_", np.empty(0)))
    if len(objective) < 3:
        msg = f"{type(estimator).__name__} has no objective per iteration: its codes are not reached by iterating"
        raise ValueError(msg)
    ax = axes_for(ax, 6.4, 4)
    first = 1 if _drops_at_once(objective) else 0
    ax.plot(
        np.arange(first, len(objective)), objective[first:], color=COLORS[0], linewidth=1.5, marker="o", markersize=3
    )
    ax.set_title(f"{objective[0]:.5g} at the start, {objective[-1]:.5g} after {len(objective) - 1} iterations", size=10)
    ax.set_xlabel("iteration" + ("   (the start is far above)" if first else ""))
    ax.set_ylabel("objective")
    open_frame(ax)
    return ax


def _drops_at_once(objective: np.ndarray) -> bool:
    """Whether the first step, drawn, would flatten all others to a line."""
    fall = objective[0] - objective[-1]
    return len(objective) > 2 and bool(objective[0] - objective[1] > 0.8 * fall > 0)


def plot_path(path: Sequence[PathPoint], y: ArrayLike | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw what changes along a path over ``l0_penalty``.

    Parameters
    ----------
    path : sequence of PathPoint
        What `l0_path` returns.
    y : array-like of shape (n_samples,), optional
        True classes. With them the accuracy is drawn, and the share of samples attached afterwards; without them
        nonzeros per code, components and objective, each relative to its largest value, which the legend names.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from l0graph import L0Graph, l0_path
    >>> from l0graph.datasets import make_subspaces
    >>> from l0graph.plots import plot_path
    >>> X, y = make_subspaces(30, n_subspaces=2, dim=2, ambient_dim=8, random_state=0)
    >>> path = l0_path(L0Graph(2, random_state=0), X, [0.1, 0.5])
    >>> [line.get_label() for line in plot_path(path, y).lines]
    ['accuracy', 'attached afterwards']
    """
    if not path:
        msg = "path is empty: give what l0_path returned"
        raise ValueError(msg)
    ax = axes_for(ax, 6.4, 4)
    curves: dict[str, list[float]]
    if y is None:
        raw = {
            "nonzeros per code": [point.n_nonzero for point in path],
            "components": [float(point.n_components) for point in path],
            "objective": [point.objective for point in path],
        }
        curves = {
            f"{name}, 1 is {max(values):,.4g}": [v / (max(values) or 1) for v in values] for name, values in raw.items()
        }
        ax.set_ylabel("relative to the largest")
    else:
        n_samples = len(path[0].labels)
        curves = {
            "accuracy": [clustering_accuracy(y, point.labels) for point in path],
            "attached afterwards": [point.n_attached / n_samples for point in path],
        }
        ax.set_ylabel("share of samples")
    styles = ((COLORS[0], "o-"), (COLORS[5], "s--"), (COLORS[2], "^:"))
    for (name, values), (color, style) in zip(curves.items(), styles[: len(curves)], strict=True):
        ax.plot([point.l0_penalty for point in path], values, style, color=color, label=name)
    if path[0].l0_penalty < path[-1].l0_penalty:
        ax.set_xscale("log")
    ax.set_ylim(-0.03, 1.05)
    ax.set_xlabel("l0_penalty")
    ax.legend(frameon=False)
    open_frame(ax)
    return ax

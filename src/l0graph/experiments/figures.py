"""Accuracy and mutual information over a parameter, as the paper's figures show them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .methods import METHODS
from .paper import METRICS
from .plans import CHOSEN, Run, Sweep, candidates, default
from .runner import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg")
_NAMES = {"AC": "Accuracy", "NMI": "Normalised mutual information"}
_AXES = {
    "l0_penalty": "weight λ of the l0-norm",
    "gamma": "weight γ of the regularisation",
    "n_neighbors": "number K of nearest neighbours",
}
# Told apart by dashes and marks, so that nothing is lost in grey.
_LINES: dict[str, dict[str, Any]] = {
    "kmeans": {"linestyle": (0, (1, 2)), "color": "0.55"},
    "spectral": {"linestyle": (0, (4, 1.5, 1, 1.5)), "color": "0.55"},
    "l1": {"linestyle": (0, (6, 2)), "color": "#0072b2"},
    "smce": {"linestyle": (0, (1, 1)), "color": "#009e73"},
    "omp": {"linestyle": (0, (3, 1, 1, 1, 1, 1)), "color": "#cc79a7"},
    "l0": {"linestyle": (0, (6, 2)), "color": "0.35"},
}
_BEST = {"l1": " (best weight)", "omp": " (best T)"}
_OURS: dict[str, Any] = {"color": "#d55e00", "marker": "o", "markersize": 4.5}
# Hollow and larger: where both are the same it frames the other's mark.
_PLAIN: dict[str, Any] = {"color": "black", "marker": "s", "markersize": 8, "markerfacecolor": "none", "linewidth": 1}


def draw(sweep: Sweep, results: Results) -> Figure | None:
    """Return the figure of a sweep, None where its data are missing."""
    points = _points(sweep, results)
    if points is None:
        return None
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        msg = "figures need matplotlib: install l0graph[plots]"
        raise ImportError(msg) from error
    figure = Figure(figsize=(9.6, 4.4), layout="constrained")
    for metric, ax in zip(METRICS, figure.subplots(1, 2), strict=True):
        _panel(ax, metric, sweep, points, results)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=9, handlelength=3.2)
    figure.suptitle(sweep.title)
    return figure


def save(figure: Figure, folder: Path, name: str) -> None:
    """Write a figure in all formats, each whole or not at all."""
    import matplotlib as mpl

    from ..files import atomic_write

    folder.mkdir(parents=True, exist_ok=True)
    # Neither a date nor random identifiers: the same figures give the same file. Letters stay letters.
    steady: Any = {"svg.hashsalt": name, "svg.fonttype": "none"}
    for ending in FORMATS:
        options: dict[str, Any] = {"metadata": {"Date": None}} if ending == "svg" else {"dpi": 150}
        with mpl.rc_context(steady), atomic_write(folder / f"{name}.{ending}", "wb") as file:
            figure.savefig(file, format=ending, **options)


def _points(sweep: Sweep, results: Results) -> dict[float, dict[str, Any]] | None:
    points = {}
    for value in sweep.values:
        row = results.get(sweep.point(value))
        if row is None:
            return None
        points[value] = row
    return points


def _panel(ax: Axes, metric: str, sweep: Sweep, points: dict[float, dict[str, Any]], results: Results) -> None:
    values = list(points)
    title = METHODS[sweep.method].title
    ax.plot(values, [row[metric] for row in points.values()], label=title, linewidth=2, zorder=3, **_OURS)
    plain = [row[f"plain {metric}"] for row in points.values()]
    ax.plot(values, plain, label=f"{title}, plain", zorder=4, **_PLAIN)
    for method in sweep.others:
        row = _level(sweep, method, results)
        if row is not None:
            name = metric if f"plain {metric}" not in row or method == "l0" else f"plain {metric}"
            label = METHODS[method].title + _BEST.get(method, "")
            ax.axhline(row[name], label=label, linewidth=1.6, zorder=1, **_LINES[method])
    if sweep.parameter == "n_neighbors":
        ax.set_xticks(values)
    elif max(values) / min(values) > 20:
        _logarithmic(ax, values)
    usual = default(sweep.method, sweep.problem)[sweep.parameter]
    ax.axvline(usual, color="0.8", linewidth=1, zorder=0)
    ax.set_xlabel(f"{_AXES[sweep.parameter]}  (default {usual:g})")
    ax.set_ylabel(_NAMES[metric])
    ax.set_ylim(*_limits(ax))
    ax.grid(axis="y", color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def _limits(ax: Axes) -> tuple[float, float]:
    """Return tenths around the lines, with room for marks."""
    lines = [line for line in ax.get_lines() if not str(line.get_label()).startswith("_")]
    heights = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in lines])
    return max(0.0, math.floor(10 * heights.min() - 0.2) / 10), min(1.02, math.ceil(10 * heights.max() + 0.2) / 10)


def _logarithmic(ax: Axes, values: list[float]) -> None:
    from matplotlib.ticker import NullFormatter, NullLocator

    ax.set_xscale("log")
    apart = math.log(values[-1] / values[0]) / 14
    labels, last = [], -math.inf
    for value in values:
        shown = math.log(value) - last >= apart
        labels.append(f"{value:g}" if shown else "")
        last = math.log(value) if shown else last
    ax.set_xticks(values, labels)
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_minor_formatter(NullFormatter())


def _level(sweep: Sweep, method: str, results: Results) -> dict[str, Any] | None:
    """Return the row of another method: of those it chooses from the one of best accuracy."""
    runs = [Run(sweep.problem, method, parameters) for parameters in candidates(method, sweep.problem)]
    rows = [results.get(run) for run in runs]
    there = [row for row in rows if row is not None]
    key = "plain AC" if method in CHOSEN else "AC"
    return max(there, key=lambda row: row[key]) if there else None

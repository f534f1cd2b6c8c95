"""The theory as an experiment: how much of the codes lies on samples of other subspaces.

    python examples/theory.py

Samples of a union of overlapping subspaces, skewed on each of them, are coded by the l0-graph, the l1-graph and
orthogonal matching pursuit. The subspace-preserving error is the mean share of a code's l1 mass on samples of other
subspaces: 0 is what Theorem 1 promises of the sparsest exact codes, whatever the arrangement, and what no fast method
can promise (tests/test_theory.py finds these codes exhaustively, for a dozen samples).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import track
from rich.table import Table

from l0graph import l0_codes, l1_codes, warmup
from l0graph.datasets import make_subspaces
from l0graph.metrics import subspace_preserving_error

try:
    from l0graph import omp_codes
except ImportError:  # not in every version
    omp_codes = None

PICTURE = Path("out") / "theory.png"
DRAWS = 5
UNION = {
    "n_samples": 50,
    "n_subspaces": 5,
    "dim": 4,
    "ambient_dim": 15,
    "arrangement": "overlapping",
    "overlap": 2,
    "distribution": "skewed",
    "noise": 0.0,
}
SWEEPS: dict[str, tuple[str, dict[str, list[Any]]]] = {
    "dimension of the subspaces": ("dim", {"dim": [3, 4, 5, 6, 7, 8]}),
    "noise": ("noise", {"noise": [0.0, 0.01, 0.02, 0.04, 0.06, 0.08]}),
    "dimension of what all share": ("overlap", {"dim": [6], "overlap": [1, 2, 3, 4, 5]}),
}

# Colours that differ for all kinds of sight, and in lightness too; line and marker say the same again.
LOOKS = {
    "l0": {"color": "#000000", "marker": "o", "linestyle": "-"},
    "l1": {"color": "#0072B2", "marker": "s", "linestyle": "--"},
    "OMP": {"color": "#E69F00", "marker": "^", "linestyle": ":"},
}
NAMES = {"l0": "l0-graph", "l1": "l1-graph", "OMP": "OMP, told the dimension"}


def methods() -> dict[str, Callable[[np.ndarray, int], Any]]:
    """Return the methods by name, as functions of samples and the dimension, which only OMP needs."""
    table = {"l0": lambda X, dim: l0_codes(X), "l1": lambda X, dim: l1_codes(X)}
    if omp_codes is not None:
        table["OMP"] = lambda X, dim: omp_codes(X, n_nonzero=dim)
    return table


def settings(sweep: dict[str, list[Any]], varied: str) -> list[dict[str, Any]]:
    """Return the union's parameters for each value of the sweep."""
    fixed = {name: values[0] for name, values in sweep.items() if name != varied}
    return [{**UNION, **fixed, varied: value} for value in sweep[varied]]


def error(code: Callable[[np.ndarray, int], Any], setting: dict[str, Any]) -> float:
    """Return the mean subspace-preserving error over the draws."""
    errors = []
    for seed in range(DRAWS):
        X, y = make_subspaces(**setting, random_state=seed)
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        errors.append(subspace_preserving_error(code(X, setting["dim"]).codes, y))
    return float(np.mean(errors))


def table_of(title: str, varied: str, values: list[Any], errors: dict[str, list[float]]) -> Table:
    """Return the errors of one sweep as a table."""
    table = Table(varied, *map(str, values), box=SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False)
    table.columns[0].min_width = 24
    for column in table.columns[1:]:
        column.justify = "right"
        column.min_width = 6
    best = np.argmin(list(errors.values()), axis=0)
    for row, (name, found) in enumerate(errors.items()):
        cells = (f"[bold]{e:.3f}[/]" if row == best[i] else f"{e:.3f}" for i, e in enumerate(found))
        table.add_row(NAMES[name], *cells)
    return table


def draw(results: dict[str, dict[str, list[float]]]) -> None:
    """Draw one panel for each sweep."""
    figure, axes = plt.subplots(1, len(results), figsize=(11, 3.6), sharey=True, layout="constrained")
    for ax, (title, errors) in zip(axes, results.items(), strict=True):
        varied, sweep = SWEEPS[title]
        for name, found in errors.items():
            ax.plot(sweep[varied], found, label=NAMES[name], linewidth=1.8, markersize=6, **LOOKS[name])
        ax.set_xlabel(title)
        ax.grid(alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylim(bottom=0)  # shared, so only once everything is drawn
    axes[0].set_ylabel("subspace-preserving error")
    axes[0].legend(frameon=False)
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=150)


def main() -> None:
    """Sweep, show, draw."""
    console = Console(width=max(100, Console().width))
    table = methods()
    if "OMP" not in table:
        console.print("this version of l0graph has no omp_codes: OMP is left out")
    with console.status("compiling the kernels: about a minute the first time"):
        warmup()
    results: dict[str, dict[str, list[float]]] = {}
    for title, (varied, sweep) in SWEEPS.items():
        rows = track(settings(sweep, varied), description=title, console=console, transient=True)
        columns = [[error(code, setting) for code in table.values()] for setting in rows]
        results[title] = dict(zip(table, map(list, zip(*columns, strict=True)), strict=True))
        console.print(table_of(f"error by {title}", varied, sweep[varied], results[title]))
    console.print(
        f"where not varied: {UNION['n_subspaces']} subspaces of dimension {UNION['dim']} (6 in the last table) in"
        f" {UNION['ambient_dim']}, sharing {UNION['overlap']} dimensions, {UNION['n_samples']} samples each;"
        f" mean of {DRAWS} draws"
    )
    draw(results)
    console.print(f"as a picture: {PICTURE}")


if __name__ == "__main__":
    import matplotlib as mpl

    mpl.use("Agg")
    main()

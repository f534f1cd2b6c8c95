"""Semi-supervised classification: error on the unlabelled samples, by share of labels and by graph.

    python benchmarks/semi_supervised.py [--data FOLDER] [--draws 10]

FOLDER (default: $L0GRAPH_DATA, or shared/data beside the repository) holds NAME.npz with X and y. Labels are drawn
stratified: the same share of every class, one sample at least. All graphs see the same draws; each is made once.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from time import perf_counter

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from l0graph import GraphLabelSpreading, L0Graph, warmup

DATA = Path(os.environ.get("L0GRAPH_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
SETS = {"yaleb_32x32": "Yale B, 32 x 32", "coil20": "COIL-20", "umist": "UMIST"}
GRAPHS = {
    "l0": GraphLabelSpreading("l0"),
    "l1": GraphLabelSpreading("l1"),
    "5-NN": GraphLabelSpreading("knn", n_neighbors=5),
}
SHARES = (0.05, 0.1, 0.3, 0.6)


class FixedGraph(L0Graph):
    """A graph that is known already."""

    def __init__(self, W=None):
        super().__init__()
        self.W = W

    def _graph(self, dictionary):
        del dictionary
        return self.W


def draw(y: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Return y with all but a share of the labels of each class hidden."""
    shown = np.concatenate(
        [rng.permutation(m := np.flatnonzero(y == c))[: max(1, round(share * len(m)))] for c in np.unique(y)]
    )
    labels = np.full_like(y, -1)
    labels[shown] = y[shown]
    return labels


def errors(X: np.ndarray, y: np.ndarray, W, draws: list[np.ndarray]) -> np.ndarray:
    """Return the error of each draw on its unlabelled samples."""
    fits = (GraphLabelSpreading(FixedGraph(W)).fit(X, labels).transduction_ for labels in draws)
    return np.array([np.mean((found != y)[labels == -1]) for found, labels in zip(fits, draws, strict=True)])


def main() -> None:
    """Run everything, show one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, help="folder of NAME.npz (default: %(default)s)")
    parser.add_argument("--draws", type=int, default=10, help="draws of labels (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=1, help="threads for the graphs (default: %(default)s)")
    options = parser.parse_args()
    console = Console(width=max(110, Console().width))
    table = Table(
        "data",
        "graph",
        "seconds:\ngraph",
        "\none draw",
        *(f"{share:.0%} labels" for share in SHARES),
        box=SIMPLE_HEAD,
        title=f"error on the unlabelled samples, mean and standard deviation of {options.draws} stratified draws",
    )
    table.columns[0].no_wrap = True
    for column in table.columns[2:]:
        column.justify = "right"
    warmup()
    for name, title in SETS.items():
        path = options.data / f"{name}.npz"
        if not path.is_file():
            console.print(f"skipped {title}: no {path}")
            continue
        with np.load(path, allow_pickle=False) as archive:
            X, y = archive["X"].astype(np.float64), archive["y"]
        rng = np.random.default_rng(0)
        draws = {share: [draw(y, share, rng) for _ in range(options.draws)] for share in SHARES}
        for graph, model in GRAPHS.items():
            start = perf_counter()
            W = model.set_params(n_jobs=options.jobs).fit(X, draws[SHARES[0]][0]).affinity_matrix_
            made = perf_counter() - start
            start = perf_counter()
            found = [errors(X, y, W, draws[share]) for share in SHARES]
            once = (perf_counter() - start) / (len(SHARES) * options.draws)
            cells = [f"{100 * e.mean():.1f} ± {100 * e.std():.1f} %" for e in found]
            table.add_row(title if graph == "l0" else "", graph, f"{made:.1f}", f"{once:.2f}", *cells)
        table.add_section()
    console.print(table)


if __name__ == "__main__":
    main()

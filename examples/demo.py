"""``make demo``: handwritten digits clustered by the l0-graph, beside the l1-graph and k-means.

Digits of one kind, as vectors of 64 grey values, lie near a subspace of few dimensions; the graphs use that, k-means
does not. Labels are used to judge the results and, in the lines marked *, to choose the penalty.
"""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from l0graph import L0Graph, L1Graph, warmup
from l0graph.metrics import clustering_accuracy, normalized_mutual_info
from l0graph.plots import plot_affinity

STAGES = ("l1 codes", "l0 codes", "embedding", "k-means")
COMMON = {"n_clusters": 10, "n_init": 20, "random_state": 0}
PICTURE = Path("out") / "digits-affinity.png"

# Marked *: the best accuracy on a grid from 0.05 to 3, found with the labels in sight.
GRAPHS = {
    "L1Graph": L1Graph(),
    "L0Graph": L0Graph(),
    "L1Graph, penalty 1.2 *": L1Graph(l1_penalty=1.2),
    "L0Graph, penalty 0.6 *": L0Graph(l0_penalty=0.6),
}


def quality(y: np.ndarray, labels: np.ndarray) -> tuple[str, str]:
    """Return accuracy and mutual information as text."""
    return f"{100 * clustering_accuracy(y, labels):.1f} %", f"{normalized_mutual_info(y, labels):.3f}"


def results(X: np.ndarray, y: np.ndarray) -> Table:
    """Fit everything, and return what came out as a table."""
    titles = ("method", "accuracy", "NMI", "nonzeros\nper code", "components\nof graph", "seconds:\nin all")
    table = Table(*titles, *(f"\n{stage}" for stage in STAGES), box=SIMPLE_HEAD, pad_edge=False)
    table.columns[0].no_wrap = True
    for column in table.columns[1:]:
        column.justify = "right"
    start = perf_counter()
    with threadpool_limits(1):  # more threads only slow so small a problem down
        labels = KMeans(**COMMON).fit_predict(X)
    table.add_row("KMeans", *quality(y, labels), "", "", f"{perf_counter() - start:.2f}")
    for name, graph in GRAPHS.items():
        graph.set_params(**COMMON, n_jobs=-1).fit(X)
        seconds = graph.stage_seconds_
        table.add_row(
            name,
            *quality(y, graph.labels_),
            f"{graph.codes_.nnz / len(X):.1f}",
            f"{graph.n_components_}",
            f"{sum(seconds.values()):.2f}",
            *(f"{seconds[stage]:.2f}" if stage in seconds else "" for stage in STAGES),
            style="bold" if isinstance(graph, L0Graph) else None,
        )
    return table


def main() -> None:
    """Cluster, show, draw."""
    console = Console(width=max(125, Console().width))
    X, y = load_digits(return_X_y=True)
    console.print(f"scikit-learn's digits: {X.shape[0]:,} samples, {X.shape[1]} features, 10 classes; seed 0")

    start = perf_counter()
    with console.status("compiling the kernels: about a minute the first time"):
        warmup()
    console.print(f"warm-up, not counted below: {perf_counter() - start:.1f} s")

    console.print(results(X, y))
    console.print("* penalty chosen with the labels in sight, as the best of a grid; the other lines are the defaults")

    name, graph = list(GRAPHS.items())[-1]
    ax = plot_affinity(graph.affinity_matrix_, graph.labels_)
    ax.set_title(f"digits: the affinity of {name.removesuffix(' *')}")
    PICTURE.parent.mkdir(exist_ok=True)
    ax.figure.savefig(PICTURE, dpi=150)
    console.print(f"the affinity of the last line, sorted by cluster: {PICTURE}")


if __name__ == "__main__":
    import matplotlib as mpl

    mpl.use("Agg")
    main()

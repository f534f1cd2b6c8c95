"""Which method, and which penalty: accuracy on real sets where nothing is chosen with labels.

``python benchmarks/choosing.py [NAME ...]`` prints a line for each set. All methods run with their defaults; "chosen"
is the l0-graph whose penalty, of nine, has the best `affinity_silhouette_scorer`, and "best" the accuracy that labels
would have chosen. Seconds are those of the l0-graph.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from sklearn.cluster import KMeans

from data import folder
from diagnostics import CLASSES, load
from l0graph import SMCE, L0Graph, L1Graph, OMPGraph, RegularizedL0Graph, SpectralGraph, warmup
from l0graph.metrics import affinity_silhouette_scorer, clustering_accuracy

METHODS = {
    "k-means": lambda k: KMeans(k, n_init=20, random_state=0),
    "spectral": lambda k: SpectralGraph(k, random_state=0),
    "OMP": lambda k: OMPGraph(k, random_state=0),
    "SMCE": lambda k: SMCE(k, random_state=0),
    "l1": lambda k: L1Graph(k, random_state=0),
    "regularised": lambda k: RegularizedL0Graph(k, random_state=0),
    "l0": lambda k: L0Graph(k, random_state=0),
}
PENALTIES = (0.02, 0.06, 0.12, 0.25, 0.5, 0.75, 1.0, 2.0, 4.0)


def main(names: list[str]) -> None:
    """Fit, score, print."""
    warnings.simplefilter("ignore")
    warmup()
    present = [name for name in CLASSES if (folder() / f"{name}.npz").is_file()]
    print(
        f"{'set':12}{'n':>6}{'d':>6}{'k':>4}",
        *(f"{name:>12}" for name in METHODS),
        "   chosen (penalty)  best  seconds",
    )
    for name in names or ["digits", *present]:
        X, y = load(name)
        k = len(np.unique(y))
        found = {}
        for method, make in METHODS.items():
            start = time.perf_counter()
            found[method] = clustering_accuracy(y, make(k).fit_predict(X))
        seconds = time.perf_counter() - start
        fits = [L0Graph(k, l0_penalty=penalty, random_state=0).fit(X) for penalty in PENALTIES]
        accuracies = [clustering_accuracy(y, fit.labels_) for fit in fits]
        chosen = int(np.argmax([affinity_silhouette_scorer(fit, X) for fit in fits]))
        print(
            f"{name:12}{len(X):6}{X.shape[1]:6}{k:4}",
            *(f"{accuracy:12.3f}" for accuracy in found.values()),
            f"{accuracies[chosen]:9.3f} ({PENALTIES[chosen]:4}) {max(accuracies):8.3f} {seconds:8.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])

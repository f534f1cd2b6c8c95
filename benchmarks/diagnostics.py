"""What diagnoses rest on: evidence and findings beside the accuracy, over penalties on real sets.

``python benchmarks/diagnostics.py [NAME ...]`` prints a line for each set and penalty; of the sets those that are at
hand.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from sklearn.datasets import load_digits

from data import folder
from l0graph import L0Graph, diagnose
from l0graph.metrics import clustering_accuracy

CLASSES = {
    "ionosphere": None,
    "heart": None,
    "lymphoma": None,
    "orl": None,
    "umist": None,
    "coil20": 8,
    "yaleb_32x32": 10,
    "isolet": None,
    "coil100": 20,
}
"""Sets, and how many of their classes are taken."""
SCALED = ("ionosphere", "heart")
"""Sets whose features are of different kinds."""
THRESHOLDS = (0.01, 0.03, 0.05, 0.08, 0.1, 0.125, 0.15, 0.2, 0.3)
"""Entries of codes below these become zero; l0_penalty is 50 times the square."""


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return samples and classes."""
    if name == "digits":
        return load_digits(return_X_y=True)
    with np.load(folder() / f"{name}.npz", allow_pickle=False) as archive:
        X, y = archive["X"].astype(float), archive["y"]
    if CLASSES[name]:
        X, y = X[y < CLASSES[name]], y[y < CLASSES[name]]
    if name in SCALED:
        spread = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)
    return X, y


def main(names: list[str]) -> None:
    """Fit, diagnose, print."""
    warnings.simplefilter("ignore")
    present = [name for name in CLASSES if (folder() / f"{name}.npz").is_file()]
    print("set         threshold  accuracy  attached  empty  separation    gap  nonzeros  residual  findings")
    for name in names or ["digits", *present]:
        X, y = load(name)
        for threshold in THRESHOLDS:
            fit = L0Graph(len(np.unique(y)), l0_penalty=50 * threshold**2, n_init=10, random_state=0).fit(X)
            found = diagnose(fit)
            seen = found.evidence
            print(
                f"{name:<12} {threshold:8.3f} {clustering_accuracy(y, fit.labels_):9.3f} {np.mean(~seen.kept):9.1%}"
                f" {np.mean(seen.nonzeros == 0):6.1%} {seen.separation:11.2f} {seen.gap or 0:6.2f}"
                f" {seen.nonzeros.mean():9.1f} {np.nanmedian(seen.residuals):9.2f} "
                f" {', '.join(f.severity[0].upper() + ' ' + f.name for f in found.findings)}",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])

"""
A few labels
============

Where a few samples have labels, these spread over the graph: ``GraphLabelSpreading`` is a classifier that takes -1 for
"unknown", as scikit-learn's own do. The error by how many labels of each class are known, over graphs of three kinds
and on two sets: digits, and samples of subspaces that all share a plane.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from l0graph import GraphLabelSpreading
from l0graph.datasets import make_subspaces

KNOWN, DRAWS = (1, 2, 5, 10, 20), 3
GRAPHS = {"l0": ("#000000", "o-"), "l1": ("#0072B2", "s--"), "knn": ("#E69F00", "^:")}
SETS = {
    "digits": load_digits(return_X_y=True),
    "subspaces": make_subspaces(
        60, n_subspaces=8, dim=6, ambient_dim=40, arrangement="overlapping", overlap=2, noise=0.01, random_state=0
    ),
}


def hide(y, known, rng):
    """Return labels with all but some of each class set to -1."""
    labels = np.full_like(y, -1)
    for label in np.unique(y):
        shown = rng.choice(np.flatnonzero(y == label), known, replace=False)
        labels[shown] = label
    return labels


def error(graph, X, y, known):
    """Return the mean error on the samples without labels, in percent."""
    wrong = []
    for seed in range(DRAWS):
        labels = hide(y, known, np.random.default_rng(seed))
        found = GraphLabelSpreading(graph, n_jobs=-1).fit(X, labels).transduction_
        wrong.append(np.mean((found != y)[labels == -1]))
    return 100 * np.mean(wrong)


# %%
# On digits nearest neighbours are a good graph already. Where classes are subspaces, near samples may be of any class,
# and the graphs that write samples with each other are far ahead.

fig, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for ax, (name, (X, y)) in zip(axes, SETS.items(), strict=True):
    for graph, (color, style) in GRAPHS.items():
        errors = [error(graph, X, y, known) for known in KNOWN]
        ax.plot(KNOWN, errors, style, color=color, label=graph)
        print(f"{name:9} {graph:>3}:", ", ".join(f"{e:.1f} %" for e in errors))
    ax.set(title=name, xlabel="labels of each class", xscale="log", ylim=(0, None))
    ax.set_xticks(KNOWN, KNOWN)
    ax.minorticks_off()
    ax.grid(alpha=0.3)
axes[0].set_ylabel("error on the others, percent")
axes[1].legend(title="graph", frameon=False)

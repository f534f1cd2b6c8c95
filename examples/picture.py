"""The picture in the README: ``python examples/picture.py`` writes docs/overview.png."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from l0graph import L0Graph
from l0graph.plots import plot_affinity, plot_embedding, plot_explanation

X, y = load_digits(return_X_y=True)
model = L0Graph(10, l0_penalty=0.6, random_state=0, n_jobs=-1).fit(X)

figure = plt.figure(figsize=(11, 4), layout="constrained")
left, middle, right = figure.subfigures(1, 3, width_ratios=(0.9, 1, 1))
for ax, sample in zip(left.subplots(3), (3, 7, 24), strict=True):
    plot_explanation(model, X, sample, (8, 8), n_atoms=3, ax=ax)
    ax.set_title("")
plot_affinity(model.affinity_matrix_, model.labels_, colorbar=False, ax=middle.subplots())
plot_embedding(model, ax=right.subplots())
left.suptitle("samples write each other")
middle.suptitle("the graph of that")
right.suptitle("its clusters")
figure.savefig(Path(__file__).parents[1] / "docs" / "overview.png", dpi=90)

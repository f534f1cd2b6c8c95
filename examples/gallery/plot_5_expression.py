"""
Gene expression
===============

Few samples, thousands of genes: samples of one tissue share a few programs of genes, each active to its own degree.
Made data of that kind: 4 tissues, 60 samples each, 2,000 genes, and 6 programs of which each is active in two tissues:
no program tells a tissue, only their combination does.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from l0graph import L0Graph, diagnose
from l0graph.metrics import clustering_accuracy
from l0graph.plots import plot_affinity, plot_embedding

TISSUES = {"a": [0, 1, 2], "b": [2, 3, 4], "c": [4, 5, 0], "d": [1, 3, 5]}
SAMPLES, GENES = 60, 2000
rng = np.random.default_rng(0)
programs = np.zeros((6, GENES))
for program in programs:
    program[rng.choice(GENES, 150, replace=False)] = rng.lognormal(0, 0.4, 150)
X = np.vstack([rng.gamma(1.0, 1.0, (SAMPLES, 3)) @ programs[active] for active in TISSUES.values()])
X += 0.2 * rng.standard_normal(X.shape)
y = np.repeat(np.arange(len(TISSUES)), SAMPLES)

# %%
# Preprocessing decides here. Programs add up from zero, so tissues are subspaces through the origin, until each gene is
# put on one scale, as is usual: that raises the genes without signal, noise alone, to the level of all others.

inputs = {"as measured": X, "genes scaled": StandardScaler(with_mean=False).fit_transform(X)}
for name, samples in inputs.items():
    near = KMeans(len(TISSUES), n_init=20, random_state=0).fit_predict(samples)
    fits = L0Graph(len(TISSUES), random_state=0), L0Graph(len(TISSUES), l0_penalty=0.1, random_state=0)
    found = [clustering_accuracy(y, labels) for labels in (near, *(fit.fit_predict(samples) for fit in fits))]
    print(f"{name:12}  k-means {found[0]:.3f}, l0-graph {found[1]:.3f}, l0-graph with l0_penalty=0.1 {found[2]:.3f}")

# %%
# Without knowing the tissues, the diagnosis of the second fit says as much.

print(diagnose(L0Graph(len(TISSUES), random_state=0).fit(inputs["genes scaled"])))

# %%
# And the first one:

model = L0Graph(len(TISSUES), random_state=0).fit(X)
print(diagnose(model))

fig, axes = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
plot_affinity(model.affinity_matrix_, model.labels_, ax=axes[0])
plot_embedding(model, ax=axes[1])

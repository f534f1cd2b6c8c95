"""
Handwritten digits
==================

Images of one digit lie near a subspace of few dimensions, so every image can be written with a few others, and those
are mostly of the same digit. The l0-graph keeps the few that pay for themselves.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from l0graph import L0Graph, diagnose
from l0graph.metrics import clustering_accuracy
from l0graph.plots import plot_affinity, plot_explanation, plot_members

X, y = load_digits(return_X_y=True)
model = L0Graph(n_clusters=10, l0_penalty=0.6, random_state=0, n_jobs=-1).fit(X)
print(f"accuracy {clustering_accuracy(y, model.labels_):.3f}, {model.codes_.nnz / len(X):.1f} nonzeros per code")

# %%
# Dark squares with little between them: the clusters hold together.

plot_affinity(model.affinity_matrix_, model.labels_)

# %%
# What is in each cluster, from the image that it holds most strongly to the one it holds least.

plot_members(model, X, (8, 8))

# %%
# Why an image is where it is: the code of a sample names the others that write it, with their weights.

fig, axes = plt.subplots(3, 1, figsize=(8, 5), layout="constrained")
for sample, ax in zip((3, 7, 42), axes, strict=True):
    plot_explanation(model, X, sample, (8, 8), n_atoms=8, ax=ax)

# %%
# Whether to trust the clusters can be asked without labels.

print(diagnose(model))

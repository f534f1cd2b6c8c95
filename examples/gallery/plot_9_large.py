"""
A large run
===========

With all samples as atoms the work grows as the square of their number. ``dictionary="auto"`` codes all over some
thousand exemplars that are spread over all samples: time and memory are then linear. Here 60,000 samples of 20
subspaces, from a file that is only read by blocks, with the progress reported on the way.
"""

import tempfile
from pathlib import Path
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np

from l0graph import L0Graph, progress, warmup
from l0graph.datasets import make_subspaces
from l0graph.metrics import clustering_accuracy
from l0graph.scale import open_matrix

warmup()
X, y = make_subspaces(3000, n_subspaces=20, dim=4, ambient_dim=50, arrangement="disjoint", noise=0.01, random_state=0)
mixed = np.random.default_rng(0).permutation(len(X))
X, y = X[mixed].astype(np.float32), y[mixed]
folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "points.npy"
np.save(path, X)

# %%
# A callback hears of every stage; a progress bar, or a log, is what one makes of it.

seen = {}


def listen(stage, done, total):
    """Count the reports of each stage."""
    seen[stage] = seen.get(stage, 0) + 1


sizes, seconds = (7_500, 15_000, 30_000, 60_000), []
for size in sizes:
    model = L0Graph(20, dictionary="auto", random_state=0, n_jobs=-1)
    source = open_matrix(path) if size == len(X) else X[:size]
    start = perf_counter()
    with progress(listen):
        model.fit(source)
    seconds.append(perf_counter() - start)
    print(f"{size:6,} samples: {seconds[-1]:5.1f} s, accuracy {clustering_accuracy(y[:size], model.labels_):.3f}")
print("stages:", ", ".join(seen))
folder.cleanup()

# %%

fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.plot(sizes, seconds, "o-", color="#0072B2")
ax.set(xlabel="samples", ylabel="seconds", ylim=(0, None), xlim=(0, None))
ax.grid(alpha=0.3)

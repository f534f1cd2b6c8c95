"""
Gross errors in single features
===============================

Dead pixels, saturated sensors, entries that someone typed wrong: errors that are large and few. ``outliers=True``
writes a sample as a combination of others *plus* a sparse error, so that the error pays for itself and not for wrong
neighbours.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits

from l0graph import L0Graph
from l0graph.metrics import clustering_accuracy

X, y = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
broken = X.copy()
hit = rng.random(X.shape) < 0.04
broken[hit] = 32.0  # twice the brightest value

# %%
# Clean, broken, and broken with the errors modelled. Images have norm one here, so the price of an error is far below
# that of a nonzero.

plain = L0Graph(10, l0_penalty=0.6, random_state=0, n_jobs=-1)
robust = clone(plain).set_params(outliers=True, outlier_penalty=0.04, l1_outlier_penalty=0.08)
print(f"clean                    {clustering_accuracy(y, plain.fit_predict(X)):.3f}")
print(f"broken                   {clustering_accuracy(y, plain.fit_predict(broken)):.3f}")
print(f"broken, outliers=True    {clustering_accuracy(y, robust.fit_predict(broken)):.3f}")

# %%
# What was found, in ``outliers_``: a sparse matrix as large as the samples, which have norm one there.

found = robust.outliers_
rightly = np.count_nonzero(found.toarray()[hit])
print(f"{hit.sum()} features were broken, {found.nnz} were found, {rightly} of them rightly")
scale = np.linalg.norm(broken, axis=1, keepdims=True)
mended = broken - scale * found.toarray()

titles = ("as it was", "broken", "found", "taken out")
fig, axes = plt.subplots(4, 8, figsize=(8, 4.4), layout="constrained")
for column, sample in zip(axes.T, range(20, 28), strict=True):
    for ax, image in zip(column, (X, broken, broken - mended, mended), strict=True):
        ax.imshow(image[sample].reshape(8, 8), cmap="gray_r", vmin=0, vmax=24)
        ax.set(xticks=[], yticks=[])
for ax, title in zip(axes[:, 0], titles, strict=True):
    ax.set_ylabel(title, rotation=0, ha="right", va="center")

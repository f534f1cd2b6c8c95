"""
Pixels of many bands
====================

A pixel of a hyperspectral image is a spectrum. One material under changing light, slope and moisture gives spectra of
a subspace of two or three dimensions: the same shapes, in other proportions. The scene here is made so, five fields
in 100 bands with noise; brightness varies more than the materials differ.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter, gaussian_filter1d
from sklearn.cluster import KMeans

from l0graph import L0Graph
from l0graph.metrics import clustering_accuracy

HEIGHT, WIDTH, BANDS, FIELDS = 36, 48, 100, 5
rng = np.random.default_rng(0)

centers = rng.uniform((0, 0), (HEIGHT, WIDTH), (FIELDS, 2))
rows, columns = np.mgrid[:HEIGHT, :WIDTH]
wobble = [24 * gaussian_filter(rng.standard_normal(rows.shape), 4) for _ in centers]
distances = [np.hypot(rows - r, columns - c) + w for (r, c), w in zip(centers, wobble, strict=True)]
truth = np.argmin(distances, axis=0)

common = gaussian_filter1d(rng.standard_normal(BANDS), 15, mode="reflect")
cube = np.empty((HEIGHT, WIDTH, BANDS))
for field in range(FIELDS):
    shapes = gaussian_filter1d(rng.standard_normal((3, BANDS)), 6, axis=1, mode="reflect")
    shapes = 0.12 + np.abs(shapes) + 0.5 * np.abs(common)
    here = truth == field
    cube[here] = rng.dirichlet((1, 1, 1), here.sum()) @ shapes
cube *= 0.4 + 0.6 * rng.random((HEIGHT, WIDTH, 1))
cube += 0.003 * rng.standard_normal(cube.shape)

# %%
# Each pixel is a sample; where it lies in the picture is not told to the methods. One field is small:
# ``min_fraction`` says which components of the graph are clusters, and which only fragments to attach elsewhere.

X, y = cube.reshape(-1, BANDS), truth.ravel()
model = L0Graph(FIELDS, min_fraction=0.1, random_state=0, n_jobs=-1).fit(X)
brightness = KMeans(FIELDS, n_init=20, random_state=0).fit_predict(X)

# %%
# Clusters have no order: to compare the pictures, each is given the number of the field it shares most pixels with.


def as_fields(labels):
    """Return labels renamed after the fields, as a picture."""
    names = [np.bincount(y[labels == k], minlength=FIELDS).argmax() for k in range(FIELDS)]
    return np.array(names)[labels].reshape(HEIGHT, WIDTH)


pictures = {
    "one band": cube[..., 50],
    "fields": truth,
    f"k-means, {clustering_accuracy(y, brightness):.3f}": as_fields(brightness),
    f"l0-graph, {clustering_accuracy(y, model.labels_):.3f}": as_fields(model.labels_),
}
fig, axes = plt.subplots(2, 2, figsize=(8, 6.2), layout="constrained")
for ax, (title, picture) in zip(axes.flat, pictures.items(), strict=True):
    ax.imshow(picture, cmap="gray" if picture.dtype.kind == "f" else "cividis")
    ax.set_title(title)
    ax.axis("off")

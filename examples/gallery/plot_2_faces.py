"""
Faces under changing light
==========================

Images of one face from one side, under any light, lie near a cone in a subspace of about nine dimensions, however
different they look; two faces under the same light look alike and lie in different subspaces. This is the setting of
the Extended Yale B set, which cannot be shipped: the faces here are made of random surfaces and skins, lit from random
directions, dark where they turn from the light. Where ``l0graph.datasets.load`` finds Yale B, that is taken.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.cluster import KMeans

from l0graph import L0Graph, L1Graph
from l0graph.datasets import DataNotFoundError, load
from l0graph.metrics import clustering_accuracy
from l0graph.plots import plot_members

SIDE = 32


def make_faces(n_faces, n_lights, rng):
    """Return images of Lambertian faces, each lit from directions of its own."""
    v, u = np.mgrid[-1 : 1 : SIDE * 1j, -1 : 1 : SIDE * 1j]
    head = np.sqrt(np.clip(1 - 0.55 * u**2 - 0.4 * v**2, 0.05, None))
    images = []
    for _ in range(n_faces):
        nose = 0.35 * np.exp(-((u / rng.uniform(0.1, 0.2)) ** 2) - ((v - 0.1) / rng.uniform(0.25, 0.4)) ** 2)
        eyes, at = np.zeros_like(u), rng.uniform(0.3, 0.42)
        for side in (-at, at):
            eyes += np.exp(-(((u - side) / 0.17) ** 2) - ((v + 0.25) / 0.11) ** 2)
        bumps = gaussian_filter(rng.standard_normal(u.shape), 3)
        surface = head + nose - 0.12 * eyes + 0.05 * bumps / bumps.std()
        dv, du = np.gradient(surface, 2 / SIDE)
        normals = np.dstack([-du, -dv, np.ones_like(u)]) / np.sqrt(1 + du**2 + dv**2)[..., None]
        spots = gaussian_filter(rng.standard_normal(u.shape), 2)
        mouth = np.exp(-((u / rng.uniform(0.2, 0.35)) ** 2) - ((v - rng.uniform(0.5, 0.62)) / 0.07) ** 2)
        skin = np.clip(0.7 + 0.12 * spots / spots.std() - 0.35 * eyes - 0.3 * mouth, 0.1, 1)
        lights = np.column_stack([rng.uniform(-1.2, 1.2, (n_lights, 2)), np.ones(n_lights)])
        lights /= np.linalg.norm(lights, axis=1, keepdims=True)
        shading = np.clip(np.einsum("hwc,lc->lhw", normals, lights), 0, None) + 0.03
        images.append((skin * shading).reshape(n_lights, -1))
    X = np.vstack(images)
    return X + 0.01 * rng.standard_normal(X.shape), np.repeat(np.arange(n_faces), n_lights)


try:
    faces = load("yaleb_32x32")
    first = faces.target < 10
    X, y = faces.images[first].reshape(-1, SIDE * SIDE).astype(float), faces.target[first]
except DataNotFoundError:
    X, y = make_faces(n_faces=10, n_lights=40, rng=np.random.default_rng(0))

# %%
# Three faces, a row each. k-means sorts by light.

fig, axes = plt.subplots(3, 8, figsize=(8, 3.2), layout="constrained")
for face, row in enumerate(axes):
    for image, ax in zip(X[y == face][::4], row, strict=False):
        ax.imshow(image.reshape(SIDE, SIDE), cmap="gray")
        ax.axis("off")

# %%
# The graphs sort by person.

labels = KMeans(10, n_init=20, random_state=0).fit_predict(X)
print(f"k-means   {clustering_accuracy(y, labels):.3f}")
for name, model in {"l1-graph": L1Graph(10), "l0-graph": L0Graph(10)}.items():
    model.set_params(random_state=0, n_jobs=-1).fit(X)
    print(f"{name}  {clustering_accuracy(y, model.labels_):.3f}, {model.codes_.nnz / len(X):.1f} nonzeros per code")

# %%

plot_members(model, X, (SIDE, SIDE), n_members=12)

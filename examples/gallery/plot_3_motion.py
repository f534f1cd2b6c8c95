"""
Motion segmentation
===================

Points that were tracked through a film: which move together? Under a camera far away the image positions of a rigid
body's points, all frames in one vector, lie in an affine space of three dimensions, whatever the body's motion. So
bodies are subspaces and a track is a sample. Here three bodies turn and move among each other.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from l0graph import L0Graph
from l0graph.metrics import clustering_accuracy

FRAMES, POINTS, BODIES = 30, 80, 3
LOOKS = [("#0072B2", "o"), ("#E69F00", "s"), ("#000000", "^")]


def rotation(axis, angle):
    """Return the rotation about an axis."""
    x, y, z = axis / np.linalg.norm(axis)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def make_tracks(rng, noise=0.001):
    """Return tracks of shape (points, frames, 2), and the body of each."""
    tracks = []
    for _ in range(BODIES):
        body = rng.standard_normal((POINTS, 3)) * rng.uniform(0.25, 0.45, 3)
        axis, turn = rng.standard_normal(3), rng.uniform(1.2, 2.2) * rng.choice([-1, 1])
        start, velocity = rng.uniform(-0.5, 0.5, 2), rng.uniform(-0.6, 0.6, 2)
        frames = [
            (body @ rotation(axis, turn * t).T)[:, :2] + start + velocity * t + 0.1 * np.sin(5 * t) * velocity[::-1]
            for t in np.linspace(0, 1, FRAMES)
        ]
        tracks.append(np.stack(frames, axis=1))
    tracks = np.concatenate(tracks)
    return tracks + noise * rng.standard_normal(tracks.shape), np.repeat(np.arange(BODIES), POINTS)


tracks, y = make_tracks(np.random.default_rng(3))
X = (tracks - tracks.mean(axis=1, keepdims=True)).reshape(len(tracks), -1)

# %%
# A track's mean place says nothing of its motion and is taken off. What remains is alike for all bodies up to small
# differences, so samples must be written closely: small penalties, that of the l1 codes above all. At the defaults the
# codes stop at what all tracks have in common.

default = L0Graph(BODIES, random_state=0).fit(X)
model = L0Graph(BODIES, l0_penalty=0.1, l1_penalty=0.001, random_state=0).fit(X)
near = KMeans(BODIES, n_init=20, random_state=0).fit_predict(X)
for name, labels in {"k-means": near, "l0-graph, defaults": default.labels_, "l0-graph": model.labels_}.items():
    print(f"{name:20} accuracy {clustering_accuracy(y, labels):.3f}")

fig, axes = plt.subplots(1, 2, figsize=(10, 4.4), sharex=True, sharey=True, layout="constrained")
for ax, labels, title in zip(axes, (near, model.labels_), ("k-means", "l0-graph"), strict=True):
    for body, (color, marker) in enumerate(LOOKS):
        for track in tracks[labels == body]:
            ax.plot(*track.T, color=color, linewidth=0.5, alpha=0.5)
        ax.scatter(*tracks[labels == body, -1].T, s=14, color=color, marker=marker)
    ax.set_title(f"{title}: tracks, and points in the last frame")
    ax.set_aspect("equal")

"""Spectral coordinates in the plane: a linear projection in which the clusters lie on a circle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..diagnostics.evidence import embedded_samples

_RIDGE = 1e-3
"""Relative to the mean squared length of the coordinates: keeps centres that nearly coincide from being torn apart."""
_OUTER, _FARTHEST = 1.1, 1.4
"""Radii from the first on are drawn shorter, so that all stay below the second; the circle has radius 1."""
_GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))


@dataclass(frozen=True)
class ClusterMap:
    """Positions of samples and of the centres of their clusters; the latter lie on the unit circle."""

    positions: np.ndarray
    centers: np.ndarray
    embedded: np.ndarray


def cluster_map(estimator: Any, shown: np.ndarray | None = None) -> ClusterMap:
    """Project the samples ``shown`` (all by default).

    The coordinates are rows of the embedding at unit norm, as k-means has them. The projection is the linear one that
    takes the clusters' mean coordinates nearest to equally spaced points of a circle, similar clusters side by side;
    so a sample between two clusters is one that the embedding leaves between them. Samples of a cluster that the
    embedding has at the same place are spread into a disc, those that hold to the cluster most in its middle.
    Attached samples have no coordinates and are put at the rim of their cluster's disc.
    """
    labels = np.unique(estimator.labels_, return_inverse=True)[1]
    embedded = embedded_samples(estimator)
    norms = np.linalg.norm(estimator.embedding_, axis=1, keepdims=True)
    rows = np.divide(estimator.embedding_, norms, out=np.zeros_like(estimator.embedding_), where=norms > 0)
    n_clusters = int(labels.max()) + 1
    means = np.array([rows[(labels == c) & embedded].sum(axis=0) for c in range(n_clusters)], dtype=np.float64)
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    means = np.divide(means, lengths, out=np.zeros_like(means), where=lengths > 0)
    centers = _circle(_tour(means @ means.T))
    projection = _projection(means, centers)

    shown = np.arange(len(labels)) if shown is None else shown
    positions = rows[shown].astype(np.float64) @ projection
    loose = norms[shown, 0] == 0
    positions[loose] = centers[labels[shown][loose]]
    positions += _spread(labels[shown], _strength(estimator, labels, shown), ~embedded[shown], n_clusters)
    radius = np.maximum(np.linalg.norm(positions, axis=1, keepdims=True), 1e-12)
    room = _FARTHEST - _OUTER
    shorter = np.where(radius > _OUTER, _OUTER + room * np.tanh((radius - _OUTER) / room), radius)
    return ClusterMap(positions * (shorter / radius), centers, embedded[shown])


def _tour(similarity: np.ndarray) -> np.ndarray:
    """Return the clusters in an order in which each is followed by the one most similar to it that is left."""
    left = np.ones(len(similarity), dtype=bool)
    order = [0]
    left[0] = False
    while left.any():
        candidates = np.flatnonzero(left)
        order.append(int(candidates[np.argmax(similarity[order[-1], candidates].round(6))]))
        left[order[-1]] = False
    return np.array(order)


def _circle(order: np.ndarray) -> np.ndarray:
    """Return a point of the unit circle for each cluster, in the given order clockwise from the top."""
    angles = np.empty(len(order))
    angles[order] = np.pi / 2 - 2 * np.pi * np.arange(len(order)) / len(order)
    return np.column_stack([np.cos(angles), np.sin(angles)])


def _projection(means: np.ndarray, centers: np.ndarray) -> np.ndarray:
    gram = means.T @ means
    ridge = _RIDGE * np.trace(gram) / len(gram) + 1e-300
    return np.linalg.solve(gram + ridge * np.eye(len(gram)), means.T @ centers)


def _strength(estimator: Any, labels: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """Return the sum of each shown sample's weights to its own cluster."""
    W = estimator.affinity_matrix_
    strength = np.zeros(len(shown))
    for c in range(int(labels.max()) + 1):
        members = np.flatnonzero(labels[shown] == c)
        strength[members] = W[shown[members]] @ (labels == c).astype(W.dtype)
    return strength


def _spread(labels: np.ndarray, strength: np.ndarray, attached: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return offsets by which the samples of each cluster fill a disc evenly; discs of neighbours do not meet."""
    widest = 0.42 * min(1.0, 2 * np.sin(np.pi / max(n_clusters, 2)))
    sizes = np.bincount(labels, minlength=n_clusters)
    offsets = np.zeros((len(labels), 2))
    for c in np.flatnonzero(sizes):
        members = np.flatnonzero(labels == c)
        members = members[np.lexsort((members, -strength[members], attached[members]))]
        rank = np.arange(len(members))
        radius = widest * np.sqrt((rank + 0.5) / sizes.max())
        angle = _GOLDEN_ANGLE * rank
        offsets[members] = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return offsets

"""What a fitted estimator shows of itself, measured once: the facts that findings, pictures and reports speak of."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from ..estimators.smce import SMCE
from ..graph.embedding import component_labels, spectral_embedding
from ..graph.fragments import large_components
from ..metrics import connectivity

_ROWS = 4096
"""Samples whose residuals are in memory at a time."""


@dataclass(frozen=True)
class Evidence:
    """Facts of a fit.

    Attributes
    ----------
    sizes : ndarray of shape (n_clusters,)
        Samples of each cluster.
    kept : ndarray of bool, shape (n_samples,)
        Samples that were embedded; the others were attached to clusters afterwards.
    isolated : ndarray of bool, shape (n_samples,)
        Samples without any edge.
    n_components, n_large : int
        Connected components of the graph, and how many of them were embedded.
    eigenvalues : ndarray
        Leading eigenvalues of the embedded part, descending, more of them than there are clusters where it has more.
    gaps : ndarray
        Relative eigengap behind each but the last: 1 where the clusters are disconnected, near 0 where nothing tells
        k clusters from k + 1; see `estimate_n_clusters`.
    inside : float
        Share of all weight that links samples of the same cluster.
    separation : float
        That share beyond chance: 0 for what the clusters' degrees alone would give, 1 where no link leaves a cluster.
    connectivity : ndarray of shape (n_clusters,)
        Algebraic connectivity of the embedded part of each cluster; 0 where it is in pieces, NaN for single samples.
    nonzeros : ndarray of shape (n_samples,) or None
        Nonzeros of each code, where the graph comes from codes.
    residuals : ndarray of shape (n_samples,) or None
        Norm of what each code leaves of its sample, relative to the sample's; NaN for zero samples. None where codes
        do not write samples.
    zero_rows, duplicates : ndarray of bool, shape (n_samples,)
        Samples that are zero; samples equal to an earlier one (after scaling to unit norm where that was asked for).
    """

    sizes: np.ndarray
    kept: np.ndarray
    isolated: np.ndarray
    n_components: int
    n_large: int
    eigenvalues: np.ndarray
    gaps: np.ndarray
    inside: float
    separation: float
    connectivity: np.ndarray
    nonzeros: np.ndarray | None
    residuals: np.ndarray | None
    zero_rows: np.ndarray
    duplicates: np.ndarray

    @property
    def gap(self) -> float | None:
        """The relative eigengap behind the last cluster; None where no eigenvalue is known behind it."""
        k = len(self.sizes)
        return float(self.gaps[k - 1]) if len(self.gaps) >= k else None


def gather_evidence(estimator: Any) -> Evidence:
    """Measure a fitted estimator; it stays as it is."""
    check_graph(estimator)
    W, labels = estimator.affinity_matrix_, estimator.labels_
    kept = embedded_samples(estimator)
    part = W if kept.all() else W[kept][:, kept]
    eigenvalues = leading_eigenvalues(estimator)
    X = estimator._fit_X
    zero_rows = ~X.any(axis=1)
    codes = getattr(estimator, "codes_", None)
    clusters = np.unique(labels, return_inverse=True)[1]
    inside, separation = _share_inside(W, clusters)
    return Evidence(
        sizes=np.bincount(clusters),
        kept=kept,
        isolated=np.diff(W.indptr) == 0,
        n_components=component_labels(W)[0],
        n_large=component_labels(part)[0],
        eigenvalues=eigenvalues,
        gaps=relative_gaps(eigenvalues),
        inside=inside,
        separation=separation,
        connectivity=_connectivity(part, clusters[kept], len(np.unique(clusters))),
        nonzeros=None if codes is None else np.diff(codes.indptr),
        residuals=_relative_residuals(estimator, zero_rows),
        zero_rows=zero_rows,
        duplicates=_duplicates(X) & ~zero_rows,
    )


def check_graph(estimator: Any) -> None:
    """Raise unless the estimator is a fitted clusterer with a graph of all its samples."""
    check_is_fitted(estimator)
    if hasattr(estimator, "exemplars_"):
        msg = "a fit over exemplars has no graph of all samples: fit without exemplars, or fit the exemplars alone"
        raise ValueError(msg)
    check_is_fitted(estimator, ["labels_", "affinity_matrix_"])


def embedded_samples(estimator: Any) -> np.ndarray:
    """Mark the samples that took part in the spectral embedding."""
    W = estimator.affinity_matrix_
    if estimator.fragments == "keep":
        return np.ones(W.shape[0], dtype=bool)
    return large_components(W, estimator.n_clusters, estimator.min_fraction)


def leading_eigenvalues(estimator: Any, n_eigenvalues: int | None = None) -> np.ndarray:
    """Return the leading eigenvalues of the part of the graph that was embedded, descending.

    By default half as many again as there are clusters, at least 8 more: so many show where the gap is. Where they
    cannot be computed, those that the fit itself used.
    """
    kept = embedded_samples(estimator)
    if n_eigenvalues is None:
        n_eigenvalues = estimator.n_clusters + max(8, min(20, estimator.n_clusters // 2))
    W = estimator.affinity_matrix_
    part = W if kept.all() else W[kept][:, kept]
    try:
        return spectral_embedding(part, min(n_eigenvalues, part.shape[0]))[1].astype(np.float64)
    except RuntimeError:  # the ones far behind the gap may lie too close together to be told apart
        return np.asarray(estimator.eigenvalues_, dtype=np.float64)


def relative_gaps(eigenvalues: np.ndarray) -> np.ndarray:
    """Return the gap behind each eigenvalue but the last, relative to the distance of the next one from 1."""
    distance = np.maximum(1 - eigenvalues, 0.0)
    # With nothing between the next eigenvalue and 1, the graph has more components yet: no gap at all.
    ratio = np.divide(distance[:-1], distance[1:], out=np.ones(max(0, len(distance) - 1)), where=distance[1:] > 1e-12)
    return 1 - np.minimum(ratio, 1.0)


def _share_inside(W: sp.csr_array, clusters: np.ndarray) -> tuple[float, float]:
    """Return the share of the weight inside clusters, and that beyond what their degrees would give by chance."""
    degrees = np.bincount(clusters, weights=np.asarray(W.sum(axis=1), dtype=np.float64).ravel())
    total = float(degrees.sum())
    if total == 0:
        return 0.0, 0.0
    # One cluster's rows at a time: a full graph has n^2 entries, and no copy of them all is made.
    blocks = [np.flatnonzero(clusters == c) for c in range(len(degrees))]
    inside = min(1.0, sum(float(W[block].sum(axis=0)[block].sum()) for block in blocks) / total)
    chance = float(((degrees / total) ** 2).sum())
    return inside, (inside - chance) / (1 - chance) if chance < 1 else 1.0


def _connectivity(part: sp.csr_array, clusters: np.ndarray, n_clusters: int) -> np.ndarray:
    values = np.full(n_clusters, np.nan)
    values[np.unique(clusters)] = connectivity(part, clusters)
    return values


def _relative_residuals(estimator: Any, zero_rows: np.ndarray) -> np.ndarray | None:
    X, codes = estimator._fit_X, getattr(estimator, "codes_", None)
    if codes is None or isinstance(estimator, SMCE):  # whose weights say how near, and do not add up to the sample
        return None
    outliers = getattr(estimator, "outliers_", None)
    residuals = np.full(len(X), np.nan)
    for start in range(0, len(X), _ROWS):
        rows = slice(start, start + _ROWS)
        left = X[rows] - codes[rows] @ X
        if outliers is not None:
            left -= outliers[rows].toarray()
        np.divide(
            np.linalg.norm(left, axis=1),
            np.linalg.norm(X[rows], axis=1),
            out=residuals[rows],
            where=~zero_rows[rows],
        )
    return residuals


def _duplicates(X: np.ndarray) -> np.ndarray:
    """Mark the samples that equal an earlier one in every bit (-0 counts as 0)."""
    seen: set[bytes] = set()
    repeated = np.zeros(len(X), dtype=bool)
    for i, row in enumerate(X):
        key = blake2b((row + 0.0).tobytes(), digest_size=16).digest()
        repeated[i] = key in seen
        seen.add(key)
    return repeated

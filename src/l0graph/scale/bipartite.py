r"""Clusters of many samples coded over few atoms: spectral clustering of the bipartite graph, from its smaller side.

B, the absolute codes, is (n, m), d its row sums, e its column sums. The leading singular vectors of D^-1/2 B E^-1/2 are
the spectral embedding of the graph that joins samples with atoms. On the atoms' side they are the eigenvectors of
E^-1/2 W E^-1/2 with W = B^T D^-1 B, and e are the row sums of W. So W is an affinity of the atoms like others, the way
from atom to atom by way of the samples; `cluster_graph` embeds it, components, fragments and all, and the samples'
vectors follow from the atoms' by one product. Nothing here is larger than W or one chunk of codes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from .._progress import report, stage
from .._threads import one_blas_thread
from ..graph.assign import assign_labels, relabel
from ..graph.cluster import GraphClustering, cluster_graph
from ..graph.fragments import attach
from ..graph.neighbors import most_similar, unit_rows

CHUNK = 65_536
"""Rows that are added to W at a time: always the same, since the order of a sum leaves a trace in its last bit."""


_SAMPLE = 20_000
"""Most samples among which k-means finds the clusters' centers; the others go to the nearest."""


@dataclass(frozen=True)
class BipartiteClustering:
    """Samples and atoms in the same clusters."""

    labels: np.ndarray
    """Of the samples, from 0 in the order of their first samples."""
    atom_labels: np.ndarray
    graph: GraphClustering
    """That of the atoms."""
    partners: np.ndarray
    """(2, n_empty): the samples without a code, and for each its most similar atom, -1 where it is like none."""


def chunks(blocks: Iterator[sp.csr_array], size: int = CHUNK) -> Iterator[sp.csr_array]:
    """Put blocks of rows together, or cut them, to chunks of ``size`` rows."""
    held: list[sp.csr_array] = []
    n_held = 0
    for block in blocks:
        while n_held + block.shape[0] >= size:
            cut = size - n_held
            held.append(block[:cut])
            yield _stacked(held)
            block, held, n_held = block[cut:], [], 0
        if block.shape[0]:
            held.append(block)
            n_held += block.shape[0]
    if held:
        yield _stacked(held)


def _stacked(parts: list[sp.csr_array]) -> sp.csr_array:
    return sp.csr_array(parts[0] if len(parts) == 1 else sp.vstack(parts, format="csr"))


def scaled(codes: sp.csr_array) -> sp.csr_array:
    """Return D^-1/2 |codes| in float64; rows without a code stay empty."""
    magnitude = sp.csr_array(abs(codes).astype(np.float64))
    sums = np.asarray(magnitude.sum(axis=1)).ravel()
    root = np.sqrt(np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0))
    magnitude.data *= np.repeat(root, np.diff(magnitude.indptr))
    return magnitude


def atom_affinity(blocks: Iterator[sp.csr_array], n_rows: int, n_atoms: int) -> sp.csr_array:
    """Return W from codes that come in blocks of rows."""
    W = sp.csr_array((n_atoms, n_atoms), dtype=np.float64)
    done = 0
    for chunk in chunks(blocks):
        S = scaled(chunk)
        W = sp.csr_array(W + S.T @ S)  # products commute, so W is symmetric to the last bit
        done += chunk.shape[0]
        report("affinity", done, n_rows)
    W.sort_indices()
    return W


def cluster_bipartite(
    blocks: Callable[[], Iterator[sp.csr_array]],
    W: sp.csr_array,
    n_rows: int,
    atoms: np.ndarray,
    n_clusters: int,
    *,
    partners: Callable[[np.ndarray], np.ndarray],
    **options: Any,
) -> BipartiteClustering:
    """Cluster the atoms by W and the samples with them.

    ``blocks`` starts the codes anew; ``partners`` returns the most similar atoms of samples, -1 for none; ``options``
    are `cluster_graph`'s.
    """
    # Its embedding, and what it makes of fragments; the clusters are found below, among the samples.
    graph = cluster_graph(W, n_clusters, X=atoms, **{**options, "n_init": 1})
    degrees = np.asarray(W.sum(axis=1)).ravel()
    root = np.sqrt(np.divide(1.0, degrees, out=np.zeros_like(degrees), where=degrees > 0))
    vectors = root[:, None] * graph.embedding
    embedded = np.asarray(graph.embedding.any(axis=1))
    with stage("k-means"):
        rows = _some_rows(blocks, vectors, n_rows, options["random_state"])
        if len(rows) < n_clusters:
            rows = np.concatenate([rows, unit_rows(graph.embedding[embedded])])
        names = ("n_init", "random_state", "n_jobs")
        found = assign_labels(rows, n_clusters, **{name: options[name] for name in names})
        sums = np.zeros((int(found.max()) + 1, rows.shape[1]))
        np.add.at(sums, found, rows)
        centers = sums / np.bincount(found)[:, None]
    with stage("labels"):
        atom_labels = _nearest(unit_rows(graph.embedding), centers)
        atom_labels = attach(unit_rows(atoms), atom_labels[embedded], embedded)
        votes = sp.csr_array((np.ones(len(atoms)), (np.arange(len(atoms)), atom_labels)))
        labels = np.empty(n_rows, dtype=np.int64)
        start = 0
        for chunk in chunks(blocks()):
            stop = start + chunk.shape[0]
            S = scaled(chunk)
            part = _nearest(unit_rows(S @ vectors), centers)
            loose = np.flatnonzero(part < 0)
            if len(loose):  # all of its atoms were left out of the embedding
                weights = (S[loose] @ votes).toarray()
                part[loose] = np.where(weights.any(axis=1), weights.argmax(axis=1), -1)
            labels[start:stop] = part
            start = stop
            report("labels", stop, n_rows)
        empty = np.flatnonzero(labels < 0)
        like = partners(empty) if len(empty) else empty
        labels[empty] = np.where(like >= 0, atom_labels[like], np.bincount(atom_labels).argmax())
    both = relabel(np.concatenate([labels, atom_labels]))
    return BipartiteClustering(both[:n_rows], both[n_rows:], graph, np.stack([empty, like]))


def _some_rows(
    blocks: Callable[[], Iterator[sp.csr_array]], vectors: np.ndarray, n_rows: int, random_state: Any
) -> np.ndarray:
    """Return embedded samples that k-means sees, unit rows: all, or so many as clusters need."""
    drawn = np.ones(n_rows, dtype=bool)
    if n_rows > _SAMPLE:
        drawn[:] = False
        drawn[check_random_state(random_state).choice(n_rows, _SAMPLE, replace=False)] = True
    parts, start = [], 0
    for chunk in chunks(blocks()):
        chosen = np.flatnonzero(drawn[start : start + chunk.shape[0]])
        parts.append(unit_rows(scaled(sp.csr_array(chunk[chosen])) @ vectors))
        start += chunk.shape[0]
    rows = np.concatenate(parts)
    return rows[rows.any(axis=1)]


def _nearest(rows: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Return each row's nearest center, -1 for rows of zeros."""
    with one_blas_thread():
        distances = (centers**2).sum(axis=1) - 2 * rows @ centers.T
    return np.where(rows.any(axis=1), distances.argmin(axis=1), -1)


def most_similar_atoms(rows: np.ndarray, atoms: np.ndarray) -> np.ndarray:
    """Return for each row the atom of largest absolute cosine, -1 for a row like none."""
    unit = unit_rows(atoms)
    together = np.concatenate([unit, unit_rows(rows)])
    nearest, cosine = most_similar(together, np.arange(len(unit), len(together)), np.arange(len(unit)))
    return np.where(cosine > 0, nearest, -1)

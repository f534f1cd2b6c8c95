"""Which samples a report shows where it cannot show all."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def strongest_links(W: sp.csr_array, sample: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the neighbours of a sample with the largest weights, and these, falling."""
    begin, end = W.indptr[sample : sample + 2]
    others, weights = W.indices[begin:end], W.data[begin:end]
    best = np.lexsort((others, -weights))[:most]
    return others[best], weights[best]


def shown_samples(W: sp.csr_array, clusters: np.ndarray, most: int) -> np.ndarray:
    """Return all samples, or ``most``: a quarter at even distances from each cluster, then neighbours of those.

    There is no chance in it. Clusters get places in proportion to their sizes, small ones at least two.
    """
    n = len(clusters)
    if n <= most:
        return np.arange(n)
    sizes = np.bincount(clusters)
    places = np.minimum(sizes, np.maximum(2, (most // 4) * sizes // n))
    even = [
        members[np.linspace(0, len(members) - 1, count).round().astype(np.int64)]
        for members, count in ((np.flatnonzero(clusters == c), places[c]) for c in range(len(sizes)))
    ]
    first = np.unique(np.concatenate(even))[:most]
    chosen = dict.fromkeys(first.tolist())
    # Nearest neighbours of all first, then the second nearest: so the strongest links are there for every sample.
    links = [strongest_links(W, sample, 5)[0].tolist() for sample in first.tolist()]
    for rank in range(5):
        for others in links:
            if len(chosen) >= most:
                break
            if rank < len(others):
                chosen[others[rank]] = None
    return np.sort(np.fromiter(chosen, dtype=np.int64))

"""The nearest samples of each sample, and the weights of the graph that they make."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .._threads import run_blocks
from ..kernels import nearest as kernel
from .working_set import Dictionary, Targets, row_norms, unit_float32


def nearest(dictionary: Dictionary, targets: Targets, n_neighbors: int, n_threads: int) -> np.ndarray:
    """Return the ``n_neighbors`` samples nearest to each target, (n_targets, n_neighbors), nearest first.

    Euclidean distances, compared in exact float64 order: of equally near samples the earlier one comes first. No
    sample is its own neighbour.
    """
    items = np.empty((len(targets), n_neighbors), dtype=np.int64)

    def block(start: int, stop: int) -> None:
        values = targets.values[start:stop]
        values.flags.writeable = False  # as those of the dictionary are, so that the kernel is compiled once
        norms = row_norms(values)
        keys = np.empty((len(values), n_neighbors))
        counts = np.zeros(len(values), dtype=np.int64)
        for first, cosines in dictionary.tiles(unit_float32(values, norms)):
            kernel.nearest(
                cosines,
                first,
                norms,
                dictionary.product_error,
                dictionary.X,
                dictionary.norms,
                values,
                targets.own[start:stop],
                items[start:stop],
                keys,
                counts,
            )

    dictionary.prepare()
    run_blocks(block, len(targets), dictionary.block_size(len(targets), n_threads), n_threads)
    return items


def neighbor_weights(items: np.ndarray, n_samples: int, *, symmetric: bool) -> sp.csr_array:
    """Return the adjacency of a nearest-neighbour list as integer CSR, (n_rows, n_samples).

    ``symmetric`` adds its transpose: samples that are neighbours both ways get the weight 2.
    """
    n_rows, n_neighbors = items.shape
    rows = np.repeat(np.arange(n_rows), n_neighbors)
    weights = sp.csr_array(
        (np.ones(items.size, dtype=np.int64), (rows, items.ravel())), shape=(n_rows, n_samples), dtype=np.int64
    )
    if symmetric:
        weights = sp.csr_array(weights + weights.T)
    weights.sort_indices()
    return weights

"""The nearest samples of each sample, and the weights of the graph that they make."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .._threads import blas_threads, run_rows
from ..kernels import nearest as kernel
from .working_set import Dictionary, Targets, row_norms


def nearest(dictionary: Dictionary, targets: Targets, n_neighbors: int, n_threads: int) -> np.ndarray:
    """Return the ``n_neighbors`` samples nearest to each target, (n_targets, n_neighbors), nearest first.

    Euclidean distances, compared in exact float64 order: of equally near samples the earlier one comes first. No
    sample is its own neighbour.
    """
    items = np.empty((len(targets), n_neighbors), dtype=np.int64)
    size = dictionary.block_size()
    for start in range(0, len(targets), size):
        block = slice(start, start + size)
        values = targets.values[block]
        values.flags.writeable = False  # as those of the dictionary are, so that the kernel is compiled once
        norms = row_norms(values)
        scale = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
        unit = (values * scale[:, None]).astype(np.float32)
        with blas_threads(n_threads):
            cosines = unit @ dictionary.unit.T
        run_rows(
            kernel.nearest,
            len(cosines),
            n_threads,
            cosines,
            norms,
            dictionary.product_error,
            dictionary.X,
            dictionary.norms,
            values,
            targets.own[block],
            items[block],
        )
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

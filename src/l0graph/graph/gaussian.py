"""The self-tuning Gaussian affinity, the graph of ordinary spectral clustering."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed

from .._threads import one_blas_thread, resolve_n_jobs
from .._validation import check_data, check_number

_BLOCK_BYTES = 64 * 2**20
_MOST_WEIGHTS = 2**31
"""A graph that might have more weights than this, 26 GB, is refused."""
_Result = TypeVar("_Result")
_Triplet = tuple[np.ndarray, np.ndarray, np.ndarray]


def self_tuning_affinity(
    X: np.ndarray,
    *,
    n_neighbors: int = 7,
    n_kept: int | None = 100,
    min_weight: float = 1e-8,
    n_jobs: int | None = None,
) -> sp.csr_array:
    r"""Link samples by a Gaussian kernel whose width is set by the neighbourhood of each.

    .. math:: W_{ij} = \exp\left(-\frac{\|x_i - x_j\|_2^2}{s_i s_j}\right), \quad W_{ii} = 0

    s_i is the distance of sample i to its ``n_neighbors``-th nearest other sample. Where that is zero, because sample i
    has so many equals, it is the distance to the nearest sample that differs; where all samples are equal, all weights
    are 1.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples in rows. Used as given.
    n_neighbors : int, default=7
        The neighbour whose distance is the scale; the farthest sample where there are not so many others.
    n_kept : int or None, default=100
        Keep a weight only if it is among the ``n_kept`` largest of one of its two samples. None keeps all.
    min_weight : float, default=1e-8
        Drop smaller weights.
    n_jobs : int or None, default=None
        Threads, as scikit-learn counts them: None is 1, -1 all cores. The weights do not depend on it.

    Returns
    -------
    csr_array of shape (n_samples, n_samples)
        Symmetric, weights from 0 to 1, of X's dtype, zero diagonal.

    Notes
    -----
    Memory beside X: blocks of 64 MiB per thread, and 12 bytes for each weight (8 in float32) up to three times while
    the graph is put together. Full, a graph has nearly n_samples^2 weights: 43 million over ``min_weight`` on the 7,200
    samples of COIL-100, 520 MB. With ``n_kept`` it has n_samples * n_kept to twice as many.

    What ``n_kept`` drops is not small in sum: the few large weights of a sample stand against thousands of middling
    ones, so the truncated graph has other, more local eigenvectors. Spectral clustering as published uses the full
    graph. On COIL-20 it clusters 43 % of the images rightly, with 100 weights kept 52 %, with 20 kept 71 %.

    References
    ----------
    L. Zelnik-Manor and P. Perona, "Self-tuning spectral clustering", 2004, who propose the scales with n_neighbors=7.

    Examples
    --------
    >>> import numpy as np
    >>> from l0graph import self_tuning_affinity
    >>> self_tuning_affinity(np.array([[0.0], [1.0], [3.0]]), n_neighbors=1).toarray().round(3)
    array([[0.   , 0.368, 0.011],
           [0.368, 0.   , 0.135],
           [0.011, 0.135, 0.   ]])
    """
    X = check_data(X)
    check_graph_parameters(n_neighbors, n_kept, min_weight, len(X))
    n_threads = resolve_n_jobs(n_jobs)
    scales = local_scales(X, n_neighbors, n_threads=n_threads)
    return self_tuning_graph(X, scales, n_kept, min_weight, n_threads)


def check_graph_parameters(n_neighbors: int, n_kept: int | None, min_weight: float, n_samples: int) -> None:
    """Raise where a parameter of `self_tuning_affinity` is not what it must be."""
    check_number(n_neighbors, "n_neighbors", at_least=1, integer=True)
    if n_kept is not None:
        check_number(n_kept, "n_kept", at_least=1, integer=True)
    check_number(min_weight, "min_weight", at_least=0, at_most=1)
    if n_samples * (n_samples if n_kept is None else min(n_samples, 2 * n_kept)) > _MOST_WEIGHTS:
        msg = (
            f"the graph of {n_samples} samples with n_kept={n_kept} might take over 26 GB: keep fewer weights,"
            " n_kept=100, say"
        )
        raise ValueError(msg)


def local_scales(X: np.ndarray, n_neighbors: int, X_new: np.ndarray | None = None, *, n_threads: int = 1) -> np.ndarray:
    """Return for each sample the distance to its neighbour of the given rank among X, never zero."""
    rank = min(n_neighbors, len(X) - (X_new is None)) - 1

    def block(queries: np.ndarray, squared: np.ndarray) -> np.ndarray:
        del queries
        scale = np.partition(squared, rank, axis=1)[:, rank]
        crowded = np.flatnonzero(scale == 0)
        others = squared[crowded]
        scale[crowded] = np.where(others > 0, others, np.inf).min(axis=1)
        return scale

    squared = np.concatenate(_map_distances(block, X, X_new, n_threads))
    # Infinite only where all samples are equal: every distance is 0 then, and any scale gives weights of 1.
    return np.sqrt(np.where(np.isfinite(squared), squared, 1.0))


def self_tuning_graph(
    X: np.ndarray, scales: np.ndarray, n_kept: int | None, min_weight: float, n_threads: int
) -> sp.csr_array:
    """Return the graph of samples with known scales; see `self_tuning_affinity`."""
    full = n_kept is None or n_kept >= len(X) - 1
    # Of a full graph half is enough.
    half = _weights(X, scales, None, scales, None if full else n_kept, min_weight, upper=full, n_threads=n_threads)
    return sp.csr_array(half.maximum(half.T))


def self_tuning_codes(
    X: np.ndarray,
    scales: np.ndarray,
    X_new: np.ndarray,
    n_neighbors: int,
    n_kept: int | None,
    min_weight: float,
    n_threads: int,
) -> sp.csr_array:
    """Return the weights between new samples and those of X, (n_new, n_samples)."""
    new_scales = local_scales(X, n_neighbors, X_new, n_threads=n_threads)
    n_kept = None if n_kept is None or n_kept >= len(X) else n_kept
    return _weights(X, scales, X_new, new_scales, n_kept, min_weight, upper=False, n_threads=n_threads)


def _weights(
    X: np.ndarray,
    scales: np.ndarray,
    X_new: np.ndarray | None,
    new_scales: np.ndarray,
    n_kept: int | None,
    min_weight: float,
    *,
    upper: bool,
    n_threads: int,
) -> sp.csr_array:
    """Return for each query the weights to X that are to be kept, with ``upper`` only those to later samples."""
    n = len(X)

    def block(queries: np.ndarray, squared: np.ndarray) -> _Triplet:
        squared /= new_scales[queries][:, None]
        squared /= scales
        np.negative(squared, out=squared)
        W = np.exp(squared, out=squared)
        kept = (min_weight <= W) & (W > 0)
        if upper:
            kept &= np.arange(n) > queries[:, None]
        if n_kept is not None:
            largest = np.argpartition(W, n - n_kept, axis=1)[:, n - n_kept :]
            among = np.zeros_like(kept)
            np.put_along_axis(among, largest, True, axis=1)
            kept &= among
        return kept.sum(axis=1), np.nonzero(kept)[1].astype(np.int32), W[kept].astype(X.dtype)

    counts, indices, data = zip(*_map_distances(block, X, X_new, n_threads), strict=True)
    indptr = np.concatenate(([0], np.cumsum(np.concatenate(counts))))
    if indptr[-1] < _MOST_WEIGHTS:
        indptr = indptr.astype(np.int32)  # with int64 here SciPy would make the column indices int64 too
    return sp.csr_array((np.concatenate(data), np.concatenate(indices), indptr), shape=(len(new_scales), n))


def _map_distances(
    function: Callable[[np.ndarray, np.ndarray], _Result], X: np.ndarray, X_new: np.ndarray | None, n_threads: int
) -> list[_Result]:
    """Call ``function(queries, squared)`` for one block of queries after the other; return the results in order.

    Queries are the samples of ``X_new``, or those of X itself for None; ``squared`` has their squared distances to all
    of X, infinite from a sample to itself. What is zero but for rounding is zero.
    """
    # Distances do not change when all samples move; rounding errors shrink with the norms.
    center = X.mean(axis=0, dtype=np.float64)
    points = X - center
    moved = points if X_new is None else X_new - center
    norms = np.einsum("ij,ij->i", points, points)
    # Each inner product is off by d roundings of |a| |b| <= (|a|^2 + |b|^2) / 2 at most.
    rounding = (2 * X.shape[1] + 8) * float(np.finfo(np.float64).eps)
    size = max(16, _BLOCK_BYTES // (3 * norms.itemsize * len(X)))

    def block(start: int) -> _Result:
        queries = np.arange(start, min(start + size, len(moved)))
        total = np.einsum("ij,ij->i", moved[queries], moved[queries])[:, None] + norms
        squared = moved[queries] @ points.T
        squared *= -2
        squared += total
        total *= rounding
        squared[squared <= total] = 0
        if X_new is None:
            squared[np.arange(len(queries)), queries] = np.inf
        return function(queries, squared)

    with one_blas_thread():  # the blocks are the parallel part
        return list(
            Parallel(n_jobs=n_threads, prefer="threads")(delayed(block)(start) for start in range(0, len(moved), size))
        )

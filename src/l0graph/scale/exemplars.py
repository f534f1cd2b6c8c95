"""Few samples that stand for many: chosen one far from the other, on the sphere, where x and -x are the same point."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._threads import one_blas_thread, resolve_n_jobs, run_blocks
from .._validation import check_number
from ..codes.working_set import row_norms, unit_float32
from .samples import Samples
from .sources import source_of

_ROUNDS = 4
"""Passes over the samples; each chooses an equal part of the exemplars."""
_FEWEST = 2000
_PER_CLUSTER = 100


def resolve_n_exemplars(dictionary: Any, n_samples: int, n_clusters: int) -> int:
    """Return the number of atoms that ``dictionary`` stands for; n_samples means all."""
    if isinstance(dictionary, str):
        if dictionary not in ("all", "auto"):
            msg = f"dictionary must be 'all', 'auto' or a number of exemplars, got {dictionary!r}"
            raise ValueError(msg)
        return n_samples if dictionary == "all" else min(n_samples, max(_FEWEST, _PER_CLUSTER * n_clusters))
    check_number(dictionary, "dictionary", at_least=2, integer=True)
    return min(int(dictionary), n_samples)


def select_exemplars(
    X: Any,
    n_exemplars: int,
    *,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    r"""Choose samples that are spread over all of them.

    As k-means++ does on the sphere, up to sign: the distance of a sample to those chosen is
    :math:`1 - \max_j \cos^2(x, x_j)`, and samples are drawn with chances proportional to it.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples in rows; also a memory map, zarr, HDF5 or Dask array, or what `open_matrix` returns.
    n_exemplars : int
        How many to choose, at most n_samples.
    random_state : int, RandomState or None, default=None
        Seeds the draws. The same seed gives the same exemplars, in memory or from disk, on any number of threads.
    n_jobs : int or None, default=None
        Threads.

    Returns
    -------
    ndarray of shape (n_exemplars,)
        Their indices, ascending.

    Notes
    -----
    Four passes over X. The first draws a quarter of them evenly, each of the others as many again by distance,
    which is sampling without replacement by exponential keys. n_samples n_exemplars n_features multiplications in
    all, and memory for two numbers a sample. Zero samples are drawn only where nothing else is left.

    Examples
    --------
    >>> import numpy as np
    >>> from l0graph.scale import select_exemplars
    >>> X = np.array([[1.0, 0.0], [1.0, 0.01], [-1.0, 0.0], [0.0, 1.0]])
    >>> len(select_exemplars(X, 2, random_state=0))
    2
    """
    samples = Samples(source_of(X), normalize=False)
    check_number(n_exemplars, "n_exemplars", at_least=1, at_most=len(samples), integer=True)
    samples.fingerprint()  # for its checks
    seed = int(check_random_state(random_state).randint(2**31))
    return choose(samples, int(n_exemplars), seed, resolve_n_jobs(n_jobs))


def choose(samples: Samples, n_exemplars: int, seed: int, n_threads: int) -> np.ndarray:
    """Return the indices of the exemplars; see `select_exemplars`. The samples have been checked."""
    n = len(samples)
    distances = np.ones(n, dtype=np.float32)
    chosen = np.empty(0, dtype=np.int64)
    latest = np.empty((0, samples.shape[1]), dtype=np.float32)
    bounds = np.linspace(0, n_exemplars, _ROUNDS + 1).astype(np.int64)
    for turn in range(_ROUNDS):
        count = int(bounds[turn + 1] - bounds[turn])
        drawn = np.empty(0, dtype=np.int64)
        keys = np.empty(0)
        values = np.empty((0, samples.shape[1]), dtype=np.float32)
        for start, stop in samples.passes("exemplars"):
            rows = samples.source.read(start, stop)
            unit = unit_float32(rows, row_norms(rows))
            here = distances[start:stop]
            if turn == 0:
                here[~unit.any(axis=1)] = 0
            _approach(here, unit, latest, n_threads)
            # Exponential keys: the smallest of E / w are a draw without replacement, by w. Those of a block come from
            # its place, so the draw can be made in any order.
            random = np.random.default_rng([seed, turn, start]).standard_exponential(stop - start)
            key = np.divide(random, here, out=1e30 * (1 + random), where=here > 0, dtype=np.float64)
            key[chosen[(chosen >= start) & (chosen < stop)] - start] = np.inf
            best = np.argpartition(key, min(count, len(key)) - 1)[:count]
            drawn = np.concatenate([drawn, best + start])
            keys = np.concatenate([keys, key[best]])
            values = np.concatenate([values, unit[best]])
            order = np.lexsort((drawn, keys))[:count]
            drawn, keys, values = drawn[order], keys[order], values[order]
        chosen = np.concatenate([chosen, drawn])
        latest = values
    return np.sort(chosen)


def _approach(distances: np.ndarray, unit: np.ndarray, latest: np.ndarray, n_threads: int) -> None:
    """Lower the distances of a block of samples to those from the atoms chosen last, in place."""
    if not len(latest):
        return

    def part(start: int, stop: int) -> None:
        for first in range(0, len(latest), 1024):
            cosines = unit[start:stop] @ latest[first : first + 1024].T
            np.square(cosines, out=cosines)
            closest = 1 - cosines.max(axis=1)
            # What is left of a sample that was chosen, or of its copy, is rounding.
            closest[closest < 1e-6] = 0
            np.minimum(distances[start:stop], closest, out=distances[start:stop])

    with one_blas_thread():
        run_blocks(part, len(unit), 512, n_threads)  # of fixed size: it may leave a trace in the last bit

"""Most similar samples, by blocks of inner products."""

from __future__ import annotations

import numpy as np
from joblib import Parallel, delayed

from .._threads import one_blas_thread

_BLOCK_BYTES = 64 * 2**20


def unit_rows(X: np.ndarray) -> np.ndarray:
    """Return X with rows of norm one, whatever their scale; zero rows stay zero."""
    largest = np.abs(X).max(axis=1, keepdims=True, initial=0.0)
    unit = np.divide(X, largest, out=np.zeros_like(X), where=largest > 0)
    norms = np.linalg.norm(unit, axis=1, keepdims=True)
    return np.divide(unit, norms, out=unit, where=norms > 0)


def most_similar(
    X: np.ndarray,
    queries: np.ndarray,
    candidates: np.ndarray,
    *,
    groups: np.ndarray | None = None,
    n_threads: int = 1,
) -> tuple[np.ndarray, np.ndarray]:
    """For each query sample the candidate of largest absolute cosine, and that cosine.

    ``X`` has unit rows; ``queries`` and ``candidates`` index them. With ``groups`` (one per sample of X), candidates
    of the query's own group do not count; where no candidate is left the cosine is -1. Of equals the first wins.
    """
    atoms = X[candidates]
    size = max(16, _BLOCK_BYTES // (X.itemsize * max(1, len(candidates))))

    def block(start: int) -> tuple[np.ndarray, np.ndarray]:
        chosen = queries[start : start + size]
        cosines = np.abs(X[chosen] @ atoms.T)
        if groups is not None:
            cosines[groups[chosen][:, None] == groups[candidates][None, :]] = -1
        best = cosines.argmax(axis=1)
        return candidates[best], cosines[np.arange(len(chosen)), best]

    with one_blas_thread():  # the blocks are the parallel part
        parts = Parallel(n_jobs=n_threads, prefer="threads")(
            delayed(block)(start) for start in range(0, len(queries), size)
        )
    if not parts:
        return np.empty(0, dtype=np.int64), np.empty(0)
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])

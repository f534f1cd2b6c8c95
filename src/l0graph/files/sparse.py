"""Compressed sparse matrices from parts that nobody vouches for."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp


def compressed(
    data: np.ndarray, indices: np.ndarray, starts: np.ndarray, shape: tuple[int, ...], *, by_rows: bool
) -> Any:
    """Return the matrix, or raise a ValueError where the parts are none.

    SciPy's own check passes starts that go up and down where there are no entries, and its functions then crash.
    """
    n_lines, n_places = shape if by_rows else shape[::-1]
    fits = (
        all(part.ndim == 1 for part in (data, indices, starts))
        and indices.dtype.kind in "iu"
        and starts.dtype.kind in "iu"
        and len(data) == len(indices)
        and len(starts) == n_lines + 1
        and starts[0] == 0
        and bool(np.all(starts[1:] >= starts[:-1]))
        and int(starts[-1]) == len(indices)
        and (len(indices) == 0 or (int(indices.min()) >= 0 and int(indices.max()) < n_places))
    )
    if not fits:
        msg = f"the parts of a sparse matrix do not make one of shape {tuple(shape)}"
        raise ValueError(msg)
    return (sp.csr_array if by_rows else sp.csc_array)((data, indices, starts), shape=shape)

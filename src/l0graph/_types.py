"""What the methods return."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import numpy as np
import scipy.sparse as sp


class Status(Enum):
    """How a method ended; the value is the message for a person."""

    CONVERGED = "converged: the stopping rule was met"
    MAX_ITER = "stopped at max_iter before the stopping rule was met"


@dataclass(frozen=True)
class CodeResult:
    """Codes and how they were reached.

    Attributes
    ----------
    codes : csr_array of shape (n_rows, n_samples)
        Row i is the code of sample ``rows[i]`` (of sample i where no rows were chosen). The entry of the
        sample itself is zero. Where the samples were an array of torch or CuPy, a sparse matrix of that library on
        the same device, and ``gap`` an array there; see `to_scipy`.
    objective : ndarray
        Total objective over the coded rows, per iteration, from the starting point on.
    n_iter : int
        Iterations done.
    status : Status
        How the iteration ended.
    gap : ndarray of shape (n_rows,) or None
        For convex methods: a certified bound on how far each row's objective is above its minimum.
    outliers : csr_array of shape (n_rows, n_features) or None
        Where gross errors were modelled: what was taken out of each row as such.
    """

    codes: sp.csr_array
    objective: np.ndarray
    n_iter: int
    status: Status
    gap: np.ndarray | None = field(default=None)
    outliers: sp.csr_array | None = field(default=None)

"""Compile the kernels once, so that no later call pays for it."""

from __future__ import annotations

import numpy as np

from .codes.l0 import l0_codes
from .codes.l1 import l1_codes
from .codes.omp import omp_codes
from .codes.regularized import regularized_l0_codes
from .codes.smce import smce_codes


def warmup() -> None:
    """Compile all kernels for float32 and float64; where the cache folder is writable this is done once for good.

    Examples
    --------
    >>> from l0graph import warmup
    >>> warmup()
    """
    X = np.random.RandomState(0).standard_normal((12, 6))
    for dtype in (np.float64, np.float32):
        # A small step lets atoms enter, which takes every branch of the iteration.
        l0_codes(X.astype(dtype), l0_penalty=1e-3, lipschitz=0.1, outliers=True, max_iter=3)
        l1_codes(X.astype(dtype), affine=True)
        omp_codes(X.astype(dtype))
        regularized_l0_codes(X.astype(dtype), max_sweeps=1)
        smce_codes(X.astype(dtype))

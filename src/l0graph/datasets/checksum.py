"""What a data set says, whatever form it came in, as one number."""

from __future__ import annotations

import hashlib

import numpy as np

_BLOCK_ROWS = 4096


def content_checksum(X: np.ndarray, y: np.ndarray) -> str:
    """Return the SHA-256 of samples and labels: of the shape, the values as float64 and the labels as int32.

    The number type of the file, its compression and its container leave no trace.
    """
    digest = hashlib.sha256(f"{X.shape[0]} {X.shape[1]}\n".encode())
    for start in range(0, len(X), _BLOCK_ROWS):
        digest.update(np.ascontiguousarray(X[start : start + _BLOCK_ROWS], dtype="<f8").data)
    digest.update(np.ascontiguousarray(y, dtype="<i4").data)
    return digest.hexdigest()

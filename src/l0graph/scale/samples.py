"""The samples of a source as the methods take them: checked, and scaled to unit norm if asked."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np

from .._progress import report
from ..graph.neighbors import unit_rows
from .sources import Source

PASS_ROWS = 8192
"""Rows of a block in a pass over all samples. Fixed, since the bits of a product may depend on it; fewer where rows
are long."""
_PASS_BYTES = 2**25


class Samples:
    """Samples in blocks of rows, C-contiguous, float32 or float64."""

    def __init__(self, source: Source, normalize: bool) -> None:
        self.source = source
        self.normalize = normalize
        self.shape = source.shape
        self.dtype = source.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Return rows start to stop."""
        return self.prepared(self.source.read(start, stop))

    def prepared(self, rows: np.ndarray) -> np.ndarray:
        """Return rows read elsewhere as the methods take them."""
        rows = np.ascontiguousarray(rows, dtype=self.dtype)
        return unit_rows(rows) if self.normalize else rows

    def passes(self, stage: str) -> Iterator[tuple[int, int]]:
        """Yield the blocks of a pass, always the same ones."""
        size = int(max(16, min(PASS_ROWS, _PASS_BYTES // (self.shape[1] * self.dtype.itemsize))))
        for start in range(0, len(self), size):
            stop = min(start + size, len(self))
            yield start, stop
            report(stage, stop, len(self))

    def fingerprint(self) -> str:
        """Check all samples and return a digest of them."""
        digest = hashlib.blake2b(digest_size=16)
        bound = np.sqrt(np.finfo(self.dtype).max / (4 * self.shape[1]))
        for start, stop in self.passes("reading"):
            rows = self.source.read(start, stop)
            digest.update(rows.data)
            largest = max(float(rows.max()), -float(rows.min()))
            if not largest <= bound:
                _explain(rows, start, bound)
        return digest.hexdigest()

    def take(self, indices: np.ndarray) -> np.ndarray:
        """Return some of the samples, in one pass."""
        taken = np.empty((len(indices), self.shape[1]), dtype=self.dtype)
        for start, stop in self.passes("exemplars"):
            here = np.flatnonzero((indices >= start) & (indices < stop))
            if len(here):
                taken[here] = self.source.read(start, stop)[indices[here] - start]
        return self.prepared(taken)

    def load(self, into: np.ndarray) -> np.ndarray:
        """Write all samples, as the methods take them, into an array."""
        for start, stop in self.passes("loading"):
            into[start:stop] = self.rows(start, stop)
        return into


def _explain(rows: np.ndarray, start: int, bound: float) -> None:
    """Raise over the first value that is not finite, or too large."""
    finite = np.isfinite(rows)
    if finite.all():
        msg = f"X has entries as large as {np.abs(rows).max():.3g}, whose squares overflow {rows.dtype}: rescale X"
        raise ValueError(msg)
    row, column = np.argwhere(~finite)[0]
    msg = f"X has {rows[row, column]} at row {start + row}, column {column}: finite numbers are needed, fill or drop it"
    raise ValueError(msg)

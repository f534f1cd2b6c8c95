"""Products with X: which atoms correlate with a block of residuals, answered exactly.

The bulk is one float32 matrix product of unit vectors per block. Its rounding error has a rigorous bound, and
what falls within it of a threshold is decided by exact float64 inner products (`kernels.screen`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np

from .._threads import blas_threads, run_rows
from .._validation import check_data, check_rows
from ..kernels import screen

BLOCK_BYTES = 256 * 2**20
"""Memory for one block of correlations; results do not depend on it."""


@dataclass(frozen=True)
class Targets:
    """The samples to be coded: some of the atoms, or new ones."""

    values: np.ndarray
    """(n_targets, n_features), of the atoms' dtype."""
    own: np.ndarray
    """For each target its index among the atoms, where it must not be used; -1 for a new sample."""

    def __len__(self) -> int:
        return len(self.own)


@dataclass(frozen=True)
class Block:
    """Residuals of some targets, about to be compared with all atoms."""

    own: np.ndarray
    """As in `Targets`."""
    residuals: np.ndarray
    """(rows, n_features), float64."""


def row_norms(X: np.ndarray) -> np.ndarray:
    """Return the Euclidean norms of rows, in float64."""
    return np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64))


class Dictionary:
    """The samples as atoms, prepared once for all products with them.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Checked data; see `dictionary_of`.
    """

    def __init__(self, X: np.ndarray) -> None:
        # Numba compiles read-only and writable arrays separately: always read-only, so always one version.
        self.X = X.view()
        self.X.flags.writeable = False
        self.norms = row_norms(X)
        self.max_norm = float(self.norms.max(initial=0.0))

    @property
    def n_samples(self) -> int:
        """Number of atoms."""
        return self.X.shape[0]

    @cached_property
    def unit(self) -> np.ndarray:
        """Atoms of norm one in float32; zero atoms stay zero."""
        scale = np.divide(1.0, self.norms, out=np.zeros_like(self.norms), where=self.norms > 0)
        unit = np.empty(self.X.shape, dtype=np.float32)
        np.multiply(self.X, scale[:, None], out=unit, casting="same_kind")
        return unit

    @property
    def product_error(self) -> float:
        """Bound on the error of a float32 cosine, whatever the order of summation.

        d roundings of partial sums, one of each product, and one of each factor's entries, all relative to
        sum |u_t r_t| <= 1.
        """
        return (self.X.shape[1] + 4) * float(np.finfo(np.float32).eps) / 2

    @cached_property
    def _groups(self) -> tuple[np.ndarray, np.ndarray]:
        """For each atom the first atom equal to it or to its negative, and its rank among those."""
        return self._grouped(up_to_sign=True)

    @cached_property
    def copies(self) -> tuple[np.ndarray, np.ndarray]:
        """For each atom the first atom equal to it, and its rank among those."""
        return self._grouped(up_to_sign=False)

    def _grouped(self, up_to_sign: bool) -> tuple[np.ndarray, np.ndarray]:
        """Group equal atoms.

        Equal means equal up to the rounding of a normalisation (x and 2x, once of norm one, can differ in
        the last bit): rows are compared on a grid of 64 units in the last place of the largest norm.
        """
        first = np.arange(self.n_samples)
        rank = np.zeros(self.n_samples, dtype=np.int64)
        if self.max_norm == 0.0:
            return first, rank
        grid = self.max_norm * 64 * float(np.finfo(self.X.dtype).eps)
        seen: dict[bytes, list[int]] = {}
        for i, x in enumerate(self.X):
            steps = np.rint(x / grid)
            sign = np.sign(steps[np.argmax(steps != 0)]) if up_to_sign else 1.0
            key = blake2b((steps * sign + 0.0).tobytes(), digest_size=16).digest()
            group = seen.setdefault(key, [i, 0])  # first atom, members so far
            first[i], rank[i] = group
            group[1] += 1
        return first, rank

    def block_size(self) -> int:
        """Rows whose correlations with all atoms fit into `BLOCK_BYTES`."""
        row_bytes = 4 * self.n_samples + 20 * self.X.shape[1]
        return int(np.clip(BLOCK_BYTES // row_bytes, 16, 1024))

    def _cosines(self, block: Block, n_threads: int) -> tuple[np.ndarray, np.ndarray]:
        norms = row_norms(block.residuals)
        scale = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
        unit = (block.residuals * scale[:, None]).astype(np.float32)
        with blas_threads(n_threads):
            return unit @ self.unit.T, norms

    def largest_above(
        self,
        block: Block,
        bounds: np.ndarray,
        members: np.ndarray,
        n_members: np.ndarray,
        n_items: int,
        n_threads: int,
        *,
        shifts: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return for each row up to ``n_items`` atoms whose correlation with it is above its bound, and their number.

        With ``shifts``, correlations less the row's shift are compared, and of atoms equal up to sign both count. The
        row's members are passed over, and so are all but one of equal atoms. No item means that no such atom exists.
        """
        cosines, norms = self._cosines(block, n_threads)
        items = np.empty((len(norms), n_items), dtype=np.int64)
        counts = np.empty(len(norms), dtype=np.int64)
        run_rows(
            screen.largest_above,
            len(norms),
            n_threads,
            cosines,
            norms,
            bounds,
            np.zeros(len(norms)) if shifts is None else shifts,
            self.product_error,
            self.X,
            self.norms,
            block.residuals,
            block.own,
            *(self._groups if shifts is None else self.copies),
            members,
            n_members,
            items,
            counts,
        )
        return items, counts

    def strongest(
        self, block: Block, members: np.ndarray, n_members: np.ndarray, n_threads: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return for each row the atom of largest absolute correlation, -1 for none, and that correlation.

        The row's members are passed over, and so are all but one of equal atoms; of equal correlations the first wins.
        """
        cosines, norms = self._cosines(block, n_threads)
        items = np.empty(len(norms), dtype=np.int64)
        values = np.empty(len(norms))
        run_rows(
            screen.strongest,
            len(norms),
            n_threads,
            cosines,
            norms,
            self.product_error,
            self.X,
            self.norms,
            block.residuals,
            block.own,
            *self._groups,
            members,
            n_members,
            items,
            values,
        )
        return items, values

    def all_at_least(
        self, block: Block, bounds: np.ndarray, n_threads: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return all atoms whose correlation with a row is at least its bound, as ``(offsets, items, correlations)``.

        Row b has the items from ``offsets[b]`` to ``offsets[b + 1]``, in ascending order.
        """
        cosines, norms = self._cosines(block, n_threads)
        offsets = np.zeros(len(norms) + 1, dtype=np.int64)
        counts = np.empty(len(norms), dtype=np.int64)
        items = np.empty(0, dtype=np.int64)
        values = np.empty(0)
        for fill in (False, True):
            run_rows(
                screen.all_at_least,
                len(norms),
                n_threads,
                cosines,
                norms,
                bounds,
                self.product_error,
                self.X,
                self.norms,
                block.residuals,
                block.own,
                offsets,
                items,
                values,
                counts,
                fill,
            )
            if not fill:
                np.cumsum(counts, out=offsets[1:])
                items = np.empty(offsets[-1], dtype=np.int64)
                values = np.empty(offsets[-1])
        return offsets, items, values


def targets_of(dictionary: Dictionary, rows: Any, X_new: Any) -> Targets:
    """Return what is to be coded: the samples of X at ``rows``, all for None, or those of ``X_new``."""
    if X_new is None:
        rows = check_rows(rows, dictionary.n_samples)
        everything = len(rows) == dictionary.n_samples and np.array_equal(rows, np.arange(len(rows)))
        return Targets(dictionary.X if everything else dictionary.X[rows], rows)
    if rows is not None:
        msg = "rows and X_new exclude each other: rows are samples of X, X_new are others"
        raise ValueError(msg)
    X_new = check_data(X_new, name="X_new", min_samples=1)
    if X_new.shape[1] != dictionary.X.shape[1]:
        msg = f"X_new has {X_new.shape[1]} features but X has {dictionary.X.shape[1]}: they must be the same"
        raise ValueError(msg)
    return Targets(X_new.astype(dictionary.X.dtype, copy=False), np.full(len(X_new), -1))


def dictionary_of(X: np.ndarray | Dictionary) -> Dictionary:
    """Return the prepared form of X; what is prepared already passes through."""
    return X if isinstance(X, Dictionary) else Dictionary(check_data(X))

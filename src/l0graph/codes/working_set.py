"""Products with X: which atoms correlate with a block of residuals, answered exactly.

The bulk is a float32 matrix product of unit vectors, a block of residuals with a tile of atoms at a time. Its rounding
error has a rigorous bound, and what falls within it of a threshold is decided by exact float64 inner products
(`kernels.screen`). A block's methods run on the calling thread; blocks are what runs in parallel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn import get_config

from .._threads import block_size, one_blas_thread
from .._validation import check_data, check_rows
from ..kernels import screen

_TINY = 1e-37
"""What a float32 weight may be off by where it has no digits left."""
# None of these leaves a trace in a result.
_ROWS = 512
"""Most rows of a block."""
_TILE = 4096
"""Atoms that a block is compared with at once."""
_SKETCH = 128
"""Directions of a sketch."""
_SKETCH_SAMPLES = 4096
"""Samples that they are found from; fewer do not need a sketch."""
_SKETCH_ENERGY = 0.8
"""Share of the samples' squares that a sketch must hold to be of use."""


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
        unit = np.empty(self.X.shape, dtype=np.float32)
        for start in range(0, self.n_samples, _TILE):
            rows = slice(start, start + _TILE)
            unit[rows] = unit_float32(self.X[rows], self.norms[rows])
        unit.flags.writeable = False
        return unit

    @cached_property
    def weights(self) -> np.ndarray:
        """Norms relative to the largest, in float32."""
        return (self.norms / (self.max_norm or 1.0)).astype(np.float32)

    @property
    def product_error(self) -> float:
        """Bound on the error of a float32 cosine times its weight, whatever the order of summation.

        d roundings of partial sums, one of each product, one of each factor's entries, and one of the weight, all
        relative to sum |u_t r_t| <= 1.
        """
        return (self.X.shape[1] + 6) * float(np.finfo(np.float32).eps) / 2

    @cached_property
    def sketch(self) -> Sketch | None:
        """The atoms in few dimensions, where that is a good picture of them and much less work."""
        return Sketch.of(self)

    @cached_property
    def groups(self) -> tuple[np.ndarray, np.ndarray]:
        """For each atom the first atom equal to it or to its negative, and its rank among those."""
        return equal_rows(self.X, self.max_norm, up_to_sign=True)

    @cached_property
    def copies(self) -> tuple[np.ndarray, np.ndarray]:
        """For each atom the first atom equal to it, and its rank among those."""
        return equal_rows(self.X, self.max_norm, up_to_sign=False)

    def prepare(self) -> None:
        """Compute now what the first block would compute, so that blocks on several threads find it there."""
        for name in ("unit", "weights", "groups", "copies"):
            getattr(self, name)

    def block_size(self, n_rows: int, n_threads: int) -> int:
        """Return the rows of a block: few enough for scikit-learn's ``working_memory`` and to keep all threads busy.

        A row takes its correlations with a tile of atoms, its residual in float64 and float32, and a code under way.
        """
        budget = int(get_config()["working_memory"] * 2**20) // n_threads
        row_bytes = 4 * min(self.n_samples, _TILE) + 24 * self.X.shape[1] + 8192
        return block_size(n_rows, int(np.clip(budget // row_bytes, 1, _ROWS)), n_threads)

    def tiles(self, rows: np.ndarray, atoms: np.ndarray | None = None) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the products of rows with the unit atoms, or others in their place: ``(first atom, products)``."""
        atoms = self.unit if atoms is None else atoms
        # Tiles of equal size, but for rounding, that stay in the cache until they have been looked through.
        size = -(-len(atoms) // max(1, -(-len(atoms) // _TILE)))
        for first in range(0, len(atoms), size):
            yield first, rows @ atoms[first : first + size].T

    def largest(
        self,
        block: Block,
        bounds: np.ndarray,
        floors: np.ndarray,
        members: np.ndarray,
        n_members: np.ndarray,
        n_items: int,
        *,
        shifts: np.ndarray | None = None,
    ) -> Scan:
        """Return for each row the ``n_items`` atoms of largest correlation over its floor, and which rows violate.

        With ``shifts``, correlations less the row's shift are compared, and of
        atoms equal up to sign both count. The row's members are passed over, and so are all but one of equal atoms.
        """
        norms = row_norms(block.residuals)
        state = _Heaps(len(norms), n_items)
        no_shifts = np.zeros(len(norms))
        for first, cosines in self.tiles(unit_float32(block.residuals, norms)):
            screen.largest(
                cosines,
                first,
                self.weights,
                norms * self.max_norm,
                bounds,
                floors,
                no_shifts if shifts is None else shifts,
                self.product_error,
                self.X,
                block.residuals,
                block.own,
                *(self.groups if shifts is None else self.copies),
                members,
                n_members,
                *state.arrays,
            )
        cutoffs = np.where(state.counts == n_items, state.keys[:, 0], floors)
        cutoffs += (self.product_error + _TINY) * norms * self.max_norm
        return Scan(state.items, state.counts, state.violated, cutoffs)

    def largest_of_sketch(
        self, sketch: Sketch, block: Block, members: np.ndarray, n_members: np.ndarray, n_items: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """As `largest`, of the sketch's correlations, which are near the true ones and no more."""
        norms = row_norms(block.residuals)
        state = _Heaps(len(norms), n_items)
        nothing = np.zeros(len(norms))
        for first, products in self.tiles(unit_float32(block.residuals, norms) @ sketch.basis, sketch.coordinates):
            screen.largest(
                products,
                first,
                self.weights,
                norms * self.max_norm,
                nothing + np.inf,
                nothing,
                nothing,
                0.0,
                self.X,
                block.residuals,
                block.own,
                *self.groups,
                members,
                n_members,
                *state.arrays,
            )
        return state.items, state.counts

    def strongest(self, block: Block, members: np.ndarray, n_members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return for each row the atom of largest absolute correlation, -1 for none, and that correlation.

        The row's members are passed over, and so are all but one of equal atoms; of equal correlations the first wins.
        """
        norms = row_norms(block.residuals)
        items = np.full(len(norms), -1, dtype=np.int64)
        values = np.zeros(len(norms))
        for first, cosines in self.tiles(unit_float32(block.residuals, norms)):
            screen.strongest(
                cosines,
                first,
                self.weights,
                norms * self.max_norm,
                self.product_error,
                self.X,
                block.residuals,
                block.own,
                *self.groups,
                members,
                n_members,
                items,
                values,
            )
        return items, values

    def all_at_least(self, block: Block, bounds: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return all atoms whose correlation with a row is at least its bound, as ``(offsets, items, correlations)``.

        Row b has the items from ``offsets[b]`` to ``offsets[b + 1]``, in ascending order.
        """
        norms = row_norms(block.residuals)
        found: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []  # rows, items, correlations of each tile
        for first, cosines in self.tiles(unit_float32(block.residuals, norms)):
            offsets = np.zeros(len(norms) + 1, dtype=np.int64)
            counts = np.empty(len(norms), dtype=np.int64)
            items = np.empty(0, dtype=np.int64)
            values = np.empty(0)
            for fill in (False, True):
                screen.all_at_least(
                    cosines,
                    first,
                    self.weights,
                    norms * self.max_norm,
                    bounds,
                    self.product_error,
                    self.X,
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
            # The counts are those of the second call, which decides by exact correlations.
            found.append((np.repeat(np.arange(len(norms)), counts), items, values))
        rows, items, values = (np.concatenate(parts) for parts in zip(*found, strict=True))
        order = np.argsort(rows, kind="stable")  # tiles come in ascending order
        offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(norms)))])
        return offsets, items[order], values[order]


@dataclass(frozen=True)
class Scan:
    """The atoms that correlate most with each row of a block."""

    items: np.ndarray
    """(rows, capacity), in no particular order."""
    counts: np.ndarray
    """How many they are."""
    violated: np.ndarray
    """Whether any atom's exact correlation is above the row's bound."""
    cutoffs: np.ndarray
    """No atom that is neither an item nor a member correlates more than that."""

    def selected(self, chosen: np.ndarray) -> Scan:
        """Return that of some of the rows."""
        return Scan(self.items[chosen], self.counts[chosen], self.violated[chosen], self.cutoffs[chosen])


class _Heaps:
    """What a scan for the largest has found so far."""

    def __init__(self, n_rows: int, n_items: int) -> None:
        self.items = np.empty((n_rows, n_items), dtype=np.int64)
        self.keys = np.empty((n_rows, n_items))
        self.counts = np.zeros(n_rows, dtype=np.int64)
        self.violated = np.zeros(n_rows, dtype=np.bool_)

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """As the kernel takes them."""
        return self.items, self.keys, self.counts, self.violated


@dataclass(frozen=True)
class Sketch:
    """The atoms' coordinates in the few directions that hold most of them.

    A product with it takes a fraction of the time and shows which atoms are worth a look. Nothing is decided by it.
    """

    basis: np.ndarray
    """(n_features, n_directions), orthonormal, float32."""
    coordinates: np.ndarray
    """(n_samples, n_directions), of the unit atoms, float32."""

    @staticmethod
    def of(dictionary: Dictionary) -> Sketch | None:
        """Return the sketch where it pays, or None."""
        n, d = dictionary.X.shape
        if d < 3 * _SKETCH or n < _SKETCH_SAMPLES:
            return None
        with one_blas_thread():
            sample = dictionary.unit[np.linspace(0, n - 1, _SKETCH_SAMPLES).astype(np.int64)]
            # Two power iterations on a random start come close enough to the leading directions.
            directions = np.random.RandomState(0).standard_normal((len(sample), _SKETCH)).astype(np.float32)
            for _ in range(3):
                basis = np.linalg.qr(sample.T @ directions)[0]
                directions = sample @ basis
            if np.sum(directions**2) < _SKETCH_ENERGY * np.sum(sample**2):
                return None
            coordinates = np.empty((n, _SKETCH), dtype=np.float32)
            for start in range(0, n, _TILE):
                np.matmul(dictionary.unit[start : start + _TILE], basis, out=coordinates[start : start + _TILE])
        return Sketch(basis, coordinates)


def unit_float32(rows: np.ndarray, norms: np.ndarray) -> np.ndarray:
    """Return rows divided by their norms, in float32; zero rows stay zero."""
    scale = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    return (rows * scale[:, None]).astype(np.float32)


def equal_rows(X: np.ndarray, largest_norm: float, *, up_to_sign: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return for each row the first row equal to it, and its rank among those.

    Equal means equal up to the rounding of a normalisation (x and 2x, once of norm one, can differ in
    the last bit): rows are compared on a grid of 64 units in the last place of the largest norm.
    """
    n, d = X.shape
    if largest_norm == 0.0:
        return np.arange(n), np.zeros(n, dtype=np.int64)
    grid = largest_norm * 64 * float(np.finfo(X.dtype).eps)
    # Two hashes, linear in the grid's integers modulo 2^64: that of -x is minus that of x.
    multipliers = np.random.RandomState(0).randint(0, 2**64, size=(d, 2), dtype=np.uint64) | np.uint64(1)
    keys = np.empty((n, 2), dtype=np.uint64)
    size = max(1, 2**22 // d)
    for start in range(0, n, size):
        steps = np.rint(X[start : start + size] / grid).astype(np.int64).view(np.uint64)
        keys[start : start + size] = steps @ multipliers
    if up_to_sign:
        negative = keys[:, 0] > -keys[:, 0]
        keys[negative] = -keys[negative]
    order = np.lexsort((np.arange(n), keys[:, 1], keys[:, 0]))
    starts = np.ones(n, dtype=bool)
    starts[1:] = (keys[order[1:]] != keys[order[:-1]]).any(axis=1)
    begins = np.flatnonzero(starts)
    group = np.cumsum(starts) - 1
    first, rank = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    first[order] = order[begins[group]]
    rank[order] = np.arange(n) - begins[group]
    return first, rank


def targets_of(dictionary: Dictionary, rows: Any, X_new: Any) -> Targets:
    """Return what is to be coded: the samples of X at ``rows``, all for None, or those of ``X_new``.

    What is prepared already, as ``X_new``, passes through.
    """
    if isinstance(X_new, Targets):
        return X_new
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

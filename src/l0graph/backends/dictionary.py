"""The samples as atoms on a device, prepared once, and products of residuals with all of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from .namespaces import Space, space_of

_TILE = 2**22
"""Entries of X that are worked on at once where the work is entry by entry."""

_MORE = 16
"""Atoms whose exact distances are taken beyond those asked for."""


def tiles(n: int, d: int) -> Iterator[slice]:
    """Yield slices of n rows of d entries each, small enough for work entry by entry."""
    size = max(1, _TILE // d)
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


class Atoms:
    """X with one more row, the zero atom: it is what padding points to.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        float32 or float64, finite.
    """

    def __init__(self, X: Any) -> None:
        self.space = space_of(X)
        xp = self.space.xp
        self.dtype = X.dtype
        self.n, self.d = X.shape
        self.X = xp.concat([X, self.space.zeros((1, self.d), X.dtype)])
        wide = self.space.wide
        self.norms = xp.concat(
            [xp.sqrt(xp.sum(xp.astype(self.X[rows, :], wide) ** 2, axis=1)) for rows in tiles(self.n + 1, self.d)]
        )
        self.max_norm = float(self.space.to_numpy(xp.max(self.norms)))

    @cached_property
    def unit(self) -> Any:
        """Atoms of norm one in float32; zero atoms stay zero."""
        xp = self.space.xp
        inverse = xp.where(self.norms > 0, 1 / xp.where(self.norms > 0, self.norms, 1.0), 0.0)
        # The product is taken in the wider type, as an atom's norm may be out of float32's range.
        return xp.concat(
            [
                xp.astype(xp.astype(self.X[rows, :], inverse.dtype) * inverse[rows][:, None], xp.float32)
                for rows in tiles(self.n + 1, self.d)
            ]
        )

    @property
    def product_error(self) -> float:
        """Bound on the error of a float32 cosine, whatever the order of summation."""
        return (self.d + 8) * float(np.finfo(np.float32).eps) / 2

    @cached_property
    def groups(self) -> tuple[Any, Any]:
        """The atoms' weights in products, zero for all but the first of equal ones, and each atom's substitute.

        Equal means up to sign and to the rounding of a normalisation. The substitute of a first atom is the second one,
        which stands in where the first is the sample itself; the zero atom for all others.
        """
        xp = self.space.xp
        n = self.n
        if self.max_norm == 0.0:
            return self.norms, xp.full((n + 1,), n, dtype=xp.int64, device=self.space.device)
        eps = float(np.finfo(np.float32 if self.dtype == xp.float32 else np.float64).eps)
        grid = self.max_norm * 64 * eps
        # Two hashes, linear in the grid's integers modulo 2^64: that of -x is minus that of x.
        bits = np.random.RandomState(0).randint(0, 2**64, size=(self.d, 2), dtype=np.uint64) | np.uint64(1)
        factors = self.space.asarray(bits.view(np.int64))
        keys = []
        for rows in tiles(n, self.d):
            steps = xp.astype(xp.round(xp.astype(self.X[rows, :], self.norms.dtype) / grid), xp.int64)
            hashes = [xp.sum(steps * factors[None, :, c], axis=1) for c in range(2)]
            negative = hashes[0] > -hashes[0]
            keys.append(xp.stack([xp.where(negative, -h, h) for h in hashes], axis=1))
        key = xp.concat(keys)
        order = xp.argsort(key[:, 1], stable=True)
        order = xp.take(order, xp.argsort(xp.take(key[:, 0], order), stable=True))
        key = xp.take(key, order, axis=0)
        same = xp.all(key[1:, :] == key[:-1, :], axis=1)
        no = self.space.zeros((1,), xp.bool)
        repeats = xp.concat([no, same])  # whether a place in the order repeats the one before it
        second = repeats & ~xp.concat([no, repeats[:-1]])
        back = xp.argsort(order)
        weights = xp.where(xp.take(repeats, back), 0.0, self.norms[:n])
        after = xp.concat([xp.where(second, order, n)[1:], xp.full((1,), n, dtype=xp.int64, device=self.space.device)])
        substitute = xp.take(after, back)
        end = xp.full((1,), n, dtype=xp.int64, device=self.space.device)
        return xp.concat([weights, self.space.zeros((1,), weights.dtype)]), xp.concat([substitute, end])

    def cosines(self, residuals: Any) -> tuple[Any, Any]:
        """Return the residuals' float32 products with the unit atoms, both of norm one, and the residuals' norms."""
        xp = self.space.xp
        norms = xp.sqrt(xp.sum(residuals * residuals, axis=1))
        scaled = residuals / xp.where(norms > 0, norms, 1.0)[:, None]
        return self.space.product(xp.astype(scaled, xp.float32), self.unit.T), norms

    def strongest(self, residuals: Any, own: Any, members: Any, k: int) -> tuple[Any, Any, Any]:
        """Return for each row k atoms of large correlation, roughly these sizes, and what all others are at most.

        A row's own atom (the zero atom for a new sample), its members and all but one of equal atoms are passed over.
        Correlations are bounded by float32 products with their error.
        """
        xp = self.space.xp
        products, norms = self.cosines(residuals)
        weights, substitutes = self.groups
        relative = xp.astype(weights / (self.max_norm or 1.0), xp.float32)
        partner = xp.take(substitutes, own)
        stand_in = xp.take_along_axis(products, partner[:, None], axis=1)
        size = xp.abs(products) * relative[None, :]
        # The substitute counts only here, where the sample is the first of its group.
        weight = xp.astype(xp.take(self.norms, partner) / (self.max_norm or 1.0), xp.float32)
        stand_in = xp.abs(stand_in) * weight[:, None]
        size = self.space.put(size, xp.concat([own[:, None], members], axis=1), -1.0)
        is_member = xp.any(members == partner[:, None], axis=1) | (partner == self.n)
        extra = xp.where(is_member[:, None], -1.0, stand_in)
        size = xp.concat([size, extra], axis=1)
        k = min(k, self.n)
        values, items = self.space.largest(size, k + 1)
        items = xp.where(items == self.n + 1, partner[:, None], items)
        items = xp.where(values > 0, items, self.n)
        sizes = xp.astype(xp.where(values > 0, values, 0.0), norms.dtype)
        unit = norms * self.max_norm
        return items[:, :k], sizes[:, :k] * unit[:, None], (sizes[:, k] + self.product_error) * unit

    def nearest(self, values: Any, own: Any, k: int) -> Any:
        """Return the k atoms nearest to each row, nearest first, of equally near ones the earlier first."""
        space, xp = self.space, self.space.xp
        wide = xp.astype(values, space.wide)
        squares = self.norms[: self.n] ** 2
        # The nearest by one product, and a few more, whose distances are then taken entry by entry.
        near = 2 * wide @ xp.astype(self.X[: self.n, :], space.wide).T - squares[None, :]
        near = xp.where(space.arange(self.n)[None, :] == own[:, None], -float("inf"), near)
        _, items = space.largest(near, min(self.n, k + _MORE))
        items = xp.sort(items, axis=1)
        distances = xp.sum((xp.astype(space.rows(self.X, items), space.wide) - wide[:, None, :]) ** 2, axis=2)
        distances = xp.where(items == own[:, None], float("inf"), distances)
        order = xp.argsort(distances, axis=1, stable=True)[:, :k]
        return xp.take_along_axis(items, order, axis=1)

    def correlations(self, items: Any, residuals: Any) -> Any:
        """Return the inner products of each row's residual with its items (rows, width), in the residuals' type."""
        xp = self.space.xp
        A = xp.astype(self.space.rows(self.X, items), residuals.dtype)
        return (A @ residuals[:, :, None])[:, :, 0]


def padded(space: Space, codes: Any, counts: np.ndarray, positions: np.ndarray, zero: int) -> tuple[Any, Any]:
    """Return some rows of sparse codes as members and values (rows, width), padded by the atom ``zero``.

    ``codes`` are data, indices and row pointers on the device; ``counts`` the entries of all rows, on the host.
    """
    xp = space.xp
    data, indices, indptr = codes
    width = max(1, int(counts[positions].max(initial=0)))
    at = space.asarray(positions)
    inside = space.arange(width)[None, :] < space.asarray(counts[positions])[:, None]
    if data.shape[0] == 0:
        members = xp.full((len(positions), width), zero, dtype=xp.int64, device=space.device)
        return members, space.zeros((len(positions), width), space.wide)
    where = xp.where(inside, xp.take(indptr, at)[:, None] + space.arange(width)[None, :], 0)
    flat = xp.reshape(where, (-1,))
    members = xp.where(inside, xp.reshape(xp.take(indices, flat), where.shape), zero)
    values = xp.where(inside, xp.astype(xp.reshape(xp.take(data, flat), where.shape), space.wide), 0.0)
    return members, values


class Assembler:
    """Collects padded rows in any order and puts them together as sparse codes on the device."""

    def __init__(self, space: Space, n_rows: int, n_columns: int) -> None:
        self.space = space
        self.shape = (n_rows, n_columns)
        self._chunks: list[tuple[Any, Any]] = []

    def add(self, positions: Any, members: Any, values: Any) -> None:
        """Take rows: their positions, and padded members and values; zeros are no entries."""
        xp = self.space.xp
        used = xp.reshape(values != 0, (-1,))
        key = xp.reshape(positions[:, None] * self.shape[1] + members, (-1,))
        self._chunks.append((key[used], xp.reshape(values, (-1,))[used]))

    def assemble(self, dtype: Any) -> Any:
        """Return the codes, columns ascending in each row."""
        xp = self.space.xp
        key = xp.concat([key for key, _ in self._chunks])
        values = xp.astype(xp.concat([values for _, values in self._chunks]), dtype)
        kept = values != 0  # a value can vanish in float32
        key, values = key[kept], values[kept]
        order = xp.argsort(key)
        key, values = xp.take(key, order), xp.take(values, order)
        starts = self.space.arange(self.shape[0] + 1) * self.shape[1]
        return self.space.csr(values, key % self.shape[1], xp.searchsorted(key, starts), self.shape)

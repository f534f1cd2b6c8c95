"""The lassos that working sets solve: which atoms violate, a round on the working sets, the finish.

Each variant answers the same questions over a pool of rows; `l1_codes` asks them in turn. All run on the calling
thread.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..kernels.affine import affine_finish, affine_round
from ..kernels.lasso import lasso_finish, lasso_round
from ..kernels.screen import largest_entries
from .working_set import Block, Dictionary, Scan, Targets

# None of these leaves a trace in the codes.
N_ITEMS = (24, 128)
"""Fewest and most atoms that a scan hands to a working set."""
N_OUTLIERS = 64
"""Features that it hands on as outliers."""
N_SKETCHED = 3
"""Rounds over the sketch before the first over all of X."""
FLOOR = 0.5
"""Share of its bound that an atom's correlation must reach to be handed on: it may violate once others have entered."""


class Pool:
    """The rows under way: a block that is refilled as rows finish, so that products stay of full size."""

    _NAMES = ("positions", "members", "coefs", "n_members", "residuals", "exact", "rounds", "shifts")

    def __init__(self, targets: Targets, positions: np.ndarray) -> None:
        """Take up the targets at ``positions``, at zero."""
        n = len(positions)
        self._targets = targets
        self.positions = positions
        self.members = np.zeros((n, N_ITEMS[0]), dtype=np.int64)
        self.coefs = np.zeros((n, N_ITEMS[0]))
        self.n_members = np.zeros(n, dtype=np.int64)
        self.residuals = targets.values[positions].astype(np.float64)
        self.exact = np.ones(n, dtype=bool)
        """Whether the residual is that of the minimiser over the members."""
        self.rounds = np.zeros(n, dtype=np.int64)
        self.shifts = np.zeros(n)

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def own(self) -> np.ndarray:
        """The rows' own atoms."""
        return self._targets.own[self.positions]

    @property
    def values(self) -> np.ndarray:
        """The rows' samples."""
        return self._targets.values[self.positions]

    def keep(self, kept: np.ndarray) -> None:
        """Drop all other rows."""
        for name in self._NAMES:
            setattr(self, name, getattr(self, name)[kept])

    def selected(self, chosen: np.ndarray) -> Pool:
        """Return some of the rows as a pool of their own."""
        part = copy(self)
        part.keep(chosen)
        return part

    def add(self, other: Pool) -> None:
        """Take over the rows of another pool."""
        width = max(self.members.shape[1], other.members.shape[1])
        for pool in (self, other):
            pool.make_room(width - int(pool.n_members.max(initial=0)))
        for name in self._NAMES:
            setattr(self, name, np.concatenate([getattr(self, name), getattr(other, name)]))

    def make_room(self, n_items: int) -> None:
        """Let every row take so many more members."""
        missing = int(self.n_members.max(initial=0)) + n_items - self.members.shape[1]
        if missing > 0:
            self.members = np.pad(self.members, ((0, 0), (0, missing)))
            self.coefs = np.pad(self.coefs, ((0, 0), (0, missing)))


@dataclass(frozen=True)
class Lasso:
    """min ||x - A^T z||^2 + penalty ||z||_1, with outliers at their own price if that is finite."""

    dictionary: Dictionary
    penalty: float
    outlier_penalty: float
    tol: float

    @cached_property
    def n_items(self) -> int:
        """Atoms that a scan hands on: more where the next scan is dear."""
        return int(np.clip(self.dictionary.X.size >> 17, *N_ITEMS))

    def start(self, pool: Pool) -> None:
        """Bring fresh rows near their minimisers, by what the sketch shows."""
        sketch = self.dictionary.sketch
        if sketch is None:
            return
        for _ in range(N_SKETCHED):
            items, counts = self.dictionary.largest_of_sketch(
                sketch, Block(pool.own, pool.residuals), pool.members, pool.n_members, self.n_items
            )
            self._round(pool, items, counts, exactly=False)

    def scan(self, pool: Pool) -> Scan:
        """Return for each row the atoms that violate its condition most or nearly."""
        bounds = np.full(len(pool), self.penalty / 2 * (1 + self.tol / 2))
        scan = self.dictionary.largest(
            Block(pool.own, pool.residuals), bounds, FLOOR * bounds, pool.members, pool.n_members, self.n_items
        )
        if self.outlier_penalty < np.inf:
            items = np.pad(scan.items, ((0, 0), (0, N_OUTLIERS)))
            largest_entries(
                pool.residuals,
                self.outlier_penalty / 2 * (1 + self.tol / 2),
                self.dictionary.n_samples,
                pool.members,
                pool.n_members,
                items,
                scan.counts,
                scan.violated,
            )
            # Nothing is known of the features that were not handed on, but that they do not violate.
            scan = replace(scan, items=items, cutoffs=np.full(len(pool), np.inf))
        return scan

    def grow(self, pool: Pool, scan: Scan) -> np.ndarray:
        """Let what violates into the rows' working sets, minimise over them, and return which rows are done.

        A row is, without another scan, if no atom that was not handed on can have come to violate while its residual
        moved.
        """
        moved = self._round(pool, scan.items, scan.counts, exactly=True)
        return scan.cutoffs + moved * self.dictionary.max_norm <= self.penalty / 2

    def _round(self, pool: Pool, items: np.ndarray, counts: np.ndarray, *, exactly: bool) -> np.ndarray:
        pool.make_room(items.shape[1])
        moved = np.empty(len(pool))
        lasso_round(
            self.dictionary.X,
            self.dictionary.unit,
            self.dictionary.norms,
            pool.values,
            self.penalty / 2,
            self.outlier_penalty / 2,
            pool.members,
            pool.coefs,
            pool.n_members,
            items,
            counts,
            exactly,
            pool.residuals,
            moved,
        )
        pool.exact[:] = exactly
        return moved

    def finish(self, pool: Pool, slack: float) -> tuple[np.ndarray, np.ndarray]:
        """Finish the coefficients from the supports alone; return objectives and certified gaps.

        ``slack`` bounds the share by which atoms outside violate their condition.
        """
        objectives, gaps = np.empty(len(pool)), np.empty(len(pool))
        lasso_finish(
            self.dictionary.X,
            pool.values,
            self.penalty / 2,
            self.outlier_penalty / 2,
            slack,
            pool.members,
            pool.coefs,
            pool.n_members,
            objectives,
            gaps,
        )
        return objectives, gaps


@dataclass(frozen=True)
class AffineLasso:
    """min ||x - A^T z||^2 + penalty ||z||_1 where the entries of z sum to one."""

    dictionary: Dictionary
    penalty: float
    tol: float

    def start(self, pool: Pool) -> None:
        """Nothing to do: without members a row has no multiplier to compare correlations with."""

    def scan(self, pool: Pool) -> Scan:
        """As `Lasso.scan`, violators only; a row without members takes the atoms most like it."""
        bounds = np.where(pool.n_members == 0, -1.0, self.penalty / 2 * (1 + self.tol / 2))
        return self.dictionary.largest(
            Block(pool.own, pool.residuals),
            bounds,
            bounds,
            pool.members,
            pool.n_members,
            N_ITEMS[0],
            shifts=pool.shifts,
        )

    def grow(self, pool: Pool, scan: Scan) -> np.ndarray:
        """As `Lasso.grow`; only a scan can tell that a row is done."""
        pool.make_room(scan.items.shape[1])
        affine_round(
            self.dictionary.X,
            pool.values,
            self.penalty,
            pool.members,
            pool.coefs,
            pool.n_members,
            scan.items,
            scan.counts,
            pool.residuals,
            pool.shifts,
        )
        return np.zeros(len(pool), dtype=bool)

    def finish(self, pool: Pool, slack: float) -> tuple[np.ndarray, np.ndarray]:
        """As `Lasso.finish`."""
        objectives, gaps = np.empty(len(pool)), np.empty(len(pool))
        affine_finish(
            self.dictionary.X,
            pool.values,
            self.penalty,
            slack,
            pool.members,
            pool.coefs,
            pool.n_members,
            objectives,
            gaps,
        )
        return objectives, gaps

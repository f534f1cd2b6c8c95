"""The lassos that working sets solve: which atoms violate, a round on the working sets, the finish.

Each variant answers the same three questions over the same pool of rows; `l1_codes` asks them in turn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._threads import run_rows
from ..kernels.affine import affine_finish, affine_round
from ..kernels.lasso import lasso_finish, lasso_round
from ..kernels.screen import largest_entries_above
from .working_set import Block, Dictionary, Targets

N_ITEMS = 32
"""New members a working set takes at a time."""
N_OUTLIERS = 64
"""New features it takes as outliers at a time."""


class Pool:
    """The rows under way: a block that is refilled as rows finish, so that products stay of full size."""

    def __init__(self, targets: Targets) -> None:
        self._targets = targets
        self._next = 0
        n_features = targets.values.shape[1]
        self.positions = np.empty(0, dtype=np.int64)
        self.members = np.empty((0, N_ITEMS), dtype=np.int64)
        self.coefs = np.empty((0, N_ITEMS))
        self.n_members = np.empty(0, dtype=np.int64)
        self.residuals = np.empty((0, n_features))
        self.rounds = np.empty(0, dtype=np.int64)
        self.shifts = np.empty(0)

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
        for name in ("positions", "members", "coefs", "n_members", "residuals", "rounds", "shifts"):
            setattr(self, name, getattr(self, name)[kept])

    def refill(self, size: int) -> None:
        """Take up the next targets until there are ``size`` rows."""
        new = np.arange(self._next, min(self._next + size - len(self.positions), len(self._targets)))
        if not len(new):
            return
        self._next = int(new[-1]) + 1
        empty = np.zeros((len(new), self.members.shape[1]))
        self.positions = np.concatenate([self.positions, new])
        self.members = np.concatenate([self.members, empty.astype(np.int64)])
        self.coefs = np.concatenate([self.coefs, empty])
        self.n_members = np.concatenate([self.n_members, np.zeros(len(new), dtype=np.int64)])
        self.residuals = np.concatenate([self.residuals, self._targets.values[new].astype(np.float64)])
        self.rounds = np.concatenate([self.rounds, np.zeros(len(new), dtype=np.int64)])
        self.shifts = np.concatenate([self.shifts, np.zeros(len(new))])

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
    n_threads: int

    def violators(self, pool: Pool) -> tuple[np.ndarray, np.ndarray]:
        """Return for each row the atoms that violate its optimality condition most, and their number."""
        bounds = np.full(len(pool.positions), self.penalty / 2 * (1 + self.tol / 2))
        items, counts = self.dictionary.largest_above(
            Block(pool.own, pool.residuals), bounds, pool.members, pool.n_members, N_ITEMS, self.n_threads
        )
        if self.outlier_penalty < np.inf:
            items = np.pad(items, ((0, 0), (0, N_OUTLIERS)))
            run_rows(
                largest_entries_above,
                len(items),
                self.n_threads,
                pool.residuals,
                self.outlier_penalty / 2 * (1 + self.tol / 2),
                self.dictionary.n_samples,
                pool.members,
                pool.n_members,
                items,
                counts,
            )
        return items, counts

    def grow(self, pool: Pool, items: np.ndarray, counts: np.ndarray) -> None:
        """Let the items into the rows' working sets and minimise over them."""
        run_rows(
            lasso_round,
            len(items),
            self.n_threads,
            self.dictionary.X,
            pool.values,
            self.penalty / 2,
            self.outlier_penalty / 2,
            pool.members,
            pool.coefs,
            pool.n_members,
            items,
            counts,
            pool.residuals,
        )

    def finish(
        self, values: np.ndarray, members: np.ndarray, coefs: np.ndarray, n_members: np.ndarray, slack: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Finish ``coefs`` from the supports alone; return objectives and certified gaps.

        ``slack`` bounds the share by which atoms outside violate their condition.
        """
        objectives, gaps = np.empty(len(values)), np.empty(len(values))
        run_rows(
            lasso_finish,
            len(values),
            self.n_threads,
            self.dictionary.X,
            values,
            self.penalty / 2,
            self.outlier_penalty / 2,
            slack,
            members,
            coefs,
            n_members,
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
    n_threads: int

    def violators(self, pool: Pool) -> tuple[np.ndarray, np.ndarray]:
        """As `Lasso.violators`; a row without members takes the atoms most like it."""
        bounds = np.where(pool.n_members == 0, -1.0, self.penalty / 2 * (1 + self.tol / 2))
        return self.dictionary.largest_above(
            Block(pool.own, pool.residuals),
            bounds,
            pool.members,
            pool.n_members,
            N_ITEMS,
            self.n_threads,
            shifts=pool.shifts,
        )

    def grow(self, pool: Pool, items: np.ndarray, counts: np.ndarray) -> None:
        """As `Lasso.grow`."""
        run_rows(
            affine_round,
            len(items),
            self.n_threads,
            self.dictionary.X,
            pool.values,
            self.penalty,
            pool.members,
            pool.coefs,
            pool.n_members,
            items,
            counts,
            pool.residuals,
            pool.shifts,
        )

    def finish(
        self, values: np.ndarray, members: np.ndarray, coefs: np.ndarray, n_members: np.ndarray, slack: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """As `Lasso.finish`."""
        objectives, gaps = np.empty(len(values)), np.empty(len(values))
        run_rows(
            affine_finish,
            len(values),
            self.n_threads,
            self.dictionary.X,
            values,
            self.penalty,
            slack,
            members,
            coefs,
            n_members,
            objectives,
            gaps,
        )
        return objectives, gaps

"""l1 codes: one lasso per sample over all others, by working sets."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._progress import report
from .._threads import resolve_n_jobs, run_rows
from .._types import CodeResult, Status
from .._validation import check_number
from ..kernels.lasso import lasso_finish, lasso_round
from ..kernels.screen import largest_entries_above
from ._assembly import CodeAssembler, split_outliers
from .working_set import Block, Dictionary, Targets, dictionary_of, row_norms, targets_of

_N_ITEMS = 32
"""New members a working set takes at a time."""
_N_OUTLIERS = 64
"""New features it takes as outliers at a time."""


class _Pool:
    """The rows under way: a block that is refilled as rows finish, so that products stay of full size."""

    def __init__(self, targets: Targets) -> None:
        self._targets = targets
        self._next = 0
        n_features = targets.values.shape[1]
        self.positions = np.empty(0, dtype=np.int64)
        self.members = np.empty((0, _N_ITEMS), dtype=np.int64)
        self.coefs = np.empty((0, _N_ITEMS))
        self.n_members = np.empty(0, dtype=np.int64)
        self.residuals = np.empty((0, n_features))
        self.rounds = np.empty(0, dtype=np.int64)

    @property
    def own(self) -> np.ndarray:
        return self._targets.own[self.positions]

    @property
    def values(self) -> np.ndarray:
        return self._targets.values[self.positions]

    def keep(self, kept: np.ndarray) -> None:
        for name in ("positions", "members", "coefs", "n_members", "residuals", "rounds"):
            setattr(self, name, getattr(self, name)[kept])

    def refill(self, size: int) -> None:
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

    def make_room(self, n_items: int) -> None:
        missing = int(self.n_members.max(initial=0)) + n_items - self.members.shape[1]
        if missing > 0:
            self.members = np.pad(self.members, ((0, 0), (0, missing)))
            self.coefs = np.pad(self.coefs, ((0, 0), (0, missing)))


def l1_codes(
    X: np.ndarray | Dictionary,
    *,
    l1_penalty: float = 0.1,
    outliers: bool = False,
    outlier_penalty: float | None = None,
    tol: float = 1e-10,
    max_iter: int = 1000,
    rows: np.ndarray | slice | None = None,
    X_new: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> CodeResult:
    r"""Write every sample as an l1-sparse combination of the others.

    Per sample i, with z_ii = 0 (note: no factor 1/2),

    .. math:: \min_{z_i} \|x_i - \sum_j z_{ij} x_j\|_2^2 + \mathrm{l1\_penalty}\, \|z_i\|_1

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples in rows. Used as given: scale them to unit norm first if that is meant.
    l1_penalty : float, default=0.1
        Weight of the l1 norm, greater than 0.
    outliers : bool, default=False
        Code over [X; I]: every sample is a combination of others and of single features, which takes up gross errors,
        :math:`\min \|x_i - \sum_j z_{ij} x_j - e_i\|_2^2 + \mathrm{l1\_penalty} \|z_i\|_1 +
        \mathrm{outlier\_penalty} \|e_i\|_1`. The e_i are returned apart, as ``outliers``.
    outlier_penalty : float, default=None
        Weight of the l1 norm of the outliers; ``l1_penalty`` by default.
    tol : float, default=1e-10
        Certified duality gap of each row, relative to its squared norm.
    max_iter : int, default=1000
        Most rounds of working-set growth per row.
    rows : ndarray of int, slice or None, default=None
        The samples to code; all by default. All samples are atoms in any case.
    X_new : array-like of shape (n_new, n_features), default=None
        Code these samples over X instead of X's own.
    n_jobs : int or None, default=None
        Threads, as scikit-learn counts them: None is 1, -1 all cores. The codes do not depend on it.

    Returns
    -------
    CodeResult
        ``objective`` holds the total at zero codes and at the solution, ``gap`` the certified gap per row,
        ``n_iter`` the largest number of products with X that a row took.

    Notes
    -----
    Each row grows a working set by the atoms that violate its optimality condition most, minimises over it
    exactly, and is done when no atom of X violates it any more. Of several equal samples the first is
    used, which makes the solution unique. Memory beside X and its float32 copy: one block of correlations,
    256 MiB at most unless n_samples is over 4 million.

    Examples
    --------
    >>> import numpy as np
    >>> from l0graph import l1_codes
    >>> X = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    >>> l1_codes(X, l1_penalty=0.1).codes.toarray().round(4)
    array([[ 0.    ,  1.125 , -0.625 ],
           [ 0.75  ,  0.    ,  0.55  ],
           [-1.0833,  1.4167,  0.    ]])
    """
    check_number(l1_penalty, "l1_penalty", above=0)
    if outlier_penalty is None:
        outlier_penalty = l1_penalty
    check_number(outlier_penalty, "outlier_penalty", above=0)
    check_number(tol, "tol", above=0)
    check_number(max_iter, "max_iter", at_least=1, integer=True)
    dictionary = dictionary_of(X)
    targets = targets_of(dictionary, rows, X_new)
    n_threads = resolve_n_jobs(n_jobs)
    half, half_outlier = l1_penalty / 2, outlier_penalty / 2

    assembler = CodeAssembler(len(targets), dictionary.n_samples + (targets.values.shape[1] if outliers else 0))
    objectives = np.empty(len(targets))
    gaps = np.empty(len(targets))
    n_rounds = 0
    pool = _Pool(targets)
    size = dictionary.block_size()
    pool.refill(size)
    n_done = 0
    while len(pool.positions):
        items, counts = dictionary.largest_above(
            Block(pool.own, pool.residuals),
            half * (1 + tol / 2),
            pool.members,
            pool.n_members,
            _N_ITEMS,
            n_threads,
        )
        if outliers:
            items = np.pad(items, ((0, 0), (0, _N_OUTLIERS)))
            run_rows(
                largest_entries_above,
                len(pool.positions),
                n_threads,
                pool.residuals,
                half_outlier * (1 + tol / 2),
                dictionary.n_samples,
                pool.members,
                pool.n_members,
                items,
                counts,
            )
        pool.rounds += 1
        done = (counts == 0) | (pool.rounds > max_iter)
        # Rows stopped by max_iter have no screened bound: an infinite slack leaves them the trivial dual point 0.
        for finished, slack in ((counts == 0, tol / 2), ((counts > 0) & done, np.inf)):
            if not finished.any():
                continue
            positions = pool.positions[finished]
            coefs = pool.coefs[finished]
            row_objectives = np.empty(len(positions))
            row_gaps = np.empty(len(positions))
            run_rows(
                lasso_finish,
                len(positions),
                n_threads,
                dictionary.X,
                targets.values[positions],
                half,
                half_outlier,
                slack,
                pool.members[finished],
                coefs,
                pool.n_members[finished],
                row_objectives,
                row_gaps,
            )
            assembler.add(positions, pool.members[finished], coefs, pool.n_members[finished])
            objectives[positions] = row_objectives
            gaps[positions] = row_gaps
            n_rounds = max(n_rounds, int(pool.rounds[finished].max()))
            n_done += len(positions)
        report("l1 codes", n_done, len(targets))
        pool.keep(~done)
        if len(pool.positions):
            pool.make_room(items.shape[1])
            run_rows(
                lasso_round,
                len(pool.positions),
                n_threads,
                dictionary.X,
                pool.values,
                half,
                half_outlier,
                pool.members,
                pool.coefs,
                pool.n_members,
                items[~done],
                counts[~done],
                pool.residuals,
            )
        pool.refill(size)

    squared_norms = row_norms(targets.values) ** 2
    # Rounding of the objective itself is the floor under any tolerance.
    certified = gaps <= (tol + 1e-13) * squared_norms
    status = Status.CONVERGED if certified.all() else Status.MAX_ITER
    if not certified.all():
        worst = float((gaps[~certified] / squared_norms[~certified]).max())
        msg = (
            f"l1_codes: {np.count_nonzero(~certified)} of {len(targets)} rows have a relative duality gap over"
            f" tol={tol:g} (largest {worst:.1e}): raise max_iter or tol"
        )
        warnings.warn(msg, ConvergenceWarning, stacklevel=2)
    codes, errors = assembler.assemble(dictionary.X.dtype), None
    if outliers:
        codes, errors = split_outliers(codes, dictionary.n_samples)
    return CodeResult(
        codes=codes,
        objective=np.array([squared_norms.sum(), objectives.sum()]),
        n_iter=n_rounds,
        status=status,
        gap=gaps,
        outliers=errors,
    )

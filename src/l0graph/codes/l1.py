"""l1 codes: one lasso per sample over all others, by working sets."""

from __future__ import annotations

import warnings
from threading import Lock

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._progress import Counter
from .._threads import resolve_n_jobs, run_blocks
from .._types import CodeResult, Status
from .._validation import check_number
from . import _arrays
from ._assembly import CodeAssembler, split_outliers
from ._lasso import AffineLasso, Lasso, Pool
from .working_set import Dictionary, Targets, dictionary_of, row_norms, targets_of


def l1_codes(
    X: np.ndarray | Dictionary,
    *,
    l1_penalty: float = 0.1,
    outliers: bool = False,
    outlier_penalty: float | None = None,
    affine: bool = False,
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
        Samples in rows. Used as given: scale them to unit norm first if that is meant. An array of torch or CuPy is
        coded where it is, and its codes stay there.
    l1_penalty : float, default=0.1
        Weight of the l1 norm, greater than 0.
    outliers : bool, default=False
        Code over [X; I]: every sample is a combination of others and of single features, which takes up gross errors,
        :math:`\min \|x_i - \sum_j z_{ij} x_j - e_i\|_2^2 + \mathrm{l1\_penalty} \|z_i\|_1 +
        \mathrm{outlier\_penalty} \|e_i\|_1`. The e_i are returned apart, as ``outliers``.
    outlier_penalty : float, default=None
        Weight of the l1 norm of the outliers; ``l1_penalty`` by default.
    affine : bool, default=False
        Let the entries of every code sum to one, for subspaces that do not pass through the origin. Not together
        with ``outliers``.
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
    used, which makes the solution unique. The way to the minimiser leaves no trace in the codes: at the end each row
    is solved once more from its support and signs alone. Memory beside X, its float32 copy and the codes: a block of
    rows per thread, some 20 MB, within scikit-learn's ``working_memory``.

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
    if affine and outliers:
        msg = "affine=True and outliers=True cannot be combined: choose one"
        raise ValueError(msg)
    if _arrays.takes(X):
        _arrays.only_plain(outliers=outliers, affine=affine)
        return _arrays.l1_codes(X, l1_penalty=l1_penalty, tol=tol, max_iter=max_iter, rows=rows, X_new=X_new)
    dictionary = dictionary_of(X)
    targets = targets_of(dictionary, rows, X_new)
    n_threads = resolve_n_jobs(n_jobs)
    dictionary.prepare()
    lasso: Lasso | AffineLasso
    if affine:
        lasso = AffineLasso(dictionary, l1_penalty, tol)
    else:
        lasso = Lasso(dictionary, l1_penalty, outlier_penalty if outliers else np.inf, tol)
    run = _Run(lasso, targets, dictionary.n_samples + (targets.values.shape[1] if outliers else 0), max_iter)
    size = dictionary.block_size(len(targets), n_threads)
    run_blocks(lambda start, stop: run.work(size), n_threads, 1, n_threads, cancel=run.cancel)
    objectives, gaps = run.objectives, run.gaps

    squared_norms = row_norms(targets.values) ** 2
    # Rounding of the objective itself is the floor under any tolerance; an affine objective can exceed ||x||^2.
    certified = gaps <= (tol + 1e-13) * np.maximum(squared_norms, objectives)
    status = Status.CONVERGED if certified.all() else Status.MAX_ITER
    if not certified.all():
        worst = float((gaps[~certified] / np.maximum(squared_norms, objectives)[~certified]).max())
        msg = (
            f"l1_codes: {np.count_nonzero(~certified)} of {len(targets)} rows have a relative duality gap over"
            f" tol={tol:g} (largest {worst:.1e}): raise max_iter or tol"
        )
        warnings.warn(msg, ConvergenceWarning, stacklevel=2)
    codes, errors = run.assembler.assemble(dictionary.X.dtype), None
    if outliers:
        codes, errors = split_outliers(codes, dictionary.n_samples)
    return CodeResult(
        codes=codes,
        objective=np.array([squared_norms.sum(), objectives.sum()]),
        n_iter=run.n_rounds,
        status=status,
        gap=gaps,
        outliers=errors,
    )


class _Run:
    """The targets of one call, taken up by workers as they have room for them."""

    def __init__(self, lasso: Lasso | AffineLasso, targets: Targets, n_columns: int, max_iter: int) -> None:
        self._lasso = lasso
        self._targets = targets
        self._max_iter = max_iter
        self._lock = Lock()
        self._next = 0
        self._counter = Counter("l1 codes", len(targets))
        self.assembler = CodeAssembler(len(targets), n_columns)
        self.objectives = np.empty(len(targets))
        self.gaps = np.empty(len(targets))
        self.n_rounds = 0

    def cancel(self) -> None:
        """Hand out no more targets."""
        with self._lock:
            self._next = len(self._targets)

    def _take(self, count: int) -> np.ndarray:
        with self._lock:
            taken = np.arange(self._next, min(self._next + count, len(self._targets)))
            self._next += len(taken)
        return taken

    def work(self, size: int) -> None:
        """Code targets, ``size`` at a time, until there are none."""
        pool = Pool(self._targets, self._take(size))
        self._lasso.start(pool)
        slack = self._lasso.tol / 2
        while len(pool):
            scan = self._lasso.scan(pool)
            pool.rounds += 1
            done = pool.exact & ~scan.violated
            stopped = ~done & (pool.rounds > self._max_iter)
            self._finish(pool.selected(done), slack)
            # Rows stopped by max_iter have no screened bound: an infinite slack leaves them the trivial dual point 0.
            self._finish(pool.selected(stopped), np.inf)
            going = ~done & ~stopped
            pool.keep(going)
            if len(pool):
                done = self._lasso.grow(pool, scan.selected(going))
                self._finish(pool.selected(done), slack)
                pool.keep(~done)
            fresh = Pool(self._targets, self._take(size - len(pool)))
            if len(fresh):
                self._lasso.start(fresh)
                pool.add(fresh)

    def _finish(self, done: Pool, slack: float) -> None:
        if not len(done):
            return
        self.objectives[done.positions], self.gaps[done.positions] = self._lasso.finish(done, slack)
        self.assembler.add(done.positions, done.members, done.coefs, done.n_members)
        with self._lock:
            self.n_rounds = max(self.n_rounds, int(done.rounds.max()))
        self._counter.add(len(done))

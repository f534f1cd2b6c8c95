"""l0 codes: the paper's proximal method, at the cost of the supports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigsh

from .._progress import Counter
from .._threads import one_blas_thread, resolve_n_jobs, run_blocks
from .._types import CodeResult, Status
from .._validation import check_codes, check_lipschitz, check_number
from ..kernels.proximal import iterate
from . import _arrays
from ._assembly import CodeAssembler, padded, split_outliers
from .l1 import l1_codes
from .working_set import Block, Dictionary, Targets, dictionary_of, targets_of


@dataclass(frozen=True)
class Step:
    """The step rule of the iteration: ``lipschitz`` is tau s, the same for every column at the start."""

    penalty: float
    outlier_penalty: float
    """Infinite where no outliers are modelled."""
    lipschitz: float
    tau: float
    raise_where_needed: bool
    """Whether a column whose support it does not majorise on takes a larger one."""


def largest_singular_value_squared(dictionary: Dictionary) -> float:
    """Return sigma_max(X^T X)."""
    X = dictionary.X.astype(np.float64, copy=False)
    with one_blas_thread():  # one order of summation, so one result
        if min(X.shape) <= 1500:
            G = X @ X.T if X.shape[0] <= X.shape[1] else X.T @ X
            return float(np.linalg.eigvalsh(G)[-1])
        gram = LinearOperator((X.shape[1], X.shape[1]), matvec=lambda v: X.T @ (X @ v), dtype=np.float64)
        start = np.random.RandomState(0).standard_normal(X.shape[1])
        return float(eigsh(gram, k=1, which="LA", v0=start, return_eigenvectors=False)[0])


def iterate_rows(
    dictionary: Dictionary,
    targets: Targets,
    init: sp.csr_array,
    step: Step,
    n_steps: int,
    n_threads: int,
) -> tuple[sp.csr_array, np.ndarray]:
    """Iterate the codes of the targets from ``init`` exactly ``n_steps`` times.

    Returns the codes and the objective of each target at each iteration, (n_targets, n_steps + 1).
    """
    assembler = CodeAssembler(*init.shape)
    objectives = np.empty((len(targets), n_steps + 1))
    counter = Counter("l0 codes", len(targets))

    def block(start: int, stop: int) -> None:
        chosen = np.arange(start, stop)
        members, coefs, n_members = padded(init, start, stop)
        part = Targets(targets.values[chosen], targets.own[chosen])
        state = _BlockState(dictionary, part, members, coefs, n_members, step, n_steps)
        state.run()
        objectives[chosen] = state.objectives
        assembler.add(chosen, state.members, state.coefs, state.n_members)
        counter.add(len(chosen))

    dictionary.prepare()
    run_blocks(block, len(targets), dictionary.block_size(len(targets), n_threads), n_threads)
    return assembler.assemble(np.dtype(np.float64)), objectives


class _BlockState:
    """One block of rows under iteration."""

    def __init__(
        self,
        dictionary: Dictionary,
        targets: Targets,
        members: np.ndarray,
        coefs: np.ndarray,
        n_members: np.ndarray,
        step: Step,
        n_steps: int,
    ) -> None:
        self.dictionary = dictionary
        self.targets = targets
        self.members, self.coefs, self.n_members = members, coefs, n_members
        self.step = step
        self.n_steps = n_steps
        self.L = np.full(len(targets), step.lipschitz)
        self.reached = np.zeros(len(targets), dtype=np.int64)
        self.objectives = np.empty((len(targets), n_steps + 1))

    def run(self) -> None:
        """Iterate all rows to the end; rows into which atoms may enter are screened step by step."""
        screened = False
        open_rows = np.arange(len(self.targets))
        while len(open_rows):
            if screened:
                block = Block(self.targets.own[open_rows], self._residuals)
                bounds = np.sqrt(self.step.penalty * self.L[open_rows] / 2)
                entering = self.dictionary.all_at_least(block, bounds)
                if self.step.outlier_penalty < np.inf:
                    bounds = np.sqrt(self.step.outlier_penalty * self.L[open_rows] / 2)
                    entering = _with_features(entering, self._residuals, bounds, self.dictionary.n_samples)
            else:
                entering = (np.zeros(len(open_rows) + 1, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0))
            open_rows = self._advance(open_rows, screened, entering)
            screened = True

    def _advance(
        self,
        chosen: np.ndarray,
        screened: bool,
        entering: tuple[np.ndarray, np.ndarray, np.ndarray],
    ) -> np.ndarray:
        """Iterate the chosen rows; return those that stopped because atoms may enter."""
        room = int((self.n_members[chosen] + np.diff(entering[0])).max()) - self.members.shape[1]
        if room > 0:
            self.members = np.pad(self.members, ((0, 0), (0, room)))
            self.coefs = np.pad(self.coefs, ((0, 0), (0, room)))
        everything = len(chosen) == len(self.targets)
        names = ("L", "reached", "members", "coefs", "n_members", "objectives")
        parts = [getattr(self, name) if everything else getattr(self, name)[chosen] for name in names]
        residuals = np.empty((len(chosen), self.dictionary.X.shape[1]))
        iterate(
            self.dictionary.X,
            self.targets.values[chosen],
            self.step.penalty,
            self.step.outlier_penalty,
            self.step.tau,
            self.step.raise_where_needed,
            # A hair more than the largest norm: rounding must not close a row that the exact bound leaves open.
            self.dictionary.max_norm * (1 + 1e-12),
            self.n_steps,
            screened,
            *entering,
            *parts,
            residuals,
        )
        if not everything:
            for name, part in zip(names, parts, strict=True):
                getattr(self, name)[chosen] = part
        stopped = parts[1] < self.n_steps
        self._residuals = residuals[stopped]
        return chosen[stopped]


def _with_features(
    entering: tuple[np.ndarray, np.ndarray, np.ndarray], residuals: np.ndarray, bounds: np.ndarray, n_atoms: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Add the identity's atoms whose correlation, an entry of the residual, is large enough."""
    offsets, items, values = entering
    rows = np.repeat(np.arange(len(bounds)), np.diff(offsets))
    more_rows, features = np.nonzero(np.abs(residuals) >= bounds[:, None])
    order = np.argsort(np.concatenate([rows, more_rows]), kind="stable")  # within a row: X first, then the identity
    counts = np.diff(offsets) + np.bincount(more_rows, minlength=len(bounds))
    return (
        np.concatenate([[0], np.cumsum(counts)]),
        np.concatenate([items, n_atoms + features])[order],
        np.concatenate([values, residuals[more_rows, features]])[order],
    )


def stopping_iteration(objective: np.ndarray, tol: float) -> int | None:
    """Algorithm 1's rule: the first t >= 1 where the total changed by less than ``tol``, or None."""
    small = np.flatnonzero(np.abs(np.diff(objective)) < tol)
    return int(small[0]) + 1 if len(small) else None


def total_objective(per_row: np.ndarray) -> np.ndarray:
    """Sum (n_rows, n_steps + 1) over rows, pairwise, in row order."""
    return np.ascontiguousarray(per_row.T).sum(axis=1)


def l0_codes(
    X: np.ndarray | Dictionary,
    *,
    init: sp.csr_array | CodeResult | None = None,
    l0_penalty: float = 0.5,
    l1_penalty: float = 0.1,
    outliers: bool = False,
    outlier_penalty: float | None = None,
    l1_outlier_penalty: float | None = None,
    lipschitz: float | Literal["global"] = 100.0,
    tau: float = 1.1,
    max_iter: int = 100,
    tol: float = 1e-6,
    rows: np.ndarray | slice | None = None,
    X_new: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> CodeResult:
    r"""Write every sample as an l0-sparse combination of the others, by the proximal method.

    .. math:: \min_Z \sum_i \|x_i - \sum_j z_{ij} x_j\|_2^2 + \mathrm{l0\_penalty}\, \|z_i\|_0, \quad z_{ii} = 0

    Each iteration takes a gradient step of length 2 / L, L = tau s, and sets entries under
    :math:`\sqrt{2\,\mathrm{l0\_penalty} / L}` to zero.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples in rows. Used as given: the defaults are meant for samples of unit norm. An array of torch or CuPy is
        coded where it is, and its codes stay there.
    init : sparse matrix of shape (n_rows, n_samples) or CodeResult, default=None
        Codes to start from; l1 codes by default. A diagonal is ignored. A result brings its outliers along.
    l0_penalty : float, default=0.5
        Price of a nonzero, greater than 0.
    l1_penalty : float, default=0.1
        Weight of the l1 codes that the iteration starts from, where no ``init`` is given.
    outliers : bool, default=False
        Code over [X; I]: single features take up gross errors, at their own price; see `l1_codes`.
    outlier_penalty : float, default=None
        Price of a nonzero among the outliers; ``l0_penalty`` by default. An outlier smaller than
        sqrt(2 outlier_penalty / L) is none.
    l1_outlier_penalty : float, default=None
        Weight of the outliers in the l1 codes that the iteration starts from; ``l1_penalty`` by default.
    lipschitz : float or "global", default=100.0
        L = tau s itself, or "global" for s = 2 sigma_max(X^T X), the constant that majorises on all supports at once.
        A number is enough where it majorises on the support of a column, 2 tau sigma_max of the support's
        Gram matrix; a column where it does not uses that larger number, so that its objective never rises. For
        unit-norm data 100 is enough up to 45 nonzeros at least.
    tau : float, default=1.1
        Safety factor of the step, greater than 1.
    max_iter : int, default=100
        Most iterations.
    tol : float, default=1e-6
        Stop when the total objective changes by less than this. 0 never stops early.
    rows : ndarray of int, slice or None, default=None
        The samples to code; all by default. All samples are atoms in any case.
    X_new : array-like of shape (n_new, n_features), default=None
        Code these samples over X instead of X's own.
    n_jobs : int or None, default=None
        Threads, as scikit-learn counts them: None is 1, -1 all cores. The codes do not depend on it.

    Returns
    -------
    CodeResult
        ``objective`` has the total at t = 0, 1, ..., n_iter.

    Notes
    -----
    The iterates are those of the dense iteration. An atom enters a support only if its correlation with the
    residual is at least :math:`\sqrt{\mathrm{l0\_penalty}\, L / 2}`; columns whose residual is too short for that
    iterate on their support alone, O(k^2) a step for k nonzeros, and the others ask all of X.

    References
    ----------
    Equations l0graph-proximal-step1 and -step2 and Algorithm 1 of "Learning with l0-Graph: l0-Induced Sparse Subspace
    Clustering".

    Examples
    --------
    >>> import numpy as np
    >>> from l0graph import l0_codes
    >>> X = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    >>> l0_codes(X, l0_penalty=0.1, lipschitz="global").codes.toarray().round(2)
    array([[ 0.  ,  1.25, -0.75],
           [ 0.8 ,  0.  ,  0.6 ],
           [-1.33,  1.66,  0.  ]])
    """
    check_number(l0_penalty, "l0_penalty", above=0)
    check_lipschitz(lipschitz)
    check_number(tau, "tau", above=1)
    check_number(max_iter, "max_iter", at_least=0, integer=True)
    check_number(tol, "tol", at_least=0)
    if _arrays.takes(X):
        _arrays.only_plain(outliers=outliers)
        start = {"init": init, "l1_penalty": l1_penalty, "rows": rows, "X_new": X_new}
        return _arrays.l0_codes(X, start, l0_penalty, lipschitz=lipschitz, tau=tau, max_iter=max_iter, tol=tol)
    dictionary = dictionary_of(X)
    targets = targets_of(dictionary, rows, X_new)
    n_threads = resolve_n_jobs(n_jobs)
    if outlier_penalty is None:
        outlier_penalty = l0_penalty
    check_number(outlier_penalty, "outlier_penalty", above=0)
    if init is None:
        init = l1_codes(
            dictionary,
            l1_penalty=l1_penalty,
            outliers=outliers,
            outlier_penalty=l1_outlier_penalty,
            rows=rows,
            X_new=X_new,
            n_jobs=n_jobs,
        )
    start = starting_codes(dictionary, targets, init, outliers)
    step = step_of(dictionary, l0_penalty, outlier_penalty if outliers else np.inf, lipschitz, tau)

    codes, per_row = iterate_rows(dictionary, targets, start, step, max_iter, n_threads)
    objective = total_objective(per_row)
    stop = stopping_iteration(objective, tol)
    if stop is not None and stop < max_iter:
        # The rule looks at the total over all rows, known only now: go again, to exactly there.
        codes, _ = iterate_rows(dictionary, targets, start, step, stop, n_threads)
    n_iter = max_iter if stop is None else stop
    codes, errors = codes.astype(dictionary.X.dtype), None
    if outliers:
        codes, errors = split_outliers(codes, dictionary.n_samples)
    return CodeResult(
        codes=codes,
        objective=objective[: n_iter + 1],
        n_iter=n_iter,
        status=Status.MAX_ITER if stop is None else Status.CONVERGED,
        outliers=errors,
    )


def starting_codes(
    dictionary: Dictionary, targets: Targets, init: sp.csr_array | CodeResult, outliers: bool
) -> sp.csr_array:
    """Return what the iteration starts from; with outliers as codes over [X; I]."""
    started = init.outliers if isinstance(init, CodeResult) else None
    codes = init.codes if isinstance(init, CodeResult) else init
    codes = clean(check_codes(codes, (len(targets), dictionary.n_samples), name="init"), targets.own)
    if not outliers:
        return codes
    if started is None:
        started = sp.csr_array(targets.values.shape)
    return sp.csr_array(sp.hstack([codes, clean(started, np.full(len(targets), -1))]))


def step_of(
    dictionary: Dictionary,
    l0_penalty: float,
    outlier_penalty: float,
    lipschitz: float | Literal["global"],
    tau: float,
) -> Step:
    """Return the step rule; ``outlier_penalty`` is infinite where no outliers are modelled."""
    if lipschitz == "global":
        # sigma_max of [X; I]^T [X; I] is that of X^T X, and 1 more.
        value = tau * 2 * (largest_singular_value_squared(dictionary) + (outlier_penalty < np.inf))
        value = value if value > 0 else 1.0  # all samples are zero: any step does
    else:
        value = float(lipschitz)
    return Step(
        penalty=l0_penalty,
        outlier_penalty=outlier_penalty,
        lipschitz=value,
        tau=tau,
        raise_where_needed=lipschitz != "global",
    )


def clean(codes: sp.csr_array, own: np.ndarray) -> sp.csr_array:
    """Return codes without explicit zeros and without the samples' own entries; a copy only if there are such."""
    diagonal = np.repeat(own, np.diff(codes.indptr)) == codes.indices
    if diagonal.any() or (codes.data == 0).any():
        codes = codes.copy()
        codes.data[diagonal] = 0
        codes.eliminate_zeros()
    return codes

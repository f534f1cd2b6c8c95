"""Regularised l0 codes: nearby samples are encouraged to have equal entries."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy.sparse as sp

from .._progress import report
from .._threads import resolve_n_jobs, run_rows
from .._types import CodeResult, Status
from .._validation import check_codes, check_lipschitz, check_number, check_option
from ..kernels import regularized as kernel
from . import _arrays
from .l0 import clean, largest_singular_value_squared
from .l1 import l1_codes
from .neighbors import nearest, neighbor_weights
from .sweeps import jacobi_sweeps
from .working_set import Dictionary, Targets, dictionary_of, targets_of

_WORTH_THREADS = 128
"""Visits that take longer, at some 0.1 ms each, than starting threads for them does."""


@dataclass(frozen=True)
class Rule:
    """How one sample's problem is iterated at a visit; named as the parameters of `regularized_l0_codes`."""

    gamma: float
    lipschitz: float
    tau: float
    raise_where_needed: bool
    max_iter: int
    tol: float


class _Pool:
    """Codes that change their length: each row has its place in two long arrays, with room to grow."""

    def __init__(self, codes: sp.csr_array) -> None:
        self.counts = np.diff(codes.indptr).astype(np.int64)
        self.capacities = 2 * self.counts + 8
        self.starts = np.cumsum(self.capacities) - self.capacities
        self.items = np.empty(int(self.capacities.sum()), dtype=np.int64)
        self.values = np.empty(len(self.items))
        used = self._places(np.arange(len(self.counts)))
        self.items[used] = codes.indices
        self.values[used] = codes.data

    def _places(self, rows: np.ndarray) -> np.ndarray:
        """Return where the entries of the rows are, one row after the other."""
        counts = self.counts[rows]
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return np.repeat(self.starts[rows], counts) + within

    def make_room(self, rows: np.ndarray, needed: np.ndarray) -> None:
        """Move the rows to the end of the pool, where they get room for what is needed and as much again."""
        old = self._places(rows)
        end = int((self.starts + self.capacities).max())
        self.capacities[rows] = 2 * needed
        self.starts[rows] = end + np.cumsum(self.capacities[rows]) - self.capacities[rows]
        missing = end + int(self.capacities[rows].sum()) - len(self.items)
        if missing > 0:
            more = max(missing, len(self.items) // 2)  # so that growing by many small steps copies little
            self.items = np.concatenate([self.items, np.empty(more, dtype=np.int64)])
            self.values = np.concatenate([self.values, np.empty(more)])
        new = self._places(rows)
        self.items[new] = self.items[old]
        self.values[new] = self.values[old]

    def codes(self, first: int, n_columns: int, dtype: np.dtype) -> sp.csr_array:
        """Return the rows from ``first`` on."""
        rows = np.arange(first, len(self.counts))
        used = self._places(rows)
        indptr = np.concatenate([[0], np.cumsum(self.counts[rows])])
        index_type = np.int32 if max(indptr[-1], n_columns) < 2**31 else np.int64
        parts = (self.values[used].astype(dtype), self.items[used].astype(index_type), indptr.astype(index_type))
        codes = sp.csr_array(parts, shape=(len(rows), n_columns))
        codes.eliminate_zeros()  # a value can vanish in float32
        return codes


class _Problem:
    """Targets whose codes are the last rows of a pool, and the graph that couples them to rows of the pool."""

    def __init__(
        self, dictionary: Dictionary, targets: Targets, weights: sp.csr_array, pool: _Pool, n_threads: int
    ) -> None:
        self.dictionary = dictionary
        values = targets.values.view()
        values.flags.writeable = False  # as those of the dictionary are, so that kernels are compiled once
        self.targets = Targets(values, targets.own)
        self.pool = pool
        self.first = len(pool.counts) - len(targets)
        self.graph = (weights.indptr.astype(np.int64), weights.indices.astype(np.int64), weights.data)
        self.n_threads = n_threads

    def objective(self, gamma: float, *, each_pair_twice: bool) -> float:
        """Return the total over the targets."""
        return total(*self.terms(), gamma, each_pair_twice=each_pair_twice)

    def terms(self) -> tuple[np.ndarray, np.ndarray]:
        """Return each target's squared residual and its weighted l0 distance to its neighbours' codes."""
        losses = np.empty(len(self.targets))
        distances = np.empty(len(self.targets), dtype=np.int64)
        pool = self.pool
        run_rows(
            kernel.terms,
            len(self.targets),
            self.n_threads,
            self.dictionary.X,
            self.targets.values,
            self.first,
            *self.graph,
            pool.starts,
            pool.counts,
            pool.items,
            pool.values,
            losses,
            distances,
        )
        return losses, distances

    def visit(self, rows: np.ndarray, rule: Rule) -> bool:
        """Solve the problems of some targets, no two of them neighbours; return whether all met the tolerance."""
        pool = self.pool
        all_done = True
        while len(rows):
            needed = np.empty(len(rows), dtype=np.int64)
            done = np.empty(len(rows), dtype=np.bool_)
            run_rows(
                kernel.visit,
                len(rows),
                self.n_threads if len(rows) >= _WORTH_THREADS else 1,
                self.dictionary.X,
                self.dictionary.norms,
                # A hair more than the largest norm: rounding must not close a sample that the exact bound leaves open.
                self.dictionary.max_norm * (1 + 1e-12),
                self.targets.values,
                self.first,
                self.targets.own,
                rule.gamma,
                rule.lipschitz,
                rule.tau,
                rule.raise_where_needed,
                rule.max_iter,
                rule.tol,
                *self.graph,
                rows,
                pool.starts,
                pool.capacities,
                pool.counts,
                pool.items,
                pool.values,
                needed,
                done,
            )
            # A row without room was left as it was. Its neighbours have not moved: the same visit again ends the same.
            short = needed > pool.capacities[rows]
            all_done = all_done and bool(done[~short].all())
            rows, needed = rows[short], needed[short]
            if len(rows):
                pool.make_room(rows, needed)
        return all_done


def total(losses: np.ndarray, distances: np.ndarray, gamma: float, *, each_pair_twice: bool) -> float:
    """Return the objective from the targets' terms."""
    return float(losses.sum() + gamma * (int(distances.sum()) / (2 if each_pair_twice else 1)))


def regularized_l0_codes(
    X: np.ndarray | Dictionary,
    *,
    init: sp.csr_array | None = None,
    gamma: float = 0.1,
    n_neighbors: int = 5,
    l1_penalty: float = 0.1,
    lipschitz: float | Literal["global"] = 100.0,
    tau: float = 1.1,
    max_iter: int = 30,
    max_sweeps: int = 5,
    tol: float = 1e-6,
    sweep_tol: float = 1e-6,
    sweep: Literal["gauss-seidel", "jacobi"] = "gauss-seidel",
    X_new: np.ndarray | None = None,
    codes: sp.csr_array | None = None,
    n_jobs: int | None = None,
) -> CodeResult:
    r"""Write every sample as a combination of few others, nearby samples as similar ones.

    .. math::
        \min_Z \sum_i \|x_i - \sum_j z_{ij} x_j\|_2^2
        + \mathrm{gamma} \sum_{ij} S_{ij} \|z_i - z_j\|_0, \quad z_{ii} = 0

    where :math:`S_{ij} = 1` if sample i is among the nearest neighbours of sample j, and 0 otherwise. Samples are
    visited in order; at a visit, the sample's problem with all other codes fixed is iterated by the proximal method.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples in rows. Used as given: the defaults are meant for samples of unit norm.
    init : sparse matrix of shape (n_rows, n_samples), default=None
        Codes to start from; l1 codes by default. A diagonal is ignored.
    gamma : float, default=0.1
        Price of an entry in which two neighbours differ, greater than 0.
    n_neighbors : int, default=5
        Nearest neighbours of each sample by Euclidean distance, itself not counted; all others where there are fewer.
        Of equally near samples the earlier ones are taken.
    l1_penalty : float, default=0.1
        Weight of the l1 codes that the iteration starts from, where no ``init`` is given.
    lipschitz : float or "global", default=100.0
        L = tau s, as in `l0_codes`. At each visit a number is raised to 2 tau sigma_max of the Gram matrix of the
        supports before and after a step, where it is smaller, so that the objective never rises.
    tau : float, default=1.1
        Safety factor of the step, greater than 1.
    max_iter : int, default=30
        Most proximal steps at a visit.
    max_sweeps : int, default=5
        Most visits of each sample.
    tol : float, default=1e-6
        End a visit when the sample's objective changes by less than this. 0 never ends it early.
    sweep_tol : float, default=1e-6
        Stop when a sweep over all samples changes the total objective by less than this. 0 never stops early.
    sweep : {"gauss-seidel", "jacobi"}, default="gauss-seidel"
        What a visit sees of the other samples: what those before it have become in the same sweep, which is the
        paper's; or what all were before the sweep. Jacobi sweeps are few large steps, for devices. Neighbours that move
        at once can overshoot: a sweep that raises the total objective is dropped, and ends the iteration.
    X_new : array-like of shape (n_new, n_features), default=None
        Code these samples over X instead of X's own. The neighbours of a new sample are the samples of X nearest to
        it, whose ``codes`` are fixed; so new samples do not know of each other, and each is visited once, for up to
        ``max_iter * max_sweeps`` steps.
    codes : sparse matrix of shape (n_samples, n_samples), default=None
        The codes of X itself, as returned for X; needed with ``X_new``, and only there.
    n_jobs : int or None, default=None
        Threads, as scikit-learn counts them: None is 1, -1 all cores. The codes do not depend on it.

    Returns
    -------
    CodeResult
        ``objective`` has the total at the start and after each sweep; ``n_iter`` is the number of sweeps.

    Notes
    -----
    In each coordinate a proximal step chooses, among its gradient step v and the neighbours' values in that coordinate,
    the u of least :math:`\frac{L}{2} (u - v)^2 + \mathrm{gamma} \sum_j \tilde S_{ij} [u \ne z_j]`,
    :math:`\tilde S = S + S^T`. Of equally good values v wins, then zero, then the smallest.

    The iterates are those of the dense iteration, sample after sample. Where a sample and all its neighbours are zero,
    an entry appears only if its correlation with the residual is at least
    :math:`\sqrt{\mathrm{gamma} \sum_j \tilde S_{ij} L / 2}`; samples whose residual is too short for that are iterated
    on the union of the supports alone. A visit reads the codes of neighbours only, so samples are visited at the same
    time where the order among them cannot matter.

    References
    ----------
    Section "Regularized l0-Graph" of "Learning with l0-Graph: l0-Induced Sparse Subspace Clustering".

    Examples
    --------
    >>> import numpy as np
    >>> from l0graph import regularized_l0_codes
    >>> X = np.array([[1.0, 0.0], [0.96, 0.28], [0.8, 0.6], [0.0, 1.0]])
    >>> regularized_l0_codes(X, gamma=0.01, n_neighbors=1).codes.toarray().round(2)
    array([[ 0.  ,  1.02,  0.02, -0.29],
           [ 0.59,  0.  ,  0.46,  0.  ],
           [ 0.01,  0.82,  0.  ,  0.37],
           [-1.19, -0.01,  1.53,  0.  ]])
    """
    check_number(gamma, "gamma", above=0)
    check_number(n_neighbors, "n_neighbors", at_least=1, integer=True)
    check_lipschitz(lipschitz)
    check_number(tau, "tau", above=1)
    check_number(max_iter, "max_iter", at_least=0, integer=True)
    check_number(max_sweeps, "max_sweeps", at_least=0, integer=True)
    check_number(tol, "tol", at_least=0)
    check_number(sweep_tol, "sweep_tol", at_least=0)
    check_option(sweep, "sweep", ("gauss-seidel", "jacobi"))
    if _arrays.takes(X):
        _check_belong_together(X_new, codes)
        return _arrays.regularized_l0_codes(
            X,
            {"init": init, "l1_penalty": l1_penalty, "rows": None, "X_new": X_new},
            gamma,
            n_neighbors=n_neighbors,
            lipschitz=lipschitz,
            tau=tau,
            max_iter=max_iter,
            max_sweeps=max_sweeps,
            tol=tol,
            sweep_tol=sweep_tol,
            sweep=sweep,
            codes=codes,
        )
    dictionary = dictionary_of(X)
    n_samples = dictionary.n_samples
    targets = targets_of(dictionary, None, X_new)
    _check_belong_together(X_new, codes)
    n_threads = resolve_n_jobs(n_jobs)
    if codes is not None:
        codes = clean(check_codes(codes, (n_samples, n_samples)), np.arange(n_samples))
    if init is None:
        init = l1_codes(dictionary, l1_penalty=l1_penalty, X_new=X_new, n_jobs=n_jobs).codes
    else:
        init = clean(check_codes(init, (len(targets), n_samples), name="init"), targets.own)

    if lipschitz == "global":
        value = tau * 2 * largest_singular_value_squared(dictionary)
        value = value if value > 0 else 1.0  # all samples are zero: any step does
    else:
        value = float(lipschitz)
    rule = Rule(float(gamma), value, float(tau), lipschitz != "global", int(max_iter), float(tol))
    n_neighbors = min(n_neighbors, n_samples - 1 if codes is None else n_samples)
    items = nearest(dictionary, targets, n_neighbors, n_threads)
    weights = neighbor_weights(items, n_samples, symmetric=codes is None)
    if codes is not None:
        return _code_new(dictionary, targets, weights, codes, init, rule, max_sweeps, n_threads)
    if sweep == "jacobi":
        return _jacobi(dictionary, targets, weights, init, rule, max_sweeps, sweep_tol, n_threads)

    pool = _Pool(init)
    problem = _Problem(dictionary, targets, weights, pool, n_threads)
    level = kernel.levels(*problem.graph[:2])
    groups = np.split(np.argsort(level, kind="stable"), np.cumsum(np.bincount(level))[:-1])
    objective = [problem.objective(gamma, each_pair_twice=True)]
    status = Status.MAX_ITER
    while len(objective) <= max_sweeps and status is Status.MAX_ITER:
        n_done = n_samples * (len(objective) - 1)
        for group in groups:
            problem.visit(group, rule)
            n_done += len(group)
            report("regularized l0 codes", n_done, n_samples * max_sweeps)
        objective.append(problem.objective(gamma, each_pair_twice=True))
        if abs(objective[-1] - objective[-2]) < sweep_tol:
            status = Status.CONVERGED
    return CodeResult(
        codes=pool.codes(0, n_samples, dictionary.X.dtype),
        objective=np.array(objective),
        n_iter=len(objective) - 1,
        status=status,
    )


def visit_all(
    dictionary: Dictionary,
    targets: Targets,
    weights: sp.csr_array,
    neighbors: sp.csr_array,
    codes: sp.csr_array,
    rule: Rule,
    n_threads: int,
) -> tuple[sp.csr_array, np.ndarray, np.ndarray]:
    """Visit every target once, whose neighbours' codes stay as they are.

    ``weights``, (n_targets, n_neighbors), refer to the rows of ``neighbors``. Returns the targets' codes in float64,
    and their terms of the objective before the visit.
    """
    pool = _Pool(sp.csr_array(sp.vstack([neighbors, codes], format="csr")))
    problem = _Problem(dictionary, targets, weights, pool, n_threads)
    terms = problem.terms()
    problem.visit(problem.first + np.arange(len(targets)), rule)
    return pool.codes(problem.first, dictionary.n_samples, np.dtype(np.float64)), *terms


def _check_belong_together(X_new: object, codes: object) -> None:
    if (X_new is None) != (codes is None):
        msg = "X_new and codes belong together: codes are those of X, to which the codes of X_new are drawn"
        raise ValueError(msg)


def _jacobi(
    dictionary: Dictionary,
    targets: Targets,
    weights: sp.csr_array,
    init: sp.csr_array,
    rule: Rule,
    max_sweeps: int,
    sweep_tol: float,
    n_threads: int,
) -> CodeResult:
    """Code by Jacobi sweeps."""
    n_done = 0

    def sweep(codes: sp.csr_array, moves: bool) -> tuple[sp.csr_array, float]:
        nonlocal n_done
        step = rule if moves else replace(rule, max_iter=0)
        after, losses, distances = visit_all(dictionary, targets, weights, codes, codes, step, n_threads)
        n_done += len(targets) if moves else 0
        report("regularized l0 codes", n_done, len(targets) * max_sweeps)
        return after, total(losses, distances, rule.gamma, each_pair_twice=True)

    codes, objective, status = jacobi_sweeps(sweep, init, max_sweeps, sweep_tol)
    codes = _Pool(codes).codes(0, dictionary.n_samples, dictionary.X.dtype)
    return CodeResult(codes=codes, objective=objective, n_iter=len(objective) - 1, status=status)


def _code_new(
    dictionary: Dictionary,
    targets: Targets,
    weights: sp.csr_array,
    codes: sp.csr_array,
    init: sp.csr_array,
    rule: Rule,
    max_sweeps: int,
    n_threads: int,
) -> CodeResult:
    """Code new samples beside the fixed codes of the old ones."""
    rule = replace(rule, max_iter=rule.max_iter * max_sweeps)
    pool = _Pool(sp.csr_array(sp.vstack([codes, init], format="csr")))
    problem = _Problem(dictionary, targets, weights, pool, n_threads)
    start = problem.objective(rule.gamma, each_pair_twice=False)
    size = 1024
    converged = True
    for begin in range(0, len(targets), size):
        rows = problem.first + np.arange(begin, min(begin + size, len(targets)))
        converged = problem.visit(rows, rule) and converged
        report("regularized l0 codes", begin + len(rows), len(targets))
    return CodeResult(
        codes=pool.codes(problem.first, dictionary.n_samples, dictionary.X.dtype),
        objective=np.array([start, problem.objective(rule.gamma, each_pair_twice=False)]),
        n_iter=1,
        status=Status.CONVERGED if converged else Status.MAX_ITER,
    )

"""Codes by orthogonal matching pursuit: a given number of atoms, chosen one by one."""

from __future__ import annotations

import numpy as np

from .._progress import Counter
from .._threads import resolve_n_jobs, run_blocks
from .._types import CodeResult, Status
from .._validation import check_number
from ..kernels.omp import omp_step
from . import _arrays
from ._assembly import CodeAssembler
from .working_set import Block, Dictionary, Targets, dictionary_of, row_norms, targets_of

_FACTOR_BYTES = 64 * 2**20
"""Memory for the triangular factors of a block."""


def omp_codes(
    X: np.ndarray | Dictionary,
    *,
    n_nonzero: int = 3,
    tol: float = 1e-6,
    rows: np.ndarray | slice | None = None,
    X_new: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> CodeResult:
    r"""Write every sample as a combination of a few others, chosen greedily.

    Orthogonal matching pursuit for, per sample i, with z_ii = 0,

    .. math:: \min_{z_i} \|x_i - \sum_j z_{ij} x_j\|_2^2 \quad \text{s.t.} \quad \|z_i\|_0 \le \mathrm{n\_nonzero}

    At each step the atom with the largest :math:`|x_j^\top r|` enters, r the residual, and all coefficients are
    fitted anew by least squares.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples in rows. Used as given, as scikit-learn's ``orthogonal_mp`` does: atoms of larger norm are preferred,
        unless samples are scaled to unit norm first.
    n_nonzero : int, default=3
        Number of atoms of each code, at least 1.
    tol : float, default=1e-6
        A row has fewer atoms if its residual is at most ``tol`` times the sample's norm before. Values under 64 units
        in the last place of X's type act as those: there the residual is rounding.
    rows : ndarray of int, slice or None, default=None
        The samples to code; all by default. All samples are atoms in any case.
    X_new : array-like of shape (n_new, n_features), default=None
        Code these samples over X instead of X's own.
    n_jobs : int or None, default=None
        Threads, as scikit-learn counts them: None is 1, -1 all cores. The codes do not depend on it.

    Returns
    -------
    CodeResult
        ``objective`` has the total squared residual after 0, 1, ..., n_iter steps.

    Notes
    -----
    A row also stops early where no atom correlates with its residual beyond rounding, or where the strongest one
    depends numerically on those chosen. The choice is that of float64 arithmetic; of equal correlations the first atom
    wins, and of equal samples only the first is used. Per step one product with X: O(n_samples n_features) a row.

    Examples
    --------
    >>> import numpy as np
    >>> from l0graph import omp_codes
    >>> X = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    >>> omp_codes(X, n_nonzero=1).codes.toarray()
    array([[0. , 0.8, 0. ],
           [0.8, 0. , 0. ],
           [0. , 0.6, 0. ]])
    """
    check_number(n_nonzero, "n_nonzero", at_least=1, integer=True)
    check_number(tol, "tol", at_least=0)
    if _arrays.takes(X):
        return _arrays.omp_codes(X, n_nonzero=n_nonzero, tol=tol, rows=rows, X_new=X_new)
    dictionary = dictionary_of(X)
    targets = targets_of(dictionary, rows, X_new)
    n_threads = resolve_n_jobs(n_jobs)
    n_steps = min(int(n_nonzero), *dictionary.X.shape)  # more atoms than features depend on each other
    tol = max(tol, 64 * float(np.finfo(dictionary.X.dtype).eps))

    assembler = CodeAssembler(len(targets), dictionary.n_samples)
    squares = np.empty((len(targets), n_steps + 1))
    n_chosen = np.zeros(len(targets), dtype=np.int64)
    counter = Counter("omp codes", len(targets))

    def block(start: int, stop: int) -> None:
        chosen = np.arange(start, stop)
        part = Targets(targets.values[chosen], targets.own[chosen])
        members, coefs, n_members, squares[chosen] = _pursue(dictionary, part, n_steps, tol)
        assembler.add(chosen, members, coefs, n_members)
        n_chosen[chosen] = n_members
        counter.add(len(chosen))

    dictionary.prepare()
    # A row keeps the triangular factor of its members' Gram matrix.
    row_bytes = 8 * n_steps * (n_steps + 3)
    size = min(dictionary.block_size(len(targets), n_threads), max(1, _FACTOR_BYTES // row_bytes))
    run_blocks(block, len(targets), size, n_threads)
    n_iter = int(n_chosen.max(initial=0))
    return CodeResult(
        codes=assembler.assemble(dictionary.X.dtype),
        objective=np.ascontiguousarray(squares.T).sum(axis=1)[: n_iter + 1],
        n_iter=n_iter,
        status=Status.CONVERGED,
    )


def _pursue(
    dictionary: Dictionary, targets: Targets, n_steps: int, tol: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Code one block: padded ``(members, coefs, n_members)``, sorted, and the squared residuals after each step."""
    n = len(targets)
    members = np.zeros((n, n_steps), dtype=np.int64)
    n_members = np.zeros(n, dtype=np.int64)
    factors = np.zeros((n, n_steps, n_steps))
    projections = np.zeros((n, n_steps))
    coefs = np.zeros((n, n_steps))
    residuals = targets.values.astype(np.float64)
    squares = np.empty((n, n_steps + 1))
    current = row_norms(residuals) ** 2
    floors = tol**2 * current
    squares[:, 0] = current
    going = current > floors
    for step in range(n_steps):
        chosen = np.flatnonzero(going)
        if len(chosen):
            block = Block(targets.own[chosen], residuals[chosen])
            items, correlations = dictionary.strongest(block, members[chosen], n_members[chosen])
            omp_step(
                dictionary.X,
                dictionary.norms,
                targets.values,
                chosen,
                items,
                correlations,
                floors,
                members,
                n_members,
                factors,
                projections,
                coefs,
                residuals,
                current,
                going,
            )
        squares[:, step + 1] = current
    order = np.argsort(np.where(np.arange(n_steps) < n_members[:, None], members, dictionary.n_samples), axis=1)
    return np.take_along_axis(members, order, axis=1), np.take_along_axis(coefs, order, axis=1), n_members, squares

"""Codes of sparse manifold clustering and embedding: affine combinations of near neighbours."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._progress import report
from .._threads import resolve_n_jobs, run_rows
from .._types import CodeResult, Status
from .._validation import check_number
from ..kernels import smce as kernel
from . import _arrays
from ._assembly import CodeAssembler
from .neighbors import nearest
from .working_set import Dictionary, Targets, dictionary_of, targets_of

_MASS = 0.95
"""Share of a code's absolute sum that is kept, the published one."""


@dataclass(frozen=True)
class Solution:
    """The quadratic problems of some targets, solved. Arrays are padded, (n_targets, K), where not said otherwise."""

    neighbors: np.ndarray
    """Ascending indices of atoms, the first ``n_neighbors`` of each row."""
    n_neighbors: np.ndarray
    """(n_targets,)"""
    distances: np.ndarray
    coefs: np.ndarray
    """c, with sum one."""
    weights: np.ndarray
    """The entries of the code."""
    multipliers: np.ndarray
    """mu, (n_targets,)"""
    objectives: np.ndarray
    """(n_targets, 2): at the cheapest neighbour alone, and at c."""
    gaps: np.ndarray
    """(n_targets,): certified bound on the objective's distance from its minimum."""


def smce_codes(
    X: np.ndarray | Dictionary,
    *,
    n_neighbors: int = 15,
    penalty: float = 0.1,
    tol: float = 1e-10,
    rows: np.ndarray | slice | None = None,
    X_new: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> CodeResult:
    r"""Weigh every sample's near neighbours by the sparse affine combination that comes closest to it.

    Per sample i with neighbours j at distance d_j, directions :math:`u_j = (x_j - x_i) / d_j` and relative distances
    :math:`q_j = d_j / \sum_t d_t`,

    .. math:: \min_c \tfrac12 \left\|\sum_j c_j u_j\right\|_2^2 + \mathrm{penalty} \sum_j q_j |c_j|
        \quad \text{s.t.} \quad \sum_j c_j = 1

    The code has :math:`c_j / d_j`, scaled to absolute sum one: the largest entries up to 95% of that sum.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples in rows. Used as given; the codes stay the same if all samples are moved or scaled.
    n_neighbors : int, default=15
        Number of nearest samples, by Euclidean distance, of which the code may consist, at least 1; all of them where
        there are fewer.
    penalty : float, default=0.1
        Price of a coefficient per relative distance, greater than 0; larger is sparser.
    tol : float, default=1e-10
        Certified duality gap of each row, relative to the objective at its cheapest neighbour alone.
    rows : ndarray of int, slice or None, default=None
        The samples to code; all by default. All samples are atoms in any case.
    X_new : array-like of shape (n_new, n_features), default=None
        Code these samples over X instead of X's own.
    n_jobs : int or None, default=None
        Threads, as scikit-learn counts them: None is 1, -1 all cores. The codes do not depend on it.

    Returns
    -------
    CodeResult
        ``objective`` holds the total at the cheapest neighbour alone and at the solution, ``gap`` the certified gap per
        row.

    Notes
    -----
    There is no direction from a sample to its equal: copies of a sample (up to rounding) are not among its neighbours,
    and of copies of another one only the first is. So copies of a sample get its code and are not linked to it. A new
    sample that equals one of X has that one as its code.

    Neighbours are those of exact distances, of equally near samples the first ones. Each problem is solved by an active
    set, to rounding; one product with X finds all neighbours.

    References
    ----------
    E. Elhamifar and R. Vidal, "Sparse Manifold Clustering and Embedding", NIPS 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from l0graph import smce_codes
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [0.0, 9.0]])
    >>> smce_codes(X, penalty=0.1).codes.toarray().round(4)
    array([[0.    , 0.9106, 0.    , 0.0894],
           [0.6685, 0.    , 0.3315, 0.    ],
           [0.    , 0.8466, 0.    , 0.1534],
           [0.5304, 0.    , 0.4696, 0.    ]])
    """
    if _arrays.takes(X):
        msg = "smce_codes is not available for arrays of torch or CuPy: pass a NumPy array"
        raise ValueError(msg)
    check_number(n_neighbors, "n_neighbors", at_least=1, integer=True)
    check_number(penalty, "penalty", above=0)
    check_number(tol, "tol", at_least=0)
    dictionary = dictionary_of(X)
    targets = targets_of(dictionary, rows, X_new)
    n_threads = resolve_n_jobs(n_jobs)
    solution = solve(dictionary, targets, int(n_neighbors), float(penalty), n_threads)

    assembler = CodeAssembler(len(targets), dictionary.n_samples)
    # Weights under the cut are zero, which assembling leaves out.
    assembler.add(np.arange(len(targets)), solution.neighbors, solution.weights, solution.n_neighbors)

    # Rounding of the objective itself is the floor under any tolerance.
    certified = solution.gaps <= (tol + 1e-13) * solution.objectives[:, 0]
    if not certified.all():
        worst = float((solution.gaps[~certified] / solution.objectives[~certified, 0]).max())
        msg = (
            f"smce_codes: {np.count_nonzero(~certified)} of {len(targets)} rows have a relative duality gap over"
            f" tol={tol:g} (largest {worst:.1e}): raise tol or penalty"
        )
        warnings.warn(msg, ConvergenceWarning, stacklevel=2)
    return CodeResult(
        codes=assembler.assemble(dictionary.X.dtype),
        objective=solution.objectives.sum(axis=0),
        n_iter=1,
        status=Status.CONVERGED if certified.all() else Status.MAX_ITER,
        gap=solution.gaps,
    )


def solve(dictionary: Dictionary, targets: Targets, n_neighbors: int, penalty: float, n_threads: int) -> Solution:
    """Find the neighbours of the targets and solve their problems."""
    first, rank = dictionary.copies
    distinct = np.flatnonzero(rank == 0)
    atoms = dictionary if len(distinct) == dictionary.n_samples else Dictionary(dictionary.X[distinct])
    own = targets.own.copy()
    own[own >= 0] = np.searchsorted(distinct, first[own[own >= 0]])
    k = min(n_neighbors, len(distinct) - int((own >= 0).any()))
    n = len(targets)
    solution = Solution(
        neighbors=np.zeros((n, k), dtype=np.int64),
        n_neighbors=np.zeros(n, dtype=np.int64),
        distances=np.zeros((n, k)),
        coefs=np.zeros((n, k)),
        weights=np.zeros((n, k)),
        multipliers=np.zeros(n),
        objectives=np.zeros((n, 2)),
        gaps=np.zeros(n),
    )
    if k == 0:  # all samples are equal
        return solution
    size = 4096
    for start in range(0, n, size):
        chosen = slice(start, min(start + size, n))
        # Copied, so that kernels meet writable rows only: read-only ones would be compiled a second time.
        values = targets.values[chosen].copy()
        solution.neighbors[chosen] = np.sort(nearest(atoms, Targets(values, own[chosen]), k, n_threads), axis=1)
        run_rows(
            kernel.smce_rows,
            len(values),
            n_threads,
            atoms.X,
            atoms.norms,
            values,
            own[chosen],
            32 * float(np.finfo(values.dtype).eps),
            penalty,
            _MASS,
            solution.neighbors[chosen],
            solution.n_neighbors[chosen],
            solution.distances[chosen],
            solution.coefs[chosen],
            solution.weights[chosen],
            solution.multipliers[chosen],
            solution.objectives[chosen],
            solution.gaps[chosen],
        )
        solution.neighbors[chosen] = distinct[solution.neighbors[chosen]]
        report("smce codes", int(chosen.stop), n)
    return solution

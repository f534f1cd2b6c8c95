"""The regularised l0-graph as an estimator."""

from __future__ import annotations

from typing import Literal

import numpy as np

from .._progress import stage
from .._types import CodeResult
from ..codes.l1 import l1_codes
from ..codes.regularized import regularized_l0_codes
from ..codes.working_set import Dictionary
from .base import SelfExpressiveClusterer


class RegularizedL0Graph(SelfExpressiveClusterer):
    r"""Sparse subspace clustering by l0 codes that near samples share: the regularised l0-graph.

    Every sample is written as a combination of few others, and pays for every entry in which its code differs from
    those of its nearest neighbours, :math:`\min \sum_i \|x_i - \sum_j z_{ij} x_j\|_2^2 + \mathrm{gamma} \sum_{ij}
    S_{ij} \|z_i - z_j\|_0`. That draws the graph together inside the clusters.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    gamma : float, default=0.1
        Price of an entry in which two neighbours differ; larger is sparser, and neighbours are more alike.
    n_neighbors : int, default=5
        Nearest neighbours of each sample; all others where there are fewer.
    l1_penalty : float, default=0.1
        Weight of the l1 codes that the iteration starts from.
    lipschitz : float or "global", default=100.0
        The paper's tau s, the inverse step length times two; see `regularized_l0_codes`.
    tau : float, default=1.1
        Safety factor of the step where it is computed.
    max_iter : int, default=30
        Most proximal steps at each visit of a sample.
    max_sweeps : int, default=5
        Most visits of each sample. Both limits are the paper's, and part of the method.
    tol : float, default=1e-6
        End a visit when the sample's objective changes by less than this.
    sweep_tol : float, default=1e-6
        Stop when a sweep over all samples changes the total objective by less than this.
    sweep : {"gauss-seidel", "jacobi"}, default="gauss-seidel"
        Whether a visit sees what samples before it have become in the same sweep, as in the paper, or what all were
        before it; see `regularized_l0_codes`. Fits by blocks go by Jacobi sweeps.
    {common device}
    {common parameters}

    Attributes
    ----------
    {common attributes}

    Examples
    --------
    >>> from l0graph import RegularizedL0Graph
    >>> from l0graph.datasets import make_subspaces
    >>> X, y = make_subspaces(30, n_subspaces=2, dim=2, ambient_dim=8, random_state=0)
    >>> RegularizedL0Graph(n_clusters=2, random_state=0).fit_predict(X)[[0, 1, -2, -1]]
    array([0, 0, 1, 1])
    """

    _coding = "jacobi"

    def __init__(
        self,
        n_clusters: int = 8,
        *,
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
        device: str | None = None,
        normalize: bool = True,
        fragments: Literal["attach", "keep"] = "attach",
        min_fraction: float = 0.3,
        min_gap: float = 0.01,
        n_init: int = 20,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_clusters=n_clusters,
            normalize=normalize,
            fragments=fragments,
            min_fraction=min_fraction,
            min_gap=min_gap,
            n_init=n_init,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.l1_penalty = l1_penalty
        self.lipschitz = lipschitz
        self.tau = tau
        self.max_iter = max_iter
        self.max_sweeps = max_sweeps
        self.tol = tol
        self.sweep_tol = sweep_tol
        self.sweep = sweep
        self.device = device

    def _start(self, dictionary: Dictionary, X_new: np.ndarray | None = None) -> CodeResult:
        """Return the codes that the sweeps start from."""
        return l1_codes(dictionary, l1_penalty=self.l1_penalty, X_new=X_new, n_jobs=self.n_jobs)

    def _code(self, dictionary: Dictionary, X_new: np.ndarray | None = None) -> CodeResult:
        with stage("l1 codes"):
            init = self._start(dictionary, X_new).codes
        with stage("regularized l0 codes"):
            return regularized_l0_codes(
                dictionary,
                init=init,
                gamma=self.gamma,
                n_neighbors=self.n_neighbors,
                lipschitz=self.lipschitz,
                tau=self.tau,
                max_iter=self.max_iter,
                max_sweeps=self.max_sweeps,
                tol=self.tol,
                sweep_tol=self.sweep_tol,
                sweep=self.sweep,
                X_new=X_new,
                codes=None if X_new is None else self.codes_,
                n_jobs=self.n_jobs,
            )

"""The l0-graph as an estimator."""

from __future__ import annotations

from typing import Literal

import numpy as np

from .._progress import stage
from .._types import CodeResult
from ..codes.l0 import l0_codes
from ..codes.l1 import l1_codes
from ..codes.working_set import Dictionary
from .base import SelfExpressiveClusterer


class L0Graph(SelfExpressiveClusterer):
    r"""Sparse subspace clustering by l0 codes: the l0-graph.

    Every sample is written as an l0-sparse combination of the others,
    :math:`\min \|x_i - \sum_j z_{ij} x_j\|_2^2 + \mathrm{l0\_penalty} \|z_i\|_0`, by a proximal method that starts
    from l1 codes, and the graph of the codes is clustered.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    l0_penalty : float, default=0.5
        Price of a nonzero; larger is sparser. What acts is the threshold sqrt(2 l0_penalty / lipschitz), 0.1 at the
        defaults; its useful range is about 0.04 to 0.15.
    l1_penalty : float, default=0.1
        Weight of the l1 codes that the iteration starts from.
    outliers : bool, default=False
        Model gross errors of single features; see `l0_codes`. They are kept in ``outliers_`` and out of the graph.
    outlier_penalty : float, default=None
        Price of an outlier; ``l0_penalty`` by default. For images of norm one, about 0.02.
    l1_outlier_penalty : float, default=None
        Weight of the outliers in the l1 codes; ``l1_penalty`` by default. For images of norm one, about 0.03.
    lipschitz : float or "global", default=100.0
        The paper's tau s, the inverse step length times two; see `l0_codes`.
    tau : float, default=1.1
        Safety factor of the step where it is computed.
    max_iter : int, default=100
        Most proximal iterations. The default is the paper's, and part of the method: its iteration is
        usually stopped, not run to convergence.
    tol : float, default=1e-6
        Stop when the total objective changes by less than this.
    {common dictionary}
    {common device}
    {common parameters}

    Attributes
    ----------
    {common attributes}
    outliers_ : csr_array of shape (n_samples, n_features)
        What was taken out of the samples as gross errors, where ``outliers`` is set.

    Examples
    --------
    >>> from l0graph import L0Graph
    >>> from l0graph.datasets import make_subspaces
    >>> X, y = make_subspaces(30, n_subspaces=2, dim=2, ambient_dim=8, random_state=0)
    >>> L0Graph(n_clusters=2, random_state=0).fit_predict(X)[[0, 1, -2, -1]]
    array([0, 0, 1, 1])
    """

    _coding = "l0"

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        l0_penalty: float = 0.5,
        l1_penalty: float = 0.1,
        outliers: bool = False,
        outlier_penalty: float | None = None,
        l1_outlier_penalty: float | None = None,
        lipschitz: float | Literal["global"] = 100.0,
        tau: float = 1.1,
        max_iter: int = 100,
        tol: float = 1e-6,
        dictionary: int | Literal["all", "auto"] = "all",
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
        self.dictionary = dictionary
        self.device = device
        self.l0_penalty = l0_penalty
        self.l1_penalty = l1_penalty
        self.outliers = outliers
        self.outlier_penalty = outlier_penalty
        self.l1_outlier_penalty = l1_outlier_penalty
        self.lipschitz = lipschitz
        self.tau = tau
        self.max_iter = max_iter
        self.tol = tol

    def _code(self, dictionary: Dictionary, X_new: np.ndarray | None = None) -> CodeResult:
        with stage("l1 codes"):
            start = self._start(dictionary, X_new)
        with stage("l0 codes"):
            return self._iterate(dictionary, start, X_new)

    def _start(self, dictionary: Dictionary, X_new: np.ndarray | None = None) -> CodeResult:
        """Return the codes that the iteration starts from."""
        return l1_codes(
            dictionary,
            l1_penalty=self.l1_penalty,
            outliers=self.outliers,
            outlier_penalty=self.l1_outlier_penalty,
            X_new=X_new,
            n_jobs=self.n_jobs,
        )

    def _iterate(self, dictionary: Dictionary, init: CodeResult, X_new: np.ndarray | None = None) -> CodeResult:
        """Return the codes that the iteration ends at."""
        return l0_codes(
            dictionary,
            init=init,
            l0_penalty=self.l0_penalty,
            outliers=self.outliers,
            outlier_penalty=self.outlier_penalty,
            lipschitz=self.lipschitz,
            tau=self.tau,
            max_iter=self.max_iter,
            # The stopping rule looks at all rows together: a new sample's code must not depend on the others'.
            tol=self.tol if X_new is None else 0.0,
            X_new=X_new,
            n_jobs=self.n_jobs,
        )

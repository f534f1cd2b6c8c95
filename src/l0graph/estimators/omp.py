"""The OMP-graph as an estimator."""

from __future__ import annotations

from typing import Literal

import numpy as np

from .._progress import stage
from .._types import CodeResult
from .._validation import check_number
from ..codes.omp import omp_codes
from ..codes.working_set import Dictionary
from .base import SelfExpressiveClusterer


class OMPGraph(SelfExpressiveClusterer):
    r"""Sparse subspace clustering by orthogonal matching pursuit: the OMP-graph, SSC-OMP.

    Every sample is written as a combination of ``n_nonzero`` others, chosen one by one by their correlation with what
    is left of it, and the graph of the codes is clustered.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_nonzero : int, default=3
        Number of atoms of each code, at most n_features - 1; the l0-graph paper takes the best of 3, 4 and 5.
    tol : float, default=1e-6
        A code has fewer atoms if its residual is at most this share of the sample's norm before.
    {common dictionary}
    {common device}
    {common parameters}

    Attributes
    ----------
    {common attributes}

    Examples
    --------
    >>> from l0graph import OMPGraph
    >>> from l0graph.datasets import make_subspaces
    >>> X, y = make_subspaces(30, n_subspaces=2, dim=4, ambient_dim=12, random_state=0)
    >>> OMPGraph(n_clusters=2, random_state=0).fit_predict(X)[[0, 1, -2, -1]]
    array([0, 0, 1, 1])
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_nonzero: int = 3,
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
        self.n_nonzero = n_nonzero
        self.tol = tol

    def _code(self, dictionary: Dictionary, X_new: np.ndarray | None = None) -> CodeResult:
        check_number(self.n_nonzero, "n_nonzero", at_least=1, integer=True)
        # As many atoms as features write any sample exactly, from whatever subspace they are: they tell nothing.
        n_nonzero = min(self.n_nonzero, max(1, dictionary.X.shape[1] - 1))
        with stage("omp codes"):
            return omp_codes(dictionary, n_nonzero=n_nonzero, tol=self.tol, X_new=X_new, n_jobs=self.n_jobs)

"""The l1-graph as an estimator."""

from __future__ import annotations

from typing import Literal

import numpy as np

from .._progress import stage
from .._types import CodeResult
from ..codes.l1 import l1_codes
from ..codes.working_set import Dictionary
from .base import SelfExpressiveClusterer


class L1Graph(SelfExpressiveClusterer):
    r"""Sparse subspace clustering by l1 codes (SSC, the l1-graph).

    Every sample is written as an l1-sparse combination of the others,
    :math:`\min \|x_i - \sum_j z_{ij} x_j\|_2^2 + \mathrm{l1\_penalty} \|z_i\|_1`, and the graph of the codes is
    clustered.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    l1_penalty : float, default=0.1
        Weight of the l1 norm; larger is sparser.
    outliers : bool, default=False
        Model gross errors of single features; see `l1_codes`. They are kept in ``outliers_`` and out of the graph.
    outlier_penalty : float, default=None
        Weight of the l1 norm of the outliers; ``l1_penalty`` by default. For images of norm one, 0.02 to 0.05.
    affine : bool, default=False
        Let the entries of every code sum to one, for subspaces that do not pass through the origin.
    tol : float, default=1e-10
        Certified duality gap of each code, relative to the sample's squared norm.
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
    >>> from l0graph import L1Graph
    >>> from l0graph.datasets import make_subspaces
    >>> X, y = make_subspaces(30, n_subspaces=2, dim=2, ambient_dim=8, random_state=0)
    >>> L1Graph(n_clusters=2, random_state=0).fit_predict(X)[[0, 1, -2, -1]]
    array([0, 0, 1, 1])
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        l1_penalty: float = 0.1,
        outliers: bool = False,
        outlier_penalty: float | None = None,
        affine: bool = False,
        tol: float = 1e-10,
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
        self.l1_penalty = l1_penalty
        self.outliers = outliers
        self.outlier_penalty = outlier_penalty
        self.affine = affine
        self.tol = tol

    def _code(self, dictionary: Dictionary, X_new: np.ndarray | None = None) -> CodeResult:
        with stage("l1 codes"):
            return l1_codes(
                dictionary,
                l1_penalty=self.l1_penalty,
                outliers=self.outliers,
                outlier_penalty=self.outlier_penalty,
                affine=self.affine,
                tol=self.tol,
                X_new=X_new,
                n_jobs=self.n_jobs,
            )

"""Sparse manifold clustering and embedding as an estimator."""

from __future__ import annotations

from typing import Literal

import numpy as np

from .._progress import stage
from .._types import CodeResult
from ..codes.smce import smce_codes
from ..codes.working_set import Dictionary
from .base import SelfExpressiveClusterer


class SMCE(SelfExpressiveClusterer):
    r"""Sparse manifold clustering: a graph of the neighbours whose directions sparsely span every sample.

    Every sample weighs its nearest neighbours by a sparse affine combination of the directions to them that is
    close to zero, see `smce_codes`; two samples are linked by the larger of the weights that they give each other.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_neighbors : int, default=15
        Number of nearest samples of which a code may consist.
    penalty : float, default=0.1
        Price of a coefficient per relative distance; larger is sparser.
    tol : float, default=1e-10
        Certified duality gap of each code's problem, relative to the objective at its cheapest neighbour alone.
    {common dictionary}
    {common parameters}

    Attributes
    ----------
    {common attributes}

    References
    ----------
    E. Elhamifar and R. Vidal, "Sparse Manifold Clustering and Embedding", NIPS 2011.

    Examples
    --------
    >>> from l0graph import SMCE
    >>> from l0graph.datasets import make_subspaces
    >>> X, y = make_subspaces(60, n_subspaces=2, dim=2, ambient_dim=8, random_state=0)
    >>> SMCE(n_clusters=2, random_state=0).fit_predict(X)[[0, 1, -2, -1]]
    array([0, 0, 1, 1])
    """

    _symmetrize = "max"

    _has_device_codes = False

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_neighbors: int = 15,
        penalty: float = 0.1,
        tol: float = 1e-10,
        dictionary: int | Literal["all", "auto"] = "all",
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
        self.n_neighbors = n_neighbors
        self.penalty = penalty
        self.tol = tol

    def _code(self, dictionary: Dictionary, X_new: np.ndarray | None = None) -> CodeResult:
        with stage("smce codes"):
            return smce_codes(
                dictionary,
                n_neighbors=self.n_neighbors,
                penalty=self.penalty,
                tol=self.tol,
                X_new=X_new,
                n_jobs=self.n_jobs,
            )

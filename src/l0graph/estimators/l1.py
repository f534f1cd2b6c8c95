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
    :math:`\min \|x_i - \sum_j z_{ij} x_j\|_2^2 + \mathrm{l1\_penalty} \|z_i\|_1`, and the graph of the codes is clustered.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    l1_penalty : float, default=0.1
        Weight of the l1 norm; larger is sparser.
    tol : float, default=1e-10
        Certified duality gap of each code, relative to the sample's squared norm.
    normalize : bool, default=True
        Scale samples to unit norm first. Zero samples stay zero.
    fragments : {"attach", "keep"}, default="attach"
        What to do with components too small to be clusters; see `cluster_graph`.
    min_fraction : float, default=0.3
        Size under which a component is a fragment, as a share of the mean cluster size.
    n_init : int, default=20
        Number of k-means starts.
    random_state : int, RandomState or None, default=None
        Seeds the k-means starts, the only randomness.
    n_jobs : int or None, default=None
        Threads: None is 1, -1 all cores. The result does not depend on it.
    verbose : int, default=0
        Log the stages.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample.
    codes_ : csr_array of shape (n_samples, n_samples)
        Codes, row i of sample i, zero diagonal.
    affinity_matrix_ : csr_array of shape (n_samples, n_samples)
        (\|Z\| + \|Z\|^T) / 2.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Leading eigenvectors of the normalised affinity; zero rows for attached samples.
    eigenvalues_ : ndarray of shape (n_clusters,)
        Their eigenvalues, descending.
    objective_ : ndarray
        Total objective at zero codes and at the solution.
    n_iter_ : int
        Largest number of working-set rounds of a sample.
    n_components_, n_attached_ : int
        Connected components of the graph; samples that were attached to a cluster after the embedding.
    stage_seconds_ : dict
        Seconds of each stage.
    n_features_in_ : int
        Number of features seen in fit.

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
        tol: float = 1e-10,
        normalize: bool = True,
        fragments: Literal["attach", "keep"] = "attach",
        min_fraction: float = 0.3,
        n_init: int = 20,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.l1_penalty = l1_penalty
        self.tol = tol
        self.normalize = normalize
        self.fragments = fragments
        self.min_fraction = min_fraction
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _code(self, dictionary: Dictionary) -> CodeResult:
        with stage("l1 codes"):
            return l1_codes(dictionary, l1_penalty=self.l1_penalty, tol=self.tol, n_jobs=self.n_jobs)

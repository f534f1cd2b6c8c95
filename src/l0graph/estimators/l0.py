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
    :math:`\min \|x_i - \sum_j z_{ij} x_j\|_2^2 + \mathrm{l0\_penalty} \|z_i\|_0`, by a proximal method that starts from l1
    codes, and the graph of the codes is clustered.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    l0_penalty : float, default=0.5
        Price of a nonzero; larger is sparser. What acts is the threshold sqrt(2 l0_penalty / lipschitz), 0.1 at the
        defaults; its useful range is about 0.04 to 0.15.
    l1_penalty : float, default=0.1
        Weight of the l1 codes that the iteration starts from.
    lipschitz : float or "global", default=100.0
        The paper's tau s, the inverse step length times two; see `l0_codes`.
    tau : float, default=1.1
        Safety factor of the step where it is computed.
    max_iter : int, default=100
        Most proximal iterations. The default is the paper's, and part of the method: its iteration is
        usually stopped, not run to convergence.
    tol : float, default=1e-6
        Stop when the total objective changes by less than this.
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
    objective_ : ndarray of shape (n_iter_ + 1,)
        Total objective per iteration.
    n_iter_ : int
        Iterations done.
    n_components_, n_attached_ : int
        Connected components of the graph; samples that were attached to a cluster after the embedding.
    stage_seconds_ : dict
        Seconds of each stage.
    n_features_in_ : int
        Number of features seen in fit.

    Examples
    --------
    >>> from l0graph import L0Graph
    >>> from l0graph.datasets import make_subspaces
    >>> X, y = make_subspaces(30, n_subspaces=2, dim=2, ambient_dim=8, random_state=0)
    >>> L0Graph(n_clusters=2, random_state=0).fit_predict(X)[[0, 1, -2, -1]]
    array([0, 0, 1, 1])
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        l0_penalty: float = 0.5,
        l1_penalty: float = 0.1,
        lipschitz: float | Literal["global"] = 100.0,
        tau: float = 1.1,
        max_iter: int = 100,
        tol: float = 1e-6,
        normalize: bool = True,
        fragments: Literal["attach", "keep"] = "attach",
        min_fraction: float = 0.3,
        n_init: int = 20,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.l0_penalty = l0_penalty
        self.l1_penalty = l1_penalty
        self.lipschitz = lipschitz
        self.tau = tau
        self.max_iter = max_iter
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
            init = l1_codes(dictionary, l1_penalty=self.l1_penalty, n_jobs=self.n_jobs).codes
        with stage("l0 codes"):
            return l0_codes(
                dictionary,
                init=init,
                l0_penalty=self.l0_penalty,
                lipschitz=self.lipschitz,
                tau=self.tau,
                max_iter=self.max_iter,
                tol=self.tol,
                n_jobs=self.n_jobs,
            )

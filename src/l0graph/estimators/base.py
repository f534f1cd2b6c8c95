"""What all estimators share: check X, code it, cluster the graph, keep what came out."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from copy import copy
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._progress import stage, talking, timing
from .._threads import resolve_n_jobs
from .._types import CodeResult
from .._validation import check_data, check_n_clusters
from ..codes.working_set import Dictionary
from ..graph.affinity import affinity
from ..graph.cluster import cluster_graph
from ..graph.neighbors import unit_rows
from .predict import predict_labels

_COMMON_PARAMETERS = """\
    normalize : bool, default=True
        Scale samples to unit norm first. Zero samples stay zero.
    fragments : {"attach", "keep"}, default="attach"
        What to do with components too small to be clusters; see `cluster_graph`.
    min_fraction : float, default=0.3
        Size under which a component is a fragment, as a share of the mean cluster size.
    min_gap : float, default=0.01
        Relative eigengap behind the last eigenvector used; see `cluster_graph`. 0 uses n_clusters eigenvectors always.
    n_init : int, default=20
        Number of k-means starts.
    random_state : int, RandomState or None, default=None
        Seeds the k-means starts, the only randomness.
    n_jobs : int or None, default=None
        Threads: None is 1, -1 all cores. The result does not depend on it.
    verbose : int, default=0
        Log the stages.
"""

_COMMON_ATTRIBUTES = """\
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample.
    codes_ : csr_array of shape (n_samples, n_samples)
        Codes, row i of sample i, zero diagonal.
    affinity_matrix_ : csr_array of shape (n_samples, n_samples)
        The graph: symmetric, nonnegative.
    embedding_ : ndarray of shape (n_samples, n_dimensions)
        Leading eigenvectors of the normalised affinity, n_clusters or a few less; zero rows for attached samples.
    eigenvalues_ : ndarray of shape (n_dimensions,)
        Their eigenvalues, descending.
    objective_ : ndarray
        Total objective per iteration, from the starting point on.
    n_iter_ : int
        Iterations done.
    n_components_, n_attached_ : int
        Connected components of the graph; samples that were attached to a cluster after the embedding.
    stage_seconds_ : dict
        Seconds of each stage.
    n_features_in_ : int
        Number of features seen in fit.
"""


class SelfExpressiveClusterer(ClusterMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of the clusterers: codes by the subclass's method, then its graph clustered.

    A subclass has an ``__init__`` that hands the common parameters on, stores its own, and `_code`. Its docstring has
    the lines ``{common parameters}`` and ``{common attributes}`` where the texts above belong.
    """

    _symmetrize: Literal["mean", "max"] = "mean"

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Complete the docstring."""
        super().__init_subclass__(**kwargs)
        for name, text in (("parameters", _COMMON_PARAMETERS), ("attributes", _COMMON_ATTRIBUTES)):
            cls.__doc__ = (cls.__doc__ or "").replace(f"    {{common {name}}}\n", text)

    def __init__(
        self,
        *,
        n_clusters: int,
        normalize: bool,
        fragments: Literal["attach", "keep"],
        min_fraction: float,
        min_gap: float,
        n_init: int,
        random_state: int | np.random.RandomState | None,
        n_jobs: int | None,
        verbose: int,
    ) -> None:
        self.n_clusters = n_clusters
        self.normalize = normalize
        self.fragments = fragments
        self.min_fraction = min_fraction
        self.min_gap = min_gap
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @abstractmethod
    def _code(self, dictionary: Dictionary, X_new: np.ndarray | None = None) -> CodeResult:
        """Return the codes of all samples, or of new ones over them; parameters are checked there."""

    def _graph(self, dictionary: Dictionary) -> sp.csr_array:
        """Return the affinity; keep what else the method has to show."""
        result = self._code(dictionary)
        self.codes_ = result.codes
        self.objective_ = result.objective
        self.n_iter_ = result.n_iter
        if result.outliers is not None:
            self.outliers_ = result.outliers
        with stage("affinity"):
            return affinity(result.codes, self._symmetrize)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples in rows.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        X = validate_data(self, X, dtype=[np.float64, np.float32], order="C", ensure_min_samples=2)
        check_n_clusters(self.n_clusters, X.shape[0])
        X = unit_rows(X) if self.normalize else check_data(X)
        with talking(self.verbose), timing() as seconds:
            self._fit_X = X
            self.affinity_matrix_ = self._graph(Dictionary(X))
            self._cluster()
        self.stage_seconds_ = seconds
        return self

    def recluster(self, n_clusters: int) -> Self:
        """Return a copy of this fitted estimator with another number of clusters, from the same graph.

        Parameters
        ----------
        n_clusters : int
            Number of clusters.

        Returns
        -------
        estimator
            Fitted; this one stays as it is.
        """
        check_is_fitted(self)
        check_n_clusters(n_clusters, len(self.labels_))
        other = copy(self)
        other.n_clusters = n_clusters
        with talking(self.verbose), timing() as seconds:
            other._cluster()
        other.stage_seconds_ = seconds
        return other

    def predict(self, X: Any) -> np.ndarray:
        """Give new samples the clusters that explain them best.

        A sample is coded over the training samples by the same method, and goes to the cluster whose samples' part of
        the code leaves the smallest residual; of equals to the first. A sample with an empty code goes to the
        cluster of the training sample of largest absolute cosine, a zero sample to the largest cluster.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features)
            New samples in rows.

        Returns
        -------
        ndarray of shape (n_new,)
            Labels.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=self._fit_X.dtype, order="C", reset=False)
        X = unit_rows(X) if self.normalize else check_data(X, min_samples=1)
        with talking(self.verbose):
            result = self._code(Dictionary(self._fit_X), X)
        if result.outliers is not None:
            X = X - result.outliers.toarray()
        return predict_labels(result.codes, self._fit_X, self.labels_, X, resolve_n_jobs(self.n_jobs))

    def _cluster(self) -> None:
        clustering = cluster_graph(
            self.affinity_matrix_,
            self.n_clusters,
            X=self._fit_X,
            fragments=self.fragments,
            min_fraction=self.min_fraction,
            min_gap=self.min_gap,
            n_init=self.n_init,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        self.labels_ = clustering.labels
        self.embedding_ = clustering.embedding
        self.eigenvalues_ = clustering.eigenvalues
        self.n_components_ = clustering.n_components
        self.n_attached_ = clustering.n_attached

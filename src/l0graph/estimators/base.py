"""What all estimators share: check X, code it, cluster the graph, keep what came out."""

from __future__ import annotations

import logging
from abc import ABCMeta, abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import validate_data

from .._progress import logger, stage, timing
from .._types import CodeResult
from .._validation import check_data, check_n_clusters
from ..codes.working_set import Dictionary
from ..graph.affinity import affinity
from ..graph.cluster import cluster_graph
from ..graph.neighbors import unit_rows


class SelfExpressiveClusterer(ClusterMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of the clusterers: codes by the subclass's method, then its graph clustered.

    A subclass has an ``__init__`` that stores its parameters, the common ones among them (n_clusters, normalize,
    fragments, min_fraction, n_init, random_state, n_jobs, verbose), and `_code`.
    """

    @abstractmethod
    def _code(self, dictionary: Dictionary) -> CodeResult:
        """Return the codes of all samples; parameters are checked there."""

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
        level = logger.level
        if self.verbose:
            logging.basicConfig(format="%(name)s: %(message)s")
            logger.setLevel(logging.INFO)
        try:
            with timing() as seconds:
                self._cluster(X)
        finally:
            logger.setLevel(level)
        self.stage_seconds_ = seconds
        return self

    def _cluster(self, X: np.ndarray) -> None:
        result = self._code(Dictionary(X))
        with stage("affinity"):
            W = affinity(result.codes)
        clustering = cluster_graph(
            W,
            self.n_clusters,
            X=X,
            fragments=self.fragments,
            min_fraction=self.min_fraction,
            n_init=self.n_init,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        self.codes_ = result.codes
        self.objective_ = result.objective
        self.n_iter_ = result.n_iter
        self.affinity_matrix_ = W
        self.labels_ = clustering.labels
        self.embedding_ = clustering.embedding
        self.eigenvalues_ = clustering.eigenvalues
        self.n_components_ = clustering.n_components
        self.n_attached_ = clustering.n_attached

"""Ordinary spectral clustering as an estimator."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted, validate_data

from .._progress import stage, talking
from .._threads import resolve_n_jobs
from .._types import CodeResult, Status
from .._validation import check_data
from ..codes.working_set import Dictionary
from ..graph.gaussian import check_graph_parameters, local_scales, self_tuning_codes, self_tuning_graph
from ..graph.neighbors import most_similar, unit_rows
from .base import SelfExpressiveClusterer


class SpectralGraph(SelfExpressiveClusterer):
    r"""Spectral clustering on the self-tuning Gaussian graph, the baseline of self-expressive methods.

    Samples are linked by :math:`\exp(-\|x_i - x_j\|_2^2 / (s_i s_j))`, s_i the distance of i to its 7th neighbour,
    and the graph is clustered. The defaults are the protocol of published comparisons: the full graph, embedded as it
    is, in as many dimensions as there are clusters.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_neighbors : int, default=7
        The neighbour whose distance is the scale of a sample.
    n_kept : int or None, default=None
        Keep a weight only if it is among so many largest of one of its two samples. None keeps the full graph:
        12 n_samples^2 bytes, 1.2 GB for 10,000 samples; a number bounds that, and often gives better clusters, see
        `self_tuning_affinity`.
    min_weight : float, default=1e-8
        Drop smaller weights.
    normalize : bool, default=True
        Scale samples to unit norm first. Zero samples stay zero.
    fragments : {"attach", "keep"}, default="keep"
        What to do with components too small to be clusters; see `cluster_graph`.
    min_fraction : float, default=0.3
        Size under which a component is a fragment, as a share of the mean cluster size.
    min_gap : float, default=0.0
        Relative eigengap behind the last eigenvector used; see `cluster_graph`. 0 uses n_clusters eigenvectors always.
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
    affinity_matrix_ : csr_array of shape (n_samples, n_samples)
        The graph: symmetric, nonnegative.
    scales_ : ndarray of shape (n_samples,)
        Scale of each sample.
    embedding_ : ndarray of shape (n_samples, n_dimensions)
        Leading eigenvectors of the normalised affinity.
    eigenvalues_ : ndarray of shape (n_dimensions,)
        Their eigenvalues, descending.
    n_components_, n_attached_ : int
        Connected components of the graph; samples that were attached to a cluster after the embedding.
    stage_seconds_ : dict
        Seconds of each stage.
    n_features_in_ : int
        Number of features seen in fit.

    Examples
    --------
    >>> import numpy as np
    >>> from l0graph import SpectralGraph
    >>> angles = np.radians([0, 1, 2, 3, 60, 61, 62, 63])
    >>> X = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> SpectralGraph(n_clusters=2, n_neighbors=2, random_state=0).fit_predict(X)
    array([0, 0, 0, 0, 1, 1, 1, 1])
    """

    _coding = None

    _has_device_codes = False

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_neighbors: int = 7,
        n_kept: int | None = None,
        min_weight: float = 1e-8,
        normalize: bool = True,
        fragments: Literal["attach", "keep"] = "keep",
        min_fraction: float = 0.3,
        min_gap: float = 0.0,
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
        self.n_neighbors = n_neighbors
        self.n_kept = n_kept
        self.min_weight = min_weight

    def _graph(self, dictionary: Dictionary) -> sp.csr_array:
        X = dictionary.X
        check_graph_parameters(self.n_neighbors, self.n_kept, self.min_weight, len(X))
        n_threads = resolve_n_jobs(self.n_jobs)
        with stage("affinity"):
            self.scales_ = local_scales(X, self.n_neighbors, n_threads=n_threads)
            return self_tuning_graph(X, self.scales_, self.n_kept, self.min_weight, n_threads)

    def _code(self, dictionary: Dictionary, X_new: np.ndarray | None = None) -> CodeResult:
        """Return the weights to the training samples: what a code is to the other graphs."""
        if X_new is None:
            weights = self._graph(dictionary)
        else:
            n_threads = resolve_n_jobs(self.n_jobs)
            weights = self_tuning_codes(
                dictionary.X, self.scales_, X_new, self.n_neighbors, self.n_kept, self.min_weight, n_threads
            )
        return CodeResult(weights, objective=np.zeros(1), n_iter=0, status=Status.CONVERGED)

    def predict(self, X: Any) -> np.ndarray:
        """Give new samples the clusters with which they are linked most.

        A sample goes to the cluster whose samples have the largest sum of weights with it, of equals to the first. A
        sample with no weight goes to the cluster of the training sample of largest absolute cosine, a zero
        sample to the largest cluster.

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
            weights = self._code(Dictionary(self._fit_X), X).codes
        n = len(self.labels_)
        member = sp.csr_array((np.ones(n), self.labels_, np.arange(n + 1)))
        total = (weights @ member).toarray()
        labels = total.argmax(axis=1)
        empty = np.flatnonzero(total.max(axis=1) == 0)
        if len(empty):
            rows = unit_rows(np.concatenate([self._fit_X, X[empty]]))
            queries = np.arange(n, len(rows))
            partner, cosine = most_similar(rows, queries, np.arange(n), n_threads=resolve_n_jobs(self.n_jobs))
            labels[empty] = np.where(cosine > 0, self.labels_[partner], np.bincount(self.labels_).argmax())
        return labels

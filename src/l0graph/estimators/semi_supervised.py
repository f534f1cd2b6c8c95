"""Semi-supervised classification: labels spread over a self-expressive graph."""

from __future__ import annotations

import warnings
from typing import Any, Protocol, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .._progress import stage
from .._threads import resolve_n_jobs
from .._types import CodeResult, Status
from .._validation import check_data, check_number
from ..codes.neighbors import nearest, neighbor_weights
from ..codes.working_set import Dictionary, targets_of
from ..graph.affinity import affinity
from ..graph.neighbors import most_similar, unit_rows
from .base import SelfExpressiveClusterer
from .l0 import L0Graph
from .l1 import L1Graph
from .omp import OMPGraph
from .regularized import RegularizedL0Graph
from .smce import SMCE

_TOL = 1e-12
"""Largest residual of the linear systems, relative to the right-hand side."""
_MOST_STEPS = 10_000
"""Enough for any alpha up to 1 - 1e-4."""
_DIGITS = 1e-3
"""A distribution is taken as known to this relative accuracy; what is less certain counts as not reached."""


class _Grapher(Protocol):
    """What makes a graph; every clusterer is one."""

    normalize: bool

    def _graph(self, dictionary: Dictionary) -> sp.csr_array: ...

    def _code(self, dictionary: Dictionary, X_new: np.ndarray | None = None) -> CodeResult: ...


class _NeighborGraph:
    """Links samples to their nearest ones."""

    def __init__(self, n_neighbors: int, normalize: bool, n_jobs: int | None) -> None:
        self.n_neighbors = n_neighbors
        self.normalize = normalize
        self.n_jobs = n_jobs

    def _graph(self, dictionary: Dictionary) -> sp.csr_array:
        return affinity(self._code(dictionary).codes)

    def _code(self, dictionary: Dictionary, X_new: np.ndarray | None = None) -> CodeResult:
        check_number(self.n_neighbors, "n_neighbors", at_least=1, integer=True)
        k = min(self.n_neighbors, dictionary.n_samples - (X_new is None))
        items = nearest(dictionary, targets_of(dictionary, None, X_new), k, resolve_n_jobs(self.n_jobs))
        codes = neighbor_weights(items, dictionary.n_samples, symmetric=False).astype(dictionary.X.dtype)
        return CodeResult(codes, objective=np.zeros(1), n_iter=0, status=Status.CONVERGED)


_CLUSTERERS: dict[str, type[Any]] = {
    "l0": L0Graph,
    "regularized": RegularizedL0Graph,
    "l1": L1Graph,
    "omp": OMPGraph,
    "smce": SMCE,
}
"""The graphs by name, beside "knn": one row for each clusterer."""


class GraphLabelSpreading(ClassifierMixin, BaseEstimator):
    r"""Classify samples of which few have labels, by spreading these over a graph of all.

    The graph W links samples that write each other; with D the diagonal of its row sums and Y the labels, one column
    per class and a row of zeros for an unlabelled sample, the label distributions are the rows of

    .. math:: F = (1 - \alpha) (I - \alpha D^{-1/2} W D^{-1/2})^{-1} Y

    scaled to sum 1 ("learning with local and global consistency").

    Parameters
    ----------
    graph : {"l0", "regularized", "l1", "omp", "smce", "knn"} or clusterer of this library, default="l0"
        The graph of `L0Graph`, `RegularizedL0Graph`, `L1Graph`, `OMPGraph` or `SMCE` with default parameters, or that
        of the nearest neighbours; or the graph of an unfitted clusterer, ``L0Graph(l0_penalty=0.3)`` say. Of a
        `SpectralGraph` keep few weights (``n_kept``): over a full graph labels spread to everywhere alike.
    alpha : float, default=0.99
        How much of its distribution a sample takes from its neighbours, between 0 and 1; the rest is its own label's.
    n_neighbors : int, default=5
        Number of neighbours, for ``graph="knn"`` only. Two samples are linked if either is a neighbour of the other,
        twice as strongly if both are.
    normalize : bool, default=True
        Scale samples to unit norm first. A clusterer given as graph goes by its own parameter.
    n_jobs : int or None, default=None
        Threads: None is 1, -1 all cores. The result does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    transduction_ : ndarray of shape (n_samples,)
        Label of each training sample, also of those that came with one: a label may be overruled.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Rows of sum 1, of X's dtype.
    affinity_matrix_ : csr_array of shape (n_samples, n_samples)
        The graph: symmetric, nonnegative.
    X_ : ndarray of shape (n_samples, n_features)
        The training samples, normalised where asked for.
    n_attached_ : int
        Number of samples that no label reaches.
    n_iter_ : int
        Iterations of the linear solver.
    n_features_in_ : int
        Number of features seen in fit.

    See Also
    --------
    sklearn.semi_supervised.LabelSpreading : The same on a full Gaussian or a nearest neighbour graph.

    Notes
    -----
    Samples that no label reaches, for they have no edges or lie in a component without any label, get the
    distribution of the sample most similar to them (largest absolute cosine) among those that are reached, as
    `cluster_graph` attaches fragments. So do samples so many edges away from all labels that of F only rounding is
    left. A sample of cosine 0 with all of them, a zero sample for one, gets the shares of the classes among the labels.

    A new sample is coded over the training samples (its nearest ones for "knn"), and its distribution is their mean,
    weighted by the absolute values of the code. If the code is empty, it is that of the most similar
    training sample. A training sample handed to `predict` is a new sample, equal to an old one.

    The linear systems are solved by conjugate gradients, one for each class, to a relative residual of 1e-12; their
    number of iterations is bounded by a multiple of :math:`1 / \sqrt{1 - \alpha}`.

    References
    ----------
    D. Zhou, O. Bousquet, T. N. Lal, J. Weston and B. Schölkopf, "Learning with local and global consistency", 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from l0graph import GraphLabelSpreading
    >>> from l0graph.datasets import make_subspaces
    >>> X, y = make_subspaces(30, n_subspaces=2, dim=2, ambient_dim=8, random_state=0)
    >>> few = np.full(60, -1)
    >>> few[[0, 30]] = y[[0, 30]]
    >>> GraphLabelSpreading().fit(X, few).predict(X[[5, 25, 35, 55]])
    array([0, 0, 1, 1])
    """

    def __init__(
        self,
        graph: str | SelfExpressiveClusterer = "l0",
        *,
        alpha: float = 0.99,
        n_neighbors: int = 5,
        normalize: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        self.graph = graph
        self.alpha = alpha
        self.n_neighbors = n_neighbors
        self.normalize = normalize
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Spread the labels over the graph of all samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples in rows, labelled and unlabelled.
        y : array-like of shape (n_samples,)
            Their labels, numbers or strings; -1 for an unlabelled sample, or "-1", which NumPy makes of it in an array
            of strings. If there is nothing but -1 and 1, these are taken for two classes, with a warning.

        Returns
        -------
        self
        """
        check_number(self.alpha, "alpha", above=0)
        if self.alpha >= 1:
            msg = f"alpha must be less than 1, got {self.alpha!r}: with 1 the given labels would have no weight"
            raise ValueError(msg)
        grapher = self._grapher()
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], order="C", ensure_min_samples=2)
        self.classes_, Y = _one_hot(y)
        self._dictionary = Dictionary(unit_rows(X) if grapher.normalize else check_data(X))
        self.X_ = self._dictionary.X

        W = grapher._graph(self._dictionary)
        self._fitted_grapher = grapher
        with stage("label spreading"):
            F, uncertain, self.n_iter_ = spread(W, Y, self.alpha)
        reached = (F.max(axis=1) > uncertain / _DIGITS) | Y.any(axis=1)
        distributions = np.zeros_like(F)
        distributions[reached] = F[reached] / F[reached].sum(axis=1, keepdims=True)
        self._prior = Y.sum(axis=0) / Y.sum()
        unit = unit_rows(self.X_)
        lost = np.flatnonzero(~reached)
        distributions[lost] = self._of_most_similar(unit, lost, np.flatnonzero(reached), distributions)

        self.affinity_matrix_ = W
        self.n_attached_ = len(lost)
        self.label_distributions_ = distributions.astype(X.dtype)
        self.transduction_ = self.classes_[np.argmax(distributions, axis=1)]
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the most likely label of new samples.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features)
            Samples in rows.

        Returns
        -------
        ndarray of shape (n_new,)
        """
        distributions = self.predict_proba(X)
        return self.classes_[np.argmax(distributions, axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the distributions of new samples over the classes.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features)
            Samples in rows.

        Returns
        -------
        ndarray of shape (n_new, n_classes)
            In the order of `classes_`; rows of sum 1.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], order="C", reset=False)
        grapher = self._fitted_grapher
        X = unit_rows(X) if grapher.normalize else check_data(X, min_samples=1)
        known = self.label_distributions_.astype(np.float64)
        codes = grapher._code(self._dictionary, X.astype(self.X_.dtype, copy=False)).codes
        distributions = abs(codes).astype(np.float64) @ known
        total = distributions.sum(axis=1, keepdims=True)
        np.divide(distributions, total, out=distributions, where=total > 0)
        empty = np.flatnonzero(total == 0)
        if len(empty):
            n = len(self.X_)
            both = unit_rows(np.concatenate([self.X_, X[empty]]))
            distributions[empty] = self._of_most_similar(both, np.arange(n, len(both)), np.arange(n), known)
        return distributions.astype(self.label_distributions_.dtype)

    def _grapher(self) -> _Grapher:
        """Return what makes the graph."""
        if isinstance(self.graph, SelfExpressiveClusterer):
            return clone(self.graph)
        if self.graph == "knn":
            return _NeighborGraph(self.n_neighbors, self.normalize, self.n_jobs)
        if isinstance(self.graph, str) and self.graph in _CLUSTERERS:
            return _CLUSTERERS[self.graph](normalize=self.normalize, n_jobs=self.n_jobs)
        names = ", ".join(map(repr, [*_CLUSTERERS, "knn"]))
        msg = f"graph must be one of {names} or a clusterer of this library, got {self.graph!r}"
        raise ValueError(msg)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Codes compare directions, up to sign, in which classes that are blobs in the plane need not differ.
        tags.classifier_tags.poor_score = self.graph != "knn"
        return tags

    def _of_most_similar(
        self, unit: np.ndarray, queries: np.ndarray, candidates: np.ndarray, distributions: np.ndarray
    ) -> np.ndarray:
        """Return for each query the distribution of its most similar candidate, the prior where none is similar."""
        partner, cosine = most_similar(unit, queries, candidates, n_threads=resolve_n_jobs(self.n_jobs))
        return np.where((cosine > 0)[:, None], distributions[partner], self._prior)


def _one_hot(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes, and the labels as a float64 array (n_samples, n_classes), rows of zeros for unlabelled."""
    unlabelled = np.asarray(y == ("-1" if y.dtype.kind == "U" else -1), dtype=bool)
    if unlabelled.all():
        msg = "no sample is labelled: y is -1, which stands for no label, throughout"
        raise ValueError(msg)
    # An array of objects may hold strings and the number -1; without the latter it is one of strings again.
    labels = np.asarray(y[~unlabelled].tolist()) if y.dtype.kind == "O" else y[~unlabelled]
    # Three times each: scikit-learn takes many classes for so few labels as are usual here for a sign of regression.
    check_classification_targets(np.tile(labels, 3))
    if unlabelled.any() and y.dtype.kind in "if" and np.all(labels == 1):
        # With one class there is nothing to classify, and scikit-learn has every classifier take the classes -1 and 1.
        msg = "y holds only -1 and 1: taken for two classes, not for class 1 and unlabelled samples; rename 1 for that"
        warnings.warn(msg, UserWarning, stacklevel=3)
        labels, unlabelled = y, np.zeros(len(y), dtype=bool)
    classes, indices = np.unique(labels, return_inverse=True)
    Y = np.zeros((len(y), len(classes)))
    Y[np.flatnonzero(~unlabelled), indices] = 1
    return classes, Y


def spread(W: sp.csr_array, Y: np.ndarray, alpha: float) -> tuple[np.ndarray, float, int]:
    """Return F as in `GraphLabelSpreading`, a bound on the error of its entries, and the number of iterations.

    W is a checked affinity. Conjugate gradients run for all columns of Y at once, each with its own step lengths.
    """
    W = W.astype(np.float64)
    degrees = np.asarray(W.sum(axis=1)).ravel()
    inverse_root = np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
    scaling = sp.dia_array((inverse_root[None, :], [0]), shape=W.shape)
    A = sp.csr_array(alpha * (scaling @ W @ scaling))

    # All eigenvalues lie in [1 - alpha, 1 + alpha]: so many steps are enough but for rounding.
    condition = (1 + alpha) / (1 - alpha)
    most = min(_MOST_STEPS, 20 + int(np.sqrt(condition) * np.log(2 * condition / _TOL)))
    norms = np.linalg.norm(Y, axis=0)
    F = Y.copy()
    residual = A @ Y  # Y - (I - A) F
    direction = residual.copy()
    squared = _dots(residual, residual)
    n_iter = 0
    while n_iter < most and np.any(open_columns := np.sqrt(squared) > _TOL * norms):
        n_iter += 1
        moved = direction - A @ direction
        # A column that is done stays where it is.
        curvature = _dots(direction, moved)
        length = np.divide(squared, curvature, out=np.zeros_like(squared), where=open_columns)
        F += length * direction
        residual -= length * moved
        before, squared = squared, _dots(residual, residual)
        direction *= np.divide(squared, before, out=np.zeros_like(squared), where=open_columns)
        direction += residual

    # What the recursion says of the residual may be better than the truth.
    true_residual = np.linalg.norm(Y - F + A @ F, axis=0)
    if np.any(true_residual > 100 * _TOL * norms):
        worst = float((true_residual / norms).max())
        msg = f"labels were spread with a relative residual of {worst:.1e} only: an alpha farther from 1 is easier"
        warnings.warn(msg, ConvergenceWarning, stacklevel=3)
    # The inverse of I - A has norm 1 / (1 - alpha) and no negative entry.
    return (1 - alpha) * np.maximum(F, 0), float(true_residual.max()), n_iter


def _dots(P: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Return the inner product of each pair of columns; no BLAS, so the same bits on any number of threads."""
    return np.einsum("ij,ij->j", P, Q)

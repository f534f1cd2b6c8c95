"""How good a clustering is, and how good the codes and the graph are that it came from."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.linalg import eigh
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from sklearn.metrics import normalized_mutual_info_score

from l0graph._threads import one_blas_thread
from l0graph._validation import check_affinity, check_codes

__all__ = [
    "affinity_silhouette_scorer",
    "clustering_accuracy",
    "connectivity",
    "graph_silhouette",
    "normalized_mutual_info",
    "subspace_preserving_error",
]

_DENSE_BLOCK = 500  # up to this size LAPACK on the dense block (2 MB) takes less than a tenth of a second
_LANCZOS_VECTORS = 60
_LANCZOS_RESTARTS = 100
_LANCZOS_TOL = 1e-10  # bounds the residual, and with it the error of the eigenvalue of a symmetric matrix


def clustering_accuracy(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Share of samples labelled rightly under the best one-to-one matching of clusters to classes.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Classes, as integers or strings.
    labels_pred : array-like of shape (n_samples,)
        Clusters, as integers or strings. Their names are free, and so is their number: all samples of a cluster
        that is left without a class, or of a class left without a cluster, count as wrong.

    Returns
    -------
    float
        Between 0 and 1. No label is special: outliers marked -1 are one more class.

    Notes
    -----
    The matching is found by the Hungarian method on the contingency table, whose n_classes x n_clusters entries are
    the only memory that is not proportional to n_samples.

    Examples
    --------
    >>> from l0graph.metrics import clustering_accuracy
    >>> clustering_accuracy(["a", "a", "b", "b"], [1, 1, 0, 1])
    0.75
    """
    true, pred = _check_label_pair(labels_true, labels_pred)
    table = sp.coo_array((np.ones(true.size, dtype=np.int64), (true, pred))).toarray()
    matched = table[linear_sum_assignment(table, maximize=True)]
    return float(matched.sum() / true.size)


def normalized_mutual_info(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Mutual information of two labellings over the larger of their entropies.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Classes, as integers or strings.
    labels_pred : array-like of shape (n_samples,)
        Clusters, as integers or strings.

    Returns
    -------
    float
        Between 0 and 1; 1 where the labellings agree up to names, also where both have one class only. 0 where only
        one of them has a single class.

    Examples
    --------
    >>> from l0graph.metrics import normalized_mutual_info
    >>> round(normalized_mutual_info([0, 0, 1, 1], [0, 0, 1, 2]), 4)
    0.6667
    """
    true, pred = _check_label_pair(labels_true, labels_pred)
    score = normalized_mutual_info_score(true, pred, average_method="max")
    return float(np.clip(score, 0.0, 1.0))  # rounding may lead just outside


def subspace_preserving_error(codes: Any, labels: ArrayLike) -> float:
    r"""Mean share of a code's l1 mass that lies on samples of other classes.

    .. math:: \frac{1}{|R|} \sum_{i \in R} \frac{\sum_{j : y_j \ne y_i} |Z_{ij}|}{\sum_j |Z_{ij}|},
        \qquad R = \{i : Z_i \ne 0\}

    It is 0 if and only if every sample is written by samples of its own subspace alone.

    Parameters
    ----------
    codes : sparse array or ndarray of shape (n_samples, n_samples)
        Row i is the code of sample i.
    labels : array-like of shape (n_samples,)
        Classes of the samples, as integers or strings. Outliers marked -1 are one more class.

    Returns
    -------
    float
        Between 0 and 1. Samples whose code is empty (all zero) are left out of the mean; NaN where all codes are.

    Notes
    -----
    Time and memory are proportional to the nonzeros of the codes.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from l0graph.metrics import subspace_preserving_error
    >>> codes = csr_array([[0.0, 3.0, -1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    >>> subspace_preserving_error(codes, [0, 0, 1])
    0.125
    """
    _, classes = _check_labels(labels, "labels")
    n_samples = classes.size
    codes = check_codes(codes, (n_samples, n_samples))
    rows = np.repeat(np.arange(n_samples), np.diff(codes.indptr))
    magnitude = np.abs(codes.data).astype(np.float64)

    largest = np.zeros(n_samples)
    np.maximum.at(largest, rows, magnitude)
    coded = largest > 0
    if not coded.any():
        return float("nan")

    share = magnitude / np.where(coded, largest, 1.0)[rows]  # so that no sum below overflows
    total = np.bincount(rows, weights=share, minlength=n_samples)
    other = classes[rows] != classes[codes.indices]
    wrong = np.bincount(rows[other], weights=share[other], minlength=n_samples)
    return float(np.mean(wrong[coded] / total[coded]))


def connectivity(W: Any, labels: ArrayLike) -> np.ndarray:
    """Algebraic connectivity of the affinity inside every class.

    For each class, the second-smallest eigenvalue of the normalised Laplacian :math:`I - D^{-1/2} W D^{-1/2}` of the
    affinity restricted to the samples of the class. It is 0 where these samples fall apart into several components,
    which spectral clustering may then tear apart, and the larger the better they hang together.

    Parameters
    ----------
    W : sparse array or ndarray of shape (n_samples, n_samples)
        Symmetric, nonnegative affinity. Its diagonal is ignored: no sample is linked by its similarity to itself.
    labels : array-like of shape (n_samples,)
        Classes of the samples, as integers or strings. Outliers marked -1 are one more class.

    Returns
    -------
    ndarray of shape (n_classes,)
        One value in [0, 2] per class, in the order of ``np.unique(labels)``. Exactly 0 for a class in more than one
        component; NaN for a class of one sample, whose Laplacian has no second eigenvalue.

    Notes
    -----
    The absolute error is about 1e-10 at most. Classes of up to 500 samples are solved dense, larger ones by Lanczos
    from a fixed start, in memory proportional to the nonzeros. Only where that does not converge, which takes a class
    drawn out like a long chain, is the Laplacian of the class factorised as a sparse matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from l0graph.metrics import connectivity
    >>> W = np.array([[0, 1, 1, 0, 0], [1, 0, 1, 0, 0], [1, 1, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]])
    >>> connectivity(W, ["a", "a", "a", "b", "b"])
    array([1.5, 0. ])
    """
    W = check_affinity(W)
    _, classes = _check_labels(labels, "labels")
    _check_same_length(classes, "labels", W.shape[0], "W")
    order = np.argsort(classes, kind="stable")
    W = W[order][:, order]  # classes are now contiguous blocks
    ends = np.concatenate(([0], np.cumsum(np.bincount(classes))))
    with one_blas_thread():
        return np.array([_block_connectivity(W[begin:end, begin:end]) for begin, end in pairwise(ends)])


def graph_silhouette(W: Any, labels: ArrayLike) -> np.ndarray:
    r"""Silhouette of every sample on a graph: whether it is linked to its own cluster or to another.

    With :math:`m_i(C)` the mean affinity of sample i to the other samples of cluster C, and c its own cluster,

    .. math:: s_i = \frac{m_i(c) - \max_{C \ne c} m_i(C)}{\max(m_i(c), \max_{C \ne c} m_i(C))}

    Parameters
    ----------
    W : sparse array or ndarray of shape (n_samples, n_samples)
        Symmetric, nonnegative affinity. Its diagonal is ignored.
    labels : array-like of shape (n_samples,)
        Clusters, as integers or strings.

    Returns
    -------
    ndarray of shape (n_samples,)
        Between -1 and 1; 0 for a sample without edges, and for one alone in its cluster.

    Notes
    -----
    Time and memory are proportional to the nonzeros of W. Of two graphs the sparser one often has the larger mean: at a
    penalty under which it falls apart, every fragment looks like a perfect cluster. `affinity_silhouette_scorer` takes
    care of that; compare graphs with it.

    Examples
    --------
    >>> import numpy as np
    >>> from l0graph.metrics import graph_silhouette
    >>> W = np.array([[0, 2, 1, 0], [2, 0, 0, 0], [1, 0, 0, 2], [0, 0, 2, 0]])
    >>> graph_silhouette(W, [0, 0, 1, 1])
    array([0.75, 1.  , 0.75, 1.  ])
    """
    W = check_affinity(W)
    _, clusters = _check_labels(labels, "labels")
    n_samples = W.shape[0]
    _check_same_length(clusters, "labels", n_samples, "W")
    rows = np.repeat(np.arange(n_samples), np.diff(W.indptr))
    own = rows != W.indices
    if W.nnz:
        weight = W.data[own].astype(np.float64) / (W.data.max() or 1.0)  # so that no sum below overflows
    else:
        weight = np.empty(0)
    # One entry for each sample and cluster that it is linked to: no more than there are edges.
    total = sp.coo_array((weight, (rows[own], clusters[W.indices[own]])), shape=(n_samples, clusters.max() + 1)).tocsr()
    linked = np.repeat(np.arange(n_samples), np.diff(total.indptr))
    at_home = total.indices == clusters[linked]
    sizes = np.bincount(clusters)
    mean = total.data / np.maximum(sizes[total.indices] - at_home, 1)
    inside, outside = np.zeros(n_samples), np.zeros(n_samples)
    inside[linked[at_home]] = mean[at_home]
    np.maximum.at(outside, linked[~at_home], mean[~at_home])
    largest = np.maximum(inside, outside)
    silhouette = np.divide(inside - outside, largest, out=np.zeros(n_samples), where=largest > 0)
    silhouette[sizes[clusters] == 1] = 0
    return silhouette


def affinity_silhouette_scorer(estimator: Any, X: Any, y: Any = None) -> float:
    """Score a fitted clusterer by its own graph, for a grid search without labels.

    The mean of `graph_silhouette`, where samples that were attached to a cluster after the embedding count 0: no edge
    speaks for their cluster. So a penalty at which the graph falls apart has a low score, not a high one.

    Parameters
    ----------
    estimator : clusterer of this library
        Fitted.
    X : array-like of shape (n_samples, n_features)
        The samples that it was fitted to; only their number is looked at.
    y : None
        Ignored.

    Returns
    -------
    float
        Between -1 and 1, the larger the better.

    Notes
    -----
    A graph belongs to its samples, so a search must fit and score on all of them: its ``cv`` is one split, of all
    samples twice, as in the example.

    It is a guide, no proof. On seven real sets with nine values of ``l0_penalty`` from 0.02 to 4, what it chose had a
    mean accuracy of .738, where the default of 0.5 had .690, the best value for each set .773, and the mean silhouette
    without the rule for attached samples .706; on one of them (ORL, .583) it chose far too sparse a graph.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import GridSearchCV
    >>> from l0graph import L0Graph
    >>> from l0graph.datasets import make_subspaces
    >>> from l0graph.metrics import affinity_silhouette_scorer
    >>> X, y = make_subspaces(30, n_subspaces=3, dim=3, ambient_dim=9, noise=0.02, random_state=0)
    >>> all_samples = np.arange(len(X))
    >>> search = GridSearchCV(
    ...     L0Graph(n_clusters=3, random_state=0),
    ...     {"l0_penalty": [0.1, 0.5, 5.0]},
    ...     scoring=affinity_silhouette_scorer,
    ...     cv=[(all_samples, all_samples)],
    ... ).fit(X)
    >>> search.best_params_["l0_penalty"] < 5
    True
    """
    del y
    steps = getattr(estimator, "steps", None)
    clusterer = estimator if steps is None else steps[-1][1]  # of a pipeline
    if len(clusterer.labels_) != len(X):
        msg = (
            f"X has {len(X)} samples, where the clusterer was fitted to {len(clusterer.labels_)}: fit and score on the "
            "same ones, cv=[(all_samples, all_samples)]"
        )
        raise ValueError(msg)
    silhouette = graph_silhouette(clusterer.affinity_matrix_, clusterer.labels_)
    embedded = clusterer.embedding_.any(axis=1)
    return float(np.mean(np.where(embedded, silhouette, 0.0)))


def _block_connectivity(W: sp.csr_array) -> float:
    """Return the second-smallest eigenvalue of the normalised Laplacian of one class."""
    if W.shape[0] == 1:
        return float("nan")
    links = _links(W)
    if connected_components(links, directed=False, return_labels=False) > 1:
        return 0.0
    roots = np.sqrt(links.sum(axis=1))
    scale = sp.diags_array(1.0 / roots)
    similarity = sp.csr_array(scale @ links @ scale)
    if W.shape[0] <= _DENSE_BLOCK:
        value = _second_smallest_dense(similarity)
    else:
        value = _second_smallest_sparse(similarity, roots / np.linalg.norm(roots))
    return max(value, 0.0)  # positive in exact arithmetic: rounding may lead below 0


def _links(W: sp.csr_array) -> sp.csr_array:
    """Return W scaled and exactly symmetric, with neither diagonal nor stored zeros."""
    links = W.astype(np.float64)
    links = sp.csr_array(links - sp.diags_array(links.diagonal()))
    if links.nnz:
        links.data /= links.data.max()  # the Laplacian does not change, and no degree can overflow
    return sp.csr_array(links + links.T)  # drops stored zeros, which connected_components would take for edges


def _second_smallest_dense(similarity: sp.csr_array) -> float:
    """Return the second-smallest eigenvalue of I - similarity by LAPACK."""
    second = similarity.shape[0] - 2
    return float(1.0 - eigh(similarity.toarray(), eigvals_only=True, subset_by_index=[second, second])[0])


def _second_smallest_sparse(similarity: sp.csr_array, leading: np.ndarray) -> float:
    """Return the second-smallest eigenvalue of I - similarity, whose eigenvector for 0 is ``leading``."""
    n_samples = similarity.shape[0]
    start = np.random.default_rng(0).uniform(-1.0, 1.0, n_samples)

    def deflated(x: np.ndarray) -> np.ndarray:
        # All eigenvalues of the similarity lie in [-1, 1]; this moves the leading one, which is 1, to -1.
        return similarity @ x - 2.0 * leading * (leading @ x)

    operator = LinearOperator((n_samples, n_samples), matvec=deflated, dtype=np.float64)
    try:
        largest = eigsh(
            operator,
            k=1,
            which="LA",
            v0=start,
            ncv=min(_LANCZOS_VECTORS, n_samples),
            maxiter=_LANCZOS_RESTARTS,
            tol=_LANCZOS_TOL,
            return_eigenvectors=False,
        )
        return float(1.0 - largest[0])
    except ArpackNoConvergence:
        # The gap behind the eigenvalue is tiny, so the graph has small cuts, and with them a sparse factorisation.
        laplacian = sp.csc_array(sp.eye_array(n_samples) - similarity)
        smallest = eigsh(laplacian, k=2, sigma=-1e-6, which="LM", v0=start, return_eigenvectors=False)
        return float(smallest.max())


def _check_labels(labels: ArrayLike, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct labels in ascending order, and for each sample the index of its own."""
    array = np.asarray(labels)
    if array.ndim != 1 or array.size == 0:
        msg = f"{name} must be a 1-D array of at least one label, got shape {array.shape}"
        raise ValueError(msg)
    # A list with both strings and NaN becomes an array of strings: look at the elements before that happens.
    elements = array if array.dtype.kind in "biuf" else np.asarray(labels, dtype=object)
    try:
        if any(element is None or element != element for element in elements.tolist()):
            msg = f"{name} contain NaN or None: give every sample a label (-1, say, for an outlier)"
            raise ValueError(msg)
        names, indices = np.unique(array, return_inverse=True)
    except TypeError as error:
        msg = f"{name} must be all numbers or all strings, none missing: {error}"
        raise TypeError(msg) from None
    return names, indices


def _check_label_pair(labels_true: ArrayLike, labels_pred: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return both labellings as indices of their classes."""
    _, true = _check_labels(labels_true, "labels_true")
    _, pred = _check_labels(labels_pred, "labels_pred")
    _check_same_length(pred, "labels_pred", true.size, "labels_true")
    return true, pred


def _check_same_length(labels: np.ndarray, name: str, n_samples: int, other: str) -> None:
    """Raise unless there is one label per sample."""
    if labels.size != n_samples:
        msg = f"{name} must have one label per sample of {other}, got {labels.size} for {n_samples} samples"
        raise ValueError(msg)

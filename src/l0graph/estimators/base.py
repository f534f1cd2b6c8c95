"""What all estimators share: check X, code it, cluster the graph, keep what came out."""

from __future__ import annotations

import os
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator
from copy import copy
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from .._progress import stage, talking, timing
from .._threads import resolve_n_jobs
from .._types import CodeResult
from .._validation import check_data, check_n_clusters
from ..backends import is_device_array
from ..backends.dictionary import Atoms
from ..backends.namespaces import Space, space_of
from ..codes.working_set import Dictionary
from ..graph.affinity import affinity
from ..graph.cluster import cluster_graph
from ..graph.neighbors import unit_rows
from ..scale.sources import is_external
from .device import NATIVE, atoms_on, codes_on_host, native_space, on_host, predict_on_device
from .display import fitted_html
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

_DICTIONARY_PARAMETER = """\
    dictionary : {"all", "auto"} or int, default="all"
        What samples are coded over: all others, or so many exemplars, chosen among them to be spread over all (see
        `l0graph.scale.select_exemplars`). Time and memory are then linear in n_samples. "auto" chooses the number, 100
        a cluster and 2000 at least.
"""

_DEVICE_PARAMETER = """\
    device : str or None, default=None
        Where codes are made: "cuda", "cuda:1" or "cpu", by PyTorch, of X's dtype; None is Numba on the host, or the
        device of X where X is an array of torch or CuPy and scikit-learn's ``array_api_dispatch`` is on. A device that
        is missing is an error.
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

    device: str | None = None
    _has_device_codes = True
    dictionary: int | Literal["all", "auto"] = "all"
    _symmetrize: Literal["mean", "max"] = "mean"
    atom_affinity_: sp.csr_array
    _coding: Literal["rows", "l0", "jacobi"] | None = "rows"
    """How codes are made block by block, see `l0graph.scale`; None where the graph does not come from codes."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Complete the docstring."""
        super().__init_subclass__(**kwargs)
        texts = {
            "parameters": _COMMON_PARAMETERS,
            "attributes": _COMMON_ATTRIBUTES,
            "dictionary": _DICTIONARY_PARAMETER,
            "device": _DEVICE_PARAMETER,
        }
        for name, text in texts.items():
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
        result = codes_on_host(self._code(dictionary))
        self.codes_ = result.codes
        self.objective_ = result.objective
        self.n_iter_ = result.n_iter
        if result.outliers is not None:
            self.outliers_ = result.outliers
        with stage("affinity"):
            return affinity(result.codes, self._symmetrize)

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        run_dir: str | os.PathLike[str] | None = None,
        client: Any = None,
        memory_limit: int | str | None = None,
    ) -> Self:
        """Cluster the samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples in rows. A memory map, a zarr, HDF5 or Dask array, and what `l0graph.scale.open_matrix` returns, are
            read by blocks of rows.
        y : None
            Ignored.
        run_dir : str or path-like, default=None
            Directory for the codes, block by block. A fit that was interrupted goes on where it was; a
            directory of another fit is refused.
        client : dask.distributed.Client, default=None
            Code on the workers of this cluster. The codes are the same ones.
        memory_limit : int or str, default=None
            Memory that this process may take, in bytes or such as "3GiB". By default half of what is free. Samples
            that do not fit stay on disk.

        Returns
        -------
        self

        Notes
        -----
        With any of the last three, or such an X, or a ``dictionary`` of fewer samples, the fit goes by blocks. Labels
        and codes are those of a fit in memory, except that `RegularizedL0Graph` then goes by Jacobi sweeps.
        """
        space = native_space(X)
        if self._goes_by_blocks(X, run_dir, client, memory_limit):
            if self.device is not None or space is not None:
                msg = f"device={self.device!r}: a fit by blocks runs on the host, pass device=None and a NumPy array"
                raise ValueError(msg)
            return self._fit_by_blocks(X, run_dir=run_dir, client=client, memory_limit=memory_limit)
        X = on_host(X) if space is not None else X
        X = validate_data(self, X, dtype=[np.float64, np.float32], order="C", ensure_min_samples=2)
        check_n_clusters(self.n_clusters, X.shape[0])
        X = unit_rows(X) if self.normalize else check_data(X)
        with talking(self.verbose), timing() as seconds:
            self._fit_X = X
            self.affinity_matrix_ = self._graph(self._prepared(X, space))
            self._cluster()
        self.stage_seconds_ = seconds
        if space is not None:
            self._go_native(space)
        return self

    def _go_native(self, space: Space) -> None:
        """Give what belongs to the caller's library to it."""
        for name in NATIVE:
            setattr(self, name, space.asarray(getattr(self, name)))

    def _prepared(self, X: np.ndarray, space: Space | None) -> Any:
        """Return X as what `_code` takes: a dictionary, or atoms on the device asked for, or that X came from."""
        atoms = atoms_on(X, self.device, space) if self._has_device_codes else None
        return Dictionary(X) if atoms is None else atoms

    def _goes_by_blocks(self, X: Any, *arguments: Any) -> bool:
        if self._coding is None:
            if any(argument is not None for argument in arguments):
                msg = f"{type(self).__name__} has no codes: leave run_dir, client and memory_limit out"
                raise ValueError(msg)
            return False
        return self.dictionary != "all" or is_external(X) or any(argument is not None for argument in arguments)

    def _fit_by_blocks(self, X: Any, **where: Any) -> Self:
        if not is_external(X):
            X = validate_data(self, X, dtype=[np.float64, np.float32], order="C", ensure_min_samples=2)
        for name in ("codes_", "affinity_matrix_", "atom_affinity_", "exemplars_", "atom_labels_", "outliers_"):
            self.__dict__.pop(name, None)  # of an earlier fit of another kind
        with talking(self.verbose), timing() as seconds:
            from ..scale.fit import fit

            fit(self, X, **where)
        self.stage_seconds_ = seconds
        return self

    @available_if(lambda self: self.dictionary != "all")
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Cluster samples that come in batches, over the exemplars of the first one.

        The first batch is fitted. A later one is coded over the same exemplars, its codes are added to the graph of the
        exemplars, and that is clustered anew. The batch itself is not kept: memory does not grow. Only where
        ``dictionary`` is not "all".

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A batch; the first has at least as many samples as there shall be exemplars.
        y : None
            Ignored.

        Returns
        -------
        self
            ``labels_`` and ``codes_`` are those of this batch; `predict` labels any samples.
        """
        if not hasattr(self, "labels_"):
            self.fit(X)
            if not hasattr(self, "exemplars_"):
                msg = f"the first batch has {len(self.labels_)} samples, no more than the dictionary: make it larger"
                raise ValueError(msg)
            return self
        X = validate_data(self, X, dtype=self._fit_X.dtype, order="C", reset=False)
        X = unit_rows(X) if self.normalize else check_data(X, min_samples=1)
        from ..scale.bipartite import atom_affinity, most_similar_atoms

        with talking(self.verbose), timing() as seconds:
            result = self._code(Dictionary(self._fit_X), X)
            self.codes_ = result.codes
            self.atom_affinity_ = self.atom_affinity_ + atom_affinity(iter([result.codes]), *result.codes.shape)
            self._cluster_bipartite(
                lambda: iter([result.codes]), len(X), lambda rows: most_similar_atoms(X[rows], self._fit_X)
            )
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
        check_n_clusters(n_clusters, self.labels_.shape[0])
        other = copy(self)
        other.n_clusters = n_clusters
        with talking(self.verbose), timing() as seconds:
            if hasattr(self, "exemplars_"):
                rows, partners = self._partners
                nearest = dict(zip(rows.tolist(), partners.tolist(), strict=True))
                other._cluster_bipartite(
                    lambda: iter([self.codes_]),
                    len(self.labels_),
                    lambda empty: np.array([nearest[row] for row in empty.tolist()]),
                )
            else:
                other._cluster()
        other.stage_seconds_ = seconds
        if is_device_array(self.labels_):
            other._go_native(space_of(self.labels_))
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
        if is_external(X):
            from ..scale.predict import predict

            return predict(self, X)
        space = native_space(X)
        X = on_host(X) if space is not None else X
        X = validate_data(self, X, dtype=self._fit_X.dtype, order="C", reset=False)
        X = unit_rows(X) if self.normalize else check_data(X, min_samples=1)
        with talking(self.verbose):
            labels = self._predict(self._prepared(self._fit_X, space), X)
        return labels if space is None else space.asarray(labels)

    def _predict(self, dictionary: Any, X: np.ndarray) -> np.ndarray:
        result = self._code(dictionary, X)
        labels = on_host(getattr(self, "atom_labels_", self.labels_))
        if isinstance(dictionary, Atoms):
            return predict_on_device(dictionary, result.codes, labels, X)
        if result.outliers is not None:
            X = X - result.outliers.toarray()
        return predict_labels(result.codes, dictionary.X, labels, X, resolve_n_jobs(self.n_jobs))

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Return what notebooks show, the diagram with the results under it."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += fitted_html(self)
        return bundle

    def _repr_html_inner(self) -> str:
        """Return the same for whoever asks for HTML only."""
        return str(self._repr_mimebundle_()["text/html"])

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

    def _cluster_bipartite(
        self,
        blocks: Callable[[], Iterator[sp.csr_array]],
        n_samples: int,
        partners: Callable[[np.ndarray], np.ndarray],
    ) -> None:
        """Cluster samples coded over exemplars."""
        from ..scale.bipartite import cluster_bipartite

        clustering = cluster_bipartite(
            blocks,
            self.atom_affinity_,
            n_samples,
            self._fit_X,
            self.n_clusters,
            partners=partners,
            fragments=self.fragments,
            min_fraction=self.min_fraction,
            min_gap=self.min_gap,
            n_init=self.n_init,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        self.labels_ = clustering.labels
        self.atom_labels_ = clustering.atom_labels
        self._partners = clustering.partners
        self.embedding_ = clustering.graph.embedding
        self.eigenvalues_ = clustering.graph.eigenvalues
        self.n_components_ = clustering.graph.n_components
        self.n_attached_ = clustering.graph.n_attached

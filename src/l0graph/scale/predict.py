"""Labels of new samples by blocks."""

from __future__ import annotations

import secrets
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._progress import report
from ..codes.working_set import Dictionary, Targets
from .engines import Cluster, Here, inspect_workers, nothing_given
from .memory import block_rows
from .run_directory import Arrays, RunDirectory, block_name
from .samples import Samples
from .sources import source_of
from .tasks import Block

_LEFT_BEHIND = ("_fit_X", "affinity_matrix_", "atom_affinity_", "embedding_", "outliers_", "exemplars_", "_partners")
"""What a fitted estimator holds and prediction does not need, or gets otherwise."""


@dataclass(frozen=True)
class PredictRows:
    """Labels of a block."""

    estimator: Any

    def work(self, dictionary: Dictionary, targets: Targets, given: Arrays) -> Arrays:
        """Return them."""
        del given
        return {"labels": self.estimator._predict(dictionary, targets.values)}


def predict(estimator: Any, X: Any, *, client: Any = None) -> np.ndarray:
    """Label new samples with a fitted estimator, by blocks of rows.

    Parameters
    ----------
    estimator : clusterer
        Fitted, on any kind of data.
    X : array-like of shape (n_new, n_features)
        New samples in rows; also a memory map, zarr, HDF5 or Dask array, or what `open_matrix` returns.
    client : dask.distributed.Client, default=None
        Label on the workers of this cluster.

    Returns
    -------
    ndarray of shape (n_new,)
        What the estimator's ``predict`` says of each sample.

    Examples
    --------
    >>> from l0graph import L1Graph
    >>> from l0graph.datasets import make_subspaces
    >>> from l0graph.scale import predict
    >>> X, y = make_subspaces(30, n_subspaces=2, dim=2, ambient_dim=8, random_state=0)
    >>> predict(L1Graph(2, random_state=0).fit(X), X)[[0, 1, -2, -1]]
    array([0, 0, 1, 1])
    """
    check_is_fitted(estimator)
    source = source_of(X)
    samples = Samples(source, estimator.normalize)
    if samples.shape[1] != estimator.n_features_in_:
        msg = f"X has {samples.shape[1]} features, but the estimator was fitted with {estimator.n_features_in_}"
        raise ValueError(msg)
    samples.fingerprint()  # for its checks
    small = copy(estimator)
    small.verbose = 0
    for name in _LEFT_BEHIND:
        small.__dict__.pop(name, None)
    if estimator._coding != "jacobi":
        small.__dict__.pop("codes_", None)
    n = len(samples)
    rows = block_rows(n, samples.shape[1], samples.dtype.itemsize)
    blocks = [
        Block(start, min(start + rows, n), np.full(min(rows, n - start), -1), estimator.normalize, source)
        for start in range(0, n, rows)
    ]
    labels = np.empty(n, dtype=np.int64)
    token = secrets.token_hex(8)
    with RunDirectory.opened(None) as directory:
        if client is None:
            engine: Any = Here(estimator._fit_X, directory)
        else:
            share, readable = inspect_workers(client, source)
            engine = Cluster(client, token, np.asarray(estimator._fit_X), directory, readable)
            small.n_jobs = share if estimator.n_jobs is not None and estimator.n_jobs < 0 else estimator.n_jobs
        done = 0
        for block in engine.run(PredictRows(small), blocks, "labels", nothing_given):
            labels[block.start : block.stop] = directory.read(block_name("labels", block.start))["labels"]
            done += block.stop - block.start
            report("labels", done, n)
        engine.close()
    return labels

"""How a run of each method goes: samples and parameters in, figures out.

To add a method: a function below and its row in METHODS. Its version goes up when it gives other figures than before;
runs of older versions are then done again.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from .._progress import stage
from .._threads import one_blas_thread, resolve_n_jobs
from ..codes.l0 import l0_codes
from ..codes.l1 import l1_codes
from ..codes.omp import omp_codes
from ..codes.regularized import regularized_l0_codes
from ..codes.smce import smce_codes
from ..graph.affinity import affinity
from ..graph.cluster import FragmentedGraphWarning, cluster_graph
from ..graph.gaussian import self_tuning_affinity
from ..metrics import clustering_accuracy, normalized_mutual_info
from .code_cache import cached_codes
from .problems import Samples

Parameters = dict[str, Any]
Figures = dict[str, Any]


@dataclass(frozen=True)
class Context:
    """What a run needs beside its samples and parameters."""

    seed: int
    n_jobs: int
    folder: Path


@dataclass(frozen=True)
class Method:
    """A method: its title in tables, and how it is run."""

    title: str
    run: Callable[[Samples, Parameters, Context], Figures]
    version: int = 1


def _scores(y: np.ndarray, labels: np.ndarray, prefix: str = "") -> Figures:
    return {
        f"{prefix}AC": clustering_accuracy(y, labels),
        f"{prefix}NMI": normalized_mutual_info(y, labels),
    }


def _clustered(W: sp.csr_array, samples: Samples, context: Context) -> Figures:
    """Cluster a graph as the library does, and as the paper does: fragments kept, as many eigenvectors as clusters."""
    given: dict[str, Any] = {"X": samples.dictionary.X, "random_state": context.seed, "n_jobs": context.n_jobs}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FragmentedGraphWarning)  # the row says how many were attached
        warnings.simplefilter("ignore", ConvergenceWarning)  # a fragmented graph kept as it is: its figures say so
        cured = cluster_graph(W, samples.n_clusters, **given)
        same = (
            not cured.n_attached
            and cured.n_components <= samples.n_clusters
            and cured.embedding.shape[1] == samples.n_clusters
        )
        # Where nothing was attached, linked or cut off the two are one.
        plain = cured if same else cluster_graph(W, samples.n_clusters, fragments="keep", min_gap=0.0, **given)
    return {
        **_scores(samples.y, cured.labels),
        **_scores(samples.y, plain.labels, "plain "),
        "n_components": cured.n_components,
        "n_attached": cured.n_attached,
        "n_eigenvectors": cured.embedding.shape[1],
    }


def _from_codes(codes: sp.csr_array, samples: Samples, context: Context, *, larger: bool = False) -> Figures:
    with stage("affinity"):
        W = affinity(codes, "max" if larger else "mean")
    return {**_clustered(W, samples, context), "n_nonzero": codes.nnz / codes.shape[0]}


def start_codes(samples: Samples, l1_penalty: float, context: Context) -> sp.csr_array:
    """Return l1 codes, from the disk where another run had them computed."""
    identity = {"codes": "l1", "version": METHODS["l1"].version, "data": samples.fingerprint, "l1_penalty": l1_penalty}

    def compute() -> sp.csr_array:
        with stage("l1 codes"):
            return l1_codes(samples.dictionary, l1_penalty=l1_penalty, n_jobs=context.n_jobs).codes

    return cached_codes(context.folder / "codes", identity, compute)[0]


def _k_means(samples: Samples, parameters: Parameters, context: Context) -> Figures:
    """K-means on the samples as they are: the mean over runs, of each of which the best of several starts counts."""
    n_runs, n_init = parameters["n_runs"], parameters["n_init"]
    seeds = np.random.RandomState(context.seed).randint(np.iinfo(np.int32).max, size=n_runs * n_init)
    with stage("k-means"), one_blas_thread():
        starts = Parallel(n_jobs=resolve_n_jobs(context.n_jobs), prefer="threads")(
            delayed(_one_start)(samples.X, samples.n_clusters, int(seed)) for seed in seeds
        )
    best = [min(starts[i : i + n_init], key=lambda start: start[0])[1] for i in range(0, len(starts), n_init)]
    runs = [_scores(samples.y, labels) for labels in best]
    return {metric: float(np.mean([run[metric] for run in runs])) for metric in runs[0]}


def _one_start(X: np.ndarray, n_clusters: int, seed: int) -> tuple[float, np.ndarray]:
    from threadpoolctl import threadpool_limits

    # On more threads sums are added in the order in which threads finish.
    with threadpool_limits(1, user_api="openmp"):
        found = KMeans(n_clusters, n_init=1, random_state=seed).fit(X)
    return float(found.inertia_), found.labels_


def _spectral(samples: Samples, parameters: Parameters, context: Context) -> Figures:
    """The full self-tuning graph of the samples as they are."""
    X = samples.X
    with stage("affinity"):
        W = self_tuning_affinity(X, **parameters, n_kept=None, n_jobs=context.n_jobs)
    options: dict[str, Any] = {
        "fragments": "keep",
        "min_gap": 0.0,
        "random_state": context.seed,
        "n_jobs": context.n_jobs,
    }
    return _scores(samples.y, cluster_graph(W, samples.n_clusters, X=X, **options).labels)


def _l1(samples: Samples, parameters: Parameters, context: Context) -> Figures:
    return _from_codes(start_codes(samples, parameters["l1_penalty"], context), samples, context)


def _smce(samples: Samples, parameters: Parameters, context: Context) -> Figures:
    """Of the samples as they are."""
    with stage("smce codes"):
        codes = smce_codes(samples.X, **parameters, n_jobs=context.n_jobs).codes
    return _from_codes(codes, samples, context, larger=True)


def _omp(samples: Samples, parameters: Parameters, context: Context) -> Figures:
    with stage("omp codes"):
        codes = omp_codes(samples.dictionary, **parameters, n_jobs=context.n_jobs).codes
    return _from_codes(codes, samples, context)


def _l0(samples: Samples, parameters: Parameters, context: Context) -> Figures:
    start = start_codes(samples, 0.1, context)
    with stage("l0 codes"):
        codes = l0_codes(samples.dictionary, init=start, **parameters, n_jobs=context.n_jobs).codes
    return _from_codes(codes, samples, context)


def _regularized(samples: Samples, parameters: Parameters, context: Context) -> Figures:
    start = start_codes(samples, 0.1, context)
    with stage("regularized l0 codes"):
        codes = regularized_l0_codes(samples.dictionary, init=start, **parameters, n_jobs=context.n_jobs).codes
    return _from_codes(codes, samples, context)


def _timed(samples: Samples, parameters: Parameters, context: Context) -> Figures:
    """The whole l0-graph from the samples on, several times: nothing shared with other runs."""
    from .._progress import timing
    from ..estimators.l0 import L0Graph

    model = L0Graph(samples.n_clusters, random_state=context.seed, n_jobs=context.n_jobs)
    repeats = []
    for _ in range(parameters["repeats"] + 1):
        with timing():  # so that the repeats stay out of the row's own stages
            repeats.append(dict(model.fit(samples.X).stage_seconds_))
    # The first one may compile.
    best = min(repeats[1:], key=lambda seconds: sum(seconds.values()))
    return {**_scores(samples.y, model.labels_), "best": best, "n_threads": resolve_n_jobs(context.n_jobs)}


def _spread(samples: Samples, parameters: Parameters, context: Context) -> Figures:
    from .semi_supervised import errors_by_share

    return errors_by_share(samples, parameters, context)


METHODS = {
    "kmeans": Method("k-means", _k_means),
    "spectral": Method("spectral", _spectral),
    "l1": Method("l1-graph", _l1),
    "smce": Method("SMCE", _smce),
    "omp": Method("OMP-graph", _omp),
    "l0": Method("l0-graph", _l0),
    "rl0": Method("regularised l0-graph", _regularized),
    "timed l0": Method("l0-graph, timed", _timed),
    "spread": Method("label spreading", _spread),
}

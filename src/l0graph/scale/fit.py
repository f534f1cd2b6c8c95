"""A fit by blocks: samples read as they are needed, codes in a run directory, labels of all."""

from __future__ import annotations

import importlib.metadata
import secrets
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import check_random_state

from .._progress import progress, stage, timing
from .._threads import resolve_n_jobs
from .._validation import check_n_clusters
from ..codes.working_set import Dictionary
from ..graph.affinity import affinity
from ..graph.cluster import cluster_graph
from .bipartite import atom_affinity, most_similar_atoms
from .coding import Coded, Coding, code_l0, code_rows
from .engines import Cluster, Here, inspect_workers
from .exemplars import choose, resolve_n_exemplars
from .jacobi import code_jacobi
from .mapped import MappedAtoms, MappedDictionary
from .memory import block_rows, limit_of, need, parse_memory, refuse
from .run_directory import RunDirectory
from .samples import Samples
from .sources import Source, source_of
from .tasks import Block

_CODINGS = {"rows": code_rows, "l0": code_l0, "jacobi": code_jacobi}
_NOT_OF_CODES = {
    "n_clusters", "fragments", "min_fraction", "min_gap", "n_init", "random_state", "n_jobs", "verbose", "dictionary",
    "normalize",
}  # fmt: skip
"""Parameters that codes over given atoms do not depend on, or that the manifest has in another form."""


_GRAPH_COPIES = 6
"""Arrays of the size of the codes that are held while their graph is made."""


@dataclass(frozen=True)
class Plan:
    """What is done, decided before anything is."""

    samples: Samples
    n_atoms: int
    rows: int
    mapped: bool
    """Whether the atoms stay on disk."""
    n_threads: int
    limit: int
    """Bytes that may be taken beside what the process held at the start."""

    @property
    def all(self) -> bool:
        """Whether all samples are atoms."""
        return self.n_atoms == len(self.samples)


def fit(estimator: Any, X: Any, *, run_dir: Any = None, client: Any = None, memory_limit: Any = None) -> None:
    """Fit an estimator by blocks: everything `fit` of the estimators says of these arguments."""
    source = source_of(X)
    samples = Samples(source, estimator.normalize)
    check_n_clusters(estimator.n_clusters, len(samples))
    n_atoms = resolve_n_exemplars(estimator.dictionary, len(samples), estimator.n_clusters)
    check_parameters(estimator, samples)
    plan = make_plan(estimator, samples, n_atoms, parse_memory(memory_limit))
    share, readable = (1, False) if client is None else inspect_workers(client, source)
    with RunDirectory.opened(run_dir) as directory:
        manifest = directory.begin(_manifest(estimator, plan))
        run = _Run(estimator, plan, directory, manifest, run_dir is not None)
        run.prepare()
        coded = run.code(client, share, readable)
        run.cluster(coded)
        directory.note(finished=True)


def check_parameters(estimator: Any, samples: Samples) -> None:
    """Raise over a parameter that is wrong, before anything long begins: by coding and clustering two samples."""
    resolve_n_jobs(estimator.n_jobs)
    check_random_state(estimator.random_state)
    with warnings.catch_warnings(), progress(None), timing():
        warnings.simplefilter("ignore")
        clone(estimator)._code(Dictionary(np.eye(2, samples.shape[1], dtype=samples.dtype)))
        options = {**_cluster_options(estimator), "random_state": 0}
        cluster_graph(sp.csr_array(np.ones((2, 2))), 1, X=np.ones((2, 1)), **options)


def make_plan(estimator: Any, samples: Samples, n_atoms: int, memory_limit: int | None) -> Plan:
    """Decide what is held in memory; raise where a run cannot fit."""
    n, d = samples.shape
    n_threads = resolve_n_jobs(estimator.n_jobs)
    rows = block_rows(n, d, samples.dtype.itemsize)
    limit, name = limit_of(memory_limit)
    everything = n_atoms == n
    for mapped in (False, True) if everything else (False,):
        needed = need(
            n,
            d,
            n_atoms,
            samples.dtype.itemsize,
            rows=rows,
            n_clusters=estimator.n_clusters,
            n_threads=n_threads,
            mapped=mapped,
            piece=samples.source.largest_piece,
        )
        if needed.total <= limit:
            return Plan(samples, n_atoms, rows, mapped, n_threads, limit)
    advice = ", or code over exemplars: dictionary='auto'" if everything else ", or take fewer exemplars"
    refuse(needed, limit, name, advice)
    raise AssertionError


def _manifest(estimator: Any, plan: Plan) -> dict[str, Any]:
    parameters = {name: value for name, value in sorted(estimator.get_params().items()) if name not in _NOT_OF_CODES}
    seed = estimator.random_state
    with stage("reading"):
        fingerprint = plan.samples.fingerprint()
    return {
        "parameters": {
            "method": type(estimator).__name__,
            **parameters,
            "normalize": bool(estimator.normalize),
            "n_atoms": plan.n_atoms,
            # Where all samples are atoms nothing is drawn before the clustering.
            "random_state": None if plan.all or not isinstance(seed, (int, np.integer)) else int(seed),
        },
        "data": {
            "shape": list(plan.samples.shape),
            "dtype": str(plan.samples.dtype),
            "fingerprint": fingerprint,
        },
        "versions": {"l0graph": _version("l0graph")},
        "made with": {name: _version(name) for name in ("numpy", "scipy", "numba")},
        "run": secrets.token_hex(8),
        "seed": None if plan.all else int(check_random_state(seed).randint(2**31)),
        "block_rows": plan.rows,
        "n_clusters": int(estimator.n_clusters),
    }


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def _cluster_options(estimator: Any) -> dict[str, Any]:
    names = ("fragments", "min_fraction", "min_gap", "n_init", "random_state", "n_jobs")
    return {name: getattr(estimator, name) for name in names}


class _Run:
    """The steps of a fit, in order."""

    def __init__(
        self, estimator: Any, plan: Plan, directory: RunDirectory, manifest: dict[str, Any], kept: bool
    ) -> None:
        self.estimator = estimator
        self.plan = plan
        self.directory = directory
        self.manifest = manifest
        self.kept = kept
        """Whether the directory outlives the fit."""
        self.exemplars: np.ndarray | None = None
        self.atoms: np.ndarray | MappedAtoms

    def prepare(self) -> None:
        """Choose the atoms and bring them where they are needed."""
        plan, samples = self.plan, self.plan.samples
        if not plan.all:
            with stage("exemplars"):
                if not self.directory.has("exemplars"):
                    indices = choose(samples, plan.n_atoms, self.manifest["seed"], plan.n_threads)
                    self.directory.write("exemplars", {"indices": indices})
                self.exemplars = self.directory.read("exemplars")["indices"]
                self.atoms = samples.take(self.exemplars)
        elif plan.mapped:
            with stage("loading"):
                self.atoms = MappedDictionary.build(self.directory.path.resolve() / "atoms", samples)
        else:
            with stage("loading"):
                self.atoms = samples.load(np.empty(samples.shape, dtype=samples.dtype))

    def code(self, client: Any, share: int, readable: bool) -> Coded:
        """Code all samples."""
        token = str(self.manifest["run"])
        worker = clone(self.estimator)
        if client is None:
            engine: Any = Here(self.atoms, self.directory)
        else:
            engine = Cluster(client, token, self.atoms, self.directory, readable)
            n_jobs = self.estimator.n_jobs
            worker.n_jobs = share if n_jobs is not None and n_jobs < 0 else n_jobs
        blocks = list(self._blocks())
        try:
            return _CODINGS[self.estimator._coding](Coding(worker, engine, self.directory, blocks))
        finally:
            engine.close()

    def _blocks(self) -> Iterator[Block]:
        size, n = self.manifest["block_rows"], len(self.plan.samples)
        source: Source | None = None if self.exemplars is None else self.plan.samples.source
        for start in range(0, n, size):
            stop = min(start + size, n)
            own = np.arange(start, stop)
            if self.exemplars is not None:
                own = np.full(stop - start, -1)
                first, last = np.searchsorted(self.exemplars, [start, stop])
                own[self.exemplars[first:last] - start] = np.arange(first, last)
            yield Block(start, stop, own, self.estimator.normalize, source)

    def cluster(self, coded: Coded) -> None:
        """Make the graph, cluster it, and give the estimator what a fit gives it."""
        estimator, samples = self.estimator, self.plan.samples
        estimator.n_features_in_ = samples.shape[1]
        estimator.objective_ = coded.objective
        estimator.n_iter_ = coded.n_iter
        estimator._fit_X = self._held_atoms()
        if self.exemplars is None:
            self._check_graph_fits(coded)
            estimator.codes_ = coded.assemble()
            with stage("affinity"):
                estimator.affinity_matrix_ = affinity(estimator.codes_, estimator._symmetrize)
            estimator._cluster()
        else:
            estimator.exemplars_ = self.exemplars
            with stage("affinity"):
                estimator.atom_affinity_ = atom_affinity(coded.codes(), len(samples), self.plan.n_atoms)
            estimator._cluster_bipartite(coded.codes, len(samples), self._partners)
            self._keep_codes(coded)
        if coded.has_outliers:
            estimator.outliers_ = sp.csr_array(sp.vstack(list(coded.outliers()), format="csr"))
        self.directory.write("labels", {"labels": estimator.labels_})

    def _check_graph_fits(self, coded: Coded) -> None:
        """Raise where the graph of all samples, whose size only the codes tell, does not fit."""
        needed = _GRAPH_COPIES * coded.n_bytes()
        if needed > self.plan.limit:
            where = (
                f"the codes are kept in {self.directory.path}" if self.kept else "with run_dir the codes would be kept"
            )
            msg = (
                f"the graph of these codes needs about {needed / 2**30:.2f} GiB of memory, more than the"
                f" {max(0, self.plan.limit) / 2**30:.2f} GiB left: raise memory_limit ({where}), or code over exemplars"
            )
            raise ValueError(msg)

    def _keep_codes(self, coded: Coded) -> None:
        """Give the estimator the codes where there is room for them."""
        size = coded.n_bytes()
        if 2 * size <= self.plan.limit:
            self.estimator.codes_ = coded.assemble()
            return
        msg = f"codes_ is not kept: it has {size / 2**30:.2f} GiB, too much for memory_limit"
        warnings.warn(msg + (f"; the codes are in {self.directory.path}" if self.kept else ""), stacklevel=2)

    def _partners(self, rows: np.ndarray) -> np.ndarray:
        """Return the most similar atoms of some samples."""
        parts = [
            most_similar_atoms(self.plan.samples.take(rows[i : i + 4096]), self.estimator._fit_X)
            for i in range(0, len(rows), 4096)
        ]
        return np.concatenate(parts)

    def _held_atoms(self) -> np.ndarray:
        if not isinstance(self.atoms, MappedAtoms):
            return self.atoms
        return np.load(self.atoms.folder / "atoms.npy", mmap_mode="r", allow_pickle=False)

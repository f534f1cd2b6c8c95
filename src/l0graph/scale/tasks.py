"""What is done to one block of samples, here or on a worker.

A task is an object with `work`; it holds what all blocks share and is sent along with each. Its result is a dictionary
of arrays, which is what is written to disk.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from .._threads import resolve_n_jobs
from .._types import CodeResult, Status
from ..codes.l0 import Step, iterate_rows, starting_codes
from ..codes.working_set import Dictionary, Targets
from ..graph.neighbors import unit_rows
from .mapped import MappedAtoms, MappedDictionary
from .run_directory import Arrays, RunDirectory, read_manifest
from .sources import Source


class Task(Protocol):
    """Something done to blocks."""

    def work(self, dictionary: Dictionary, targets: Targets, given: Arrays) -> Arrays:
        """Return the arrays of a block; ``given`` are those of an earlier phase that it asks for."""


@dataclass(frozen=True)
class Block:
    """Some samples on their way to a task."""

    start: int
    stop: int
    own: np.ndarray
    """For each its index among the atoms, or -1."""
    normalize: bool
    source: Source | None
    """Where they are read; None where they come along, or are the atoms themselves."""

    def targets(self, dictionary: Dictionary, rows: np.ndarray | None = None) -> Targets:
        """Return the samples as the methods take them; ``rows`` are they as stored, if they came along."""
        if rows is None and self.source is None:
            return Targets(dictionary.X[self.start : self.stop], self.own)
        if rows is None and self.source is not None:
            rows = self.source.read(self.start, self.stop)
        values = np.ascontiguousarray(rows, dtype=dictionary.X.dtype)
        return Targets(unit_rows(values) if self.normalize else values, self.own)


@dataclass(frozen=True)
class CodeRows:
    """Codes by a method in which no row looks at another."""

    estimator: Any

    def work(self, dictionary: Dictionary, targets: Targets, given: Arrays) -> Arrays:
        """Return codes, objective and whether the rows have converged."""
        del given
        result = quiet(lambda: self.estimator._code(dictionary, targets))
        return pack_result(result)


@dataclass(frozen=True)
class StartL0:
    """The l1 codes that the l0 iteration starts from, and that iteration to its last step."""

    estimator: Any
    step: Step

    def work(self, dictionary: Dictionary, targets: Targets, given: Arrays) -> Arrays:
        """Return both, and the objective of each row at each step."""
        del given
        estimator = self.estimator
        init = quiet(lambda: estimator._start(dictionary, targets))
        start = starting_codes(dictionary, targets, init, estimator.outliers)
        n_threads = resolve_n_jobs(estimator.n_jobs)
        codes, objectives = iterate_rows(dictionary, targets, start, self.step, estimator.max_iter, n_threads)
        return {
            **pack(start, "start_"),
            **pack(codes.astype(dictionary.X.dtype), ""),
            "objectives": objectives,
            "converged": np.array(init.status is Status.CONVERGED),
        }


@dataclass(frozen=True)
class IterateL0:
    """The l0 iteration once more, to the step at which the total over all rows says stop."""

    step: Step
    n_steps: int
    n_jobs: int | None

    def work(self, dictionary: Dictionary, targets: Targets, given: Arrays) -> Arrays:
        """Return the codes."""
        start = unpack(given, "start_")
        n_threads = resolve_n_jobs(self.n_jobs)
        codes, _ = iterate_rows(dictionary, targets, start, self.step, self.n_steps, n_threads)
        return pack(codes.astype(dictionary.X.dtype), "")


def quiet(function: Callable[[], CodeResult]) -> CodeResult:
    """Call without the method's own warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # said once, for all blocks
        return function()


def pack(codes: sp.csr_array, prefix: str) -> Arrays:
    """Return a sparse array as named plain ones."""
    return {
        f"{prefix}data": codes.data,
        f"{prefix}indices": codes.indices,
        f"{prefix}indptr": codes.indptr,
        f"{prefix}shape": np.array(codes.shape),
    }


def unpack(arrays: Arrays, prefix: str = "") -> sp.csr_array:
    """Return what `pack` was given."""
    parts = tuple(arrays[f"{prefix}{name}"] for name in ("data", "indices", "indptr"))
    return sp.csr_array(parts, shape=tuple(arrays[f"{prefix}shape"]))


def pack_result(result: CodeResult) -> Arrays:
    """Return the parts of a block's result that are put together later."""
    arrays = {**pack(result.codes, ""), "objective": result.objective, "n_iter": np.array(result.n_iter)}
    arrays["converged"] = np.array(result.status is Status.CONVERGED)
    if result.gap is not None:
        arrays["gap"] = result.gap
    if result.outliers is not None:
        arrays.update(pack(result.outliers, "outliers_"))
    return arrays


_lock = Lock()
_held: tuple[str, Dictionary] | None = None


def prepared(token: str, atoms: np.ndarray | MappedAtoms) -> Dictionary:
    """Return the run's dictionary, made once in this process."""
    global _held  # noqa: PLW0603 - the memory of a worker between tasks
    with _lock:
        if _held is None or _held[0] != token:
            _held = (token, dictionary_of(atoms))
            _held[1].prepare()
        return _held[1]


def forget(token: str) -> None:
    """Let the run's dictionary go."""
    global _held  # noqa: PLW0603
    with _lock:
        if _held is not None and _held[0] == token:
            _held = None


def dictionary_of(atoms: np.ndarray | MappedAtoms) -> Dictionary:
    """Return the dictionary of atoms in memory or on disk."""
    return MappedDictionary(atoms) if isinstance(atoms, MappedAtoms) else Dictionary(atoms)


def run_there(
    task: Task,
    token: str,
    atoms: np.ndarray | MappedAtoms,
    block: Block,
    rows: np.ndarray | None,
    given: Arrays,
    directory: tuple[str, str],
) -> Arrays | None:
    """Do a block on a worker; return None where it could write the result to the run's directory itself.

    ``token`` names the run: a directory of that path on this machine whose manifest has it is that run's.
    """
    dictionary = prepared(token, atoms)
    arrays = task.work(dictionary, block.targets(dictionary, rows), given)
    name, path = directory
    manifest = read_manifest(Path(path))
    if manifest is None or manifest.get("run") != token:
        return arrays
    RunDirectory(Path(path)).write(name, arrays)
    return None

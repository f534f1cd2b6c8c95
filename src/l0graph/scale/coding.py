"""Codes of all samples, block by block, into the run's directory."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from .._progress import report, stage
from ..codes.l0 import step_of, stopping_iteration, total_objective
from ..codes.working_set import Dictionary
from .engines import Engine, Given, nothing_given
from .run_directory import Arrays, RunDirectory, block_name
from .tasks import Block, CodeRows, IterateL0, StartL0, Task, unpack

_OBJECTIVES = 2**27
"""Bytes of objectives that are held at a time."""


@dataclass(frozen=True)
class Coded:
    """The codes of all samples, in the run's directory."""

    directory: RunDirectory
    phase: str
    blocks: list[Block]
    objective: np.ndarray
    n_iter: int
    n_atoms: int
    dtype: np.dtype

    def codes(self) -> Iterator[sp.csr_array]:
        """Yield the codes of the blocks, in order."""
        for block in self.blocks:
            arrays = self.directory.read(block_name(self.phase, block.start), "data", "indices", "indptr", "shape")
            yield unpack(arrays)[:, : self.n_atoms].astype(self.dtype, copy=False)

    def assemble(self) -> sp.csr_array:
        """Return the codes in one piece."""
        return sp.csr_array(sp.vstack(list(self.codes()), format="csr"))

    @property
    def has_outliers(self) -> bool:
        """Whether gross errors were taken out of the samples."""
        arrays = self.directory.read(block_name(self.phase, self.blocks[0].start))
        return "outliers_data" in arrays or int(arrays["shape"][1]) > self.n_atoms

    def outliers(self) -> Iterator[sp.csr_array]:
        """Yield the gross errors that were taken out of the samples."""
        for block in self.blocks:
            arrays = self.directory.read(block_name(self.phase, block.start))
            yield unpack(arrays, "outliers_") if "outliers_data" in arrays else unpack(arrays)[:, self.n_atoms :]

    def n_bytes(self) -> int:
        """Return what the codes take in memory."""
        n_entries = (
            self.directory.read(block_name(self.phase, block.start), "indptr")["indptr"][-1] for block in self.blocks
        )
        return (self.dtype.itemsize + 4) * int(sum(n_entries))


@dataclass(frozen=True)
class Coding:
    """What every way of coding needs: who does blocks of what, and where they go."""

    estimator: Any
    engine: Engine
    directory: RunDirectory
    blocks: list[Block]

    @property
    def dictionary(self) -> Dictionary:
        """The atoms."""
        return self.engine.dictionary

    def phase(self, name: str, task: Task, title: str, given: Given = nothing_given) -> None:
        """Do the blocks of a phase that are not there yet."""
        total = self.blocks[-1].stop
        missing = [block for block in self.blocks if not self.directory.has(block_name(name, block.start))]
        done = total - sum(block.stop - block.start for block in missing)
        with stage(title):
            report(title, done, total)
            for block in self.engine.run(task, missing, name, given):
                done += block.stop - block.start
                report(title, done, total)

    def column(self, phase: str, name: str) -> Iterator[np.ndarray]:
        """Yield one array of each block."""
        for block in self.blocks:
            yield self.directory.read(block_name(phase, block.start), name)[name]

    def warn(self) -> None:
        """Say where l1 codes fell short of their tolerance."""
        if not all(self.column("codes", "converged")):
            msg = (
                "the codes of some samples have a larger duality gap than tol: raise tol, or look at the samples' scale"
            )
            warnings.warn(msg, ConvergenceWarning, stacklevel=2)

    def coded(self, phase: str, objective: np.ndarray | None = None, n_iter: int = 0, dtype: Any = None) -> Coded:
        """Return the codes of a phase, of the samples' type if no other is asked for."""
        dictionary = self.dictionary
        return Coded(
            self.directory,
            phase,
            self.blocks,
            np.zeros(0) if objective is None else objective,
            n_iter,
            dictionary.n_samples,
            np.dtype(dictionary.X.dtype if dtype is None else dtype),
        )


def code_rows(coding: Coding) -> Coded:
    """Code by a method in which no row looks at another."""
    coding.phase("codes", CodeRows(coding.estimator), "codes")
    coding.warn()
    objectives = list(coding.column("codes", "objective"))
    length = max(len(objective) for objective in objectives)
    # A block that needed fewer steps stays where it ended.
    total = np.sum([np.pad(o, (0, length - len(o)), mode="edge") for o in objectives], axis=0)
    return coding.coded("codes", total, int(max(coding.column("codes", "n_iter"))))


def code_l0(coding: Coding) -> Coded:
    """Code by the l0 iteration, whose end depends on the total over all rows: the same one as of all rows at once."""
    estimator = coding.estimator
    price = estimator.l0_penalty if estimator.outlier_penalty is None else estimator.outlier_penalty
    step = step_of(
        coding.dictionary,
        estimator.l0_penalty,
        price if estimator.outliers else np.inf,
        estimator.lipschitz,
        estimator.tau,
    )
    coding.phase("codes", StartL0(estimator, step), "codes")
    coding.warn()
    objective = _total(coding, estimator.max_iter + 1)
    stop = stopping_iteration(objective, estimator.tol)
    if stop is None or stop == estimator.max_iter:
        return coding.coded("codes", objective, estimator.max_iter)

    def given(block: Block) -> Arrays:
        names = ("start_data", "start_indices", "start_indptr", "start_shape")
        return coding.directory.read(block_name("codes", block.start), *names)

    coding.phase("final", IterateL0(step, stop, estimator.n_jobs), "final codes", given)
    return coding.coded("final", objective[: stop + 1], stop)


def _total(coding: Coding, n_steps: int) -> np.ndarray:
    """Return the total objective at each step: bit for bit that of all rows at once, a few steps at a time."""
    width = max(1, _OBJECTIVES // (8 * coding.blocks[-1].stop))
    parts = []
    for first in range(0, n_steps, width):
        # Copied, so that the whole of a block can go.
        rows = [objectives[:, first : first + width].copy() for objectives in coding.column("codes", "objectives")]
        parts.append(total_objective(np.concatenate(rows)))
    return np.concatenate(parts)

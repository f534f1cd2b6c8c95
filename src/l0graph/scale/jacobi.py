"""The regularised l0-graph by Jacobi sweeps.

As `regularized_l0_codes` with sweep="jacobi": all samples of a sweep see the codes that their neighbours had before it;
so samples can be visited anywhere, in any blocks, and the codes do not depend on that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._threads import resolve_n_jobs
from ..codes.l0 import largest_singular_value_squared
from ..codes.neighbors import nearest, neighbor_weights
from ..codes.regularized import Rule, total, visit_all
from ..codes.sweeps import jacobi_sweeps
from ..codes.working_set import Dictionary, Targets
from .coding import Coded, Coding
from .run_directory import Arrays
from .tasks import Block, pack, quiet, unpack


@dataclass(frozen=True)
class StartSweeps:
    """The l1 codes that the sweeps start from, and each sample's nearest neighbours."""

    estimator: Any
    n_neighbors: int

    def work(self, dictionary: Dictionary, targets: Targets, given: Arrays) -> Arrays:
        """Return both."""
        del given
        estimator = self.estimator
        result = quiet(lambda: estimator._start(dictionary, targets))
        items = nearest(dictionary, targets, self.n_neighbors, resolve_n_jobs(estimator.n_jobs))
        return {
            **pack(result.codes.astype(np.float64), ""),
            "neighbors": items,
            "converged": np.array(result.status.name == "CONVERGED"),
        }


@dataclass(frozen=True)
class Sweep:
    """One visit of each sample of a block."""

    rule: Rule
    n_jobs: int | None

    def work(self, dictionary: Dictionary, targets: Targets, given: Arrays) -> Arrays:
        """Return the block's codes after the visit, and its part of the objective before."""
        codes, losses, distances = visit_all(
            dictionary,
            targets,
            unpack(given, "weights_"),
            unpack(given, "neighbors_"),
            unpack(given),
            self.rule,
            resolve_n_jobs(self.n_jobs),
        )
        return {**pack(codes, ""), "losses": losses, "distances": distances}


def code_jacobi(coding: Coding) -> Coded:
    """Code by Jacobi sweeps."""
    estimator, n = coding.estimator, coding.blocks[-1].stop
    n_neighbors = min(estimator.n_neighbors, n - 1)
    coding.phase("codes", StartSweeps(estimator, n_neighbors), "l1 codes")
    coding.warn()
    if estimator.lipschitz == "global":
        constant = estimator.tau * 2 * largest_singular_value_squared(coding.dictionary) or 1.0
    else:
        constant = float(estimator.lipschitz)
    rule = Rule(
        float(estimator.gamma),
        constant,
        float(estimator.tau),
        estimator.lipschitz != "global",
        int(estimator.max_iter),
        float(estimator.tol),
    )
    weights = neighbor_weights(np.concatenate(list(coding.column("codes", "neighbors"))), n, symmetric=True)
    n_sweeps = 0

    def sweep(reached: str, moves: bool) -> tuple[str, float]:
        # What a sweep has reached is known when the next one reads its codes; the last only measures.
        nonlocal n_sweeps
        n_sweeps += 1
        codes = coding.coded(reached, dtype=np.float64).assemble()
        name = f"sweep-{n_sweeps}"
        task = Sweep(rule if moves else replace(rule, max_iter=0), estimator.n_jobs)
        coding.phase(name, task, f"sweep {n_sweeps}", partial(_given, weights=weights, codes=codes))
        losses, distances = (np.concatenate(list(coding.column(name, part))) for part in ("losses", "distances"))
        return name, total(losses, distances, rule.gamma, each_pair_twice=True)

    reached, objective, _ = jacobi_sweeps(sweep, "codes", estimator.max_sweeps, estimator.sweep_tol)
    return coding.coded(reached, objective, len(objective) - 1)


def _given(block: Block, *, weights: sp.csr_array, codes: sp.csr_array) -> Arrays:
    """Return what a block's visit reads: its codes, its neighbours' codes and the weights to them."""
    part = sp.csr_array(weights[block.start : block.stop])
    needed, columns = np.unique(part.indices, return_inverse=True)
    local = sp.csr_array((part.data, columns, part.indptr), shape=(part.shape[0], len(needed)))
    return {
        **pack(codes[block.start : block.stop], ""),
        **pack(local, "weights_"),
        **pack(sp.csr_array(codes[needed]), "neighbors_"),
    }

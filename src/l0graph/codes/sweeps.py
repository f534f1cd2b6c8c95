"""Jacobi sweeps: all samples move at once, each seeing what its neighbours were before."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from .._types import Status

State = TypeVar("State")


def jacobi_sweeps(
    sweep: Callable[[State, bool], tuple[State, float]], state: State, max_sweeps: int, sweep_tol: float
) -> tuple[State, np.ndarray, Status]:
    """Sweep from a state; return what was reached, the objective at the start and after each sweep, and the status.

    ``sweep`` takes a state, and whether to move or only to measure; it returns the state after, and the objective
    *before*. Neighbours that move at once can overshoot: a sweep that raises the objective is dropped, and is the last.
    """
    objectives: list[float] = []
    before = state
    while True:
        moves = len(objectives) < max_sweeps
        after, objective = sweep(state, moves)
        fall = objectives[-1] - objective if objectives else np.inf
        if fall < 0:
            return before, np.array(objectives), Status.MAX_ITER
        objectives.append(objective)
        if fall < sweep_tol or not moves:
            return state, np.array(objectives), Status.CONVERGED if fall < sweep_tol else Status.MAX_ITER
        before, state = state, after

"""Progress and stage times from the depth of a computation to whoever listens.

A stage says how far it is; who shows that (a progress bar, a log, nobody) is the listener's business. Listener and
stopwatch are context variables, so no function needs a parameter for them and parallel callers do not see each other's.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock

Listener = Callable[[str, int, int], None]
"""Called as ``listener(stage, done, total)``."""

_listener: ContextVar[Listener | None] = ContextVar("l0graph_listener", default=None)
_seconds: ContextVar[dict[str, float] | None] = ContextVar("l0graph_seconds", default=None)

logger = logging.getLogger("l0graph")


@contextmanager
def progress(callback: Listener | None) -> Iterator[None]:
    """Call ``callback(stage, done, total)`` as the stages of what runs inside the block get on.

    Parameters
    ----------
    callback : callable or None
        Called with the name of a stage, how many of its units are finished, and how many there are: (0, 1) where a
        stage begins and (1, 1) where it ends, and in between in rows or steps where the stage counts them. Calls may
        come from several threads, one at a time within a stage. An exception from it ends the computation and
        arrives at the caller. None turns reports off inside the block.

    Examples
    --------
    >>> from l0graph import L0Graph, progress
    >>> from l0graph.datasets import make_subspaces
    >>> X, y = make_subspaces(30, n_subspaces=2, dim=2, ambient_dim=8, random_state=0)
    >>> stages = []
    >>> with progress(lambda stage, done, total: stages.append(stage)):
    ...     model = L0Graph(n_clusters=2, random_state=0).fit(X)
    >>> list(dict.fromkeys(stages))
    ['l1 codes', 'l0 codes', 'affinity', 'embedding', 'k-means']
    """
    token = _listener.set(callback)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def talking(verbose: int) -> Iterator[None]:
    """Let the logger "l0graph" speak inside the block: from 1 on of the stages, from 2 on of their progress.

    Where no handler is set up for it, it speaks to standard error.
    """
    if not verbose:
        yield
        return
    level, handler = logger.level, None
    logger.setLevel(logging.DEBUG if verbose > 1 else logging.INFO)
    if not logger.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
        logger.addHandler(handler)
    try:
        yield
    finally:
        logger.setLevel(level)
        if handler is not None:
            logger.removeHandler(handler)


@contextmanager
def timing() -> Iterator[dict[str, float]]:
    """Collect the seconds of the stages that run inside the block."""
    seconds: dict[str, float] = {}
    token = _seconds.set(seconds)
    try:
        yield seconds
    finally:
        _seconds.reset(token)


def report(stage_name: str, done: int, total: int) -> None:
    """Say that ``done`` of ``total`` units of a stage are finished."""
    logger.debug("%s: %d of %d", stage_name, done, total)
    listener = _listener.get()
    if listener is not None:
        listener(stage_name, done, total)


class Counter:
    """Units of a stage, counted by several threads."""

    def __init__(self, stage_name: str, total: int) -> None:
        self._stage, self._total, self._done = stage_name, total, 0
        self._lock = Lock()

    def add(self, count: int) -> None:
        """Say that so many more units are finished."""
        with self._lock:
            self._done += count
            report(self._stage, self._done, self._total)


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Time a stage, and report its beginning and end."""
    report(name, 0, 1)
    started = time.perf_counter()
    yield
    elapsed = time.perf_counter() - started
    seconds = _seconds.get()
    if seconds is not None:
        seconds[name] = seconds.get(name, 0.0) + elapsed
    logger.info("%s: %.3g s", name, elapsed)
    report(name, 1, 1)

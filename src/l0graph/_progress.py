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
def listening(listener: Listener | None) -> Iterator[None]:
    """Send the reports made inside the block to ``listener``."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def talking(verbose: int) -> Iterator[None]:
    """Log the stages that run inside the block, if ``verbose``; to standard error where nothing else is set up."""
    level = logger.level
    if verbose:
        logging.basicConfig(format="%(name)s: %(message)s")
        logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)


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

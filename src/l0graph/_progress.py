"""Progress reports from the depth of a computation to whoever listens.

A stage says how far it is; who shows that (a progress bar, a log, nobody) is the listener's business. The listener is a
context variable, so no function needs a parameter for it and parallel callers do not see each other's reports.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str, int, int], None]
"""Called as ``listener(stage, done, total)``."""

_listener: ContextVar[Listener | None] = ContextVar("l0graph_progress", default=None)

logger = logging.getLogger("l0graph")


@contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """Send the reports made inside the block to ``listener``."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report(stage: str, done: int, total: int) -> None:
    """Say that ``done`` of ``total`` units of ``stage`` are finished."""
    listener = _listener.get()
    if listener is not None:
        listener(stage, done, total)

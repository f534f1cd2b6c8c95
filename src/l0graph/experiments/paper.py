"""What the paper prints."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

METRICS = ("AC", "NMI")


@cache
def _figures() -> dict[str, Any]:
    return json.loads(files(__package__).joinpath("paper.json").read_text(encoding="utf-8"))


def printed(table: str, row: str, metric: str, method: str) -> float | None:
    """Return one cell of a table, None where the paper prints nothing."""
    cells = _figures().get(table, {}).get(row, {}).get(metric, {})
    return cells.get(method)


def running_time() -> dict[str, Any]:
    """Return the running times that the paper states."""
    return _figures()["running_time"]

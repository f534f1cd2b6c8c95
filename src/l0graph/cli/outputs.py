"""Files that commands write: asked about before the work, written after it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

STANDARD = "-"


def check_outputs(source: str, outputs: Mapping[str, tuple[str | None, tuple[str, ...]]]) -> None:
    """Raise where a result could not be written at the end.

    ``outputs`` has for each option the file it names, if any, and the endings that will do. Standard output is
    for labels and tables, which have the option -o.
    """
    from l0graph.files import check_target

    taken: dict[Path, str] = {}
    for option, (path, formats) in outputs.items():
        if path is None:
            continue
        check_target(path, formats, or_output=option == "-o")
        if path == STANDARD:
            continue
        place = Path(path).resolve()
        if source != STANDARD and place == Path(source).resolve():
            msg = f"{path}: {option} would replace the data it comes from: name another file"
            raise click.UsageError(msg)
        if place in taken and not (place.exists() and not place.is_file()):
            msg = f"{path}: {taken[place]} and {option} name the same file: name two"
            raise click.UsageError(msg)
        taken[place] = option


def echo_json(facts: Mapping[str, Any]) -> None:
    """Print facts as JSON, in one line for each of the outermost names."""
    import numpy as np

    def plain(value: Any) -> Any:
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, np.ndarray):
            return value.tolist()
        msg = f"{type(value).__name__} has no JSON"
        raise TypeError(msg)

    lines = (f"{json.dumps(name)}: {json.dumps(value, default=plain)}" for name, value in facts.items())
    click.echo("{" + ",\n ".join(lines) + "}")

"""Tables of results: aligned for people, separated for programs."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

Row = dict[str, Any]


def echo_table(rows: Sequence[Row]) -> None:
    """Print rows with equal names, numbers to the right, to standard output."""
    names = list(rows[0])
    cells = [names, *([_shown(row[name]) for name in names] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(names))]
    right = [isinstance(rows[0][name], (int, float)) for name in names]
    for line in cells:
        aligned = (
            cell.rjust(width) if r else cell.ljust(width) for cell, width, r in zip(line, widths, right, strict=True)
        )
        click.echo("  ".join(aligned).rstrip())


def write_table(path: str, rows: Sequence[Row]) -> None:
    """Write the rows to a .csv or .tsv file, whole or not at all."""
    from l0graph.files.write import whole_or_not_at_all

    with whole_or_not_at_all(path) as file:
        mark = "\t" if Path(path).suffix.lower() == ".tsv" else ","
        writer = csv.DictWriter(file, list(rows[0]), delimiter=mark, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.1f}" if abs(value) >= 100 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)

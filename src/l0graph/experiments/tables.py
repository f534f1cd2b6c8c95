"""Rows of results -> cells: ours beside the paper's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .methods import METHODS
from .paper import METRICS, printed
from .plans import CHOSEN, Comparison, Row, Run, candidates, default
from .runner import Results

NEAR = 0.01
"""A figure is reached that is missed by no more than this."""
FAR = 0.05
"""A difference that asks for a reason."""


@dataclass(frozen=True)
class Column:
    """A method in one of the two ways to cluster its graph."""

    method: str
    plain: bool = False
    """Fragments kept and as many eigenvectors as clusters, as the paper has it; else the library's defaults."""

    @property
    def title(self) -> str:
        """Name for a heading."""
        paper_way = self.plain and self.method in ("l0", "rl0")
        return METHODS[self.method].title + (", plain" if paper_way else "")

    def figure(self, metric: str) -> str:
        """Return the name of the figure in a row of results."""
        return f"plain {metric}" if self.plain else metric


@dataclass(frozen=True)
class Cell:
    """One figure: ours, the paper's, and how ours came about."""

    row: Row
    metric: str
    column: Column
    ours: float
    paper: float | None
    parameters: dict[str, Any]

    @property
    def difference(self) -> float | None:
        """Ours less the paper's."""
        return None if self.paper is None else self.ours - self.paper

    @property
    def reached(self) -> bool:
        """Whether ours is the paper's, within `NEAR`, or more."""
        # What is printed has four decimals; so has what is compared.
        return self.paper is not None and round(self.ours, 4) >= round(self.paper - NEAR, 4)

    @property
    def far(self) -> bool:
        """Whether ours is more than `FAR` off, either way."""
        return self.difference is not None and abs(round(self.difference, 4)) > FAR


def columns_of(comparison: Comparison) -> list[Column]:
    """Return the columns: baselines as the paper has them, the l0-graphs in both ways."""
    columns = []
    for method in comparison.methods:
        if method in ("l0", "rl0"):
            columns += [Column(method, plain=True), Column(method)]
        else:
            columns.append(Column(method, plain=method not in ("kmeans", "spectral")))
    return columns


def cells_of(comparison: Comparison, results: Results, *, chosen: bool = True) -> Iterator[Cell]:
    """Yield the cells whose data are there, row by row; with ``chosen=False`` nothing is chosen with labels."""
    for row in comparison.rows:
        for metric in METRICS:
            for column in columns_of(comparison):
                best = _best(row, column, results, chosen)
                if best is not None:
                    parameters, figures = best
                    paper = printed(comparison.table, row.key, metric, column.method)
                    yield Cell(row, metric, column, figures[metric], paper, parameters)


def choices_of(comparison: Comparison, results: Results) -> Iterator[tuple[Row, Column, dict[str, Any]]]:
    """Yield what was chosen with labels."""
    for row in comparison.rows:
        for column in columns_of(comparison):
            best = _best(row, column, results, True)
            if best is not None and column.method in CHOSEN:
                yield row, column, best[0]


def _best(row: Row, column: Column, results: Results, chosen: bool) -> tuple[dict[str, Any], dict[str, float]] | None:
    """Return the parameters of best mean accuracy over the row's problems, and the figures; of equals the first."""
    problem = row.problems[0]  # of a row that is a mean all are of one set
    found = []
    for parameters in candidates(column.method, problem) if chosen else [default(column.method, problem)]:
        rows = [results.get(Run(problem, column.method, parameters)) for problem in row.problems]
        if any(result is None for result in rows):
            return None
        figures = {
            metric: float(np.mean([result[column.figure(metric)] for result in rows if result is not None]))
            for metric in METRICS
        }
        found.append((parameters, figures))
    return max(found, key=lambda pair: pair[1]["AC"])


def described(parameters: dict[str, Any]) -> str:
    """Return parameters as text."""
    return ", ".join(f"{name} = {value:g}" for name, value in parameters.items())

"""Which runs each target of ``l0graph reproduce`` needs.

What the paper states of its protocol is here, in numbers: the classes of each table, the ten draws from MNIST, the
ranges from which it chose.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .problems import Problem

L1_PENALTIES = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
OMP_NONZEROS = (3, 4, 5)
L0_PENALTIES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5, 2.0)
GAMMAS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
NEIGHBORS = (2, 3, 5, 7, 10, 15)
SHARES = (0.05, 0.1, 0.3, 0.6)

_DEFAULTS: dict[str, dict[str, Any]] = {
    "spectral": {"n_neighbors": 7},
    "l1": {"l1_penalty": 0.1},
    "smce": {"n_neighbors": 15, "penalty": 0.1},
    "omp": {"n_nonzero": 3},
    "l0": {"l0_penalty": 0.5},
    "rl0": {"gamma": 0.1, "n_neighbors": 5},
    "timed l0": {"repeats": 3},
}
_K_MEANS_RUNS = {"mnist": 3, "coil100": 10, "yaleb_32x32": 10}
"""30 elsewhere. MNIST's ten draws make 30 in sum; on the large sets k-means would take longer than all the rest."""

CHOSEN: dict[str, list[dict[str, Any]]] = {
    "l1": [{"l1_penalty": penalty} for penalty in L1_PENALTIES],
    "omp": [{"n_nonzero": count} for count in OMP_NONZEROS],
}
"""From what the paper chose with labels: the best accuracy counts."""


def default(method: str, problem: Problem) -> dict[str, Any]:
    """Return what a method gets where nothing is chosen with labels."""
    if method == "kmeans":
        return {"n_runs": _K_MEANS_RUNS.get(problem.data, 30), "n_init": 10}
    return _DEFAULTS[method]


def candidates(method: str, problem: Problem) -> list[dict[str, Any]]:
    """Return all that a method may be run with in a comparison."""
    return CHOSEN.get(method, [default(method, problem)])


@dataclass(frozen=True)
class Run:
    """One run: everything that its figures depend on but the samples themselves."""

    problem: Problem
    method: str
    parameters: dict[str, Any] = field(hash=False)
    seed: int = 0

    def __str__(self) -> str:
        values = ", ".join(f"{name}={value}" for name, value in self.parameters.items() if name != "shares")
        return f"{self.problem}: {self.method}" + (f" ({values})" if values else "")


@dataclass(frozen=True)
class Row:
    """A row of one of the paper's tables: its name there, ours, and the problems over which it is a mean."""

    key: str
    title: str
    problems: tuple[Problem, ...]


@dataclass(frozen=True)
class Comparison:
    """A table that sets methods side by side."""

    table: str
    title: str
    rows: tuple[Row, ...]
    methods: tuple[str, ...] = ("kmeans", "spectral", "l1", "smce", "omp", "l0")

    def runs(self) -> Iterator[Run]:
        """Yield the runs of all cells."""
        for row in self.rows:
            for problem in row.problems:
                for method in self.methods:
                    for parameters in candidates(method, problem):
                        yield Run(problem, method, parameters)


@dataclass(frozen=True)
class Sweep:
    """Figures over a parameter of one method; the others, where there are any, are level lines."""

    name: str
    title: str
    problem: Problem
    method: str
    parameter: str
    values: tuple[float, ...]
    others: tuple[str, ...] = ()

    def point(self, value: float) -> Run:
        """Return the run at one value."""
        return Run(self.problem, self.method, default(self.method, self.problem) | {self.parameter: value})

    def runs(self) -> Iterator[Run]:
        """Yield the runs of all points and lines."""
        for value in self.values:
            yield self.point(value)
        yield Run(self.problem, self.method, default(self.method, self.problem))
        for method in self.others:
            for parameters in candidates(method, self.problem):
                yield Run(self.problem, method, parameters)


@dataclass(frozen=True)
class Timing:
    """The running time on one problem."""

    problem: Problem

    def runs(self) -> Iterator[Run]:
        """Yield the one run."""
        yield Run(self.problem, "timed l0", default("timed l0", self.problem))


@dataclass(frozen=True)
class Spreading:
    """Semi-supervised classification: errors by share of labels and by graph."""

    problems: tuple[tuple[str, Problem], ...]
    draws: int = 10
    graphs: tuple[str, ...] = ("l0", "l1", "knn")

    def runs(self) -> Iterator[Run]:
        """Yield one run for each set and graph."""
        for _, problem in self.problems:
            for graph in self.graphs:
                yield Run(problem, "spread", {"graph": graph, "shares": list(SHARES), "draws": self.draws})


Part = Comparison | Sweep | Timing | Spreading


def _classes(data: str, counts: tuple[int, ...]) -> tuple[Row, ...]:
    return tuple(Row(str(count), f"c = {count}", (Problem(data, count),)) for count in counts)


def _mnist(n_draws: int, per_class: int = 500) -> Row:
    draws = tuple(Problem("mnist", None, draw, per_class) for draw in range(n_draws))
    return Row("mnist", f"MNIST, mean of {n_draws} draws of {per_class} per digit", draws)


_YALE, _COIL20, _COIL100 = "yaleb_32x32", "coil20", "coil100"
_OTHERS = ("kmeans", "spectral", "l1", "smce", "omp")
_REGULARIZED = (
    ("heart", "Heart", Problem("heart")),
    ("yaleb", "Extended Yale B", Problem(_YALE, 38)),
    ("umist", "UMIST", Problem("umist")),
)


def _regularized(rows: tuple[tuple[str, str, Problem], ...]) -> Comparison:
    named = tuple(Row(key, title, (problem,)) for key, title, problem in rows)
    return Comparison("regularized", "Regularised l0-graph", named, ("l0", "rl0"))


def _gamma(
    rows: tuple[tuple[str, str, Problem], ...], gammas: tuple[float, ...], neighbors: tuple[int, ...]
) -> list[Part]:
    parts: list[Part] = []
    for key, title, problem in rows:
        parts.append(Sweep(f"gamma-{key}", title, problem, "rl0", "gamma", gammas, ("l0",)))
        parts.append(Sweep(f"neighbors-{key}", title, problem, "rl0", "n_neighbors", neighbors, ("l0",)))
    return parts


TARGETS: dict[str, list[Part]] = {
    "uci-mnist": [
        Comparison(
            "uci_mnist",
            "Ionosphere and MNIST",
            (Row("ionosphere", "Ionosphere", (Problem("ionosphere"),)), _mnist(10)),
        )
    ],
    "coil20": [Comparison("coil20", "COIL-20", _classes(_COIL20, (4, 8, 12, 16, 20)))],
    "coil100": [Comparison("coil100", "COIL-100", _classes(_COIL100, (20, 40, 60, 80, 100)))],
    "yaleb": [Comparison("yaleb", "Extended Yale B", _classes(_YALE, (10, 15, 20, 30, 38)))],
    "regularized": [_regularized(_REGULARIZED)],
    "lambda-yaleb": [
        Sweep("lambda-yaleb", "Extended Yale B", Problem(_YALE, 38), "l0", "l0_penalty", L0_PENALTIES, _OTHERS)
    ],
    "lambda-coil20": [
        Sweep("lambda-coil20", "COIL-20", Problem(_COIL20, 20), "l0", "l0_penalty", L0_PENALTIES, _OTHERS)
    ],
    "gamma": _gamma(_REGULARIZED, GAMMAS, NEIGHBORS),
    "running-time": [Timing(Problem(_YALE, 38))],
    "semi-supervised": [
        Spreading((("Extended Yale B", Problem(_YALE)), ("COIL-20", Problem(_COIL20)), ("UMIST", Problem("umist"))))
    ],
}

_FEW = (0.1, 0.3, 0.5, 1.0)
QUICK: dict[str, list[Part]] = {
    "uci-mnist": [
        Comparison(
            "uci_mnist",
            "Ionosphere and MNIST",
            (Row("ionosphere", "Ionosphere", (Problem("ionosphere"),)), _mnist(1, 50)),
        )
    ],
    "coil20": [Comparison("coil20", "COIL-20", _classes(_COIL20, (4,)))],
    "coil100": [Comparison("coil100", "COIL-100", _classes(_COIL100, (5,)))],
    "yaleb": [Comparison("yaleb", "Extended Yale B", _classes(_YALE, (10,)))],
    "regularized": [_regularized(_REGULARIZED[:1])],
    "lambda-yaleb": [
        Sweep("lambda-yaleb", "Extended Yale B, c = 10", Problem(_YALE, 10), "l0", "l0_penalty", _FEW, _OTHERS)
    ],
    "lambda-coil20": [Sweep("lambda-coil20", "COIL-20, c = 4", Problem(_COIL20, 4), "l0", "l0_penalty", _FEW, _OTHERS)],
    "gamma": _gamma(_REGULARIZED[:1], (0.05, 0.1, 0.2), (3, 5, 7)),
    "running-time": [Timing(Problem(_YALE, 10))],
    "semi-supervised": [Spreading((("UMIST", Problem("umist")),), draws=2)],
}
"""A small part of each target, for a look."""

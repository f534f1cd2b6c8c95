"""The methods that the command offers, as data.

To add a method: one row in METHODS, and a row in PARAMETERS for each parameter that no other method has. A test
compares the rows with the signatures of the estimators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class NumberOr(click.ParamType):
    """A number, or a word that stands for a rule."""

    def __init__(self, *words: str, whole: bool = False) -> None:
        self.words = words
        self.number = int if whole else float
        self.name = "|".join(["integer" if whole else "number", *words])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float | str:
        """Return the number or the word."""
        if value in self.words:
            return str(value)
        try:
            return self.number(value)
        except ValueError:
            self.fail(f"{value!r} is neither {self.name.replace('|', ' nor ')}.", param, ctx)


@dataclass(frozen=True)
class Parameter:
    """An estimator's parameter as an option."""

    flags: tuple[str, ...]
    type: Any
    help: str


@dataclass(frozen=True)
class Method:
    """A method: its estimator's name in l0graph, what it is, and its parameters with their defaults."""

    estimator: str
    summary: str
    defaults: dict[str, Any]


PARAMETERS = {
    "l0_penalty": Parameter(("--l0-penalty",), float, "Price of a nonzero in a code."),
    "l1_penalty": Parameter(("--l1-penalty",), float, "Weight of the l1 norm of a code."),
    "outliers": Parameter(("--outliers/--no-outliers",), bool, "Model gross errors of single features."),
    "outlier_penalty": Parameter(("--outlier-penalty",), float, "Price of an outlier; that of a code's entry if none."),
    "l1_outlier_penalty": Parameter(("--l1-outlier-penalty",), float, "Weight of outliers in the l1 codes."),
    "affine": Parameter(("--affine/--no-affine",), bool, "Let the entries of every code sum to one."),
    "lipschitz": Parameter(
        ("--lipschitz",),
        NumberOr("global"),
        "Step constant: entries under sqrt(2 l0_penalty / lipschitz) become zero.",
    ),
    "n_nonzero": Parameter(("--n-nonzero",), int, "Number of nonzeros of a code."),
    "n_neighbors": Parameter(("--n-neighbors",), int, "Number of nearest samples that a code, or a scale, goes by."),
    "n_kept": Parameter(("--n-kept",), int, "Keep so many of the largest weights of each sample."),
    "min_weight": Parameter(("--min-weight",), float, "Drop smaller weights from the graph."),
    "penalty": Parameter(("--penalty",), float, "Price of a coefficient per relative distance."),
    "gamma": Parameter(("--gamma",), float, "Price of an entry in which the codes of two neighbours differ."),
    "tau": Parameter(("--tau",), float, "Safety factor of the step, greater than 1."),
    "max_iter": Parameter(("--max-iter",), int, "Most iterations."),
    "max_sweeps": Parameter(("--max-sweeps",), int, "Most visits of each sample, of max_iter iterations each."),
    "tol": Parameter(("--tol",), float, "When to stop iterating."),
    "sweep_tol": Parameter(("--sweep-tol",), float, "When to stop visiting."),
    "sweep": Parameter(
        ("--sweep",),
        click.Choice(["gauss-seidel", "jacobi"]),
        "Visit samples in order, each seeing those before it, or all at once.",
    ),
    "dictionary": Parameter(
        ("--dictionary",),
        NumberOr("auto", "all", whole=True),
        "What samples are coded over: all others, or so many exemplars.",
    ),
    "device": Parameter(
        ("--device",), str, "Device that codes are made on by PyTorch, such as cuda; the processor, by Numba, if none."
    ),
    "normalize": Parameter(("--normalize/--no-normalize",), bool, "Scale samples to unit norm."),
    "fragments": Parameter(
        ("--fragments",),
        click.Choice(["attach", "keep"]),
        "Small components of the graph: attach them to clusters afterwards, or keep them in the embedding.",
    ),
    "min_fraction": Parameter(
        ("--min-fraction",), float, "A component under this fraction of n_samples / n_clusters is a fragment."
    ),
    "min_gap": Parameter(("--min-gap",), float, "Relative eigengap behind the last eigenvector that is used."),
    "n_init": Parameter(("--n-init",), int, "Starts of k-means."),
    "random_state": Parameter(("--random-state", "--seed"), int, "Seed: the same one gives the same labels."),
}

_GRAPH = {
    "normalize": True,
    "fragments": "attach",
    "min_fraction": 0.3,
    "min_gap": 0.01,
    "n_init": 20,
    "random_state": None,
}

METHODS = {
    "l0": Method(
        "L0Graph",
        "l0-sparse codes",
        {
            "l0_penalty": 0.5,
            "l1_penalty": 0.1,
            "outliers": False,
            "outlier_penalty": None,
            "l1_outlier_penalty": None,
            "lipschitz": 100.0,
            "tau": 1.1,
            "max_iter": 100,
            "tol": 1e-6,
            "dictionary": "all",
            "device": None,
            **_GRAPH,
        },
    ),
    "l1": Method(
        "L1Graph",
        "l1-sparse codes",
        {
            "l1_penalty": 0.1,
            "outliers": False,
            "outlier_penalty": None,
            "affine": False,
            "tol": 1e-10,
            "dictionary": "all",
            "device": None,
            **_GRAPH,
        },
    ),
    "regularized": Method(
        "RegularizedL0Graph",
        "l0-sparse codes that near samples share",
        {
            "gamma": 0.1,
            "n_neighbors": 5,
            "l1_penalty": 0.1,
            "lipschitz": 100.0,
            "tau": 1.1,
            "max_iter": 30,
            "max_sweeps": 5,
            "tol": 1e-6,
            "sweep_tol": 1e-6,
            "sweep": "gauss-seidel",
            "device": None,
            **_GRAPH,
        },
    ),
    "omp": Method(
        "OMPGraph",
        "codes by orthogonal matching pursuit",
        {"n_nonzero": 3, "tol": 1e-6, "dictionary": "all", "device": None, **_GRAPH},
    ),
    "smce": Method(
        "SMCE",
        "sparse affine codes of near neighbours",
        {"n_neighbors": 15, "penalty": 0.1, "tol": 1e-10, "dictionary": "all", **_GRAPH},
    ),
    "spectral": Method(
        "SpectralGraph",
        "self-tuning Gaussian graph, as a baseline",
        {
            "n_neighbors": 7,
            "n_kept": None,
            "min_weight": 1e-8,
            **_GRAPH,
            "fragments": "keep",
            "min_gap": 0.0,
        },
    ),
}


class MethodCommand(click.Command):
    """A command whose help lists the parameters of the methods apart from its other options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write both lists."""
        sections: dict[str, list[tuple[str, str]]] = {"Options": [], "Parameters of the method": []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                sections["Parameters of the method" if param.name in PARAMETERS else "Options"].append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


def method_option(command: Decorated) -> Decorated:
    """Give a command the option --method."""
    option = click.option(
        "--method",
        type=click.Choice(list(METHODS)),
        default="l0",
        show_default=True,
        help="; ".join(f"{name}: {row.summary} ({row.estimator})" for name, row in METHODS.items()) + ".",
    )
    return option(command)


def parameter_options(names: Iterable[str]) -> Callable[[Decorated], Decorated]:
    """Return what gives a command one option per parameter; an option that was not used arrives as None."""
    chosen = [(name, parameter) for name, parameter in PARAMETERS.items() if name in set(names)]

    def decorate(command: Decorated) -> Decorated:
        for name, parameter in reversed(chosen):
            text = f"{parameter.help}  {_belongs_and_default(name)}"
            command = click.option(*parameter.flags, name, type=parameter.type, default=None, help=text)(command)
        return command

    return decorate


def method_options(command: Decorated) -> Decorated:
    """Give a command the parameters of all methods."""
    return parameter_options(PARAMETERS)(command)


def estimator_parameters(method: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were used, as parameters of the method's estimator; raise where one is not its own."""
    used = {name: options[name] for name in PARAMETERS if options[name] is not None}
    for name in used:
        if name not in METHODS[method].defaults:
            owners = " or ".join(f"--method {owner}" for owner, row in METHODS.items() if name in row.defaults)
            flag = PARAMETERS[name].flags[0].split("/")[0]
            msg = f"{flag} does not belong to --method {method}: leave it out, or choose {owners}"
            raise click.UsageError(msg)
    return used


def _belongs_and_default(name: str) -> str:
    """Return "[default: 0.1]", or the methods by name where the parameter is not the same for all of them."""
    by_default: dict[str, list[str]] = {}
    for method, row in METHODS.items():
        if name in row.defaults:
            by_default.setdefault(_shown(row.defaults[name]), []).append(method)
    owners = [method for methods in by_default.values() for method in methods]
    if len(by_default) > 1:
        return "[default: " + ", ".join(f"{value} for {'/'.join(of)}" for value, of in by_default.items()) + "]"
    only = "" if len(owners) == len(METHODS) else f"{', '.join(owners)} only; "
    return f"[{only}default: {next(iter(by_default))}]"


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)

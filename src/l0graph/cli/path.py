"""``l0graph path``."""

from __future__ import annotations

from typing import Any

import click

from .config import config_option
from .inputs import input_options, read_input
from .methods import METHODS, MethodCommand, parameter_options
from .outputs import STANDARD, check_outputs, echo_json
from .summary import comparison
from .table import echo_table, write_table
from .terminal import progress_bar, warning_lines

_PARAMETERS = [name for name in METHODS["l0"].defaults if name != "l0_penalty"]
_THRESHOLDS = (0.04, 0.15)
"""The useful range of sqrt(2 l0_penalty / lipschitz)."""


class Penalties(click.ParamType):
    """Numbers separated by commas, or FROM:TO:COUNT, geometrically spaced."""

    name = "list|FROM:TO:COUNT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[float]:
        """Return the penalties."""
        if isinstance(value, list):
            return value
        try:
            if ":" not in value:
                return [float(number) for number in value.split(",")]
            low, high, count = value.split(":")
            return geometric(float(low), float(high), int(count))
        except ValueError:
            self.fail(f"{value!r} is neither numbers as in 0.1,0.2,0.5 nor a range as in 0.1:1:8.", param, ctx)


def geometric(low: float, high: float, count: int) -> list[float]:
    """Return so many positive numbers from low to high, each the same multiple of the one before."""
    if not (0 < low <= high < float("inf") and 1 <= count <= 1000):
        raise ValueError
    ratio = (high / low) ** (1 / max(1, count - 1))
    return [low * ratio**i for i in range(count)]


_HELP = """
Cluster the samples in FILE at several l0 penalties, each started from the codes of the one before.

The table has, for each penalty, the nonzeros of a code, the connected components of the graph, the samples attached to
clusters afterwards, the objective, and, where the classes are known, accuracy and NMI. A good penalty lies where codes
have become sparse and the graph has not yet fallen apart.

\b
    l0graph path digits.csv -k 10
    l0graph path iris.csv -k 3 --label-column species --penalties 0.1:1:8 -o path.csv
"""


@click.command(cls=MethodCommand, help=_HELP, short_help="Cluster at several penalties.")
@click.argument("file", type=click.Path(allow_dash=True))
@click.option("-k", "--n-clusters", type=int, required=True, help="Number of clusters.")
@click.option(
    "--penalties",
    type=Penalties(),
    help="Numbers separated by commas, or FROM:TO:COUNT.  [default: 8 over the useful range of the threshold, from "
    f"{_THRESHOLDS[0]} to {_THRESHOLDS[1]}]",
)
@click.option("-o", "--output", metavar="FILE", help="Write the table to this file too: .csv or .tsv.")
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
@input_options
@config_option
@click.option("-j", "--jobs", type=int, default=-1, show_default=True, help="Threads; -1 is all cores.")
@click.option("-q", "--quiet", is_flag=True, help="No progress; the table, warnings and errors only.")
@parameter_options(_PARAMETERS)
def path(file: str, n_clusters: int, penalties: list[float] | None, output: str | None, **options: Any) -> None:
    """Read, follow the path, print the table."""
    check_outputs(file, {"-o": (None if output == STANDARD else output, (".csv", ".tsv"))})
    with warning_lines() as lines, progress_bar(not options["quiet"]) as listener:
        import l0graph

        table = read_input(file, options)
        used = {name: options[name] for name in _PARAMETERS if options[name] is not None}
        estimator = l0graph.L0Graph(n_clusters, n_jobs=options["jobs"], **used)
        with l0graph.progress(listener):
            points = l0graph.l0_path(estimator, table.X, penalties or _useful(estimator.lipschitz))
        rows = [
            {
                "l0_penalty": point.l0_penalty,
                "nonzeros": point.n_nonzero,
                "components": point.n_components,
                "attached": point.n_attached,
                "objective": point.objective,
                **{
                    name: value
                    for name, value in comparison(table.labels, point.labels).items()
                    if name != "n_compared"
                },
            }
            for point in points
        ]
    if output not in (None, STANDARD):
        write_table(str(output), rows)
    if options["as_json"]:
        n_samples, n_features = table.X.shape
        facts = {"file": file, "n_samples": n_samples, "n_features": n_features, "n_clusters": n_clusters}
        echo_json(facts | {"path": rows, "warnings": lines})
    else:
        echo_table(rows)


def _useful(lipschitz: float | str) -> list[float]:
    """Return penalties whose thresholds span the useful range."""
    scale = 100.0 if isinstance(lipschitz, str) else lipschitz
    low, high = (threshold**2 * scale / 2 for threshold in _THRESHOLDS)
    return [float(f"{penalty:.3g}") for penalty in geometric(low, high, 8)]

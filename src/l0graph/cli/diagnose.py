"""``l0graph diagnose``."""

from __future__ import annotations

from typing import Any

import click

from .config import config_option
from .fitting import fitted, model_option, number_option
from .inputs import input_options
from .methods import MethodCommand, method_option, method_options
from .outputs import echo_json
from .terminal import progress_bar, warning_lines

_HELP = """
Say whether the clusters of the samples in FILE can be trusted, and what to try where they cannot.

FILE is read and clustered as l0graph cluster does; a saved model is taken as it is. No labels are needed.

\b
    l0graph diagnose points.csv -k 3
    l0graph diagnose points.csv -k 3 --l0-penalty 0.2 --json > diagnosis.json
    l0graph diagnose --model points.l0graph
"""

_STYLES = {"problem": "bold red", "warning": "bold yellow", "note": "bold cyan"}


@click.command(cls=MethodCommand, help=_HELP, short_help="Say whether clusters can be trusted, and what to try.")
@click.argument("file", type=click.Path(allow_dash=True), required=False)
@number_option(required=False)
@method_option
@model_option
@click.option("--json", "as_json", is_flag=True, help="Print findings and figures as JSON.")
@input_options
@config_option
@click.option("-j", "--jobs", type=int, default=-1, show_default=True, help="Threads; -1 is all cores.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@method_options
def diagnose(file: str | None, n_clusters: int | str | None, method: str, as_json: bool, **options: Any) -> None:
    """Fit or load, diagnose, print."""
    with warning_lines() as lines:
        import l0graph

        estimator, _ = fitted(file, n_clusters, method, options)
        with progress_bar(not options["quiet"]) as listener, l0graph.progress(listener):
            found = l0graph.diagnose(estimator)
    if as_json:
        echo_json({"file": file, "model": options["model"]} | found.to_dict() | {"warnings": lines})
    else:
        _show(found)


def _show(diagnosis: Any) -> None:
    """Print verdict and findings; lines are broken for a terminal only."""
    from textwrap import fill

    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    width = console.width if console.is_terminal else 10_000

    def indented(text: str, first: str = "  ") -> str:
        return fill(text, width, initial_indent=first, subsequent_indent=" " * len(first))

    console.print(Text(fill(diagnosis.verdict, width), style="bold"))
    for finding in diagnosis.findings:
        console.print()
        console.print(Text.assemble((finding.severity, _STYLES[finding.severity]), f"  {finding.name}"))
        console.print(Text(indented(finding.text)))
        console.print(Text(indented(finding.advice, "  try  ")))

"""``l0graph reproduce``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from .terminal import warning_lines

if TYPE_CHECKING:
    from ..experiments import Reproduction
    from ..experiments.tables import Cell

TARGETS = (
    "uci-mnist",
    "coil20",
    "coil100",
    "yaleb",
    "regularized",
    "lambda-yaleb",
    "lambda-coil20",
    "gamma",
    "running-time",
    "semi-supervised",
)
"""As in `l0graph.experiments`, which takes long to import; a test compares the two."""


@click.command()
@click.argument("targets", metavar="TARGET...", nargs=-1, required=True, type=click.Choice([*TARGETS, "all"]))
@click.option("--quick", is_flag=True, help="A small part of each target, in under a minute.")
@click.option(
    "-d", "--data-dir", type=click.Path(file_okay=False), help="Folder of the data sets; see l0graph datasets."
)
@click.option(
    "-o",
    "--output",
    default="out/reproduce",
    show_default=True,
    type=click.Path(file_okay=False),
    help="Folder of the results. Runs that it has are not done again.",
)
@click.option("--page", type=click.Path(dir_okay=False), help="Where to write the page.  [default: reproduce.md there]")
@click.option("-j", "--jobs", type=int, default=-1, show_default=True, help="Threads; -1 is all cores.")
@click.option("--finished", is_flag=True, help="Run nothing: show what is there already, or so far.")
@click.option("-q", "--quiet", is_flag=True, help="Tables only.")
def reproduce(
    targets: tuple[str, ...],
    quick: bool,
    data_dir: str | None,
    output: str,
    page: str | None,
    jobs: int,
    finished: bool,
    quiet: bool,
) -> None:
    """Reproduce tables and figures of the paper, beside what it prints.

    \b
    uci-mnist coil20 coil100 yaleb     the methods side by side
    regularized                        what the regularisation adds
    lambda-yaleb lambda-coil20 gamma   figures over the parameters
    running-time semi-supervised
    all                                everything

    Stop it at any time: finished runs are kept, and the same command goes on where it was.
    """  # noqa: D301 - click's mark of a paragraph that is not to be wrapped
    started = perf_counter()
    from ..experiments import reproduce as run

    wanted = [target for target in TARGETS if target in targets or "all" in targets]
    with warning_lines(), _progress(quiet) as report:
        done = run(
            wanted,
            Path(output),
            page_path=None if page is None else Path(page),
            data_dir=data_dir,
            quick=quick,
            n_jobs=jobs,
            only_finished=finished,
            report=report,
        )
    _show(done)
    for message in done.results.missing.values():
        click.echo(f"warning: {message}", err=True)
    if not quiet:
        click.echo(f"{len(done.results.rows)} runs, {perf_counter() - started:.0f} s", err=True)
        for path in done.written:
            click.echo(f"wrote {path}", err=True)


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[int, int, str], None]]:
    """Yield what reports go to: a bar where a person is watching, a line for each data set elsewhere."""
    if quiet:
        yield lambda done, total, what: None
        return
    if not sys.stderr.isatty():
        yield lambda done, total, what: None if ": " in what else click.echo(f"[{done}/{total}] {what}", err=True)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("")
        yield lambda done, total, what: bar.update(task, completed=done, total=total, description=what)


def _show(done: Reproduction) -> None:
    from rich.console import Console

    from ..experiments.plans import Comparison, Spreading, Timing

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 160
    for parts in done.plan.values():
        for part in parts:
            if isinstance(part, Comparison):
                _show_comparison(console, part, done.results)
            elif isinstance(part, Timing | Spreading):
                _show_lines(console, part, done.results)


def _show_comparison(console: Any, comparison: Any, results: Any) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from ..experiments.paper import METRICS
    from ..experiments.tables import FAR, NEAR, cells_of, columns_of

    found = {(cell.row, cell.metric, cell.column): cell for cell in cells_of(comparison, results)}
    if not found:
        return
    columns = columns_of(comparison)
    table = Table(box=SIMPLE_HEAD, title=comparison.title, title_justify="left")
    table.add_column("")
    table.add_column("")
    for column in columns:
        table.add_column(column.title, justify="right")
    for row in dict.fromkeys(key[0] for key in found):
        for metric in METRICS:
            cells = [_cell(found.get((row, metric, column))) for column in columns]
            table.add_row(Text(row.title) if metric == METRICS[0] else "", metric, *cells)
        table.add_section()
    console.print(table)
    console.print(
        f"  ours and our difference from the paper: green is reached within {NEAR:g} or exceeded, yellow up to {FAR:g}"
        " less, red less than that; magenta over that much more",
        style="dim",
    )


def _cell(cell: Cell | None) -> Any:
    from rich.text import Text

    if cell is None:
        return Text("")
    if cell.difference is None:
        return Text(f"{cell.ours:.4f}")
    style = ("magenta" if cell.far else "green") if cell.reached else "red" if cell.far else "yellow"
    return Text.assemble(f"{cell.ours:.4f} ", (f"{cell.difference:+.3f}".replace("0.", ".", 1), style))


def _show_lines(console: Any, part: Any, results: Any) -> None:
    from rich.markdown import Markdown

    from ..experiments.page import part_text

    text = part_text(part, results, "")
    if text:
        console.print(Markdown(text))

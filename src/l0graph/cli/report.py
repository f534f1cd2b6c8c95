"""``l0graph report``, and what ``cluster --report`` shares with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .config import config_option
from .fitting import fitted, model_option, number_option
from .inputs import ImageSize, input_options
from .methods import MethodCommand, method_option, method_options
from .outputs import check_outputs
from .terminal import progress_bar, warning_lines

if TYPE_CHECKING:
    from l0graph.files import Table

REPORT_FORMATS = (".html", ".htm")

_HELP = """
Write a report on the clusters of the samples in FILE: one HTML file to look at, without any network.

It says what was run, whether the clusters can be trusted and what to try, and shows the samples, their neighbours, the
graph and its eigenvalues. FILE is read and clustered as l0graph cluster does; a saved model is taken as it is,
and FILE then says how its samples look and what they are called.

\b
    l0graph report points.csv -k 3 --label-column kind -o points.html
    l0graph report digits.npy -k 10 --image-size 8x8 -o digits.html
    l0graph report digits.npy --model digits.l0graph -o digits.html
"""

_IMAGE_OPTIONS = (
    click.option(
        "--image-size",
        type=ImageSize(),
        help="In the report, show samples as images of this size; a folder of images says it itself.",
    ),
    click.option(
        "--column-major", is_flag=True, help="These images run column by column, as MATLAB has them, not line by line."
    ),
)


def image_options(command: Any) -> Any:
    """Give a command the options that say how samples look."""
    for option in reversed(_IMAGE_OPTIONS):
        command = option(command)
    return command


@click.command(cls=MethodCommand, help=_HELP, short_help="Write a report to look at, as one HTML file.")
@click.argument("file", type=click.Path(allow_dash=True), required=False)
@number_option(required=False)
@method_option
@model_option
@click.option("-o", "--output", metavar="FILE", required=True, help="Where to write the report: .html.")
@image_options
@click.option("--max-shown", type=click.IntRange(min=10), default=3000, show_default=True, help="Most samples to show.")
@input_options
@config_option
@click.option("-j", "--jobs", type=int, default=-1, show_default=True, help="Threads; -1 is all cores.")
@click.option("-q", "--quiet", is_flag=True, help="No progress; warnings and errors only.")
@method_options
def report(file: str | None, n_clusters: int | str | None, method: str, output: str, **options: Any) -> None:
    """Fit or load, write."""
    check_report(file, output)
    check_report(options["model"], output)
    with warning_lines():
        estimator, table = fitted(file, n_clusters, method, options)
        write(estimator, table, output, file or options["model"], options)
    if not options["quiet"]:
        click.echo(f"report:    {output}", err=True)


def check_report(source: str | None, output: str | None) -> None:
    """Raise where the report could not be written at the end."""
    if output == "-":
        msg = "-: a report is a file to open in a browser: name one that ends in .html"
        raise click.UsageError(msg)
    check_outputs(source or "-", {"--report": (output, REPORT_FORMATS)})


def write(estimator: Any, table: Table | None, output: str, source: str, options: dict[str, Any]) -> None:
    """Write the report on a fit to what ``source`` holds."""
    from l0graph import progress
    from l0graph.report import write_report

    shape = None if table is None else table.image_shape
    if options["image_size"]:
        width, height = options["image_size"]
        shape = (height, width)
    more: dict[str, Any] = (
        {} if table is None else {"X": table.X, "y": table.labels, "ids": table.ids, "features": table.features}
    )
    if "max_shown" in options:
        more["max_shown"] = options["max_shown"]
    with progress_bar(not (options["quiet"] or options.get("verbose"))) as listener, progress(listener):
        write_report(
            estimator,
            output,
            name="standard input" if source == "-" else Path(source).name,
            image_shape=shape,
            image_order="F" if options["column_major"] else "C",
            **more,
        )

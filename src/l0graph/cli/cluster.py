"""``l0graph cluster``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from .config import config_option
from .fitting import check_whole, fit, number_option
from .inputs import input_options, read_input
from .methods import MethodCommand, estimator_parameters, method_option, method_options
from .outputs import STANDARD, check_outputs, echo_json
from .report import REPORT_FORMATS, image_options, write
from .scale import read_blocks, running, scale_options
from .summary import compared_line, comparison, facts, summary_lines
from .terminal import progress_bar, warning_lines

if TYPE_CHECKING:
    from l0graph.files import Table

_HELP = """
Cluster the samples in FILE, one in each row.

FILE is a table (.csv, .tsv, .parquet), an array (.npy, .npz), a .mat file of MATLAB, HDF5 (.h5, .hdf5, .h5ad), a folder
of images, or - for CSV from standard input.

A summary goes to standard error. The labels go to the file that -o names; without -o they go to standard output as CSV
lines "sample,label" where that is a pipe or a file, and nowhere where it is a terminal.

\b
    l0graph cluster points.csv -k 3 -o labels.csv
    l0graph cluster iris.csv -k 3 --label-column species --save-model iris.l0graph
    l0graph cluster faces/ -k 38 --resize 32x32 -o labels.csv --report faces.html
    l0graph cluster cells.h5ad -k auto --json > clusters.json
    generate | l0graph cluster - -k 3 | sort -t, -k2
"""


@click.command(cls=MethodCommand, help=_HELP, short_help="Cluster the samples in a file.")
@click.argument("file", type=click.Path(allow_dash=True))
@number_option(required=True)
@method_option
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Where to write the labels: .csv, .tsv, .parquet, .npy, or - for standard output.",
)
@click.option("--save-model", metavar="FILE", help="Keep the fitted model, for l0graph predict and l0graph.load_model.")
@click.option("--codes", metavar="FILE", help="Write the codes: .npz, for scipy.sparse.load_npz.")
@click.option("--embedding", metavar="FILE", help="Write the spectral embedding: .npy.")
@click.option("--report", metavar="FILE", help="Write a report to look at, as l0graph report does: .html.")
@image_options
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON, with the labels unless -o is given.")
@input_options
@scale_options
@config_option
@click.option("-j", "--jobs", type=int, default=-1, show_default=True, help="Threads; -1 is all cores.")
@click.option("-v", "--verbose", count=True, help="Log the stages instead of progress bars; twice: their progress.")
@click.option("-q", "--quiet", is_flag=True, help="No progress, no summary; warnings and errors only.")
@method_options
def cluster(file: str, n_clusters: int | str, method: str, output: str | None, **options: Any) -> None:
    """Read, fit, print the summary, write what was asked for."""
    quiet, as_json = options["quiet"], options["as_json"]
    estimator_parameters(method, options)  # complains of what does not belong to the method
    if as_json and output == STANDARD:
        msg = "--json and -o - both want standard output: leave one out"
        raise click.UsageError(msg)
    if output is None and not as_json and (quiet or not sys.stdout.isatty()):
        output = STANDARD
    _check(file, output, method, options)
    if options["report"]:
        check_whole(options)
    elif options["image_size"] or options["column_major"]:
        msg = "--image-size and --column-major say how samples look in a report: name one with --report"
        raise click.UsageError(msg)
    with warning_lines() as lines, progress_bar(not (quiet or options["verbose"])) as listener:
        table = read_blocks(file, options) or read_input(file, options)
        with running(options) as where:
            estimator = fit(table, n_clusters, method, options, listener, where)
        scores = comparison(table.labels, estimator.labels_)
    if not quiet:
        text = summary_lines(estimator, table.X.shape) + compared_line(scores, options["label_column"])
        click.echo("\n".join(text), err=True)
    _write(estimator, table, output, file, options)
    if as_json:
        held = facts(estimator, table.X.shape) | scores | {"warnings": lines}
        echo_json({"file": file, "method": method} | held | ({"labels": estimator.labels_} if output is None else {}))


def _check(file: str, output: str | None, method: str, options: dict[str, Any]) -> None:
    """Raise where a result could not be written at the end, before any work is done."""
    from l0graph.files.write import LABEL_FORMATS

    if options["codes"] and method == "spectral":
        msg = "--codes: --method spectral has no codes: leave it out"
        raise click.UsageError(msg)
    check_outputs(
        file,
        {
            "-o": (output, LABEL_FORMATS),
            "--save-model": (options["save_model"], ()),
            "--codes": (options["codes"], (".npz",)),
            "--embedding": (options["embedding"], (".npy",)),
            "--report": (options["report"], REPORT_FORMATS),
        },
    )


def _write(estimator: Any, table: Table, output: str | None, file: str, options: dict[str, Any]) -> None:
    from l0graph import save_model
    from l0graph.files import write_array, write_labels, write_sparse

    said = []
    if options["save_model"]:
        if table.features is not None:
            import numpy as np

            estimator.feature_names_in_ = np.array(table.features, dtype=object)
        save_model(estimator, options["save_model"])
        said.append(("model", options["save_model"]))
    if options["codes"]:
        write_sparse(options["codes"], estimator.codes_)
        said.append(("codes", options["codes"]))
    if options["embedding"]:
        write_array(options["embedding"], estimator.embedding_)
        said.append(("embedding", options["embedding"]))
    if output is not None:
        write_labels(output, estimator.labels_, ids=table.ids, id_name=table.id_name)
    if output not in (None, STANDARD):
        said.append(("labels", str(output)))
    elif output is None and not options["as_json"]:
        said.append(("labels", "not written, name a file with -o"))
    if options["report"]:
        write(estimator, table, options["report"], file, options)
        said.append(("report", options["report"]))
    if not options["quiet"]:
        for what, where in said:
            click.echo(f"{what + ':':<11}{where}", err=True)

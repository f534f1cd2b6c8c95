"""``l0graph cluster``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from .methods import METHODS, PARAMETERS, estimator_parameters, method_options
from .summary import summary_lines
from .terminal import progress_bar, warning_lines


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


_HELP = """
Cluster the rows of the matrix in FILE (.npy, .npz, .csv or .tsv).

A summary goes to standard error. The labels go to the file that -o names; without -o they go to standard output as CSV
lines "sample,label" where that is a pipe or a file, and nowhere where it is a terminal.

\b
    l0graph cluster points.csv -k 3 -o labels.csv
    l0graph cluster points.npy -k 3 | sort -t, -k2
    l0graph cluster table.csv -k 3 --drop-column id > labels.csv
"""


@click.command(cls=MethodCommand, help=_HELP, short_help="Cluster the rows of a matrix.")
@click.argument("file", type=click.Path())
@click.option("-k", "--n-clusters", type=int, required=True, help="Number of clusters.")
@click.option(
    "--method",
    type=click.Choice(list(METHODS)),
    default="l0",
    show_default=True,
    help="; ".join(f"{name}: {row.summary} ({row.estimator})" for name, row in METHODS.items()) + ".",
)
@click.option("-o", "--output", metavar="FILE", help="Where to write the labels: .csv, .npy, or - for standard output.")
@click.option("--array", metavar="NAME", help="The array to take from a .npz file.  [default: X, or the only 2-D one]")
@click.option(
    "--drop-column",
    "drop_columns",
    metavar="COLUMN",
    multiple=True,
    help="A column to leave out, such as an id: its name, or its number from 0 (-1 is the last). Repeatable.",
)
@click.option(
    "--header/--no-header",
    default=None,
    help="Whether the first line of a text file is a header.  [default: look]",
)
@click.option("-j", "--jobs", type=int, default=-1, show_default=True, help="Threads; -1 is all cores.")
@click.option("-q", "--quiet", is_flag=True, help="No progress, no summary; warnings and errors only.")
@method_options
def cluster(file: str, n_clusters: int, method: str, output: str | None, **options: Any) -> None:
    """Read, fit, print the summary, write the labels."""
    quiet = options["quiet"]
    parameters = estimator_parameters(method, options)
    if output is None and (quiet or not sys.stdout.isatty()):
        output = "-"
    _check_output(output, file)
    with warning_lines(), progress_bar(not quiet) as listener:
        import l0graph
        from l0graph._progress import listening
        from l0graph.files import read_matrix

        X = read_matrix(file, array=options["array"], drop_columns=options["drop_columns"], header=options["header"])
        estimator = getattr(l0graph, METHODS[method].estimator)(n_clusters, n_jobs=options["jobs"], **parameters)
        with listening(listener):
            estimator.fit(X)
    if not quiet:
        click.echo("\n".join(summary_lines(estimator, X.shape)), err=True)
    _write(output, estimator.labels_, quiet)


def _check_output(output: str | None, file: str) -> None:
    """Raise where labels could not be written at the end, before any work is done."""
    if output is None:
        return
    from l0graph.files import check_target

    check_target(output)
    if output != "-" and Path(output).resolve() == Path(file).resolve():
        msg = f"{output}: the labels would replace the data they come from: name another file"
        raise click.UsageError(msg)


def _write(output: str | None, labels: Any, quiet: bool) -> None:
    from l0graph.files import write_labels

    if output is not None:
        write_labels(output, labels)
    if not quiet and output != "-":
        click.echo(f"labels: {output}" if output else "labels: not written, name a file with -o", err=True)

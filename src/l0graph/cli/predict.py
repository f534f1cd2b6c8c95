"""``l0graph predict``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from .config import config_option
from .inputs import input_options, read_input
from .outputs import STANDARD, check_outputs, echo_json
from .summary import compared_line, comparison, sizes_of
from .terminal import progress_bar, warning_lines

if TYPE_CHECKING:
    import numpy as np

    from l0graph.files import Table

_HELP = """
Give the samples in FILE the clusters of MODEL, which cluster --save-model or l0graph.save_model wrote.

Each sample is written as a combination of those that the model was fitted to, and goes to the cluster that explains it
best. Columns with names may stand in another order than those the model was fitted to.

\b
    l0graph cluster old.csv -k 3 --save-model model.l0graph
    l0graph predict model.l0graph new.csv -o labels.csv
"""


@click.command(help=_HELP, short_help="Give new samples the clusters of a saved model.")
@click.argument("model", type=click.Path())
@click.argument("file", type=click.Path(allow_dash=True))
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Where to write the labels: .csv, .tsv, .parquet, .npy, or - for standard output.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON, with the labels unless -o is given.")
@input_options
@config_option
@click.option("-j", "--jobs", type=int, default=-1, show_default=True, help="Threads; -1 is all cores.")
@click.option("-q", "--quiet", is_flag=True, help="No progress, no summary; warnings and errors only.")
def predict(model: str, file: str, output: str | None, as_json: bool, jobs: int, quiet: bool, **options: Any) -> None:
    """Load, read, predict, write."""
    if as_json and output == STANDARD:
        msg = "--json and -o - both want standard output: leave one out"
        raise click.UsageError(msg)
    if output is None and not as_json and (quiet or not sys.stdout.isatty()):
        output = STANDARD
    from l0graph.files.write import LABEL_FORMATS

    check_outputs(file, {"-o": (output, LABEL_FORMATS)})
    check_outputs(model, {"-o": (output, LABEL_FORMATS)})
    with warning_lines() as lines, progress_bar(not quiet) as listener:
        import l0graph

        estimator = l0graph.load_model(model)
        table = read_input(file, options)
        X = _in_order(estimator, table, file)
        if "n_jobs" in estimator.get_params(deep=False):
            estimator.set_params(n_jobs=jobs)
        with l0graph.progress(listener):
            labels = estimator.predict(X)
        scores = comparison(table.labels, labels)
    sizes = sizes_of(labels)
    if not quiet:
        said = f"samples:   {len(labels):,} by {type(estimator).__name__}, to {len(sizes)} clusters"
        click.echo("\n".join([said, *compared_line(scores, options["label_column"])]), err=True)
    if output is not None:
        from l0graph.files import write_labels

        write_labels(output, labels, ids=table.ids, id_name=table.id_name)
    if not quiet and output != STANDARD and not as_json:
        click.echo(f"labels:    {output or 'not written, name a file with -o'}", err=True)
    if as_json:
        held = {"n_samples": len(labels), "sizes": sizes, **scores, "warnings": lines}
        echo_json({"file": file, "model": model} | held | ({"labels": labels} if output is None else {}))


def _in_order(estimator: Any, table: Table, file: str) -> np.ndarray:
    """Return the samples with their features in the order of the model's."""
    import numpy as np

    from l0graph.files import FileError

    known = getattr(estimator, "feature_names_in_", None)
    if known is None or table.features is None:
        known = None
    else:
        place = {name: column for column, name in enumerate(table.features)}
        missing = [name for name in known if name not in place]
        strange = [name for name in table.features if name not in set(known)]
        if missing or strange:
            wrong = f"has no column {missing[0]!r}" if missing else f"has a column {strange[0]!r}"
            advice = "its columns must be the model's" if missing else f"leave it out with --drop-column {strange[0]}"
            msg = f"{file}: {wrong}, which the model was{'' if missing else ' not'} fitted to: {advice}"
            raise FileError(msg)
        if len(place) == len(table.features):
            table_X = table.X[:, [place[name] for name in known]]
            del estimator.feature_names_in_  # they agree; an array has none, which scikit-learn would warn of
            return np.ascontiguousarray(table_X)
    if hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    return table.X

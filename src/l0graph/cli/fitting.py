"""A fitted estimator from a file of data, or from a saved model: what diagnose and report start from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from .inputs import read_input
from .methods import METHODS, NumberOr, estimator_parameters
from .terminal import progress_bar

if TYPE_CHECKING:
    from l0graph.files import Table

MOST_CLUSTERS = 20
"""Largest number that ``-k auto`` considers."""

Listener = Callable[[str, int, int], None] | None


def number_option(required: bool) -> Callable[[Any], Any]:
    """Return the option -k."""
    return click.option(
        "-k",
        "--n-clusters",
        type=NumberOr("auto", whole=True),
        required=required,
        help=f"Number of clusters; auto estimates it from the gaps between eigenvalues, 2 to {MOST_CLUSTERS}.",
    )


model_option = click.option(
    "--model", metavar="FILE", help="A saved model, instead of a new fit: what cluster --save-model wrote."
)


def fit(
    table: Table,
    n_clusters: int | str,
    method: str,
    options: dict[str, Any],
    listener: Listener,
    where: Mapping[str, Any] = MappingProxyType({}),
) -> Any:
    """Return the method's estimator, fitted; ``where`` says by which blocks and on which machines."""
    import l0graph

    parameters = estimator_parameters(method, options)
    common = {"n_jobs": options["jobs"], "verbose": options.get("verbose", 0)}
    make = getattr(l0graph, METHODS[method].estimator)
    with l0graph.progress(listener):
        if n_clusters == "auto":
            return _with_estimated_number(make(2, **common, **parameters).fit(table.X, **where))
        estimator = make(n_clusters, **common, **parameters)
        estimator.fit(table.X, **where)
        return estimator


def check_whole(options: dict[str, Any]) -> None:
    """Raise where the fit would have no graph of all samples, which diagnoses and reports speak of."""
    if options["dictionary"] not in (None, "all"):
        msg = f"--dictionary {options['dictionary']}: a fit over exemplars has no graph of all samples: leave it out"
        raise click.UsageError(msg)


def fitted(
    file: str | None, n_clusters: int | str | None, method: str, options: dict[str, Any]
) -> tuple[Any, Table | None]:
    """Return a fitted estimator and the table of its samples, None where a model comes without."""
    import l0graph

    check_whole(options)
    if options["model"] is None:
        if file is None or n_clusters is None:
            msg = "a FILE of samples and -k, or a saved model by --model, are needed"
            raise click.UsageError(msg)
        with progress_bar(not options["quiet"]) as listener:
            table = read_input(file, options)
            return fit(table, n_clusters, method, options, listener), table
    if n_clusters is not None or estimator_parameters(method, options):
        msg = "--model is fitted already: leave -k and the parameters of the method out"
        raise click.UsageError(msg)
    estimator = l0graph.load_model(options["model"])
    if not hasattr(estimator, "labels_"):
        msg = f"{options['model']}: a {type(estimator).__name__} has no clusters: give the model of a clusterer"
        raise click.UsageError(msg)
    if file is None:
        return estimator, None
    table = read_input(file, options)
    if table.X.shape != estimator._fit_X.shape:
        msg = f"{file}: shape {table.X.shape}, and the model was fitted to {estimator._fit_X.shape}: give the same data"
        raise click.UsageError(msg)
    return estimator, table


def _with_estimated_number(estimator: Any) -> Any:
    """Return the fitted estimator with as many clusters as its graph seems to have."""
    from l0graph import estimate_n_clusters

    most = min(MOST_CLUSTERS, len(estimator.labels_) - 1)
    # Over exemplars the graph is theirs.
    graph = estimator.atom_affinity_ if hasattr(estimator, "exemplars_") else estimator.affinity_matrix_
    other = estimator.recluster(estimate_n_clusters(graph, max_clusters=most).n_clusters)
    other.stage_seconds_ = estimator.stage_seconds_ | other.stage_seconds_
    return other

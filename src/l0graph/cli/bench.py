"""``l0graph bench``."""

from __future__ import annotations

import os
import platform
import sys
from typing import Any

import click

from .config import config_option
from .methods import METHODS
from .outputs import echo_json
from .table import echo_table
from .terminal import progress_bar, warning_lines

_HELP = """
Time the stages of the methods on this machine, on samples from random subspaces.

Kernels are compiled before the clock starts. Each stage is the fastest of the repetitions; memory is the peak of the
process so far.

\b
    l0graph bench
    l0graph bench -n 20000 -d 200 --method l0 --method spectral --json
"""


@click.command(help=_HELP, short_help="Time the stages on this machine.")
@click.option("-n", "--n-samples", type=click.IntRange(20), default=2000, show_default=True, help="Samples.")
@click.option("-d", "--n-features", type=click.IntRange(2), default=100, show_default=True, help="Features.")
@click.option("-k", "--n-clusters", type=click.IntRange(1), default=10, show_default=True, help="Subspaces.")
@click.option("--dim", type=click.IntRange(1), default=5, show_default=True, help="Dimension of a subspace.")
@click.option(
    "--method",
    "methods",
    type=click.Choice(list(METHODS)),
    multiple=True,
    default=("l0", "l1"),
    show_default=True,
    help="What to time. Repeatable.",
)
@click.option("--repeat", type=click.IntRange(1), default=3, show_default=True, help="Repetitions.")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@config_option
@click.option("-j", "--jobs", type=int, default=-1, show_default=True, help="Threads; -1 is all cores.")
@click.option("-q", "--quiet", is_flag=True, help="No progress; the table, warnings and errors only.")
def bench(
    n_samples: int, n_features: int, n_clusters: int, dim: int, methods: tuple[str, ...], repeat: int, **options: Any
) -> None:
    """Generate, compile, time, print."""
    if dim > n_features or n_samples < n_clusters:
        msg = f"--dim {dim} in {n_features} features, {n_clusters} subspaces of {n_samples} samples: too many"
        raise click.UsageError(msg)
    with warning_lines() as lines, progress_bar(not options["quiet"]) as listener:
        import l0graph
        from l0graph.datasets import make_subspaces
        from l0graph.metrics import clustering_accuracy

        counts = [n_samples // n_clusters + (i < n_samples % n_clusters) for i in range(n_clusters)]
        X, y = make_subspaces(
            counts,
            n_subspaces=n_clusters,
            dim=dim,
            ambient_dim=n_features,
            arrangement="independent" if n_clusters * dim <= n_features else "disjoint",
            random_state=0,
        )
        rows = []
        for method in methods:
            estimator = getattr(l0graph, METHODS[method].estimator)(n_clusters, random_state=0, n_jobs=options["jobs"])
            estimator.fit(X[:: max(1, n_samples // 200)])  # compiles
            best: dict[str, float] = {}
            with l0graph.progress(listener):
                for _ in range(repeat):
                    estimator.fit(X)
                    best = {stage: min(s, best.get(stage, s)) for stage, s in estimator.stage_seconds_.items()}
            accuracy = clustering_accuracy(y, estimator.labels_)
            for stage, seconds in {**best, "all": sum(best.values())}.items():
                rows.append(
                    {
                        "method": method,
                        "stage": stage,
                        "seconds": seconds,
                        "samples/s": round(n_samples / seconds) if seconds else 0,
                        "accuracy": accuracy if stage == "all" else "",
                    }
                )
    machine = _machine(options["jobs"])
    size = {"n_samples": n_samples, "n_features": n_features, "n_clusters": n_clusters, "dim": dim}
    peak = _peak_memory()
    if options["as_json"]:
        echo_json({"machine": machine, "size": size, "peak_mib": peak, "stages": rows, "warnings": lines})
        return
    echo_table(rows)
    if not options["quiet"]:
        memory = f"; peak memory {peak:,.0f} MiB" if peak else ""
        click.echo(f"{', '.join(f'{name} {value}' for name, value in machine.items())}{memory}", err=True)


def _machine(jobs: int) -> dict[str, Any]:
    from importlib.metadata import version

    from l0graph._threads import resolve_n_jobs

    packages = ("numpy", "scipy", "scikit-learn", "numba")
    return {
        "cores": os.cpu_count(),
        "threads": resolve_n_jobs(jobs),
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }


def _peak_memory() -> float | None:
    """Return the peak of the process in MiB, where the system tells."""
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)

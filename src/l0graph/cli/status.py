"""``l0graph status``."""

from __future__ import annotations

from typing import Any

import click

from .outputs import echo_json


@click.command(short_help="Say how far a run with --run-dir is.")
@click.argument("directory", metavar="DIR", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def status(directory: str, as_json: bool) -> None:
    """Say how far the run in DIR is, which cluster --run-dir DIR began. Nothing in DIR is changed."""
    from l0graph.scale import run_status

    found = run_status(directory)
    if as_json:
        echo_json({"directory": directory, **found})
        return
    for name, text in _facts(found).items():
        click.echo(f"{name + ':':<11}{text}")


def _facts(found: dict[str, Any]) -> dict[str, str]:
    manifest = found["manifest"]
    parameters, data = manifest["parameters"], manifest["data"]
    n, d = data["shape"]
    over = "all others" if parameters["n_atoms"] == n else f"{parameters['n_atoms']:,} exemplars"
    state = "finished" if found["finished"] else "running" if found["running"] else "interrupted"
    return {
        "run": f"{state}; {parameters['method']} of l0graph {manifest['versions']['l0graph']}",
        "data": f"{n:,} samples, {d:,} features, {data['dtype']}; codes over {over}",
        **{phase: f"{done:,} of {total:,} blocks" for phase, (done, total) in found["phases"].items()},
        "on disk": f"{found['bytes'] / 2**20:,.1f} MiB",
    }

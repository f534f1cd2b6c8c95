"""``l0graph warmup``."""

from __future__ import annotations

from time import perf_counter

import click


@click.command()
def warmup() -> None:
    """Compile the kernels now.

    Otherwise the first run of each method does, which takes up to a minute longer. The result is kept on disk, in
    NUMBA_CACHE_DIR if that is set.
    """
    click.echo("compiling, about a minute the first time ...", err=True)
    start = perf_counter()
    import l0graph

    l0graph.warmup()
    click.echo(f"kernels ready after {perf_counter() - start:.1f} s", err=True)

"""Options of runs that are larger than memory, or than one machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from l0graph.files import Table

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--run-dir",
        metavar="DIR",
        help="Keep the codes here, block by block: the same command goes on where it was interrupted.",
    ),
    click.option("--dask", metavar="ADDRESS", help="Code on the workers of the Dask scheduler there."),
    click.option(
        "--memory-limit",
        metavar="SIZE",
        help="Memory to take, such as 3GiB; what does not fit stays on disk.  [default: half of what is free]",
    ),
)
_OF_TABLES = ("label_column", "id_column", "drop_columns", "header", "transpose", "resize", "color")
_CONNECTING = 20
"""Seconds to wait for a scheduler."""


def scale_options(command: Decorated) -> Decorated:
    """Give a command the options that `running` goes by."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_blocks(file: str, options: dict[str, Any]) -> Table | None:
    """Return FILE opened, to be read by blocks; None where it is to be read whole, as files without the options are."""
    from pathlib import Path

    from l0graph.files import Table
    from l0graph.scale import open_matrix
    from l0graph.scale.sources import ENDINGS

    ending = Path(file).suffix.lower()
    asked = any(options[name] is not None for name in ("run_dir", "dask", "memory_limit", "dictionary"))
    if ending not in ENDINGS or not (asked or ending == ".zarr") or any(options[name] for name in _OF_TABLES):
        return None
    return Table(open_matrix(file, options["array"]))  # type: ignore[arg-type]


@contextmanager
def running(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the arguments of ``fit`` that the options stand for; a connection lasts as long as the block."""
    where = {name: options[name] for name in ("run_dir", "memory_limit") if options[name] is not None}
    if options["dask"] is None:
        yield where
        return
    try:
        from distributed import Client
    except ImportError as error:
        msg = "--dask needs dask.distributed, which is not installed: pip install 'l0graph[dask]'"
        raise ImportError(msg) from error
    try:
        client = Client(options["dask"], timeout=_CONNECTING, set_as_default=False)
    except (OSError, ValueError) as error:
        msg = f"--dask {options['dask']}: no scheduler answers there ({error}): start one with dask scheduler"
        raise ValueError(msg) from error
    with client:
        yield {**where, "client": client}

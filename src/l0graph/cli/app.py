"""The group of commands, and the one place where failures become a line and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NoReturn

import click

from .bench import bench
from .cluster import cluster
from .completion import completion
from .datasets import datasets
from .diagnose import diagnose
from .path import path
from .predict import predict
from .report import report
from .reproduce import reproduce
from .status import status
from .warmup import warmup

BAD_INPUT = 2
BUG = 1
INTERRUPTED = 130
"""128 + SIGINT, as shells have it."""


class Application(click.Group):
    """A group that never shows a traceback: what users can cause is an ``error:`` line and exit code 2."""

    def main(self, args: Sequence[str] | None = None, *, standalone_mode: bool = True, **extra: Any) -> Any:  # type: ignore[override]
        """Run the command and, unless it is called from Python with ``standalone_mode=False``, exit."""
        if not standalone_mode:
            return super().main(args, standalone_mode=False, **extra)
        try:
            code = super().main(args, standalone_mode=False, **extra)
        except click.Abort:
            click.echo("interrupted", err=True)
            sys.exit(INTERRUPTED)
        except click.ClickException as error:
            fail(error.format_message(), BAD_INPUT)
        except MemoryError as error:
            fail(str(error) or "out of memory: take fewer samples or features", BAD_INPUT)
        # A broken pipe does not come here: click ends quietly on it.
        except (ValueError, TypeError, OSError, ImportError) as error:
            fail(str(error), BAD_INPUT, error)
        except Exception as error:
            fail(f"this should not happen, please report it: {type(error).__name__}: {error}", BUG, error)
        sys.exit(code if isinstance(code, int) else 0)


def fail(message: str, code: int, error: Exception | None = None) -> NoReturn:
    """Exit with a message of one line; developers see where it came from by setting L0GRAPH_TRACEBACK."""
    if error is not None and os.environ.get("L0GRAPH_TRACEBACK"):
        raise error
    click.echo(f"error: {' '.join(message.split())}", err=True)
    sys.exit(code)


def _installed_version() -> str:
    try:
        return version("l0graph")
    except PackageNotFoundError:
        return "of a source tree that is not installed"


def _show_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    del param
    if value and not ctx.resilient_parsing:
        click.echo(f"l0graph {_installed_version()}")
        ctx.exit()


_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

_HELP = """
Cluster samples that lie near a union of subspaces, by sparse self-expression.

\b
    l0graph cluster points.csv -k 3 -o labels.csv

\b
Exit codes: 0    done
            2    wrong input or options, said in one line
            130  interrupted
            1    a bug, or nobody reads the output any more
"""


@click.group(cls=Application, invoke_without_command=True, context_settings=_SETTINGS, help=_HELP)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Show the version."
)
@click.pass_context
def main(ctx: click.Context) -> None:
    """Show the help where no command is named."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


for command in (
    *(cluster, predict, path, diagnose, report),
    *(datasets, reproduce, bench, status, warmup, completion),
):
    main.add_command(command)

"""What a person sees on standard error while a computation runs."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click


@contextmanager
def warning_lines() -> Iterator[list[str]]:
    """Show the warnings of the block as one line each, at its end: until then a progress bar may be on the screen.

    The list that the block gets has them from then on.
    """
    lines: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            yield lines
        finally:
            lines.extend(dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught))
            for line in lines:
                click.echo(f"warning: {line}", err=True)


def _kernels_are_compiled() -> bool:
    """Return whether a cache of compiled kernels is where Numba looks first; of what state it is, is not asked."""
    folder = os.environ.get("NUMBA_CACHE_DIR")
    home = Path(folder) if folder else Path(__file__).parent.parent / "kernels"
    return next(home.rglob("*.nbi"), None) is not None


@contextmanager
def progress_bar(shown: bool) -> Iterator[Callable[[str, int, int], None] | None]:
    """Yield a listener that draws one bar per stage, or None where no person is watching."""
    if not (shown and sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    if not _kernels_are_compiled():
        click.echo("first run: the kernels are being compiled, which takes about a minute, once", err=True)
    columns = (
        TextColumn("{task.description:<12}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        # Shown until the first stage reports: imports, the reading of the file and, at first, compilation.
        preparing = progress.add_task("preparing", total=None)
        stages = {"": preparing}

        def listen(stage: str, done: int, total: int) -> None:
            if stage not in stages:
                progress.update(preparing, visible=False)
                stages[stage] = progress.add_task(stage, total=total)
            progress.update(stages[stage], completed=done, total=total)

        yield listen

"""``l0graph completion``."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

_HELP = """
Print the script that lets a shell complete commands, options and file names.

\b
    bash   echo 'eval "$(l0graph completion bash)"' >> ~/.bashrc
    zsh    echo 'eval "$(l0graph completion zsh)"' >> ~/.zshrc
    fish   l0graph completion fish > ~/.config/fish/completions/l0graph.fish
"""


@click.command(help=_HELP, short_help="Print what lets a shell complete commands.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print click's own script."""
    kind = get_completion_class(shell)
    assert kind is not None  # click has all three
    click.echo(kind(ctx.find_root().command, {}, "l0graph", "_L0GRAPH_COMPLETE").source())

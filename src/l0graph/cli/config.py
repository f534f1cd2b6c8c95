"""Options from a TOML file, under those of the command line."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def config_option(command: Decorated) -> Decorated:
    """Give a command the option --config."""
    option = click.option(
        "--config",
        metavar="FILE",
        is_eager=True,
        expose_value=False,
        callback=_load,
        help="A TOML file of options, such as n-clusters = 3; tables named like commands hold only for these. What is "
        "said on the command line counts.",
    )
    return option(command)


def _load(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    del param
    if value is None or ctx.resilient_parsing:
        return
    try:
        content = tomllib.loads(Path(value).read_text(encoding="utf-8"))
    except OSError as error:
        msg = f"{value}: {error.strerror or error}: check the path of the configuration"
        raise click.UsageError(msg) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        msg = f"{value}: not a TOML file ({error}): lines such as n-clusters = 3 are needed"
        raise click.UsageError(msg) from error
    ctx.default_map = _options(ctx, content, value)


def _options(ctx: click.Context, content: dict[str, Any], path: str) -> dict[str, Any]:
    """Return the values for this command by the names of its parameters."""
    name = ctx.info_name or ""
    commands = ctx.parent.command.commands if ctx.parent and isinstance(ctx.parent.command, click.Group) else {}
    unknown = [key for key, value in content.items() if isinstance(value, dict) and key not in commands]
    if unknown:
        msg = f"{path}: no command is called {unknown[0]!r}: name tables after {', '.join(sorted(commands))}"
        raise click.UsageError(msg)
    common = {key: value for key, value in content.items() if not isinstance(value, dict)}
    parameters = _parameters(ctx.command)
    values: dict[str, Any] = {}
    for key, value in (common | content.get(name, {})).items():
        parameter = parameters.get(key.replace("_", "-"))
        if parameter is None:
            # What all commands share may be nothing to this one.
            if key in common and any(key.replace("_", "-") in _parameters(other) for other in commands.values()):
                continue
            msg = f"{path}: {name} has no option {key!r}: it has {', '.join(sorted(parameters))}"
            raise click.UsageError(msg)
        values[parameter] = _as_typed(value, f"{path}: {key}")
    return values


def _parameters(command: click.Command) -> dict[str, str]:
    """Return the parameters' names in Python by those that a person writes: long flags without dashes."""
    found: dict[str, str] = {}
    for parameter in command.params:
        if parameter.name and parameter.name not in ("config", "help"):
            flags = [flag for flag in parameter.opts if flag.startswith("--")]
            for written in flags or [parameter.name]:
                found[written.removeprefix("--")] = parameter.name
    return found


def _as_typed(value: Any, where: str) -> Any:
    """Return a value as the command line would have it, so that it is checked in the same way."""
    if isinstance(value, list):
        return [_as_typed(item, where) for item in value]
    if isinstance(value, (bool, int, float, str)):
        return str(value)
    msg = f"{where} is {type(value).__name__}, where a number, a string, true, false or a list is needed"
    raise click.UsageError(msg)

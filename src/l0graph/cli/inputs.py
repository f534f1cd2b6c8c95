"""What all commands that read data have in common: the file, and the options that say how to read it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from l0graph.files import Table

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class ImageSize(click.ParamType):
    """Width and height in pixels, as in 32x32."""

    name = "WxH"
    _LARGEST = 10_000

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        """Return both numbers."""
        if isinstance(value, tuple):
            return value
        width, _, height = str(value).lower().partition("x")
        if not all(edge.isdecimal() and 0 < int(edge) <= self._LARGEST for edge in (width, height)):
            self.fail(f"{value!r} is no size in pixels such as 32x32, at most {self._LARGEST} each.", param, ctx)
        return int(width), int(height)


_OPTIONS = (
    click.option(
        "--label-column",
        metavar="COLUMN",
        help="The column of known classes, to compare the clusters with: its name, or its number from 0 (-1 is the "
        'last); in a file of several arrays the name of one; for images "folder", the folders they lie in.',
    ),
    click.option("--id-column", metavar="COLUMN", help="The column of the samples' names, kept in the output."),
    click.option(
        "--drop-column",
        "drop_columns",
        metavar="COLUMN",
        multiple=True,
        help="A column to leave out. Repeatable.",
    ),
    click.option(
        "--array",
        metavar="NAME",
        help="The matrix to take from a .npz, .mat or HDF5 file.  [default: X, or the only one]",
    ),
    click.option(
        "--header/--no-header",
        default=None,
        help="Whether the first line of a text file is a header.  [default: look]",
    ),
    click.option("--transpose", is_flag=True, help="Samples are columns."),
    click.option("--resize", type=ImageSize(), help="Scale the images of a folder to this size, such as 32x32."),
    click.option("--color", is_flag=True, help="Read images in colour, not in grey."),
)
_NAMES = ("label_column", "id_column", "drop_columns", "array", "header", "transpose", "resize", "color")


def input_options(command: Decorated) -> Decorated:
    """Give a command the options that `read_input` goes by."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_input(file: str, options: dict[str, Any]) -> Table:
    """Return what is in FILE, read as the options say."""
    from l0graph.files import read_table

    return read_table(file, **{name: options[name] for name in _NAMES})

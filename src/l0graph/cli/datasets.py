"""``l0graph datasets``."""

from __future__ import annotations

import warnings

import click

from .terminal import warning_lines


@click.command()
@click.option("-d", "--data-dir", type=click.Path(file_okay=False), help="A folder to look into first.")
@click.option("--fetch", "fetched", metavar="NAME", help="Get a set from OpenML, check it and keep it in the cache.")
def datasets(data_dir: str | None, fetched: str | None) -> None:
    """List the data sets of the paper: which are there, and where to get the others.

    They are looked for in --data-dir, then in the folder named by L0GRAPH_DATA, then in the user's cache.
    """
    from ..datasets import DataError, DataNotFoundError, load
    from ..datasets.places import folders
    from ..datasets.registry import DATA_SETS

    if fetched is not None:
        with warning_lines():
            click.echo(f"{fetched}: {load(fetched, data_dir, fetch=True).filename}")
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table("name", "samples", "features", "classes", "state", "file", box=SIMPLE_HEAD)
    for column in table.columns[1:4]:
        column.justify = "right"
    absent = []
    for name, data_set in DATA_SETS.items():
        place = ""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the state says it
                loaded = load(name, data_dir)
            place = loaded.filename
            state = Text(loaded.version or "not a known version", "green" if loaded.version else "yellow")
        except DataNotFoundError:
            state = Text("missing", "red")
            absent.append(data_set)
        except (DataError, ImportError) as error:
            state = Text(str(error), "red")
        size = (f"{data_set.n_samples:,}", f"{data_set.n_features:,}", str(data_set.n_classes))
        table.add_row(name, *size, state, Text(place, overflow="fold"))
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 160
    console.print(table)
    for data_set in absent:
        hint = f" (or: l0graph datasets --fetch {data_set.name})" if data_set.openml_id is not None else ""
        console.print(f"{data_set.name}: get it from {data_set.source}{hint}; {data_set.terms}", markup=False)
    if absent:
        console.print(f"Put files into one of: {', '.join(map(str, folders(data_dir)))}", markup=False, soft_wrap=True)

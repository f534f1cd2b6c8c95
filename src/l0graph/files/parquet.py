"""Matrices from .parquet files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from .columns import Columns
from .errors import FileError, first_line, listed, optional_package, quoted
from .memory import check_fits
from .table import MISSING, Table, as_labels, of_strings

_PANDAS_INDEX = re.compile(r"__index_level_\d+__")


def read_parquet(path: Path, columns: Columns) -> Table:
    """Return the columns of numbers in a .parquet file."""
    pq = optional_package("pyarrow.parquet", path)
    try:
        with pq.ParquetFile(path) as file:
            return _read(file, path, columns)
    except FileError:
        raise
    except Exception as error:  # a damaged file fails in as many ways as Arrow has exceptions
        msg = f"{path}: not a readable .parquet file ({first_line(error)}): write it again"
        raise FileError(msg) from error


def _read(file: Any, path: Path, columns: Columns) -> Table:
    import pyarrow as pa

    schema = file.schema_arrow
    all_names = list(schema.names)
    # What pandas keeps its index in, unless it has a name.
    names = [name for name in all_names if not _PANDAS_INDEX.fullmatch(name) or name in columns.named]
    if not names or file.metadata.num_rows == 0:
        msg = f"{path}: an empty table of {file.metadata.num_rows} rows and {len(names)} columns: samples are needed"
        raise FileError(msg)
    if len(set(all_names)) < len(all_names):
        msg = f"{path}: several columns have the same name: rename them"
        raise FileError(msg)
    places = columns.places(names, len(names), path)
    features = [names[column] for column in places.kept]
    types = {name: schema.field(name).type for name in features}
    others = [f"{quoted(name)} ({kind})" for name, kind in types.items() if not _is_number(pa, kind)]
    if others:
        one = len(others) == 1
        msg = (
            f"{path}: column{'s' * (not one)} {listed(others)} {'is' if one else 'are'} not numeric: set "
            f"{'it' if one else 'them'} apart with --label-column, --id-column or --drop-column"
        )
        raise FileError(msg)
    check_fits(2 * 8 * file.metadata.num_rows * len(features), str(path))
    dtype = np.float32 if all(kind == pa.float32() for kind in types.values()) else np.float64
    X = np.empty((file.metadata.num_rows, len(features)), dtype=dtype)
    for column, name in enumerate(features):
        X[:, column] = _numbers(pa, file.read(columns=[name]).column(0), f"{path}: column {quoted(name)}")
    return Table(
        X,
        features=features,
        labels=None if places.label is None else _labels(file, names[places.label]),
        ids=None if places.id is None else _labels(file, names[places.id]),
        id_name="id" if places.id is None else names[places.id],
    )


def _labels(file: Any, name: str) -> np.ndarray:
    values = file.read(columns=[name]).column(0).to_pylist()
    if all(isinstance(value, (int, float)) for value in values):
        return as_labels(np.array(values))
    return of_strings([MISSING if value is None else str(value) for value in values])


def _is_number(pa: Any, kind: Any) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind))


def _numbers(pa: Any, column: Any, what: str) -> np.ndarray:
    if column.null_count:
        row = column.is_null().to_pylist().index(True)
        msg = (
            f"{what}, row {row} is empty ({column.null_count} such cells): fill it, or leave the column or the row out"
        )
        raise FileError(msg)
    if not pa.types.is_floating(column.type):
        column = column.cast(pa.uint8() if pa.types.is_boolean(column.type) else pa.float64(), safe=False)
    return column.to_numpy()

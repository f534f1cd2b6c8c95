"""UCI's text: one sample a line, commas or spaces between, the class last. Also .arff."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..errors import DataError
from ..registry import DataSet

_LONGEST_LINE = 40
"""Characters a value, at most."""


def read_text(path: Path, data_set: DataSet) -> tuple[np.ndarray, np.ndarray]:
    """Return the values and the class names, as strings."""
    n, d = data_set.shape
    most = (n + 200) * (d + 1) * _LONGEST_LINE
    if path.stat().st_size > most:
        msg = f"{path}: {path.stat().st_size:,} bytes, where {data_set.title} has less than {most:,}: not this set"
        raise DataError(msg)
    rows: list[list[str]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        fields = line.replace(",", " ").split()
        if not fields or fields[0][0] in "@%#":
            continue
        if not rows and not _is_number(fields[0]):
            continue  # a line of column names
        if len(fields) != d + 1:
            msg = f"{path}: line {number} has {len(fields)} values, where {data_set.title} has {d} and a class"
            raise DataError(msg)
        rows.append(fields)
    try:
        samples = np.array([row[:-1] for row in rows], dtype=np.float64).reshape(-1, d)
    except ValueError as error:
        msg = f"{path}: {error}: every value but the class must be a number"
        raise DataError(msg) from error
    return samples, np.array([row[-1].strip("'\"") for row in rows])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True

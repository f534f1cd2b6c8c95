"""Sets with a home on OpenML."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from ..files import atomic_write
from .canonical import canonical
from .errors import DataError
from .places import user_cache
from .registry import DATA_SETS, DataSet

FETCHED = tuple(name for name, data_set in DATA_SETS.items() if data_set.openml_id is not None)


def fetch_set(data_set: DataSet) -> Path:
    """Get a set from OpenML, check its content and keep it in the user's cache; return the file."""
    if data_set.openml_id is None:
        msg = f"{data_set.title} has no home from which it could be fetched ({', '.join(FETCHED)} have): get it from "
        raise DataError(msg + data_set.source)
    from sklearn.datasets import fetch_openml

    what = f"OpenML {data_set.openml_id}"
    with tempfile.TemporaryDirectory() as folder:
        try:
            # The parser that needs nothing beside scikit-learn.
            found = fetch_openml(data_id=data_set.openml_id, as_frame=False, parser="liac-arff", data_home=folder)
        except OSError as error:
            msg = f"{what} ({data_set.title}) could not be fetched ({error}): try again, or get it from "
            raise DataError(msg + data_set.source) from error
    X, y, checksum = canonical(np.asarray(found.data, dtype=np.float64), np.asarray(found.target), data_set, what)
    if checksum not in data_set.versions:
        msg = f"{what}: SHA-256 {checksum} is none of the known contents of {data_set.title}: it was not kept"
        raise DataError(msg)
    cache = user_cache()
    cache.mkdir(parents=True, exist_ok=True)
    path = cache / f"{data_set.name}.npz"
    with atomic_write(path, "wb") as file:
        np.savez_compressed(file, X=X, y=y)
    return path

"""What is read from a file: the matrix, and what came with it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from .columns import Columns
from .errors import FileError
from .memory import check_fits

MISSING = ""
"""A label that is not there."""


@dataclass(frozen=True)
class Table:
    """A matrix with what the file says of its samples and features.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        C-contiguous; float32 where the file holds float32, float64 otherwise.
    features : list of str or None
        Names of the features.
    labels : ndarray of shape (n_samples,) or None
        Known classes, integers or strings; the empty string where a sample has none.
    ids : ndarray of shape (n_samples,) or None
        Names or numbers of the samples.
    id_name : str
        What the ids are called.
    image_shape : tuple of int or None
        (height, width) or (height, width, 3) of the images that the samples are.
    """

    X: np.ndarray
    features: list[str] | None = None
    labels: np.ndarray | None = None
    ids: np.ndarray | None = None
    id_name: str = "id"
    image_shape: tuple[int, ...] | None = None

    def transposed(self, path: Path | str) -> Table:
        """Return the table with samples and features exchanged; what named the features now names the samples."""
        if self.image_shape is not None:
            msg = f"{path}: images are samples already: leave --transpose out"
            raise FileError(msg)
        ids = self.ids if self.features is None else np.array(self.features, dtype=object)
        id_name = self.id_name if self.features is None else "sample"
        return replace(self, X=np.ascontiguousarray(self.X.T), features=None, ids=ids, id_name=id_name)

    def checked(self, path: Path | str) -> Table:
        """Return the table if it is one: not empty, finite, a label and an id for each sample."""
        X = self.X
        if 0 in X.shape:
            msg = f"{path}: an empty matrix of shape {X.shape}: samples and features are needed"
            raise FileError(msg)
        for row, values in enumerate(X):
            if not np.isfinite(values).all():
                column = int(np.argmin(np.isfinite(values)))
                msg = f"{path}: row {row}, column {column} is {values[column]}: finite numbers are needed, fill or drop"
                raise FileError(msg)
        for what, values in (("labels", self.labels), ("ids", self.ids)):
            if values is not None and len(values) != len(X):
                msg = f"{path}: {len(values)} {what} for {len(X)} samples: one for each is needed"
                raise FileError(msg)
        return self


def check_declared(dtype: np.dtype, shape: tuple[int, ...], what: str) -> None:
    """Raise unless a file declares a matrix of real numbers that fits in memory; asked before its data are read."""
    if dtype.hasobject:
        msg = f"{what}: holds Python objects (dtype {dtype}), never unpickled: save numbers, X.astype(float)"
        raise FileError(msg)
    if dtype.kind == "c":
        msg = f"{what}: holds complex numbers (dtype {dtype}): save their real part or absolute value"
        raise FileError(msg)
    if dtype.kind not in "fiub":
        msg = f"{what}: dtype {dtype} is not numeric: save numbers, X.astype(float)"
        raise FileError(msg)
    if len(shape) != 2:
        msg = f"{what}: has shape {shape}; a matrix of shape (n_samples, n_features) is needed: reshape it"
        raise FileError(msg)
    # Integers and half precision become float64 beside the original.
    converted = 0 if dtype in (np.float32, np.float64) else 8
    check_fits(math.prod(shape) * (dtype.itemsize + converted), what)


def check_vector(dtype: np.dtype, shape: tuple[int, ...], what: str) -> None:
    """Raise unless a file declares one number or string a sample."""
    if dtype.kind not in "fiubUS" or sum(extent != 1 for extent in shape) > 1:
        msg = f"{what}: {dtype} of shape {shape}, where labels and ids are one number or string a sample: name another"
        raise FileError(msg)
    check_fits(math.prod(shape) * dtype.itemsize, what)


def float_matrix(X: np.ndarray) -> np.ndarray:
    """Return the numbers C-contiguous, as float32 if they are, as float64 otherwise."""
    return np.ascontiguousarray(X, dtype=np.float32 if X.dtype == np.float32 else np.float64)


def of_strings(texts: Sequence[str]) -> np.ndarray:
    """Return strings as an array that does not take the room of the longest for each."""
    return np.array([*texts, ""], dtype=object)[:-1]  # the one more keeps NumPy from looking into them


def as_labels(values: np.ndarray) -> np.ndarray:
    """Return labels as integers or strings; where numbers are missing, all become strings."""
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8", "replace")
    if values.dtype.kind == "f":
        missing = np.isnan(values)
        if not missing.any() and np.all(values == np.rint(values)) and np.all(np.abs(values) < 2**53):
            return values.astype(np.int64)
        return of_strings([MISSING if gone else f"{value:g}" for value, gone in zip(values, missing, strict=True)])
    if values.dtype.kind in "iub":
        return values.astype(np.int64)
    return of_strings([str(value).strip() for value in values.tolist()])


def split_columns(
    X: np.ndarray, columns: Columns, path: Path | str, vector: Callable[[str], np.ndarray | None] | None = None
) -> Table:
    """Return the matrix without the columns that are no features, and these apart.

    ``vector`` looks up a label or id among what else a file of several arrays holds.
    """
    apart: dict[str, np.ndarray] = {}
    for what, name in (("label", columns.label), ("id", columns.id)):
        found = vector(name) if vector is not None and name is not None else None
        if found is not None:
            apart[what] = as_labels(found)
    inside = Columns(
        columns.drop,
        None if "label" in apart else columns.label,
        None if "id" in apart else columns.id,
    )
    ids_called = columns.id if "id" in apart and columns.id is not None else "id"
    if inside.named:
        places = inside.places(None, X.shape[1], path)
        if places.label is not None:
            apart["label"] = as_labels(X[:, places.label])
        if places.id is not None:
            apart["id"] = as_labels(X[:, places.id])
        X = X[:, places.kept]
    return Table(float_matrix(X), labels=apart.get("label"), ids=apart.get("id"), id_name=ids_called)

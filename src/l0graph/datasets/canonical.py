"""One content for the forms in which a set is kept, and its version told by checksum."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .checksum import content_checksum
from .errors import DataError
from .registry import DataSet


def canonical(X: np.ndarray, y: np.ndarray, data_set: DataSet, what: str) -> tuple[np.ndarray, np.ndarray, str]:
    """Return samples and labels as the set has them, and the checksum; raise where they cannot be this set.

    Grey levels scaled to [0, 1] are scaled back and images whose pixels lie in the other order are turned over, if
    that gives a content that is known.
    """
    if X.shape != data_set.shape:
        msg = f"{what}: samples of shape {X.shape}, where {data_set.title} has {data_set.shape}"
        raise DataError(msg)
    labels = _numbered(np.ravel(y), data_set, what)
    if X.dtype.kind == "f" and not np.isfinite(X).all():
        msg = f"{what}: NaN or infinity among the values, which {data_set.title} does not have"
        raise DataError(msg)
    first = None
    for samples in _forms(X, data_set):
        checksum = content_checksum(samples, labels)
        if checksum in data_set.versions:
            return samples, labels, checksum
        first = first or (samples, labels, checksum)
    assert first is not None  # there is one form at least
    return first


def _forms(X: np.ndarray, data_set: DataSet) -> Iterator[np.ndarray]:
    """Yield what the values can mean, the likeliest first."""
    X = _whole_levels(X) if data_set.grey_levels else X.astype(np.float64, copy=False)
    yield X
    if data_set.image_shape is not None:
        height, width = data_set.image_shape
        shape = (height, width) if data_set.column_major else (width, height)
        yield np.ascontiguousarray(X.reshape(-1, *shape).transpose(0, 2, 1)).reshape(X.shape)


def _whole_levels(X: np.ndarray) -> np.ndarray:
    """Return grey levels 0..255 as bytes where the values are such, or fractions of 255; else X in float64."""
    if X.dtype == np.uint8:
        return X
    scaled = X.astype(np.float64, copy=False) * (255 if X.max() <= 1 else 1)
    levels = np.round(scaled)
    if levels.min() >= 0 and levels.max() <= 255 and np.allclose(scaled, levels, rtol=0, atol=1e-3):
        return levels.astype(np.uint8)
    return X.astype(np.float64, copy=False)


def _numbered(y: np.ndarray, data_set: DataSet, what: str) -> np.ndarray:
    """Return labels 0, 1, ... in the order of the set's classes."""
    if y.shape != (data_set.n_samples,):
        msg = f"{what}: {len(y)} labels for {data_set.n_samples} samples"
        raise DataError(msg)
    if data_set.classes and y.dtype.kind in "OUS":
        spelled = {spelling: number for number, names in enumerate(data_set.classes) for spelling in names}
        unknown = sorted({str(label) for label in y.tolist()} - set(spelled))
        if unknown:
            msg = f"{what}: class {unknown[0][:40]!r}; {data_set.title} has {', '.join(spelled)}"
            raise DataError(msg)
        return np.array([spelled[str(label)] for label in y.tolist()], dtype=np.int32)
    if y.dtype.kind not in "fiub":
        try:
            y = y.astype(np.float64)
        except ValueError as error:
            msg = f"{what}: labels must be numbers: {error}"
            raise DataError(msg) from error
    classes, labels = np.unique(y, return_inverse=True)
    if len(classes) != data_set.n_classes:
        msg = f"{what}: {len(classes)} classes, where {data_set.title} has {data_set.n_classes}"
        raise DataError(msg)
    return labels.astype(np.int32)

"""The data sets of the paper, from the files that people have."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from .canonical import canonical
from .errors import DataError, DataNotFoundError, DataVersionWarning
from .places import ENDINGS, find, folders
from .registry import ALIASES, DATA_SETS, DataSet


def load(name: str, data_dir: str | os.PathLike[str] | None = None, *, fetch: bool = False) -> Bunch:
    """Load a data set that the paper uses.

    Parameters
    ----------
    name : str
        "ionosphere", "heart", "mnist", "coil20", "coil100", "yaleb_32x32" (also "yaleb"), "yaleb_48x42", "umist" or
        "umist_28x23".
    data_dir : str or path-like, default=None
        Folder to look into first; then the one named by the environment variable ``L0GRAPH_DATA``, then the user's
        cache.
    fetch : bool, default=False
        Get the set from OpenML and keep it in the user's cache, if it lies nowhere. OpenML has ionosphere, heart and
        mnist.

    Returns
    -------
    sklearn.utils.Bunch
        With

        data : ndarray of shape (n_samples, n_features)
            uint8 where the values are grey levels, else float64. Nothing is scaled.
        target : ndarray of shape (n_samples,)
            Classes from 0.
        image_shape : tuple of int or None
            Height and width, where samples are images.
        images : ndarray of shape (n_samples, height, width) or None
            The same data as upright images.
        DESCR, source, terms : str
            What it is, where it is given out, on which terms.
        version : str or None
            Which of the known contents this is.
        checksum, filename : str
            `SHA-256` of the content, whatever the form of the file; where it was read.

    Raises
    ------
    DataNotFoundError
        If the set is nowhere; the message says where to get it and where to put it.
    DataError
        If a file of that name holds something else or is damaged.

    Warns
    -----
    DataVersionWarning
        If shape and classes are right, and the content is none of those known.

    Notes
    -----
    Read are .npz files with X and y, .mat files (those of version 7.3, and images, need ``l0graph[io]``), UCI's text
    and .arff, MNIST's idx files, plain or .gz, and folders or .zip files of images, one folder a class or the class in
    the file name. What is larger than the set can be is refused before it is unpacked.

    Examples
    --------
    >>> from l0graph.datasets import load
    >>> load("coil20")  # doctest: +SKIP
    """
    data_set = _data_set(name)
    for paths in find(data_set, data_dir):
        try:
            return _bunch(data_set, paths)
        except _OtherVariant:
            continue
    if fetch:
        from .fetch import fetch_set

        return _bunch(data_set, [fetch_set(data_set)])
    raise DataNotFoundError(_where_to_get(data_set, data_dir))


def _data_set(name: str) -> DataSet:
    key = ALIASES.get(name, name)
    if key not in DATA_SETS:
        msg = f"name must be one of {', '.join(map(repr, DATA_SETS))}, got {name!r}"
        raise ValueError(msg)
    return DATA_SETS[key]


class _OtherVariant(DataError):
    """The file holds the same set in another size of images, under a name that both go by."""


def _read(data_set: DataSet, paths: list[Path]) -> tuple[np.ndarray, np.ndarray]:
    path = paths[0]
    if len(paths) > 1:
        from .readers.idx import read_idx

        return read_idx(paths, data_set)
    ending = path.suffix.lower()
    if path.is_dir() or ending == ".zip":
        if data_set.image_shape is None:
            msg = f"{path}: {data_set.title} has no images: give {', '.join(ENDINGS[:-1])}"
            raise DataError(msg)
        from .readers.images import read_images

        return read_images(path, data_set)
    if ending == ".npz":
        from .readers.npz import read_npz

        return read_npz(path, data_set)
    if ending == ".mat":
        from .readers.mat import read_mat

        return read_mat(path, data_set)
    from .readers.text import read_text

    return read_text(path, data_set)


def _bunch(data_set: DataSet, paths: list[Path]) -> Bunch:
    what = str(paths[0])
    try:
        samples, labels = _read(data_set, paths)
    except DataError as error:
        siblings = [other for other in DATA_SETS.values() if _shares_names(other, data_set)]
        if _holds_sibling(siblings, paths):
            raise _OtherVariant(str(error)) from error
        raise
    X, y, checksum = canonical(samples, labels, data_set, what)
    version = data_set.versions.get(checksum)
    if version is None:
        msg = (
            f"{what}: the content is none of the known versions of {data_set.title}"
            f" ({'; '.join(data_set.versions.values())}), SHA-256 {checksum}: figures may differ"
        )
        warnings.warn(msg, DataVersionWarning, stacklevel=3)
    return Bunch(
        data=X,
        target=y,
        image_shape=data_set.image_shape,
        images=_images(X, data_set),
        DESCR=_description(data_set),
        source=data_set.source,
        terms=data_set.terms,
        version=version,
        checksum=checksum,
        filename=what,
    )


def _shares_names(other: DataSet, data_set: DataSet) -> bool:
    return other.name != data_set.name and bool(set(other.file_names) & set(data_set.file_names))


def _holds_sibling(siblings: list[DataSet], paths: list[Path]) -> bool:
    for sibling in siblings:
        try:
            _read(sibling, paths)
        except DataError:
            continue
        return True
    return False


def _images(X: np.ndarray, data_set: DataSet) -> np.ndarray | None:
    if data_set.image_shape is None:
        return None
    height, width = data_set.image_shape
    if data_set.column_major:
        return X.reshape(-1, width, height).transpose(0, 2, 1)
    return X.reshape(-1, height, width)


def _description(data_set: DataSet) -> str:
    n, d = data_set.shape
    return (
        f"{data_set.title}. {data_set.about} {n:,} samples, {d:,} features, {data_set.n_classes} classes."
        f"\nSource: {data_set.source}.\nTerms: {data_set.terms}."
    )


def _where_to_get(data_set: DataSet, data_dir: Any) -> str:
    looked = ", ".join(map(str, folders(data_dir)))
    forms = f"{data_set.name}.npz, {data_set.name}.mat"
    if data_set.idx:
        forms += ", the four idx files (also .gz)"
    elif data_set.image_shape is not None:
        forms += f", a folder {data_set.name} of images or {data_set.name}.zip"
    else:
        forms += f", {data_set.name}.data"
    fetched = "" if data_set.openml_id is None else f"; or fetch it: l0graph datasets --fetch {data_set.name}"
    place = f"get it from {data_set.source} and put it there as {forms}"
    return f"{data_set.title} was not found in {looked}: {place}{fetched}"

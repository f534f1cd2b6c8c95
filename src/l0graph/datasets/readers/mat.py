"""MATLAB files: those up to version 7 by SciPy, version 7.3 by h5py.

Which variables are meant is told by their sizes, so fea and gnd, X and Y, data and labels are all read, whichever way
round the samples are.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from ..errors import DataError
from ..registry import DataSet

_HDF_MAGIC = b"\x89HDF\r\n\x1a\n"
_PREFERRED = ("fea", "gnd", "x", "y", "data", "labels", "label")


def read_mat(path: Path, data_set: DataSet) -> tuple[np.ndarray, np.ndarray]:
    """Return the matrix and the vector whose sizes are the set's."""
    return _read_hdf(path, data_set) if _is_hdf(path) else _read_level_5(path, data_set)


def _is_hdf(path: Path) -> bool:
    # A version 7.3 file has 512 bytes of its own before.
    with path.open("rb") as file:
        head = file.read(520)
    return head.startswith(_HDF_MAGIC) or head[512:] == _HDF_MAGIC


def _read_level_5(path: Path, data_set: DataSet) -> tuple[np.ndarray, np.ndarray]:
    from scipy.io import loadmat, whosmat

    try:
        shapes = {name: tuple(shape) for name, shape, kind in whosmat(path) if kind not in ("cell", "struct", "object")}
        samples, labels = _choose(shapes, data_set, path)
        content = loadmat(path, variable_names=[samples, labels])
        return _oriented(content[samples], data_set), np.ravel(content[labels])
    except DataError:
        raise
    except Exception as error:  # SciPy's reader fails in many ways on damaged files
        msg = f"{path}: not a readable MATLAB file ({' '.join(str(error).split())}): get it again"
        raise DataError(msg) from error


def _read_hdf(path: Path, data_set: DataSet) -> tuple[np.ndarray, np.ndarray]:
    try:
        import h5py
    except ImportError as error:
        msg = f"{path}: a MATLAB file of version 7.3 needs h5py: install l0graph[io], or save it with -v7"
        raise ImportError(msg) from error
    try:
        with h5py.File(path, "r") as file:
            shapes = {
                name: tuple(item.shape)
                for name, item in file.items()
                if isinstance(item, h5py.Dataset) and item.dtype.kind in "fiub"
            }
            samples, labels = _choose(shapes, data_set, path)
            return _oriented(file[samples][()], data_set), np.ravel(file[labels][()])
    except OSError as error:
        msg = f"{path}: not a readable MATLAB file ({error}): get it again"
        raise DataError(msg) from error


def _choose(shapes: dict[str, tuple[int, ...]], data_set: DataSet, path: Path) -> tuple[str, str]:
    n, d = data_set.shape
    names = sorted(shapes, key=lambda name: (name.lower() not in _PREFERRED, name))
    samples = [name for name in names if sorted(shapes[name]) == sorted((n, d))]
    labels = [name for name in names if math.prod(shapes[name]) == n and max(shapes[name]) == n]
    if not samples or not labels:
        held = ", ".join(f"{name} {' x '.join(map(str, shapes[name]))}" for name in names[:8]) or "nothing"
        msg = f"{path}: holds {held}; {data_set.title} is {n} x {d} with {n} labels"
        raise DataError(msg)
    return samples[0], labels[0]


def _oriented(samples: np.ndarray, data_set: DataSet) -> np.ndarray:
    samples = np.asarray(samples)
    return np.ascontiguousarray(samples if samples.shape == data_set.shape else samples.T)

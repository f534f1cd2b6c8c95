"""Samples by blocks of rows, wherever they are: in memory, in a file, or in pieces on a Dask cluster.

A source that lives in files knows only where they are, so it can be sent to another process for nothing and read there.
Files are read, not mapped: what has been read of a map counts as memory of the process.
"""

from __future__ import annotations

import mmap
import os
from abc import ABC, abstractmethod
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..files.errors import FileError, quoted

ENDINGS = (".npy", ".zarr", ".parquet", ".h5", ".hdf5")
"""What `open_matrix` opens."""


class Source(ABC):
    """A matrix that is read by blocks of rows."""

    shape: tuple[int, ...]
    stored: np.dtype
    """What it is stored as."""
    travels = False
    """Whether a copy in another process reads the same rows."""

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Read all of it, for whoever needs it whole."""
        del copy
        return self.read(0, len(self)).astype(dtype or self.dtype, copy=False)

    @property
    def dtype(self) -> np.dtype:
        """What its blocks are: float32 where it is stored so, float64 otherwise."""
        return np.dtype(np.float32 if self.stored == np.float32 else np.float64)

    @property
    def largest_piece(self) -> int:
        """Bytes that are read at least, however short the block."""
        return 0

    def read(self, start: int, stop: int) -> np.ndarray:
        """Return rows start to stop, C-contiguous."""
        return np.ascontiguousarray(self._read(start, stop), dtype=self.dtype)

    @abstractmethod
    def _read(self, start: int, stop: int) -> np.ndarray:
        """Return rows start to stop as they are stored."""

    def check(self) -> None:
        """Raise unless this is a matrix of real numbers."""
        if len(self.shape) != 2:
            msg = f"X has shape {self.shape}: a matrix of shape (n_samples, n_features) is needed: reshape it"
            raise ValueError(msg)
        if self.stored.kind not in "fiub":
            msg = f"X holds {self.stored}, no real numbers: convert it to float32 or float64"
            raise ValueError(msg)
        if self.shape[0] < 2 or self.shape[1] < 1:
            msg = f"X has shape {self.shape}: at least 2 samples and 1 feature are needed"
            raise ValueError(msg)


class ArraySource(Source):
    """Anything that is sliced as an array is: NumPy arrays, zarr arrays."""

    def __init__(self, array: Any) -> None:
        self._array = array
        self.shape = tuple(array.shape)
        self.stored = np.dtype(array.dtype)
        self.travels = _package(array) == "zarr"  # a zarr array is pickled as the place where it is stored

    def _read(self, start: int, stop: int) -> np.ndarray:
        return np.asarray(self._array[start:stop])


class DaskSource(Source):
    """A Dask array. With a cluster, its blocks go from worker to worker."""

    def __init__(self, array: Any) -> None:
        self._array = array
        self.shape = tuple(array.shape)
        self.stored = np.dtype(array.dtype)

    def rows(self, start: int, stop: int) -> Any:
        """Return rows start to stop as a Dask array."""
        return self._array[start:stop]

    def _read(self, start: int, stop: int) -> np.ndarray:
        return np.asarray(self._array[start:stop].compute())


class BinarySource(Source):
    """Rows of numbers, one after the other, in a file: what a NumPy memory map stands for."""

    travels = True

    def __init__(self, path: str | os.PathLike[str], stored: np.dtype, shape: tuple[int, ...], offset: int) -> None:
        self._path = str(Path(path).resolve())
        self.stored = np.dtype(stored)
        self.shape = shape
        self._offset = offset

    def _read(self, start: int, stop: int) -> np.ndarray:
        width = self.shape[1]
        count = (stop - start) * width
        offset = self._offset + start * width * self.stored.itemsize
        values = np.fromfile(self._path, dtype=self.stored, count=count, offset=offset)
        if len(values) < count:
            msg = f"{self._path}: ends before row {stop} of {self.shape[0]}: it has been truncated"
            raise FileError(msg)
        return values.reshape(stop - start, width)


class HDF5Source(Source):
    """A dataset of an HDF5 file."""

    travels = True

    def __init__(self, path: str, name: str, dataset: Any = None) -> None:
        self._path = str(Path(path).resolve())
        self._name = name
        self._dataset = self._open() if dataset is None else dataset
        self.shape = tuple(self._dataset.shape)
        self.stored = np.dtype(self._dataset.dtype)

    def _open(self) -> Any:
        return _import("h5py").File(self._path, "r")[self._name]

    def _read(self, start: int, stop: int) -> np.ndarray:
        if self._dataset is None:
            self._dataset = self._open()
        return np.asarray(self._dataset[start:stop])

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_dataset": None}


class ParquetSource(Source):
    """The numeric columns of one parquet file or several, read by row groups."""

    travels = True

    def __init__(self, paths: list[str]) -> None:
        self._paths = [str(Path(path).resolve()) for path in paths]
        groups: list[tuple[int, int, int, int]] = []  # first row, stop, file, group
        sizes, row = [0], 0
        schema = None
        for i, file in enumerate(self._files):
            if schema is not None and not file.schema_arrow.equals(schema):
                msg = f"{self._paths[i]}: its columns are not those of {self._paths[0]}: give files of one table"
                raise FileError(msg)
            schema = file.schema_arrow
            for g in range(file.num_row_groups):
                group = file.metadata.row_group(g)
                groups.append((row, row + group.num_rows, i, g))
                sizes.append(group.total_byte_size)
                row += group.num_rows
        self._groups = groups
        self._largest = 2 * max(sizes)  # the table, and its columns side by side
        types = [field.type.to_pandas_dtype() for field in schema] if schema is not None else []
        for field, kind in zip(schema or [], types, strict=True):
            if np.dtype(kind).kind not in "fiub":
                msg = f"{self._paths[0]}: column {quoted(field.name)} holds no numbers but {field.type}: leave it out"
                raise FileError(msg)
        self.stored = np.dtype(np.result_type(*types)) if types else np.dtype(np.float64)
        self.shape = (row, len(types))

    @cached_property
    def _files(self) -> list[Any]:
        parquet = _import("pyarrow.parquet")
        return [parquet.ParquetFile(path) for path in self._paths]

    @property
    def largest_piece(self) -> int:
        """As in `Source`; a row group is read whole."""
        return self._largest

    def _read(self, start: int, stop: int) -> np.ndarray:
        result = np.empty((stop - start, self.shape[1]), dtype=self.stored)
        for first, last, file, group in self._groups:
            begin, end = max(first, start), min(last, stop)
            if begin < end:
                # The group after the next is seldom asked for before it: one is kept.
                if self.__dict__.get("_held", (None,))[0] != (file, group):
                    table = self._files[file].read_row_group(group)
                    columns = [column.to_numpy(zero_copy_only=False) for column in table.columns]
                    self.__dict__["_held"] = ((file, group), np.column_stack(columns))
                result[begin - start : end - start] = self.__dict__["_held"][1][begin - first : end - first]
        return result

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_files", "_held")}


def open_matrix(path: str | os.PathLike[str], array: str | None = None) -> Source:
    """Open a matrix in a file, to be read by blocks of rows.

    Parameters
    ----------
    path : str or path-like
        A .npy file, a .parquet file or a directory of them, an HDF5 file (.h5, .hdf5) or a .zarr directory.
    array : str, optional
        Which array of an HDF5 file or a zarr group; by default "X", or the only one with two dimensions.

    Returns
    -------
    source
        To be given to ``fit`` or ``predict`` in the place of X. Nothing but its description has been read.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> from l0graph import L1Graph
    >>> from l0graph.datasets import make_subspaces
    >>> from l0graph.scale import open_matrix
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "points.npy"
    >>> np.save(file, make_subspaces(30, n_subspaces=2, dim=2, ambient_dim=8, random_state=0)[0])
    >>> L1Graph(2, random_state=0).fit(open_matrix(file)).labels_[[0, 1, -2, -1]]
    array([0, 0, 1, 1])
    """
    path = Path(path)
    ending = path.suffix.lower()
    if not path.exists():
        msg = f"{path}: no such file: check the path"
        raise FileError(msg)
    if ending not in ENDINGS:
        msg = f"{path}: cannot read files ending in {quoted(ending)} by blocks: give one of {', '.join(ENDINGS)}"
        raise FileError(msg)
    if array is not None and ending in (".npy", ".parquet"):
        msg = f"{path}: holds one matrix: leave the name {quoted(array)} out"
        raise FileError(msg)
    try:
        source = _opened(path, ending, array)
        source.check()
    except FileError:
        raise
    except (OSError, ValueError, KeyError) as error:
        msg = f"{path}: not readable as a {ending} matrix ({' '.join(str(error).split())}): write it again"
        raise FileError(msg) from error
    return source


def _opened(path: Path, ending: str, array: str | None) -> Source:
    if ending == ".npy":
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
        return source_of(mapped if mapped.flags.c_contiguous else np.asarray(mapped))
    if ending == ".parquet":
        files = sorted(path.glob("**/*.parquet")) if path.is_dir() else [path]
        if not files:
            msg = f"{path}: no .parquet file in it"
            raise FileError(msg)
        return ParquetSource([str(file) for file in files])
    if ending == ".zarr":
        zarr = _import("zarr")
        opened = zarr.open(str(path), mode="r")
        if isinstance(opened, zarr.Array):
            return ArraySource(opened)
        return ArraySource(opened[_chosen(path, dict(opened.arrays()), array)])
    h5py = _import("h5py")
    with h5py.File(path, "r") as file:
        found = {name: item for name, item in file.items() if isinstance(item, h5py.Dataset)}
        name = array if array is not None and array in file else _chosen(path, found, array)
    return HDF5Source(str(path), name)


def _chosen(path: Path, found: dict[str, Any], array: str | None) -> str:
    """Return the name of the array that is meant."""
    matrices = [name for name, item in found.items() if len(item.shape) == 2]
    name = array or ("X" if "X" in found else matrices[0] if len(matrices) == 1 else None)
    if name not in found:
        held = ", ".join(map(quoted, found)) or "none"
        msg = f"{path}: which array? It holds {held}: name one of two dimensions with --array (array= in Python)"
        raise FileError(msg)
    return str(name)


def is_external(X: Any) -> bool:
    """Return whether X is not an ordinary array in memory: it is then read by blocks, and never held whole."""
    return isinstance(X, (Source, np.memmap)) or _package(X) in ("zarr", "h5py", "dask")


def source_of(X: Any) -> Source:
    """Return X as a source."""
    if isinstance(X, Source):
        return X
    if isinstance(X, np.memmap) and X.ndim == 2:
        where = _place(X)
        source: Source = ArraySource(X) if where is None else BinarySource(*where)
    elif _package(X) == "dask":
        source = DaskSource(X)
    elif _package(X) == "h5py":
        source = HDF5Source(X.file.filename, X.name, X)
    else:
        source = ArraySource(X if hasattr(X, "dtype") and hasattr(X, "shape") else np.asarray(X))
    source.check()
    return source


def _place(X: np.memmap) -> tuple[str, np.dtype, tuple[int, ...], int] | None:
    """Return where the rows of a map are in its file; None where they are not simply there."""
    owner = X._mmap  # type: ignore[attr-defined]
    if owner is None or X.filename is None or X.mode == "c" or not X.flags.c_contiguous or X.dtype.hasobject:
        return None
    if X.flags.writeable:
        X.flush()  # what was written through the map must be in the file
    # A view keeps the offset of the map that it was taken from: addresses tell where it begins.
    begins = X.offset - X.offset % mmap.ALLOCATIONGRANULARITY
    address = np.frombuffer(owner, dtype=np.uint8, count=1).__array_interface__["data"][0]
    return str(X.filename), X.dtype, X.shape, begins + X.__array_interface__["data"][0] - address


def _package(X: Any) -> str:
    return type(X).__module__.split(".")[0]


def _import(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        package = name.split(".")[0]
        msg = f"this needs {package}, which is not installed: pip install 'l0graph[io]'"
        raise ImportError(msg) from error

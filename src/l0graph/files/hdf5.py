"""Matrices from HDF5 files: .h5 and .hdf5, .h5ad of AnnData, .mat of MATLAB 7.3.

Only what is in the file itself is read: links, virtual data sets and data kept in other files are refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .columns import Columns
from .errors import FileError, first_line, listed, optional_package, quoted
from .memory import check_fits
from .sparse import compressed
from .table import Table, as_labels, check_declared, check_vector, split_columns

_MOST_VISITED = 10_000
"""Objects looked at for one that can be meant."""


def read_hdf5(path: Path, columns: Columns, array: str | None) -> Table:
    """Return one matrix of an HDF5 file: the named one, else "X", else the only one; labels may be another data set."""
    h5py = optional_package("h5py", path)
    try:
        with h5py.File(path, "r") as file:
            return _Reader(h5py, file, path).table(columns, array)
    except FileError:
        raise
    except Exception as error:  # a damaged file fails in as many ways as the HDF5 library can
        msg = f"{path}: not a readable HDF5 file, truncated or damaged ({first_line(error)}): write it again"
        raise FileError(msg) from error


class _Reader:
    """An open file."""

    def __init__(self, h5py: Any, file: Any, path: Path) -> None:
        self.h5py, self.file, self.path = h5py, file, path
        self.is_matlab = path.suffix.lower() == ".mat"  # which has columns where the others have rows
        self.is_anndata = path.suffix.lower() == ".h5ad"

    def table(self, columns: Columns, array: str | None) -> Table:
        """Return the matrix and what came with it."""
        name = array if array is not None else self._choose()
        node = self._find(name)
        if node is None:
            msg = f"{self.path}: holds no data set {quoted(name)}; it holds {self._contents()}: choose one with --array"
            raise FileError(msg)
        X = self._matrix(node, f"{self.path}: data set {quoted(name)}")
        table = split_columns(X.T if self.is_matlab else X, columns, self.path, self._vector)
        if not self.is_anndata or table.ids is not None:
            return table
        names = self._anndata_index("obs")
        return table if names is None else Table(table.X, labels=table.labels, ids=names, id_name="cell")

    def _find(self, name: str) -> Any:
        """Return the group or data set of this name, None if there is none; raise where it is elsewhere."""
        node = self.file
        for part in filter(None, name.split("/")):
            if not isinstance(node, self.h5py.Group):
                return None
            link = node.get(part, getlink=True)
            if link is None:
                return None
            if not isinstance(link, self.h5py.HardLink):
                msg = f"{self.path}: {quoted(name)} is a link, which is not followed: name the data set it stands for"
                raise FileError(msg)
            node = node[part]
        return None if node is self.file else node

    def _matrix(self, node: Any, what: str) -> np.ndarray:
        if isinstance(node, self.h5py.Group):
            return self._sparse_matrix(node, what)
        self._check_own(node, what)
        if _text(node.attrs.get("MATLAB_class")) in ("char", "cell"):
            msg = f"{what}: text or cells of MATLAB, where a matrix of numbers is needed: choose another with --array"
            raise FileError(msg)
        check_declared(node.dtype, node.shape or (), what)
        return node[()]

    def _sparse_matrix(self, group: Any, what: str) -> np.ndarray:
        """Return a compressed sparse matrix, of AnnData or MATLAB, dense."""
        row_names = {"MATLAB_sparse": ("ir", "jc"), "": ("indices", "indptr")}
        is_matlab = "MATLAB_sparse" in group.attrs
        kind = _text(group.attrs.get("encoding-type", group.attrs.get("h5sparse_format", "")))
        indices, starts = (self._part(group, part, what) for part in row_names["MATLAB_sparse" if is_matlab else ""])
        data = self._part(group, "data", what)
        if is_matlab:
            # Its columns, which are the rows of all else in such a file.
            shape: tuple[int, ...] = (len(starts) - 1, int(group.attrs["MATLAB_sparse"]))
            by_rows = True
        else:
            shape = tuple(map(int, group.attrs.get("shape", group.attrs.get("h5sparse_shape", ()))))
            by_rows = kind.startswith("csr")
        if len(shape) != 2 or min(shape) < 0:
            msg = f"{what}: declares the impossible shape {shape}: write it again"
            raise FileError(msg)
        check_declared(np.dtype(np.float64), shape, f"{what}, which is sparse and becomes dense,")
        return compressed(data, indices, starts, shape, by_rows=by_rows).toarray()

    def _part(self, group: Any, name: str, what: str) -> np.ndarray:
        part = group.get(name, getlink=True)
        if not isinstance(part, self.h5py.HardLink):
            msg = f"{what}: a group without the part {quoted(name)} of a sparse matrix: choose a data set with --array"
            raise FileError(msg)
        self._check_own(group[name], what)
        if group[name].dtype.kind not in "fiub" or group[name].ndim != 1:
            msg = f"{what}: {quoted(name)} is {group[name].dtype} of shape {group[name].shape}: not a sparse matrix"
            raise FileError(msg)
        check_fits(group[name].nbytes, what)
        return group[name][()]

    def _check_own(self, dataset: Any, what: str) -> None:
        if not isinstance(dataset, self.h5py.Dataset):
            msg = f"{what}: no data set: choose another with --array"
            raise FileError(msg)
        if dataset.external or dataset.is_virtual:
            msg = f"{what}: its data are kept in other files, which are not opened: copy them into this one"
            raise FileError(msg)

    def _vector(self, name: str) -> np.ndarray | None:
        """Return labels or ids by the name of their data set, or of the column of ``obs`` in AnnData's files."""
        node = self._find(f"obs/{name}") if self.is_anndata else None
        node = self._find(name) if node is None else node
        what = f"{self.path}: data set {quoted(name)}"
        if node is None:
            return None
        if isinstance(node, self.h5py.Group):
            if not {"codes", "categories"} <= set(node):
                msg = f"{what}: a group, where labels and ids are one number or string a sample: name another"
                raise FileError(msg)
            codes, categories = self._part(node, "codes", what), self._column(node["categories"], what)
            if len(codes) and not (codes.min() >= -1 and codes.max() < len(categories)):
                msg = f"{what}: its codes do not match its {len(categories)} categories: write it again"
                raise FileError(msg)
            return np.array([*categories.astype(str).tolist(), ""], dtype=object)[codes]
        return self._column(node, what)

    def _column(self, dataset: Any, what: str) -> np.ndarray:
        self._check_own(dataset, what)
        if self.h5py.check_string_dtype(dataset.dtype) is not None and dataset.ndim == 1:
            check_fits(64 * dataset.size, what)
            return np.asarray(dataset.asstr(errors="replace")[()], dtype=object)
        check_vector(dataset.dtype, dataset.shape or (), what)
        return np.asarray(dataset[()]).ravel()

    def _anndata_index(self, axis: str) -> np.ndarray | None:
        group = self._find(axis)
        if not isinstance(group, self.h5py.Group):
            return None
        index = self._find(f"{axis}/{_text(group.attrs.get('_index', '_index'))}")
        return as_labels(self._column(index, f"{self.path}: names in {axis}")) if index is not None else None

    def _choose(self) -> str:
        """Return the name of the data set that can only be meant."""
        if "X" in self.file or self.is_anndata:
            return "X"
        matrices = self._matrices()
        if len(matrices) == 1:
            return matrices[0]
        found = f"{len(matrices)} matrices, none of them named X" if matrices else "no matrix of numbers"
        advice = "choose one with --array" if matrices else "one of shape (n_samples, n_features) is needed"
        msg = f"{self.path}: {found}; it holds {self._contents()}: {advice}"
        raise FileError(msg)

    def _matrices(self) -> list[str]:
        """Return the names of all matrices, sparse ones by their groups."""
        found: list[str] = []

        def look(name: str, node: Any) -> None:
            if name.startswith("#refs#"):
                return
            if isinstance(node, self.h5py.Group):
                if {"MATLAB_sparse", "h5sparse_format"} & set(node.attrs) or "_matrix" in _text(
                    node.attrs.get("encoding-type")
                ):
                    found.append(name)
            elif node.dtype.kind in "fiub" and node.ndim == 2 and 1 not in node.shape:
                found.append(name)

        self._visit(look)
        return found

    def _contents(self) -> str:
        """Return the names of the data sets with their types and shapes."""
        described: list[str] = []

        def look(name: str, node: Any) -> None:
            if isinstance(node, self.h5py.Dataset):
                described.append(f"{quoted(name)} ({node.dtype} of shape {node.shape})")

        self._visit(look)
        return listed(described) if described else "no data set at all"

    def _visit(self, look: Any) -> None:
        """Call ``look`` for each object in the file, through no links, as long as they are not too many."""
        left = _MOST_VISITED

        def visit(name: str, node: Any) -> bool | None:
            nonlocal left
            left -= 1
            look(name, node)
            return True if left == 0 else None

        self.file.visititems(visit)


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value) if value is not None else ""

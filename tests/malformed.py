"""Files that cannot be read as a matrix, and what must be said of each; for the tests of files and of the command."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.io
import scipy.sparse as sp

X = np.array([[1.0, 2.5, -3.0], [0.25, 5.0, 1e-3], [7.0, 8.0, 9.0]])


def npy_bytes(array: np.ndarray, *, allow_pickle: bool = False) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=allow_pickle)
    return buffer.getvalue()


def npz_bytes(**arrays: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def npy_header(shape: tuple[int, ...]) -> bytes:
    """A header alone: what a file that lies about its size begins with."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return buffer.getvalue()


def npz_with(member: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, content)
    return buffer.getvalue()


def damaged(content: bytes) -> bytes:
    return content[:60] + bytes(20) + content[80:]


def sparse_npz() -> bytes:
    buffer = io.BytesIO()
    sp.save_npz(buffer, sp.csr_array(X))
    return buffer.getvalue()


def parquet_bytes(**columns: Any) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def matlab_bytes(**variables: Any) -> bytes:
    buffer = io.BytesIO()
    scipy.io.savemat(buffer, variables, do_compression=True)
    return buffer.getvalue()


def hdf5_bytes(fill: Callable[[h5py.File], object] | None = None, *, matlab: bool = False, **datasets: Any) -> bytes:
    """An HDF5 file of some data sets, and of what ``fill`` puts into it; with the first bytes of a MATLAB 7.3 file."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "a.h5"
        with h5py.File(path, "w", userblock_size=512 if matlab else 0) as file:
            for name, values in datasets.items():
                file[name] = values
            if fill is not None:
                fill(file)
        content = path.read_bytes()
    return b"MATLAB 7.3 MAT-file".ljust(512, b"\0") + content[512:] if matlab else content


def hdf5_sparse(
    group: h5py.Group, matrix: sp.csr_array, kind: str = "csr_matrix", shape: tuple[int, int] | None = None
) -> None:
    """Put a compressed sparse matrix into a group as AnnData does."""
    group.attrs["encoding-type"] = kind
    group.attrs["shape"] = matrix.shape if shape is None else shape
    for part in ("data", "indices", "indptr"):
        group[part] = getattr(matrix, part)


def _external_link(file: h5py.File) -> None:
    file["X"] = h5py.ExternalLink("/etc/passwd", "X")


def _external_storage(file: h5py.File) -> None:
    file.create_dataset("X", (3, 3), "f8", external=[("/etc/passwd", 0, 72)])


def _virtual(file: h5py.File) -> None:
    layout = h5py.VirtualLayout((3, 3), "f8")
    layout[:] = h5py.VirtualSource("other.h5", "X", (3, 3))
    file.create_virtual_dataset("X", layout)


def _petabyte(file: h5py.File) -> None:
    file.create_dataset("X", (10**9, 10**6), "f8", chunks=(1000, 1000))


def _wrong_indices(file: h5py.File) -> None:
    hdf5_sparse(file.create_group("X"), sp.csr_array(X), shape=(3, 2))


def _vast_sparse(file: h5py.File) -> None:
    hdf5_sparse(file.create_group("X"), sp.csr_array(X), shape=(10**9, 10**9))


OBJECTS = np.array([[1, "a"], [2, "b"]], dtype=object)

# name of the file, its content, words that the message must have
MALFORMED = {
    "no ending": ("matrix", b"1,2\n", "ending in ''"),
    "unknown ending": ("matrix.txt", b"1,2\n", ".npy, .npz, .csv, .tsv, .parquet"),
    "csv: no bytes": ("a.csv", b"", "empty"),
    "csv: blank lines": ("a.csv", b"\n \n\n", "empty"),
    "csv: header only": ("a.csv", b"x,y\n", "no sample"),
    "csv: not a number": ("a.csv", b"x,y\n1,2\n3,abc\n", "line 3, column 2 ('y'): 'abc'"),
    "csv: not a number, no header": ("a.csv", b"1,2\n\n3,abc\n", "line 3, column 2: 'abc'"),
    "csv: empty cell": ("a.csv", b"1,2\n,4\n", "line 2, column 1: the cell is empty"),
    "csv: nan": ("a.csv", b"x,y\n1,2\n3,nan\n", "line 3, column 2 ('y'): 'nan'"),
    "csv: infinite": ("a.csv", b"1,2\n1e999,4\n", "line 2, column 1"),
    "csv: underscore": ("a.csv", b"1,2\n3,4_0\n", "'4_0'"),
    "csv: ragged": ("a.csv", b"1,2\n3\n", "line 2: cells number 1"),
    "csv: half a header": ("a.csv", b"1,x\n3,4\n", "--header"),
    "csv: id column": ("a.csv", b"id,x\na1,2\nb1,3\n", "--drop-column"),
    "csv: open quotation": ("a.csv", b'1,"2\n3,4\n', "is not a number"),
    "csv: huge cell": ("a.csv", b'1,"' + b"2" * 200_000, "table"),
    "csv: UTF-16": ("a.csv", "1,2\n3,4\n".encode("utf-16"), "UTF-16"),
    "csv: Latin-1": ("a.csv", "é,y\n1,2\n".encode("latin-1"), "UTF-8"),
    "csv: really npy": ("a.csv", npy_bytes(X), "a .npy file"),
    "csv: really zip": ("a.csv", npz_bytes(X=X), "a zip archive"),
    "csv: really gzip": ("a.csv", b"\x1f\x8b\x08", "gzip"),
    "csv: binary": ("a.csv", b"abc\0\0", "binary"),
    "tsv: commas": ("a.tsv", b"1,2\n3,4\n", "'3,4'"),
    "npy: no bytes": ("a.npy", b"", "empty"),
    "npy: really text": ("a.npy", b"1,2\n3,4\n", "some other file"),
    "npy: really npz": ("a.npy", npz_bytes(X=X), "a zip archive"),
    "npy: magic cut off": ("a.npy", b"\x93NUMPY\x01", "damaged"),
    "npy: header cut off": ("a.npy", npy_bytes(X)[:50], "damaged"),
    "npy: data cut off": ("a.npy", npy_bytes(X)[:-5], "truncated: 67 bytes of data, the header declares 72"),
    "npy: unknown version": ("a.npy", b"\x93NUMPY\x09\x00v\x00", "version 9.0"),
    "npy: endless header": ("a.npy", b"\x93NUMPY\x02\x00" + b"\xff" * 4 + b" " * 20_000, "damaged"),
    "npy: header nests too deep": ("a.npy", b"\x93NUMPY\x01\x00\x00\x20" + b"(" * 0x2000, "damaged"),
    "npy: negative shape": ("a.npy", npy_header((-3, 4)), "impossible shape"),
    "npy: declares a petabyte": ("a.npy", npy_header((10**9, 10**6)), "GiB of memory"),
    "npy: objects": ("a.npy", npy_bytes(OBJECTS, allow_pickle=True), "never unpickled"),
    "npy: text": ("a.npy", npy_bytes(np.array([["a", "b"]])), "not numeric"),
    "npy: dates": ("a.npy", npy_bytes(np.zeros((2, 2), dtype="M8[s]")), "not numeric"),
    "npy: structured": ("a.npy", npy_bytes(np.zeros(3, dtype=[("x", "f8")])), "not numeric"),
    "npy: complex": ("a.npy", npy_bytes(X + 1j), "complex"),
    "npy: 1-D": ("a.npy", npy_bytes(X[0]), "shape (3,)"),
    "npy: 3-D": ("a.npy", npy_bytes(X[None]), "shape (1, 3, 3)"),
    "npy: no samples": ("a.npy", npy_bytes(X[:0]), "shape (0, 3)"),
    "npy: no features": ("a.npy", npy_bytes(X[:, :0]), "shape (3, 0)"),
    "npy: nan": ("a.npy", npy_bytes(np.where(X == 5, np.nan, X)), "row 1, column 1 is nan"),
    "npz: no bytes": ("a.npz", b"", "empty"),
    "npz: really npy": ("a.npz", npy_bytes(X), "a .npy file"),
    "npz: garbage": ("a.npz", b"PK\x03\x04garbage", "not a readable .npz"),
    "npz: cut off": ("a.npz", npz_bytes(X=X)[:-30], "not a readable .npz"),
    "npz: damaged": ("a.npz", damaged(npz_bytes(X=X)), "not a readable .npz"),
    "npz: empty archive": ("a.npz", b"PK\x05\x06" + bytes(18), "no array at all"),
    "npz: no arrays": ("a.npz", npz_with("readme.txt", b"hello"), "no array at all"),
    "npz: only 1-D": ("a.npz", npz_bytes(y=X[0]), "'y' (float64 of shape (3,))"),
    "npz: two matrices": ("a.npz", npz_bytes(A=X, B=X), "--array"),
    "npz: objects": ("a.npz", npz_with("X.npy", npy_bytes(OBJECTS, allow_pickle=True)), "never unpickled"),
    "npz: bomb": ("a.npz", npz_with("X.npy", npy_header((10**6, 10**6)) + bytes(10**6)), "GiB of memory"),
    "npz: fewer data than declared": ("a.npz", npz_with("X.npy", npy_bytes(X)[:-5]), "do not match"),
    "npz: sparse": ("a.npz", sparse_npz(), "toarray()"),
    "csv: labels that are not there": ("a.csv", b"x,y\n1,2\n3,cat\n", "--label-column y"),
    "parquet: no bytes": ("a.parquet", b"", "empty"),
    "parquet: really text": ("a.parquet", b"1,2\n3,4\n", "some other file"),
    "parquet: cut off": ("a.parquet", parquet_bytes(x=X[0], y=X[1])[:-20], "not a readable .parquet"),
    "parquet: damaged": ("a.parquet", damaged(parquet_bytes(x=X[0], y=X[1])), "a.parquet"),
    "parquet: text": ("a.parquet", parquet_bytes(x=X[0], y=["a", "b", "c"]), "'y' (string) is not numeric"),
    "parquet: dates": ("a.parquet", parquet_bytes(x=pa.array([1, 2], pa.timestamp("s"))), "not numeric"),
    "parquet: lists": ("a.parquet", parquet_bytes(x=[[1.0], [2.0]]), "not numeric"),
    "parquet: empty cell": ("a.parquet", parquet_bytes(x=[1.0, None]), "row 1 is empty (1 such"),
    "parquet: nan": ("a.parquet", parquet_bytes(x=[1.0, 2.0], y=[0.0, np.nan]), "row 1, column 1 is nan"),
    "parquet: no rows": ("a.parquet", parquet_bytes(x=X[0][:0]), "0 rows"),
    "parquet: no columns": ("a.parquet", parquet_bytes(), "0 columns"),
    "mat: no bytes": ("a.mat", b"", "empty"),
    "mat: really text": ("a.mat", b"1,2\n3,4\n", "some other file"),
    "mat: cut off": ("a.mat", matlab_bytes(X=X)[:-40], "not a readable .mat"),
    "mat: damaged": ("a.mat", matlab_bytes(X=X)[:140] + bytes(30) + matlab_bytes(X=X)[170:], "a.mat"),
    "mat: no variables": ("a.mat", matlab_bytes(), "no variable at all"),
    "mat: two matrices": ("a.mat", matlab_bytes(A=X, B=X), "--array"),
    "mat: text": ("a.mat", matlab_bytes(X=np.array(["abc", "def"])), "char of shape"),
    "mat: cells": ("a.mat", matlab_bytes(X=OBJECTS), "cell of shape"),
    "mat: struct": ("a.mat", matlab_bytes(X={"a": 1}), "struct of shape"),
    "mat: complex": ("a.mat", matlab_bytes(X=X + 1j), "complex"),
    "mat: 3-D": ("a.mat", matlab_bytes(X=np.zeros((2, 2, 2))), "shape (2, 2, 2)"),
    "mat: empty": ("a.mat", matlab_bytes(X=np.zeros((0, 3))), "shape (0, 3)"),
    "mat: nan": ("a.mat", matlab_bytes(X=np.where(X == 5, np.nan, X)), "row 1, column 1 is nan"),
    "mat: vast sparse": ("a.mat", matlab_bytes(X=sp.csc_matrix((10**6, 10**6))), "GiB of memory"),
    "mat 7.3: cut off": ("a.mat", hdf5_bytes(X=X, matlab=True)[:900], "not a readable HDF5"),
    "mat 7.3: header only": ("a.mat", b"MATLAB 7.3 MAT-file".ljust(512, b"\0"), "not a readable HDF5"),
    "h5: no bytes": ("a.h5", b"", "empty"),
    "h5: really npy": ("a.h5", npy_bytes(X), "a .npy file"),
    "h5: cut off": ("a.h5", hdf5_bytes(X=X)[:1000], "not a readable HDF5"),
    "h5: nothing": ("a.hdf5", hdf5_bytes(), "no data set at all"),
    "h5: two matrices": ("a.h5", hdf5_bytes(A=X, B=X), "'A' (float64 of shape (3, 3))"),
    "h5: only 1-D": ("a.h5", hdf5_bytes(y=X[0]), "no matrix"),
    "h5: strings": ("a.h5", hdf5_bytes(X=["a", "b"]), "Python objects"),
    "h5: complex": ("a.h5", hdf5_bytes(X=X + 1j), "complex"),
    "h5: 3-D": ("a.h5", hdf5_bytes(X=X[None]), "shape (1, 3, 3)"),
    "h5: no samples": ("a.h5", hdf5_bytes(X=X[:0]), "shape (0, 3)"),
    "h5: nan": ("a.h5", hdf5_bytes(X=np.where(X == 5, np.nan, X)), "row 1, column 1 is nan"),
    "h5: declares a petabyte": ("a.h5", hdf5_bytes(_petabyte), "GiB of memory"),
    "h5: a link to another file": ("a.h5", hdf5_bytes(_external_link), "a link"),
    "h5: data in another file": ("a.h5", hdf5_bytes(_external_storage), "kept in other files"),
    "h5: virtual": ("a.h5", hdf5_bytes(_virtual), "kept in other files"),
    "h5: a group": ("a.h5", hdf5_bytes(lambda file: file.create_group("X")), "without the part"),
    "h5ad: no X": ("a.h5ad", hdf5_bytes(Y=X), "no data set 'X'"),
    "h5ad: indices out of range": ("a.h5ad", hdf5_bytes(_wrong_indices), "not a readable HDF5"),
    "h5ad: vast": ("a.h5ad", hdf5_bytes(_vast_sparse), "GiB of memory"),
}

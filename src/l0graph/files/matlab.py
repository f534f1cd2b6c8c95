"""Matrices from .mat files of MATLAB: version 5 by SciPy; version 7.3 is HDF5, see there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.io import loadmat, whosmat

from .columns import Columns
from .errors import FileError, first_line, listed, quoted
from .memory import check_fits
from .table import Table, check_vector, split_columns

_INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
_NUMBERS = {"double", "single", "logical", "sparse", *_INTEGERS}


def read_matlab(path: Path, columns: Columns, array: str | None) -> Table:
    """Return one matrix of a .mat file: the named one, else "X", else the only one; labels may be another variable."""
    try:
        held = {name: (shape, kind) for name, shape, kind in whosmat(path)}
        name = array if array is not None else _choose(held, path)
        if name not in held:
            msg = f"{path}: holds no variable {quoted(name)}; it holds {_contents(held)}: choose one with --array"
            raise FileError(msg)
        shape, kind = held[name]
        what = f"{path}: variable {quoted(name)}"
        if kind not in _NUMBERS or len(shape) != 2:
            msg = f"{what}: {kind} of shape {tuple(shape)}, where a matrix of numbers is needed: see --array"
            raise FileError(msg)
        # Whatever its class is in MATLAB, numbers may be kept in a smaller one and become float64 here.
        check_fits(2 * 8 * shape[0] * shape[1], what)
        X = _load(path, name)
        if X.dtype.kind == "c":
            msg = f"{what}: holds complex numbers: save their real part or absolute value"
            raise FileError(msg)
        X = X.toarray() if sp.issparse(X) else X
        return split_columns(X, columns, path, lambda vector: _vector(path, held, vector))
    except FileError:
        raise
    except Exception as error:  # a damaged file fails in as many ways as there are functions in the reader
        msg = f"{path}: not a readable .mat file, truncated or damaged ({first_line(error)}): save it again, with -v7"
        raise FileError(msg) from error


def _load(path: Path, name: str) -> Any:
    return loadmat(path, variable_names=[name])[name]


def _vector(path: Path, held: dict[str, tuple[Any, str]], name: str) -> np.ndarray | None:
    if name not in held:
        return None
    shape, kind = held[name]
    what = f"{path}: variable {quoted(name)}"
    if kind == "char":
        check_fits(8 * int(np.prod(shape)), what)
        return np.char.strip(np.atleast_1d(_load(path, name)))
    if kind not in _NUMBERS - {"sparse"}:
        msg = f"{what}: {kind} of shape {tuple(shape)}, where labels and ids are numbers or rows of text: name another"
        raise FileError(msg)
    check_vector(np.dtype(np.float64), tuple(shape), what)
    return np.asarray(_load(path, name)).ravel()


def _choose(held: dict[str, tuple[Any, str]], path: Path) -> str:
    """Return the name of the variable that can only be meant."""
    if "X" in held:
        return "X"
    matrices = [name for name, (shape, kind) in held.items() if kind in _NUMBERS and len(shape) == 2 and 1 not in shape]
    if len(matrices) == 1:
        return matrices[0]
    found = f"{len(matrices) or 'no'} matri{'x' if not matrices else 'ces'} of numbers"
    advice = "choose one with --array" if matrices else "one of shape (n_samples, n_features) is needed"
    msg = f"{path}: {found}, none named X; it holds {_contents(held)}: {advice}"
    raise FileError(msg)


def _contents(held: dict[str, tuple[Any, str]]) -> str:
    if not held:
        return "no variable at all"
    return listed([f"{quoted(name)} ({kind} of shape {tuple(shape)})" for name, (shape, kind) in held.items()])

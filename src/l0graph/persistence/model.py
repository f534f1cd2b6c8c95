"""Fitted estimators to files and back.

To let a new estimator be saved: one row in _REQUIRED. To give an attribute a checked shape: one in _EXTENTS.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from l0graph.codes.working_set import Dictionary
from l0graph.estimators.l0 import L0Graph
from l0graph.estimators.l1 import L1Graph
from l0graph.estimators.omp import OMPGraph
from l0graph.estimators.regularized import RegularizedL0Graph
from l0graph.estimators.semi_supervised import GraphLabelSpreading, _NeighborGraph
from l0graph.estimators.smce import SMCE
from l0graph.estimators.spectral import SpectralGraph
from l0graph.files import FileError
from l0graph.files.errors import first_line, quoted
from l0graph.files.sparse import compressed
from l0graph.files.table import of_strings

from .archive import read_archive, write_archive

_FORMAT = 1
_DEEPEST = 4
"""Estimators in estimators in a file."""

_CLUSTERER = {"_fit_X", "labels_", "n_features_in_", "n_components_", "n_attached_"}
_REQUIRED: dict[type[Any], set[str]] = {
    **{kind: {*_CLUSTERER, "codes_"} for kind in (L0Graph, L1Graph, OMPGraph, RegularizedL0Graph, SMCE)},
    SpectralGraph: {*_CLUSTERER, "affinity_matrix_", "scales_"},
    GraphLabelSpreading: {"X_", "classes_", "label_distributions_", "n_features_in_", "_fitted_grapher", "_prior"},
    _NeighborGraph: set(),
}
"""What may be in a file, and the attributes that it is not fitted without."""
_CLASSES = {kind.__name__: kind for kind in _REQUIRED}

_EXTENTS = {
    "_fit_X": "atoms d",
    "X_": "n d",
    "labels_": "n",
    "atom_labels_": "atoms",
    "exemplars_": "atoms",
    "codes_": "n atoms",
    "atom_affinity_": "atoms atoms",
    "affinity_matrix_": "n n",
    "outliers_": "n d",
    "embedding_": "embedded m",
    "eigenvalues_": "m",
    "scales_": "n",
    "transduction_": "n",
    "classes_": "c",
    "label_distributions_": "n c",
    "_prior": "c",
    "feature_names_in_": "d",
}
"""Shapes: kernels trust them. The same word is the same number all over a model; atoms are all samples or exemplars."""
_LABELS = ("labels_", "atom_labels_")

_FLOATS = ("_fit_X", "X_", "scales_", "label_distributions_", "_prior")

_REBUILT: dict[str, Callable[[Any], Any]] = {"_dictionary": lambda estimator: Dictionary(estimator.X_)}
"""Attributes that follow from others."""


def save_model(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Save a fitted estimator, so that `load_model` returns an equal one.

    Parameters
    ----------
    estimator : estimator of this library
        Fitted.
    path : str or path-like
        The file; any name, ``.l0graph`` at its end by custom. It is written whole or not at all.

    Raises
    ------
    FileError
        If it cannot be written.
    TypeError
        If the estimator is not of this library, or has a parameter that can only be pickled, such as a RandomState.

    Notes
    -----
    The file is a zip archive of plain .npy arrays and one JSON text. Nothing in it is pickled, so a file from a
    stranger can do no more than be refused. It has the training samples in it, which `predict` needs.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from l0graph import L0Graph, load_model, save_model
    >>> from l0graph.datasets import make_subspaces
    >>> X, y = make_subspaces(30, n_subspaces=2, dim=2, ambient_dim=8, random_state=0)
    >>> model = L0Graph(n_clusters=2, random_state=0).fit(X)
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "model.l0graph"
    >>> save_model(model, file)
    >>> bool((load_model(file).predict(X) == model.predict(X)).all())
    True
    """
    if type(estimator) not in _REQUIRED or isinstance(estimator, _NeighborGraph):
        msg = f"only estimators of l0graph can be saved, got {type(estimator).__name__}"
        raise TypeError(msg)
    check_is_fitted(estimator)
    arrays: dict[str, np.ndarray] = {}
    facts = {"format": _FORMAT, "l0graph": _version(), "numpy": np.__version__, **_described(estimator, "", arrays)}
    write_archive(os.fspath(path), facts, arrays)


def load_model(path: str | os.PathLike[str]) -> Any:
    """Return the estimator that `save_model` wrote to a file.

    Parameters
    ----------
    path : str or path-like
        The file. One from a stranger may be loaded: nothing in it can run, and whatever is wrong in it is refused.

    Returns
    -------
    estimator
        Fitted, of the class that was saved.

    Raises
    ------
    FileError
        If the file is not such a model. The message is one line.

    Examples
    --------
    See `save_model`.
    """
    path = Path(path)
    if not path.is_file():
        msg = f"{path}: {'not a regular file' if path.exists() else 'no such file'}: check the path of the model"
        raise FileError(msg)
    facts, arrays = read_archive(path)
    if facts.get("format") != _FORMAT:
        written, by = (quoted(str(facts.get(name))) for name in ("format", "l0graph"))
        msg = f"{path}: a model of format {written}, by l0graph {by}; this l0graph reads format {_FORMAT}: upgrade it"
        raise FileError(msg)
    try:
        return _Decoder(arrays).estimator(facts)
    except MemoryError:
        raise
    except Exception as error:  # what should be there is not, or is something else
        msg = f"{path}: not a model that l0graph saved ({first_line(error)}): save it again with save_model"
        raise FileError(msg) from error


def _version() -> str:
    try:
        return version("l0graph")
    except PackageNotFoundError:
        return "unknown"


def _parameters(estimator: Any) -> dict[str, Any]:
    if isinstance(estimator, _NeighborGraph):
        return dict(vars(estimator))
    return dict(estimator.get_params(deep=False))


def _described(estimator: Any, prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return an estimator as JSON has it, with its arrays put beside it."""
    parameters = _parameters(estimator)
    attributes = {name: value for name, value in vars(estimator).items() if name not in parameters}
    return {
        "class": type(estimator).__name__,
        "parameters": {name: _encoded(value, f"{prefix}{name}", arrays) for name, value in parameters.items()},
        "attributes": {
            name: _encoded(value, f"{prefix}{name}", arrays)
            for name, value in attributes.items()
            if name not in _REBUILT
        },
    }


def _encoded(value: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    """Return a value as JSON has it; arrays are put beside it under their name."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if sp.issparse(value):
        value = sp.csr_array(value)
        for part in ("data", "indices", "indptr"):
            arrays[f"{name}.{part}"] = getattr(value, part)
        return {"sparse": name, "shape": list(value.shape)}
    if isinstance(value, np.ndarray) and value.dtype.kind == "O" and all(isinstance(item, str) for item in value.flat):
        return {"strings": value.tolist()}
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiubU":
        arrays[name] = value
        return {"array": name}
    if isinstance(value, (list, tuple)):
        return {type(value).__name__: [_encoded(item, f"{name}.{i}", arrays) for i, item in enumerate(value)]}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": {key: _encoded(item, f"{name}.{key}", arrays) for key, item in value.items()}}
    if type(value) in _REQUIRED:
        return {"estimator": _described(value, f"{name}.", arrays)}
    msg = f"{name} is a {type(value).__name__}, which only pickle could keep: set it to a plain value before saving"
    raise TypeError(msg)


class _Decoder:
    """The way back; every step says what it does not find."""

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        self.arrays = arrays
        self.extents: dict[str, int] = {}
        self.depth = 0

    def estimator(self, facts: dict[str, Any]) -> Any:
        """Return the estimator described."""
        kind = _CLASSES.get(facts["class"])
        if kind is None:
            raise _Unfit("no estimator is called " + quoted(str(facts["class"])))
        self.depth += 1
        _require(self.depth <= _DEEPEST, "too many estimators in one another")
        estimator = kind(**{name: self.value(value) for name, value in facts["parameters"].items()})
        attributes = {name: self.value(value) for name, value in facts["attributes"].items()}
        self.depth -= 1
        if self.depth == 0 and "exemplars_" not in attributes and "labels_" in attributes:
            self.extents["n"] = self.extents["atoms"] = len(attributes["labels_"])
        for name, value in attributes.items():
            self.check(name, value, kind)
            setattr(estimator, name, value)
        if self.depth == 0:  # a clusterer inside a classifier is what its graph was made with, and not itself fitted
            required = _REQUIRED[kind] | ({"atom_labels_", "atom_affinity_"} if "exemplars_" in attributes else set())
            missing = sorted(required - attributes.keys())
            _require(not missing, f"{', '.join(missing)} missing")
            if isinstance(estimator, GraphLabelSpreading):
                for name, rebuilt in _REBUILT.items():
                    setattr(estimator, name, rebuilt(estimator))
        return estimator

    def value(self, value: Any) -> Any:
        """Return the value that JSON has so."""
        if not isinstance(value, dict):
            _require(not isinstance(value, list), "a list without its kind")
            return value
        if "array" in value:
            return self.arrays[value["array"]]
        if "sparse" in value:
            return self.sparse(value["sparse"], value["shape"])
        if "strings" in value:
            return of_strings([str(item) for item in value["strings"]])
        if "list" in value:
            return [self.value(item) for item in value["list"]]
        if "tuple" in value:
            return tuple(self.value(item) for item in value["tuple"])
        if "dict" in value:
            return {key: self.value(item) for key, item in value["dict"].items()}
        return self.estimator(value["estimator"])

    def sparse(self, name: str, shape: list[int]) -> sp.csr_array:
        """Return a sparse matrix that is one."""
        data, indices, indptr = (self.arrays[f"{name}.{part}"] for part in ("data", "indices", "indptr"))
        _require(data.dtype.kind == "f" and bool(np.isfinite(data).all()), f"{name} holds what is no finite number")
        return compressed(data, indices, indptr, tuple(shape), by_rows=True)

    def check(self, name: str, value: Any, kind: type[Any]) -> None:
        """Raise unless an attribute can be what it is called."""
        fitted = name.isidentifier() and name.endswith("_") and not name.startswith("_")
        known = fitted or name in _EXTENTS or name in ("_fitted_grapher", "_partners")
        _require(known and not hasattr(kind, name), f"no attribute is called {quoted(name)}")
        if name == "_fitted_grapher":
            _require(hasattr(value, "_code"), "the graph of the classifier is missing")
        if name == "n_features_in_":
            self.agree(name, (value,), "d")
        if name in _EXTENTS:
            _require(isinstance(value, np.ndarray) or sp.issparse(value), f"{name} is no array")
            self.agree(name, value.shape, _EXTENTS[name])
            if isinstance(value, np.ndarray) and value.dtype.kind == "f":
                _require(bool(np.isfinite(value).all()), f"{name} holds what is no finite number")
        if name in _LABELS:
            fits = value.dtype.kind in "iu" and value.min(initial=0) >= 0 and value.max(initial=0) < len(value)
            _require(bool(fits), f"{name} holds what is no label")
        if name in _FLOATS:
            _require(isinstance(value, np.ndarray) and value.dtype.kind == "f", f"{name} is no array of numbers")
        if name in ("codes_", "affinity_matrix_", "atom_affinity_", "outliers_"):
            _require(sp.issparse(value), f"{name} is not sparse")

    def agree(self, name: str, shape: tuple[int, ...], called: str) -> None:
        """Raise unless the extents are those of other arrays with the same letters."""
        letters = called.split()
        extents = [self.extents.setdefault(letter, extent) for letter, extent in zip(letters, shape, strict=False)]
        fits = len(shape) == len(letters) and extents == list(shape)
        _require(fits, f"{name} of shape {shape} does not fit the rest")


class _Unfit(ValueError):
    """What a file says is no model."""


def _require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise _Unfit(otherwise)

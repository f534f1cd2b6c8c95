"""Estimators and devices: where codes are made, and what goes back to the caller's library of arrays.

Two ways lead to a device. ``device=`` names one: samples are NumPy's and so are results. And scikit-learn's dispatch on
the array API, ``set_config(array_api_dispatch=True)``: samples are arrays of torch or CuPy, and so are labels and
embedding. The graph lives on the host either way.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn import get_config

from .._types import CodeResult
from ..backends import is_device_array, on_device, to_scipy
from ..backends.dictionary import Atoms
from ..backends.namespaces import Space, space_of
from ..codes._arrays import atoms_of, predict_labels

NATIVE = ("labels_", "embedding_", "eigenvalues_")
"""Fitted attributes that belong to the caller's library."""


def native_space(X: Any) -> Space | None:
    """Return the library and device of X where scikit-learn's dispatch is on, None where X is to be NumPy's."""
    return space_of(X) if get_config()["array_api_dispatch"] and is_device_array(X) else None


def on_host(array: Any) -> np.ndarray:
    """Return an array of any library as NumPy's."""
    return space_of(array).to_numpy(array) if is_device_array(array) else np.asarray(array)


def atoms_on(X: np.ndarray, device: str | None, space: Space | None) -> Atoms | None:
    """Return X on the device that was asked for by name, else on that of the caller's arrays; None for neither."""
    if device is not None:
        return atoms_of(on_device(X, device))
    return None if space is None else atoms_of(space.asarray(X))


def codes_on_host(result: CodeResult) -> CodeResult:
    """Return codes as SciPy's."""
    gap = None if result.gap is None else on_host(result.gap)
    return replace(result, codes=to_scipy(result.codes), gap=gap)


def predict_on_device(atoms: Atoms, codes: Any, labels: np.ndarray, X_new: np.ndarray) -> np.ndarray:
    """As `predict_labels` in `predict.py`, with products on the device."""
    return on_host(predict_labels(codes, atoms, labels, atoms.space.asarray(X_new)))

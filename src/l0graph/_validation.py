"""Checks of what users hand in. Everything behind the public functions trusts its arguments."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array


def check_data(X: Any, *, name: str = "X", min_samples: int = 2) -> np.ndarray:
    """Return X as a C-contiguous finite float32 or float64 array of shape (n_samples, n_features)."""
    X = check_array(X, dtype=[np.float64, np.float32], order="C", ensure_min_samples=min_samples, input_name=name)
    with np.errstate(over="ignore"):
        largest = max(X.max(initial=0.0), -X.min(initial=0.0))  # without a second X, as abs(X) would be
    # Inner products must be finite; sklearn's check only asks it of the entries.
    if largest > np.sqrt(np.finfo(X.dtype).max / (4 * X.shape[1])):
        msg = f"{name} has entries as large as {largest:.3g}, whose squares overflow {X.dtype}: rescale {name}"
        raise ValueError(msg)
    return X


def check_number(
    value: Any,
    name: str,
    *,
    above: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    integer: bool = False,
) -> None:
    """Raise unless ``value`` is a finite number (an integer if asked) within the bounds."""
    kind: Any = Integral if integer else Real
    if not isinstance(value, kind) or isinstance(value, (bool, np.bool_)):
        msg = f"{name} must be {'an integer' if integer else 'a number'}, got {value!r}"
        raise TypeError(msg)
    bounds = [
        (above is not None and not value > above, f"greater than {above}"),
        (at_least is not None and not value >= at_least, f"at least {at_least}"),
        (at_most is not None and not value <= at_most, f"at most {at_most}"),
        (not np.isfinite(float(value)), "finite"),
    ]
    for broken, demand in bounds:
        if broken:
            msg = f"{name} must be {demand}, got {value!r}"
            raise ValueError(msg)


def check_lipschitz(value: Any) -> None:
    """Raise unless ``value`` is a step constant: a number greater than 0, or "global"."""
    if not isinstance(value, str):
        check_number(value, "lipschitz", above=0)
    elif value != "global":
        msg = f"lipschitz must be a number or 'global', got {value!r}"
        raise ValueError(msg)


def check_option(value: Any, name: str, options: tuple[str, ...]) -> None:
    """Raise unless ``value`` is one of the named options."""
    if value not in options:
        msg = f"{name} must be one of {', '.join(map(repr, options))}, got {value!r}"
        raise ValueError(msg)


def check_n_clusters(n_clusters: Any, n_samples: int) -> None:
    """Raise unless ``n_samples`` samples can make ``n_clusters`` clusters."""
    check_number(n_clusters, "n_clusters", at_least=1, integer=True)
    if n_clusters > n_samples:
        msg = f"n_clusters={n_clusters} is more than the n_samples={n_samples} given: ask for fewer clusters"
        raise ValueError(msg)


def check_rows(rows: Any, n_samples: int) -> np.ndarray:
    """Return the indices of the samples to code: all of them for None."""
    if rows is None:
        return np.arange(n_samples)
    if isinstance(rows, slice):
        return np.arange(n_samples)[rows]
    rows = np.asarray(rows)
    if rows.ndim != 1 or not (rows.dtype.kind in "iu" or rows.size == 0):
        msg = f"rows must be None, a slice or a 1-D array of sample indices, got {rows.dtype} of shape {rows.shape}"
        raise ValueError(msg)
    rows = rows.astype(np.int64)
    if rows.size and not (rows.min() >= 0 and rows.max() < n_samples):
        msg = f"rows must lie in [0, {n_samples}), got values from {rows.min()} to {rows.max()}"
        raise ValueError(msg)
    return rows


def check_codes(codes: Any, shape: tuple[int, int] | None = None, *, name: str = "codes") -> sp.csr_array:
    """Return codes as a CSR array of floats, of the given shape if one is asked for."""
    if not sp.issparse(codes) and not isinstance(codes, np.ndarray):
        msg = f"{name} must be a sparse matrix or an ndarray, got {type(codes).__name__}"
        raise TypeError(msg)
    if np.iscomplexobj(codes):
        msg = f"{name} must be real, got {codes.dtype}: take absolute values"
        raise TypeError(msg)
    codes = sp.csr_array(codes)  # copies neither data nor indices of a CSR input; nothing below writes into them
    if shape is not None and codes.shape != shape:
        msg = f"{name} must have shape {shape}, got {codes.shape}"
        raise ValueError(msg)
    if codes.dtype not in (np.float32, np.float64):
        codes = codes.astype(np.float64)
    if not np.isfinite(codes.data).all():
        msg = f"{name} contain NaN or infinity"
        raise ValueError(msg)
    if not codes.has_canonical_format:
        codes = codes.copy()
        codes.sum_duplicates()
    return codes


def check_affinity(W: Any) -> sp.csr_array:
    """Return W as a square, symmetric, nonnegative CSR array of floats."""
    W = check_codes(W, name="W")
    if W.shape[0] != W.shape[1] or W.shape[0] == 0:
        msg = f"W must be square and not empty, got shape {W.shape}"
        raise ValueError(msg)
    if W.nnz and W.data.min() < 0:
        msg = f"W must be nonnegative, got an entry {W.data.min():.3g}: take absolute values, see affinity()"
        raise ValueError(msg)
    asymmetry = abs(W - W.T)
    tolerance = 1e-5 if W.dtype == np.float32 else 1e-10
    if asymmetry.nnz and asymmetry.max() > tolerance * W.data.max():
        msg = f"W must be symmetric, got entries that differ by {asymmetry.max():.3g}: see affinity()"
        raise ValueError(msg)
    return W

"""What a report says, as plain values: the one place that decides what goes into the page."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..diagnostics import Evidence, diagnose
from ..metrics import clustering_accuracy, normalized_mutual_info
from ..plots._map import cluster_map
from ..plots.images import as_images
from .choice import shown_samples, strongest_links
from .sprites import packed, sprite, thumbnails

_CELLS, _PAIRS = 240, 400
"""Cells along a side of the picture of the graph; up to so many samples each pair of them has its own."""
_DECADES = 3
_NEIGHBOURS = 8
_VALUES = 10
"""Features whose values are given for a sample that is no image."""
_BINS = 64
"""Points of the curve that shows such a sample as a whole."""
_ROWS = 2048


def report_content(
    estimator: Any,
    X: np.ndarray,
    *,
    name: str,
    y: ArrayLike | None,
    ids: ArrayLike | None,
    features: list[str] | None,
    image_shape: tuple[int, ...] | None,
    image_order: Literal["C", "F"],
    max_shown: int,
) -> dict[str, Any]:
    """Return all that the page shows, ready for JSON."""
    W, n = estimator.affinity_matrix_, len(X)
    names, clusters = np.unique(estimator.labels_, return_inverse=True)
    diagnosis = diagnose(estimator)
    shown = shown_samples(W, clusters, max_shown)
    drawn = cluster_map(estimator, shown)
    known = None if y is None else np.asarray(y).astype(str)
    content: dict[str, Any] = {
        "name": name,
        "shape": list(X.shape),
        "method": type(estimator).__name__,
        "total": n,
        "parameters": _parameters(estimator),
        "versions": _versions(),
        "seconds": [[stage, round(s, 4)] for stage, s in getattr(estimator, "stage_seconds_", {}).items()],
        "verdict": diagnosis.verdict,
        "findings": [[f.severity, f.name, f.text, f.advice] for f in diagnosis.findings],
        "facts": _facts(estimator, diagnosis.evidence, known),
        "clusters": _clusters(names, clusters, diagnosis.evidence, drawn.centers, known),
        "samples": _samples(estimator, diagnosis.evidence, clusters, shown, drawn.positions),
        "matrix": _matrix(W, clusters),
        "eigenvalues": _rounded(diagnosis.evidence.eigenvalues, 8),
        "gap": diagnosis.evidence.gap,
        "nonzeros": _histogram(diagnosis.evidence.nonzeros),
        "objective": _objective(estimator),
    }
    content["samples"]["ids"] = None if ids is None else [str(i) for i in np.asarray(ids)[shown].tolist()]
    content["samples"]["classes"] = None if known is None else known[shown].tolist()
    if image_shape is None:
        content["values"] = _values(X[shown], features)
    else:
        pictures = thumbnails(as_images(X[shown], image_shape, image_order))
        address, columns = sprite(pictures)
        content["images"] = {
            "sprite": address,
            "columns": columns,
            "height": pictures.shape[1],
            "width": pictures.shape[2],
        }
    return content


def _parameters(estimator: Any) -> list[list[Any]]:
    """Return name, value and whether it is not the default of each parameter."""
    defaults = type(estimator)().get_params(deep=False)
    return [
        [name, str(value), str(value) != str(defaults.get(name))]
        for name, value in estimator.get_params(deep=False).items()
    ]


def _versions() -> list[list[str]]:
    found = [["Python", platform.python_version()]]
    for package in ("l0graph", "numpy", "scipy", "scikit-learn", "numba"):
        try:
            found.append([package, version(package)])
        except PackageNotFoundError:
            found.append([package, "of a source tree"])
    return found


def _facts(estimator: Any, evidence: Evidence, known: np.ndarray | None) -> list[list[str]]:
    """Return the figures at the top: what, how much, and what that means."""
    attached = int(np.count_nonzero(~evidence.kept))
    facts = []
    if known is not None and (known != "").any():
        has = known != ""  # as in tables where some classes are missing
        accuracy = clustering_accuracy(known[has], estimator.labels_[has])
        information = normalized_mutual_info(known[has], estimator.labels_[has])
        facts.append(
            ["accuracy", f"{accuracy:.1%}", f"against the known classes; mutual information {information:.3f}"]
        )
    facts += [
        ["clusters", f"{len(evidence.sizes):,}", f"{evidence.sizes.min():,} to {evidence.sizes.max():,} samples"],
        ["weight inside clusters", f"{evidence.inside:.1%}", f"{max(0.0, evidence.separation):.0%} beyond chance"],
    ]
    if evidence.gap is not None:
        facts.append(["eigengap", f"{evidence.gap:.0%}", "of the next eigenvalue's distance from 1"])
    if evidence.nonzeros is not None:
        facts.append(["nonzeros a code", f"{evidence.nonzeros.mean():.1f}", f"at most {evidence.nonzeros.max():,}"])
    facts.append(["components", f"{evidence.n_components:,}", f"{attached:,} samples attached afterwards"])
    seconds = getattr(estimator, "stage_seconds_", None)
    if seconds:
        facts.append(["time", _duration(sum(seconds.values())), "without reading the data"])
    return facts


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.1f} min" if seconds >= 100 else f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"


def _clusters(
    names: np.ndarray, clusters: np.ndarray, evidence: Evidence, centers: np.ndarray, known: np.ndarray | None
) -> list[dict[str, Any]]:
    rows = []
    for c, label in enumerate(names.tolist()):
        members = clusters == c
        row = {
            "name": str(label),
            "size": int(np.count_nonzero(members)),
            "attached": int(np.count_nonzero(members & ~evidence.kept)),
            "center": _rounded(centers[c], 4),
        }
        if known is not None:
            classes, counts = np.unique(known[members], return_counts=True)
            row["class"] = str(classes[counts.argmax()])
            row["share"] = round(float(counts.max() / counts.sum()), 4)
        rows.append(row)
    return rows


def _samples(
    estimator: Any, evidence: Evidence, clusters: np.ndarray, shown: np.ndarray, positions: np.ndarray
) -> dict[str, Any]:
    W = estimator.affinity_matrix_
    links, held = [], []
    for i in shown.tolist():
        others, weights = strongest_links(W, i, _NEIGHBOURS)
        links.append(
            [[int(j), float(f"{w:.3g}"), int(clusters[j])] for j, w in zip(others.tolist(), weights, strict=True)]
        )
        begin, end = W.indptr[i : i + 2]
        total = float(W.data[begin:end].sum())
        inside = float(W.data[begin:end][clusters[W.indices[begin:end]] == clusters[i]].sum())
        held.append(round(inside / total, 4) if total > 0 else 0.0)
    return {
        "index": shown.tolist(),
        "cluster": clusters[shown].tolist(),
        "x": _rounded(positions[:, 0], 4),
        "y": _rounded(positions[:, 1], 4),
        "attached": (~evidence.kept[shown]).astype(int).tolist(),
        "held": held,
        "degree": np.diff(W.indptr)[shown].tolist(),
        "nonzeros": None if evidence.nonzeros is None else evidence.nonzeros[shown].tolist(),
        "residual": None
        if evidence.residuals is None
        else [None if np.isnan(r) else round(float(r), 4) for r in evidence.residuals[shown]],
        "links": links,
    }


def _matrix(W: sp.csr_array, clusters: np.ndarray) -> dict[str, Any]:
    """Return the graph as mean weights over square cells, sorted by cluster and in the order of the data."""
    n = len(clusters)
    per_cell = 1 if n <= _PAIRS else -(-n // _CELLS)
    by_cluster, by_input = np.argsort(clusters, kind="stable"), np.arange(n)
    pictures = {"cluster": _cells(W, by_cluster, per_cell), "input": _cells(W, by_input, per_cell)}
    strongest = max(float(cells.max(initial=0.0)) for cells in pictures.values()) or 1.0
    return {
        "side": -(-n // per_cell),
        "perCell": per_cell,
        "strongest": float(f"{strongest:.4g}"),
        "decades": _DECADES,
        "starts": np.concatenate([[0], np.cumsum(np.bincount(clusters))]).tolist(),
        "order": by_cluster.tolist() if per_cell == 1 else None,
        **{order: packed(_levels(cells, strongest)) for order, cells in pictures.items()},
    }


def _cells(W: sp.csr_array, order: np.ndarray, per_cell: int) -> np.ndarray:
    side = -(-len(order) // per_cell)
    cell_of = np.empty(len(order), dtype=np.int64)
    cell_of[order] = np.arange(len(order)) // per_cell
    total = np.zeros(side * side)
    for start in range(0, len(order), _ROWS):  # a full graph has n^2 entries: no copy of them all
        block = W[start : start + _ROWS].tocoo()
        rows, columns = block.coords
        cells = cell_of[start + rows] * side + cell_of[columns]
        total += np.bincount(cells, block.data, minlength=side * side)
    return total.reshape(side, side) / per_cell**2


def _levels(cells: np.ndarray, strongest: float) -> np.ndarray:
    """Return 0 for empty cells and 1 to 255 on a logarithmic scale of _DECADES powers of ten for others."""
    with np.errstate(divide="ignore"):
        level = 255 + 254 * np.log10(cells / strongest) / _DECADES
    return np.where(cells > 0, np.clip(np.round(level), 1, 255), 0)


def _histogram(nonzeros: np.ndarray | None) -> dict[str, Any] | None:
    if nonzeros is None:
        return None
    width = -(-(int(nonzeros.max(initial=0)) + 1) // 40)
    return {"width": width, "counts": np.bincount(nonzeros // width).tolist()}


def _objective(estimator: Any) -> list[float] | None:
    objective = np.asarray(getattr(estimator, "objective_", np.empty(0)), dtype=np.float64)
    return None if len(objective) < 3 else [float(f"{value:.8g}") for value in objective]


def _values(X: np.ndarray, features: list[str] | None) -> dict[str, Any]:
    """Return what is shown of samples that are no images: a few values, and a curve of all."""
    d = X.shape[1]
    bins = min(d, _BINS)
    edges = np.linspace(0, d, bins + 1).astype(np.int64)[:-1]
    curve = np.add.reduceat(X.astype(np.float64), edges, axis=1) / np.diff(np.append(edges, d))
    low, high = float(curve.min(initial=0.0)), float(curve.max(initial=0.0))
    scaled = (curve - low) / (high - low) if high > low else np.zeros_like(curve)
    names = [str(f) for f in features[:_VALUES]] if features is not None else [f"{j}" for j in range(min(d, _VALUES))]
    return {
        "names": names,
        "rows": [[float(f"{v:.4g}") for v in row] for row in X[:, :_VALUES].tolist()],
        "bins": bins,
        "curves": packed((255 * scaled).round()),
        "low": float(f"{low:.4g}"),
        "high": float(f"{high:.4g}"),
    }


def _rounded(values: np.ndarray, digits: int) -> list[float]:
    return np.asarray(values, dtype=np.float64).round(digits).tolist()

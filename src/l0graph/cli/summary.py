"""A fitted estimator in a few lines."""

from __future__ import annotations

from typing import Any

_MOST_SIZES = 20


def summary_lines(estimator: Any, shape: tuple[int, int]) -> list[str]:
    """Return what a person wants to know of a clustering, one fact a line."""
    n_samples, n_features = shape
    sizes = _cluster_sizes(estimator.labels_)
    seconds = estimator.stage_seconds_
    lines = {
        "data": f"{n_samples:,} samples, {n_features:,} features",
        "clusters": f"{len(sizes)} by {type(estimator).__name__}, of {_listed(sizes)} samples",
        **_codes(estimator),
        "graph": _graph(estimator),
        "seconds": f"{sum(seconds.values()):.2f} ({', '.join(f'{stage} {s:.2f}' for stage, s in seconds.items())})",
    }
    return [f"{name + ':':<10}{text}" for name, text in lines.items()]


def _cluster_sizes(labels: Any) -> list[int]:
    import numpy as np

    return np.unique(labels, return_counts=True)[1].tolist()


def _listed(sizes: list[int]) -> str:
    """Return all sizes in the order of the labels, or their range where there are many."""
    if len(sizes) <= _MOST_SIZES:
        return ", ".join(f"{size:,}" for size in sizes)
    return f"{min(sizes):,} to {max(sizes):,}"


def _codes(estimator: Any) -> dict[str, str]:
    """Return the line on codes, none for a graph that does not come from codes."""
    if not hasattr(estimator, "codes_"):
        return {}
    return {"codes": f"{estimator.codes_.nnz / estimator.codes_.shape[0]:.1f} nonzeros a sample"}


def _graph(estimator: Any) -> str:
    components = f"{estimator.n_components_:,} connected component{'s' * (estimator.n_components_ != 1)}"
    if not estimator.n_attached_:
        return components
    return f"{components}; {estimator.n_attached_:,} samples in fragments attached afterwards"

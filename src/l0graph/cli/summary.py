"""A fitted estimator in a few lines, or in as many facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

_MOST_SIZES = 20


def summary_lines(estimator: Any, shape: tuple[int, ...]) -> list[str]:
    """Return what a person wants to know of a clustering, one fact a line."""
    n_samples, n_features = shape
    sizes = sizes_of(estimator.labels_)
    seconds = estimator.stage_seconds_
    lines = {
        "data": f"{n_samples:,} samples, {n_features:,} features",
        "clusters": f"{len(sizes)} by {type(estimator).__name__}, of {_listed(sizes)} samples",
        **_codes(estimator),
        "graph": _graph(estimator),
        "seconds": f"{sum(seconds.values()):.2f} ({', '.join(f'{stage} {s:.2f}' for stage, s in seconds.items())})",
    }
    return [f"{name + ':':<11}{text}" for name, text in lines.items()]


def facts(estimator: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    """Return the same for a program."""
    parameters = {name: value for name, value in estimator.get_params(deep=False).items() if name != "n_clusters"}
    return {
        "n_samples": shape[0],
        "n_features": shape[1],
        "n_clusters": estimator.n_clusters,
        "sizes": sizes_of(estimator.labels_),
        "estimator": type(estimator).__name__,
        "parameters": parameters,
        "nonzeros": estimator.codes_.nnz / shape[0] if hasattr(estimator, "codes_") else None,
        "objective": float(estimator.objective_[-1]) if hasattr(estimator, "objective_") else None,
        "n_components": estimator.n_components_,
        "n_attached": estimator.n_attached_,
        "eigenvalues": estimator.eigenvalues_,
        "seconds": estimator.stage_seconds_,
    }


def comparison(known: np.ndarray | None, labels: np.ndarray) -> dict[str, Any]:
    """Return how the clusters agree with the known classes of the samples that have one; nothing without any."""
    if known is None:
        return {}
    import numpy as np

    from l0graph.metrics import clustering_accuracy, normalized_mutual_info

    has_class = known.astype(str) != ""
    if not has_class.any():
        return {}
    names = np.unique(known[has_class].astype(str), return_inverse=True)[1]
    found = np.unique(labels[has_class], return_inverse=True)[1]
    return {
        "accuracy": clustering_accuracy(names, found),
        "nmi": normalized_mutual_info(names, found),
        "n_compared": int(np.count_nonzero(has_class)),
    }


def compared_line(scores: dict[str, Any], column: str | None) -> list[str]:
    """Return the comparison as a line, if there is one."""
    if not scores:
        return [] if column is None else [f"compared:  no sample has a class in column {column}"]
    text = f"accuracy {scores['accuracy']:.4f}, NMI {scores['nmi']:.4f}"
    return [f"compared:  {text}, with column {column} of {scores['n_compared']:,} samples"]


def sizes_of(labels: Any) -> list[int]:
    """Return the sizes of the clusters in the order of their labels."""
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

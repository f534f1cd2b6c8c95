"""A fitted estimator as notebooks show it: scikit-learn's diagram, and under it what came out."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

_MOST_BARS = 30
_STYLE = """
.l0graph-fit {font: 13px/1.5 system-ui, sans-serif; margin: .4em 0 0; max-width: 46em}
.l0graph-fit dl {display: grid; grid-template-columns: max-content 1fr; gap: .1em 1em; margin: 0}
.l0graph-fit dt {opacity: .65}
.l0graph-fit dd {margin: 0}
.l0graph-fit .bars {display: flex; align-items: flex-end; gap: 2px; height: 2.6em}
.l0graph-fit .bars i {flex: 0 1 1.2em; background: #4477aa; min-height: 1px; border-radius: 1px 1px 0 0}
.l0graph-fit .warn {border-left: 3px solid #ccbb44; padding-left: .6em; margin: .4em 0 0}
"""


def fitted_html(estimator: Any) -> str:
    """Return sizes, graph, seconds and what to be warned of, as HTML; nothing for an estimator that is not fitted."""
    if not hasattr(estimator, "labels_"):
        return ""
    sizes = np.unique(estimator.labels_, return_counts=True)[1]
    n = len(estimator.labels_)
    facts = {
        "samples": escape(f"{n:,} with {estimator.n_features_in_:,} features"),
        "clusters": _sizes(sizes),
        "codes": escape(f"{estimator.codes_.nnz / n:.1f} nonzeros a sample") if hasattr(estimator, "codes_") else "",
        "graph": escape(f"{estimator.n_components_:,} connected component{'s' * (estimator.n_components_ != 1)}"),
        "seconds": escape(_seconds(estimator.stage_seconds_)),
    }
    rows = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in facts.items() if text)
    warnings = "".join(f'<p class="warn">{escape(text)}</p>' for text in _warnings(estimator, sizes))
    return f'<style>{_STYLE}</style><div class="l0graph-fit"><dl>{rows}</dl>{warnings}</div>'


def _sizes(sizes: np.ndarray) -> str:
    text = escape(f"{len(sizes)}, of {sizes.min():,} to {sizes.max():,} samples")
    if len(sizes) > _MOST_BARS:
        return text
    bars = "".join(
        f'<i style="height:{100 * size / sizes.max():.0f}%" title="cluster {label}: {size:,} samples"></i>'
        for label, size in enumerate(sizes.tolist())
    )
    return f'{text}<div class="bars">{bars}</div>'


def _seconds(seconds: dict[str, float]) -> str:
    stages = ", ".join(f"{stage} {value:.2f}" for stage, value in seconds.items())
    return f"{sum(seconds.values()):.2f} ({stages})"


def _warnings(estimator: Any, sizes: np.ndarray) -> list[str]:
    n, found = len(estimator.labels_), []
    if estimator.n_attached_:
        share = estimator.n_attached_ / n
        found.append(
            f"{estimator.n_attached_:,} samples ({share:.1%}) lie in fragments of the graph and were attached to their "
            "most similar samples' clusters" + (": a smaller penalty makes the graph denser." if share > 0.02 else ".")
        )
    if len(sizes) < estimator.n_clusters:
        found.append(f"Only {len(sizes)} of {estimator.n_clusters} clusters have samples.")
    return found

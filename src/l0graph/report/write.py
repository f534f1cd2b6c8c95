"""The page: one file, everything in it, nothing fetched."""

from __future__ import annotations

import base64
import html
import json
import os
from hashlib import sha256
from importlib.resources import files
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from .._validation import check_number
from ..diagnostics.evidence import check_graph
from ..files import atomic_write
from .content import report_content

_SCRIPTS = ("elements.js", "state.js", "charts.js", "map.js", "matrix.js", "samples.js", "page.js")
"""In this order; together they are one function."""


def write_report(
    estimator: Any,
    path: str | os.PathLike[str],
    X: ArrayLike | None = None,
    *,
    name: str = "",
    y: ArrayLike | None = None,
    ids: ArrayLike | None = None,
    features: list[str] | None = None,
    image_shape: tuple[int, ...] | None = None,
    image_order: Literal["C", "F"] = "C",
    max_shown: int = 3000,
) -> None:
    """Write a report on a fit: one HTML file to look at the clusters, with a verdict in words on what to think of them.

    Parameters
    ----------
    estimator : fitted clusterer
        `L0Graph` or any other clusterer of this library.
    path : str or path-like
        The file. It is written whole or not at all.
    X : array-like of shape (n_samples, n_features), optional
        The samples as they are to be shown; by default as the estimator has them, scaled to unit norm.
    name : str, default=""
        What the data are called.
    y : array-like of shape (n_samples,), optional
        Known classes, to compare with.
    ids : array-like of shape (n_samples,), optional
        Names of the samples, to show and to search for.
    features : list of str, optional
        Names of the features.
    image_shape : tuple of int, optional
        (height, width), or (height, width, 3) for colours, of samples that are images.
    image_order : {"C", "F"}, default="C"
        How a row runs through its image: "C" line by line, "F" column by column, as data from Matlab does.
    max_shown : int, default=3000
        Most samples to show one by one. Of more, as many are taken, a quarter at even distances from each cluster and
        neighbours of those; the page says so. Figures, curves and the picture of the graph are of all samples always.

    Notes
    -----
    The file needs no network and no other file, and asks for none: its content security policy forbids it. Text from
    the data is never taken for markup.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from l0graph import L0Graph
    >>> from l0graph.datasets import make_subspaces
    >>> from l0graph.report import write_report
    >>> X, y = make_subspaces(30, n_subspaces=3, dim=2, ambient_dim=8, random_state=0)
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "report.html"
    >>> write_report(L0Graph(3, random_state=0).fit(X), file, X, y=y, name="three planes")
    >>> file.stat().st_size < 200_000
    True
    """
    check_graph(estimator)
    check_number(max_shown, "max_shown", at_least=10, integer=True)
    n = len(estimator.labels_)
    X = estimator._fit_X if X is None else np.asarray(X)
    for what, value in (("X", X), ("y", y), ("ids", ids)):
        if value is not None and len(np.asarray(value)) != n:
            msg = f"{what} has {len(np.asarray(value))} entries, but the estimator was fitted to {n} samples"
            raise ValueError(msg)
    content = report_content(
        estimator,
        X,
        name=name,
        y=y,
        ids=ids,
        features=features,
        image_shape=image_shape,
        image_order=image_order,
        max_shown=max_shown,
    )
    with atomic_write(path) as file:
        file.write(_page(content))


def _page(content: dict[str, Any]) -> str:
    room = files(__package__) / "page"
    style = (room / "style.css").read_text(encoding="utf-8")
    parts = [(room / script).read_text(encoding="utf-8") for script in _SCRIPTS]
    script = "\n".join(["(() => {", '"use strict";', *parts, "})();"])
    filled = {
        "title": html.escape(f"{content['name'] or content['method']} - l0graph report"),
        "policy": f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; script-src '{_hash(script)}'",
        "style": style,
        "data": _json(content),
        "script": script,
    }
    page = (room / "page.html").read_text(encoding="utf-8")
    # One pass over the template: what is filled in is never searched for places to fill in.
    pieces = page.split("{{")
    return pieces[0] + "".join(filled[name] + rest for name, rest in (piece.split("}}", 1) for piece in pieces[1:]))


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(sha256(text.encode()).digest()).decode("ascii")


def _json(content: dict[str, Any]) -> str:
    """Return JSON that no HTML parser takes for markup, wherever its strings come from."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)  # ASCII: U+2028 and the like are escaped too
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")

"""What the ecosystem expects: frames, pipelines, clones, searches, notebooks, logging."""

from __future__ import annotations

import logging
import threading
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from l0graph import GraphLabelSpreading, L0Graph, L1Graph, SpectralGraph, l0_path, progress
from l0graph.datasets import make_subspaces
from l0graph.metrics import affinity_silhouette_scorer, graph_silhouette
from methods import ESTIMATORS

X, y = make_subspaces(15, n_subspaces=2, dim=2, ambient_dim=6, noise=0.01, random_state=0)
NAMES = [f"x{i}" for i in range(6)]
ALL = np.arange(len(X))

pytestmark = pytest.mark.filterwarnings("ignore::l0graph.FragmentedGraphWarning")


@pytest.mark.parametrize(
    "frame", [pd.DataFrame(X, columns=NAMES), pl.DataFrame(X, schema=NAMES)], ids=["pandas", "polars"]
)
@pytest.mark.parametrize("method", [*ESTIMATORS, "spectral", "labels"])
def test_frames(method: str, frame: Any) -> None:
    estimators = {name: kind(2, random_state=0) for name, kind in ESTIMATORS.items()}
    estimator: Any = estimators | {"spectral": SpectralGraph(2, random_state=0), "labels": GraphLabelSpreading()}
    model = clone(estimator[method]).fit(frame, y)
    assert model.feature_names_in_.tolist() == NAMES
    plain = clone(estimator[method]).fit(X, y)
    assert np.array_equal(model.predict(frame[:5]), plain.predict(X[:5]))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[NAMES[::-1]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X[:2])


def test_pipeline_and_clone() -> None:
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), L0Graph(2, random_state=0))
    labels = pipeline.fit_predict(pd.DataFrame(X, columns=NAMES))
    assert pipeline[-1].feature_names_in_.tolist() == NAMES
    assert np.array_equal(pipeline.fit(pd.DataFrame(X, columns=NAMES))[-1].labels_, labels)
    copy = clone(pipeline)
    assert copy[-1].get_params() == pipeline[-1].get_params()
    assert not hasattr(copy[-1], "labels_")
    assert -1 <= affinity_silhouette_scorer(pipeline, X) <= 1


def test_grid_search() -> None:
    grid = {"l0_penalty": [0.1, 0.5, 20.0]}
    search = GridSearchCV(L0Graph(2, random_state=0), grid, scoring=affinity_silhouette_scorer, cv=[(ALL, ALL)]).fit(X)
    scores = [
        affinity_silhouette_scorer(L0Graph(2, random_state=0, l0_penalty=p).fit(X), X) for p in grid["l0_penalty"]
    ]
    assert np.allclose(search.cv_results_["mean_test_score"], scores)
    assert search.best_params_["l0_penalty"] < 20  # there the graph is in pieces
    with pytest.raises(ValueError, match="cv="):
        affinity_silhouette_scorer(search.best_estimator_, X[:5])


def plain_silhouette(W: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The definition, sample by sample."""
    result = []
    for i in range(len(W)):
        others = np.arange(len(W)) != i
        means = {c: W[i][others & (labels == c)].mean() for c in np.unique(labels) if (others & (labels == c)).any()}
        if (labels == labels[i]).sum() == 1:
            result.append(0.0)
            continue
        inside = means.pop(labels[i])
        outside = max(means.values(), default=0.0)
        result.append((inside - outside) / max(inside, outside) if max(inside, outside) > 0 else 0.0)
    return np.array(result)


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 5), st.floats(0, 1))
def test_silhouette_is_its_definition(seed: int, n: int, k: int, density: float) -> None:
    generator = np.random.default_rng(seed)
    W = generator.random((n, n)) * (generator.random((n, n)) < density)
    W = W + W.T
    labels = generator.integers(0, k, n)
    found = graph_silhouette(sp.csr_array(W), labels)
    assert np.allclose(found, plain_silhouette(W, labels), atol=1e-12)
    assert np.allclose(graph_silhouette(W * 1e300, labels), found)


def test_silhouette_refuses_other_lengths() -> None:
    with pytest.raises(ValueError, match="one label per sample"):
        graph_silhouette(np.zeros((3, 3)), [0, 1])


def test_notebooks() -> None:
    model = L0Graph(2, random_state=0, l0_penalty=20.0).fit(X)
    shown = model._repr_mimebundle_()["text/html"]
    assert "sk-top-container" in shown
    assert "30 with 6 features" in shown
    assert "connected component" in shown
    assert "k-means" in shown
    assert ("were attached" in shown) == (model.n_attached_ > 0)
    assert model._repr_html_().endswith(shown[shown.index("l0graph-fit") :])
    model.stage_seconds_ = {"<script>": 1.0}
    assert "<script>alert" not in model._repr_html_()
    assert "&lt;script&gt;" in model._repr_html_()
    assert "l0graph-fit" not in L0Graph()._repr_html_()
    assert "l0graph-fit" in SpectralGraph(2).fit(X)._repr_html_()


def test_progress() -> None:
    seen: list[tuple[str, int, int]] = []
    with progress(lambda *report: seen.append(report)):
        L1Graph(2).fit(X)
        with progress(None):
            L1Graph(2).fit(X)
    count = len(seen)
    L1Graph(2).fit(X)
    assert len(seen) == count
    assert list(dict.fromkeys(stage for stage, *_ in seen)) == ["l1 codes", "affinity", "embedding", "k-means"]
    assert ("l1 codes", 30, 30) in seen
    assert all(0 <= done <= total for _, done, total in seen)
    with progress(lambda *report: seen.append(report)):
        l0_path(L0Graph(2, random_state=0), X, [0.1, 0.2])
    assert ("path", 1, 2) in seen

    class EnoughError(Exception):
        pass

    def stop(stage: str, done: int, total: int) -> None:
        raise EnoughError

    with pytest.raises(EnoughError), progress(stop):
        L1Graph(2, n_jobs=2).fit(X)
    assert threading.active_count() < 50


def test_logging(caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("l0graph")
    with caplog.at_level(logging.INFO, "l0graph"):
        L1Graph(2).fit(X)
    assert "k-means" in caplog.text
    caplog.clear()
    L1Graph(2).fit(X)
    assert caplog.text == ""
    L1Graph(2, verbose=1).fit(X)
    assert "l1 codes" in caplog.text
    assert " of " not in caplog.text
    L1Graph(2, verbose=2).fit(X)
    assert "l1 codes: 30 of 30" in caplog.text
    assert logger.level == logging.NOTSET

    # Where nothing is set up, to standard error, and nothing stays behind.
    handlers, logger.propagate = logger.handlers[:], False
    try:
        L1Graph(2, verbose=1).fit(X)
        assert logger.handlers == handlers
    finally:
        logger.propagate = True
    assert "l0graph: k-means" in capsys.readouterr().err

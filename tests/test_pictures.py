"""The pictures of a fit: that they show what the fit found."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from l0graph import L0Graph, L1Graph, OMPGraph, SpectralGraph, l0_path
from l0graph.datasets import make_subspaces
from l0graph.diagnostics.evidence import leading_eigenvalues
from l0graph.plots import (
    plot_eigenvalues,
    plot_embedding,
    plot_explanation,
    plot_members,
    plot_nonzeros,
    plot_objective,
    plot_path,
)
from l0graph.plots._map import cluster_map
from l0graph.plots.images import as_images

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def no_figures_left() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    return make_subspaces(30, n_subspaces=3, dim=2, ambient_dim=12, noise=0.02, random_state=0)


@pytest.fixture(scope="module")
def fitted(data: tuple[np.ndarray, np.ndarray]) -> L0Graph:
    return L0Graph(3, random_state=0).fit(data[0])


def test_map_puts_clusters_on_a_circle_and_samples_near_their_own(fitted: L0Graph) -> None:
    drawn = cluster_map(fitted)
    assert np.allclose(np.linalg.norm(drawn.centers, axis=1), 1)
    distances = np.linalg.norm(drawn.positions[:, None] - drawn.centers[None], axis=2)
    assert (distances.argmin(axis=1) == fitted.labels_).mean() > 0.95
    some = np.array([3, 40, 70, 71])
    assert cluster_map(fitted, some).positions.shape == (4, 2)


def test_no_two_samples_at_one_place() -> None:
    pure = sp.csr_array(np.kron(np.eye(2), np.ones((20, 20)) - np.eye(20)))
    embedding = np.kron(np.eye(2), np.ones((20, 1))) / np.sqrt(20)
    fit = SimpleNamespace(
        labels_=np.repeat([0, 1], 20), affinity_matrix_=pure, embedding_=embedding, n_clusters=2, fragments="keep"
    )
    drawn = cluster_map(fit)
    assert len(np.unique(drawn.positions.round(6), axis=0)) == 40
    assert np.linalg.norm(drawn.positions[:20].mean(axis=0) - drawn.centers[0]) < 0.1


def test_embedding_draws_every_cluster_and_attached_samples_hollow() -> None:
    X, _ = make_subspaces(30, n_subspaces=2, dim=2, ambient_dim=8, random_state=0)
    X = np.vstack([X, np.zeros((1, 8))])
    ax = plot_embedding(L0Graph(2, random_state=0).fit(X))
    assert sum(len(collection.get_offsets()) for collection in ax.collections) == 61
    faces = np.vstack([collection.get_facecolors() for collection in ax.collections])
    assert (faces[:, :3] == 1).all(axis=1).sum() == 1
    assert ax.get_xlabel() == "61 samples, 2 clusters; hollow: 1 attached afterwards"


def test_eigenvalues_go_beyond_the_clusters(fitted: L0Graph) -> None:
    dense = fitted.affinity_matrix_.toarray()
    root = np.sqrt(dense.sum(axis=1))
    exact = np.linalg.eigvalsh(dense / root[:, None] / root)[::-1]
    assert np.allclose(leading_eigenvalues(fitted), exact[:11], atol=1e-8)
    ax = plot_eigenvalues(fitted, n_eigenvalues=6)
    assert [len(line.get_xdata()) for line in ax.lines[:2]] == [3, 3]
    gap = 1 - (1 - exact[2]) / (1 - exact[3])
    assert f"gap behind cluster 3: {gap:.0%}" in ax.get_title()


def test_nonzeros_are_all_counted(fitted: L0Graph) -> None:
    ax = plot_nonzeros(fitted)
    assert sum(bar.get_height() for bar in ax.patches) == 90
    assert ax.get_title().startswith(f"mean {fitted.codes_.nnz / 90:.1f}")


def test_objective(fitted: L0Graph) -> None:
    line = plot_objective(fitted).lines[0]
    assert line.get_ydata()[-1] == fitted.objective_[-1]
    with pytest.raises(ValueError, match="L1Graph has no objective per iteration"):
        plot_objective(L1Graph(3, random_state=0).fit(np.eye(4) + 0.1))


def test_methods_without_codes_say_so(data: tuple[np.ndarray, np.ndarray]) -> None:
    fit = SpectralGraph(3, random_state=0).fit(data[0])
    plot_embedding(fit)
    plot_eigenvalues(fit)
    for draw in (plot_nonzeros, lambda e: plot_explanation(e, data[0], 0, (3, 4))):
        with pytest.raises(ValueError, match="SpectralGraph has no codes"):
            draw(fit)


def test_path(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    path = l0_path(L0Graph(3, random_state=0, n_init=2), X, [0.1, 0.5, 2.0])
    accuracy = plot_path(path, y).lines[0]
    assert accuracy.get_xdata().tolist() == [0.1, 0.5, 2.0]
    assert accuracy.get_ydata()[0] > 0.9
    lines = plot_path(path).lines
    assert lines[0].get_label() == f"nonzeros per code, 1 is {path[0].n_nonzero:.4g}"
    assert all(max(line.get_ydata()) == 1 for line in lines)
    with pytest.raises(ValueError, match="path is empty"):
        plot_path([])


@pytest.mark.parametrize("shape", [(2, 3), (4, 5, 3)])
def test_images_in_either_order(shape: tuple[int, ...]) -> None:
    image = np.random.default_rng(0).permutation(float(np.prod(shape)) * np.arange(np.prod(shape))).reshape(shape)
    scaled = image / image.max()
    assert np.allclose(as_images(image.reshape(1, -1), shape)[0], scaled)
    assert np.allclose(as_images(image.ravel(order="F")[None], shape, "F")[0], scaled)
    assert as_images(np.full((1, image.size), 7.0), shape).max() == 0


def test_members_run_from_strongest_to_weakest() -> None:
    X = np.arange(24, dtype=float).reshape(6, 4) ** 2
    W = np.zeros((6, 6))
    W[0, 1] = W[1, 0] = 1
    W[1, 2] = W[2, 1] = 3
    W[3, 4] = W[4, 3] = 1
    fit: Any = SimpleNamespace(labels_=np.array([0, 0, 0, 1, 1, 1]), affinity_matrix_=sp.csr_array(W))
    ax = plot_members(fit, X, (2, 2), n_members=3)
    assert len(ax.images) == 6
    shown = [image.get_array() for image in ax.images]
    expected = as_images(X[[1, 2, 0, 3, 4, 5]], (2, 2))
    assert np.allclose(shown, expected)
    with pytest.raises(ValueError, match="image_shape 3 x 3 needs 9 features"):
        plot_members(fit, X, (3, 3))
    with pytest.raises(ValueError, match="X has 5 samples"):
        plot_members(fit, X[:5], (2, 2))


def test_explanation_names_atoms_by_weight(data: tuple[np.ndarray, np.ndarray]) -> None:
    fit = OMPGraph(3, n_nonzero=3, random_state=0).fit(data[0])
    ax = plot_explanation(fit, data[0], 5, (3, 4), n_atoms=2)
    codes = fit.codes_[[5]].tocoo()
    best = codes.coords[1][np.argmax(np.abs(codes.data))]
    assert len(ax.images) == 3
    assert ax.texts[0].get_text().startswith("sample 5")
    assert f"\n{best}" in ax.texts[1].get_text()
    assert ax.get_title() == "2 of 3 atoms, by weight"
    with pytest.raises(ValueError, match="sample must be at most 89"):
        plot_explanation(fit, data[0], 90, (3, 4))

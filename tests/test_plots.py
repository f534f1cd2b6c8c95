"""The picture of an affinity: that it says the truth at any size, and needs no dense matrix."""

from __future__ import annotations

import builtins
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from l0graph.plots import plot_affinity

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def no_figures_left() -> Iterator[None]:
    yield
    plt.close("all")


def two_blocks(size: int) -> sp.csr_array:
    """Two complete graphs, their samples interleaved, with one weak edge between them."""
    W = np.kron(np.ones((size, size)), np.eye(2))
    np.fill_diagonal(W, 0)
    W[0, 1] = W[1, 0] = 0.5
    return sp.csr_array(W)


def test_samples_are_sorted_by_cluster() -> None:
    W, labels = two_blocks(20), np.tile(["b", "a"], 20)
    ax = plot_affinity(W, labels)
    cells = ax.images[0].get_array()
    assert cells.shape == (40, 40)
    assert (cells[:20, :20].filled(0) > 0).sum() == 20 * 19
    assert cells[:20, 20:].filled(0).sum() == 0.5
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["a  (20)", "b  (20)"]
    assert ax.get_xlabel() == "99.9% of the weight lies inside clusters"
    assert ax.get_ylabel() == "2 clusters  (samples)"
    assert len(ax.patches) == 2


def test_strongest_samples_come_first() -> None:
    W = np.zeros((3, 3))
    W[1, 2] = W[2, 1] = 3
    W[0, 2] = W[2, 0] = 1
    cells = plot_affinity(W, [0, 0, 0]).images[0].get_array().filled(0)
    assert cells.tolist() == [[0, 3, 1], [3, 0, 0], [1, 0, 0]]


@pytest.mark.parametrize("n_samples", [1, 7, 50, 599, 600, 601, 1000])
def test_cells_keep_the_weight(n_samples: int) -> None:
    generator = np.random.default_rng(n_samples)
    A = sp.random_array((n_samples, n_samples), density=0.05, rng=generator)
    W = sp.csr_array(A + A.T)
    ax = plot_affinity(W, generator.integers(0, 5, n_samples), colorbar=False)
    cells = ax.images[0].get_array().filled(0)
    per_cell = -(-n_samples // len(cells))
    assert len(cells) <= min(600, n_samples)
    assert np.isclose(cells.sum() * per_cell**2, W.sum())
    assert np.allclose(cells, cells.T)


def test_large_graph_in_little_memory(tmp_path: Path) -> None:
    n_samples, n_edges = 70_000, 400_000
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 100, n_samples)
    A = sp.coo_array((np.ones(n_edges), generator.integers(0, n_samples, (2, n_edges))), shape=(n_samples, n_samples))
    W = sp.csr_array(A + A.T)
    tracemalloc.start()
    ax = plot_affinity(W, labels)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6
    assert len(ax.images[0].get_array()) <= 600
    assert len(ax.get_yticks()) < 40
    ax.figure.savefig(tmp_path / "large.png")


@pytest.mark.parametrize("labels", [np.zeros(6), np.arange(6)])
def test_graph_without_edges(labels: np.ndarray, tmp_path: Path) -> None:
    ax = plot_affinity(sp.csr_array((6, 6)), labels)
    ax.figure.savefig(tmp_path / "empty.png")
    assert ax.get_xlabel().startswith("0%")


def test_given_axes_are_used() -> None:
    _, ax = plt.subplots()
    assert plot_affinity(two_blocks(5), np.tile([0, 1], 5), ax=ax, max_cells=4) is ax
    assert ax.images[0].get_array().shape == (4, 4)


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match=r"labels must have shape \(10,\)"):
        plot_affinity(two_blocks(5), np.zeros(9))
    with pytest.raises(ValueError, match="max_cells"):
        plot_affinity(two_blocks(5), np.zeros(10), max_cells=0)
    with pytest.raises(ValueError, match="symmetric"):
        plot_affinity(np.triu(np.ones((4, 4))), np.zeros(4))


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: object, **kwargs: object) -> object:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"install l0graph\[plots\]"):
        plot_affinity(two_blocks(3), np.zeros(6))

"""Fits by blocks: the same bits as in memory, from anywhere, through kills, full disks and lost workers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from l0graph import (
    L0Graph,
    L1Graph,
    OMPGraph,
    RegularizedL0Graph,
    SpectralGraph,
    l1_codes,
    load_model,
    save_model,
    spectral_embedding,
)
from l0graph.codes.working_set import Dictionary
from l0graph.datasets import make_subspaces
from l0graph.files import FileError
from l0graph.metrics import clustering_accuracy
from l0graph.scale import bipartite, fit, open_matrix, predict, select_exemplars
from l0graph.scale import memory as memory_module
from l0graph.scale.mapped import MappedDictionary
from l0graph.scale.samples import Samples
from l0graph.scale.sources import is_external, source_of
from methods import ESTIMATORS, random_data

SPACES = make_subspaces(100, n_subspaces=4, dim=3, ambient_dim=16, noise=0.03, random_state=0)


def same_codes(a: sp.csr_array, b: sp.csr_array) -> bool:
    return a.shape == b.shape and all(
        np.array_equal(getattr(a, part), getattr(b, part)) for part in ("data", "indices", "indptr")
    )


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit, "block_rows", lambda n, d, itemsize: 64)


CASES = {
    **{name: (kind, {}) for name, kind in ESTIMATORS.items() if name != "regularized"},
    "l0 that stops early": (L0Graph, {"tol": 1e-2}),
    "l0-global": (L0Graph, {"lipschitz": "global"}),
    "l0-outliers": (L0Graph, {"outliers": True, "outlier_penalty": 0.05}),
    "l1-outliers": (L1Graph, {"outliers": True, "outlier_penalty": 0.05}),
    "l1-affine": (L1Graph, {"affine": True}),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.usefixtures("small_blocks")
def test_blocks_are_the_whole_to_the_last_bit(tmp_path: Path, case: str, dtype: type) -> None:
    kind, parameters = CASES[case]
    X = SPACES[0].astype(dtype)
    whole = kind(4, random_state=0, **parameters).fit(X)
    blocks = kind(4, random_state=0, **parameters).fit(X, run_dir=tmp_path)
    assert same_codes(whole.codes_, blocks.codes_)
    assert whole.codes_.dtype == blocks.codes_.dtype
    np.testing.assert_array_equal(whole.labels_, blocks.labels_)
    np.testing.assert_allclose(whole.objective_, blocks.objective_, rtol=1e-12)
    assert whole.n_iter_ == blocks.n_iter_
    if case == "l0 that stops early":
        assert whole.n_iter_ < 100
        np.testing.assert_array_equal(whole.objective_, blocks.objective_)
    if "outliers" in case:
        assert same_codes(whole.outliers_, blocks.outliers_)
        assert blocks.outliers_.nnz


def as_kind(kind: str, X: np.ndarray, folder: Path) -> object:
    if kind in ("memmap", "view", "npy"):
        np.save(folder / "X.npy", np.vstack([X[:3], X]) if kind == "view" else X)
        mapped = np.load(folder / "X.npy", mmap_mode="r")
        return open_matrix(folder / "X.npy") if kind == "npy" else mapped[3:] if kind == "view" else mapped
    if kind in ("hdf5", "h5py"):
        h5py = pytest.importorskip("h5py")
        with h5py.File(folder / "X.h5", "w") as file:
            file["X"] = X
        return open_matrix(folder / "X.h5") if kind == "hdf5" else h5py.File(folder / "X.h5")["X"]
    if kind == "parquet":
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        table = pyarrow.table({f"f{j}": X[:, j] for j in range(X.shape[1])})
        parquet.write_table(table, folder / "X.parquet", row_group_size=100)
        return open_matrix(folder / "X.parquet")
    if kind == "zarr":
        zarr = pytest.importorskip("zarr")
        zarr.save_array(str(folder / "X.zarr"), X)
        return open_matrix(folder / "X.zarr")
    dask_array = pytest.importorskip("dask.array")
    return dask_array.from_array(X, chunks=(90, -1))


@pytest.mark.parametrize("kind", ["memmap", "view", "npy", "hdf5", "h5py", "parquet", "zarr", "dask"])
@pytest.mark.usefixtures("small_blocks")
def test_samples_from_anywhere(tmp_path: Path, kind: str) -> None:
    X = SPACES[0].astype(np.float32)
    given_X = as_kind(kind, X, tmp_path)
    assert is_external(given_X)
    from_there = OMPGraph(4, random_state=0).fit(given_X)
    in_memory = OMPGraph(4, random_state=0).fit(X)
    assert same_codes(from_there.codes_, in_memory.codes_)
    np.testing.assert_array_equal(from_there.labels_, in_memory.labels_)
    np.testing.assert_array_equal(from_there.predict(given_X), in_memory.predict(X))
    np.testing.assert_array_equal(predict(in_memory, given_X), in_memory.predict(X))


@pytest.mark.parametrize("name", ["l1", "omp", "smce"])
def test_atoms_on_disk_answer_as_those_in_memory(tmp_path: Path, name: str) -> None:
    X = random_data(700, 20).astype(np.float32)
    X[30] = -2 * X[31]  # equal up to sign
    estimator = ESTIMATORS[name](3, normalize=False)
    atoms = MappedDictionary.build(tmp_path / "atoms", Samples(source_of(X), normalize=False))
    there, here = MappedDictionary(atoms), Dictionary(X)
    for pair in ("groups", "copies"):
        for found, expected in zip(getattr(there, pair), getattr(here, pair), strict=True):
            np.testing.assert_array_equal(found, expected)
    assert same_codes(estimator._code(there).codes, estimator._code(here).codes)


def test_a_fit_whose_atoms_do_not_fit_leaves_them_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    X = random_data(600, 64, seed=3)
    sizes = {
        mapped: memory_module.need(600, 64, 600, 8, rows=256, n_clusters=3, n_threads=1, mapped=mapped, piece=0).total
        for mapped in (False, True)
    }
    used = []
    build = MappedDictionary.build
    monkeypatch.setattr(MappedDictionary, "build", lambda *args: used.append(args) or build(*args))
    # Small data: the tile that is read takes more than they do, so the estimate is turned round.
    monkeypatch.setattr(fit, "need", lambda *a, mapped, **k: memory_module.Need(0, 0, 1 if mapped else 2**60))
    there = L0Graph(3, random_state=0).fit(X, memory_limit="64GiB")
    assert used and sizes[True] > 0
    here = L0Graph(3, random_state=0).fit(X)
    assert same_codes(there.codes_, here.codes_)
    np.testing.assert_array_equal(there.labels_, here.labels_)


def test_a_run_that_cannot_fit_says_so_first(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"needs about \d+\.\d\d GiB of memory, and memory_limit is 0.01 GiB: raise"):
        L1Graph(4).fit(SPACES[0], memory_limit="10MiB", run_dir=tmp_path)
    assert not list(tmp_path.iterdir())
    for wrong in ("much", -1, "3 apples"):
        with pytest.raises(ValueError, match="memory_limit must be"):
            L1Graph(4).fit(SPACES[0], memory_limit=wrong)


@pytest.mark.parametrize(("text", "size"), [("3GiB", 3 * 2**30), ("1.5 gb", 1.5e9), (77, 77), ("12k", 12_000)])
def test_sizes(text: str | int, size: float) -> None:
    assert memory_module.parse_memory(text) == size


@pytest.mark.usefixtures("small_blocks")
def test_another_run_is_refused_with_what_differs(tmp_path: Path) -> None:
    X = SPACES[0]
    L1Graph(4, random_state=0).fit(X, run_dir=tmp_path)
    with pytest.raises(FileError, match=r"l1_penalty was 0.1 and is now 0.2") as error:
        L1Graph(4, l1_penalty=0.2).fit(X, run_dir=tmp_path)
    assert "fingerprint" not in str(error.value)
    with pytest.raises(FileError, match="fingerprint was"):
        L1Graph(4).fit(X + 1e-9, run_dir=tmp_path)
    with pytest.raises(FileError, match="method was 'L1Graph' and is now 'OMPGraph'"):
        OMPGraph(4).fit(X, run_dir=tmp_path)
    # Other clusters of the same codes are welcome.
    codes = {file: file.stat().st_mtime_ns for file in (tmp_path / "codes").iterdir()}
    assert len(set(L1Graph(3, random_state=1).fit(X, run_dir=tmp_path).labels_)) == 3
    assert codes == {file: file.stat().st_mtime_ns for file in (tmp_path / "codes").iterdir()}
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("mine")
    with pytest.raises(FileError, match="holds other files"):
        L1Graph(4).fit(X, run_dir=tmp_path / "other")


@pytest.mark.usefixtures("small_blocks")
def test_damaged_blocks_are_done_again(tmp_path: Path) -> None:
    first = L1Graph(4, random_state=0).fit(SPACES[0], run_dir=tmp_path)
    blocks = sorted((tmp_path / "codes").iterdir())
    content = bytearray(blocks[1].read_bytes())
    content[len(content) // 2] ^= 255
    blocks[1].write_bytes(content)
    blocks[2].write_bytes(blocks[2].read_bytes()[:100])
    blocks[3].unlink()
    assert same_codes(first.codes_, L1Graph(4, random_state=0).fit(SPACES[0], run_dir=tmp_path).codes_)


def test_two_processes_do_not_share_a_directory(tmp_path: Path) -> None:
    from l0graph.scale.run_directory import RunDirectory

    with RunDirectory.opened(tmp_path), pytest.raises(FileError, match="another process runs in it"):
        L1Graph(4).fit(SPACES[0], run_dir=tmp_path)


def test_values_that_are_not_finite_are_named(tmp_path: Path) -> None:
    X = SPACES[0].copy()
    X[123, 4] = np.nan
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(ValueError, match="nan at row 123, column 4"):
        L1Graph(4).fit(open_matrix(tmp_path / "X.npy"))


def test_parameters_are_checked_before_anything_is_read_or_written(tmp_path: Path) -> None:
    for estimator, words in (
        (L0Graph(4, l0_penalty=-1), "l0_penalty"),
        (OMPGraph(4, n_init=0), "n_init"),
        (L1Graph(4, dictionary="some"), "dictionary"),
        (L1Graph(4, dictionary=1), "dictionary"),
        (L1Graph(999), "n_clusters"),
    ):
        with pytest.raises(ValueError, match=words):
            estimator.fit(SPACES[0], run_dir=tmp_path / "run")
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="SpectralGraph has no codes"):
        SpectralGraph(4).fit(SPACES[0], run_dir=tmp_path / "run")


def test_warns_of_codes_short_of_their_tolerance(monkeypatch: pytest.MonkeyPatch) -> None:
    from functools import partial

    from l0graph.estimators import l1 as module

    monkeypatch.setattr(module, "l1_codes", partial(l1_codes, max_iter=1))
    with pytest.warns(ConvergenceWarning, match="some samples"):
        L1Graph(4, random_state=0).fit(SPACES[0], memory_limit="8GiB")


# Dictionaries smaller than the data


@pytest.mark.parametrize("name", ["l1", "l0", "omp", "smce"])
def test_exemplars_cluster_all_samples(name: str) -> None:
    X, y = SPACES
    estimator = ESTIMATORS[name](4, dictionary=100, random_state=0, n_jobs=2).fit(X)
    assert estimator.codes_.shape == (400, 100)
    assert estimator.labels_.shape == (400,)
    # No exemplar is its own atom.
    assert not estimator.codes_[estimator.exemplars_].diagonal().any()
    if name in ("l1", "l0"):
        assert clustering_accuracy(y, estimator.labels_) > 0.99
        assert clustering_accuracy(y, estimator.predict(X)) > 0.99
    other = estimator.recluster(2)
    assert set(other.labels_) == {0, 1}
    np.testing.assert_array_equal(estimator.recluster(4).labels_, estimator.labels_)


@pytest.mark.usefixtures("small_blocks")
def test_exemplars_do_not_depend_on_blocks_threads_or_place(tmp_path: Path) -> None:
    X = SPACES[0].astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    a = L0Graph(4, dictionary=80, random_state=0).fit(X, memory_limit="8GiB")
    b = L0Graph(4, dictionary=80, random_state=0, n_jobs=2).fit(open_matrix(tmp_path / "X.npy"))
    assert same_codes(a.codes_, b.codes_)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_array_equal(a.embedding_, b.embedding_)


def test_as_many_exemplars_as_samples_are_all() -> None:
    X = SPACES[0]
    few = L1Graph(4, dictionary=len(X), random_state=0).fit(X)
    assert same_codes(few.codes_, L1Graph(4, random_state=0).fit(X).codes_)


def test_exemplars_are_spread_up_to_sign() -> None:
    generator = np.random.default_rng(0)
    rare = np.eye(20)[:3]
    common = np.eye(20)[5] + 1e-3 * generator.standard_normal((3000, 20))
    X = np.vstack([common * generator.choice([-1, 1], (3000, 1)), rare, np.zeros((2, 20))])
    chosen = select_exemplars(X, 40, random_state=0)
    assert len(set(chosen)) == 40
    assert {3000, 3001, 3002} <= set(chosen)
    assert not {3003, 3004} & set(chosen)
    np.testing.assert_array_equal(chosen, select_exemplars(X, 40, random_state=0, n_jobs=2))
    assert not np.array_equal(chosen, select_exemplars(X, 40, random_state=1))
    assert list(select_exemplars(X[:5], 5, random_state=0)) == [0, 1, 2, 3, 4]


@given(st.integers(0, 10_000), st.integers(3, 25), st.integers(3, 8), st.integers(1, 9))
def test_the_smaller_side_is_the_bipartite_graph(seed: int, n: int, m: int, size: int) -> None:
    generator = np.random.default_rng(seed)
    B = sp.random_array((n, m), density=0.4, rng=generator, data_sampler=generator.standard_normal)
    codes = sp.csr_array(B)
    blocks = [codes[i : i + size] for i in range(0, n, size)]
    chunked = sp.vstack(list(bipartite.chunks(iter(blocks), 7)))
    assert (chunked != codes).nnz == 0
    W = bipartite.atom_affinity(iter(blocks), n, m)
    assert (W != W.T).nnz == 0
    magnitude = abs(codes.toarray())
    d, e = magnitude.sum(axis=1), magnitude.sum(axis=0)
    np.testing.assert_allclose(W.sum(axis=1), e)
    inverse = [np.divide(1, np.sqrt(s), out=np.zeros_like(s), where=s > 0) for s in (d, e)]
    singular = np.linalg.svd(inverse[0][:, None] * magnitude * inverse[1], compute_uv=False)
    expected = np.zeros(m)
    expected[: len(singular)] = singular[:m] ** 2
    values = spectral_embedding(W, m)[1]
    np.testing.assert_allclose(values, expected, atol=1e-7)


def test_samples_like_no_exemplar_and_without_a_code() -> None:
    X, y = make_subspaces(60, n_subspaces=2, dim=2, ambient_dim=12, random_state=0)
    X = np.hstack([X, np.zeros((120, 2))])
    strange = np.zeros((3, 14))
    strange[1, 12] = 1.0  # orthogonal to all: an empty code
    X = np.vstack([X, strange[:1], 1e-3 * X[:1] + strange[1:2] * 0, strange[2:]])
    estimator = L1Graph(2, dictionary=60, random_state=0).fit(X)
    assert clustering_accuracy(y, estimator.labels_[:120]) > 0.98
    assert estimator.labels_[121] == estimator.labels_[0]


def test_batches_over_the_exemplars_of_the_first() -> None:
    X, y = SPACES
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], y[order]
    estimator = L0Graph(4, dictionary=80, random_state=0)
    for start in range(0, 400, 200):
        estimator.partial_fit(X[start : start + 200])
        assert clustering_accuracy(y[start : start + 200], estimator.labels_) > 0.98
        assert estimator.codes_.shape == (200, 80)
    assert clustering_accuracy(y, estimator.predict(X)) > 0.98
    assert not hasattr(L0Graph(4), "partial_fit")
    with pytest.raises(ValueError, match="no more than the dictionary"):
        L0Graph(4, dictionary=400).partial_fit(X[:100])


# The regularised graph


@pytest.mark.parametrize("lipschitz", [100.0, 0.5])
def test_jacobi_sweeps_do_not_depend_on_blocks_and_come_near_sweeps_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lipschitz: float
) -> None:
    X, y = SPACES
    gamma = 0.1 if lipschitz == 100.0 else 1e-3
    make = lambda: RegularizedL0Graph(4, gamma=gamma, lipschitz=lipschitz, random_state=0)  # noqa: E731
    found = []
    for rows in (37, 400):
        monkeypatch.setattr(fit, "block_rows", lambda *_, rows=rows: rows)
        found.append(make().fit(X, run_dir=tmp_path / str(rows)))
    assert same_codes(found[0].codes_, found[1].codes_)
    np.testing.assert_array_equal(found[0].objective_, found[1].objective_)
    assert (np.diff(found[0].objective_) <= 0).all()
    in_memory = make().set_params(sweep="jacobi").fit(X)
    assert same_codes(found[0].codes_, in_memory.codes_)
    np.testing.assert_array_equal(found[0].objective_, in_memory.objective_)
    in_order = make().fit(X)
    assert found[0].objective_[0] == pytest.approx(in_order.objective_[0], rel=1e-12)
    if lipschitz == 100.0:
        assert found[0].objective_[-1] < 1.1 * in_order.objective_[-1]
        assert clustering_accuracy(y, found[0].labels_) == 1.0


def test_models_over_exemplars_are_saved(tmp_path: Path) -> None:
    estimator = L0Graph(4, dictionary=80, random_state=0).fit(SPACES[0])
    save_model(estimator, tmp_path / "model.l0graph")
    loaded = load_model(tmp_path / "model.l0graph")
    assert same_codes(loaded.codes_, estimator.codes_)
    np.testing.assert_array_equal(loaded.predict(SPACES[0]), estimator.predict(SPACES[0]))
    np.testing.assert_array_equal(loaded.recluster(3).labels_, estimator.recluster(3).labels_)
    np.testing.assert_array_equal(
        loaded.partial_fit(SPACES[0][:50]).labels_, estimator.partial_fit(SPACES[0][:50]).labels_
    )

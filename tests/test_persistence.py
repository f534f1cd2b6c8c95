"""Models in files: exactly what was saved comes back, and any other file is refused in one line."""

from __future__ import annotations

import io
import json
import pickle
import random
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import l0graph
from l0graph import (
    SMCE,
    GraphLabelSpreading,
    L0Graph,
    L1Graph,
    OMPGraph,
    RegularizedL0Graph,
    SpectralGraph,
    load_model,
    save_model,
)
from l0graph.datasets import make_subspaces
from l0graph.files import FileError
from l0graph.persistence.model import _CLASSES

X, y = make_subspaces(15, n_subspaces=2, dim=2, ambient_dim=6, noise=0.01, random_state=0)
FEW = np.where(np.arange(30) % 15 < 2, y, -1)

FITTED = {
    "l0": lambda: L0Graph(2, random_state=0).fit(X),
    "l0, outliers, float32": lambda: L0Graph(np.int64(2), outliers=True).fit(X.astype(np.float32)),
    "l0, exemplars": lambda: L0Graph(2, dictionary=12, random_state=0).fit(X),
    "l1": lambda: L1Graph(2, affine=True).fit(X),
    "omp": lambda: OMPGraph(2, n_nonzero=2).fit(X),
    "smce": lambda: SMCE(2).fit(X),
    "regularized": lambda: RegularizedL0Graph(2, lipschitz="global").fit(X),
    "spectral": lambda: SpectralGraph(2, n_kept=5).fit(X),
    "labels": lambda: GraphLabelSpreading().fit(X, FEW),
    "labels, knn": lambda: GraphLabelSpreading("knn").fit(X, np.array(["-1", "a", "b"])[FEW + 1]),
    "labels, a clusterer": lambda: GraphLabelSpreading(RegularizedL0Graph(gamma=0.2)).fit(X, FEW),
    "labels, spectral": lambda: GraphLabelSpreading(SpectralGraph(n_kept=5)).fit(X, FEW),
}


def assert_equal(one: Any, other: Any) -> None:
    """Down to types and bits; estimators by what they hold."""
    if isinstance(one, np.generic):
        one = one.item()
    assert type(one) is type(other)
    if sp.issparse(one):
        for part in ("data", "indices", "indptr"):
            assert_equal(getattr(one, part), getattr(other, part))
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        assert np.array_equal(one, other)
    elif hasattr(one, "__dict__"):
        names = {name for name in vars(one) if not isinstance(getattr(type(one), name, None), property)}
        for name in names & {*vars(other), "n_clusters"}:
            assert_equal(getattr(one, name), getattr(other, name))
        if hasattr(one, "get_params"):
            assert vars(one).keys() == vars(other).keys()
    else:
        assert one == other


@pytest.mark.filterwarnings("ignore::l0graph.FragmentedGraphWarning")
@pytest.mark.parametrize("case", FITTED)
def test_round_trip(tmp_path: Path, case: str) -> None:
    model = FITTED[case]()
    save_model(model, tmp_path / "a.l0graph")
    loaded = load_model(tmp_path / "a.l0graph")
    assert_equal(model, loaded)
    new = X[::3] + 0.01
    assert np.array_equal(loaded.predict(new), model.predict(new))
    if hasattr(model, "recluster"):
        assert np.array_equal(loaded.recluster(3).labels_, model.recluster(3).labels_) or model.random_state is None
    save_model(loaded, tmp_path / "b.l0graph")
    assert (tmp_path / "a.l0graph").read_bytes() == (tmp_path / "b.l0graph").read_bytes()
    assert [entry.name for entry in sorted(tmp_path.iterdir())] == ["a.l0graph", "b.l0graph"]


def test_every_estimator_can_be_saved() -> None:
    public = {
        name
        for name in l0graph.__all__
        if isinstance(getattr(l0graph, name), type) and hasattr(getattr(l0graph, name), "fit")
    }
    assert public <= _CLASSES.keys()


def test_feature_names(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(6)])
    save_model(L1Graph(2).fit(frame), tmp_path / "a.l0graph")
    loaded = load_model(tmp_path / "a.l0graph")
    assert loaded.feature_names_in_.tolist() == list(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame[frame.columns[::-1]])


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    path = tmp_path / "a.l0graph"
    with pytest.raises(TypeError, match="only estimators of l0graph"):
        save_model(object(), path)
    with pytest.raises(ValueError, match="not fitted"):
        save_model(L0Graph(2), path)
    with pytest.raises(TypeError, match=r"random_state is a RandomState.*pickle"):
        save_model(L0Graph(2, random_state=np.random.RandomState(0)).fit(X), path)
    with pytest.raises(FileError, match="nothing was written"):
        save_model(L1Graph(2).fit(X), tmp_path / "none" / "a.l0graph")
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("saved") / "a.l0graph"
    save_model(L0Graph(2, random_state=0).fit(X), path)
    return path.read_bytes()


def with_facts(content: bytes, change: Any) -> bytes:
    """The archive with its description changed."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    facts = json.loads(members["model.json"])
    change(facts)
    return archive_of(members | {"model.json": json.dumps(facts).encode()})


def with_array(content: bytes, name: str, array: np.ndarray) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {each: archive.read(each) for each in archive.namelist()}
    buffer = io.BytesIO()
    np.save(buffer, array)
    return archive_of(members | {f"{name}.npy": buffer.getvalue()})


def archive_of(members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


class Attack:
    def __reduce__(self) -> tuple[Any, ...]:
        return (pytest.fail, ("unpickled",))


def objects() -> np.ndarray:
    return np.array([Attack()], dtype=object)


HOSTILE = {
    "empty": (lambda good: b"", "some other kind"),
    "text": (lambda good: b"hello", "some other kind"),
    "pickle": (lambda good: pickle.dumps(Attack()), "some other kind"),
    "cut off": (lambda good: good[:-50], "not a zip file"),
    "no description": (lambda good: archive_of({"x.npy": b""}), "model.json"),
    "description is no JSON": (lambda good: archive_of({"model.json": b"{"}), "not a model"),
    "description is a list": (lambda good: archive_of({"model.json": b"[]"}), "not a model"),
    "nested too deep": (lambda good: archive_of({"model.json": b"[" * 100_000}), "not a model"),
    "compressed": (lambda good: archive_of({"model.json": b" " * 10**6}, zipfile.ZIP_DEFLATED), "compressed"),
    "another member": (lambda good: archive_of({"model.json": b"{}", "run.py": b""}), "no array"),
    "newer format": (lambda good: with_facts(good, lambda f: f.update(format=2)), "upgrade"),
    "another class": (lambda good: with_facts(good, lambda f: f.update({"class": "Popen"})), "'Popen'"),
    "unknown parameter": (lambda good: with_facts(good, lambda f: f["parameters"].update(shell=1)), "shell"),
    "a method replaced": (lambda good: with_facts(good, lambda f: f["attributes"].update(predict="x")), "'predict'"),
    "dunder": (lambda good: with_facts(good, lambda f: f["attributes"].update(__class__="x")), "'__class__'"),
    "an attribute missing": (lambda good: with_facts(good, lambda f: f["attributes"].pop("codes_")), "codes_ missing"),
    "an array missing": (lambda good: with_facts(good, lambda f: f["attributes"].update(a_={"array": "z"})), "z"),
    "objects": (lambda good: with_array(good, "_fit_X", objects()), "object"),
    "labels out of range": (lambda good: with_array(good, "labels_", np.full(30, 99)), "no label"),
    "negative labels": (lambda good: with_array(good, "labels_", np.full(30, -1)), "no label"),
    "too few samples": (lambda good: with_array(good, "_fit_X", X[:3]), "does not fit"),
    "samples are not finite": (lambda good: with_array(good, "_fit_X", X * np.nan), "finite"),
    "indices out of range": (lambda good: with_array(good, "codes_.indices", np.full(9, 10**6)), "sparse"),
    "starts go down": (lambda good: with_array(good, "codes_.indptr", np.arange(31)[::-1].copy()), "sparse"),
    "codes of text": (lambda good: with_array(good, "codes_.data", np.array(["a"])), "finite"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_files_are_refused_in_one_line(tmp_path: Path, saved: bytes, case: str) -> None:
    make, words = HOSTILE[case]
    path = tmp_path / "a.l0graph"
    path.write_bytes(make(saved))
    with pytest.raises(FileError) as caught:
        load_model(path)
    message = str(caught.value)
    assert words in message
    assert "a.l0graph" in message
    assert "\n" not in message
    assert len(message) < 500


def test_missing_files(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.l0graph"):
        with pytest.raises(FileError, match=r"regular file|no such file"):
            load_model(path)


@pytest.mark.filterwarnings("ignore")
def test_no_mutation_of_a_good_file_escapes(tmp_path: Path, saved: bytes) -> None:
    generator = random.Random(0)
    path = tmp_path / "a.l0graph"
    for _ in range(300):
        mutant = bytearray(saved)
        for _ in range(generator.choice([1, 2, 5])):
            at = generator.randrange(len(mutant))
            mutant[at : at + generator.choice([1, 4])] = generator.choice([b"\xff" * 4, b"\0" * 4, b'"', b"9"])
        path.write_bytes(mutant)
        try:
            model = load_model(path)
        except FileError as error:
            assert "\n" not in str(error)
        else:
            try:
                model.predict(X[:2])
            except (ValueError, TypeError) as error:  # a parameter that was changed, told as always
                assert str(error)

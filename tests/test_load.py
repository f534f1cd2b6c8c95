"""Data sets in the forms that people have them: one content, told by its checksum; damage and excess in one line."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import io
import json
import struct
import tracemalloc
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
from scipy.io import savemat

from l0graph.datasets import DataError, DataNotFoundError, DataVersionWarning, load
from l0graph.datasets import registry as registry_module
from l0graph.datasets.checksum import content_checksum
from l0graph.datasets.readers import idx
from l0graph.datasets.registry import ALIASES, DATA_SETS, DataSet

ROOT = Path(__file__).resolve().parent.parent
Define = Callable[..., DataSet]


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No data set of this machine is seen."""
    monkeypatch.delenv("L0GRAPH_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def define(monkeypatch: pytest.MonkeyPatch) -> Define:
    """Return what puts a smaller set in place of one of the paper's, with its content known."""

    def define(name: str, X: np.ndarray, y: np.ndarray, **changes: object) -> DataSet:
        row = dataclasses.replace(
            DATA_SETS[name],
            n_samples=len(X),
            n_features=X.shape[1],
            n_classes=len(np.unique(y)),
            versions={content_checksum(X, y): "this one"},
            **changes,
        )
        monkeypatch.setitem(registry_module.DATA_SETS, name, row)
        return row

    return define


@pytest.fixture
def faces(define: Define) -> tuple[np.ndarray, np.ndarray]:
    """Nine images of 4 x 3 pixels, column by column, of three people."""
    X = np.random.default_rng(0).integers(0, 256, (9, 12)).astype(np.uint8)
    X[0, 0], X[1, 1] = 0, 255
    y = np.repeat(np.arange(3), 3).astype(np.int32)
    define("umist_28x23", X, y, image_shape=(4, 3))
    return X, y


def upright(X: np.ndarray) -> np.ndarray:
    return X.reshape(-1, 3, 4).transpose(0, 2, 1)


def png(image: np.ndarray) -> bytes:
    from PIL import Image

    content = io.BytesIO()
    Image.fromarray(image.astype(np.uint8)).save(content, "png")
    return content.getvalue()


def write_npz(folder: Path, X: np.ndarray, y: np.ndarray) -> None:
    np.savez_compressed(folder / "umist_28x23.npz", X=X, y=y)


def write_scaled(folder: Path, X: np.ndarray, y: np.ndarray) -> None:
    np.savez(folder / "umist.npz", X=X / 255, y=y + 5.0)


def write_turned(folder: Path, X: np.ndarray, y: np.ndarray) -> None:
    np.savez(folder / "umist.npz", X=upright(X).reshape(len(X), -1).astype(float), y=y)


def write_mat(folder: Path, X: np.ndarray, y: np.ndarray) -> None:
    savemat(folder / "UMIST.mat", {"fea": X.astype(float), "gnd": y[:, None] + 1}, do_compression=True)


def write_mat_73(folder: Path, X: np.ndarray, y: np.ndarray) -> None:
    import h5py

    with h5py.File(folder / "umist.mat", "w", userblock_size=512) as file:
        file["fea"] = X.T  # MATLAB's order
        file["gnd"] = y[None] + 1


def write_folders(folder: Path, X: np.ndarray, y: np.ndarray) -> None:
    for number, (image, label) in enumerate(zip(upright(X), y, strict=True)):
        place = folder / "UMIST" / f"1{'abc'[label]}" / "face"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number}.png").write_bytes(png(image))
    (folder / "UMIST" / "readme.txt").write_text("not an image")


def write_zip(folder: Path, X: np.ndarray, y: np.ndarray) -> None:
    with zipfile.ZipFile(folder / "umist.zip", "w") as archive:
        for number, (image, label) in enumerate(zip(upright(X), y, strict=True)):
            archive.writestr(f"all/obj{label + 9}__{number * 5}.png", png(np.stack([image] * 3, axis=2)))
        archive.writestr("__MACOSX/all/obj9__0.png", b"shadow")


FORMS = [
    write_npz,
    write_scaled,
    write_turned,
    write_mat,
    write_mat_73,
    write_folders,
    write_zip,
]


@pytest.mark.parametrize("write", FORMS, ids=lambda write: write.__name__)
def test_every_form_gives_the_same_content(
    tmp_path: Path, faces: tuple[np.ndarray, np.ndarray], write: Callable[..., None]
) -> None:
    if write is write_mat_73:
        pytest.importorskip("h5py")
    X, y = faces
    write(tmp_path, X, y)
    loaded = load("umist_28x23", tmp_path)
    assert loaded.version == "this one"
    assert loaded.data.dtype == np.uint8
    np.testing.assert_array_equal(loaded.data, X)
    np.testing.assert_array_equal(loaded.target, y)
    np.testing.assert_array_equal(loaded.images, upright(X))
    assert loaded.image_shape == (4, 3)
    for text in (loaded.DESCR, loaded.source, loaded.terms):
        assert text
    assert Path(loaded.filename).is_relative_to(tmp_path)


def test_samples_in_columns(tmp_path: Path, define: Define) -> None:
    X = np.random.default_rng(0).integers(0, 255, (6, 12)).astype(np.uint8)
    y = np.repeat(np.arange(2), 3).astype(np.int32)
    define("umist_28x23", X, y, image_shape=(4, 3))
    savemat(tmp_path / "umist-28x23.mat", {"EYALEB_DATA": X.T, "EYALEB_LABEL": y[None]})
    np.testing.assert_array_equal(load("umist_28x23", tmp_path).data, X)


def test_means_of_larger_images_are_exact(tmp_path: Path, define: Define) -> None:
    """COIL-20 as given out, 128 x 128, is the set of 32 x 32 to the last bit."""
    rng = np.random.default_rng(0)
    sums = rng.integers(0, 4081, (4, 32, 32))
    large = np.zeros((4, 128, 128), dtype=np.uint8)
    for (i, r, c), total in np.ndenumerate(sums):
        block = np.full(16, total // 16)
        block[: total % 16] += 1
        large[i, 4 * r : 4 * r + 4, 4 * c : 4 * c + 4] = rng.permutation(block).reshape(4, 4)
    X = (sums / 4080).transpose(0, 2, 1).reshape(4, -1)
    define("coil20", X, np.array([0, 0, 1, 1]))
    with zipfile.ZipFile(tmp_path / "coil-20-proc.zip", "w") as archive:
        for name, image in zip(("obj2__0", "obj2__1", "obj10__0", "obj10__10"), large, strict=True):
            archive.writestr(f"coil-20-proc/{name}.png", png(image))
    loaded = load("coil20", tmp_path)
    assert loaded.version == "this one"
    np.testing.assert_array_equal(loaded.data, X)


TEXTS = {
    "ionosphere.data": "1,0,0.5,g\n0,-1,.25,b\n1,1,1,g\n",
    "Ionosphere.csv": "a,b,c,class\n1,0,0.5,g\n0,-1,.25,b\n1,1,1,g\n",
    "ionosphere.dat": "1.0 0.0 0.5 0\n0.0 -1 0.25 1\n1 1 1 0\n",
    "ionosphere.arff": "% about\n@relation r\n@attribute a real\n@data\n1,0,0.5,'g'\n0,-1,.25,b\n\n1,1,1,g\n",
}


@pytest.mark.parametrize("name", TEXTS)
def test_text(tmp_path: Path, define: Define, name: str) -> None:
    X = np.array([[1, 0, 0.5], [0, -1, 0.25], [1, 1, 1]])
    define("ionosphere", X, np.array([0, 1, 0]))
    (tmp_path / name).write_text(TEXTS[name])
    loaded = load("ionosphere", tmp_path)
    assert loaded.version == "this one"
    assert loaded.images is None
    np.testing.assert_array_equal(loaded.target, [0, 1, 0])


@pytest.fixture
def digits(define: Define, monkeypatch: pytest.MonkeyPatch) -> tuple[np.ndarray, np.ndarray]:
    monkeypatch.setattr(idx, "PARTS", (("train", 3), ("t10k", 2)))
    X = np.random.default_rng(0).integers(0, 256, (5, 784)).astype(np.uint8)
    y = np.array([4, 1, 0, 1, 2])
    define("mnist", X, np.unique(y, return_inverse=True)[1])
    return X, np.unique(y, return_inverse=True)[1]


def idx_bytes(array: np.ndarray, declared: tuple[int, ...] | None = None) -> bytes:
    shape = declared or array.shape
    return bytes((0, 0, 8, len(shape))) + struct.pack(f">{len(shape)}I", *shape) + array.astype(np.uint8).tobytes()


def write_idx(folder: Path, X: np.ndarray, y: np.ndarray, *, packed: bool = True) -> None:
    images = X.reshape(-1, 28, 28)
    for part, rows in (("train", slice(3)), ("t10k", slice(3, 5))):
        for what, array in (("images-idx3", images[rows]), ("labels-idx1", y[rows])):
            content = idx_bytes(array)
            name = f"{part}-{what}-ubyte"
            (folder / (name + ".gz" * packed)).write_bytes(gzip.compress(content) if packed else content)


@pytest.mark.parametrize("packed", [True, False])
def test_idx(tmp_path: Path, digits: tuple[np.ndarray, np.ndarray], packed: bool) -> None:
    folder = tmp_path / "MNIST"
    folder.mkdir()
    write_idx(folder, *digits, packed=packed)
    loaded = load("mnist", tmp_path)
    assert loaded.version == "this one"
    np.testing.assert_array_equal(loaded.images, digits[0].reshape(-1, 28, 28))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (idx_bytes(np.zeros(10), (3_000_000_000, 28, 28)), "declares the shape (3000000000, 28, 28)"),
        (idx_bytes(np.zeros((3, 28, 28)))[:-1], "less than the 2,352 bytes"),
        (idx_bytes(np.zeros((3, 28, 28))) + b"\0", "more than the 2,352 bytes"),
        (b"\0\0\x0d\x03" + bytes(12), "not an idx file"),
        (b"", "not an idx file"),
    ],
)
@pytest.mark.parametrize("packed", [True, False])
def test_wrong_idx(
    tmp_path: Path, digits: tuple[np.ndarray, np.ndarray], content: bytes, words: str, packed: bool
) -> None:
    write_idx(tmp_path, *digits, packed=packed)
    path = tmp_path / ("train-images-idx3-ubyte" + ".gz" * packed)
    path.write_bytes(gzip.compress(content) if packed else content)
    with pytest.raises(DataError, match="train-images") as caught:
        load("mnist", tmp_path)
    assert words in str(caught.value)


def test_damaged_gzip(tmp_path: Path, digits: tuple[np.ndarray, np.ndarray]) -> None:
    write_idx(tmp_path, *digits)
    path = tmp_path / "t10k-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match="damaged"):
        load("mnist", tmp_path)


def lying_zip(path: Path, name: str, real_size: int) -> None:
    """Write an archive whose member unpacks to much more than the set has."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open(name, "w") as member:
        for _ in range(real_size // 2**20):
            member.write(bytes(2**20))


@pytest.mark.parametrize(("file", "member"), [("umist.npz", "X.npy"), ("umist.zip", "a/1.png")])
def test_what_is_too_large_is_refused_before_memory_is_taken(
    tmp_path: Path, faces: tuple[np.ndarray, np.ndarray], file: str, member: str
) -> None:
    lying_zip(tmp_path / file, member, 64 * 2**20)
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match="declares 67,108,864 bytes"):
            load("umist_28x23", tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 8 * 2**20
        # The same with a directory that lies about the size.
        content = bytearray((tmp_path / file).read_bytes())
        entry = content.index(b"PK\x01\x02")
        content[entry + 24 : entry + 28] = struct.pack("<I", 100)
        (tmp_path / file).write_bytes(content)
        with pytest.raises(DataError):
            load("umist_28x23", tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 32 * 2**20  # what the other size of the set may have
    finally:
        tracemalloc.stop()


def test_too_many_files_and_too_large_images(tmp_path: Path, faces: tuple[np.ndarray, np.ndarray]) -> None:
    with zipfile.ZipFile(tmp_path / "umist.zip", "w") as archive:
        for number in range(100):
            archive.writestr(f"{number}.png", b"")
    with pytest.raises(DataError, match="100 files"):
        load("umist_28x23", tmp_path)
    with zipfile.ZipFile(tmp_path / "umist.zip", "w") as archive:
        archive.writestr("a/1.png", png(np.zeros((2000, 3))))
    with pytest.raises(DataError, match="3 x 2000 pixels"):
        load("umist_28x23", tmp_path)


def broken(kind: str) -> dict[str, np.ndarray]:
    X, y = np.zeros((9, 12)), np.repeat(np.arange(3), 3)
    return {
        "no y": {"X": X},
        "objects": {"X": X, "y": np.array([None] * 9)},
        "another shape": {"X": X[:, :6].repeat(2, 0), "y": y},
        "too few classes": {"X": X, "y": y * 0},
        "nan": {"X": X + np.nan, "y": y},
    }[kind]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("no y", "no array 'y'"),
        ("objects", "object"),
        ("another shape", "samples of shape"),
        ("too few classes", "1 classes"),
        ("nan", "NaN"),
    ],
)
def test_wrong_npz(tmp_path: Path, faces: tuple[np.ndarray, np.ndarray], kind: str, words: str) -> None:
    np.savez(tmp_path / "umist.npz", **broken(kind))
    with pytest.raises(DataError, match=r"umist\.npz") as caught:
        load("umist_28x23", tmp_path)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("umist.npz", b"PK\x03\x04 not really"),
        ("umist.mat", b"MATLAB 5.0 MAT-file" + bytes(200)),
        ("umist.mat", b"\x89HDF\r\n\x1a\n" + bytes(20)),
        ("umist.mat", b""),
        ("umist.zip", b"PK"),
        ("umist.csv", b"1,2,3\n"),
        ("umist.csv", b"\xff\xfe" * 20),
    ],
)
def test_damaged_files(tmp_path: Path, faces: tuple[np.ndarray, np.ndarray], name: str, content: bytes) -> None:
    if content.startswith(b"\x89HDF"):
        pytest.importorskip("h5py")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=name):
        load("umist_28x23", tmp_path)


def test_two_sizes_under_one_name(tmp_path: Path, define: Define, faces: tuple[np.ndarray, np.ndarray]) -> None:
    """UMIST.mat may hold either size: each is found where it is."""
    X, y = faces
    large = np.random.default_rng(1).integers(0, 256, (9, 20)).astype(np.uint8)
    define("umist", large, y, image_shape=(5, 4))
    savemat(tmp_path / "UMIST.mat", {"fea": X, "gnd": y})
    assert load("umist_28x23", tmp_path).data.shape == (9, 12)
    with pytest.raises(DataNotFoundError):
        load("umist", tmp_path)
    savemat(tmp_path / "umist_32x32.mat", {"fea": large, "gnd": y})
    assert load("umist", tmp_path).version == "this one"


def test_where_it_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, faces: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = faces
    places = [tmp_path / "given", tmp_path / "named", tmp_path / "cache" / "l0graph" / "data"]
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("L0GRAPH_DATA", str(places[1]))
    for place in reversed(places):
        place.mkdir(parents=True)
        write_npz(place, X, y)
        assert Path(load("umist_28x23", places[0]).filename).parent == place


def test_missing_sets_are_explained(tmp_path: Path) -> None:
    with pytest.raises(DataNotFoundError) as caught:
        load("coil20", tmp_path)
    for words in (str(tmp_path), "Columbia", "coil20.npz", "coil20.mat", "folder"):
        assert words in str(caught.value)
    with pytest.raises(DataNotFoundError, match="l0graph datasets --fetch heart"):
        load("heart")
    with pytest.raises(ValueError, match="'ionosphere', 'heart'"):
        load("iris")
    for alias, name in ALIASES.items():
        with pytest.raises(DataNotFoundError, match=DATA_SETS[name].title):
            load(alias)


def test_unknown_content_is_named(tmp_path: Path, faces: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = faces
    write_npz(tmp_path, X ^ 1, y)
    with pytest.warns(DataVersionWarning, match="none of the known versions") as caught:
        loaded = load("umist_28x23", tmp_path)
    assert loaded.version is None
    assert loaded.checksum in str(caught[0].message)


class OpenML:
    """Stands for the network: answers what scikit-learn's own code asks for."""

    def __init__(self, number: int, X: np.ndarray, names: list[str]) -> None:
        n, d = X.shape
        classes = ",".join(sorted(set(names)))
        arff = "@relation r\n" + "".join(f"@attribute a{j} real\n" for j in range(d))
        arff += f"@attribute class {{{classes}}}\n@data\n"
        arff += "".join(f"{','.join(map(repr, row))},{name}\n" for row, name in zip(X.tolist(), names, strict=True))
        self.arff = arff.encode()
        about = {"id": str(number), "name": "r", "version": "1", "format": "ARFF", "file_id": "7", "status": "active"}
        about |= {
            "default_target_attribute": "class",
            "description": "",
            "md5_checksum": hashlib.md5(self.arff).hexdigest(),
        }
        about["url"] = "https://api.openml.org/data/v1/download/7"
        flags = {"is_ignore": "false", "is_row_identifier": "false", "number_of_missing_values": "0"}
        features = [
            {"index": str(j), "name": f"a{j}", "data_type": "numeric", "is_target": "false", **flags} for j in range(d)
        ]
        features.append({"index": str(d), "name": "class", "data_type": "nominal", "is_target": "true", **flags})
        qualities = {"NumberOfInstances": n, "NumberOfFeatures": d + 1}
        self.answers = {
            f"data/features/{number}": {"data_features": {"feature": features}},
            f"data/qualities/{number}": {
                "data_qualities": {"quality": [{"name": k, "value": str(v)} for k, v in qualities.items()]}
            },
            f"data/{number}": {"data_set_description": about},
        }

    def __call__(self, request: object, *args: object, **kwargs: object) -> io.BytesIO:
        url = getattr(request, "full_url", request)
        for place, answer in self.answers.items():
            if str(url).endswith(place):
                return self._response(json.dumps(answer).encode())
        return self._response(self.arff)

    @staticmethod
    def _response(content: bytes) -> io.BytesIO:
        response = io.BytesIO(content)
        response.info = dict  # type: ignore[attr-defined] - as that of a response, and not packed
        return response


def test_fetch(tmp_path: Path, define: Define, monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).normal(size=(6, 4))
    names = ["g", "b", "g", "g", "b", "b"]
    define("ionosphere", X, np.array([0, 1, 0, 0, 1, 1]))
    monkeypatch.setattr("sklearn.datasets._openml.urlopen", OpenML(59, X, names))
    loaded = load("ionosphere", fetch=True)
    assert loaded.version == "this one"
    np.testing.assert_array_equal(loaded.data, X)
    np.testing.assert_array_equal(loaded.target, [0, 1, 0, 0, 1, 1])
    monkeypatch.setattr("sklearn.datasets._openml.urlopen", None)
    assert load("ionosphere").filename == loaded.filename  # kept


def test_what_is_fetched_is_checked(define: Define, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(6, 4))
    define("ionosphere", X, np.array([0, 1, 0, 0, 1, 1]))
    monkeypatch.setattr("sklearn.datasets._openml.urlopen", OpenML(59, X + 1e-9, ["g", "b", "g", "g", "b", "b"]))
    with pytest.raises(DataError, match="it was not kept"):
        load("ionosphere", fetch=True)
    with pytest.raises(DataNotFoundError):
        load("ionosphere")

    def down(*args: object, **kwargs: object) -> None:
        raise URLError("no network")

    monkeypatch.setattr("sklearn.datasets._openml.urlopen", down)
    with warnings.catch_warnings(), pytest.raises(DataError, match="could not be fetched"):
        warnings.simplefilter("ignore")  # scikit-learn says that it tries again
        monkeypatch.setattr("time.sleep", lambda seconds: None)
        load("ionosphere", fetch=True)
    with pytest.raises(DataError, match="no home"):
        load("coil20", fetch=True)


@pytest.mark.parametrize("name", DATA_SETS)
def test_the_real_sets_are_those_that_are_known(name: str) -> None:
    folder = ROOT.parent / "shared" / "data"
    if not (folder / f"{name}.npz").is_file():
        pytest.skip(f"no {name}.npz in shared/data beside the repository: the set may not be redistributed")
    loaded = load(name, folder)
    assert loaded.version in DATA_SETS[name].versions.values()
    assert loaded.data.shape == DATA_SETS[name].shape
    assert len(np.unique(loaded.target)) == DATA_SETS[name].n_classes

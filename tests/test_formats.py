"""Every format, read and clustered by the command: matrix, labels and ids; and folders of images."""

from __future__ import annotations

import io
import json
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse as sp
from click.testing import CliRunner
from PIL import Image

from l0graph.cli import main
from l0graph.datasets import make_subspaces
from l0graph.files import FileError, Table, read_table
from malformed import hdf5_bytes, hdf5_sparse, matlab_bytes, npy_bytes, npz_bytes, parquet_bytes

X, y = make_subspaces(12, n_subspaces=2, dim=2, ambient_dim=6, random_state=0)
KINDS = np.array(["cat", "dog"])[y]
IDS = np.array([f"s{i}" for i in range(24)])
COLUMNS = {f"x{i}": X[:, i] for i in range(6)}


def text(mark: str, *, header: bool) -> bytes:
    rows = [[*map(repr, row), kind, name] for row, kind, name in zip(X.tolist(), KINDS, IDS, strict=True)]
    lines = [*([[*COLUMNS, "kind", "name"]] if header else []), *rows]
    return "\n".join(mark.join(line) for line in lines).encode()


def stored(array: Any) -> bytes:
    buffer = io.BytesIO()
    scipy.io.savemat(buffer, array)
    return buffer.getvalue()


def anndata(kind: str | None) -> bytes:
    def fill(file: h5py.File) -> None:
        if kind is None:
            file["X"] = X.astype("f4")
        else:
            matrix = sp.csr_array(X) if kind == "csr_matrix" else sp.csc_array(X)
            hdf5_sparse(file.create_group("X"), matrix, kind)
        obs = file.create_group("obs")
        obs.attrs["_index"] = "cell"
        obs["cell"] = IDS.tolist()
        obs["kind/codes"], obs["kind/categories"] = y.astype("i1"), ["cat", "dog"]

    return hdf5_bytes(fill)


def matlab73() -> bytes:
    def fill(file: h5py.File) -> None:
        file["X"], file["y"] = X.T, y[None].astype(float)  # as MATLAB has it: columns first
        sparse = file.create_group("S")
        matrix = sp.csc_array(X)
        sparse.attrs["MATLAB_sparse"] = np.uint64(24)
        sparse["data"], sparse["ir"], sparse["jc"] = matrix.data, matrix.indices, matrix.indptr

    return hdf5_bytes(fill, matlab=True)


NUMBERED = np.column_stack([X, y, np.arange(24)])
# name, content, options; labels and ids as they must come out: None is none
FORMATS: dict[str, tuple[str, bytes, dict[str, Any], Any, Any]] = {
    "npy": ("a.npy", npy_bytes(X), {}, None, None),
    "npy, columns": ("a.npy", npy_bytes(NUMBERED), {"label_column": -2, "id_column": -1}, y, np.arange(24)),
    "npz": ("a.npz", npz_bytes(X=X, y=y, name=IDS), {"label_column": "y", "id_column": "name"}, y, IDS),
    "csv": ("a.csv", text(",", header=True), {"label_column": "kind", "id_column": "name"}, KINDS, IDS),
    "csv, no header": ("a.csv", text(",", header=False), {"label_column": 6, "id_column": -1}, KINDS, IDS),
    "csv, semicolons": (
        "a.csv",
        text(";", header=True),
        {"label_column": "kind", "drop_columns": ["name"]},
        KINDS,
        None,
    ),
    "tsv": ("a.tsv", text("\t", header=True), {"id_column": "name", "drop_columns": [6]}, None, IDS),
    "parquet": (
        "a.parquet",
        parquet_bytes(**COLUMNS, kind=KINDS, name=IDS),
        {"label_column": "kind", "id_column": "name"},
        KINDS,
        IDS,
    ),
    "parquet, numbers": ("a.parquet", parquet_bytes(**COLUMNS, y=y), {"label_column": "y"}, y, None),
    "mat 5": ("a.mat", matlab_bytes(X=X, y=y, name=IDS), {"label_column": "y", "id_column": "name"}, y, IDS),
    "mat 5, stored": ("a.mat", stored({"M": X, "y": y}), {"label_column": "y"}, y, None),
    "mat 5, sparse": ("a.mat", matlab_bytes(S=sp.csc_matrix(X)), {"array": "S"}, None, None),
    "mat 7.3": ("a.mat", matlab73(), {"label_column": "y"}, y, None),
    "mat 7.3, sparse": ("a.mat", matlab73(), {"array": "S"}, None, None),
    "h5": ("a.h5", hdf5_bytes(M=X, y=y, name=IDS.tolist()), {"label_column": "y", "id_column": "name"}, y, IDS),
    "hdf5, in a group": ("a.hdf5", hdf5_bytes(**{"g/M": X, "g/N": X + 1}), {"array": "g/M"}, None, None),
    "h5ad": ("a.h5ad", anndata(None), {"label_column": "kind"}, KINDS, IDS),
    "h5ad, rows": ("a.h5ad", anndata("csr_matrix"), {"label_column": "kind"}, KINDS, IDS),
    "h5ad, columns": ("a.h5ad", anndata("csc_matrix"), {}, None, IDS),
    "samples are columns": ("a.npy", npy_bytes(X.T), {"transpose": True}, None, None),
}


@pytest.mark.parametrize("case", FORMATS)
def test_formats(tmp_path: Path, case: str) -> None:
    name, content, options, labels, ids = FORMATS[case]
    (tmp_path / name).write_bytes(content)
    table = read_table(tmp_path / name, **options)
    tolerance = 1e-6 if table.X.dtype == np.float32 else 0
    assert np.allclose(table.X, X, rtol=0, atol=tolerance)
    for found, expected in ((table.labels, labels), (table.ids, ids)):
        assert (found is None) == (expected is None)
        if found is not None:
            assert found.tolist() == expected.tolist()

    flags = []
    for option, value in options.items():
        flag = f"--{option.rstrip('s').replace('_', '-')}"
        flags += (
            [flag] if value is True else [f"{flag}={each}" for each in (value if isinstance(value, list) else [value])]
        )
    command = ["cluster", str(tmp_path / name), "-k", "2", "--seed", "0", *flags]
    result = CliRunner().invoke(main, [*command, "-o", str(tmp_path / "labels.csv")])
    assert result.exit_code == 0, result.stderr
    lines = (tmp_path / "labels.csv").read_text().splitlines()[1:]
    assert [line.split(",")[0] for line in lines] == list(map(str, range(24) if ids is None else ids))
    clusters = [line.split(",")[1] for line in lines]
    assert len(set(clusters[:12])) == len(set(clusters[12:])) == 1
    assert clusters[0] != clusters[-1]
    assert ("accuracy 1.0000" in result.stderr) == (labels is not None)


def test_standard_input_and_json() -> None:
    content = text(",", header=True)
    command = ["cluster", "-", "-k", "2", "--seed", "0", "--label-column", "kind", "--id-column", "name"]
    result = CliRunner().invoke(main, [*command, "--json", "-q"], input=content)
    assert result.exit_code == 0, result.stderr
    facts = json.loads(result.stdout)
    assert facts["accuracy"] == 1
    assert facts["sizes"] == [12, 12]
    assert len(facts["labels"]) == 24
    for broken, words in ((b"", "empty"), (b"a,b\n1,x\n", "line 2"), (npy_bytes(X), "UTF-8")):
        refused = CliRunner().invoke(main, ["cluster", "-", "-k", "2"], input=broken)
        assert refused.exit_code == 2
        assert refused.stderr.startswith("error: standard input")
        assert words in refused.stderr


def test_missing_classes_and_pandas_index(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y,kind\n1,2,a\n2,1,\n1,1,b\n")
    table = read_table(tmp_path / "a.csv", label_column="kind")
    assert table.labels is not None
    assert table.labels.tolist() == ["a", "", "b"]
    assert table.features == ["x", "y"]
    frame = pa.table({"x": [1.0, 2.0], "y": [True, False], "__index_level_0__": ["a", "b"]})
    pq.write_table(frame, tmp_path / "a.parquet")
    assert read_table(tmp_path / "a.parquet").X.tolist() == [[1, 1], [2, 0]]
    assert read_table(tmp_path / "a.parquet", id_column="__index_level_0__").ids.tolist() == ["a", "b"]  # type: ignore[union-attr]


REFUSED: dict[str, tuple[str, bytes, dict[str, Any], str]] = {
    "one label too few": ("a.npz", npz_bytes(X=X, y=y[1:]), {"label_column": "y"}, "23 labels for 24 samples"),
    "labels are a matrix": ("a.npz", npz_bytes(X=X, M=X), {"label_column": "M"}, "labels and ids"),
    "labels elsewhere": ("a.h5", hdf5_bytes(X=X), {"label_column": "../y"}, "no column"),
    "no such column": ("a.parquet", parquet_bytes(**COLUMNS), {"id_column": "name"}, "its columns are 'x0'"),
    "no such data set": ("a.h5", hdf5_bytes(M=X, y=y), {"array": "Z"}, "'M' (float64 of shape (24, 6)), 'y'"),
    "no such variable": ("a.mat", matlab_bytes(M=X), {"array": "Z"}, "'M' (double of shape (24, 6))"),
    "a name for one array": ("a.parquet", parquet_bytes(**COLUMNS), {"array": "Z"}, "--array"),
    "images": ("a.csv", text(",", header=True), {"resize": (8, 8)}, "no folder of images"),
    "cells as labels": (
        "a.mat",
        matlab_bytes(X=X, y=np.array([[1, "a"]], dtype=object)),
        {"label_column": "y"},
        "cell",
    ),
}


@pytest.mark.parametrize(("name", "content", "options", "words"), REFUSED.values(), ids=REFUSED)
def test_wrong_choices(tmp_path: Path, name: str, content: bytes, options: dict[str, Any], words: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FileError) as caught:
        read_table(tmp_path / name, **options)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def picture(shade: int, size: tuple[int, int] = (4, 3), mode: str = "L") -> Image.Image:
    return Image.fromarray(np.full((size[1], size[0]), shade, dtype=np.uint8)).convert(mode)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for i in range(6):
        kind = tmp_path / "faces" / ("a" if i < 3 else "b")
        kind.mkdir(parents=True, exist_ok=True)
        pixels = np.zeros((3, 4), dtype=np.uint8)
        pixels[:, :2] = (i < 3) * (100 + i)
        pixels[:, 2:] = (i >= 3) * (100 + i)
        Image.fromarray(pixels).save(kind / f"{i}.png")
    return tmp_path / "faces"


def test_folder_of_images(folder: Path) -> None:
    table = read_table(folder, label_column="folder")
    assert table.X.shape == (6, 12)
    assert table.image_shape == (3, 4)
    assert table.X[0, 0] == np.float32(100 / 255)
    assert table.labels is not None
    assert table.labels.tolist() == list("aaabbb")
    assert table.ids is not None
    assert table.ids[0] == "a/0.png"
    assert read_table(folder, color=True).image_shape == (3, 4, 3)
    assert read_table(folder, resize=(2, 2)).X.shape == (6, 4)
    command = ["cluster", str(folder), "-k", "2", "--label-column", "folder", "--resize", "8x8", "--l1-penalty", "1e-3"]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("file,label\na/0.png,")
    assert "accuracy 1.0000" in result.stderr


def test_images_of_all_kinds(tmp_path: Path) -> None:
    for mode, ending in (("L", "png"), ("RGB", "jpg"), ("RGBA", "png"), ("P", "gif"), ("L", "pgm"), ("L", "tif")):
        picture(128, mode=mode).save(tmp_path / f"{mode}.{ending}")
    Image.fromarray(np.full((3, 4), 128 * 257, dtype=np.uint16)).save(tmp_path / "deep.png")
    assert np.allclose(read_table(tmp_path).X, 128 / 255, atol=0.01)


@pytest.mark.parametrize(
    ("break_it", "options", "words"),
    [
        (lambda path: picture(9, (5, 5)).save(path / "a" / "z.png"), {}, "--resize 4x3"),
        (lambda path: (path / "a" / "z.png").write_bytes(b"\x89PNG\r\n\x1a\n"), {}, "not a readable image"),
        (lambda path: (path / "a" / "z.jpg").write_bytes(b"text"), {}, "not a readable image"),
        (lambda path: (path / "a" / "z.png").write_bytes(b"%!PS-Adobe-3.0 EPSF"), {}, "not a readable image"),
        (lambda path: None, {"label_column": "kind"}, "--label-column folder"),
        (lambda path: None, {"array": "X"}, "--array"),
        (lambda path: None, {"transpose": True}, "--transpose"),
    ],
)
def test_folders_that_are_refused(folder: Path, break_it: Callable[[Path], Any], options: dict, words: str) -> None:
    break_it(folder)
    with pytest.raises(FileError) as caught:
        read_table(folder, **options)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_mutation_of_a_good_file_escapes(tmp_path: Path) -> None:
    generator = random.Random(0)
    small = np.array([[1.0, 2.5, -3.0], [0.25, 5.0, 1e-3], [7.0, 8.0, 9.0]])
    picture(128).save(tmp_path / "a.png")
    good = {
        "a.parquet": parquet_bytes(x=small[0], y=small[1]),
        "a.mat": matlab_bytes(X=small, S=sp.csc_matrix(small)),
        "b.mat": stored({"X": small, "y": small[0]}),
        "images/a.png": (tmp_path / "a.png").read_bytes(),
    }
    (tmp_path / "images").mkdir()
    for name, content in good.items():
        for _ in range(200):
            mutant = bytearray(content)
            for _ in range(generator.choice([1, 2, 5])):
                at = generator.randrange(len(mutant))
                piece = generator.choice([b"\xff" * 4, b"\0" * 4, bytes([generator.randrange(256)])])
                mutant[at : at + generator.choice([0, 1, len(piece)])] = piece
            (tmp_path / name).write_bytes(mutant)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    table = read_table(tmp_path / "images" if "/" in name else tmp_path / name)
                except FileError as error:
                    assert "\n" not in str(error)
                else:
                    assert isinstance(table, Table)
                    assert np.isfinite(table.X).all()

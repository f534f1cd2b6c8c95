"""Files: what is read, what is refused and how, and results that are written whole or not at all."""

from __future__ import annotations

import os
import random
import stat
import warnings
from pathlib import Path

import numpy as np
import pytest

from l0graph.files import FileError, atomic_write, check_target, read_matrix, write_labels
from malformed import MALFORMED, X, npy_bytes, npz_bytes


def names_in(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir())


@pytest.mark.parametrize(("name", "content", "words"), MALFORMED.values(), ids=MALFORMED)
def test_malformed_files_are_refused_in_one_line(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FileError) as caught:
        read_matrix(path)
    message = str(caught.value)
    assert words in message
    assert name in message
    assert "\n" not in message
    assert len(message.replace(str(tmp_path), "")) < 400


def test_missing_directory_and_special_files(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no such file"):
        read_matrix(tmp_path / "none.csv")
    with pytest.raises(FileError, match="a directory"):
        read_matrix(tmp_path)
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(FileError, match="not a regular file"):
        read_matrix(tmp_path / "pipe.csv")
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    with pytest.raises(FileError):
        read_matrix(tmp_path / "loop.csv")


def test_no_mutation_of_a_good_file_escapes(tmp_path: Path) -> None:
    generator = random.Random(0)
    good = {"a.npy": npy_bytes(X), "a.npz": npz_bytes(X=X), "a.csv": b"id,x,y\na,1,2\nb,3,4\n"}
    for name, content in good.items():
        for _ in range(300):
            mutant = bytearray(content)
            for _ in range(generator.choice([1, 2, 5])):
                at = generator.randrange(len(mutant))
                piece = generator.choice(
                    [b"(", b"'", b"-1", b"\0", b"\n", b"9" * 10, bytes([generator.randrange(256)])]
                )
                mutant[at : at + generator.choice([0, 1, 5])] = piece
            (tmp_path / name).write_bytes(mutant)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    result = read_matrix(tmp_path / name, drop_columns=["id"] if name == "a.csv" else [])
                except FileError as error:
                    assert "\n" not in str(error)
                else:
                    assert result.ndim == 2
                    assert np.isfinite(result).all()


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f8", "i1", "u2", "i8", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("ending", [".npy", ".npz"])
def test_numeric_arrays_of_any_kind(tmp_path: Path, dtype: str, order: str, ending: str) -> None:
    array = np.asarray(X > 2, dtype=dtype, order=order)
    path = tmp_path / f"a{ending.upper()}"
    path.write_bytes(npy_bytes(array) if ending == ".npy" else npz_bytes(X=array))
    result = read_matrix(path)
    assert result.dtype == (np.float32 if dtype == "f4" else np.float64)
    assert result.flags.c_contiguous
    assert np.array_equal(result, X > 2)


def test_choice_of_array(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    path.write_bytes(npz_bytes(X=X, other=X + 1, y=X[0]))
    assert np.array_equal(read_matrix(path), X)
    assert np.array_equal(read_matrix(path, array="other"), X + 1)
    with pytest.raises(FileError, match=r"no array 'Z'.*'other'.*--array"):
        read_matrix(path, array="Z")
    path.write_bytes(npz_bytes(features=X, y=X[0]))
    assert np.array_equal(read_matrix(path), X)
    (tmp_path / "a.npy").write_bytes(npy_bytes(X))
    with pytest.raises(FileError, match="--array"):
        read_matrix(tmp_path / "a.npy", array="X")


TABLES = {
    "no header": ("a.csv", "1,2\n3,4\n", {}),
    "header": ("a.csv", "x,y\n1,2\n3,4\n", {}),
    "header with byte-order mark": ("a.csv", "\ufeffx,y\n1,2\n3,4\n", {}),
    "byte-order mark": ("a.csv", "\ufeff1,2\n3,4\n", {}),
    "Windows line ends, no last one": ("a.csv", "1,2\r\n3,4", {}),
    "blank lines and spaces": ("a.csv", "\n x , y \n\n 1 , 2 \n3,4\n\n", {}),
    "quoted": ("a.csv", '"x, in m","y"\n"1","2"\n3,4\n', {}),
    "tabs": ("a.tsv", "x\ty\n1\t2\n3\t4\n", {}),
    "semicolons": ("a.csv", "1;2\n3;4\n", {}),
    "numbers for names": ("a.csv", "400,500\n1,2\n3,4\n", {"header": True}),
    "unnamed columns": ("a.csv", "id,0,1\na,1,2\nb,3,4\n", {"drop_columns": ["id"]}),
    "numbered columns beside a name": ("a.csv", "id,400,410\na,1,2\nb,3,4\n", {"drop_columns": ["id"]}),
    "label by name": ("a.csv", "x,y,label\n1,2,cat\n3,4,dog\n", {"drop_columns": ["label"]}),
    "label by number": ("a.csv", "1,2,cat\n3,4,dog\n", {"drop_columns": [-1]}),
    "id and label": ("a.csv", "a,1,2,cat\nb,3,4,dog\n", {"drop_columns": ["0", "3"]}),
    "not as a header": ("a.csv", "1,2\n3,4\n", {"header": False}),
}


@pytest.mark.parametrize(("name", "content", "options"), TABLES.values(), ids=TABLES)
def test_tables(tmp_path: Path, name: str, content: str, options: dict) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode())
    assert read_matrix(path, **options).tolist() == [[1, 2], [3, 4]]


def test_guesses_are_said(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("0,1,2\n5,6,7\n")
    with pytest.warns(UserWarning, match="--no-header"):
        assert read_matrix(path).tolist() == [[5, 6, 7]]
    assert read_matrix(path, header=False).tolist() == [[0, 1, 2], [5, 6, 7]]
    path.write_text(",x,y\n0,5,6\n1,7,8\n")
    with pytest.warns(UserWarning, match="--drop-column 0"):
        read_matrix(path)
    assert read_matrix(path, drop_columns=[0]).tolist() == [[5, 6], [7, 8]]


def test_columns_that_cannot_be_dropped(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,x,y\n1,2,3\n")
    for column, words in {"z": "'x', 'x', 'y'", "3": "0 to 2", "x": "2 columns are named"}.items():
        with pytest.raises(FileError, match=words):
            read_matrix(path, drop_columns=[column])
    with pytest.raises(FileError, match="no column is left"):
        read_matrix(path, drop_columns=[0, 1, 2])
    (tmp_path / "a.npy").write_bytes(npy_bytes(X))
    assert np.array_equal(read_matrix(tmp_path / "a.npy", drop_columns=["0", 2]), X[:, [1]])
    with pytest.raises(FileError, match="no column names"):
        read_matrix(tmp_path / "a.npy", drop_columns=["label"])
    with pytest.raises(FileError, match="header line"):
        read_matrix(tmp_path / "a.npy", header=True)


def test_atomic_write(tmp_path: Path) -> None:
    target = tmp_path / "result.txt"
    with atomic_write(target) as file:
        file.write("one")
        assert not target.exists()
    assert target.read_text() == "one"
    target.chmod(0o640)
    with atomic_write(target, "wb") as file:
        file.write(b"two")
    assert target.read_bytes() == b"two"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert names_in(tmp_path) == ["result.txt"]


@pytest.mark.parametrize("interruption", [ValueError, KeyboardInterrupt, SystemExit])
def test_nothing_is_left_of_an_interrupted_write(tmp_path: Path, interruption: type[BaseException]) -> None:
    (tmp_path / "old.txt").write_text("old")
    for name in ("old.txt", "new.txt"):
        with pytest.raises(interruption), atomic_write(tmp_path / name) as file:
            file.write("half")
            raise interruption
    assert names_in(tmp_path) == ["old.txt"]
    assert (tmp_path / "old.txt").read_text() == "old"


def test_links_and_devices_stay_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "link.txt").symlink_to("real.txt")
    with atomic_write(tmp_path / "link.txt") as file:
        file.write("through")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "through"
    write_labels(os.devnull, np.arange(3))
    assert Path(os.devnull).is_char_device()


def test_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = np.array([2, 0, 1], dtype=np.int32)
    write_labels(str(tmp_path / "a.csv"), labels)
    assert (tmp_path / "a.csv").read_bytes() == b"sample,label\n0,2\n1,0\n2,1\n"
    write_labels("-", labels)
    assert capsys.readouterr().out == "sample,label\n0,2\n1,0\n2,1\n"
    write_labels(str(tmp_path / "a.npy"), labels)
    assert np.array_equal(np.load(tmp_path / "a.npy"), labels)


@pytest.mark.parametrize("target", ["labels.txt", "labels", "none/labels.csv", ".", "file.csv/labels.csv"])
def test_targets_that_cannot_be_written(tmp_path: Path, target: str) -> None:
    (tmp_path / "file.csv").write_text("")
    with pytest.raises(FileError):
        check_target(str(tmp_path / target))
    with pytest.raises(FileError):
        write_labels(str(tmp_path / target), np.arange(3))
    assert names_in(tmp_path) == ["file.csv"]

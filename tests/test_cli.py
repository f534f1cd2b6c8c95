"""The command: what it writes where, and that every failure is one line and an exit code."""

from __future__ import annotations

import inspect
import io
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result

import l0graph
from l0graph.cli import main
from l0graph.cli.methods import METHODS, PARAMETERS
from l0graph.cli.terminal import progress_bar, warning_lines
from malformed import MALFORMED


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], prog_name="l0graph")


def assert_refused(result: Result, *words: str) -> None:
    """One line on standard error, nothing on standard output, exit code 2."""
    assert result.exit_code == 2, result.stderr
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    for word in words:
        assert word in result.stderr


@pytest.fixture
def planes() -> np.ndarray:
    """Samples near two planes, 20 each."""
    generator = np.random.default_rng(0)
    exact = [generator.normal(size=(20, 2)) @ generator.normal(size=(2, 6)) for _ in range(2)]
    return np.vstack(exact) + 0.01 * generator.normal(size=(40, 6))


@pytest.fixture
def data(tmp_path: Path, planes: np.ndarray) -> Path:
    np.save(tmp_path / "data.npy", planes)
    return tmp_path / "data.npy"


class Stub:
    """Stands for an estimator where the computation does not matter."""

    def __init__(self, n_clusters: int, **parameters: Any) -> None:
        self.parameters = {"n_clusters": n_clusters, **parameters}
        Stub.last = self

    last: Stub

    def fit(self, X: np.ndarray) -> None:
        self.labels_ = np.arange(len(X)) % self.parameters["n_clusters"]


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> type[Stub]:
    monkeypatch.setattr(l0graph, "L0Graph", Stub)
    monkeypatch.setattr(l0graph, "L1Graph", Stub)
    return Stub


@pytest.mark.parametrize("method", METHODS)
def test_table_of_methods_agrees_with_the_estimators(method: str) -> None:
    row = METHODS[method]
    signature = inspect.signature(getattr(l0graph, row.estimator))
    expected = {name: parameter.default for name, parameter in signature.parameters.items()}
    for name in ("n_clusters", "n_jobs", "verbose"):  # -k, -j and the summary
        del expected[name]
    assert row.defaults == expected
    assert row.defaults.keys() <= PARAMETERS.keys()


@pytest.mark.parametrize("method", [method for method in METHODS if method != "spectral"])  # its graph knows no planes
def test_cluster(tmp_path: Path, data: Path, method: str) -> None:
    options = {"omp": ("--n-nonzero", 2)}.get(method, ())  # a third atom explains noise
    result = run("cluster", data, "-k", 2, "--method", method, *options, "--seed", 0, "-o", tmp_path / "labels.csv")
    assert result.exit_code == 0
    assert result.stdout == ""
    lines = (tmp_path / "labels.csv").read_text().splitlines()
    assert lines[0] == "sample,label"
    samples, labels = zip(*(map(int, line.split(",")) for line in lines[1:]), strict=True)
    assert list(samples) == list(range(40))
    assert set(labels[:20]) != set(labels[20:]) or method == "smce"  # where planes cross, near samples lie in both
    assert sorted(set(labels)) == [0, 1]
    for fact in (
        "40 samples, 6 features",
        METHODS[method].estimator,
        "samples" if method == "smce" else "20, 20 samples",
        "nonzeros",
        "connected",
        "k-means",
    ):
        assert fact in result.stderr


def test_cluster_without_codes(data: Path) -> None:
    result = run("cluster", data, "-k", 2, "--method", "spectral", "--n-kept", 5, "--seed", 0)
    assert result.exit_code == 0
    assert result.stdout.count("\n") == 41
    assert "SpectralGraph" in result.stderr
    assert "nonzeros" not in result.stderr


def test_labels_go_to_a_pipe_alone(data: Path) -> None:
    result = run("cluster", data, "-k", 2, "--random-state", 0)
    assert result.exit_code == 0
    assert result.stdout.startswith("sample,label\n0,")
    assert result.stdout.count("\n") == 41
    assert "sample,label" not in result.stderr
    assert run("cluster", data, "-k", 2, "--random-state", 0, "-o", "-", "-q").output == result.stdout


def test_every_parameter_arrives(stub: type[Stub], data: Path) -> None:
    used = {
        "l0_penalty": (["--l0-penalty", "0.2"], 0.2),
        "l1_penalty": (["--l1-penalty", "0.3"], 0.3),
        "outliers": (["--outliers"], True),
        "outlier_penalty": (["--outlier-penalty", "0.02"], 0.02),
        "l1_outlier_penalty": (["--l1-outlier-penalty", "0.03"], 0.03),
        "lipschitz": (["--lipschitz", "global"], "global"),
        "tau": (["--tau", "1.5"], 1.5),
        "max_iter": (["--max-iter", "7"], 7),
        "tol": (["--tol", "1e-3"], 1e-3),
        "dictionary": (["--dictionary", "auto"], "auto"),
        "device": (["--device", "cuda:1"], "cuda:1"),
        "normalize": (["--no-normalize"], False),
        "fragments": (["--fragments", "keep"], "keep"),
        "min_fraction": (["--min-fraction", "0.1"], 0.1),
        "min_gap": (["--min-gap", "0.05"], 0.05),
        "n_init": (["--n-init", "3"], 3),
        "random_state": (["--seed", "5"], 5),
    }
    assert used.keys() == METHODS["l0"].defaults.keys()
    options = [option for flags, _ in used.values() for option in flags]
    assert run("cluster", data, "-k", 4, "-q", *options).exit_code == 0
    common = {"n_clusters": 4, "n_jobs": -1, "verbose": 0}
    assert stub.last.parameters == common | {name: value for name, (_, value) in used.items()}
    assert run("cluster", data, "-k", 4, "-q", "-j", 2, "--normalize", "--lipschitz", "50").exit_code == 0
    assert stub.last.parameters == common | {"n_jobs": 2, "normalize": True, "lipschitz": 50.0}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_files(tmp_path: Path, case: str) -> None:
    name, content, words = MALFORMED[case]
    (tmp_path / name).write_bytes(content)
    assert_refused(run("cluster", tmp_path / name, "-k", 2, "-o", tmp_path / "labels.csv"), words, name)
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


WRONG = {
    "no clusters": ([], "-k"),
    "too many clusters": (["-k", "41"], "n_clusters=41"),
    "zero clusters": (["-k", "0"], "n_clusters"),
    "not a number": (["-k", "many"], "'many'"),
    "unknown option": (["-k", "2", "--lambda", "1"], "--lambda"),
    "unknown method": (["-k", "2", "--method", "l7"], "'l7'"),
    "option of another method": (["-k", "2", "--method", "l1", "--tau", "2"], "--tau does not belong to --method l1"),
    "bad penalty": (["-k", "2", "--l0-penalty", "-1"], "l0_penalty"),
    "nan": (["-k", "2", "--l1-penalty", "nan"], "l1_penalty"),
    "bad step": (["-k", "2", "--lipschitz", "local"], "'local'"),
    "no threads": (["-k", "2", "-j", "0"], "n_jobs"),
    "negative seed": (["-k", "2", "--seed", "-1"], "2**32"),
    "no such array": (["-k", "2", "--array", "X"], "--array"),
    "no such column": (["-k", "2", "--drop-column", "9"], "numbered 0 to 5"),
    "no such directory": (["-k", "2", "-o", "none/labels.csv"], "no directory"),
    "unknown output": (["-k", "2", "-o", "labels.txt"], "'.txt'"),
    "output is the input": (["-k", "2", "-o", "data.npy"], "replace the data"),
}


@pytest.mark.parametrize(("options", "words"), WRONG.values(), ids=WRONG)
def test_wrong_options(monkeypatch: pytest.MonkeyPatch, data: Path, options: list[str], words: str) -> None:
    monkeypatch.chdir(data.parent)
    assert_refused(run("cluster", "data.npy", *options), words)
    assert [entry.name for entry in data.parent.iterdir()] == ["data.npy"]


def test_output_is_checked_before_the_data_are_read(tmp_path: Path) -> None:
    assert_refused(run("cluster", "none.npy", "-k", 2, "-o", tmp_path / "none" / "labels.csv"), "no directory")


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (ValueError("two\nlines"), 2, "error: two lines"),
        (TypeError("a type"), 2, "error: a type"),
        (OSError(28, "No space left on device"), 2, "error: [Errno 28] No space left on device"),
        (MemoryError(), 2, "error: out of memory: take fewer samples or features"),
        (ImportError("install l0graph[gpu]"), 2, "error: install l0graph[gpu]"),
        (KeyError("bug"), 1, "error: this should not happen, please report it: KeyError: 'bug'"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (BrokenPipeError(32, "Broken pipe"), 1, ""),
    ],
)
def test_failures_of_the_computation(
    stub: type[Stub], monkeypatch: pytest.MonkeyPatch, data: Path, error: BaseException, code: int, line: str
) -> None:
    def fit(self: Stub, X: np.ndarray) -> None:
        raise error

    monkeypatch.setattr(stub, "fit", fit)
    result = run("cluster", data, "-k", 2, "-o", data.parent / "labels.csv")
    assert result.exit_code == code
    assert result.stderr.strip() == line
    assert result.stdout == ""
    assert [entry.name for entry in data.parent.iterdir()] == ["data.npy"]


def test_traceback_on_request(stub: type[Stub], monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
    monkeypatch.setattr(stub, "fit", lambda self, X: {}["bug"])
    monkeypatch.setenv("L0GRAPH_TRACEBACK", "1")
    with pytest.raises(KeyError):
        CliRunner().invoke(main, ["cluster", str(data), "-k", "2"], catch_exceptions=False)


def test_warnings_are_lines(tmp_path: Path, stub: type[Stub], capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text("0,1,2\n5,6,7\n8,9,9\n")
    result = run("cluster", tmp_path / "a.csv", "-k", 2, "-q")
    assert result.exit_code == 0
    assert result.stderr.startswith("warning: ")
    assert result.stderr.count("\n") == 1
    with warning_lines():
        for _ in range(3):
            warnings.warn("said\nonce", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "warning: said once\n"


def test_progress_is_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    with progress_bar(True) as listener:
        assert listener is None
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress_bar(False) as listener:
        assert listener is None
    with progress_bar(True) as listener:
        assert listener is not None
        listener("l1 codes", 1, 2)
        listener("l1 codes", 2, 2)
        listener("k-means", 0, 1)
    assert "l1 codes" in sys.stderr.getvalue()


def test_help_names_every_option() -> None:
    assert "cluster" in run().stdout
    assert "warmup" in run("-h").stdout
    text = run("cluster", "--help").stdout
    for parameter in PARAMETERS.values():
        assert parameter.flags[0].split("/")[0] in text
    assert "1e-06 for l0/regularized/omp, 1e-10 for l1/smce" in " ".join(text.split())


def test_from_python() -> None:
    with pytest.raises(click.UsageError):
        main(["cluster"], standalone_mode=False)


def test_warmup() -> None:
    result = run("warmup")
    assert result.exit_code == 0
    assert "kernels ready" in result.stderr


def test_as_a_process(data: Path) -> None:
    command = [sys.executable, "-m", "l0graph"]
    shown = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert shown.stdout == f"l0graph {l0graph.__version__}\n"

    refused = subprocess.run([*command, "cluster", "none.csv", "-k", "2"], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert refused.stderr == "error: none.csv: no such file: check the path\n"

    # A reader that has gone: nothing is to be said of it.
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing) as pipe:
        piped = subprocess.run(
            [*command, "cluster", str(data), "-k", "2", "-q"], stdout=pipe, stderr=subprocess.PIPE, check=False
        )
    assert piped.stderr == b""
    assert piped.returncode != 0

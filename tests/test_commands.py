"""predict, path, bench, completion, configuration by file; and the command as a process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner, Result

import l0graph
from l0graph.cli import main
from l0graph.datasets import make_subspaces

X, y = make_subspaces(15, n_subspaces=2, dim=2, ambient_dim=5, random_state=0)


def run(*arguments: str | Path | int) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], prog_name="l0graph")


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.csv", list("vwxyz"))
    return tmp_path


def write(path: Path, names: list[str]) -> None:
    order = [list("vwxyz").index(name) for name in names]
    lines = [
        ",".join([*map(repr, row), f"k{kind}"]) for row, kind in zip(X[:, order].tolist(), y.tolist(), strict=True)
    ]
    path.write_text("\n".join([",".join([*names, "kind"]), *lines]))


def labels_in(path: Path) -> list[str]:
    return [line.split(",")[1] for line in path.read_text().splitlines()[1:]]


def test_results_in_files_and_predict(table: Path) -> None:
    outputs = ["-o", "l.csv", "--save-model", "m.l0graph", "--codes", "c.npz", "--embedding", "e.npy"]
    result = run("cluster", "a.csv", "-k", 2, "--label-column", "kind", "--seed", 0, *outputs)
    assert result.exit_code == 0, result.stderr
    assert "accuracy 1.0000, NMI 1.0000" in result.stderr
    model = l0graph.load_model("m.l0graph")
    assert list(map(str, model.labels_)) == labels_in(table / "l.csv")
    assert (abs(sp.load_npz("c.npz") - model.codes_)).nnz == 0
    assert np.array_equal(np.load("e.npy"), model.embedding_)
    assert model.feature_names_in_.tolist() == list("vwxyz")

    write(table / "b.csv", list("zyxwv"))  # other order, same names
    for name in ("a.csv", "b.csv"):
        predicted = run("predict", "m.l0graph", name, "--label-column", "kind", "-o", "p.csv")
        assert predicted.exit_code == 0, predicted.stderr
        assert "warning" not in predicted.stderr
        assert labels_in(table / "p.csv") == labels_in(table / "l.csv")
    facts = json.loads(run("predict", "m.l0graph", "a.csv", "--label-column", "kind", "--json", "-q").stdout)
    assert facts["accuracy"] == 1
    assert list(map(str, facts["labels"])) == labels_in(table / "l.csv")


def test_predict_refuses(table: Path) -> None:
    run("cluster", "a.csv", "-k", 2, "--label-column", "kind", "--save-model", "m.l0graph", "-q")
    (table / "more.csv").write_text("v,w,x,y,z,q\n1,2,3,4,5,6\n")
    (table / "less.csv").write_text("v,w\n1,2\n")
    np.save(table / "less.npy", np.ones((2, 3)))
    for arguments, words in {
        ("m.l0graph", "more.csv"): "--drop-column q",
        ("m.l0graph", "less.csv"): "no column 'x'",
        ("m.l0graph", "less.npy"): "3 features",
        ("a.csv", "a.csv"): "not a model",
        ("none", "a.csv"): "no such file",
        ("m.l0graph", "a.csv", "-o", "m.l0graph"): "cannot write",
        ("m.l0graph", "a.csv", "--json", "-o", "-"): "--json",
    }.items():
        result = run("predict", *arguments)
        assert result.exit_code == 2, arguments
        assert result.stderr.count("\n") == 1
        assert words in result.stderr


def test_outputs_that_collide(table: Path) -> None:
    for arguments, words in {
        ("-o", "l.csv", "--save-model", "l.csv"): "the same file",
        ("--save-model", "a.csv"): "replace the data",
        ("--codes", "c.npy"): ".npz",
        ("--embedding", "-"): "name it .npy",
        ("--codes", "c.npz", "--method", "spectral"): "no codes",
        ("--json", "-o", "-"): "--json",
    }.items():
        result = run("cluster", "a.csv", "-k", 2, "--label-column", "kind", *arguments)
        assert result.exit_code == 2, arguments
        assert words in result.stderr
        assert [entry.name for entry in table.iterdir()] == ["a.csv"]


@pytest.mark.parametrize("name", ["l.csv", "l.tsv", "l.parquet", "l.npy"])
def test_labels_in_every_format(table: Path, name: str) -> None:
    assert run("cluster", "a.csv", "-k", 2, "--id-column", "kind", "--seed", 0, "-q", "-o", name).exit_code == 0
    if name.endswith("npy"):
        assert np.load(name).shape == (30,)
        return
    from l0graph.files import read_table

    read = read_table(name, id_column="kind")
    assert read.X.shape == (30, 1)
    assert read.ids is not None
    assert read.ids[0] == "k0"


def test_estimated_number_of_clusters(table: Path) -> None:
    result = run("cluster", "a.csv", "-k", "auto", "--label-column", "kind", "--seed", 0, "--json", "-q")
    facts = json.loads(result.stdout)
    assert facts["n_clusters"] == 2
    assert {"l1 codes", "l0 codes", "k-means"} <= facts["seconds"].keys()
    assert run("cluster", "a.csv", "-k", "2.5", "--label-column", "kind").exit_code == 2


def test_path(table: Path) -> None:
    result = run(
        "path", "a.csv", "-k", 2, "--label-column", "kind", "--penalties", "0.1:0.4:3", "--seed", 0, "-o", "p.csv"
    )
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["l0_penalty", "nonzeros", "components", "attached", "objective", "accuracy", "nmi"]
    assert [line.split()[0] for line in lines[1:]] == ["0.1", "0.2", "0.4"]
    assert len((table / "p.csv").read_text().splitlines()) == 4
    facts = json.loads(run("path", "a.csv", "-k", 2, "--drop-column", "kind", "--json").stdout)
    assert [point["l0_penalty"] for point in facts["path"]][::7] == [0.08, 1.12]
    assert "accuracy" not in facts["path"][0]
    for wrong in ("0:1:3", "1:0.1:3", "a,b", "0.1:1", "-1"):
        refused = run("path", "a.csv", "-k", 2, "--drop-column", "kind", f"--penalties={wrong}")
        assert refused.exit_code == 2, wrong
        assert refused.stderr.count("\n") == 1


def test_bench() -> None:
    options = ["-n", 60, "-d", 10, "-k", 2, "--dim", 2, "--repeat", 1]
    facts = json.loads(run("bench", *options, "--method", "l1", "--json").stdout)
    assert [row["stage"] for row in facts["stages"]] == ["l1 codes", "affinity", "embedding", "k-means", "all"]
    assert facts["stages"][-1]["accuracy"] > 0.9
    assert "samples/s" in run("bench", *options).stdout
    assert run("bench", "--dim", 200).exit_code == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str) -> None:
    script = run("completion", shell)
    assert script.exit_code == 0, script.stderr
    assert "_L0GRAPH_COMPLETE" in script.stdout


def test_completion_completes() -> None:
    environment = os.environ | {
        "_L0GRAPH_COMPLETE": "bash_complete",
        "COMP_WORDS": "l0graph cluster --l0",
        "COMP_CWORD": "2",
    }
    code = "from l0graph.cli import main; main(prog_name='l0graph')"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert "--l0-penalty" in done.stdout


def test_configuration(table: Path) -> None:
    Path("c.toml").write_text(
        "label-column = 'kind'\nseed = 0\n"
        "[cluster]\nn-clusters = 3\nl0_penalty = 0.2\noutliers = true\nfile = 'a.csv'\n"
        "[path]\nfile = 'a.csv'\nn-clusters = 2\npenalties = '0.1,0.2'\n"
    )
    facts = json.loads(run("cluster", "--config", "c.toml", "--json", "-q", "--l0-penalty", 0.3).stdout)
    assert facts["n_clusters"] == 3
    assert facts["parameters"]["l0_penalty"] == 0.3
    assert facts["parameters"]["outliers"] is True
    assert facts["parameters"]["random_state"] == 0
    assert len(json.loads(run("path", "--config", "c.toml", "--json").stdout)["path"]) == 2
    for content, words in {
        "n-cluster = 3": "no option 'n-cluster'",
        "[clusters]\nk = 3": "'clusters'",
        "[cluster]\npenalties = '1'": "no option 'penalties'",
        "n-clusters = 3.5": "3.5",
        "n-clusters = {}": "'n-clusters'",
        "seed = 1979-05-27": "date",
        "n-clusters": "TOML",
        "config = 'c.toml'": "no option 'config'",
    }.items():
        Path("c.toml").write_text(content)
        result = run("cluster", "a.csv", "--label-column", "kind", "--config", "c.toml")
        assert result.exit_code == 2, content
        assert result.stderr.count("\n") == 1
        assert words in result.stderr, content
    assert "no-such.toml" in run("cluster", "a.csv", "--config", "no-such.toml").stderr


NO_EXAMPLE = ("warmup", "status", "datasets", "reproduce")  # nothing to choose, or all said by the usage line


def test_help_has_an_example_each() -> None:
    for name, command in main.commands.items():  # type: ignore[attr-defined]
        text = run(name, "--help").stdout
        assert text.count(f"l0graph {name}") >= 2 or name in NO_EXAMPLE, name  # in the usage line, and in an example
        assert command.get_short_help_str()
    assert "130" in run("--help").stdout


def test_help_is_light() -> None:
    code = (
        "import sys; from l0graph.cli import main\n"
        "try: main(['cluster', '--help'])\n"
        "except SystemExit: sys.exit(any(m in sys.modules for m in ('numpy', 'sklearn', 'numba', 'scipy')))"
    )
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=False).returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for child processes there")
def test_ctrl_c(table: Path) -> None:
    np.save("big.npy", np.random.default_rng(0).standard_normal((6000, 60)))
    command = [sys.executable, "-m", "l0graph", "cluster", "big.npy", "-k", "9", "-v", "-v", "--l1-penalty", "0.02"]
    outputs = ["-o", "l.csv", "--save-model", "m"]
    with subprocess.Popen([*command, *outputs], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:  # until it is in the middle of the work
            if line.startswith("l0graph: l1 codes") and " 0 of" not in line:
                break
        process.send_signal(signal.SIGINT)
        started = time.monotonic()
        said = process.stderr.read()
        code = process.wait(60)
    assert code == 130
    assert said.splitlines()[-1] == "interrupted"
    assert "Traceback" not in said
    assert time.monotonic() - started < 30
    assert sorted(entry.name for entry in table.iterdir()) == ["a.csv", "big.npy"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_output_that_cannot_be_written(table: Path) -> None:
    command = [sys.executable, "-m", "l0graph", "cluster", "a.csv", "-k", "2", "--drop-column", "kind", "-q"]
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "error: standard output: No space left on device: not all labels were written\n"
    closed = subprocess.run(["sh", "-c", '"$@" >&-', "sh", *command], stderr=subprocess.PIPE, text=True, check=False)
    assert closed.returncode == 2
    assert closed.stderr == "error: standard output is closed: name a file instead\n"

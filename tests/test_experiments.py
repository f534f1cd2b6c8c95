"""The experiments: runs done once, kept through kill -9, and tables that say what they compare."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from l0graph.cli import main
from l0graph.datasets import DataVersionWarning, load, make_subspaces
from l0graph.experiments import methods, plans, reproduce
from l0graph.experiments.code_cache import cached_codes
from l0graph.experiments.figures import draw, save
from l0graph.experiments.methods import METHODS, Method
from l0graph.experiments.page import csv_text, page
from l0graph.experiments.paper import METRICS, printed
from l0graph.experiments.plans import CHOSEN, QUICK, TARGETS, Comparison, Run, Spreading, Sweep, Timing, default
from l0graph.experiments.problems import Problem, Samples
from l0graph.experiments.runner import Results, run_all
from l0graph.experiments.store import NAME, open_store, read_rows
from l0graph.experiments.tables import Column, cells_of, choices_of

IONOSPHERE = Problem("ionosphere")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stand-ins of the shape of two sets: subspaces."""
    folder = tmp_path_factory.mktemp("data")
    for name, dim, counts, d in (("ionosphere", 3, (225, 126), 34), ("heart", 3, (150, 120), 13)):
        X, y = make_subspaces(counts, n_subspaces=2, dim=dim, ambient_dim=d, noise=0.05, random_state=0)
        np.savez(folder / f"{name}.npz", X=X, y=y)
    return folder


def rows_of(runs: list[Run], folder: Path, data: Path) -> Results:
    with pytest.warns(DataVersionWarning):
        return run_all(runs, folder, data_dir=data, n_jobs=1)


def test_rows_say_where_they_come_from(tmp_path: Path, data: Path) -> None:
    run = Run(IONOSPHERE, "l0", {"l0_penalty": 0.5})
    results = rows_of([run], tmp_path, data)
    row = results.get(run)
    assert row is not None
    assert row["data"] == "ionosphere"
    assert row["method"] == "l0"
    assert row["parameters"] == {"l0_penalty": 0.5}
    assert 0.5 <= row["AC"] <= 1
    assert row["plain NMI"] >= 0
    assert {"l1 codes", "l0 codes", "affinity", "embedding", "k-means"} <= row["stages"].keys()
    assert row["seconds"] >= sum(row["stages"].values()) * 0.9
    assert row["peak_mib"] > 10
    assert row["versions"]["numpy"] == np.__version__
    assert "cores" in row["machine"]
    assert json.loads((tmp_path / NAME).read_text()) == row


def test_figures_are_those_of_the_estimators(tmp_path: Path, data: Path) -> None:
    """What runs share changes nothing."""
    from l0graph import SMCE, L0Graph, L1Graph, OMPGraph, RegularizedL0Graph, SpectralGraph
    from l0graph.metrics import clustering_accuracy

    cases: dict[str, Any] = {"l1": L1Graph, "l0": L0Graph, "rl0": RegularizedL0Graph, "omp": OMPGraph, "smce": SMCE}
    cases["spectral"] = SpectralGraph
    runs = {method: Run(IONOSPHERE, method, default(method, IONOSPHERE)) for method in cases}
    results = rows_of(list(runs.values()), tmp_path, data)
    with np.load(data / "ionosphere.npz") as kept:
        X, y = kept["X"], kept["y"]
    for method, estimator in cases.items():
        row = results.get(runs[method])
        assert row is not None
        unit = method not in ("smce", "spectral")  # these two the paper runs on the data as they are
        model = estimator(2, normalize=unit, random_state=0)
        assert row["AC"] == clustering_accuracy(y, model.fit(X).labels_)
        if method != "spectral":
            plain = model.set_params(fragments="keep", min_gap=0).fit(X).labels_
            assert row["plain AC"] == clustering_accuracy(y, plain)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A method that only counts its runs."""
    calls: list[str] = []

    def run(samples: Samples, parameters: dict[str, Any], context: methods.Context) -> dict[str, Any]:
        calls.append(f"{samples.problem} {parameters} {context.seed}")
        return {"AC": 1.0}

    monkeypatch.setitem(METHODS, "l0", Method("l0-graph", run))
    return calls


def test_finished_runs_are_skipped(
    tmp_path: Path, data: Path, counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [Run(IONOSPHERE, "l0", {"l0_penalty": value}) for value in (0.1, 0.2)]
    rows_of([*runs, runs[0]], tmp_path, data)
    assert len(counted) == 2
    rows_of(runs, tmp_path, data)
    assert len(counted) == 2
    # Anything that figures depend on makes another run.
    rows_of([Run(IONOSPHERE, "l0", {"l0_penalty": 0.1}, seed=1)], tmp_path, data)
    rows_of([Run(Problem("heart"), "l0", {"l0_penalty": 0.1})], tmp_path, data)
    assert len(counted) == 4
    monkeypatch.setitem(METHODS, "l0", Method("l0-graph", METHODS["l0"].run, version=2))
    rows_of(runs, tmp_path, data)
    assert len(counted) == 6
    with np.load(data / "ionosphere.npz") as kept:
        X, y = kept["X"], kept["y"]
    X[0, 0] += 1e-9
    np.savez(tmp_path / "ionosphere.npz", X=X, y=y)
    rows_of(runs, tmp_path, tmp_path)
    assert len(counted) == 8


def test_finished_runs_alone(tmp_path: Path, data: Path) -> None:
    (comparison,) = QUICK["regularized"]
    first, *others = comparison.runs()
    rows_of([first], tmp_path, data)
    before = (tmp_path / NAME).read_bytes()
    with open_store(tmp_path), pytest.warns(DataVersionWarning):  # in use by another
        done = reproduce(["regularized"], tmp_path, data_dir=data, quick=True, only_finished=True)
    assert done.results.n_open == len(others) == 1
    assert (tmp_path / NAME).read_bytes() == before
    text = (tmp_path / "reproduce.md").read_text()
    assert "1 runs are not done yet" in text
    assert "| Heart | AC |" in text
    with pytest.warns(DataVersionWarning), pytest.raises(FileNotFoundError, match="no finished runs"):
        reproduce(["regularized"], tmp_path / "none", data_dir=data, quick=True, only_finished=True)


def test_missing_sets_leave_the_others(tmp_path: Path, data: Path, counted: list[str]) -> None:
    runs = [Run(Problem(name), "l0", {"l0_penalty": 0.1}) for name in ("coil20", "ionosphere")]
    results = rows_of(runs, tmp_path, data)
    assert results.get(runs[0]) is None
    assert results.get(runs[1]) is not None
    assert "Columbia" in results.missing["coil20"]


def test_codes_are_shared(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    original = methods.l1_codes

    def l1_codes(*args: Any, **kwargs: Any) -> Any:
        calls.append(kwargs["l1_penalty"])
        return original(*args, **kwargs)

    monkeypatch.setattr(methods, "l1_codes", l1_codes)
    wanted = [("l1", {"l1_penalty": 0.1}), ("l0", {"l0_penalty": 0.5}), ("l0", {"l0_penalty": 0.2})]
    runs = [Run(IONOSPHERE, method, parameters) for method, parameters in wanted]
    rows_of(runs, tmp_path, data)
    assert calls == [0.1]
    (tmp_path / NAME).unlink()  # in a new process too
    rows_of(runs[1:], tmp_path, data)
    assert calls == [0.1]


def test_damaged_codes_are_made_again(tmp_path: Path) -> None:
    import scipy.sparse as sp

    codes = sp.csr_array(np.array([[0.0, 1.5], [2.5, 0.0]]))
    for expected in (True, False):
        found, computed = cached_codes(tmp_path, {"a": 1}, lambda: codes)
        assert computed is expected
        np.testing.assert_array_equal(found.toarray(), codes.toarray())
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    for damaged in (whole[:-30], b"", b"PK\x03\x04" + whole[4:60]):
        file.write_bytes(damaged)
        assert cached_codes(tmp_path, {"a": 1}, lambda: codes)[1]
        assert file.read_bytes() == whole
    assert cached_codes(tmp_path, {"a": 2}, lambda: codes)[1]


def test_a_torn_line_is_ignored_and_repaired(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        store.add({"key": "a", "AC": 1.0})
    whole = (tmp_path / NAME).read_bytes()
    for torn in (b"{", b'{"key": "b", "AC": 0.5}', b"\xff\x00"):
        (tmp_path / NAME).write_bytes(whole + torn)
        assert read_rows(tmp_path).keys() == {"a"}
        with open_store(tmp_path) as store:
            store.add({"key": "c"})
        assert read_rows(tmp_path).keys() == {"a", "c"}
        assert (tmp_path / NAME).read_bytes().startswith(whole + b'{"key": "c"}')
    (tmp_path / NAME).write_bytes(b"nonsense\n" + whole)
    assert read_rows(tmp_path).keys() == {"a"}


@pytest.mark.skipif(sys.platform == "win32", reason="no fcntl")
def test_one_process_at_a_time(tmp_path: Path) -> None:
    with open_store(tmp_path), pytest.raises(ValueError, match="another process"), open_store(tmp_path):
        pass


QUICK_RUN = ("uci-mnist", "gamma", "--quick", "-j", "1", "-q")


def start(folder: Path, data: Path) -> subprocess.Popen:
    arguments = [sys.executable, "-m", "l0graph", "reproduce", *QUICK_RUN, "-d", str(data), "-o", str(folder)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "none")}
    environment.pop("L0GRAPH_DATA", None)
    return subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finished(folder: Path) -> int:
    path = folder / NAME
    return path.read_bytes().count(b"\n") if path.is_file() else 0


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL")
@pytest.mark.parametrize("n_kills", [1, pytest.param(5, marks=pytest.mark.slow)])
def test_killed_at_random_it_ends_with_the_same_table(tmp_path: Path, data: Path, n_kills: int) -> None:
    whole = start(tmp_path / "whole", data)
    chance = random.Random(0)
    for _ in range(n_kills):
        process = start(tmp_path / "killed", data)
        before = finished(tmp_path / "killed")
        while process.poll() is None and finished(tmp_path / "killed") < before + 1:
            time.sleep(0.002)
        time.sleep(chance.uniform(0, 0.15))
        if process.poll() is not None:
            pytest.fail(f"it ended before it was killed: {process.communicate()[1].decode()}")
        process.kill()
        process.communicate()
    last = start(tmp_path / "killed", data)
    shown, errors = last.communicate()
    assert last.returncode == 0, errors
    assert shown == whole.communicate()[0]
    assert b"Ionosphere" in shown
    assert b"MNIST was not found" in errors
    assert (tmp_path / "killed" / "cells.csv").read_bytes() == (tmp_path / "whole" / "cells.csv").read_bytes()
    assert read_rows(tmp_path / "killed").keys() == read_rows(tmp_path / "whole").keys()
    assert len(read_rows(tmp_path / "killed")) == finished(tmp_path / "killed")  # none of them twice
    for name in ("gamma-heart.png", "gamma-heart.svg", "neighbors-heart.svg"):
        kept = (tmp_path / part / "figures" / name for part in ("killed", "whole"))
        assert next(kept).read_bytes() == next(kept).read_bytes()


def test_the_plans_ask_for_every_printed_figure() -> None:
    from l0graph.experiments import paper

    asked = set()
    for parts in TARGETS.values():
        for part in parts:
            if isinstance(part, Comparison):
                asked |= {(part.table, row.key, method) for row in part.rows for method in part.methods}
    figures = paper._figures()
    tables = ("uci_mnist", "coil20", "coil100", "yaleb", "regularized")
    assert asked == {(t, row, m) for t in tables for row in figures[t] for m in figures[t][row]["AC"]}
    assert sum(printed(*cell[:2], metric, cell[2]) is not None for cell in asked for metric in METRICS) == 216
    assert sum(cell[2] == "l0" and cell[0] != "regularized" for cell in asked) * 2 == 34


def test_targets_of_the_command() -> None:
    assert tuple(TARGETS) == tuple(QUICK) == import_module("l0graph.cli.reproduce").TARGETS


def test_every_run_has_a_method_and_a_set() -> None:
    from l0graph.datasets.registry import DATA_SETS

    for plan in (TARGETS, QUICK):
        for parts in plan.values():
            for run in (run for part in parts for run in part.runs()):
                assert run.method in METHODS
                assert run.problem.data in DATA_SETS


def made_up(comparison: Comparison) -> Results:
    """Results whose figures are known: accuracies fall with the weight, and rise with the atoms."""
    results = Results()
    for run in comparison.runs():
        value = next(iter(run.parameters.values()))
        figure = {"l1": 1 - value / 2, "omp": value / 10}.get(run.method, 0.5) - 0.01 * (run.problem.draw or 0)
        row = {"AC": figure, "NMI": figure / 2, "plain AC": figure - 0.1, "plain NMI": figure / 2 - 0.1}
        row |= {"machine": "a machine", "seconds": 1.0, "peak_mib": 1024.0, "versions": {"l0graph": "0"}}
        results.add(run, row)
    return results


def test_the_best_accuracy_is_chosen_and_said() -> None:
    (comparison,) = TARGETS["uci-mnist"]
    assert isinstance(comparison, Comparison)
    results = made_up(comparison)
    cells = {(c.row.key, c.metric, c.column): c for c in cells_of(comparison, results)}
    l1, omp = Column("l1", plain=True), Column("omp", plain=True)
    cell = cells["ionosphere", "NMI", l1]
    assert cell.parameters == CHOSEN["l1"][0]
    assert cell.ours == pytest.approx(0.95 / 2 - 0.1)
    assert cell.paper == 0.1165
    assert cells["ionosphere", "AC", omp].parameters == {"n_nonzero": 5}
    # A row that is a mean over draws chooses for all of them together.
    assert cells["mnist", "AC", Column("l0")].ours == pytest.approx(0.5 - 0.045)
    fixed = {(c.row.key, c.metric, c.column): c for c in cells_of(comparison, results, chosen=False)}
    assert fixed["ionosphere", "AC", omp].parameters == {"n_nonzero": 3}
    assert {column.method for _, column, _ in choices_of(comparison, results)} == {"l1", "omp"}
    assert cells["ionosphere", "AC", Column("l0")].far
    assert not cells["ionosphere", "AC", Column("l0")].reached


def test_page_and_cells() -> None:
    (comparison,) = TARGETS["coil20"]
    assert isinstance(comparison, Comparison)
    text = page({"coil20": [comparison]}, made_up(comparison), "figures", quick=False)
    for words in ("## COIL-20", "l0-graph, plain", "0.5000 (0.9705) !", "a machine", "0 of 10 printed figures"):
        assert words in text
    lines = csv_text({"coil20": [comparison]}, made_up(comparison)).splitlines()
    assert len(lines) == 1 + 2 * 5 * 2 * 7
    assert lines[1].startswith("coil20,4,AC,kmeans,")


def test_figures(tmp_path: Path) -> None:
    (sweep,) = TARGETS["lambda-coil20"]
    assert isinstance(sweep, Sweep)
    results = Results()
    assert draw(sweep, results) is None
    for run in sweep.runs():
        height = 0.9 - run.parameters.get("l0_penalty", 0.3) / 10
        results.add(run, {"AC": height, "NMI": height, "plain AC": height / 2, "plain NMI": height / 2})
    figure = draw(sweep, results)
    assert figure is not None
    assert [ax.get_ylabel() for ax in figure.axes] == ["Accuracy", "Normalised mutual information"]
    assert all("λ" in ax.get_xlabel() for ax in figure.axes)
    (legend,) = figure.legends
    assert len(legend.get_texts()) == 2 + len(sweep.others)
    lines = [line for line in figure.axes[0].get_lines() if not str(line.get_label()).startswith("_")]
    # Without any colour they can still be told apart.
    assert len({(str(line._dash_pattern), line.get_marker()) for line in lines}) == len(lines)
    for folder in ("a", "b"):
        save(draw(sweep, results), tmp_path / folder, "lambda")  # type: ignore[arg-type]
    for ending in ("png", "svg"):
        assert (tmp_path / "a" / f"lambda.{ending}").read_bytes() == (tmp_path / "b" / f"lambda.{ending}").read_bytes()


def test_timing_and_spreading(tmp_path: Path, data: Path) -> None:
    parts = [Timing(Problem("heart")), Spreading((("Heart", Problem("heart")),), draws=2)]
    runs = [run for part in parts for run in part.runs()]
    results = rows_of(runs, tmp_path, data)
    timed = results.get(runs[0])
    assert timed is not None
    assert sum(timed["best"].values()) > 0
    text = page({"running-time": parts[:1], "semi-supervised": parts[1:]}, results, "figures", quick=True)
    for words in ("48.51", "1.68", "K40", "1 threads", "60 % labels", "| Heart | l0-graph |", "A quick look"):
        assert words in text


def test_command(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "none"))
    monkeypatch.delenv("L0GRAPH_DATA", raising=False)
    arguments = ["reproduce", "regularized", "--quick", "-j", "1", "-d", str(data), "-o", str(tmp_path / "out")]
    arguments += ["--page", str(tmp_path / "docs" / "reproduce.md")]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.stderr
    assert "warning: " in result.stderr
    assert "none of the known versions" in result.stderr
    assert "regularised l0-graph" in result.stdout
    assert "Heart" in result.stdout
    assert "wrote" in result.stderr
    assert (tmp_path / "docs" / "reproduce.md").read_text().startswith("# ")
    assert (tmp_path / "out" / "cells.csv").is_file()
    nothing = CliRunner().invoke(main, ["reproduce", "coil20", "-d", str(data), "-o", str(tmp_path / "out")])
    assert nothing.exit_code == 2
    assert "COIL-20 was not found" in nothing.stderr
    assert CliRunner().invoke(main, ["reproduce", "coil21"]).exit_code == 2


def test_list_of_data_sets(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("L0GRAPH_DATA", raising=False)
    result = CliRunner().invoke(main, ["datasets", "-d", str(data)])
    assert result.exit_code == 0
    assert "not a known version" in result.stdout
    assert "missing" in result.stdout
    assert "coil20: get it from Columbia" in result.stdout
    assert str(tmp_path) in result.stdout
    unknown = CliRunner().invoke(main, ["datasets", "--fetch", "iris"])
    assert unknown.exit_code == 2
    assert "'iris'" in unknown.stderr


def test_draws_are_of_the_same_size_and_seeded(tmp_path: Path, data: Path) -> None:
    def samples(draw: int) -> Samples:
        with pytest.warns(DataVersionWarning):
            return Samples(Problem("heart", None, draw, 20), load("heart", data))

    first, again, other = samples(0), samples(0), samples(1)
    assert np.bincount(first.y).tolist() == [20, 20]
    assert first.fingerprint == again.fingerprint != other.fingerprint
    assert len(plans.TARGETS["uci-mnist"][0].rows[1].problems) == 10  # type: ignore[union-attr]

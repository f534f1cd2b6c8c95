"""Fits on real worker processes, and in processes that are killed: the same bits in the end, and nothing left over."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from l0graph import L0Graph, L1Graph, OMPGraph, RegularizedL0Graph
from l0graph.cli import main
from l0graph.datasets import make_subspaces
from l0graph.scale import engines, fit, open_matrix, predict, run_status

# Sockets of workers that were killed, and of Dask itself, are closed by the garbage collector.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning", "ignore:.*:DeprecationWarning"
)

distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")

X, Y = make_subspaces(150, n_subspaces=4, dim=3, ambient_dim=24, noise=0.03, random_state=0)
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def same(a: Any, b: Any) -> bool:
    parts = all(
        np.array_equal(getattr(a.codes_, part), getattr(b.codes_, part)) for part in ("data", "indices", "indptr")
    )
    return parts and np.array_equal(a.labels_, b.labels_)


class Workers:
    """A scheduler here and worker processes of one thread, as ``dask worker`` starts them."""

    def __init__(self) -> None:
        self.cluster = distributed.LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50)
        self.address = self.cluster.scheduler_address
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> subprocess.Popen[bytes]:
        """Start a worker; with no nanny, so that a kill is a kill."""
        command = [sys.executable, "-m", "distributed.cli.dask_worker", self.address, "--nthreads", "1"]
        command += ["--no-nanny", "--no-dashboard", "--local-directory", os.environ.get("TMPDIR", "/tmp")]
        process = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.processes.append(process)
        return process

    def client(self) -> Any:
        """Return a connected client."""
        return distributed.Client(self.address, set_as_default=False)

    def close(self) -> None:
        """End the processes and the scheduler."""
        for process in self.processes:
            process.kill()
            process.wait()
        self.cluster.close()


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    found = Workers()
    try:
        for _ in range(2):
            found.start()
        with found.client() as client:
            client.wait_for_workers(2, timeout=60)
        yield found
    finally:
        found.close()


@pytest.fixture
def client(workers: Workers) -> Iterator[Any]:
    with workers.client() as found:
        found.wait_for_workers(2, timeout=60)
        yield found


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit, "block_rows", lambda n, d, itemsize: 40)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    "estimator",
    [
        L0Graph(4, random_state=0, tol=1e-2),
        pytest.param(L1Graph(4, random_state=0), marks=pytest.mark.slow),
        pytest.param(L0Graph(4, random_state=0, lipschitz="global", n_jobs=-1), marks=pytest.mark.slow),
        pytest.param(OMPGraph(4, random_state=0), marks=pytest.mark.slow),
        L0Graph(4, random_state=0, dictionary=90),
        RegularizedL0Graph(4, random_state=0, max_sweeps=2),
    ],
)
def test_workers_make_the_same_bits(client: Any, tmp_path: Path, estimator: Any) -> None:
    from sklearn.base import clone

    here = clone(estimator).fit(X, memory_limit="8GiB")
    there = clone(estimator).fit(X, client=client)
    assert same(here, there)
    # In a directory that the workers see they write their blocks themselves.
    assert same(here, clone(estimator).fit(X, client=client, run_dir=tmp_path / "run"))
    np.save(tmp_path / "X.npy", X)
    if estimator.dictionary != "all":
        assert same(here, clone(estimator).fit(open_matrix(tmp_path / "X.npy"), client=client))
        import dask.array

        assert same(here, clone(estimator).fit(dask.array.from_array(X, chunks=(70, -1)), client=client))
    np.testing.assert_array_equal(predict(there, X[:100], client=client), here.predict(X[:100]))


def test_parameters_are_checked_before_anything_is_submitted(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "submit", lambda *_, **__: pytest.fail("submitted"))
    with pytest.raises(ValueError, match="l0_penalty"):
        L0Graph(4, l0_penalty=-1).fit(X, client=client)


def test_workers_of_another_version_are_refused(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "_version", lambda: "99.9")
    with pytest.raises(ValueError, match=r"has l0graph .*, not 99.9 as here"):
        L1Graph(4).fit(X, client=client)


def test_a_cluster_without_workers_is_named() -> None:
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0") as empty,
        distributed.Client(empty, set_as_default=False) as client,
        pytest.raises(ValueError, match="has no workers"),
    ):
        L1Graph(4).fit(X, client=client)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("shared", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_worker_killed_and_one_added(workers: Workers, client: Any, tmp_path: Path, shared: bool) -> None:
    seen: list[int] = []

    def listen(stage: str, done: int, total: int) -> None:
        if stage == "codes" and 0 < done < total:
            seen.append(done)
            if len(seen) == 2:  # in the middle: of 15 blocks, others are under way
                workers.processes.pop(0).kill()
            if len(seen) == 4:
                workers.start()

    from l0graph import progress

    before = set(client.scheduler_info(n_workers=-1)["workers"])
    with progress(listen):
        there = L0Graph(4, random_state=0).fit(X, client=client, run_dir=tmp_path / "run" if shared else None)
    assert len(seen) >= 4
    assert same(there, L0Graph(4, random_state=0).fit(X))
    client.wait_for_workers(2, timeout=60)
    assert set(client.scheduler_info(n_workers=-1)["workers"]) != before


@pytest.mark.usefixtures("small_blocks")
def test_all_workers_lost_with_the_samples_and_others_come(
    workers: Workers, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def listen(stage: str, done: int, total: int) -> None:
        if stage == "codes" and 0 < done < total:
            seen.append(done)
            if len(seen) == 2:
                for _ in range(2):
                    workers.processes.pop(0).kill()
                threading.Timer(1.0, workers.start).start()
                threading.Timer(1.0, workers.start).start()

    from l0graph import progress

    with progress(listen):
        there = L1Graph(4, random_state=0).fit(X, client=client)
    assert same(there, L1Graph(4, random_state=0).fit(X))


_FIT = """
import sys
import numpy as np
from l0graph import L0Graph
from l0graph.scale import fit
fit.block_rows = lambda n, d, itemsize: 40
client = None
if len(sys.argv) > 3:
    from distributed import Client
    client = Client(sys.argv[3])
model = L0Graph(4, random_state=0, tol=1e-2).fit(np.load(sys.argv[1]), run_dir=sys.argv[2], client=client)
"""


def begin(*arguments: str | Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", _FIT, *map(str, arguments)], env=ENVIRONMENT)


def kill_after_blocks(process: subprocess.Popen[bytes], run: Path, count: int, pause: float = 0.0) -> None:
    """Kill -9 once so many blocks are there."""
    end = time.monotonic() + 60
    while len(list(run.glob("*/*.npz"))) < count and process.poll() is None and time.monotonic() < end:
        time.sleep(0.001)
    time.sleep(pause)
    process.send_signal(signal.SIGKILL)
    process.wait()


def arrays_of(run: Path) -> dict[str, bytes]:
    return {str(path.relative_to(run)): path.read_bytes() for path in sorted(run.rglob("*.npz"))}


def test_the_client_killed_and_started_again(workers: Workers, client: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", X)
    run = tmp_path / "run"
    kill_after_blocks(begin(tmp_path / "X.npy", run, workers.address), run, 3)
    assert 3 <= len(list((run / "codes").glob("*.npz"))) < 15
    kept = {path: path.stat().st_mtime_ns for path in (run / "codes").glob("*.npz")}
    again = begin(tmp_path / "X.npy", run, workers.address)
    assert again.wait(timeout=120) == 0
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    there = L0Graph(4, random_state=0, tol=1e-2).fit(X, run_dir=run, client=client)
    assert same(there, L0Graph(4, random_state=0, tol=1e-2).fit(X))


@pytest.mark.parametrize("n_kills", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_killed_at_random_moments_and_resumed(tmp_path: Path, n_kills: int) -> None:
    np.save(tmp_path / "X.npy", X)
    whole = begin(tmp_path / "X.npy", tmp_path / "whole")
    assert whole.wait(timeout=120) == 0
    expected = arrays_of(tmp_path / "whole")
    generator = np.random.default_rng(0)
    run = tmp_path / "run"
    for kill in range(n_kills):
        # From the first block to the last of the 30, and somewhere in the next one's making.
        count = 1 + kill * (len(expected) - 2) // max(1, n_kills - 1)
        kill_after_blocks(begin(tmp_path / "X.npy", run), run, count, generator.uniform(0, 0.05))
    last = begin(tmp_path / "X.npy", run)
    assert last.wait(timeout=120) == 0
    assert not list(run.rglob("*.tmp"))
    assert arrays_of(run) == expected
    assert run_status(run)["finished"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if os.name == "nt" or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("a file system can be mounted by root alone")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_is_one_line_and_the_run_goes_on(tmp_path: Path, small_disk: Path) -> None:
    np.save(tmp_path / "X.npy", np.tile(X, (3, 1)) + np.linspace(0, 1e-3, 1800)[:, None])
    command = ["cluster", str(tmp_path / "X.npy"), "-k", "4", "--seed", "0", "-q", "-o", str(tmp_path / "labels.csv")]
    result = CliRunner().invoke(main, [*command, "--run-dir", str(small_disk / "run")], prog_name="l0graph")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "No space left on device" in result.stderr
    assert "what is written so far is whole" in result.stderr
    n_done = run_status(small_disk / "run")["phases"]["codes"][0]
    assert n_done > 0
    assert not list(small_disk.rglob("*.tmp"))
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    codes = small_disk / "run" / "codes"
    kept = {path: path.stat().st_mtime_ns for path in codes.glob("*.npz")}
    assert (
        CliRunner().invoke(main, [*command, "--run-dir", str(small_disk / "run")], prog_name="l0graph").exit_code == 0
    )
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    whole = CliRunner().invoke(main, [*command[:-1], str(tmp_path / "whole.csv")], prog_name="l0graph")
    assert whole.exit_code == 0
    assert (tmp_path / "labels.csv").read_text() == (tmp_path / "whole.csv").read_text()


def test_the_command_on_workers_and_the_status_of_its_run(workers: Workers, client: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", X)
    run = tmp_path / "run"
    common = ["cluster", str(tmp_path / "X.npy"), "-k", "4", "--seed", "0", "-o"]
    options = ["--dask", workers.address, "--run-dir", str(run), "--memory-limit", "8GiB"]
    result = CliRunner().invoke(main, [*common, str(tmp_path / "there.csv"), *options], prog_name="l0graph")
    assert result.exit_code == 0, result.stderr
    assert CliRunner().invoke(main, [*common, str(tmp_path / "here.csv")], prog_name="l0graph").exit_code == 0
    assert (tmp_path / "there.csv").read_text() == (tmp_path / "here.csv").read_text()
    shown = CliRunner().invoke(main, ["status", str(run)], prog_name="l0graph").stdout
    for words in ("finished; L0Graph", "600 samples, 24 features, float64; codes over all others", "3 of 3 blocks"):
        assert words in shown
    as_json = json.loads(CliRunner().invoke(main, ["status", str(run), "--json"], prog_name="l0graph").stdout)
    assert as_json["finished"]
    for wrong, words in (
        (["status", str(tmp_path)], "no run"),
        ([*common, "x.csv", "--run-dir", str(run), "--l0-penalty", "0.2"], "l0_penalty was 0.5 and is now 0.2"),
        ([*common, "x.csv", "--memory-limit", "lots"], "memory_limit must be"),
    ):
        refused = CliRunner().invoke(main, wrong, prog_name="l0graph")
        assert refused.exit_code == 2
        assert words in refused.stderr
        assert refused.stderr.count("\n") == 1

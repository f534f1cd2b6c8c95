"""Runs are done once: finished ones are kept in a folder and skipped, those of one data set share their codes."""

from __future__ import annotations

import gc
import hashlib
import json
import os
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Any

from sklearn.utils import Bunch

from .._progress import timing
from ..datasets import DataNotFoundError, load
from .machine import forget_peak, machine, peak_mib, versions
from .methods import METHODS, Context
from .plans import Run
from .problems import Problem, Samples
from .store import Row, Store, open_store, read_rows

Report = Callable[[int, int, str], None]
"""Called as ``report(done, total, what comes next)``."""


class Results:
    """Finished runs, looked up by what they are runs of."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}
        self.missing: dict[str, str] = {}
        """Data sets that were not found, and where to get them."""
        self.n_open = 0
        """Runs that were not done."""
        self.data_versions: dict[str, str] = {}

    def add(self, run: Run, row: Row) -> None:
        """Keep the row of a run."""
        self._rows[_text(run)] = row

    def get(self, run: Run) -> Row | None:
        """Return the row of a run, None where its data are missing."""
        return self._rows.get(_text(run))

    @property
    def rows(self) -> list[Row]:
        """All rows, in the order of the runs."""
        return list(self._rows.values())


def run_all(
    runs: Iterable[Run],
    folder: Path,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    n_jobs: int = -1,
    only_finished: bool = False,
    report: Report = lambda done, total, what: None,
) -> Results:
    """Do the runs that the folder does not have yet, problem by problem; return the rows of all.

    With ``only_finished`` nothing is run, and the folder may be in use by another process.
    """
    by_problem: dict[Problem, dict[str, Run]] = {}
    for run in runs:
        by_problem.setdefault(run.problem, {})[_text(run)] = run
    total = sum(map(len, by_problem.values()))
    results, done = Results(), 0
    name, loaded = "", Bunch()  # the last set that was loaded: problems of one set follow each other
    opened: AbstractContextManager[Store] = open_store(folder)
    if only_finished:
        opened = nullcontext(Store(None, read_rows(folder)))
    with opened as store:
        for problem, wanted in by_problem.items():
            report(done, total, str(problem))
            try:
                if problem.data != name:
                    name, loaded = problem.data, load(problem.data, data_dir)
            except DataNotFoundError as error:
                results.missing[problem.data] = str(error)
                done += len(wanted)
                continue
            samples = Samples(problem, loaded)
            results.data_versions[problem.data] = samples.version or "not one of the known versions"
            for run in wanted.values():
                key = _key(run, samples)
                if key not in store.rows and not only_finished:
                    report(done, total, str(run))
                    store.add(_done(run, key, samples, Context(run.seed, n_jobs, folder)))
                if key in store.rows:
                    results.add(run, store.rows[key])
                else:
                    results.n_open += 1
                done += 1
            del samples
            gc.collect()
        report(total, total, "done")
    return results


def _text(run: Run) -> str:
    return json.dumps(asdict(run), sort_keys=True)


def _key(run: Run, samples: Samples) -> str:
    identity = {**asdict(run), "fingerprint": samples.fingerprint, "version": METHODS[run.method].version}
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:20]


def _done(run: Run, key: str, samples: Samples, context: Context) -> Row:
    forget_peak()
    started = perf_counter()
    with timing() as stages:
        figures: dict[str, Any] = METHODS[run.method].run(samples, run.parameters, context)
    return {
        "key": key,
        **asdict(run.problem),
        "data_version": samples.version,
        "fingerprint": samples.fingerprint,
        "method": run.method,
        "method_version": METHODS[run.method].version,
        "parameters": run.parameters,
        "seed": run.seed,
        **figures,
        "seconds": perf_counter() - started,
        "stages": dict(stages),
        "peak_mib": peak_mib(),
        "machine": machine(),
        "versions": versions(),
    }

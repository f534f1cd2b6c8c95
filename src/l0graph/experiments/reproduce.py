"""Runs -> tables, figures and the page, in a folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ..datasets import DataNotFoundError
from ..files import atomic_write
from .figures import draw, save
from .page import csv_text, page, relative, runs_of
from .plans import QUICK, TARGETS, Part, Sweep
from .runner import Report, Results, run_all


@dataclass(frozen=True)
class Reproduction:
    """What a call of `reproduce` did."""

    plan: dict[str, list[Part]]
    results: Results
    written: list[Path]


def reproduce(
    targets: list[str],
    folder: Path,
    *,
    page_path: Path | None = None,
    data_dir: str | os.PathLike[str] | None = None,
    quick: bool = False,
    n_jobs: int = -1,
    only_finished: bool = False,
    report: Report = lambda done, total, what: None,
) -> Reproduction:
    """Do the runs of some targets that the folder does not have yet, and write what they show.

    With ``only_finished`` nothing is run, and what is not there yet is left out.

    The page goes to ``page_path``, "reproduce.md" in the folder by default, figures into "figures" beside it, or into a
    folder named like the page where that has another place; cells.csv and the runs themselves stay in the folder.
    """
    plan = {target: (QUICK if quick else TARGETS)[target] for target in targets}
    results = run_all(
        runs_of(plan), folder, data_dir=data_dir, n_jobs=n_jobs, only_finished=only_finished, report=report
    )
    if not results.rows:
        raise DataNotFoundError(" ".join(results.missing.values()) or f"{folder}: no finished runs of these targets")
    target_page = folder / "reproduce.md" if page_path is None else page_path
    figures = folder / "figures" if page_path is None else page_path.with_suffix("")
    written = [target_page, folder / "cells.csv"]
    for sweep in (part for members in plan.values() for part in members if isinstance(part, Sweep)):
        figure = draw(sweep, results)
        if figure is not None:
            save(figure, figures, sweep.name)
            written.append(figures / f"{sweep.name}.png")
    target_page.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(target_page) as file:
        file.write(page(plan, results, relative(figures, target_page), quick=quick))
    with atomic_write(folder / "cells.csv") as file:
        file.write(csv_text(plan, results))
    return Reproduction(plan, results, written)

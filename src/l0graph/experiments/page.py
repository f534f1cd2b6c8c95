"""The page of all tables and figures, in Markdown, and the cells as CSV."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

from .paper import METRICS, running_time
from .plans import Comparison, Part, Row, Run, Spreading, Sweep, Timing
from .runner import Results
from .tables import FAR, NEAR, Cell, Column, cells_of, choices_of, columns_of, described

_CSV_HEAD = ["table", "row", "metric", "method", "graph", "selection", "ours", "paper", "difference", "parameters"]
_GRAPHS = {"l0": "l0-graph", "l1": "l1-graph", "knn": "5 nearest neighbours"}


def page(plan: dict[str, list[Part]], results: Results, figures: str, *, quick: bool) -> str:
    """Return the page; ``figures`` is the folder of the figures as the page names it."""
    notes = _notes()
    parts = ["# The paper's tables and figures, reproduced", notes["intro"]]
    if quick:
        parts.append("**A quick look (`--quick`): a small part of every target, not comparable as a whole.**")
    if results.n_open:
        parts.append(f"**{results.n_open} runs are not done yet: their cells are empty.**")
    parts += [_summary(plan, results), _machines(results), notes["protocol"]]
    headed = set()
    for target, members in plan.items():
        name = _SECTION.get(target, target)
        if name not in headed:
            parts.append(f"## {_TITLES[name]}")
            headed.add(name)
        parts += [part_text(part, results, figures) for part in members]
        if target in notes:
            parts.append(notes[target])
    parts += [f"*{title} is missing here: {_escaped(message)}*" for title, message in results.missing.items()]
    parts.append(notes["end"])
    return "\n\n".join(part for part in parts if part) + "\n"


def csv_text(plan: dict[str, list[Part]], results: Results) -> str:
    """Return every cell of every table, one a line."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ("table", "row", "metric", "method", "graph", "selection", "ours", "paper", "difference", "parameters")
    )
    for part in (part for members in plan.values() for part in members if isinstance(part, Comparison)):
        for chosen in (True, False):
            for cell in cells_of(part, results, chosen=chosen):
                writer.writerow(
                    (
                        part.table,
                        cell.row.key,
                        cell.metric,
                        cell.column.method,
                        "plain" if cell.column.plain else "library",
                        "best accuracy" if chosen else "without labels",
                        f"{cell.ours:.4f}",
                        "" if cell.paper is None else f"{cell.paper:.4f}",
                        "" if cell.difference is None else f"{cell.difference:+.4f}",
                        described(cell.parameters),
                    )
                )
    return text.getvalue()


_TITLES = {
    "uci-mnist": "Ionosphere and MNIST",
    "coil20": "COIL-20",
    "coil100": "COIL-100",
    "yaleb": "Extended Yale B",
    "regularized": "The regularised l0-graph",
    "lambda": "The weight of the l0-norm",
    "gamma": "The weight and the neighbours of the regularised l0-graph",
    "running-time": "Running time",
    "semi-supervised": "Semi-supervised classification",
}
_SECTION = {"lambda-yaleb": "lambda", "lambda-coil20": "lambda"}


def _notes() -> dict[str, str]:
    """Return the hand-written paragraphs by the name of their section."""
    text = files(__package__).joinpath("notes.md").read_text(encoding="utf-8")
    sections = (section.partition("\n") for section in text.split("\n# ")[1:])
    return {name.strip(): body.strip() for name, _, body in sections}


def part_text(part: Part, results: Results, figures: str) -> str:
    """Return one table or figure in Markdown."""
    if isinstance(part, Comparison):
        return _comparison(part, results)
    if isinstance(part, Sweep):
        if any(results.get(part.point(value)) is None for value in part.values):
            return ""  # nothing was drawn
        return f"![{part.title}: accuracy and mutual information]({figures}/{part.name}.svg)"
    if isinstance(part, Timing):
        return _timing(part, results)
    return _spreading(part, results)


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    lines = [head, ["---", "---", *["---:"] * (len(head) - 2)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _comparison(comparison: Comparison, results: Results) -> str:
    columns = columns_of(comparison)
    found = list(cells_of(comparison, results))
    if not found:
        return ""
    fixed = {(c.row.key, c.metric, c.column): c for c in cells_of(comparison, results, chosen=False)}
    blocks = [
        "Ours, and in brackets the paper's; **bold** is what is reached within "
        f"{NEAR:g} or exceeded, ! what is more than {FAR:g} off.",
        _table(("", "", *(column.title for column in columns)), _lines(found, columns)),
    ]
    choices = list(choices_of(comparison, results))
    if choices:
        blocks += [
            "Chosen with labels, by best accuracy as the paper did; beside it what the method gets without:",
            _choices(choices, found, fixed),
        ]
    far = [cell for cell in found if cell.far]
    if far:
        listed = "; ".join(f"{cell.column.title} {cell.row.title} {cell.metric} {cell.difference:+.3f}" for cell in far)
        blocks.append(f"More than {FAR:g} off: {listed}.")
    return "\n\n".join(blocks)


def _choices(
    choices: list[tuple[Row, Column, dict[str, Any]]],
    found: list[Cell],
    fixed: dict[tuple[str, str, Column], Cell],
) -> str:
    """Return the table of what was chosen: per method the choice, its figure, and that of the default."""
    columns = list(dict.fromkeys(column for _, column, _ in choices))
    chosen = {(row.key, column): parameters for row, column, parameters in choices}
    best = {(cell.row.key, cell.metric, cell.column): cell for cell in found}
    head = ["", ""]
    for column in columns:
        usual = next(cell.parameters for cell in fixed.values() if cell.column == column)
        head += [f"{column.title}: chosen", "best", f"at {described(usual)}"]
    lines = []
    for row in dict.fromkeys(row for row, _, _ in choices):
        for metric in METRICS:
            line = [_unbroken(row.title), metric]
            for column in columns:
                key = (row.key, metric, column)
                if key not in best:
                    line += ["", "", ""]
                    continue
                values = ", ".join(f"{value:g}" for value in chosen[row.key, column].values())
                line += [values, f"{best[key].ours:.4f}", f"{fixed[key].ours:.4f}"]
            lines.append(line)
    return _table(head, lines)


def _lines(found: list[Cell], columns: list[Column]) -> Iterable[list[str]]:
    by = {(cell.row.key, cell.metric, cell.column): cell for cell in found}
    for row in dict.fromkeys(cell.row for cell in found):
        for metric in METRICS:
            yield [_unbroken(row.title), metric, *(_cell(by.get((row.key, metric, column))) for column in columns)]


def _cell(cell: Cell | None) -> str:
    if cell is None:
        return ""
    ours = f"{cell.ours:.4f}"
    if cell.paper is None:
        return ours
    return (f"**{ours}**" if cell.reached else ours) + f" ({cell.paper:.4f})" + (" !" if cell.far else "")


def _summary(plan: dict[str, list[Part]], results: Results) -> str:
    tables = [part for members in plan.values() for part in members if isinstance(part, Comparison)]
    cells = [cell for table in tables if table.table != "regularized" for cell in cells_of(table, results)]
    # Rows that have no name of their own, as "c = 8", get that of their table.
    titles = {row: f"{table.title} " if row.key.isdigit() else "" for table in tables for row in table.rows}
    lines = []
    for plain, name in ((False, "with the library's defaults"), (True, "plain, as the paper has it")):
        ours = [cell for cell in cells if cell.column.method == "l0" and cell.column.plain == plain and cell.paper]
        if ours:
            missed = [cell for cell in ours if not cell.reached]
            text = f"l0-graph, {name}: {len(ours) - len(missed)} of {len(ours)} printed figures"
            text += f" reached within {NEAR:g} or exceeded"
            if missed:
                text += "; not: " + ", ".join(
                    f"{titles[cell.row]}{cell.row.title} {cell.metric} ({cell.ours:.4f} for {cell.paper:.4f})"
                    for cell in missed
                )
            lines.append(f"- {text}.")
    others = [cell for cell in cells if cell.column.method != "l0" and cell.paper is not None]
    if others:
        far = [cell for cell in others if cell.far]
        above = sum(cell.ours > (cell.paper or 0) for cell in far)
        lines.append(
            f"- The other methods: {len(others) - len(far)} of {len(others)} printed figures within {FAR:g}, "
            f"{above} more than that above, {len(far) - above} below."
        )
    return "\n".join(lines)


def _machines(results: Results) -> str:
    machines = list(dict.fromkeys(row["machine"] for row in results.rows))
    if not machines:
        return ""
    seconds = sum(row["seconds"] for row in results.rows)
    versions = results.rows[-1]["versions"]
    named = ", ".join(f"{name} {number}" for name, number in versions.items())
    data = "; ".join(f"{name}: {version}" for name, version in results.data_versions.items())
    return (
        f"{len(results.rows)} runs, {seconds / 60:.1f} minutes in sum, most memory in one run "
        f"{max(row['peak_mib'] for row in results.rows) / 1024:.1f} GiB, on {'; '.join(machines)}. {named}. "
        f"Versions of the data: {data}."
    )


def _timing(timing: Timing, results: Results) -> str:
    row = results.get(next(iter(timing.runs())))
    if row is None:
        return ""
    paper = running_time()
    best = row["best"]
    stages = ", ".join(f"{name} {seconds:.2f}" for name, seconds in best.items())
    rows = [
        ("paper, MATLAB", "2 x Intel Xeon X5650 2.67 GHz, 48 GB", f"{paper['matlab_s']:.2f}"),
        ("paper, CUDA C", "the same with an NVIDIA K40", f"{paper['cuda_k40_s']:.2f}"),
        (f"l0graph, {row['n_threads']} threads", row["machine"], f"{sum(best.values()):.2f}"),
    ]
    return _table(("", "machine", "seconds"), rows) + f"\n\nOurs by stage: {stages}. Best of several, all stages."


def _spreading(spreading: Spreading, results: Results) -> str:
    rows = []
    runs = iter(spreading.runs())
    shares: list[str] = []
    for title, _ in spreading.problems:
        for graph in spreading.graphs:
            row = results.get(next(runs))
            if row is not None:
                shares = list(row["errors"])
                cells = [f"{100 * mean:.1f} ± {100 * deviation:.1f}" for mean, deviation in row["errors"].values()]
                rows.append((title, _GRAPHS[graph], *cells))
    if not rows:
        return ""
    head = ("", "graph", *(f"{100 * float(share):g} % labels" for share in shares))
    return (
        f"Error in percent on the samples without labels, mean and standard deviation of {spreading.draws} draws.\n\n"
        + _table(head, rows)
    )


def _unbroken(title: str) -> str:
    """Return "c = 8" so that no line ends inside."""
    return title.replace(" = ", "\u00a0=\u00a0")


def _escaped(text: str) -> str:
    return text.replace("*", r"\*").replace("|", r"\|")


def runs_of(plan: dict[str, list[Part]]) -> list[Run]:
    """Return the runs of all targets."""
    return [run for members in plan.values() for part in members for run in part.runs()]


def relative(folder: Path, page_path: Path) -> str:
    """Return a folder as a page can name it."""
    return Path(os.path.relpath(folder, page_path.parent)).as_posix()

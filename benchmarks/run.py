"""Time, memory and quality, side by side in one run: ``make bench`` or ``python benchmarks/run.py [SECTION ...]``.

Prints one table per section and writes everything to out/bench.json, beside what earlier runs at the same commit on the
same machine have found; --page FILE writes it as a page of the documentation, too. The machine may be shared: only
ratios within one run mean something.
"""

import argparse
import json
import os
import platform
import subprocess
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import methods
import speed
import stages
from data import ROOT
from l0graph import warmup

SECTIONS = {
    "l1": speed.l1,
    "products": speed.products,
    "threads": speed.threads,
    "fits": speed.fits,
    "growth": speed.growth,
    "first-use": speed.first_use,
    "l0-stage": stages.l0_stage,
    "embedding": stages.embedding,
    "memory": stages.memory,
    "omp": methods.omp,
    "outliers": methods.outliers,
    "predict": methods.predict,
}


def environment():
    import numba
    import scipy
    import sklearn

    import l0graph

    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], check=False, capture_output=True, text=True, cwd=ROOT
    )
    model = [
        line.split(":", 1)[1].strip()
        for line in (Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").is_file() else "").splitlines()
        if line.startswith("model name")
    ]
    return {
        "cpu": model[0] if model else platform.processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "commit": commit.stdout.strip(),
        **{m.__name__: m.__version__ for m in (l0graph, np, scipy, sklearn, numba)},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"any of {', '.join(SECTIONS)}; all by default")
    parser.add_argument("--page", type=Path, help="write the tables found so far to this Markdown file")
    options = parser.parse_args()
    chosen = options.sections or list(SECTIONS)
    unknown = [s for s in chosen if s not in SECTIONS]
    if unknown:
        parser.error(f"no section {unknown[0]!r}: choose from {', '.join(SECTIONS)}")
    console = Console()
    warmup()
    out = ROOT / "out" / "bench.json"
    results = {"environment": environment()}
    if out.is_file() and (before := json.loads(out.read_text()))["environment"] == results["environment"]:
        results = before
    for name in chosen:
        started = time.process_time()
        results[name] = SECTIONS[name]()
        results[name]["processor time of the section, s"] = time.process_time() - started
        table = Table("", "", title=SECTIONS[name].__doc__.strip(), title_justify="left", show_header=False)
        for key, value in results[name].items():
            table.add_row(key, shown(value))
        console.print(table)
        write(out, json.dumps(results, indent=1) + "\n")
    console.print(f"written to {out.relative_to(ROOT)}; commit {results['environment']['commit']}")
    if options.page:
        write(options.page, page(results))


def write(path, text):
    path.parent.mkdir(exist_ok=True)
    draft = path.with_suffix(".tmp")
    draft.write_text(text)
    draft.replace(path)


def page(results):
    """Return the results as Markdown."""
    machine = ", ".join(f"{key} {value}" for key, value in results["environment"].items())
    lines = ["# Benchmarks", "", f"Written by `make bench`: {machine}.", ""]
    lines += ["Ratios are within one run; the seconds are those of this machine.", ""]
    for name in (name for name in SECTIONS if name in results):
        lines += [f"## {name}", "", SECTIONS[name].__doc__.strip(), "", "| | |", "|---|---|"]
        lines += [f"| {key} | {shown(value)} |" for key, value in results[name].items()]
        lines.append("")
    return "\n".join(lines)


def shown(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()

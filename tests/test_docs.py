"""The documentation says what the library does: all public names are in it, and what it shows runs."""

import importlib
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import l0graph

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
ROOMS = ("datasets", "experiments", "files", "metrics", "plots", "report", "scale")
PUBLIC = ("l0graph", *(f"l0graph.{room}" for room in ROOMS))


def listed():
    """Return the names in the reference, by module."""
    names, module = {}, None
    for line in (DOCS / "api.md").read_text(encoding="utf-8").splitlines():
        if found := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = found[1]
        elif found := re.match(r"   (\w+)$", line):
            names.setdefault(module, []).append(found[1])
    return names


@pytest.mark.parametrize("module", PUBLIC)
def test_the_reference_has_all_public_names_once(module):
    home = importlib.import_module(module)
    functions_and_classes = [name for name in home.__all__ if callable(getattr(home, name))]
    assert sorted(listed()[module]) == sorted(functions_and_classes)


def test_the_modules_of_the_reference_are_all_there_are():
    assert {f"l0graph.{name}" for name in l0graph._MODULES} <= set(PUBLIC) == set(listed())


def blocks(page):
    """Return the Python blocks of a page."""
    return re.findall(r"^```python\n(.*?)^```$", (DOCS / page).read_text(encoding="utf-8"), re.M | re.S)


def test_getting_started_runs_from_top_to_bottom(tmp_path, monkeypatch):
    mpl = pytest.importorskip("matplotlib")
    mpl.use("Agg")
    monkeypatch.chdir(tmp_path)
    found = blocks("getting-started.md")
    assert len(found) >= 3
    namespace = {}
    for block in found:
        exec(block, namespace)
    assert set(namespace["labels"]) == set(range(10))
    assert (tmp_path / "affinity.png").is_file()


def test_the_answer_for_those_who_have_an_affinity_runs():
    W = sp.csr_array(np.kron(np.eye(10), np.ones((5, 5))))
    namespace = {"W": W}
    exec(blocks("faq.md")[0], namespace)
    assert len(set(namespace["result"].labels)) == 10


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", *(f"docs/{path.name}" for path in DOCS.glob("*.md"))])
def test_links_between_files_lead_somewhere(page):
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if "://" not in target and not target.startswith("gallery/"):
            assert ((ROOT / page).parent / target).exists(), target

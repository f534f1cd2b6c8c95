"""The public names."""

import inspect
import subprocess
import sys

import numpy as np
import pytest

import l0graph


def test_all_names_resolve_and_are_documented():
    for name in l0graph.__all__:
        value = getattr(l0graph, name)
        assert value.__doc__, name
        assert name in dir(l0graph)
    with pytest.raises(AttributeError, match="no attribute 'l2_codes'"):
        _ = l0graph.l2_codes
    assert l0graph.__version__


def test_type_checkers_see_the_same_names():
    source = inspect.getsource(l0graph)
    block = source[source.index("if TYPE_CHECKING:") : source.index("_HOMES = ")]
    names = {line.split(" as ")[-1].strip() for line in block.splitlines() if " as " in line}
    assert names == set(l0graph.__all__)


def test_importing_the_package_alone_is_light():
    code = "import sys, l0graph; sys.exit(any(m in sys.modules for m in ('numba', 'sklearn', 'scipy')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", [n for n in l0graph.__all__ if inspect.isroutine(getattr(l0graph, n))])
def test_functions_have_complete_annotations(name):
    signature = inspect.signature(getattr(l0graph, name))
    assert signature.return_annotation is not inspect.Signature.empty
    assert all(p.annotation is not inspect.Parameter.empty for p in signature.parameters.values())


@pytest.mark.parametrize("name", l0graph.__all__)
def test_examples_run(name):
    import doctest

    value = getattr(l0graph, name)
    if inspect.ismodule(value):
        return
    finder, runner = doctest.DocTestFinder(recurse=False), doctest.DocTestRunner()
    for test in finder.find(value, name, globs={"np": np}):
        runner.run(test)
    assert runner.failures == 0

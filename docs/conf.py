"""Sphinx configuration."""

import re
from importlib.metadata import version as installed_version

project = "l0graph"
author = "The l0graph developers"
copyright = author
version = release = installed_version("l0graph")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
]
templates_path = ["_templates"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"l0graph {release}"
html_copy_source = False

autodoc_typehints = "none"  # numpydoc's parameter lists say the types
autosummary_generate = True
autosummary_imported_members = True
numpydoc_show_class_members = False  # the template lists them


def _escape_fitted_names(app, what, name, obj, options, lines):
    """Keep "of shape (n_iter_ + 1,)" from being read as a link to "n_iter"."""
    del app, what, name, obj, options
    lines[:] = [re.sub(r"_(?=[ ,)])", r"\\_", line) if "of shape (" in line else line for line in lines]


def setup(app):
    """Register what the extensions do not do."""
    # After numpydoc, whose priority is the default, 500.
    app.connect("autodoc-process-docstring", _escape_fitted_names, priority=1000)

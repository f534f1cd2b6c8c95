"""Sphinx configuration."""

import logging
import re
from importlib.metadata import version as installed_version
from pathlib import Path

project = "l0graph"
author = "The l0graph developers"
copyright = author
version = release = installed_version("l0graph")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
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
myst_enable_extensions = ["amsmath", "dollarmath"]
myst_heading_anchors = 3

logging.getLogger("l0graph").setLevel(logging.WARNING)  # a part of the theme turns all logging on

HERE = Path(__file__).parent
sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples" / "gallery"),
    "gallery_dirs": "gallery",
    "backreferences_dir": "api/generated/examples",
    "doc_module": ("l0graph",),
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "min_reported_time": 1,
    "remove_config_comments": True,
    "capture_repr": (),
}


def _mend(app, what, name, obj, options, lines):
    """Keep "of shape (n_iter_ + 1,)" from being read as a link to "n_iter"; take out scikit-learn's links to itself."""
    del app, what, name, obj, options
    lines[:] = [re.sub(r"_(?=[ ,)])", r"\\_", line) if "of shape (" in line else line for line in lines]
    lines[:] = [re.sub(r":(?:ref|term):`([^`<]*?)(?: <[^`]*>)?`", r"\1", line) for line in lines]


def setup(app):
    """Register what the extensions do not do."""
    # After numpydoc, whose priority is the default, 500.
    app.connect("autodoc-process-docstring", _mend, priority=1000)

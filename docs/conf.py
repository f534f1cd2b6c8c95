"""Sphinx configuration."""

import logging
import re
import warnings
from importlib.metadata import version as installed_version
from pathlib import Path

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util.math import get_node_equation_number

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
    "sphinx.ext.viewcode",
]
templates_path = ["_templates"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_math_renderer = "mathml"
html_title = f"l0graph {release}"
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]

autodoc_typehints = "none"  # numpydoc's parameter lists say the types
autosummary_generate = True
autosummary_imported_members = True
numpydoc_show_class_members = False  # the template lists them
myst_enable_extensions = ["amsmath", "dollarmath"]
myst_heading_anchors = 3

# In the gallery's output a warning is its text, not a path on the machine that built the page.
warnings.formatwarning = lambda message, category, *_, **__: f"{category.__name__}: {message}\n"
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
    "write_computation_times": False,  # a page that would load scripts from elsewhere
    "remove_config_comments": True,
    "capture_repr": (),
}


def _mend(app, what, name, obj, options, lines):
    """Keep "of shape (n_iter_ + 1,)" from being read as a link to "n_iter"; take out scikit-learn's links to itself."""
    del app, what, name, obj, options
    lines[:] = [re.sub(r"_(?=[ ,)])", r"\\_", line) if "of shape (" in line else line for line in lines]
    lines[:] = [re.sub(r":(?:ref|term):`([^`<]*?)(?: <[^`]*>)?`", r"\1", line) for line in lines]


def _inline_math(translator, node):
    """Write a formula as MathML, which browsers show by themselves: pages need no script from elsewhere."""
    translator.body.append(tex2mathml(node.astext()))
    raise SkipNode


def _block_math(translator, node):
    """Write a formula that stands apart, with its number."""
    translator.body.append(translator.starttag(node, "div", CLASS="math notranslate"))
    if node["number"]:
        number = get_node_equation_number(translator, node)
        translator.body.append(f'<span class="eqno">({number})')
        translator.add_permalink_ref(node, "Link to this equation")
        translator.body.append("</span>")
    translator.body.append(tex2mathml(node.astext(), as_block=True))
    translator.body.append("</div>\n")
    raise SkipNode


def setup(app):
    """Register what the extensions do not do."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline_math, None), block_renderers=(_block_math, None))
    # After numpydoc, whose priority is the default, 500.
    app.connect("autodoc-process-docstring", _mend, priority=1000)

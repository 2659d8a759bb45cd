"""How Sphinx builds these pages: `make docs`."""

from __future__ import annotations

import sys
from pathlib import Path

from minertia.version import __version__

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "minertia"
author = "the minertia authors"
release = version = __version__
extensions = [
    *("myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.mathjax"),
    "sphinx-mathjax-offline",  # equations need no network
    *("equations", "repository", "signatures"),
]

exclude_patterns = ["images/README.md"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3  # links to headings work as they do where the code is hosted

default_role = "code"  # docstrings put names between single backticks
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
maximum_signature_line_length = 100
_ALIASES = (
    "Array",
    "ArrayLike",
    "NDArray",
    "Values",
    "Parameters",
    "Source",
    "Wanted",
    "Judge",
    "Mat",
    "Vec",
    "Ten",
    "Scalar",
)
autodoc_type_aliases = {name: name for name in _ALIASES}  # shown by name, not by what they stand for
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
add_module_names = False
autosummary_generate = False  # the pages of the reference name what they show
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = f"minertia {version}"
html_static_path = ["_static"]
html_css_files = ["minertia.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False

r"""Numbers of equations that can be linked to.

The pages number equations with \tag{5}, which is also shown where the code is hosted.  Here they become labels, and
citations in docstrings ("theory, eq. 5", "theory, eqs. 6 to 9") become links to them.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

PAGE = "theory"
TAGGED = re.compile(r"\\tag\{(\d+)\}\s*\$\$")
CITED = re.compile(r"theory, eqs?\. (\d+)(?: to (\d+))?")


def label_equations(app: Sphinx, page: str, source: list[str]) -> None:
    """Sphinx counts labelled equations itself: 1, 2 ... in the order of the one page that has them."""
    if page == PAGE:
        source[0] = TAGGED.sub(r"$$ (eq-\1)", source[0])


def link_citations(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Put links where a docstring cites an equation."""
    lines[:] = [CITED.sub(_linked, line) for line in lines]


def _linked(found: re.Match[str]) -> str:
    first, last = (f":eq:`eq-{number}`" if number else "" for number in found.groups())
    return f":doc:`{PAGE}`, eqs. {first} to {last}" if last else f":doc:`{PAGE}`, eq. {first}"


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", label_equations)
    app.connect("autodoc-process-docstring", link_citations)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

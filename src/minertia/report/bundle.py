"""Pages without a server: the studio's own components in one file, with a result embedded as data.

`make studio` builds two templates from the sources of the studio: one of plots and tables, one with the 3-D view as
well.  A template holds script and style; the content security policy in its head allows that script by its digest and
nothing else.
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from minertia.io.arrays import Array
from minertia.io.errors import MinertiaError
from minertia.io.files import write_file
from minertia.robot.robot import Note
from minertia.version import __version__

STATIC = Path(__file__).parent / "static"
PLAIN, SCENE = "page.html", "scene.html"
HEAD, DATA = "<!--minertia-head-->", "<!--minertia-data-->"
HOW_TO_BUILD = "install Node.js 20 or newer and run `make studio`, or install a wheel, which has it"
NOT_BUILT = (
    f"this page needs the script of the studio, which is not built in this checkout: {HOW_TO_BUILD}; "
    "--json has the same numbers"
)
NOT_WRITTEN = f"not written: pages need the script of the studio, which is not built here: {HOW_TO_BUILD}"


def is_built() -> bool:
    """Whether the page templates are built, so that interactive pages can be written."""
    return all((STATIC / name).is_file() for name in (PLAIN, SCENE))


def require_bundle() -> None:
    """Raise an error early where the page templates are not built."""
    if not is_built():
        raise MinertiaError(NOT_BUILT)


def write_page(path: Path, make: Callable[[], str]) -> tuple[Note, ...]:
    """Write the page of a result; if the page templates are not built, return a note that says how to get them."""
    if not is_built():
        return (Note("info", path.name, NOT_WRITTEN),)
    write_file(path, make())
    return ()


def filled(
    kind: str, title: str, view: Mapping[str, Any], *, format_version: int, scene: bool = False, page: str = ""
) -> str:
    """HTML text of a result page.

    kind: page type that the script draws; view: its data, finite numbers and text only.  scene: with the 3-D
    view.  page: type stated in the head, if it differs from the kind.
    """
    require_bundle()
    template = (STATIC / (SCENE if scene else PLAIN)).read_text(encoding="utf-8")
    head = (
        f'<meta name="generator" content="minertia {_text(__version__)}">\n'
        f'<meta name="minertia-page" content="{_text(page or kind)}">\n'
        f'<meta name="minertia-format" content="{format_version}">\n'
        f"<title>{_text(title)}</title>"
    )
    data = {"kind": kind, "title": title, "version": __version__, "view": view}
    first, _, rest = template.partition(HEAD)
    middle, _, last = rest.partition(DATA)
    return "".join((first, head, middle, f'<script type="application/json" id="data">{as_data(data)}</script>', last))


def as_data(value: Any) -> str:
    """JSON that is safe inside a script element.

    Non-ASCII characters (U+2028 included) and <, > and & are escaped.  Non-finite numbers become null.
    """
    text = json.dumps(_known(value), allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _known(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _known(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_known(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _text(text: str) -> str:
    return html.escape("".join(c if c.isprintable() else " " for c in text))


# ------------------------------------------------------------------------------------------------------------ numbers


def rounded(values: Any, digits: int | None = None, *, figures: int = 6) -> list[float | None]:
    """Values for JSON: rounded to decimals, else to significant digits; null for non-finite ones."""
    array = np.asarray(values, float)
    found = np.round(array, digits) if digits is not None else _significant(array, figures)
    return found.tolist() if np.isfinite(array).all() else [v if math.isfinite(v) else None for v in found.tolist()]


def _significant(array: Array, figures: int) -> Array:
    """Values rounded to significant digits; the largest and smallest numbers as they are, whose powers overflow."""
    with np.errstate(all="ignore"):
        places = figures - 1 - np.floor(np.log10(np.abs(array)))
        up, down = 10.0 ** np.maximum(places, 0), 10.0 ** np.maximum(-places, 0)
        found = np.rint(array * up / down) / up * down
    return np.where(np.abs(places) <= 22, found, array)  # powers of ten up to 22 are exact


def finite(value: Any) -> float | None:
    """Number, or None if it is not finite."""
    number = float(value)
    return number if math.isfinite(number) else None

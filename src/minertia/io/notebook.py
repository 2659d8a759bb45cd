"""Notebook display of results: short lines, small HTML tables, pandas frames, matplotlib figures.

pandas and matplotlib (extra `notebook`) are imported here and nowhere else, when a frame or a figure is requested.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cache
from io import BytesIO
from typing import Any

from minertia.io.arrays import Array, thinned
from minertia.io.errors import visible
from minertia.io.extras import load

EXTRA = "notebook"
POINTS = 2000  # of a curve, at most
WIDTH = 9.0  # inches of a figure
ROW = 1.35  # inches of a panel's height
EDGES = 0.75  # inches for titles and times
SMALL = {"fontsize": 8}
GRID = {"color": "0.88", "linewidth": 0.6}
MEASURED, PREDICTED, REST, LIMIT = "#f5b774", "#0b5cad", "0.45", "#b3261e"
_TABLE = "border-collapse:collapse;font-variant-numeric:tabular-nums;margin:.3em 0"
_CAPTION = "text-align:left;caption-side:top;color:inherit;padding:.2em .6em;font-weight:600;white-space:nowrap"
_HEAD = "padding:.15em .6em;border-bottom:1px solid currentColor;text-align:"
_CELL = "padding:.1em .6em;vertical-align:top;text-align:"
_SIDES = {True: "right;white-space:nowrap", False: "left"}  # numbers do not wrap, relations do
_NOTE = "margin:.2em .6em"
_BOX = "max-height:32em;overflow:auto"


def clipped(text: object, length: int = 60) -> str:
    """Text shortened to one line of this length; an omission is marked."""
    line = visible(str(text))
    return line if len(line) <= length else line[: length - 3] + "..."


def plural(count: int, word: str) -> str:
    """Count with the noun in singular or plural: 1 joint, 2 joints."""
    return f"{count} {word}{'s' * (count != 1)}"


def stated(value: Any) -> str:
    """Short `repr` of a dataclass instance: only fields that differ from their defaults."""
    parts = []
    for own in fields(value):
        default = own.default if own.default_factory is MISSING else own.default_factory()
        given = getattr(value, own.name)
        if given is not default and not (type(given) is type(default) and given == default):
            parts.append(f"{own.name}={given!r}")
    return clipped(f"{type(value).__name__}({', '.join(parts)})", 200)


# ---------------------------------------------------------------------- tables


def html_table(
    title: str,
    headers: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    right: Sequence[int] = (),
    notes: Sequence[str] = (),
) -> str:
    """Small HTML table, escaped, that inherits the page's colours and is readable on light and dark backgrounds.

    right: indices of right-aligned columns.  notes: sentences below the table.  A long table can be scrolled.
    """
    sides = [_SIDES[k in right] for k in range(len(headers))]
    head = "".join(f'<th style="{_HEAD}{side}">{_text(h)}</th>' for h, side in zip(headers, sides, strict=True))
    body = "".join(
        "<tr>"
        + "".join(f'<td style="{_CELL}{side}">{_text(c)}</td>' for c, side in zip(r, sides, strict=True))
        + "</tr>"
        for r in rows
    )
    below = "".join(f'<p style="{_NOTE}">{_text(note)}</p>' for note in notes)
    return (
        f'<div style="{_BOX}"><table style="{_TABLE}"><caption style="{_CAPTION}">{_text(title)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}</div>"
    )


def _text(value: object) -> str:
    return html.escape(visible(str(value)))


# ---------------------------------------------------------------------- frames


def frame(columns: Mapping[str, Any], index: str, **facts: Any) -> Any:
    """A pandas DataFrame whose index is the column of this name; facts are stored in its `attrs`."""
    pandas: Any = load("pandas", EXTRA)
    table = pandas.DataFrame(dict(columns)).set_index(index)
    table.attrs |= facts
    return table


def signals(**arrays: Array | None) -> dict[str, Array]:
    """{q1: ..., q2: ..., tau1: ...} of arrays (N, n); missing ones are omitted."""
    return {f"{name}{j + 1}": a[:, j] for name, a in arrays.items() if a is not None for j in range(a.shape[1])}


# --------------------------------------------------------------------- figures


@cache
def _figure_class() -> Any:
    figure: Any = load("matplotlib.figure", EXTRA).Figure

    class NotebookFigure(figure):  # type: ignore[misc]
        """Matplotlib figure outside pyplot's list of open figures, for display in a notebook."""

        def _repr_png_(self) -> bytes:
            """Figure as PNG."""
            data = BytesIO()
            self.savefig(data, format="png", dpi=100)
            return data.getvalue()

    return NotebookFigure


def panels(rows: int, columns: int = 1, *, title: str = "", **layout: Any) -> tuple[Any, Any]:
    """Figure and its axes (rows, columns), with a height for its rows; layout: see matplotlib's `subplots`."""
    figure = _figure_class()(figsize=(WIDTH, ROW * rows + EDGES), layout="constrained")
    if title:
        figure.suptitle(clipped(title, 90), fontsize=10)
    axes = figure.subplots(rows, columns, squeeze=False, **layout)
    for ax in axes.flat:
        ax.tick_params(labelsize=7)
        ax.grid(**GRID)
        ax.spines[["top", "right"]].set_visible(False)
    return figure, axes


@dataclass(frozen=True)
class Quantity:
    """Quantity of one column of panels: values (N, n) over time, the unit of each joint, limits (low, high) if any."""

    name: str
    values: Array
    units: Sequence[str]
    limits: tuple[Array, Array] | None = None


def joint_figure(title: str, t: Array, joints: Sequence[str], quantities: Sequence[Quantity]) -> Any:
    """Quantities over time [s]: a row of panels per joint, a column per quantity."""
    figure, axes = panels(len(joints), len(quantities), title=title, sharex=True)
    for k, quantity in enumerate(quantities):
        axes[0, k].set_title(quantity.name, fontsize=9)
        axes[-1, k].set_xlabel("time [s]", **SMALL)
        for j in range(len(joints)):
            ax = axes[j, k]
            ax.plot(*thinned_curve(t, quantity.values[:, j]), color=PREDICTED, linewidth=0.9)
            ax.set_ylabel(f"[{quantity.units[j]}]", **SMALL)
            for limit in () if quantity.limits is None else quantity.limits:
                ax.axhline(limit[j], color=LIMIT, linewidth=0.9, linestyle="--")
    for j, joint in enumerate(joints):
        axes[j, 0].set_ylabel(f"{clipped(joint, 18)}\n[{quantities[0].units[j]}]", **SMALL)
    figure.align_ylabels()
    return figure


def thinned_curve(t: Array, y: Array) -> tuple[Array, Array]:
    """At most `POINTS` samples of a curve, with its extremes retained."""
    keep = thinned(t, y[:, None], POINTS)
    return t[keep], y[keep]

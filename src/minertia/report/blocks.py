"""Report pages composed of blocks: sentences, tables, charts; data for the studio's components."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from minertia.io.arrays import Array, thinned
from minertia.report.bundle import filled, rounded
from minertia.report.tables import Table

POINTS = 800  # of one curve
WIDEST = 4.0  # deviations at either end of the scale of an offset


@dataclass(frozen=True)
class NameCell:
    """Table cell with a parameter's name."""

    name: str


@dataclass(frozen=True)
class OffsetCell:
    """Table cell with a position on a scale from -4 to 4; is_far: highlighted."""

    value: float
    is_far: bool


Cell: TypeAlias = str | NameCell | OffsetCell


@dataclass(frozen=True)
class Words:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class CellTable:
    """Table; right: right-aligned columns."""

    headers: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    right: Sequence[int] = ()


@dataclass(frozen=True)
class Chart:
    """Line chart over time [s], or over another quantity.

    decades: logarithmic axis with at most this many decades.  edges: names of lines that bound a band.  marks:
    positions on the axis, such as events.  span: part of the axis to be shaded.
    """

    title: str
    unit: str
    t: Array
    lines: Mapping[str, Array]
    over: str = "time"
    decades: float | None = None
    edges: Sequence[str] = ()
    marks: Sequence[float] = ()
    span: tuple[float, float] | None = None


@dataclass(frozen=True)
class Links:
    """Links to files beside the page: titles and addresses."""

    items: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Listed:
    """List of sentences."""

    texts: Sequence[str]


@dataclass(frozen=True)
class FleetStrip:
    """Chart of the state of each robot by day; view: data from `strip_view` of the fleet page."""

    view: Mapping[str, Any]


Block: TypeAlias = Words | CellTable | Chart | Links | Listed | FleetStrip


@dataclass(frozen=True)
class Part:
    """Section of a page: a heading and its blocks."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class BlockPage:
    """Whole page: a leading sentence, its figures, and its sections.

    verdict: verdict of an identification, as in its JSON.  played: animation of a robot's postures, at the
    top.
    """

    title: str
    kind: str
    format_version: int
    lead: str
    facts: Mapping[str, object]
    parts: Sequence[Part]
    verdict: Mapping[str, Any] | None = None
    played: Mapping[str, Any] | None = None

    def written(self) -> str:
        """HTML text of the page, drawn by the studio's components."""
        view = {
            "verdict": self.verdict,
            "lead": self.lead,
            "facts": [[name, str(value)] for name, value in self.facts.items()],
            "parts": [{"title": part.title, "blocks": [_data(block) for block in part.blocks]} for part in self.parts],
        }
        kind = "document" if self.played is None else "played"
        view |= {} if self.played is None else {"played": self.played}
        return filled(
            kind, self.title, view, format_version=self.format_version, page=self.kind, scene=kind == "played"
        )


def cells(table: Table) -> CellTable:
    """Convert a text table to a block."""
    return CellTable(table.headers, table.rows, table.right)


def raised(unit: str) -> str:
    """Unit with powers in superscript: kg m2 as kg m²."""
    return unit.replace("m2", "m\u00b2").replace("s2", "s\u00b2")


def figures(value: float, digits: int = 5) -> str:
    """Number with `digits` significant digits and a typographic minus; thousands without a power of ten."""
    text = f"{value:.{digits}g}"
    return (f"{float(text):.0f}" if "e+0" in text else text).replace("-", "\u2212")


# ---------------------------------------------------------------------- as data


def _data(block: Block) -> dict[str, Any]:
    if isinstance(block, Words):
        return {"words": block.text}
    if isinstance(block, Links):
        return {"links": [list(item) for item in block.items]}
    if isinstance(block, Chart):
        return {"chart": _chart_data(block)}
    if isinstance(block, Listed):
        return {"list": list(block.texts)}
    if isinstance(block, FleetStrip):
        return {"strip": block.view}
    rows = [[_cell_data(cell) for cell in row] for row in block.rows]
    return {"table": {"headers": list(block.headers), "rows": rows, "right": list(block.right)}}


def _cell_data(cell: Cell) -> Any:
    if isinstance(cell, NameCell):
        return {"name": cell.name}
    return (
        {"offset": float(np.clip(cell.value, -WIDEST, WIDEST)), "far": cell.is_far}
        if not isinstance(cell, str)
        else cell
    )


def _chart_data(chart: Chart) -> dict[str, Any]:
    values = np.column_stack([np.asarray(y, float) for y in chart.lines.values()])
    if chart.decades is not None:
        top = float(np.abs(values).max()) or 1.0
        values = np.maximum(np.abs(values), top * 10.0**-chart.decades)
    keep = thinned(chart.t, values, POINTS)
    return {
        "title": chart.title,
        "unit": chart.unit,
        "over": chart.over,
        "log": chart.decades is not None,
        "t": rounded(np.asarray(chart.t, float)[keep], figures=6),
        "lines": [[name, rounded(values[keep, k], figures=5)] for k, name in enumerate(chart.lines)],
        "edges": list(chart.edges),
        "marks": [float(x) for x in chart.marks],
        "span": None if chart.span is None else [float(x) for x in chart.span],
    }

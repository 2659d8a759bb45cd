"""Pages made of blocks: sentences, tables, charts; written as plain HTML, or as data for the studio's components."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from minertia.report.bundle import filled, is_built
from minertia.report.html import escape, facts, markup_table, page, paragraph, parameter_name, section
from minertia.report.line_chart import line_chart
from minertia.report.numbers import rounded, thinned

Array = NDArray[np.float64]
POINTS = 800  # of one curve
WIDEST = 4.0  # deviations at either end of the scale of an offset


@dataclass(frozen=True)
class NameCell:
    """A parameter's name in a cell."""

    name: str


@dataclass(frozen=True)
class OffsetCell:
    """A place in a cell on a scale from -4 to 4; is_far: to be marked."""

    value: float
    is_far: bool


Cell: TypeAlias = str | NameCell | OffsetCell


@dataclass(frozen=True)
class Words:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class CellTable:
    """A table; right: columns set to the right."""

    headers: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    right: Sequence[int] = ()


@dataclass(frozen=True)
class Chart:
    """Lines over time [s], or over something else; decades: a logarithmic axis with at most so many."""

    title: str
    unit: str
    t: Array
    lines: Mapping[str, Array]
    over: str = "time"
    decades: float | None = None


@dataclass(frozen=True)
class Links:
    """Files beside the page: what they are called, and their addresses."""

    items: Sequence[tuple[str, str]]


Block: TypeAlias = Words | CellTable | Chart | Links


@dataclass(frozen=True)
class Part:
    """A heading and what stands under it."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class BlockPage:
    """A whole page: what it is about in a sentence, its figures, and its parts."""

    title: str
    kind: str
    format_version: int
    lead: str
    facts: Mapping[str, object]
    parts: Sequence[Part]

    def written(self) -> str:
        """As a file, of the best kind that can be written here."""
        return self.drawn() if is_built() else self.plain()

    def plain(self) -> str:
        """As HTML without a script."""
        head = f'<header>\n<h1>{escape(self.title)}</h1>\n<p class="lead">{escape(self.lead)}</p>\n{facts(self.facts)}'
        body = "".join(section(part.title, _plain_blocks(part.blocks)) for part in self.parts)
        text = f"{head}</header>\n{body}"
        return page(self.title, text, kind=self.kind, format_version=self.format_version, style=_STYLE)

    def drawn(self) -> str:
        """With the studio's components."""
        view = {
            "lead": self.lead,
            "facts": [[name, str(value)] for name, value in self.facts.items()],
            "parts": [{"title": part.title, "blocks": [_data(block) for block in part.blocks]} for part in self.parts],
        }
        return filled("document", self.title, view, format_version=self.format_version, page=self.kind)


def figures(value: float, digits: int = 5) -> str:
    """A number to some figures, with a minus sign; thousands without a power of ten."""
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
    }


# ---------------------------------------------------------------------- as HTML


def _plain_blocks(blocks: Sequence[Block]) -> str:
    """Charts that follow one another stand side by side where there is room."""
    parts: list[str] = []
    charts: list[str] = []
    for block in (*blocks, None):
        if isinstance(block, Chart):
            drawn = line_chart(block.title, block.unit, block.t, block.lines, over=block.over, decades=block.decades)
            charts.append(drawn)
            continue
        if charts:
            parts.append(charts[0] if len(charts) == 1 else f'<div class="grid-of-charts">{"".join(charts)}</div>\n')
            charts = []
        if block is not None:
            parts.append(_plain(block))
    return "".join(parts)


def _plain(block: Words | CellTable | Links) -> str:
    if isinstance(block, Words):
        return paragraph(block.text)
    if isinstance(block, Links):
        items = (f'<li><a href="{escape(to)}">{escape(name)}</a></li>\n' for name, to in block.items)
        return f"<ul>\n{''.join(items)}</ul>\n"
    return markup_table(block.headers, [[_plain_cell(cell) for cell in row] for row in block.rows], block.right)


def _plain_cell(cell: Cell) -> str:
    if isinstance(cell, str):
        return escape(cell)
    if isinstance(cell, NameCell):
        return parameter_name(cell.name)
    place = 50 + 50 / WIDEST * float(np.clip(cell.value, -WIDEST, WIDEST))
    kind = "out" if cell.is_far else "in"
    return f'<span class="scale"><span class="mark {kind}" style="left:{place:.1f}%"></span></span>'


_STYLE = """
figure{margin:1rem 0}figcaption{color:var(--soft);font-size:.9rem}
svg{width:100%;max-width:56rem}svg text{font-size:11px;fill:var(--soft)}.grid{stroke:var(--line);stroke-width:.6}
.key span{margin-left:.8rem;white-space:nowrap}
.key i{display:inline-block;width:1.1rem;height:.2rem;margin-right:.25rem;vertical-align:middle}
.scale{display:inline-block;position:relative;width:9rem;height:.8rem;vertical-align:middle;
background:linear-gradient(90deg,var(--combination) 12.5%,var(--none) 12.5% 87.5%,var(--combination) 87.5%);
border-radius:.2rem}
.mark{position:absolute;top:0;width:3px;height:100%;margin-left:-1.5px;background:var(--mark)}
.mark.out{background:var(--warn)}
.grid-of-charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(26rem,100%),1fr));gap:0 1rem}
.grid-of-charts svg text{font-size:14px}
.grid-of-charts figure{margin:.4rem 0}
a{color:var(--mark)}
"""

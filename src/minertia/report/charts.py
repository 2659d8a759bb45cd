"""Curves over time as inline SVG: no script, colours from the page's own style."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from minertia.report.html import escape

Array = NDArray[np.float64]
POINTS = 1000  # of a curve, at most
WIDTH, LEFT, RIGHT, TOP = 1000, 64, 8, 8
EFFORT, REST, GAP, FOOT = 190, 70, 14, 22  # heights: efforts, residual, between, times
STYLE = """
.chart{margin:.4rem 0 1.4rem;break-inside:avoid}.chart figcaption{font-size:.92rem;font-weight:600}
.chart figcaption small{font-weight:400;color:var(--soft)}
.chart svg{display:block;width:100%;height:auto}
.chart text{font-size:13px;fill:var(--soft);font-variant-numeric:tabular-nums}
.chart .frame{fill:none;stroke:var(--line)}.chart .grid{stroke:var(--line);stroke-dasharray:2 4}
.chart polyline{fill:none;vector-effect:non-scaling-stroke;stroke-linejoin:round}
.measured{stroke:#d9822b;stroke-width:2.6}.predicted{stroke:var(--mark);stroke-width:1.3}
.rest{stroke:var(--soft);stroke-width:1.1}
.swatch{display:inline-block;width:1.6rem;height:0;border-top:3px solid;vertical-align:middle;margin:0 .35rem 0 .9rem}
.swatch.m{border-color:#d9822b}.swatch.p{border-color:var(--mark)}.swatch.r{border-color:var(--soft)}
"""
LEGEND = (
    '<p class="lead"><span class="swatch m"></span>measured<span class="swatch p"></span>predicted'
    '<span class="swatch r"></span>residual, below on its own scale</p>\n'
)


def effort_chart(title: str, remark: str, t: Array, measured: Array, predicted: Array, unit: str) -> str:
    """Measured and predicted effort of one joint over time, and the residual below."""
    t, rows = _thinned(np.asarray(t, float), np.column_stack([measured, predicted, measured - predicted]))
    m, p, r = rows.T
    height = TOP + EFFORT + GAP + REST + FOOT
    upper = _Panel(TOP, EFFORT, t, (float(min(m.min(), p.min())), float(max(m.max(), p.max()))))
    size = float(np.abs(r).max())
    lower = _Panel(TOP + EFFORT + GAP, REST, t, (-size, size))
    body = (
        upper.frame(unit) + upper.curve("measured", m) + upper.curve("predicted", p)
        + lower.frame(unit) + lower.curve("rest", r) + _times(t, height - 6)
    )  # fmt: skip
    caption = f"<figcaption>{escape(title)} <small>{escape(remark)}</small></figcaption>"
    label = f"Measured and predicted effort of {title} over time, and their difference"
    svg = f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(label)}">{body}</svg>'
    return f'<figure class="chart">{caption}\n{svg}</figure>\n'


class _Panel:
    """One box of a chart with a scale of its own."""

    def __init__(self, top: float, height: float, t: Array, span: tuple[float, float]) -> None:
        low, high = span
        room = 0.05 * (high - low) or max(abs(high), 1e-9)
        self.top, self.height, self.low, self.high = top, height, low - room, high + room
        self.x = LEFT + (t - t[0]) / max(float(t[-1] - t[0]), 1e-12) * (WIDTH - LEFT - RIGHT)

    def y(self, values: Array | float) -> Array:
        """Heights of values."""
        return np.asarray(self.top + (self.high - np.asarray(values)) / (self.high - self.low) * self.height)

    def marks(self) -> list[float]:
        """Values at which a line is drawn: for a residual 0 and a round value on either side."""
        if self.height > REST:
            return ticks(self.low, self.high, 4)
        power = 10.0 ** np.floor(np.log10(self.high)) if self.high > 0 else 1.0
        side = float(f"{np.floor(self.high / 1.04 / power) * power:.12g}")
        return [-side, 0.0, side]

    def curve(self, kind: str, values: Array) -> str:
        """A curve."""
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(self.x, self.y(values), strict=True))
        return f'<polyline class="{kind}" points="{points}"/>'

    def frame(self, unit: str) -> str:
        """The box, lines at round values, and their numbers."""
        parts = [
            f'<rect class="frame" x="{LEFT}" y="{self.top}" width="{WIDTH - LEFT - RIGHT}" height="{self.height}"/>'
        ]
        for k, value in enumerate(self.marks()):
            y = float(self.y(value))
            parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
            label = f"{value:g}".replace("-", "\u2212") + (f" {unit}" if k == 0 and len(unit) < 4 else "")
            parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{escape(label)}</text>')
        return "".join(parts)


def _times(t: Array, y: float) -> str:
    span = float(t[-1] - t[0])
    scale = (WIDTH - LEFT - RIGHT) / max(span, 1e-12)
    values = [v for v in ticks(0.0, span, 6) if v <= span * 0.97]
    texts = (
        f'<text x="{LEFT + v * scale:.1f}" y="{y}" text-anchor="middle">{v:g}{" s" if k == 0 else ""}</text>'
        for k, v in enumerate(values)
    )
    return "".join(texts)


def ticks(low: float, high: float, about: int) -> list[float]:
    """Round values within a span, about so many."""
    span = high - low
    if not np.isfinite(span) or span <= 0:
        return [low]
    raw = span / about
    power = 10.0 ** np.floor(np.log10(raw))
    step = float(next(m * power for m in (1, 2, 5, 10) if m * power >= raw))
    first = int(np.ceil(low / step - 1e-9))
    last = int(np.floor(high / step + 1e-9))
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def _thinned(t: Array, rows: Array) -> tuple[Array, Array]:
    """At most `POINTS` samples: in each part the extremes of the first curve stay, in their order."""
    n = len(t)
    if n <= POINTS:
        return t, rows
    keep: list[int] = []
    for part in np.array_split(np.arange(n), POINTS // 2):
        keep += sorted({int(part[np.argmin(rows[part, 0])]), int(part[np.argmax(rows[part, 0])])})
    return t[keep], rows[keep]


def legend(extra: Sequence[str] = ()) -> str:
    """What the colours mean."""
    return LEGEND + "".join(f"<p>{escape(text)}</p>\n" for text in extra)

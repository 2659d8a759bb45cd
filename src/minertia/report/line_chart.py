"""Line charts as inline SVG: no script, colours of the page, readable without colour by the order of the key."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from minertia.report.charts import ticks
from minertia.report.html import escape

Array = NDArray[np.float64]
WIDTH, HEIGHT = 640.0, 200.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 10.0, 10.0, 30.0
POINTS = 300
TICKS = 6  # on an axis, about
COLOURS = ("#1f77b4", "#d95f02", "#2a9d58", "#c2185b", "#7b52ab", "#8c6d1f", "#0097a7", "#6d6d6d")


def line_chart(
    title: str, unit: str, t: Array, series: Mapping[str, Array], *, over: str = "time", decades: float | None = None
) -> str:
    """A figure of several lines over time [s], or over something else; the unit stands at the vertical axis.

    decades: a logarithmic axis, with so many decades below the largest value at most.
    """
    step = max(1, len(t) // POINTS)
    plain = np.array([y for y in series.values()], float)
    values = plain if decades is None else _logarithms(plain, decades)
    low, high = _padded(float(values.min()), float(values.max()))
    lines = "".join(_line(t[::step], y[::step], (low, high), COLOURS[k % len(COLOURS)]) for k, y in enumerate(values))
    key = "".join(
        f'<span><i style="background:{COLOURS[k % len(COLOURS)]}"></i>{escape(name)}</span>'
        for k, name in enumerate(series)
    )
    label = escape(f"{title} over {over}, {len(series)} lines from {plain.min():.3g} to {plain.max():.3g} {unit}")
    grid = _grid(float(t[0]), float(t[-1]), low, high, decades is not None)
    return (
        f'<figure><figcaption>{escape(title)} [{escape(unit)}] <span class="key">{key}</span></figcaption>'
        f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" aria-label="{label}">'
        f"{grid}{lines}</svg></figure>\n"
    )


def _logarithms(values: Array, decades: float) -> Array:
    top = float(np.abs(values).max()) or 1.0
    return np.asarray(np.log10(np.maximum(np.abs(values), top * 10.0**-decades)))


def _padded(low: float, high: float) -> tuple[float, float]:
    room = 0.05 * (high - low) or 0.5
    return low - room, high + room


def _line(t: Array, y: Array, span: tuple[float, float], colour: str) -> str:
    px = LEFT + (t - t[0]) / max(float(t[-1] - t[0]), 1e-12) * (WIDTH - LEFT - RIGHT)
    py = TOP + (span[1] - y) / (span[1] - span[0]) * (HEIGHT - TOP - BOTTOM)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(px, py, strict=True))
    return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.4"/>'


def _grid(t0: float, t1: float, low: float, high: float, is_log: bool) -> str:
    parts = []
    marks = [float(k) for k in range(int(np.ceil(low)), int(np.floor(high)) + 1)] if is_log else ticks(low, high, TICKS)
    for value in marks:
        y = TOP + (high - value) / (high - low) * (HEIGHT - TOP - BOTTOM)
        parts.append(f'<path d="M{LEFT:g} {y:.1f}H{WIDTH - RIGHT:g}" class="grid"/>')
        parts.append(
            f'<text x="{LEFT - 6:g}" y="{y + 4:.1f}" text-anchor="end">{10**value if is_log else value:g}</text>'
        )
    for value in ticks(t0, t1, TICKS):
        x = LEFT + (value - t0) / max(t1 - t0, 1e-12) * (WIDTH - LEFT - RIGHT)
        parts.append(f'<path d="M{x:.1f} {TOP:g}V{HEIGHT - BOTTOM:g}" class="grid"/>')
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - 12:g}" text-anchor="middle">{value:g}</text>')
    return "".join(parts)

"""Figures of entries as bars in an SVG file: mid-tones on no background, for light and for dark pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from benchmarks.bars import BAR, FONT, INK, TOP, WIDTH

OURS, OTHERS, STATED = "#3f83d6", "#d28a34", "#b9b2a6"
LEFT, RIGHT, GAP = 520, 70, 5
WIDEST = 30.0  # largest over median, from which a bar is cut and its number says the rest


@dataclass(frozen=True)
class Bar:
    """One entry: its label and figure, whether it is ours, and whether the figure is stated, not measured."""

    label: str
    value: float
    is_ours: bool
    is_stated: bool = False


def bars(title: str, entries: Sequence[Bar], measure: str) -> str | None:
    """Picture of one figure of all entries; None without entries."""
    known = [bar for bar in entries if math.isfinite(bar.value)]
    if not known:
        return None
    middle = sorted(abs(bar.value) for bar in known)[len(known) // 2]
    largest = min(max(bar.value for bar in known), WIDEST * middle) or 1.0
    scale = (WIDTH - LEFT - RIGHT) / largest
    parts = [f"<text x='{LEFT}' y='14'>{escape(measure)}: blue ours, orange others, grey stated</text>"]
    y = TOP
    for bar in known:
        length = max(min(bar.value, largest) * scale, 1.0)
        colour = STATED if bar.is_stated else OURS if bar.is_ours else OTHERS
        parts.append(f"<text x='{LEFT - 8}' y='{y + BAR - 3}' text-anchor='end'>{escape(bar.label)}</text>")
        parts.append(f"<rect x='{LEFT}' y='{y}' width='{length:.1f}' height='{BAR - 2}' fill='{colour}'/>")
        told = f"{bar.value:.0f}" if 1e3 <= bar.value < 1e6 else f"{bar.value:.3g}"
        parts.append(f"<text x='{LEFT + length + 5:.1f}' y='{y + BAR - 3}'>{told}</text>")
        y += BAR + GAP
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {y}' width='{WIDTH}' height='{y}' role='img' "
        f"aria-label='{escape(title)}' {FONT} fill='{INK}'>\n" + "\n".join(parts) + "\n</svg>\n"
    )

"""Ratios as bars in an SVG file: mid-tones on no background, so that it can be read on light and on dark pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

INK = "#7a8088"
COLOURS = {"avx512_fp16": "#3f83d6", "avx512": "#7fb0e8", "avx2": "#2f9e8f", "sse2": "#9a73c4", "neon": "#d28a34"}
WIDTH, LEFT, RIGHT = 940, 520, 60  # of the picture, of the words before the bars, of the numbers behind them
BAR, GAP, TOP = 13, 9, 26  # heights
FONT = "font-family='system-ui,sans-serif' font-size='12'"
NUMBER = 34  # width of a number


@dataclass(frozen=True)
class Group:
    """One comparison: its ratio on each machine, and the goal."""

    label: str
    ratios: Mapping[str, float]
    goal: float | None


def bars(title: str, groups: Sequence[Group], names: Mapping[str, str], *, has_goals: bool = True) -> str:
    """The picture; names: what the sets are called."""
    used = [key for key in names if any(key in group.ratios for group in groups)]
    largest = max(max([*group.ratios.values(), group.goal or 0.0]) for group in groups)
    scale = (WIDTH - LEFT - RIGHT) / largest
    parts, y = [_legend(used, names, has_goals)], TOP
    for group in groups:
        lines, height = _group(group, used, y, scale)
        parts += lines
        y += height + GAP
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {y}' width='{WIDTH}' height='{y}' role='img' "
        f"aria-label='{escape(title)}' {FONT} fill='{INK}'>\n" + "\n".join(parts) + "\n</svg>\n"
    )


def _legend(used: Sequence[str], names: Mapping[str, str], has_goals: bool) -> str:
    parts, x = [], LEFT
    for key in used:
        parts.append(f"<rect x='{x}' y='5' width='12' height='10' fill='{COLOURS[key]}'/>")
        parts.append(f"<text x='{x + 17}' y='14'>{escape(names[key])}</text>")
        x += 40 + 7 * len(names[key])
    if has_goals:
        mark = f"<path d='M{x + 6} 3v14' stroke='{INK}' stroke-width='2'/>"
        parts.append(f"{mark}<text x='{x + 14}' y='14'>goal</text>")
    return "".join(parts)


def _group(group: Group, used: Sequence[str], y: int, scale: float) -> tuple[list[str], int]:
    here = [key for key in used if key in group.ratios]
    height, goal = BAR * len(here), (group.goal or 0.0) * scale
    lines = [f"<text x='{LEFT - 8}' y='{y + height / 2 + 4:g}' text-anchor='end'>{escape(group.label)}</text>"]
    for k, key in enumerate(here):
        ratio, top = group.ratios[key], y + k * BAR
        length = max(ratio * scale, 1.0)
        lines.append(f"<rect x='{LEFT}' y='{top}' width='{length:.1f}' height='{BAR - 2}' fill='{COLOURS[key]}'/>")
        lines.append(f"<text x='{_behind(length, goal):.1f}' y='{top + BAR - 3}'>{ratio:.3g}</text>")
    if goal:
        at = LEFT + goal
        lines.append(f"<path d='M{at:.1f} {y - 2}v{height + 2}' stroke='{INK}' stroke-width='2'/>")
    return lines, height


def _behind(length: float, goal: float) -> float:
    """Where the number of a bar stands: behind the mark of the goal where that would cross it."""
    is_crossed = length < goal < length + NUMBER
    return LEFT + (goal if is_crossed else length) + 5

"""The page of a fleet: who needs a look and why, who was not judged, every robot and day at a glance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from minertia.errors import MinertiaError
from minertia.fleet.calendar import day_name
from minertia.fleet.day_effects import DayEffects
from minertia.fleet.drift import FORMAT, FleetAlarm, FleetDrift, JudgedStream
from minertia.fleet.fit_result import FleetFit
from minertia.fleet.levels import LOAD
from minertia.report.charts import ticks
from minertia.report.fleet_tables import (
    alarm_table,
    chance_text,
    change_text,
    friction_table,
    no_longer_table,
    not_judged_table,
    outlier_table,
    ranked_robots,
    since_text,
)
from minertia.report.html import bullets, escape, facts, page, paragraph, section, text_table
from minertia.version import __version__

Array = NDArray[np.float64]
WIDTH, LEVEL, WARM, LEFT, RIGHT, TOP, GAP, BOTTOM = 560.0, 130.0, 46.0, 50.0, 12.0, 10.0, 16.0, 20.0
MOST_CHARTS = 60
MOST_ROWS = 400  # robots in the strip
DAYS_SHOWN = 180
CELL, NAME = 12.0, 92.0
# classes of evidence in the strip: lower edge of log10 e, and what they mean
SHADES = ((-9.0, "e0", "calm"), (1.0, "e1", "1 in 10"), (2.0, "e2", "1 in 100"), (4.0, "e3", "1 in 10 000"))


def fleet_page(
    drift: FleetDrift,
    fits: Mapping[str, FleetFit] | None = None,
    *,
    store: str = "",
    faults: Sequence[str] = (),
    arithmetic: Sequence[str] = (),
) -> str:
    """One self-contained HTML page; fits: by type, for robots unlike the others."""
    title = f"Fleet on {day_name(drift.days[1])}"
    parts = (
        _head(drift, title, store),
        section("Alarms", _alarms(drift)),
        section("No longer judged", text_table(no_longer_table(drift))) if drift.no_longer else "",
        section("Not judged", _not_judged(drift)) if drift.not_judged else "",
        section("What changed", _charts(drift)) if drift.alarms else "",
        section("Every robot, every day", _strip(drift)),
        section("Robots unlike the others", _outliers(fits)) if fits else "",
        section("Faults of logs", bullets([*faults, *map(str, drift.faults)])) if faults or drift.faults else "",
        section("Logs that came too late", bullets([str(own) for own in drift.left_out])) if drift.left_out else "",
        section("How it was judged", _how(drift, arithmetic)),
    )
    return page(title, "".join(parts), kind="fleet", format_version=FORMAT, style=_STYLE)


def _head(drift: FleetDrift, title: str, store: str) -> str:
    judged = {s.stream.robot for s in drift.streams}
    pairs: dict[str, object] = {
        "alarms": len(drift.alarms),
        "robots judged": len(judged),
        "not judged": len({n.robot for n in drift.not_judged} - judged),
        **({"no longer judged": len({own.robot for own in drift.no_longer})} if drift.no_longer else {}),
        "days": f"{day_name(drift.days[0])} to {day_name(drift.days[1])}",
        **({"store": store} if store else {}),
    }
    sentence = drift.statement[0].upper() + drift.statement[1:] + "."
    return f'<header>\n<h1>{escape(title)}</h1>\n<p class="verdict">{escape(sentence)}</p>\n{facts(pairs)}</header>\n'


def _alarms(drift: FleetDrift) -> str:
    if not drift.alarms:
        body = paragraph("None.")
    else:
        body = _whole_lines(text_table(alarm_table(drift.alarms))) + paragraph(
            "By: with its 95 % interval, of the level that was learnt. By chance: how rarely so much evidence comes up "
            "where nothing has changed. Of the effort limit: what the change takes, viscous friction at the "
            "joint's top speed."
        )
    if drift.watch:
        body += paragraph("To be watched, without a bound: single days far off, which alarms do not rest on.")
        body += _whole_lines(text_table(alarm_table(drift.watch)))
    return body


def _whole_lines(table: str) -> str:
    """A table whose cells are not broken into lines: it scrolls where the screen is narrow."""
    return f'<div class="whole">{table}</div>\n'


def _not_judged(drift: FleetDrift) -> str:
    return text_table(not_judged_table(drift))


# ---------------------------------------------------------------------- charts of alarms


def _charts(drift: FleetDrift) -> str:
    streams = {(s.stream.robot, s.stream.joint): s for s in drift.streams}
    shown = drift.alarms[:MOST_CHARTS]
    figures = "".join(_chart(drift, streams[a.robot, a.joint], a) for a in shown)
    more = len(drift.alarms) - len(shown)
    note = paragraph(f"{more} more alarms stand in the table only.") if more else ""
    return (
        paragraph(
            "Level of each day over the learnt one: corrected for temperature with its 95 % band, as it was in grey. "
            "Dashed: events. The shaded days are those between which the change began."
        )
        + f'<div class="charts">{figures}</div>\n'
        + note
    )


def _chart(drift: FleetDrift, judged: JudgedStream, alarm: FleetAlarm) -> str:
    stream, k = judged.stream, judged.cause
    effects = drift.calibration[judged.type].get(stream.joint or LOAD)
    raw = stream.y[:, k]
    level = raw - _slope(stream.days, raw, stream.warm, alarm.since[0]) * stream.warm
    omega = effects.omega[k] if effects is not None else 0.0
    half = 1.96 * np.sqrt(stream.V[:, k, k] + omega**2)
    scale, unit = _scale(drift, judged, alarm)
    own = drift.robots[stream.robot]
    heat = _heat(own.temperature, own.joints, stream.joint)
    heat = None if heat is None else heat[np.isin(own.days, stream.days)]  # days without temperatures are not judged
    caption = f"{alarm.robot}{', ' + alarm.joint if alarm.joint else ''}: {alarm.what} {change_text(alarm)}"
    what = f"since {since_text(alarm)}, by chance {chance_text(alarm)}; {alarm.suggestion}"
    svg = _svg(stream.days, scale * level, scale * raw, scale * half, unit, heat, judged, alarm, caption)
    return f"<figure><figcaption><b>{escape(caption)}</b><br>{escape(what)}</figcaption>{svg}</figure>\n"


def _scale(drift: FleetDrift, judged: JudgedStream, alarm: FleetAlarm) -> tuple[float, str]:
    """Per cent for friction, kg for loads."""
    if alarm.unit != "kg":
        return 100.0, "%"
    step = float(judged.process.change[judged.cause])
    return (alarm.change / step if step else 1.0), "kg"


def _slope(days: NDArray[np.int_], y: Array, warm: Array, since: int) -> float:
    """How the level goes with the temperature, beside a step."""
    columns = np.column_stack([np.ones(len(y)), days >= since, warm])
    return float(np.linalg.lstsq(columns, y, rcond=1e-9)[0][2])


def _heat(temperature: Array, joints: Sequence[str], joint: str | None) -> Array | None:
    if not temperature.size or np.isnan(temperature).all():
        return None
    return np.asarray(np.nanmean(temperature, axis=1) if joint is None else temperature[:, joints.index(joint)])


def _svg(
    days: NDArray[np.int_],
    level: Array,
    raw: Array,
    half: Array,
    unit: str,
    heat: Array | None,
    judged: JudgedStream,
    alarm: FleetAlarm,
    label: str,
) -> str:
    first, last = int(days[0]), int(days[-1])
    low, high = _room(float(min((level - half).min(), raw.min())), float(max((level + half).max(), raw.max())))

    def x(d: float | NDArray[np.int_]) -> Array:
        return np.asarray(LEFT + (np.asarray(d) - first) / max(last - first, 1) * (WIDTH - LEFT - RIGHT))

    def y(v: Array | float) -> Array:
        return np.asarray(TOP + (high - np.asarray(v)) / (high - low) * LEVEL)

    parts = [_days_axis(first, last, heat is not None)]
    a, b = float(x(alarm.since[0] - 0.5)), float(x(alarm.since[1] + 0.5))
    parts.append(f'<rect x="{a:.1f}" y="{TOP:g}" width="{max(b - a, 2):.1f}" height="{LEVEL:g}" class="since"/>')
    for value in ticks(low, high, 5):
        v = float(y(value))
        parts.append(f'<path d="M{LEFT:g} {v:.1f}H{WIDTH - RIGHT:g}" class="grid"/>')
        parts.append(f'<text x="{LEFT - 5:g}" y="{v + 4:.1f}" text-anchor="end">{value:g} {unit}</text>')
    band = [*zip(x(days), y(level + half), strict=True), *zip(x(days)[::-1], y(level - half)[::-1], strict=True)]
    parts.append(f'<polygon points="{_points(band)}" class="band"/>')
    parts.append(f'<polyline points="{_points(zip(x(days), y(raw), strict=True))}" class="raw"/>')
    parts.append(f'<polyline points="{_points(zip(x(days), y(level), strict=True))}" class="level"/>')
    for event in judged.events:
        at = float(x(event.day - 0.5))
        parts.append(
            f'<path d="M{at:.1f} {TOP:g}V{TOP + LEVEL:g}" class="event"><title>{escape(event.kind)}</title></path>'
        )
    height = TOP + LEVEL + BOTTOM
    if heat is not None and not np.isnan(heat).any():
        parts.append(_warmth(x(days), heat))
        height += GAP + WARM
    return f'<svg viewBox="0 0 {WIDTH:g} {height:g}" role="img" aria-label="{escape(label)}">{"".join(parts)}</svg>'


def _room(low: float, high: float) -> tuple[float, float]:
    room = 0.06 * (high - low) or 0.5
    return low - room, high + room


def _points(pairs: object) -> str:
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in pairs)  # type: ignore[attr-defined]


def _days_axis(first: int, last: int, has_heat: bool) -> str:
    bottom = TOP + LEVEL + (GAP + WARM if has_heat else 0.0)
    parts = []
    step = max((last - first) // 4, 1)
    for d in range(first, last + 1, step):
        x = LEFT + (d - first) / max(last - first, 1) * (WIDTH - LEFT - RIGHT)
        anchor = "start" if d == first else "end" if d + step > last and d == last else "middle"
        parts.append(f'<path d="M{x:.1f} {TOP:g}V{bottom:g}" class="grid"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 14:g}" text-anchor="{anchor}">{day_name(d)[5:]}</text>')
    return "".join(parts)


def _warmth(x: Array, heat: Array) -> str:
    top = TOP + LEVEL + GAP
    low, high = _room(float(heat.min()), float(heat.max()))
    y = top + (high - heat) / (high - low) * WARM
    marks = "".join(
        f'<text x="{LEFT - 5:g}" y="{at + 4:.1f}" text-anchor="end">{v:.0f} \u00b0C</text>'
        for v, at in ((float(v), top + (high - float(v)) / (high - low) * WARM) for v in (heat.min(), heat.max()))
    )
    return f'{marks}<polyline points="{_points(zip(x, y, strict=True))}" class="heat"/>'


# ---------------------------------------------------------------------- the strip


def _strip(drift: FleetDrift) -> str:
    """A row a robot, a column a day; colour is the largest evidence of its streams, holes are days without logs."""
    last = drift.days[1]
    first = max(drift.days[0], last - DAYS_SHOWN + 1)
    guilty = {alarm.robot for alarm in drift.alarms}
    names, urgent = ranked_robots(drift)
    shown = names[: max(MOST_ROWS, urgent)]  # the cut hides no alarm
    rows = "".join(_strip_row(drift, robot, k, first, last, robot in guilty) for k, robot in enumerate(shown))
    width, height = NAME + CELL * (last - first + 1), CELL * len(shown) + 24
    axis = "".join(
        f'<text x="{NAME + CELL * (d - first):.0f}" y="{height - 6:g}">{day_name(d)[5:]}</text>'
        for d in range(first, last + 1, 14)
    )
    key = "".join(
        f'<span><i class="{name}"></i>{escape(text)}</span>'
        for name, text in (
            ("hole", "no logs"),
            ("learn", "learning"),
            ("mute", "not judged"),
            *((n, t) for _, n, t in SHADES),
        )
    )
    left = len(names) - len(shown)
    more = f"{left} more {'robot' if left == 1 else 'robots'} without alarms {'is' if left == 1 else 'are'} not drawn. "
    return (
        paragraph((more if left else "") + "How rarely so much evidence comes up by chance, of the worst stream of "
                  "each robot and day; robots with alarms stand first.")
        + f'<p class="key">{key}</p>\n<div class="scroll" tabindex="0"><svg class="strip" width="{width:g}" '
        f'height="{height:g}" viewBox="0 0 {width:g} {height:g}" role="img" aria-label="evidence of '
        f'{len(shown)} robots by day">{rows}{axis}</svg></div>\n'
    )  # fmt: skip


def _strip_row(drift: FleetDrift, robot: str, row: int, first: int, last: int, is_guilty: bool) -> str:
    own = drift.robots[robot]
    shades = {d: "learn" if d <= own.learnt[1] else "mute" for d in own.days if d >= first}
    top: dict[int, float] = {}
    for s in drift.streams:
        if s.stream.robot == robot:
            for d, e in zip(s.process.days.tolist(), s.process.e.tolist(), strict=True):
                top[d] = max(top.get(d, 0.0), e)
    shades |= {d: _shade(e) for d, e in top.items() if d >= first}
    y = CELL * row
    parts = [
        f'<text x="{NAME - 6:g}" y="{y + CELL - 2:.0f}" text-anchor="end"{" class=guilty" if is_guilty else ""}>'
        f"{escape(robot[:14])}</text>"
    ]
    start = first
    while start <= last:
        shade, end = shades.get(start, "hole"), start + 1
        while end <= last and shades.get(end, "hole") == shade:
            end += 1
        parts.append(
            f'<rect x="{NAME + CELL * (start - first):g}" y="{y + 1:g}" width="{CELL * (end - start):g}" '
            f'height="{CELL - 2:g}" class="{shade}"/>'
        )
        start = end
    return "".join(parts)


def _shade(e: float) -> str:
    log = np.log10(max(e, 1e-300))
    return [name for edge, name, _ in SHADES if log >= edge or edge < 0][-1]


# ---------------------------------------------------------------------- the rest


def _outliers(fits: Mapping[str, FleetFit] | None) -> str:
    parts = []
    for name, fit in (fits or {}).items():
        try:
            found = fit.outliers()
        except MinertiaError as error:
            parts.append(paragraph(f"{name}: {error}."))
            continue
        if found:
            parts.append(
                paragraph(f"{name}: their friction differs from that of the others; at most one in ten is false.")
            )
            parts.append(text_table(outlier_table(found, fit)))
        else:
            parts.append(paragraph(f"{name}: none of {len(fit.robots)} robots."))
        if fit.between:
            parts.append(paragraph(f"Friction of the type {name}:"))
            parts.append(text_table(friction_table(fit)))
    return "".join(parts)


def _how(drift: FleetDrift, arithmetic: Sequence[str]) -> str:
    options = drift.options
    sentences = [
        f"Alarms: {len(drift.streams)} streams, chosen by the e-BH rule at q = {options.q:g}; whenever this page is "
        "made, the expected part of false ones among them is at most that",
        f"Evidence: begins after {options.learning} days with logs, spreads the beginning of a change over "
        f"{options.horizon} days with logs, and starts anew at events; innovations are clipped at 3 deviations",
        *(f"Day effects of {kind}: {_calibration(own)}" for kind, own in drift.calibration.items()),
        *(f"Note: {note}" for note in drift.notes),
        *(f"Arithmetic: {text}" for text in arithmetic),
        f"Version: minertia {__version__}",
    ]
    return bullets(sentences)


def _calibration(own: Mapping[str, DayEffects]) -> str:
    if not own:
        return "none"
    robots = max(e.robots for e in own.values())
    parts = []
    for joint, e in own.items():
        sizes = " and ".join(f"{100 * w:.2g} %" for w in e.omega)
        parts.append(f"{joint} {sizes}, memory {e.phi:.2f}")
    return f"{'; '.join(parts)} (learnt from {robots} robots)"


_STYLE = """
:root{--e0:#d7ead9;--e1:#f6e3a1;--e2:#f0b265;--e3:#c7402d;--learn:#dfe6ee;--mute:#b9c2cc;--bandfill:#0b5cad33}
@media (prefers-color-scheme:dark){:root{--e0:#1f4a2c;--e1:#7d6a1c;--e2:#a5621b;--e3:#e0523c;--learn:#2b3543;
--mute:#525d6b;--bandfill:#79b8ff33}}
.whole td{white-space:nowrap}
.verdict{font-size:1.2rem;font-weight:600;margin:.2rem 0 .6rem}
figure{margin:0 0 1.2rem}figcaption{font-size:.9rem;margin-bottom:.3rem}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,26rem),1fr));gap:1rem 1.5rem}
figure svg{width:100%;height:auto;display:block}
svg text{font-size:11px;fill:var(--soft)}
.grid{stroke:var(--line);stroke-width:.6;fill:none}
.band{fill:var(--bandfill)}.level{fill:none;stroke:var(--mark);stroke-width:1.8}
.raw{fill:none;stroke:var(--soft);stroke-width:1;opacity:.65}
.heat{fill:none;stroke:var(--warn);stroke-width:1.3}
.since{fill:var(--combination);opacity:.75}.event{stroke:var(--ink);stroke-dasharray:4 3;stroke-width:1.2}
.e0{fill:var(--e0);background:var(--e0)}.e1{fill:var(--e1);background:var(--e1)}.e2{fill:var(--e2);background:var(--e2)}
.e3{fill:var(--e3);background:var(--e3)}.learn{fill:var(--learn);background:var(--learn)}
.mute{fill:var(--mute);background:var(--mute)}
.hole{fill:none;background:none}i.hole{border:1px dashed var(--line)}
.strip .guilty{fill:var(--ink);font-weight:700}
.key span{display:inline-flex;align-items:center;gap:.35rem;margin-right:1rem;font-size:.88rem}
.key i{display:inline-block;width:1rem;height:.8rem;border-radius:2px}
"""

"""Page of a fleet: robots to inspect and why, robots not evaluated, every robot and day at a glance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.fleet.alarms import FleetAlarm, JudgedStream
from minertia.fleet.calendar import day_name
from minertia.fleet.day_effects import DayEffects
from minertia.fleet.drift import FORMAT, FleetDrift
from minertia.fleet.fit_result import FleetFit
from minertia.fleet.levels import LOAD
from minertia.io.arrays import Array
from minertia.io.errors import MinertiaError
from minertia.report.blocks import Block, BlockPage, Chart, FleetStrip, Listed, Part, Words, cells
from minertia.report.fleet_tables import (
    alarm_table,
    chance_text,
    change_text,
    finding_table,
    friction_table,
    life_table,
    no_longer_table,
    not_judged_table,
    outlier_table,
    ranked_robots,
    since_text,
)
from minertia.version import __version__

# ------------------------------------------------------------------------------------------------------ robots by day


DAYS_SHOWN = 180
# classes of evidence in the strip: lower edge of log10 e, and what they mean
SHADES = ((-9.0, "e0", "calm"), (1.0, "e1", "1 in 10"), (2.0, "e2", "1 in 100"), (4.0, "e3", "1 in 10 000"))
WORDS = {"hole": "no logs", "learn": "learning", "mute": "not judged", **{name: text for _, name, text in SHADES}}


def strip_view(drift: FleetDrift, names: Sequence[str]) -> dict[str, Any]:
    """State of each robot by day, over the last days."""
    last = drift.days[1]
    first = max(drift.days[0], last - DAYS_SHOWN + 1)
    alarms, streams = Counter(alarm.robot for alarm in drift.alarms), streams_by_robot(drift)
    return {
        "first": day_name(first),
        "last": day_name(last),
        "days": last - first + 1,
        "shades": WORDS,
        "robots": [
            {
                "name": name,
                "alarms": alarms[name],
                "days": _shades(drift, name, streams.get(name, []), first, last),
                **{tag: drift.tags.get(name, {}).get(tag, "") for tag in ("type", "line", "program")},
            }
            for name in names
        ],
    }


def streams_by_robot(drift: FleetDrift) -> dict[str, list[JudgedStream]]:
    """Streams of each robot."""
    found: dict[str, list[JudgedStream]] = {}
    for judged in drift.streams:
        found.setdefault(judged.stream.robot, []).append(judged)
    return found


def _shades(drift: FleetDrift, robot: str, streams: Sequence[JudgedStream], first: int, last: int) -> list[str]:
    """State of a robot on each day, from the first to the last."""
    own = drift.robots[robot]
    found = {d: "learn" if d <= own.learnt[1] else "mute" for d in own.days}
    top: dict[int, float] = {}
    for s in streams:
        for d, e in zip(s.process.days.tolist(), s.process.e.tolist(), strict=True):
            top[d] = max(top.get(d, 0.0), e)
    found |= {d: _shade(e) for d, e in top.items()}
    return [found.get(d, "hole") for d in range(first, last + 1)]


def _shade(e: float) -> str:
    log = np.log10(max(e, 1e-300))
    return [name for edge, name, _ in SHADES if log >= edge or edge < 0][-1]


# --------------------------------------------------------------------------------------------------------------- page


MOST_CHARTS = 60  # of alarms
MOST_ROWS = 2000  # robots in the strip, of which the page draws a hundred at a time
ALARMS = (
    "By: with its 95 % interval, of the level that was learnt. By chance: how rarely so much evidence comes up where "
    "nothing has changed. Of the effort limit: what the change takes, viscous friction at the joint's top speed."
)
CHARTS = (
    "Level of each day over the learnt one: corrected for temperature with its 95 % band, and as it was. Dashed: "
    "events. The shaded days are those between which the change began."
)
STRIP = (
    "How rarely so much evidence comes up by chance, of the worst stream of each robot and day; robots with alarms "
    "stand first."
)


def fleet_page(
    drift: FleetDrift,
    fits: Mapping[str, FleetFit] | None = None,
    *,
    store: str = "",
    faults: Sequence[str] = (),
    arithmetic: Sequence[str] = (),
) -> BlockPage:
    """Page of a fleet.

    fits: fleet fit of each robot type, from which outlier robots are listed.
    """
    told = [*faults, *map(str, drift.faults)]
    parts = [
        Part("Alarms", _alarms(drift)),
        *([Part("No longer judged", [cells(no_longer_table(drift))])] if drift.no_longer else []),
        *([Part("Not judged", [cells(not_judged_table(drift))])] if drift.not_judged else []),
        *([Part("What changed", _charts(drift))] if drift.alarms else []),
        Part("Every robot, every day", _strip(drift)),
        *([Part("Robots unlike the others", _outliers(fits))] if fits else []),
        *([Part("Faults of logs", [Listed(told)])] if told else []),
        *([Part("Logs that came too late", [Listed([str(own) for own in drift.left_out])])] if drift.left_out else []),
        Part("How it was judged", [Listed(_how(drift, arithmetic))]),
    ]
    lead = drift.statement[0].upper() + drift.statement[1:] + "."
    return BlockPage(f"Fleet on {day_name(drift.days[1])}", "fleet", FORMAT, lead, _facts(drift, store), parts)


def _facts(drift: FleetDrift, store: str) -> dict[str, object]:
    judged = {s.stream.robot for s in drift.streams}
    return {
        "alarms": len(drift.alarms),
        "robots judged": len(judged),
        "not judged": len({n.robot for n in drift.not_judged} - judged),
        **({"no longer judged": len({own.robot for own in drift.no_longer})} if drift.no_longer else {}),
        "days": f"{day_name(drift.days[0])} to {day_name(drift.days[1])}",
        **({"store": store} if store else {}),
    }


def _alarms(drift: FleetDrift) -> list[Block]:
    blocks: list[Block] = [Words("None.")]
    if drift.alarms:
        blocks = [cells(finding_table(drift.findings)), cells(alarm_table(drift.alarms)), Words(ALARMS)]
    living = [life for life in drift.lives if life.is_living]
    if living:
        blocks += [Words("States of the alarms, and who has dealt with them."), cells(life_table(living))]
    if drift.watch:
        blocks.append(Words("To be watched, without a bound: single days far off, which alarms do not rest on."))
        blocks.append(cells(alarm_table(drift.watch)))
    return blocks


# ---------------------------------------------------------------------- charts of alarms


def _charts(drift: FleetDrift) -> list[Block]:
    streams = {(s.stream.robot, s.stream.joint): s for s in drift.streams}
    shown = drift.alarms[:MOST_CHARTS]
    blocks: list[Block] = [Words(CHARTS)]
    for alarm in shown:
        blocks += _chart(drift, streams[alarm.robot, alarm.joint], alarm)
    more = len(drift.alarms) - len(shown)
    return blocks + ([Words(f"{more} more alarms stand in the table only.")] if more else [])


def _chart(drift: FleetDrift, judged: JudgedStream, alarm: FleetAlarm) -> list[Block]:
    """Summary and chart of the level that raised an alarm, by day, and a chart of the temperature where known."""
    stream, k = judged.stream, judged.cause
    effects = drift.calibration[judged.type].get(stream.joint or LOAD)
    raw = stream.y[:, k]
    level = raw - _slope(stream.days, raw, stream.warm, alarm.since[0]) * stream.warm
    half = 1.96 * np.sqrt(stream.V[:, k, k] + (effects.omega[k] if effects is not None else 0.0) ** 2)
    scale, unit = _scale(judged, alarm)
    first = int(stream.days[0])
    over, days = f"days since {day_name(first)}", np.asarray(stream.days - first, float)
    caption = f"{alarm.robot}{', ' + alarm.joint if alarm.joint else ''}: {alarm.what} {change_text(alarm)}"
    lines = {"level": level, "as it was": raw, "at most": level + half, "at least": level - half}
    blocks: list[Block] = [
        Words(f"{caption}; since {since_text(alarm)}, by chance {chance_text(alarm)}; {alarm.suggestion}"),
        Chart(
            caption,
            unit,
            days,
            {name: scale * values for name, values in lines.items()},
            over,
            edges=("at most", "at least"),
            marks=[event.day - 0.5 - first for event in judged.events],
            span=(alarm.since[0] - 0.5 - first, alarm.since[1] + 0.5 - first),
        ),
    ]
    own = drift.robots[stream.robot]
    heat = _heat(own.temperature, own.joints, stream.joint)
    heat = None if heat is None else heat[np.isin(own.days, stream.days)]  # days without temperatures are not judged
    if heat is not None and not np.isnan(heat).any():
        blocks.append(Chart("temperature", "\u00b0C", days, {"temperature": heat}, over))
    return blocks


def _scale(judged: JudgedStream, alarm: FleetAlarm) -> tuple[float, str]:
    """Factor and unit of the levels: per cent for friction, kg for payloads."""
    if alarm.unit != "kg":
        return 100.0, "%"
    step = float(judged.process.change[judged.cause])
    return (alarm.change / step if step else 1.0), "kg"


def _slope(days: NDArray[np.int_], y: Array, warm: Array, since: int) -> float:
    """Slope of the level over temperature, fitted together with a step at the day `since`."""
    columns = np.column_stack([np.ones(len(y)), days >= since, warm])
    return float(np.linalg.lstsq(columns, y, rcond=1e-9)[0][2])


def _heat(temperature: Array, joints: Sequence[str], joint: str | None) -> Array | None:
    if not temperature.size or np.isnan(temperature).all():
        return None
    return np.asarray(np.nanmean(temperature, axis=1) if joint is None else temperature[:, joints.index(joint)])


# ---------------------------------------------------------------------- the strip


def _strip(drift: FleetDrift) -> list[Block]:
    """Chart with a row per robot and a column per day, coloured by the largest evidence; gaps are days without logs."""
    names, urgent = ranked_robots(drift)
    shown = names[: max(MOST_ROWS, urgent)]  # the cut hides no alarm
    left = len(names) - len(shown)
    more = f"{left} more {'robot' if left == 1 else 'robots'} without alarms {'is' if left == 1 else 'are'} not drawn. "
    return [Words((more if left else "") + STRIP), FleetStrip(strip_view(drift, shown))]


# ---------------------------------------------------------------------- the rest


def _outliers(fits: Mapping[str, FleetFit]) -> list[Block]:
    blocks: list[Block] = []
    for name, fit in fits.items():
        try:
            found = fit.outliers()
        except MinertiaError as error:
            blocks.append(Words(f"{name}: {error}."))
            continue
        if found:
            blocks.append(
                Words(f"{name}: their friction differs from that of the others; at most one in ten is false.")
            )
            blocks.append(cells(outlier_table(found, fit)))
        else:
            blocks.append(Words(f"{name}: none of {len(fit.robots)} robots."))
        if fit.between:
            blocks += [Words(f"Friction of the type {name}:"), cells(friction_table(fit))]
    return blocks


def _how(drift: FleetDrift, arithmetic: Sequence[str]) -> list[str]:
    options = drift.options
    return [
        f"Alarms: {len(drift.streams)} streams, chosen by the e-BH rule at q = {options.q:g}; whenever this page is "
        "made, the expected part of false ones among them is at most that",
        f"Evidence: begins after {options.learning} days with logs, spreads the beginning of a change over "
        f"{options.horizon} days with logs, and starts anew at events; innovations are clipped at 3 deviations",
        *(f"Day effects of {kind}: {_calibration(own)}" for kind, own in drift.calibration.items()),
        *(f"Note: {note}" for note in drift.notes),
        *(f"Arithmetic: {text}" for text in arithmetic),
        f"Version: minertia {__version__}",
    ]


def _calibration(own: Mapping[str, DayEffects]) -> str:
    if not own:
        return "none"
    robots = max(e.robots for e in own.values())
    parts = []
    for joint, e in own.items():
        sizes = " and ".join(f"{100 * w:.2g} %" for w in e.omega)
        parts.append(f"{joint} {sizes}, memory {e.phi:.2f}")
    return f"{'; '.join(parts)} (learnt from {robots} robots)"

"""Fleets as plain data for the page and the studio."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minertia.fleet.calendar import day_name
from minertia.fleet.drift import FleetDrift

DAYS_SHOWN = 180
# classes of evidence in the strip: lower edge of log10 e, and what they mean
SHADES = ((-9.0, "e0", "calm"), (1.0, "e1", "1 in 10"), (2.0, "e2", "1 in 100"), (4.0, "e3", "1 in 10 000"))
WORDS = {"hole": "no logs", "learn": "learning", "mute": "not judged", **{name: text for _, name, text in SHADES}}


def strip_view(drift: FleetDrift, names: Sequence[str]) -> dict[str, Any]:
    """Robots by day: what each day was like, over the last days."""
    last = drift.days[1]
    first = max(drift.days[0], last - DAYS_SHOWN + 1)
    return {
        "first": day_name(first),
        "last": day_name(last),
        "days": last - first + 1,
        "shades": WORDS,
        "robots": [{"name": n, "alarms": _count(drift, n), "days": _shades(drift, n, first, last)} for n in names],
    }


def _count(drift: FleetDrift, robot: str) -> int:
    return sum(a.robot == robot for a in drift.alarms)


def _shades(drift: FleetDrift, robot: str, first: int, last: int) -> list[str]:
    """What each day of a robot was like, from the first to the last."""
    own = drift.robots[robot]
    found = {d: "learn" if d <= own.learnt[1] else "mute" for d in own.days}
    top: dict[int, float] = {}
    for s in drift.streams:
        if s.stream.robot == robot:
            for d, e in zip(s.process.days.tolist(), s.process.e.tolist(), strict=True):
                top[d] = max(top.get(d, 0.0), e)
    found |= {d: _shade(e) for d, e in top.items()}
    return [found.get(d, "hole") for d in range(first, last + 1)]


def _shade(e: float) -> str:
    log = np.log10(max(e, 1e-300))
    return [name for edge, name, _ in SHADES if log >= edge or edge < 0][-1]

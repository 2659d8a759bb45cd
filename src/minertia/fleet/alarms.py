"""Monitored streams with their evidence, and the alarms that they raise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from minertia.fleet.calendar import day_name
from minertia.fleet.e_process import EProcess
from minertia.fleet.events import RobotEvent
from minertia.fleet.levels import LOAD
from minertia.fleet.streams import LevelStream


@dataclass(frozen=True)
class JudgedStream:
    """Monitored stream with its e-process."""

    type: str
    stream: LevelStream
    process: EProcess
    events: tuple[RobotEvent, ...]
    is_alarm: bool = False

    def __repr__(self) -> str:
        return f"<JudgedStream of '{self.stream.robot}', {self.stream.joint or LOAD}: e = {self.process.last:.3g}>"

    @property
    def cause(self) -> int:
        """Index of the level whose change alone explains the evidence best."""
        return int(np.argmax(self.process.causes))


@dataclass(frozen=True)
class FleetAlarm:
    """Detected change.

    change, deviation: change and its standard deviation, relative to the learnt level (friction) or in kg
    (load), see `unit`.  since: first and last day between which the change began.  e: e-value.  bound:
    upper bound of the probability of such a value by chance, for this stream alone.  cost: fraction of the
    joint's effort limit that the change takes, None if limits are not known.
    """

    robot: str
    joint: str | None
    what: str
    change: float
    deviation: float
    unit: str
    since: tuple[int, int]
    e: float
    bound: float
    temperature: Mapping[str, Any]
    program_changed: bool
    suggestion: str
    cost: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return as a dict of plain data, for JSON."""
        return {
            "robot": self.robot,
            "joint": self.joint,
            "what": self.what,
            "change": self.change,
            "deviation": self.deviation,
            "unit": self.unit,
            "since": [day_name(d) for d in self.since],
            "e": self.e,
            "bound": self.bound,
            "temperature": dict(self.temperature),
            "program_changed": self.program_changed,
            "suggestion": self.suggestion,
            "cost": self.cost,
        }

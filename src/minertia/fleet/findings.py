"""Alarms grouped by robot, with the cause that explains all of them at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minertia.fleet.alarms import FleetAlarm, JudgedStream
from minertia.fleet.calendar import day_name
from minertia.io.notebook import plural

EXCHANGED, GAINS, TOOL, JOINT = "robot exchanged", "gains", "tool or payload", "joint"
FEWEST_JOINTS = 3  # that change together before one cause for all of them is likelier than as many separate faults
ALIKE = 4.0  # mean squared deviation from one common factor up to which changes count as equal
TEXTS = {
    EXCHANGED: "check whether the robot was exchanged, and enter it as an event; else check the calibration",
    GAINS: "all levels changed by one factor: check the torque constants and gains of the drives",
    TOOL: "check tool, work piece, and the payload set in the controller",
}


@dataclass(frozen=True)
class RobotFinding:
    """Alarms of one robot and their common cause.

    since: first and last day on which the change may have begun.  joints: joints with alarms that share these days.
    cause: robot exchanged, gains, tool or payload, or joint (each alarm for itself).
    """

    robot: str
    cause: str
    since: tuple[int, int]
    joints: tuple[str, ...]
    alarms: int
    e: float
    suggestion: str

    @property
    def text(self) -> str:
        """Sentence that summarises the alarms of the robot."""
        first, last = (day_name(day) for day in self.since)
        when = f"on {first}" if first == last else f"between {first} and {last}"
        what = plural(len(self.joints), "joint") if self.joints else "the load"
        return f"{what} changed {when}: {self.cause}" if self.cause != JOINT else f"{what} changed {when}"

    def to_json(self) -> dict[str, Any]:
        """Return as a dict of plain data, for JSON."""
        return {
            "robot": self.robot,
            "cause": self.cause,
            "since": [day_name(day) for day in self.since],
            "joints": list(self.joints),
            "alarms": self.alarms,
            "e": self.e,
            "text": self.text,
            "suggestion": self.suggestion,
        }


def robot_findings(alarms: Sequence[FleetAlarm], streams: Sequence[JudgedStream]) -> tuple[RobotFinding, ...]:
    """Alarms grouped by robot: robots with several joints first, then by evidence."""
    own: dict[str, list[FleetAlarm]] = {}
    for alarm in alarms:
        own.setdefault(alarm.robot, []).append(alarm)
    judged: dict[str, dict[str | None, JudgedStream]] = {}
    for stream in streams:
        if stream.stream.robot in own:
            judged.setdefault(stream.stream.robot, {})[stream.stream.joint] = stream
    found = [_finding(robot, each, judged.get(robot, {})) for robot, each in own.items()]
    return tuple(sorted(found, key=lambda f: (f.cause in (JOINT, TOOL), -f.e, f.robot)))


def _finding(robot: str, alarms: Sequence[FleetAlarm], streams: Mapping[str | None, JudgedStream]) -> RobotFinding:
    together = _together([alarm for alarm in alarms if alarm.joint is not None])
    joints = sum(joint is not None for joint in streams)
    worst = max(alarms, key=lambda a: a.e)
    if len(together) >= min(FEWEST_JOINTS, max(joints, 2)):
        since = max(a.since[0] for a in together), min(a.since[1] for a in together)
        names = tuple(a.joint or "" for a in together)
        cause = GAINS if _is_common([streams[joint] for joint in names]) else EXCHANGED
        return RobotFinding(robot, cause, since, names, len(alarms), worst.e, TEXTS[cause])
    if all(alarm.joint is None for alarm in alarms):
        return RobotFinding(robot, TOOL, worst.since, (), len(alarms), worst.e, TEXTS[TOOL])
    names = tuple(a.joint for a in alarms if a.joint is not None)
    return RobotFinding(robot, JOINT, worst.since, names, len(alarms), worst.e, worst.suggestion)


def _together(alarms: Sequence[FleetAlarm]) -> list[FleetAlarm]:
    """Largest set of alarms whose changes may have begun on one day."""
    best: list[FleetAlarm] = []
    for day in {alarm.since[0] for alarm in alarms}:
        own = [alarm for alarm in alarms if alarm.since[0] <= day <= alarm.since[1]]
        best = own if len(own) > len(best) else best
    return best


def _is_common(streams: Sequence[JudgedStream]) -> bool:
    """Whether viscous and dry friction of all joints changed by one factor, within their deviations."""
    change = np.concatenate([s.process.change for s in streams])
    deviation = np.concatenate([s.process.deviation for s in streams])
    weight = 1 / deviation**2
    mean = float(weight @ change / weight.sum())
    spread = float(np.mean(((change - mean) / deviation) ** 2))
    return spread <= ALIKE and abs(mean) > 3 / np.sqrt(weight.sum())

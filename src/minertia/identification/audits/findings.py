"""Findings of an audit, and messages on the checks that were skipped."""

from __future__ import annotations

from dataclasses import dataclass

from minertia.identification.logs.recording import Recording
from minertia.robot.robot import Robot

LEVELS = ("info", "warning", "error")


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding about a recording.

    level: "info", "warning" (the result may suffer) or "error" (the recording cannot be used as it is).
    check: short name of the check.  channel: name of the column, "" for the whole log.  row: row number, from 1.
    """

    level: str
    check: str
    text: str
    channel: str = ""
    row: int | None = None

    def __str__(self) -> str:
        where = ", ".join(part for part in (self.channel, f"row {self.row}" if self.row is not None else "") if part)
        return f"{self.level}: {where + ': ' if where else ''}{self.text}"


def checks_off(recording: Recording, robot: Robot) -> tuple[str, ...]:
    """Messages on skipped checks, each naming the missing information."""
    limits = [robot.joints[j].limits for j in robot.independent]
    missing = {
        "velocities are not logged: they are not compared with the positions": recording.qd is None,
        "efforts are not logged: their saturation and delay are not checked": recording.tau is None,
        "commands are not logged: tracking of the positions is not checked": "command" not in recording.channels,
        "temperatures are not logged: effects of temperature cannot be distinguished from friction": "temperature"
        not in recording.channels,
        "the robot file has no position limits for some joints: positions beyond limits are not checked there": any(
            own.lower is None or own.upper is None for own in limits
        ),
    }
    return tuple(sentence for sentence, is_missing in missing.items() if is_missing)

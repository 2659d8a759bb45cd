"""Robot events: maintenance, tool and program changes, as listed in a file or detected (`programs`)."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO

from minertia.fleet.calendar import day_name, day_number
from minertia.fleet.options import EVENTS
from minertia.io.errors import MinertiaError

RETIRED = "retired"  # a robot, or a joint, that nobody expects to be judged any more
EVERY = "*"  # joint of an event that concerns the whole robot
HEADER = ("robot", "day", "joint", "kind", "note")


@dataclass(frozen=True)
class RobotEvent:
    """Event after which levels restart, of one joint or (*) of the whole robot; seen: detected in the data."""

    robot: str
    day: int
    joint: str
    kind: str
    note: str = ""
    seen: bool = False

    def concerns(self, joint: str | None) -> bool:
        """Whether the friction of a joint (None: the load) may have changed with the event."""
        if self.kind == "maintenance":
            return self.joint in (EVERY, joint)
        if self.kind == "tool":
            return joint is None
        return self.kind != RETIRED


def read_events(text: str, source: str = "events.csv") -> tuple[RobotEvent, ...]:
    """Read the events of a file with the columns robot, day, joint (or *), kind, note."""
    rows = list(csv.reader(StringIO(text)))
    if not rows:
        return ()
    head = tuple(cell.strip() for cell in rows[0])
    if head[:4] != HEADER[:4]:
        raise MinertiaError(f"{source}, line 1: the columns must be {', '.join(HEADER)}, not {', '.join(head)}")
    found = []
    for number, row in enumerate(rows[1:], 2):
        if any(cell.strip() for cell in row):
            found.append(_event(row, f"{source}, line {number}"))
    return tuple(sorted(found, key=lambda e: (e.robot, e.day, e.joint, e.kind)))


def _event(row: Sequence[str], where: str) -> RobotEvent:
    cells = [cell.strip() for cell in row] + [""] * 5
    robot, day, joint, kind, note = cells[:5]
    if not robot:
        raise MinertiaError(f"{where}: an event needs the robot to which it happened")
    if kind not in EVENTS:
        raise MinertiaError(f"{where}: there is no kind of event called '{kind}'; use {', '.join(EVENTS)}")
    try:
        number = day_number(day)
    except MinertiaError as error:
        raise MinertiaError(f"{where}: {error}") from None
    return RobotEvent(robot, number, joint or EVERY, kind, note)


def event_line(event: RobotEvent) -> str:
    """Line of a file of events."""
    sink = StringIO()
    csv.writer(sink, lineterminator="\n").writerow(
        [event.robot, day_name(event.day), event.joint, event.kind, event.note]
    )
    return sink.getvalue()

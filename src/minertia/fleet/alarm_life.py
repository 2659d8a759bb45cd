"""Life of alarms: new, open, acknowledged, muted and closed, derived from reports and the actions of people."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from minertia.fleet.calendar import day_number
from minertia.io.errors import InputError

NEW, OPEN, ACKNOWLEDGED, MUTED, CLOSED = "new", "open", "acknowledged", "muted", "closed"
VERBS = {"acknowledge": ACKNOWLEDGED, "mute": MUTED, "open": OPEN, "close": CLOSED}
REPORT = "report"  # who closes an alarm whose evidence is gone
RAISED, QUIET, NOT_JUDGED = "raised", "quiet", "not judged"
SILENT = "silent"  # in place of the joint: an alarm of a robot without logs


@dataclass(frozen=True)
class AlarmRow:
    """Alarm in the report of one day.

    alarm: its identity.  status: raised, quiet (its evidence is gone), or not judged.  change, deviation: in `unit`.
    at: time of the report (UTC, ISO 8601).
    """

    day: str
    alarm: str
    robot: str
    joint: str
    what: str
    status: str
    change: float
    deviation: float
    unit: str
    since_first: str
    since_last: str
    e: float
    at: str


@dataclass(frozen=True)
class AlarmAction:
    """Action of a person: acknowledge, mute (until a day), open or close an alarm, with a reason."""

    alarm: str
    verb: str
    by: str
    at: str
    reason: str = ""
    until: str = ""

    def __post_init__(self) -> None:
        if self.verb not in VERBS:
            raise InputError(f"there is no action '{self.verb}' on an alarm; use {', '.join(VERBS)}")
        if not self.by.strip():
            raise InputError("an action on an alarm needs the name of the person; give --by NAME")
        if self.verb == "mute" and not (self.reason.strip() and self.until):
            raise InputError(
                "an alarm is muted for a reason and until a day; give --reason TEXT and --until YYYY-MM-DD"
            )
        if self.until:
            day_number(self.until)


@dataclass(frozen=True)
class AlarmLife:
    """An alarm with its state and history.

    first, last: days of the first and last report that raised it.  by, reason, until: of the last action.
    steps: each change of state, as (time, state, by, reason).
    """

    row: AlarmRow
    state: str
    first: str
    last: str
    by: str = ""
    reason: str = ""
    until: str = ""
    steps: tuple[tuple[str, str, str, str], ...] = ()

    @property
    def is_living(self) -> bool:
        """Whether the alarm is not closed."""
        return self.state != CLOSED

    @property
    def needs_action(self) -> bool:
        """Whether nobody has dealt with the alarm."""
        return self.state in (NEW, OPEN)

    def to_json(self) -> dict[str, Any]:
        """Return as a dict of plain data, for JSON."""
        own = {name: value for name, value in asdict(self.row).items() if name not in ("day", "status", "at")}
        steps = [dict(zip(("at", "state", "by", "reason"), step, strict=True)) for step in self.steps]
        life = {name: getattr(self, name) for name in ("state", "first", "last", "by", "reason", "until")}
        return {**own, **life, "steps": steps}

    def _moved(self, at: str, state: str, by: str, reason: str = "", until: str = "") -> AlarmLife:
        step = (at, state, by, reason)
        return replace(self, state=state, by=by, reason=reason, until=until, steps=(*self.steps, step))


def alarm_lives(rows: Iterable[AlarmRow], actions: Iterable[AlarmAction]) -> list[AlarmLife]:
    """Alarms with their states, in the order of their first report."""
    happened: list[tuple[str, int, AlarmRow | AlarmAction]] = [(row.at, 0, row) for row in rows]
    happened += [(action.at, 1, action) for action in actions]
    lives: dict[str, AlarmLife] = {}
    for _, _, own in sorted(happened, key=lambda entry: entry[:2]):
        if isinstance(own, AlarmRow):
            lives[own.alarm] = _reported(lives.get(own.alarm), own)
        elif own.alarm in lives:
            life = lives[own.alarm]
            lives[own.alarm] = life._moved(own.at, VERBS[own.verb], own.by, own.reason, own.until)
    return list(lives.values())


def _reported(life: AlarmLife | None, row: AlarmRow) -> AlarmLife:
    """Alarm after one more report."""
    if life is None:
        return AlarmLife(row, NEW, row.day, row.day, steps=((row.at, NEW, REPORT, ""),))
    if row.status == QUIET:
        return life._moved(row.at, CLOSED, REPORT, "its evidence is gone") if life.is_living else life
    if row.status == NOT_JUDGED:
        return life
    life = replace(life, row=row, last=max(life.last, row.day))
    if life.state == MUTED and life.until < row.day:
        return life._moved(row.at, OPEN, REPORT, f"muted until {life.until}")
    if life.state == NEW and row.day > life.first:
        return life._moved(row.at, OPEN, REPORT)
    return life

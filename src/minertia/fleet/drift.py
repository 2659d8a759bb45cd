"""Drift detection in a fleet: robots whose friction or load has changed, at a specified false discovery rate.

Every stream has an e-value that may be evaluated on any day (`e_process`).  The alarms of a report are selected by the
e-BH procedure: at most a fraction q of them is false, whenever the report is made and for any dependence of streams.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

import numpy as np

from minertia.fleet.alarm_life import SILENT as SILENCE
from minertia.fleet.alarm_life import AlarmLife
from minertia.fleet.alarms import FleetAlarm, JudgedStream
from minertia.fleet.calendar import day_name
from minertia.fleet.day_effects import FEWEST_ROBOTS, DayEffects
from minertia.fleet.e_process import step_size
from minertia.fleet.events import EVERY, RETIRED, RobotEvent
from minertia.fleet.findings import RobotFinding, robot_findings
from minertia.fleet.index import LogFault
from minertia.fleet.level_scale import Level, LevelScale, level_scales
from minertia.fleet.levels import LOAD
from minertia.fleet.options import DriftOptions
from minertia.fleet.robot_day import RobotDay
from minertia.fleet.streams import (
    NO_WARMTH,
    PAUSE,
    LevelStream,
    RobotStreams,
    StreamType,
    Training,
    stray_days,
    too_few,
    training,
)
from minertia.fleet.watch import FleetDays, FollowedRobot, HeldDays, WatchState, stream_events, watch_type
from minertia.io.errors import MinertiaError
from minertia.io.notebook import plural
from minertia.version import __version__

SILENT = 3  # days without logs after which a robot is not judged
AHEAD = 2  # days after today that time zones explain
SETTLING = 3  # days with logs after an event before anything can be told
FORMAT = 1  # of the JSON
SUGGESTIONS = {
    ("dry friction", True): "check seals, brake, preload and grease of the joint",
    ("dry friction", False): "check the joint's gear for lost preload or backlash",
    ("viscous friction", True): "check the lubricant of the joint: kind, amount, age",
    ("viscous friction", False): "check the joint for lost lubricant",
    (LOAD, True): "check tool and work piece, and the payload set in the controller",
    (LOAD, False): "check whether a tool or work piece was lost, and the payload set in the controller",
}


class NoEvidence(MinertiaError):
    """There is no evidence to assess."""


@dataclass(frozen=True)
class TypeFleet:
    """Robots of one type: {name: days by number}, or a source of days.

    calibration: day effects learnt before, by joint.  learnt: first and last training day of robots that were assessed
    before.  before: state after an earlier report, which is continued.
    """

    kind: StreamType
    robots: Mapping[str, Mapping[int, RobotDay]] | FleetDays
    calibration: Mapping[str, DayEffects] = field(default_factory=dict)
    learnt: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    before: WatchState = field(default_factory=WatchState)

    @property
    def source(self) -> FleetDays:
        """Source of the days."""
        return self.robots if isinstance(self.robots, FleetDays) else HeldDays(self.robots)


@dataclass(frozen=True)
class NotJudged:
    """Robot or joint that was not assessed, and the reason.

    settling: whether it is not assessed only because of the first days after an event.
    """

    robot: str
    reason: str
    joint: str | None = None
    settling: bool = False


@dataclass(frozen=True)
class NoLongerJudged:
    """Robot or joints that an earlier report (until: its day) assessed and this one does not."""

    robot: str
    until: int
    reason: str
    joints: tuple[str, ...] = ()

    def __str__(self) -> str:
        which = f", {', '.join(self.joints)}" if self.joints else ""
        return f"{self.robot}{which}: assessed until {day_name(self.until)} and no longer: {self.reason}"

    def to_json(self) -> dict[str, Any]:
        """Return as a dict of plain data, for JSON."""
        return {
            "robot": self.robot,
            "joints": list(self.joints),
            "until": day_name(self.until),
            "reason": self.reason,
        }


@dataclass(frozen=True)
class FleetDrift:
    """Drift report: alarms worst first, every stream, robots that were not assessed, and its basis.

    no_longer: robots that an earlier report assessed and this one does not.  faults: unreadable records.
    left_out: logs that are excluded because they arrived after their days had been used for training.  states: state
    of each type, from which the next report continues.  lives: alarms of this and earlier reports with their states.
    silent: robots without recent logs that no event retires, and the day of their last log.
    tags: type, line and program of each robot.
    """

    options: DriftOptions
    days: tuple[int, int]
    alarms: tuple[FleetAlarm, ...]
    watch: tuple[FleetAlarm, ...]
    streams: tuple[JudgedStream, ...]
    not_judged: tuple[NotJudged, ...]
    calibration: Mapping[str, Mapping[str, DayEffects]]
    robots: Mapping[str, RobotStreams]
    notes: tuple[str, ...] = ()
    no_longer: tuple[NoLongerJudged, ...] = ()
    faults: tuple[LogFault, ...] = ()
    left_out: tuple[LogFault, ...] = ()
    states: Mapping[str, WatchState] = field(default_factory=dict, repr=False)
    lives: tuple[AlarmLife, ...] = ()
    silent: Mapping[str, int] = field(default_factory=dict)
    tags: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<FleetDrift: {plural(len(self.alarms), 'alarm')} in {plural(len(self.streams), 'stream')}>"

    @property
    def needs_a_look(self) -> bool:
        """Whether action is needed: alarms that nobody has dealt with, robots no longer assessed, damaged records.

        A robot without logs counts until its alarm is acknowledged or muted.
        """
        pending = any(life.needs_action for life in self.lives) if self.lives else bool(self.alarms)
        known = [life.row.robot for life in self.lives if life.row.joint == SILENCE and life.is_living]
        return bool(pending or self.faults or any(own.robot not in known for own in self.no_longer))

    @property
    def findings(self) -> tuple[RobotFinding, ...]:
        """Alarms grouped by robot, with the cause that explains them together; most urgent first."""
        return robot_findings(self.alarms, self.streams)

    @property
    def statement(self) -> str:
        """Sentence on the reliability of the alarms, and on the robots that are no longer assessed."""
        lost = len({own.robot for own in self.no_longer})
        more = (
            f"; {plural(lost, 'robot')} assessed before {'is' if lost == 1 else 'are'} no longer assessed"
            if lost
            else ""
        )
        return self._verdict + more

    @property
    def _verdict(self) -> str:
        guilty, judged = len({a.robot for a in self.alarms}), len({s.stream.robot for s in self.streams})
        if not judged:
            return "no robot could be assessed"
        if not self.alarms:
            return f"none of {plural(judged, 'robot')} needs an inspection"
        verb = "needs" if guilty == 1 else "need"
        often = (
            "one alarm in ten is"
            if self.options.q == DriftOptions().q
            else f"{100 * self.options.q:g} % of the alarms are"
        )
        return f"{guilty} of {plural(judged, 'robot')} {verb} an inspection; on average at most {often} false"

    def to_json(self, store: str = "", faults: Sequence[Any] = (), arithmetic: Sequence[str] = ()) -> dict[str, Any]:
        """Return as a dict of plain data, for JSON."""
        return {
            "format": FORMAT,
            "version": __version__,
            "store": store,
            "days": [day_name(d) for d in self.days],
            "q": self.options.q,
            "horizon": self.options.horizon,
            "streams": len(self.streams),
            "statement": self.statement,
            "calibration": [_calibration_json(kind, own) for kind, own in self.calibration.items()],
            "robots": [finding.to_json() for finding in self.findings],
            "alarms": [alarm.to_json() for alarm in self.alarms],
            "silent": {robot: day_name(day) for robot, day in self.silent.items()},
            "lives": [life.to_json() for life in self.lives if life.is_living],
            "watch": [alarm.to_json() for alarm in self.watch],
            "not_judged": [{"robot": n.robot, "joint": n.joint, "reason": n.reason} for n in self.not_judged],
            "no_longer_judged": [own.to_json() for own in self.no_longer],
            "left_out": [own.to_json() for own in self.left_out],
            "notes": list(self.notes),
            "faults": [*faults, *(own.to_json() for own in self.faults)],
            "arithmetic": list(arithmetic),
        }


def _calibration_json(kind: str, own: Mapping[str, DayEffects]) -> dict[str, Any]:
    return {
        "type": kind,
        "robots": max((e.robots for e in own.values()), default=0),
        "days": max((e.days for e in own.values()), default=0),
        "omega": {joint: list(e.omega) for joint, e in own.items()},
        "phi": {joint: e.phi for joint, e in own.items()},
    }


def fleet_drift(
    types: Sequence[TypeFleet], options: DriftOptions | None = None, events: Sequence[RobotEvent] = ()
) -> FleetDrift:
    """Assess every robot of some types on the day of the report."""
    opts = options or DriftOptions()
    found = [_judge_type(own, opts, events) for own in types if own.source.robots()]
    newest = {robot: day for own in found for robot, day in own.newest.items()}
    if not newest:
        raise NoEvidence("there is no robot with records to assess; add logs first")
    today, ahead = _page_day(newest, opts)
    robots = {r.robot: r for own in found for r in own.robots}
    streams = [s for own in found for s in own.streams]
    judged = [s for s in streams if today - int(s.stream.days[-1]) <= SILENT]
    quiet = [_quiet(s, today, newest) for s in streams if today - int(s.stream.days[-1]) > SILENT]
    chosen = set(e_bh([s.process.last for s in judged], opts.q))
    raw = set(e_bh([s.process.last_raw for s in judged], opts.q)) - chosen
    kinds = {own.kind.name: own.kind for own in types}
    levels = {level: scale for own in found for level, scale in level_scales(own.robots).items()}
    alarms = [_alarm(judged[k], robots, kinds, levels) for k in chosen]
    watch = [_alarm(judged[k], robots, kinds, levels) for k in raw]
    marked = tuple(replace(s, is_alarm=k in chosen) for k, s in enumerate(judged))
    return FleetDrift(
        opts,
        (min(own.first for own in found if own.newest), today),
        tuple(sorted(alarms, key=lambda a: (-a.e, a.robot, a.joint or ""))),
        tuple(sorted(watch, key=lambda a: (-a.e, a.robot, a.joint or ""))),
        marked,
        tuple([*(n for own in found for n in own.not_judged), *dict.fromkeys(sorted(quiet, key=_by_robot))]),
        {own.kind.name: own.calibration for own in found},
        robots,
        tuple([*(note for own in found for note in own.notes), *ahead]),
        states={own.kind.name: own.state for own in found},
        silent=_silent(newest, today, events),
        tags={robot: tags for own in found for robot, tags in own.tags().items()},
    )


def _silent(newest: Mapping[str, int], today: int, events: Sequence[RobotEvent]) -> dict[str, int]:
    """Robots without logs in the last days, unless an event has retired them."""
    retired = {event.robot for event in events if event.kind == RETIRED and event.joint == EVERY}
    return {robot: day for robot, day in sorted(newest.items()) if today - day > SILENT and robot not in retired}


def _by_robot(own: NotJudged) -> tuple[str, str]:
    return own.robot, own.joint or ""


def _page_day(newest: Mapping[str, int], options: DriftOptions) -> tuple[int, list[str]]:
    """Day of the report: the newest day with logs that is not in the future; and notes on robots ahead of it.

    Otherwise one robot with a fast clock would exclude all others.  If all logs are in the future, it is the
    newest day.
    """
    if options.today is not None:
        return options.today, []
    limit = date.today().toordinal() + AHEAD
    past = [day for day in newest.values() if day <= limit]
    if not past:  # it is our own clock that is behind
        return max(newest.values()), []
    return max(past), [
        f"robot '{robot}' has logs of {day_name(day)}, which is in the future; set its clock"
        for robot, day in sorted(newest.items())
        if day > limit
    ]


def _quiet(judged: JudgedStream, today: int, newest: Mapping[str, int]) -> NotJudged:
    """Reason why a stream that ends before the day of the report is not assessed."""
    stream = judged.stream
    if today - newest[stream.robot] > SILENT:
        return NotJudged(stream.robot, f"no logs since {day_name(newest[stream.robot])}")
    since = day_name(int(stream.days[-1]))
    return NotJudged(
        stream.robot,
        f"{NO_WARMTH} since {since}, and a change of temperature looks like a change of friction",
        stream.joint,
    )


def e_bh(values: Sequence[float], q: float) -> list[int]:
    """e-BH procedure: indices of the k largest e-values, k the largest with e_(k) >= K / (q k)."""
    e = np.asarray(values, float)
    order = np.argsort(-e, kind="stable")
    passed = np.flatnonzero(e[order] >= len(e) / (q * np.arange(1, len(e) + 1)))
    return order[: passed[-1] + 1].tolist() if len(passed) else []


@dataclass(frozen=True)
class _JudgedType:
    """Assessment of one robot type.

    first: first day of all robots.  newest: newest day of each robot.  Both ignore excluded days.
    """

    kind: StreamType
    streams: tuple[JudgedStream, ...]
    robots: tuple[RobotStreams, ...]
    not_judged: tuple[NotJudged, ...]
    calibration: Mapping[str, DayEffects]
    first: int
    newest: Mapping[str, int]
    notes: tuple[str, ...]
    state: WatchState

    def tags(self) -> dict[str, dict[str, str]]:
        """Type and logged program of each robot."""
        known = self.state.robots
        return {
            own.robot: {"type": self.kind.name, "program": known[own.robot].program.name if own.robot in known else ""}
            for own in self.robots
        }


class _SteadyDays(FleetDays):
    """Days of each robot without outlying days, which are reported in notes."""

    def __init__(self, source: FleetDays) -> None:
        self._source, self.stray, self._kept = source, dict[str, tuple[int, ...]](), dict[str, dict[int, str]]()

    def robots(self) -> list[str]:
        """Names of the robots."""
        return self._source.robots()

    def records(self, robot: str) -> Mapping[int, str]:
        """Days that are not outlying."""
        if robot not in self._kept:
            every = self._source.records(robot)
            self.stray[robot] = stray = stray_days(every)
            self._kept[robot] = {day: own for day, own in every.items() if day not in stray}
        return self._kept[robot]

    def read(self, robot: str, days: Collection[int]) -> dict[int, RobotDay]:
        """Some days of a robot."""
        return self._source.read(robot, days)

    def doubtful(self) -> Collection[str]:
        """Robots whose records may have changed."""
        return self._source.doubtful()

    def is_damaged(self) -> bool:
        """Whether records could not be read."""
        return self._source.is_damaged()

    def kept_from(self) -> int:
        """First day from which on all records are kept."""
        return self._source.kept_from()

    def notes(self) -> list[str]:
        """Notes on excluded outlying days."""
        return [
            f"robot '{robot}' has logs of {', '.join(day_name(d) for d in own)}, more than {PAUSE} days away "
            "from its others; they are ignored: check its clock"
            for robot, own in sorted(self.stray.items())
            if own
        ]


def _judge_type(fleet: TypeFleet, options: DriftOptions, events: Sequence[RobotEvent]) -> _JudgedType:
    """Assess all streams of the robots of one type."""
    days = _SteadyDays(fleet.source)
    trained = training({robot: days.records(robot) for robot in days.robots()}, options.learning, fleet.learnt)
    state, effects = watch_type(fleet.kind, days, trained, options, fleet.calibration, events, fleet.before)
    missing = [NotJudged(r, reason) for r, reason in _unlearnt(trained, state, options).items()]
    missing += [NotJudged(r, reason, joint) for r, own in state.robots.items() for joint, reason in own.levels.reasons]
    listed: dict[str, list[RobotEvent]] = {}
    for event in events:
        listed.setdefault(event.robot, []).append(event)
    streams = []
    for robot, own in state.robots.items():
        for judged in _judged(fleet.kind.name, own, listed.get(robot, [])):
            if isinstance(judged, NotJudged):
                missing.append(judged)
            else:
                streams.append(judged)
    return _JudgedType(
        fleet.kind,
        tuple(streams),
        tuple(_shown(trained, days, state)),
        tuple(missing),
        effects,
        min((window[0] for window in trained.windows.values()), default=0),
        trained.newest,
        (*_borrowed(fleet, state, effects), *days.notes()),
        state,
    )


def _unlearnt(trained: Training, state: WatchState, options: DriftOptions) -> dict[str, str]:
    """Why robots are not monitored: in training, without enough readable training days, or with other units."""
    odd = {} if state.basis is None else dict(state.basis.learnt.odd)
    lost = [robot for robot in trained.complete if robot not in state.robots and robot not in odd]
    return {**trained.reasons, **odd, **{robot: too_few(0, options.learning, True) for robot in lost}}


def _shown(trained: Training, days: FleetDays, state: WatchState) -> list[RobotStreams]:
    """Levels of monitored robots; robots in training have their days only."""
    return [
        state.robots[robot].levels
        if robot in state.robots
        else RobotStreams(robot, window, (), days=tuple(sorted(days.records(robot))))
        for robot, window in trained.windows.items()
    ]


def _borrowed(fleet: TypeFleet, state: WatchState, effects: Mapping[str, DayEffects]) -> list[str]:
    """Notes on day effects from an earlier calibration."""
    own = {} if state.basis is None else state.basis.calibration
    used = {s.joint or LOAD for robot in state.robots.values() for s in robot.levels.streams}
    return [
        f"day effects of {joint} are taken from an earlier calibration of the type '{fleet.kind.name}'"
        for joint in effects
        if joint in used and joint not in own
    ]


def _judged(kind: str, own: FollowedRobot, listed: Sequence[RobotEvent]) -> list[JudgedStream | NotJudged]:
    """Streams of a robot with their evidence, or the reason why they are not assessed."""
    places = {joint: (group, k) for group in own.groups for k, joint in enumerate(group.joints)}
    found: list[JudgedStream | NotJudged] = []
    for stream in own.levels.streams:
        if (stream.joint or LOAD) not in places:
            reason = f"fewer than {FEWEST_ROBOTS} robots of its type to estimate day effects from, and no calibration"
            found.append(NotJudged(stream.robot, reason, stream.joint))
            continue
        group, k = places[stream.joint or LOAD]
        events = stream_events(stream, listed, own.program)
        early = _settling(stream, events)
        process = group.state.process(k, step_size(stream), own.levels.learnt[1] + 1)
        found.append(early or JudgedStream(kind, stream, process, events))
    return found


def _settling(stream: LevelStream, events: Sequence[RobotEvent]) -> NotJudged | None:
    """Reason not to assess a stream in the first days after an event."""
    marks = sorted({e.day for e in events if stream.days[0] < e.day})
    if not marks or int(np.sum(stream.days >= marks[-1])) >= SETTLING:
        return None
    kinds = {e.kind for e in events if e.day == marks[-1]}
    word = "new program" if "program" in kinds else sorted(kinds)[0]
    reason = f"{word} on {day_name(marks[-1])}: too few days since"
    return NotJudged(stream.robot, reason, stream.joint, settling=True)


def _alarm(
    judged: JudgedStream,
    robots: Mapping[str, RobotStreams],
    kinds: Mapping[str, StreamType],
    levels: Mapping[Level, LevelScale],
) -> FleetAlarm:
    stream, process, cause = judged.stream, judged.process, judged.cause
    kind, own = kinds[judged.type], robots[stream.robot]
    what = stream.parts[cause]
    level = levels.get((stream.robot, stream.joint or ""), LevelScale()) if what == "viscous friction" else LevelScale()
    scale = kind.moving_mass if stream.joint is None else level.factor
    change = float(process.change[cause]) * scale
    deviation = float(np.hypot(process.deviation[cause] * scale, change * level.deviation))
    return FleetAlarm(
        stream.robot,
        stream.joint,
        what,
        change,
        deviation,
        "kg" if stream.joint is None else "1",
        process.span(),
        process.last,
        min(1.0, 1.0 / max(process.last, 1e-300)),
        _temperature(own, stream),
        any(e.kind == "program" and e.day >= own.learnt[1] for e in judged.events),
        SUGGESTIONS[what, change > 0],
        _cost(stream, what, float(process.change[cause]), own, kind),
    )


def _temperature(own: RobotStreams, stream: LevelStream) -> dict[str, Any]:
    """Mean and range of the daily mean temperatures of the joint [degC]."""
    if not own.temperature.size or np.isnan(own.temperature).all():
        return {"mean": None, "range": None}
    T = own.temperature if stream.joint is None else own.temperature[:, own.joints.index(stream.joint)]
    return {"mean": float(np.nanmean(T)), "range": [float(np.nanmin(T)), float(np.nanmax(T))]}


def _cost(stream: LevelStream, what: str, change: float, own: RobotStreams, kind: StreamType) -> float | None:
    """Fraction of the joint's effort limit that the change uses; at full speed if it grows with speed."""
    if stream.joint is None or stream.joint not in kind.efforts:
        return None
    symbol, speed = ("FC", 1.0) if what == "dry friction" else ("FV", kind.speeds.get(stream.joint))
    level = own.levels.get((symbol, stream.joint))
    if level is None or speed is None:
        return None
    return float(abs(change * level) * speed / kind.efforts[stream.joint])

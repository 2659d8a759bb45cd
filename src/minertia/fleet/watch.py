"""Monitoring of the robots of one type, continued from the state of an earlier report.

The values of a type and its robots, and the day effects, depend on the training days alone.  The levels of a day depend
on them and on that day's records, and the evidence on the levels in the order of days.  So a report reads the records
of new days only.  Digests of all inputs decide what may be continued: whatever has changed is computed again, for the
robot whose records or events changed, or for the type if training days changed.
"""

from __future__ import annotations

import abc
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from minertia.fleet.columns import digest_of
from minertia.fleet.day_effects import FEWEST_ROBOTS, DayEffects, learn_day_effects
from minertia.fleet.e_process import EvidenceState, advanced
from minertia.fleet.events import RobotEvent
from minertia.fleet.levels import LOAD
from minertia.fleet.options import DriftOptions
from minertia.fleet.programs import ProgramState
from minertia.fleet.robot_day import RobotDay
from minertia.fleet.streams import (
    FEWEST_LEARNT,
    Learnt,
    LevelStream,
    RobotBasis,
    RobotStreams,
    StreamType,
    Training,
    learn,
    robot_basis,
    robot_streams,
)

FORMAT = 2  # raised whenever the same records give other numbers


class FleetDays(abc.ABC):
    """Days of the robots of one type, read when needed."""

    @abc.abstractmethod
    def robots(self) -> list[str]:
        """Names of the robots."""

    @abc.abstractmethod
    def records(self, robot: str) -> Mapping[int, str]:
        """Days with logs, and a digest that identifies the records of each; "" if unknown."""

    @abc.abstractmethod
    def read(self, robot: str, days: Collection[int]) -> dict[int, RobotDay]:
        """Some days of a robot, without those that cannot be read."""

    def doubtful(self) -> Collection[str]:
        """Robots whose records may have been changed since their state was stored."""
        return ()

    def is_damaged(self) -> bool:
        """Whether records could not be read."""
        return False

    def kept_from(self) -> int:
        """First day from which on all records are kept; older ones may have been deleted on purpose."""
        return 0


class HeldDays(FleetDays):
    """Days of robots that are held in memory."""

    def __init__(self, robots: Mapping[str, Mapping[int, RobotDay]]) -> None:
        self._robots = robots

    def robots(self) -> list[str]:
        """Names of the robots."""
        return list(self._robots)

    def records(self, robot: str) -> Mapping[int, str]:
        """Days, without digests."""
        return dict.fromkeys(self._robots[robot], "")

    def read(self, robot: str, days: Collection[int]) -> dict[int, RobotDay]:
        """Some days of a robot."""
        own = self._robots[robot]
        return {day: own[day] for day in sorted(days)}


@dataclass(frozen=True)
class TypeBasis:
    """Values of a type and its monitored robots, and learnt day effects by joint.

    key: digest of the training days and settings that they depend on.
    """

    key: str
    learnt: Learnt
    robots: Mapping[str, RobotBasis]
    calibration: Mapping[str, DayEffects]


@dataclass(frozen=True)
class EvidenceGroup:
    """Evidence of the streams of a robot that have the same days and events; joints: "load" for the load."""

    joints: tuple[str, ...]
    state: EvidenceState


@dataclass(frozen=True)
class FollowedRobot:
    """Robot after its days so far.

    key: digest of basis, day effects and settings.  records: digest of the records of each day.
    """

    key: str
    records: Mapping[int, str]
    levels: RobotStreams
    program: ProgramState
    groups: tuple[EvidenceGroup, ...] = ()


@dataclass(frozen=True)
class WatchState:
    """State of all robots of a type after a report."""

    basis: TypeBasis | None = None
    robots: Mapping[str, FollowedRobot] = field(default_factory=dict)

    def is_same(self, other: WatchState) -> bool:
        """Whether nothing was added to another state."""
        return (
            self.basis is other.basis
            and self.robots.keys() == other.robots.keys()
            and all(own is other.robots[robot] for robot, own in self.robots.items())
        )


def type_key(kind: StreamType, options: DriftOptions, training: Training, source: FleetDays) -> str:
    """Digest of everything that the values of a type depend on."""
    windows = {
        robot: [list(training.windows[robot]), [[d, source.records(robot)[d]] for d in training.inside[robot]]]
        for robot in training.complete
    }
    load = None if kind.load is None else kind.load.tolist()
    symbols = None if kind.symbols is None else list(kind.symbols)
    return digest_of([FORMAT, options.learning, kind.name, load, kind.moving_mass, symbols, windows])


def watch_type(
    kind: StreamType,
    source: FleetDays,
    training: Training,
    options: DriftOptions,
    earlier: Mapping[str, DayEffects],
    events: Sequence[RobotEvent],
    before: WatchState,
) -> tuple[WatchState, Mapping[str, DayEffects]]:
    """State after all days of all robots, and the day effects in use; earlier: those of an earlier calibration."""
    key = type_key(kind, options, training, source)
    known = before.robots if before.basis is not None and before.basis.key == key else {}
    fresh: dict[str, tuple[RobotStreams, ProgramState]] = {}
    if known and before.basis is not None:
        basis: TypeBasis | None = before.basis
    else:
        basis, fresh = _learn_type(key, kind, source, training)
    if basis is None:
        return WatchState(), {}
    effects = {**earlier, **basis.calibration}
    marks: dict[str, list[RobotEvent]] = {}
    for event in events:
        marks.setdefault(event.robot, []).append(event)
    doubtful = set(source.doubtful())
    robots = {}
    for robot in basis.robots:
        own = _Update(kind, source, basis, effects, options, source.records(robot), marks.get(robot, []))
        robots[robot] = own.after(robot, None if robot in doubtful else known.get(robot), fresh.pop(robot, None))
    return WatchState(basis, robots), effects


def _learn_type(
    key: str, kind: StreamType, source: FleetDays, training: Training
) -> tuple[TypeBasis | None, dict[str, tuple[RobotStreams, ProgramState]]]:
    """Values of a type from the training days of its robots, and the levels of all days of these robots."""
    learnt = learn(_TrainingDays(source, training), kind)
    if learnt is None:
        return None, {}
    bases, fresh = {}, {}
    for robot, values in learnt.values.items():
        days = source.read(robot, source.records(robot))
        first, last = window = training.windows[robot]
        bases[robot] = robot_basis({d: own for d, own in days.items() if first <= d <= last}, window, learnt, values)
        fresh[robot] = robot_streams(robot, days, kind, learnt, bases[robot]), ProgramState().followed(days)
    calibration = _calibrated([levels for levels, _ in fresh.values()])
    if source.is_damaged():  # once the records are restored, the values are others
        key = ""
    return TypeBasis(key, replace(learnt, values={}), bases, calibration), fresh


class _TrainingDays(Mapping[str, Mapping[int, RobotDay]]):
    """Training days of the robots whose training is complete, without robots of which too few can be read."""

    def __init__(self, source: FleetDays, training: Training) -> None:
        self._source, self._training = source, training

    def __getitem__(self, robot: str) -> Mapping[int, RobotDay]:
        inside = self._training.inside[robot]
        days = self._source.read(robot, inside)
        return days if len(days) >= min(FEWEST_LEARNT, len(inside)) else {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._training.complete)

    def __len__(self) -> int:
        return len(self._training.complete)


def _calibrated(robots: Sequence[RobotStreams]) -> dict[str, DayEffects]:
    """Day effects of each joint of which enough robots have a stream."""
    found = {}
    for joint in dict.fromkeys(s.joint or LOAD for own in robots for s in own.streams):
        pairs = [(s, own.learnt) for own in robots for s in own.streams if (s.joint or LOAD) == joint]
        if len(pairs) >= FEWEST_ROBOTS:
            found[joint] = learn_day_effects([s for s, _ in pairs], [w for _, w in pairs])
    return found


@dataclass(frozen=True)
class _Update:
    """Update of one robot; records: its days with the digests of their records; events: those listed for it."""

    kind: StreamType
    source: FleetDays
    basis: TypeBasis
    effects: Mapping[str, DayEffects]
    options: DriftOptions
    records: Mapping[int, str]
    events: Sequence[RobotEvent]

    def after(
        self, robot: str, before: FollowedRobot | None, fresh: tuple[RobotStreams, ProgramState] | None
    ) -> FollowedRobot:
        """State of a robot after all its days; fresh: its levels and program, if they were computed already."""
        key = robot_key(self.basis, self.effects, self.options)
        if fresh is None and before is not None and before.key == key and self._is_continued(before):
            found = self._continued(robot, before)
            if found is not None:
                return found
        if fresh is None:
            days = self.source.read(robot, self.records)
            levels = robot_streams(robot, days, self.kind, self.basis.learnt, self.basis.robots[robot])
            fresh = levels, ProgramState().followed(days)
        levels, program = fresh
        used = {d: self.records[d] for d in levels.days}
        groups = tuple(
            EvidenceGroup(tuple(s.joint or LOAD for s in own), self._advanced(None, own, marks))
            for marks, own in self._grouped(levels.streams, program)
        )
        return FollowedRobot(key, used, _without_errors(levels), program, groups)

    def _is_continued(self, before: FollowedRobot) -> bool:
        """Whether the earlier days are unchanged or deleted on purpose, and all further days are later."""
        last, kept_from = max(before.records), self.source.kept_from()
        now = {d: own for d, own in self.records.items() if d <= last}
        return now == {d: own for d, own in before.records.items() if d >= kept_from or d in now}

    def _continued(self, robot: str, before: FollowedRobot) -> FollowedRobot | None:
        """State with the new days added; None if streams no longer have the same days and events."""
        last = max(before.records)
        wanted = [d for d in self.records if d > last]
        days = self.source.read(robot, wanted) if wanted else {}
        program = before.program.followed(days)
        levels, latest = before.levels, dict[str, LevelStream]()
        if days:
            new = robot_streams(robot, days, self.kind, self.basis.learnt, self.basis.robots[robot])
            latest = {s.joint or LOAD: s for s in new.streams}
            levels = _followed(before.levels, new)
        streams = {s.joint or LOAD: s for s in levels.streams}
        groups = []
        for group in before.groups:
            marks = {self._marks(streams[joint], program) for joint in group.joints}
            later = [latest[joint] for joint in group.joints] if days else []
            if len(marks) > 1 or len({tuple(s.days.tolist()) for s in later}) > 1:
                return None
            (own,) = marks
            if tuple(m for m in own if m <= group.state.day) != group.state.marks:
                return None
            state = self._advanced(group.state, later, own) if later and len(later[0].days) else group.state
            groups.append(replace(group, state=state))
        if not days:
            return before
        used = {**before.records, **{d: self.records[d] for d in days}}
        return FollowedRobot(before.key, used, levels, program, tuple(groups))

    def _advanced(
        self, state: EvidenceState | None, streams: Sequence[LevelStream], marks: tuple[int, ...]
    ) -> EvidenceState:
        effects = [self.effects[s.joint or LOAD] for s in streams]
        begun = EvidenceState.before(streams, effects) if state is None else state
        watched_from = self.basis.robots[streams[0].robot].window[1] + 1
        return advanced(begun, streams, effects, watched_from, marks, self.options.horizon)

    def _grouped(
        self, streams: Sequence[LevelStream], program: ProgramState
    ) -> list[tuple[tuple[int, ...], list[LevelStream]]]:
        """Streams with known day effects, by number of levels, days and events."""
        found: dict[Any, list[LevelStream]] = {}
        for stream in streams:
            if (stream.joint or LOAD) in self.effects and len(stream.days):
                marks = self._marks(stream, program)
                found.setdefault((stream.y.shape[1], tuple(stream.days.tolist()), marks), []).append(stream)
        return [(key[2], own) for key, own in found.items()]

    def _marks(self, stream: LevelStream, program: ProgramState) -> tuple[int, ...]:
        """Days of the events that concern a stream."""
        own = stream_events(stream, self.events, program)
        return tuple(sorted({e.day for e in own if stream.days[0] < e.day}))


def robot_key(basis: TypeBasis, effects: Mapping[str, DayEffects], options: DriftOptions) -> str:
    """Digest of everything that the evidence of a robot depends on, besides its own days and events."""
    return digest_of([basis.key, {joint: asdict(own) for joint, own in effects.items()}, options.horizon])


def stream_events(stream: LevelStream, events: Sequence[RobotEvent], program: ProgramState) -> tuple[RobotEvent, ...]:
    """Events that concern a stream, listed for its robot or detected."""
    return tuple(e for e in (*events, *program.events(stream.robot)) if e.concerns(stream.joint))


def _followed(before: RobotStreams, new: RobotStreams) -> RobotStreams:
    """Levels with further days."""
    latest = {s.joint: s for s in new.streams}
    streams = tuple(s.followed(_bare(latest[s.joint])) for s in before.streams)
    warm = np.concatenate([before.temperature, new.temperature])
    return replace(before, streams=streams, temperature=warm, days=(*before.days, *new.days))


def _without_errors(levels: RobotStreams) -> RobotStreams:
    return replace(levels, streams=tuple(_bare(s) for s in levels.streams))


def _bare(stream: LevelStream) -> LevelStream:
    """Stream without the effect of the errors of constant values, which the evidence already contains."""
    return replace(stream, J=stream.J[:, :, :0], P=stream.P[:0, :0])

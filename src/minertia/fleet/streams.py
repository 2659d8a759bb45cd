"""Streams: daily levels of friction and load of robots, relative to each robot's training period.

A daily estimate fixes the values of the type and the robot at those of the training days; one fit
contains all parameters that vary from day to day, and the load.  Viscous and dry friction are scaled by
one factor each, with the ratios of their coefficients fixed at the learnt ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from minertia.fleet.day_stack import DayStack, noise_levels
from minertia.fleet.evidence import EvidenceLayout, FleetEvidence
from minertia.fleet.levels import (
    DRY,
    LOAD,
    VISCOUS,
    Levels,
    RobotSums,
    RobotValues,
    robot_sums,
    robot_values,
    type_values,
)
from minertia.fleet.options import DriftOptions
from minertia.fleet.robot_day import RobotDay
from minertia.identification.problem.linear import symbol_of
from minertia.io.arrays import Array
from minertia.io.resources import one_thread
from minertia.robot.parameters import BIAS_SYMBOLS

LEARNING = DriftOptions().learning  # days with logs
FEWEST_LEARNT = 10  # of them from which on a robot tells others what is usual
FEWEST_ALIKE = 3  # robots of a type from which on one can be unlike the others
ODD = 10.0  # times the efforts of others, of all joints: then the unit is another
PAUSE, STRAY = 30, 3  # days without logs beyond which fewer days with logs than these are of a clock that was wrong
NO_WARMTH = "temperatures are missing"
UNCLEAR = 0.25  # deviation of a day's level, over the level, from which a program does not show it


@dataclass(frozen=True)
class StreamType:
    """Settings of the streams of a robot type.

    load (inertial columns, any): parameters of 1 kg at the flange, and of the corresponding first moments;
    None if the load is not monitored.  moving_mass [kg]: total mass of the links.  symbols: symbols of the
    robot-specific columns in use; default: all.  efforts, speeds: limits of the joints.
    """

    name: str
    load: Array | None = None
    moving_mass: float = 1.0
    symbols: tuple[str, ...] | None = None
    efforts: Mapping[str, float] = field(default_factory=dict)  # limits of joints [N m or N]
    speeds: Mapping[str, float] = field(default_factory=dict)  # limits of joints [rad/s or m/s]


@dataclass(frozen=True)
class LevelStream:
    """Daily levels of viscous and dry friction of a joint, or of the load.

    joint: None for the load.  days (D,).  y (D, p): relative deviations of the friction levels from the
    learnt ones; for the load, its deviation from the learnt load [kg] divided by the moving mass.  V (D, p,
    p): noise covariance of each day.  warm (D,): deviation of the temperature from its mean in the training period,
    divided by 10 K; 0 if unknown.  J (D, p, c), P (c, c): effect of the errors of the robot's constant values on each
    day, and their covariance; without columns once the evidence of the stream contains them.
    """

    robot: str
    joint: str | None
    days: NDArray[np.int_]
    y: Array
    V: Array
    warm: Array
    J: Array
    P: Array

    def __repr__(self) -> str:
        return f"<LevelStream of '{self.robot}', {self.joint or LOAD}: {len(self.days)} days>"

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the levels: viscous and dry friction, or the load."""
        return (LOAD,) if self.joint is None else ("viscous friction", "dry friction")

    def followed(self, later: LevelStream) -> LevelStream:
        """Stream with further days."""
        pairs = ((getattr(self, name), getattr(later, name)) for name in ("days", "y", "V", "warm", "J"))
        days, y, V, warm, J = (np.concatenate(pair) for pair in pairs)
        return replace(self, days=days, y=y, V=V, warm=warm, J=J)


@dataclass(frozen=True)
class RobotStreams:
    """All streams of one robot, and the reasons for missing streams, by joint or for the whole robot (None)."""

    robot: str
    learnt: tuple[int, int]
    streams: tuple[LevelStream, ...]
    reasons: tuple[tuple[str | None, str], ...] = ()
    temperature: Array = field(default_factory=lambda: np.zeros((0, 0)))  # (D, joints) [degC]
    days: tuple[int, ...] = ()
    joints: tuple[str, ...] = ()
    levels: Mapping[tuple[str, str], float] = field(default_factory=dict)  # learnt friction by symbol and joint


@dataclass(frozen=True)
class RobotBasis:
    """Values from the training days of a robot, on which its streams are based.

    window: first and last training day.  known: value of each column.  P: covariance of the robot's constant values,
    by effort.  load [kg]: its payload.  inflation: variance inflation of the levels; empty without time blocks.
    warm (joints,): mean temperatures [degC], NaN if unknown.  heat [degC]: their mean over days and joints.  reasons:
    why joints, or the robot (None), have no stream.
    """

    window: tuple[int, int]
    known: Array
    P: tuple[Array, ...]
    load: float
    inflation: Array
    warm: Array
    heat: float
    reasons: tuple[tuple[str | None, str], ...] = ()

    def friction(self, layout: EvidenceLayout) -> dict[tuple[str, str], float]:
        """Learnt FV and FC, by symbol and joint."""
        return {
            (symbol_of(layout.names[c]), effort): float(self.known[c])
            for effort, seen in zip(layout.efforts, layout.seen, strict=True)
            for c in seen
            if symbol_of(layout.names[c]) in ("FV", "FC")
        }


@dataclass(frozen=True)
class Training:
    """Training days of all robots, known without reading a record.

    windows: first and last training day; newest: last day with logs; inside: training days with logs; reasons: why
    robots are not monitored.
    """

    windows: Mapping[str, tuple[int, int]]
    newest: Mapping[str, int]
    inside: Mapping[str, tuple[int, ...]]
    reasons: Mapping[str, str]

    @property
    def complete(self) -> list[str]:
        """Robots whose training is complete; they alone determine the values of the type."""
        return [robot for robot in self.windows if robot not in self.reasons]


@dataclass(frozen=True)
class Learnt:
    """Values of a type, learnt from the training days of its robots.

    values: of each robot.  odd: robots with efforts of another unit, and the message.
    """

    layout: EvidenceLayout
    levels: Levels
    sigma: Array
    of_type: Mapping[str, float]
    values: Mapping[str, RobotValues]
    odd: Mapping[str, str]


def learning_window(days: Iterable[int], learning: int = LEARNING) -> tuple[int, int]:
    """First and last training day: the first `learning` days with logs."""
    order = sorted(days)[:learning]
    return order[0], order[-1]


def stray_days(days: Iterable[int]) -> tuple[int, ...]:
    """Outlying days to exclude: fewer than 3 days, more than 30 days before or after all others.

    Such dates come from a wrong clock; neither the training period nor the day of the report may depend on them.
    """
    runs: list[list[int]] = []
    for day in sorted(days):
        if runs and day - runs[-1][-1] <= PAUSE:
            runs[-1].append(day)
        else:
            runs.append([day])
    found: list[int] = []
    for end in (0, -1):
        while len(runs) > 1 and len(runs[end]) < STRAY <= max(len(run) for run in runs):
            found += runs.pop(end)
    return tuple(sorted(found))


def training(
    fleet: Mapping[str, Iterable[int]], learning: int = LEARNING, known: Mapping[str, tuple[int, int]] | None = None
) -> Training:
    """Training days of robots, given their days with logs; known: training days of robots assessed before."""
    windows, newest, inside, reasons = {}, {}, {}, {}
    for robot in sorted(fleet):
        days = sorted(fleet[robot])
        if not days:
            reasons[robot] = "no logs"
            continue
        before = (known or {}).get(robot)
        windows[robot] = window = before or learning_window(days, learning)
        newest[robot] = days[-1]
        inside[robot] = tuple(d for d in days if window[0] <= d <= window[1])
        if newest[robot] <= window[1] or len(inside[robot]) < min(FEWEST_LEARNT, learning):
            reasons[robot] = too_few(len(inside[robot]), learning, before is not None)
    return Training(windows, newest, inside, reasons)


def learn(fleet: Mapping[str, Mapping[int, RobotDay]], kind: StreamType) -> Learnt | None:
    """Fit type and robots, given the training days of each robot; None without a robot."""
    sums: dict[str, RobotSums] = {}
    efforts: dict[str, Array] = {}
    found: tuple[EvidenceLayout, Levels, Array] | None = None
    for robot in sorted(fleet):
        days = fleet[robot]
        if not days:
            continue
        stack = DayStack.of({d: day.evidence for d, day in days.items()})
        if found is None:
            sigma = noise_levels(own.noise() for own in _some_stacks(fleet, robot, stack))
            found = stack.layout, Levels.of(stack.layout, kind.symbols, kind.load), sigma
        sums[robot] = robot_sums(stack, *found[1:])
        efforts[robot] = _efforts(stack)
    odd = _odd_efforts(efforts)
    if odd:  # their values, and weights by their noise, would be those of all robots
        rest = learn(_Without(fleet, odd), kind)
        return None if rest is None else replace(rest, odd={**rest.odd, **odd})
    if found is None:
        return None
    of_type = type_values(list(sums.values())).by_name()
    return Learnt(*found, of_type, {robot: robot_values(own, of_type) for robot, own in sums.items()}, {})


class _Without(Mapping[str, Mapping[int, RobotDay]]):
    """View of a mapping of robots without the excluded ones, whose days are not read."""

    def __init__(self, robots: Mapping[str, Mapping[int, RobotDay]], left_out: Iterable[str]) -> None:
        self._robots, self._left_out = robots, set(left_out)

    def __getitem__(self, robot: str) -> Mapping[int, RobotDay]:
        return self._robots[robot]

    def __iter__(self) -> Iterator[str]:
        return (robot for robot in self._robots if robot not in self._left_out)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _efforts(stack: DayStack) -> Array:
    """Root mean square of each effort [N m or N] over the samples at which its joint moves."""
    squares = np.array([float(np.sum(R[:, :, -1] ** 2)) for R in stack.rows])
    return np.asarray(np.sqrt(squares / np.maximum(stack.samples.sum(axis=0), 1.0)))


def _odd_efforts(efforts: Mapping[str, Array]) -> dict[str, str]:
    """Messages on robots whose efforts are all far larger or smaller than those of their type: wrong unit."""
    if len(efforts) < FEWEST_ALIKE:
        return {}
    usual = np.median(list(efforts.values()), axis=0)
    found = {}
    for robot, own in efforts.items():
        shown = (own > 0) & (usual > 0)
        ratio = own[shown] / usual[shown]
        if ratio.size and (ratio.min() > ODD or ratio.max() < 1 / ODD):
            size = float(np.median(ratio))
            found[robot] = f"its efforts are {size:.2g} times those of other robots of its type; check units and gains"
    return found


def too_few(days: int, learning: int, before: bool) -> str:
    """Reason why a robot is not monitored; before: it was monitored, and training data is now missing."""
    if before:
        return f"too few of its training days remain usable to assess it ({days} have records)"
    return f"still in training: {days} days with logs, monitored after {learning} days"


def _some_stacks(fleet: Mapping[str, Mapping[int, RobotDay]], first: str, stack: DayStack) -> Iterator[DayStack]:
    """Days of the first robot, then of others until every effort is excited.

    The weights apply to all robots of a type.
    """
    yield stack
    missing = stack.noise() <= 0
    for robot in sorted(fleet):
        if not missing.any():
            return
        days = fleet[robot] if robot != first else {}
        if days:
            other = DayStack.of({d: day.evidence for d, day in days.items()})
            missing &= other.noise() <= 0
            yield other


def robot_basis(
    days: Mapping[int, RobotDay], window: tuple[int, int], learnt: Learnt, values: RobotValues
) -> RobotBasis:
    """Basis of the streams of one robot, given its training days and its values."""
    order = sorted(days)
    warm = np.stack([np.asarray(days[d].temperature, float) for d in order])
    start = _basis(window, learnt, values, warm)
    with one_thread():
        design = _Design.of(DayStack.of({d: days[d].evidence for d in order}), learnt, start)
        fit = _day_fits(design)
        inflation = _inflation(design, fit, [days[d].evidence for d in order], learnt.sigma)
    if inflation is None:
        return replace(start, reasons=((None, "its records contain no time blocks"),))
    own = replace(start, inflation=inflation)
    reasons = ((name, _why_not(j, design, fit, own, warm)) for j, name in _with_friction(learnt.layout))
    return replace(own, reasons=tuple((name, why) for name, why in reasons if why))


def _with_friction(layout: EvidenceLayout) -> list[tuple[int, str]]:
    """Indices and names of the efforts of joints; sensors have no friction."""
    return [
        (j, name)
        for j, (name, seen) in enumerate(zip(layout.efforts, layout.seen, strict=True))
        if any(symbol_of(layout.names[c]) in VISCOUS for c in seen)
    ]


def _basis(window: tuple[int, int], learnt: Learnt, values: RobotValues, warm: Array) -> RobotBasis:
    """Basis without inflation, as known from the values alone; warm (D, joints): temperatures of the training days."""
    finite = np.isfinite(values.days)
    total = np.sum(np.where(finite, values.days, 0.0), axis=0) / np.maximum(finite.sum(axis=0), 1)
    mean = dict(zip(values.day_names, total.tolist(), strict=True))
    known = {**{n: 0.0 for n in learnt.layout.names}, **learnt.of_type, **values.own, **mean}
    own = tuple(values.own)
    places = [[own.index(learnt.layout.names[c]) for c in seen if learnt.layout.names[c] in own]
              for seen in learnt.layout.seen]  # fmt: skip
    told = np.isfinite(warm)
    by_joint = np.where(told.any(axis=0), _mean(warm, 0), np.nan)
    daily = _mean(warm, 1)[told.any(axis=1)]
    return RobotBasis(
        window,
        np.array([known[n] for n in learnt.layout.names]),
        tuple(values.covariance[np.ix_(own, own)] for own in places),
        float(values.own.get(LOAD, 0.0)),
        np.zeros(0),
        by_joint,
        float(daily.mean()) if len(daily) else 0.0,
    )


def _mean(warm: Array, axis: int) -> Array:
    """Mean of the known temperatures; 0 where none is known."""
    told = np.isfinite(warm)
    return np.asarray(np.sum(np.where(told, warm, 0.0), axis=axis) / np.maximum(told.sum(axis=axis), 1))


def _why_not(j: int, design: _Design, fit: _DayFits, basis: RobotBasis, warm: Array) -> str:
    """Reason why a joint has no stream, by its training days; "" if it has one."""
    if not np.any(design.X[j]):
        return "it does not move"
    V = _noise(fit, basis, [3 * j, 3 * j + 1])
    if np.median(np.sqrt(np.einsum("dii->di", V)), axis=0).max() > UNCLEAR:
        return "its program does not make viscous and Coulomb friction distinguishable"
    told = int(np.isfinite(warm[:, j]).sum()) if warm.shape[1] else 0
    if told < min(FEWEST_LEARNT, len(warm)):
        return f"{NO_WARMTH}, and a change of temperature looks like a change of friction"
    return ""


def robot_streams(
    robot: str, days: Mapping[int, RobotDay], kind: StreamType, learnt: Learnt, basis: RobotBasis
) -> RobotStreams:
    """Daily levels of one robot, given its basis; each day depends on its own evidence only."""
    order = sorted(days)
    warm = np.stack([np.asarray(days[d].temperature, float) for d in order])
    joints, friction = learnt.layout.efforts, basis.friction(learnt.layout)
    if not len(basis.inflation):
        return RobotStreams(robot, basis.window, (), basis.reasons, warm, tuple(order), joints, friction)
    with one_thread():
        design = _Design.of(DayStack.of({d: days[d].evidence for d in order}), learnt, basis)
        fit = _day_fits(design)
        missing = {joint for joint, _ in basis.reasons}
        streams = [
            _joint_stream(robot, j, design, fit, basis, warm)
            for j, name in _with_friction(learnt.layout)
            if name not in missing
        ]
        if design.loads:
            streams.append(_load_stream(robot, design, fit, basis, warm, kind))
    return RobotStreams(robot, basis.window, tuple(streams), basis.reasons, warm, tuple(order), joints, friction)


@dataclass(frozen=True)
class _Design:
    """Grouped regressor columns of a robot's days: viscous, dry and offset of each joint, and loads.

    For each joint: X (D, rows, columns of the joint); y (D, rows), the efforts less the known contributions;
    C (D, rows, columns of the robot's constant values).
    """

    days: tuple[int, ...]
    joints: tuple[str, ...]
    X: tuple[Array, ...]
    y: tuple[Array, ...]
    C: tuple[Array, ...]
    maps: tuple[Array, ...]  # columns of X in terms of the effort's own columns, (k, columns)
    loads: int

    @classmethod
    def of(cls, stack: DayStack, learnt: Learnt, basis: RobotBasis) -> _Design:
        """Build the columns scaled by the learnt values, with known contributions subtracted from the efforts."""
        levels = learnt.levels
        known = dict(zip(stack.layout.names, basis.known.tolist(), strict=True))
        parts: list[tuple[Array, ...]] = []
        for i, (B, seen) in enumerate(zip(stack.rows, stack.layout.seen, strict=True)):
            titles = [stack.layout.names[c] for c in seen]
            M, taken = _families(titles, known, levels)
            rows = B / learnt.sigma[i]
            y = rows[:, :, -1] - rows[:, :, :-1] @ taken
            mine = [k for k, n in enumerate(titles) if n in levels.robot]
            parts.append((rows[:, :, :-1] @ M, y, rows[:, :, mine], M))
        X, y_all, C, maps = zip(*parts, strict=True)
        return cls(stack.days, stack.layout.efforts, X, y_all, C, maps, len(levels.loads))


def _families(titles: Sequence[str], known: Mapping[str, float], levels: Levels) -> tuple[Array, Array]:
    """Map (columns, families) of an effort's columns to viscous, dry, offset and load; known values to subtract."""
    M = np.zeros((len(titles), 3 + len(levels.loads)))
    taken = np.zeros(len(titles))
    inertial = {n: k for k, n in enumerate(levels.type)}
    for k, name in enumerate(titles):
        symbol = symbol_of(name)
        if name in inertial:
            taken[k] = known[name]
            if levels.load is not None:
                M[k, 3:] = levels.load[inertial[name]]
        elif symbol in VISCOUS:
            M[k, 0] = known[name]
        elif symbol in DRY:
            M[k, 1] = known[name]
        elif symbol == "OFF" or symbol in BIAS_SYMBOLS:
            M[k, 2] = 1.0
        else:
            taken[k] = known[name]
    return M, taken


@dataclass(frozen=True)
class _DayFits:
    beta: Array  # (D, unknowns): viscous, dry, offset of each joint, then the load
    white: Array  # (D, unknowns, unknowns)


def _places(design: _Design, j: int) -> list[int]:
    own = [3 * j, 3 * j + 1, 3 * j + 2]
    first = 3 * len(design.joints)
    return [*own, *range(first, first + design.loads)]


def _day_fits(design: _Design) -> _DayFits:
    """Least-squares fit of each day, with all joints and the load together."""
    D, count = len(design.days), 3 * len(design.joints) + design.loads
    A, b = np.zeros((D, count, count)), np.zeros((D, count))
    for j, (X, y) in enumerate(zip(design.X, design.y, strict=True)):
        own = _places(design, j)
        A[np.ix_(range(D), own, own)] += np.swapaxes(X, 1, 2) @ X
        b[:, own] += np.einsum("drk,dr->dk", X, y)
    square = np.einsum("dii->di", A)
    size = np.sqrt(np.where(square > 0, square, 1.0))
    unit = A / (size[:, :, None] * size[:, None, :])
    unit += 1e-9 * np.eye(count)  # what a day does not show gets a deviation that says so
    white = np.linalg.inv(unit) / (size[:, :, None] * size[:, None, :])
    return _DayFits(np.einsum("dij,dj->di", white, b), white)


def _inflation(design: _Design, fit: _DayFits, evidence: Sequence[FleetEvidence], sigma: Array) -> Array | None:
    """Variance inflation of the levels: block scores over white residuals, averaged over the training days."""
    ratios = []
    for k, own in enumerate(evidence):
        if own.stretches is None:
            continue
        z = np.zeros((len(own.stretches.counts), fit.beta.shape[1]))
        for j, (score, M) in enumerate(zip(own.stretches.scores, design.maps, strict=True)):
            z[:, _places(design, j)] += score @ M / sigma[j] ** 2
        z -= z.mean(axis=0)
        half = z @ fit.white[k]
        ratios.append(np.sum(half**2, axis=0) * len(z) / max(len(z) - 1, 1) / np.einsum("ii->i", fit.white[k]))
    return np.maximum(np.mean(ratios, axis=0), 1.0) if ratios else None


def _noise(fit: _DayFits, basis: RobotBasis, places: Sequence[int]) -> Array:
    """Noise covariance (D, k, k) of some levels of each day."""
    scale = np.sqrt(basis.inflation[list(places)])
    return np.asarray(fit.white[:, places][:, :, places] * np.outer(scale, scale))


def _joint_stream(robot: str, j: int, design: _Design, fit: _DayFits, basis: RobotBasis, warm: Array) -> LevelStream:
    """Stream of viscous and dry friction of a joint, on the days with a temperature."""
    pair = [3 * j, 3 * j + 1]
    told = np.isfinite(warm[:, j])
    own = _places(design, j)
    J = -(fit.white[:, pair][:, :, own] @ (np.swapaxes(design.X[j], 1, 2) @ design.C[j]))  # (D, 2, robot's columns)
    heat = (warm[told, j] - basis.warm[j]) / 10.0
    days, y = np.array(design.days, int)[told], fit.beta[told][:, pair] - 1.0
    return LevelStream(robot, design.joints[j], days, y, _noise(fit, basis, pair)[told], heat, J[told], basis.P[j])


def _load_stream(
    robot: str, design: _Design, fit: _DayFits, basis: RobotBasis, warm: Array, kind: StreamType
) -> LevelStream:
    """Stream of the load at the flange, divided by the moving mass."""
    unit, k = kind.moving_mass, 3 * len(design.joints)
    y = (fit.beta[:, k : k + 1] - basis.load) / unit
    V = _noise(fit, basis, [k]) / unit**2
    heat = np.where(np.isfinite(warm).any(axis=1), _mean(warm, 1) - basis.heat, 0.0) / 10.0
    return LevelStream(robot, None, np.array(design.days, int), y, V, heat, np.zeros((len(y), 1, 0)), np.zeros((0, 0)))

"""Alternative set-ups: other interpretations of the files that explain the readings far better.

Each is fitted with base, tool and zeros on some postures, without initial values.  A wrong scale, sign or order gives
an error more than twice that of the right set-up; if the given set-up has a negligible error, none is tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from minertia.identification.geometry.chain import Array, Chain
from minertia.identification.geometry.choice import is_better, thinned
from minertia.identification.geometry.errors import misses_of, sizes_of
from minertia.identification.geometry.fit import GeometryFit, rms
from minertia.identification.geometry.folds import GeometryRows, capped, left_out, regions
from minertia.identification.geometry.joints import columns_at
from minertia.identification.geometry.layout import Postures
from minertia.identification.geometry.measures import UNITS, PointMeasure, PoseMeasure, ToolReadings, told
from minertia.identification.geometry.starts import started

MOST_POSTURES = 80
SMALL = 4e-3  # of the reach: what a right reading leaves at the level of zeros
SMALL_ANGLE = 0.03  # rad: the same of rotations and directions; pixels are not looked at
HALF = 0.5
ROTATION = "rotation"  # check of those that read rotations otherwise
LEAST_WAY = 0.01  # m: that the tool goes, so that its readings tell their unit
PROMISING = 0.9  # of what base and tool alone leave of the stated reading, at which a first look goes on
FEWEST_MOVES = 10  # between postures, which a correlation is computed from
LATE = 0.4  # correlation of what was left to go with the move
FIRST_STARTS = 4  # of a first look
ROUND_SCALES = {1000.0: "millimetres for metres", 0.001: "metres for millimetres", 10.0: "centimetres", 39.37: "inches"}


@dataclass(frozen=True)
class OtherReading:
    """Alternative set-up with a far smaller error than the given one [m or rad]."""

    check: str
    what: str
    change: str
    before: float
    after: float
    unit: str

    @property
    def sentence(self) -> str:
        """Message with its error figures and what to change."""
        figures = (
            f"with this interpretation the error is {told(self.after, self.unit)} instead of "
            f"{told(self.before, self.unit)}"
        )
        return f"{self.what}: {figures}; {self.change}"

    def to_dict(self) -> dict[str, Any]:
        """Return as a dict of plain data."""
        return {name: getattr(self, name) for name in ("check", "what", "change", "before", "after", "unit")}


@dataclass(frozen=True)
class _ReadingTrial:
    check: str
    what: str
    change: str
    made: Callable[[Postures], Postures | None]


def other_readings(problem: GeometryRows, reach: float) -> tuple[OtherReading, ...]:
    """Alternative set-ups that explain the readings far better than the given one, best first.

    reach: largest extent of the tool positions [m].
    """
    count = problem.postures.count
    some = problem.taken(np.linspace(0, count - 1, min(count, MOST_POSTURES)).round().astype(np.intp))
    before, turned = left_by(some)
    unit = problem.postures.measures[0].unit
    if before >= (SMALL * reach if unit == "m" else SMALL_ANGLE if unit != "px" else np.inf):
        return _far_better(some, before, unit)
    return _turned_better(some, turned) if turned >= SMALL_ANGLE else ()


def other_joints(problem: GeometryRows, groups: Sequence[str]) -> tuple[OtherReading, ...]:
    """Alternative set-up with commanded joint positions, if these predict held-out regions better.

    They are compared with the fitted (reported) positions.  groups: groups of the corrections, the same for
    both.
    """
    commanded, measures = problem.postures.commanded, problem.postures.measures
    if commanded is None:
        return ()
    some = thinned(problem)
    region = regions(some)
    if len(np.unique(region)) < 2:
        return ()
    read, sent = (left_out(one, groups, region, one.fit(())) for one in (some, _as_commanded(some)))
    if not is_better(sent, read):
        return ()
    what = "commanded joint positions predict the readings better than the reported ones"
    late = _lateness(problem.postures.q, commanded)
    if late > LATE:
        what += f", which seem to be read before standstill (correlation {late:.2f} with the move that led there)"
    change = "name the columns of the commanded ones as q in [columns]"
    return (OtherReading("joints", what, change, capped(read.sizes), capped(sent.sizes), measures[0].unit),)


def _as_commanded(problem: GeometryRows) -> GeometryRows:
    """The problem with commanded instead of reported positions."""
    q = problem.postures.commanded
    assert q is not None  # `other_joints` asks for no other
    columns = columns_at(problem.chain, problem.columns, q, np.array(problem.chain.robot.gravity, float))
    return replace(problem, postures=replace(problem.postures, q=q), columns=tuple(columns))


def _lateness(q: Array, commanded: Array) -> float:
    """Correlation of the remaining tracking error at each posture with the commanded move that led to it.

    A high correlation indicates that positions were read before standstill.  The largest value of all joints is
    returned.
    """
    left, way = (commanded - q)[1:], np.diff(commanded, axis=0)
    moves = (way.std(axis=0) > 0) & (left.std(axis=0) > 0)
    if len(way) < FEWEST_MOVES or not moves.any():
        return 0.0
    return max(float(np.corrcoef(left[:, c], way[:, c])[0, 1]) for c in np.flatnonzero(moves))


def _far_better(some: GeometryRows, before: float, unit: str) -> tuple[OtherReading, ...]:
    """Alternative set-ups with less than half of the error, smallest error first."""
    plain, found = _first_look(some), []
    for trial, made in _made(some):
        if _first_look(made) > PROMISING * plain:
            continue
        after, _ = left_by(made)
        if after < HALF * before:
            found.append(OtherReading(trial.check, trial.what, trial.change, before, after, unit))
    return tuple(sorted(found, key=lambda s: s.after))


def _turned_better(some: GeometryRows, before: float) -> tuple[OtherReading, ...]:
    """Alternative rotation conventions with less than half of the rotation error [rad], smallest first.

    Only these are tried if positions already agree.
    """
    found = []
    for trial, made in _made(some):
        if trial.check == ROTATION and (after := left_by(made)[1]) < HALF * before:
            found.append(OtherReading(trial.check, trial.what, trial.change, before, after, "rad"))
    return tuple(sorted(found, key=lambda s: s.after))


def _made(some: GeometryRows) -> Iterator[tuple[_ReadingTrial, GeometryRows]]:
    """Possible alternative set-ups, each with the readings that it implies."""
    for trial in _trials(some.chain, some.postures.measures):
        other = trial.made(some.postures)
        if other is not None:
            yield trial, replace(some, postures=other, columns=())


def _first_look(problem: GeometryRows) -> float:
    """Capped root-mean-square error of the initial fit of base and tool."""
    layout = problem.layout(())
    return capped(sizes_of(layout.postures.measures, misses_of(layout, started(layout, starts=FIRST_STARTS))))


def left_by(problem: GeometryRows) -> tuple[float, float]:
    """RMS errors of readings and of pose rotations [rad], with base, tool and zeros fitted; outliers clipped."""
    try:
        found = problem.fit(("zeros",))
    except np.linalg.LinAlgError:
        return np.inf, np.inf
    return capped(problem.errors(found)), capped(turns_of(found))


def turns_of(found: GeometryFit) -> Array:
    """Angles [rad] between measured and predicted rotations of poses; empty if no pose was measured."""
    tool, state = found.layout.moved(found.state).tool, found.state
    pairs = zip(found.layout.postures.measures, state.own, strict=True)
    poses = [m.rows(tool, own) for m, own in pairs if isinstance(m, PoseMeasure)]
    parts = [rows.residual[rows.unit == UNITS.index("rad")].reshape(-1, 3) for rows in poses]
    return np.concatenate([np.zeros(0), *(np.linalg.norm(part, axis=1) for part in parts)])


def _trials(chain: Chain, measures: Sequence[ToolReadings]) -> Iterator[_ReadingTrial]:
    robot, used = chain.robot, chain.coordinates
    names = [robot.coordinate_names[c] for c in used]
    yield _ReadingTrial(
        "angle", "joint positions seem to be in degrees", 'set angle = "deg"', _positions(lambda q: np.deg2rad(q))
    )
    yield _ReadingTrial(
        "angle", "joint positions seem to be in radians", 'set angle = "rad"', _positions(lambda q: np.rad2deg(q))
    )
    for c, name in zip(used, names, strict=True):
        yield _ReadingTrial(
            "sign", f"the sign of joint {name} seems reversed", f"reverse the sign of {name}", _scaled(c, -1.0)
        )
    for a, b in zip(used, used[1:], strict=False):
        first, second = robot.coordinate_names[a], robot.coordinate_names[b]
        yield _ReadingTrial(
            "order", f"joints {first} and {second} seem to be exchanged", "exchange their columns", _exchanged(a, b)
        )
        for factor in (1.0, -1.0):
            yield _ReadingTrial(
                "coupling",
                f"joint {second} seems to be measured relative to joint {first}",
                f"give {second} {'plus' if factor > 0 else 'less'} {first}",
                _added(b, a, factor),
            )
    yield _ReadingTrial(
        "order", "the joints seem to be in the opposite order", "reverse the order of the columns", _reversed(used)
    )
    for shift in (1, -1):
        yield _ReadingTrial(
            "rows",
            f"readings seem to be {abs(shift)} row {'late' if shift > 0 else 'early'}",
            "shift the columns of one side by a row",
            _shifted(shift),
        )
    if any(isinstance(m, (PointMeasure, PoseMeasure)) for m in measures):
        yield _ReadingTrial(
            "mirror",
            "the measurement frame seems to be left-handed",
            "reverse the sign of one axis",
            _points(_mirrored),
        )
        yield _ReadingTrial(
            "scale", "the unit of lengths seems to be different", "check length in [columns]", _rescaled(chain)
        )
    if any(isinstance(m, PoseMeasure) for m in measures):
        for what, turned in ROTATION_READINGS.items():
            yield _ReadingTrial(
                ROTATION, f"rotations seem to be {what}", "check rotation_as", _points(_rotated(turned))
            )


def _positions(change: Callable[[Array], Array]) -> Callable[[Postures], Postures]:
    return lambda p: Postures(np.asarray(change(p.q)), p.measures)


def _scaled(c: int, factor: float) -> Callable[[Postures], Postures]:
    def change(q: Array) -> Array:
        q = q.copy()
        q[:, c] *= factor
        return q

    return _positions(change)


def _exchanged(a: int, b: int) -> Callable[[Postures], Postures]:
    def change(q: Array) -> Array:
        q = q.copy()
        q[:, [a, b]] = q[:, [b, a]]
        return q

    return _positions(change)


def _reversed(used: Sequence[int]) -> Callable[[Postures], Postures]:
    def change(q: Array) -> Array:
        q = q.copy()
        q[:, list(used)] = q[:, list(used)[::-1]]
        return q

    return _positions(change)


def _added(c: int, other: int, factor: float) -> Callable[[Postures], Postures]:
    def change(q: Array) -> Array:
        q = q.copy()
        q[:, c] += factor * q[:, other]
        return q

    return _positions(change)


def _shifted(rows: int) -> Callable[[Postures], Postures]:
    return _positions(lambda q: np.roll(q, rows, axis=0))


def _points(change: Callable[[ToolReadings], ToolReadings]) -> Callable[[Postures], Postures]:
    return lambda p: Postures(p.q, tuple(change(m) for m in p.measures))


def _mirrored(measure: ToolReadings) -> ToolReadings:
    if not isinstance(measure, (PointMeasure, PoseMeasure)):
        return measure
    values = measure.values.copy()
    values[:, 0] *= -1
    return replace(measure, values=values)


def _rescaled(chain: Chain) -> Callable[[Postures], Postures | None]:
    """Return a function that scales readings so that the spread of positions matches that of the robot file.

    The function returns None if the scale already matches within 10 %.
    """

    def change(p: Postures) -> Postures | None:
        from minertia.identification.geometry.layout import GeometryLayout

        tool = GeometryLayout(chain, p).moved(GeometryLayout(chain, p).start()).tool
        ratios = [
            rms(_centred(tool[m.posture, :3, 3])) / max(rms(_centred(m.values[:, :3])), 1e-12)
            for m in p.measures
            if isinstance(m, (PointMeasure, PoseMeasure))
        ]
        factor = float(np.median(ratios))
        if 0.9 < factor < 1.1 or rms(_centred(tool[:, :3, 3])) < LEAST_WAY:
            return None
        near = min(ROUND_SCALES, key=lambda s: abs(np.log(factor / s)))
        factor = near if abs(np.log(factor / near)) < 0.7 else factor
        return _points(lambda m: _times(m, factor))(p)

    return change


def _centred(x: Array) -> Array:
    return np.asarray((x - x.mean(axis=0)).ravel())


def _times(measure: ToolReadings, factor: float) -> ToolReadings:
    if not isinstance(measure, (PointMeasure, PoseMeasure)):
        return measure
    values = measure.values.copy()
    values[:, :3] *= factor
    return replace(measure, values=values)


def _rotated(turned: Callable[[Array], Array]) -> Callable[[ToolReadings], ToolReadings]:
    def change(measure: ToolReadings) -> ToolReadings:
        if not isinstance(measure, PoseMeasure):
            return measure
        R = turned(measure.values[:, 3:].reshape(-1, 3, 3))
        return replace(measure, values=np.concatenate([measure.values[:, :3], R.reshape(-1, 9)], axis=1))

    return change


def _as_quaternion(order: Sequence[int]) -> Callable[[Array], Array]:
    def turned(R: Array) -> Array:
        from scipy.spatial.transform import Rotation

        return np.asarray(Rotation.from_quat(Rotation.from_matrix(R).as_quat()[:, list(order)]).as_matrix())

    return turned


def _vector_as_angles(R: Array) -> Array:
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_euler("xyz", Rotation.from_matrix(R).as_rotvec()).as_matrix())


def _angles_as_vector(R: Array) -> Array:
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_rotvec(Rotation.from_matrix(R).as_euler("xyz")).as_matrix())


ROTATION_READINGS: dict[str, Callable[[Array], Array]] = {
    "given from the tool to the measurement frame": lambda R: np.swapaxes(R, 1, 2),
    "quaternions with w first, read as w last": _as_quaternion((1, 2, 3, 0)),
    "quaternions with w last, read as w first": _as_quaternion((3, 0, 1, 2)),
    "roll, pitch, yaw, read as a rotation vector": _vector_as_angles,
    "a rotation vector, read as roll, pitch, yaw": _angles_as_vector,
}

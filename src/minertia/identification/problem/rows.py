"""Rows of the linear problem: regressor columns and efforts computed from blocks of motion, piece by piece.

Equations without accelerations are those of the momentum of each joint, or of the total energy.  Their time
derivative and the parallel filter are linear and commute; so the derivative is taken before the filter, and
the columns of the links need no accelerations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import numpy as np

from minertia.identification.logs.recording import Passes
from minertia.identification.problem.linear import LinearModel, Presliding, combined_columns
from minertia.identification.problem.path import presliding_of
from minertia.identification.problem.regressor import Places, momentum_columns, power_columns
from minertia.identification.signals.filtering import REACH, Motion, decimated, half_length, rate_of_change
from minertia.io.arrays import Array
from minertia.io.errors import MinertiaError, ShapeError
from minertia.robot.robot import Robot

State = tuple[Array, Array, Array]
TORQUE, POWER = "torque", "power"


def equations_of(block: Motion) -> str:
    """Type of the equations of a block: those of its filter, or effort equations if it has no filter."""
    return TORQUE if block.filter is None else block.filter.equations


def in_torques(block: Motion) -> Motion:
    """Block with effort equations, which are used for evaluation."""
    if block.filter is None or block.filter.equations == TORQUE:
        return block
    return replace(block, filter=replace(block.filter, equations=TORQUE))


def row_count(model: LinearModel, block: Motion) -> int:
    """Number of equations per sample."""
    return 1 if equations_of(block) == POWER else len(model.rows)


def other_columns(
    model: LinearModel,
    motion: Motion,
    state: State,
    load: Array | None,
    temperature: Array | None,
    presliding: Presliding,
    samples: int | None = None,
) -> Array:
    """Regressor Y (N, rows, unknowns) of momentum or power equations.

    load, temperature, presliding, samples: as for `LinearModel.columns`.
    """
    q, qd, _ = state
    is_power = equations_of(motion) == POWER

    def links(names: list[str]) -> Array:
        stored, rest = (power_columns if is_power else momentum_columns)(model.robot, names, q, qd, samples)
        Y = np.asarray(rate_of_change(np.asarray(stored), motion.rate_hz) + rest)
        return Y[:, None, :] if is_power else Y[:, list(model.rows)]

    if not is_power:
        return combined_columns(model, state, load, temperature, links, presliding=presliding)
    return combined_columns(model, state, load, temperature, links, weights=qd, presliding=presliding)


def other_efforts(model: LinearModel, motion: Motion, state: State, tau: Array) -> Array:
    """Left-hand side of the equations (N, rows): efforts, or their power."""
    if equations_of(motion) != POWER:
        return tau[:, list(model.rows)]
    if len(model.rows) < model.robot.n_velocity:
        raise MinertiaError(
            "power equations need the efforts of all joints; use momentum or torque equations for some of the joints"
        )
    return np.asarray(np.sum(state[1] * tau, axis=1, keepdims=True))


# --------------------------------------------------------------------------------------------------------------- rows


PIECE = 4096  # samples whose columns are in memory at a time
STILL = 1e-3  # rad or m: a joint that moves less within a block stands still


class MotionLike(Protocol):
    """Object that can be used as a `Motion`: joint-side arrays of equal length, samples along the first axis."""

    @property
    def t(self) -> Array: ...  # noqa: D102
    @property
    def q(self) -> Array: ...  # noqa: D102
    @property
    def qd(self) -> Array: ...  # noqa: D102
    @property
    def qdd(self) -> Array: ...  # noqa: D102
    @property
    def tau(self) -> Array: ...  # noqa: D102


# the motion of one log: whole, or in blocks that can be read again
LogMotion: TypeAlias = MotionLike | Iterable[MotionLike]
Change: TypeAlias = Callable[[Motion], Motion]
Load: TypeAlias = Callable[[Array, Array, Array], Array]  # q, qd, qdd -> rigid-body torques


def blocks_of(log: LogMotion) -> Iterator[Motion]:
    """Iterate over the blocks of a log's motion."""
    given: Iterable[Any] = [log] if hasattr(log, "tau") else log
    return map(Motion.of, given)


def judged_motion(log: LogMotion) -> LogMotion:
    """Motion of a log with effort equations, whichever equations are fitted."""
    if hasattr(log, "tau"):
        return in_torques(Motion.of(log))
    blocks = Passes(lambda: map(in_torques, blocks_of(log)))
    return list(blocks) if isinstance(log, Sequence) else blocks


def states(log: LogMotion) -> int | None:
    """Number of samples at which a pass over a log evaluates regressor columns; None if not known in advance."""
    if hasattr(log, "tau"):
        return len(log.tau)
    if isinstance(log, Sequence):
        return sum(len(block.t) for block in log)
    return getattr(log, "states", None)


@dataclass(frozen=True)
class RowMaker:
    """Computes the rows of the linear problem for one log.

    load: rigid-body torques, for load-dependent friction.  title: name of the log in messages.  samples: number
    of samples in a pass over the log, see `states`.
    """

    model: LinearModel
    load: Load | None = None
    title: str = "the motion"
    samples: int | None = None

    def rows(self, block: Motion) -> Iterator[tuple[Array, Array]]:
        """Y and tau of a block, piece by piece; both sides through the parallel filter of the motion."""
        for piece, state, tau in self._states(block):
            if _is_plain(piece):
                yield self._dense(piece, state, tau)
            else:
                yield _filtered(piece, *self._entries(piece, state, tau))

    def residuals(self, block: Motion, beta: Array) -> Iterator[Array]:
        """Residuals tau - Y beta of a block, filtered and decimated; faster than computing all rows."""
        for piece, given, effort in self._states(block):
            yield decimated(piece, self._rest(piece, given, effort, beta))[0]

    def _states(self, block: Motion) -> Iterator[tuple[Motion, _PieceInputs, Array]]:
        """Pieces of a block with what their columns are computed from, and with their efforts."""
        model = self.model
        q, qd, qdd, tau = _checked(model, block, self.title)
        warmth, slid = temperatures(model, block, self.title), presliding_of(model, block)
        for j in still_joints(model, q):  # what a still joint seems to move is noise
            first, offset = 6 * model.robot.is_floating + j, 7 * model.robot.is_floating + j
            qd[:, first] = qdd[:, first] = 0.0
            q[:, offset] = q[:, offset].mean()
            slid |= {
                t.name: np.zeros(len(q)) for t in model.choice.remembering if model.robot.coordinate_of(t.joint) == j
            }
        samples = len(q) if self.samples is None else self.samples
        absent = absent_columns(model, tau)
        for piece, own, (x, v, a, effort) in _cut(block, (q, qd, qdd, tau)):
            asked = None if self.load is None else self.load(x, v, a)
            warm = None if warmth is None else warmth[own]
            path = {name: values[own] for name, values in slid.items()}
            yield piece, _PieceInputs((x, v, a), asked, warm, path, samples, absent), effort

    def _dense(self, piece: Motion, given: _PieceInputs, effort: Array) -> tuple[Array, Array]:
        """Y (N, rows, unknowns) and tau (N, rows) of a piece, not filtered."""
        model, state, load, warm, path = self.model, given.state, given.load, given.temperature, given.presliding
        if equations_of(piece) != TORQUE:
            Y = other_columns(model, piece, state, load, warm, path, given.samples)
            return Y, other_efforts(model, piece, state, effort)
        Y = model.columns(*state, load, temperature=warm, presliding=path, samples=given.samples)
        Y = projected(model, piece, Y)
        Y[:, :, given.absent] = 0.0
        return Y, effort[:, list(model.rows)]

    def _rest(self, piece: Motion, given: _PieceInputs, effort: Array, beta: Array) -> Array:
        """Residuals tau - Y beta (N, rows) of a piece, not filtered."""
        if not self._has_entries(piece, given):
            Y, tau = self._dense(piece, given, effort)
            return np.asarray(tau - Y @ beta)
        warm, path = given.temperature, given.presliding
        found = self.model.efforts(
            beta, given.state, given.load, temperature=warm, presliding=path, samples=given.samples
        )
        return np.asarray(effort[:, list(self.model.rows)] - found)

    def _has_entries(self, piece: Motion, given: _PieceInputs) -> bool:
        """Whether the rows of a piece are those of `LinearModel.entries`: effort equations, not projected."""
        return equations_of(piece) == TORQUE and piece.projection is None and not given.absent

    def _entries(
        self, piece: Motion, given: _PieceInputs, effort: Array
    ) -> tuple[Places, tuple[Array, ...], tuple[int, ...], Array]:
        """Entries of Y that may differ from zero: places in a flat row, values and that row's shape; and tau."""
        model, found = self.model, None
        if self._has_entries(piece, given):
            warm, path = given.temperature, given.presliding
            found = model.entries(given.state, given.load, temperature=warm, presliding=path, samples=given.samples)
        if found is not None:
            return *found, (len(model.rows), model.count), effort[:, list(model.rows)]
        Y, tau = self._dense(piece, given, effort)
        flat = Y.reshape(len(Y), -1)
        shown = np.flatnonzero(flat.any(axis=0))
        return shown, (np.ascontiguousarray(flat[:, shown]),), Y.shape[1:], tau


@dataclass(frozen=True)
class _PieceInputs:
    """What the columns of a piece are computed from: see `LinearModel.columns`; absent: columns that are zero."""

    state: State
    load: Array | None
    temperature: Array | None
    presliding: Presliding
    samples: int
    absent: list[int]


def _filtered(
    piece: Motion, places: Places, values: tuple[Array, ...], shape: tuple[int, ...], tau: Array
) -> tuple[Array, Array]:
    """Y and tau through the parallel filter, from the entries of Y that may differ from zero."""
    *thin, efforts = decimated(piece, *values, tau)
    Y = np.zeros((len(efforts), int(np.prod(shape))))
    Y[:, places] = np.concatenate(thin, axis=1)
    return Y.reshape(-1, *shape), efforts


def projected(model: LinearModel, block: MotionLike, Y: Array) -> Array:
    """Columns Y (N, rows, ...) with the effect of unmeasured contact forces projected out, like the efforts."""
    P = getattr(block, "projection", None)
    if P is None:
        return Y
    if len(model.rows) != P.shape[1]:
        raise MinertiaError("a motion whose contact forces are projected out needs the efforts of all coordinates")
    return np.asarray((P @ Y.reshape(*Y.shape[:2], -1)).reshape(Y.shape))


def absent_columns(model: LinearModel, tau: Array) -> list[int]:
    """Unknowns of the loads on sensors that a log does not have.

    A campaign has one sensor for each load; the efforts of those with other loads are exactly zero.
    """
    robot, gone = model.robot, []
    for s in range(len(robot.sensors) if len(robot.sensors) > 1 else 0):
        first = robot.n_velocity + 6 * s
        if not np.any(tau[:, first : first + 6]):
            gone.append(robot.n_joints + s + 1)
    return [k for k in range(model.count) if model.link_of(k) in gone] if gone else []


def temperatures(model: LinearModel, block: MotionLike, title: str = "the motion") -> Array | None:
    """Temperature [degC] of every coordinate (N, n), None where no effect of the model depends on it."""
    if not model.choice.needs("temperature"):
        return None
    found = getattr(block, "channels", {}).get("temperature")
    if found is None:
        raise MinertiaError(
            f"{title}: temperature-dependent friction needs a temperature of every joint; name its columns "
            '(temperature = "..." in [columns]), or remove the effect'
        )
    array = np.asarray(found, float)
    if array.shape != (len(block.t), model.robot.n) or not np.isfinite(array).all():
        raise ShapeError(
            f"{title}: temperature has shape {array.shape}; '{model.robot.name}' needs finite numbers in the shape "
            f"({len(block.t)}, {model.robot.n}), with one row per sample"
        )
    return array


def _is_plain(motion: Motion) -> bool:
    """Whether the motion needs no filtering."""
    return _half(motion) == 0 and motion.keep == (0, len(motion), 1)


def _half(motion: Motion) -> int:
    """Samples that the parallel filter needs on each side."""
    return 0 if motion.filter is None else half_length(motion.filter, motion.rate_hz)


def _cut(block: Motion, state: tuple[Array, ...]) -> Iterator[tuple[Motion, slice, tuple[Array, ...]]]:
    """Pieces of a block whose columns fit in memory, with the neighbouring samples that the filter needs."""
    n = len(state[0])
    first, stop, step = block.keep
    halo = _half(block) + (0 if equations_of(block) == TORQUE else REACH)
    size = max(max(PIECE, 8 * halo) // step, 1) * step
    for start in range(first, stop, size):
        end = min(start + size, stop)
        a, b = max(start - halo, 0), min(end + halo, n)
        arrays = tuple(x[a:b] for x in state)
        q, qd, qdd, tau = arrays
        P = None if block.projection is None else block.projection[a:b]
        keep = (start - a, end - a, step)
        own = replace(block, t=block.t[a:b], q=q, qd=qd, qdd=qdd, tau=tau, keep=keep, projection=P)
        yield own, slice(a, b), arrays


def still_joints(model: LinearModel, q: Array) -> list[int]:
    """Coordinates that do not move."""
    own = q[:, 7 * model.robot.is_floating :]
    return [j for j in range(model.robot.n) if np.ptp(own[:, j]) < STILL]


def _checked(model: LinearModel, block: Motion, title: str) -> tuple[Array, Array, Array, Array]:
    robot, samples = model.robot, len(block.t)
    result = []
    for name, width in (
        ("q", robot.n_position),
        ("qd", robot.n_velocity),
        ("qdd", robot.n_velocity),
        ("tau", robot.n_efforts),
    ):
        array = np.array(getattr(block, name), dtype=float)
        if array.shape != (samples, width):
            raise ShapeError(
                f"{title}: {name} has shape {array.shape}; '{robot.name}' needs ({samples}, {width}), with one row "
                "per sample"
            )
        bad = np.argwhere(~np.isfinite(array))
        if len(bad):
            raise MinertiaError(f"{title}: {name} of joint {bad[0][1] + 1} is not a number at sample {bad[0][0] + 1}")
        result.append(array)
    return result[0], result[1], result[2], result[3]


def reach_rows(robot: Robot, q: Array, qd: Array) -> Array:
    """Lowest and highest position and highest speed of each coordinate, (3, n); no speed of those that do not move."""
    own, rates = q[:, 7 * robot.is_floating :], qd[:, 6 * robot.is_floating :]
    low, high = own.min(axis=0), own.max(axis=0)
    return np.stack([low, high, np.where(high - low < STILL, 0.0, np.abs(rates).max(axis=0))])


def motion_reach(robot: Robot, logs: Sequence[LogMotion]) -> Array:
    """Lowest and highest position and highest speed (3, n) of each coordinate over all logs."""
    every = np.array([reach_rows(robot, block.q, block.qd) for log in logs for block in blocks_of(log)])
    if not len(every):
        raise MinertiaError("no sample of the logs remains after the filter; use longer logs")
    return np.stack([every[:, 0].min(axis=0), every[:, 1].max(axis=0), every[:, 2].max(axis=0)])

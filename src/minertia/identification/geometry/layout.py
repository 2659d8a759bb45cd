"""Unknowns of a calibration: corrections of frames and of joints, and unknowns of the measurements."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from minertia.algebra.linear import Linear
from minertia.algebra.polynomial import Poly
from minertia.algebra.scalar import Scalar, is_zero
from minertia.algebra.vec3 import apply, transpose
from minertia.identification.geometry.chain import (
    SYMBOLS,
    Array,
    Chain,
    MovedChain,
    exponential,
    logarithm,
    moved,
    right_jacobian,
)
from minertia.identification.geometry.hidden import clean, hidden_relations
from minertia.identification.geometry.kept import KeptColumns, kept_columns
from minertia.identification.geometry.measures import MeasureRows, ToolReadings

BLOCK = 1000  # readings at a time
CAMERA_PLACE = tuple(Poly({((name, 1),): 1}) for name in ("xc", "yc", "zc"))  # m: of frame 1 in the camera


@dataclass(frozen=True)
class JointColumn:
    """Correction of a joint position: its value times `shape` (N,) is added to joint `joint` of the chain.

    words: description of the correction.  size: root mean square of the shape before it was scaled to 1.
    """

    name: str
    group: str
    joint: int
    shape: Array
    words: str
    size: float = 1.0


@dataclass(frozen=True)
class GeometryState:
    """Values of all unknowns of a calibration.

    placements (n + 1, 4, 4).  joints (E,): joint corrections.  own: unknowns of each measurement.
    """

    placements: Array
    joints: Array
    own: tuple[Array, ...]


@dataclass(frozen=True)
class Postures:
    """Measured postures: robot coordinates (N, robot.n) [rad, m] and the readings of each measurement.

    commanded: the coordinates that the robot was sent to, where the file has both.
    """

    q: Array
    measures: tuple[ToolReadings, ...]
    commanded: Array | None = None

    @property
    def count(self) -> int:
        """Number of postures."""
        return len(self.q)

    def take(self, chosen: Sequence[int] | NDArray[np.intp]) -> Postures:
        """Subset of the postures."""
        chosen = np.asarray(chosen, np.intp)
        number_of = np.full(self.count, -1, np.intp)
        number_of[chosen] = np.arange(len(chosen))
        commanded = None if self.commanded is None else self.commanded[chosen]
        return Postures(self.q[chosen], tuple(m.take(chosen, number_of) for m in self.measures), commanded)


class GeometryLayout:
    """Columns of a calibration problem for given postures.

    columns: names of the unknowns.  groups: group of each: base, tool, zeros, lengths, angles, or a group of
    joint corrections.  Only identifiable columns (`kept`) are included; columns with the same effect as
    others are omitted.
    """

    def __init__(self, chain: Chain, postures: Postures, joint_columns: Sequence[JointColumn] = ()) -> None:
        self.chain, self.postures, self.joint_columns = chain, postures, tuple(joint_columns)
        self.positions = chain.positions(postures.q)
        self.kept = kept_of(chain, postures.measures)
        self.frame_columns = np.array([chain.columns.index(name) for name in self.kept.columns], np.intp)
        self.shapes = np.zeros((postures.count, len(self.joint_columns)))
        for e, column in enumerate(self.joint_columns):
            self.shapes[:, e] = column.shape
        self.corrected = np.array([column.joint for column in self.joint_columns], np.intp)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of all unknowns."""
        own = (name for measure in self.postures.measures for name in measure.own)
        return (*self.kept.columns, *(column.name for column in self.joint_columns), *own)

    @cached_property
    def groups(self) -> NDArray[np.str_]:
        """Group of each unknown."""
        zeros = {self.chain.columns[c] for c in self.chain.zeros}
        own = sum(len(measure.own) for measure in self.postures.measures)
        frames = [_group(name, zeros, self.chain.n) for name in self.kept.columns]
        return np.array([*frames, *(column.group for column in self.joint_columns), *["tool"] * own])

    @cached_property
    def units(self) -> dict[str, str]:
        """Unit of each correction: m for displacements and for positions of prismatic joints, else rad."""
        frames = {name: "m" if name.startswith("D") else "rad" for name in self.kept.columns}
        turns = self.chain.is_hinge
        return frames | {column.name: "rad" if turns[column.joint] else "m" for column in self.joint_columns}

    def start(self) -> GeometryState:
        """Initial state: the values of the robot file; the unknowns of the measurements are zero."""
        own = tuple(np.zeros(len(measure.own)) for measure in self.postures.measures)
        return GeometryState(self.chain.nominal.copy(), np.zeros(len(self.joint_columns)), own)

    def moved(self, state: GeometryState) -> MovedChain:
        """Forward kinematics of all frames at all postures."""
        return moved(state.placements, self.chain.is_hinge, self.moved_positions(state))

    def moved_positions(self, state: GeometryState) -> Array:
        """Positions of the chain's joints (N, n) with their corrections [rad, m]."""
        of_joint = self.corrected[:, None] == np.arange(self.chain.n)
        return np.asarray(self.positions + (self.shapes * state.joints) @ of_joint)

    def values(self, state: GeometryState) -> Array:
        """Accumulated corrections (frames and joints) and measurement unknowns, in the order of the columns."""
        xi = logarithm(self.chain.inverse @ state.placements).ravel()
        return np.concatenate([xi[self.frame_columns], state.joints, *state.own])

    def stepped(self, state: GeometryState, step: Array) -> GeometryState:
        """State after a step of all unknowns."""
        frames, joints = len(self.frame_columns), len(self.joint_columns)
        change = np.zeros(6 * (self.chain.n + 1))
        change[self.frame_columns] = step[:frames]
        placements = self._placed(state.placements, change.reshape(-1, 6))
        own, at = [], frames + joints
        for values in state.own:
            own.append(values + step[at : at + len(values)])
            at += len(values)
        return GeometryState(placements, state.joints + step[frames : frames + joints], tuple(own))

    def anchored(self, state: GeometryState) -> GeometryState:
        """State shifted so that the mean target is at the file's tip along directions that no joint rotates.

        If all revolute axes are parallel, a common shift of base and tool along them is unidentifiable.  The
        distance between axes that are not quite parallel depends on this height, so that a definite height must
        be chosen.
        """
        along, back = self.chain.kept_directions
        measures = self.postures.measures
        if not along.size or not any(m.has_base for m in measures):
            return state
        placements = state.placements.copy()
        tool = self.chain.inverse[-1] @ placements[-1]
        at = [own[:3] if m.has_point else np.zeros(3) for m, own in zip(measures, state.own, strict=True)]
        height = along.T @ (np.mean(at, axis=0) @ tool[:3, :3].T + tool[:3, 3])
        placements[0, :3, 3] += placements[0, :3, :3] @ (back @ height)
        uses_tool = any(not m.has_point for m in measures)
        shift = along @ height
        if uses_tool:
            tool[:3, 3] -= shift
            placements[-1] = self.chain.nominal[-1] @ tool
            return replace(state, placements=placements)
        own = tuple(np.concatenate([values[:3] - shift, values[3:]]) for values in state.own)
        return replace(state, placements=placements, own=own)

    def _placed(self, placements: Array, change: Array) -> Array:
        """Placements after a change (n + 1, 6) of their corrections.

        Corrections between joints add up, so that those without a column stay zero; base and tool may differ much
        from the file, and their changes are composed.
        """
        inner = slice(1, self.chain.n)
        found = placements @ exponential(change)
        xi = logarithm(self.chain.inverse[inner] @ placements[inner]) + change[inner]
        found[inner] = self.chain.nominal[inner] @ exponential(xi)
        return found

    def residuals(self, state: GeometryState) -> Array:
        """Measured less predicted (M,), in the order of the rows of `linearised`."""
        parts = self._parts(self.moved(state), state)
        return np.asarray(np.concatenate([part.residual for part in parts])[_by_posture(parts)])

    def linearised(self, state: GeometryState) -> LinearisedReadings:
        """Linearise all readings at a state."""
        at = self.moved(state)
        plain = at.jacobian()
        Jq = plain[:, :, list(self.chain.zeros)]
        xi = logarithm(self.chain.inverse @ state.placements)
        xi[[0, -1]] = 0
        by_frames = plain @ block_diag(*right_jacobian(xi))[:, self.frame_columns]
        tool_columns = np.concatenate([by_frames, Jq[:, :, self.corrected] * self.shapes[:, None]], axis=2)
        return _stacked(self._parts(at, state), tool_columns, Jq, [len(own) for own in state.own])

    def _parts(self, at: MovedChain, state: GeometryState) -> list[MeasureRows]:
        return [m.rows(at.tool, own) for m, own in zip(self.postures.measures, state.own, strict=True)]


@dataclass(frozen=True)
class LinearisedReadings:
    """Linearised rows of all measurements: residual (M,), and derivatives of the prediction.

    A (M, columns): with respect to the unknowns; by_joints (M, n): with respect to the joint positions. Rows are
    sorted by posture; `posture` (M,) and `unit` (M,) as in `MeasureRows`, `measure` (M,): measurement index.
    """

    residual: Array
    A: Array
    by_joints: Array
    posture: NDArray[np.intp]
    unit: NDArray[np.intp]
    measure: NDArray[np.intp]


def _by_posture(parts: Sequence[MeasureRows]) -> NDArray[np.intp]:
    """Order in which the rows of all measurements are sorted by posture."""
    return np.argsort(np.concatenate([part.posture for part in parts]), kind="stable")


def _stacked(parts: Sequence[MeasureRows], columns: Array, Jq: Array, widths: Sequence[int]) -> LinearisedReadings:
    order, C = _by_posture(parts), columns.shape[2]
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    A, by_joints = np.zeros((len(order), C + sum(widths))), np.empty((len(order), Jq.shape[2]))
    first, at = 0, C
    for part, width in zip(parts, widths, strict=True):
        rows = place[first : first + len(part.residual)]
        A[rows, :C] = _times(part.by_tool, columns, part.posture)
        own = _times(part.by_tool, Jq, part.posture)
        if part.other is not None and part.by_other is not None:
            A[rows, :C] += _times(part.by_other, columns, part.other)
            own = np.hypot(own, _times(part.by_other, Jq, part.other))
        by_joints[rows] = own
        A[rows, at : at + width] = part.by_own
        first, at = first + len(rows), at + width
    number = np.repeat(np.arange(len(parts)), [len(part.residual) for part in parts])
    plain = [np.concatenate(entries)[order] for entries in zip(*(part[:3] for part in parts), strict=True)]
    return LinearisedReadings(plain[0], A, by_joints, plain[1], plain[2], number[order])


def _times(by_tool: Array, columns: Array, posture: NDArray[np.intp]) -> Array:
    """Rows (M, C): derivatives with respect to tool twists (M, 6) times twists (N, 6, C), in blocks.

    Blocks limit memory.
    """
    run = _run(posture)
    grouped, of = by_tool.reshape(-1, run, 6), posture[::run]
    out = np.empty((len(of), run, columns.shape[2]))
    for first in range(0, len(of), BLOCK):
        part = slice(first, first + BLOCK)
        np.matmul(grouped[part], columns[of[part]], out=out[part])
    return out.reshape(len(by_tool), -1)


def _run(posture: NDArray[np.intp]) -> int:
    """Number of consecutive rows that belong to one posture, if constant: 6, 3 or 2; else 1."""
    for count in (6, 3, 2):
        if len(posture) % count == 0 and (posture.reshape(-1, count) == posture[::count, None]).all():
            return count
    return 1


def kept_of(chain: Chain, measures: Sequence[ToolReadings]) -> KeptColumns:
    """Frame columns that the rules retain, for measurements with unknown points, fixed positions and base."""
    uses_tool = any(not measure.has_point for measure in measures)
    has_base = any(measure.has_base for measure in measures)
    n = chain.n
    without = [] if uses_tool else [f"{s}{n + 1}" for s in SYMBOLS]
    without += [] if has_base else [f"{s}1" for s in SYMBOLS]
    symmetries = (measures[0].tool, measures[0].world) if len(measures) == 1 and uses_tool else ()
    is_scale_lost = all(m.loses_scale and not _is_scaled(m) for m in measures) and all(chain.is_hinge)
    key = (tuple(without), symmetries, is_scale_lost)
    if key not in chain.kept_sets:
        relations = hidden_relations(chain, *symmetries)
        relations += [scale_relation(chain, has_base)] if is_scale_lost else []
        chain.kept_sets[key] = kept_columns(chain, relations, without)
    found: KeptColumns = chain.kept_sets[key]
    return found


def _is_scaled(measure: ToolReadings) -> bool:
    return bool(len(getattr(measure, "apart", ())))


def scale_relation(chain: Chain, has_base: bool) -> Linear:
    """Relation that scales all lengths by one factor, which angle measurements alone cannot identify.

    has_base: whether the lengths include the position of frame 1 in the camera, which no file contains: its
    coordinates in the axes of frame 1 are the symbols `CAMERA_PLACE`.
    """
    terms: dict[Hashable, Scalar] = {}
    for j, (R, p) in enumerate(chain.placements):
        own = CAMERA_PLACE if has_base and j == 0 else apply(transpose(R), p)
        for symbol, value in zip(SYMBOLS, own, strict=False):
            value = clean(value)
            if not is_zero(value):
                terms[f"{symbol}{j + 1}"] = value
    return Linear(terms)


def _group(name: str, zeros: set[str], n: int) -> str:
    frame = int(name[2:])
    if frame in (1, n + 1):
        return "base" if frame == 1 else "tool"
    if name in zeros:
        return "zeros"
    return "lengths" if name.startswith("D") else "angles"

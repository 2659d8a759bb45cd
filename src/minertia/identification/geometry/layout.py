"""Unknowns of a calibration: corrections of frames and of joints, and unknowns of the measurements."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from minertia.algebra.linear import Linear
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

BLOCK = 5000  # rows at a time


@dataclass(frozen=True)
class JointColumn:
    """Correction of a joint position: its value times `shape` (N,) is added to joint `joint` of the chain.

    size: root mean square of the shape before it was scaled to 1.
    """

    name: str
    group: str
    joint: int
    shape: Array
    words: str
    size: float = 1.0


@dataclass(frozen=True)
class GeometryState:
    """Values of all unknowns: placements (n + 1, 4, 4), joint corrections (E,), own unknowns of each measurement."""

    placements: Array
    joints: Array
    own: tuple[Array, ...]


@dataclass(frozen=True)
class Postures:
    """Measured postures: robot coordinates (N, robot.n) [rad, m] and the readings of each measurement."""

    q: Array
    measures: tuple[ToolReadings, ...]

    @property
    def count(self) -> int:
        """Number of postures."""
        return len(self.q)

    def take(self, chosen: Sequence[int] | NDArray[np.intp]) -> Postures:
        """Subset of the postures."""
        chosen = np.asarray(chosen, np.intp)
        number_of = np.full(self.count, -1, np.intp)
        number_of[chosen] = np.arange(len(chosen))
        return Postures(self.q[chosen], tuple(m.take(chosen, number_of) for m in self.measures))


class GeometryLayout:
    """Columns of a calibration problem for given postures.

    columns: names; groups: of each, one of base, tool, zeros, lengths, angles, and those of joint corrections.  Only
    identifiable columns (`kept`) are included; columns with the same effect as others are omitted.
    """

    def __init__(self, chain: Chain, postures: Postures, joint_columns: Sequence[JointColumn] = ()) -> None:
        self.chain, self.postures, self.joint_columns = chain, postures, tuple(joint_columns)
        self.positions = chain.positions(postures.q)
        self.kept = kept_of(chain, postures.measures)
        self.frame_columns = np.array([chain.columns.index(name) for name in self.kept.columns], np.intp)
        self.shapes = np.zeros((postures.count, chain.n, len(self.joint_columns)))
        for e, column in enumerate(self.joint_columns):
            self.shapes[:, column.joint, e] = column.shape

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

    def start(self) -> GeometryState:
        """Initial state: the robot file's values, with the measurements' own unknowns zero."""
        own = tuple(np.zeros(len(measure.own)) for measure in self.postures.measures)
        return GeometryState(self.chain.nominal.copy(), np.zeros(len(self.joint_columns)), own)

    def moved(self, state: GeometryState) -> MovedChain:
        """Forward kinematics of all frames at all postures."""
        return moved(state.placements, self.chain.is_hinge, self.moved_positions(state))

    def moved_positions(self, state: GeometryState) -> Array:
        """Positions of the chain's joints (N, n) with their corrections [rad, m]."""
        return np.asarray(self.positions + self.shapes @ state.joints)

    def values(self, state: GeometryState) -> Array:
        """Accumulated corrections (frames and joints) and own unknowns, in the order of the columns."""
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
        """The state with its targets, on average, where the file has the tip, in directions that no joint turns.

        Where all hinges are parallel, base and tool can shift along them together and nothing is seen of it.  The
        distance between axes that are not quite parallel depends on that height, so that it must be a stated one.
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

        Corrections between joints add up, so that those without a column stay zero; base and tool may be far from the
        file, and their changes are composed.
        """
        inner = slice(1, self.chain.n)
        found = placements @ exponential(change)
        xi = logarithm(self.chain.inverse[inner] @ placements[inner]) + change[inner]
        found[inner] = self.chain.nominal[inner] @ exponential(xi)
        return found

    def linearised(self, state: GeometryState) -> LinearisedReadings:
        """Linearise all readings at a state."""
        at = self.moved(state)
        plain = at.jacobian()
        Jq = plain[:, :, list(self.chain.zeros)]
        xi = logarithm(self.chain.inverse @ state.placements)
        xi[[0, -1]] = 0
        N = len(plain)
        J = (plain.reshape(N, 6, -1, 6).swapaxes(1, 2) @ right_jacobian(xi)).swapaxes(1, 2).reshape(N, 6, -1)
        tool_columns = np.concatenate([J[:, :, self.frame_columns], Jq @ self.shapes], axis=2)
        parts = [m.rows(at.tool, own) for m, own in zip(self.postures.measures, state.own, strict=True)]
        return _stacked(parts, tool_columns, Jq, [len(own) for own in state.own])


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


def _stacked(parts: Sequence[MeasureRows], columns: Array, Jq: Array, widths: Sequence[int]) -> LinearisedReadings:
    total, C, at = sum(widths), columns.shape[2], 0
    blocks = []
    for k, (part, width) in enumerate(zip(parts, widths, strict=True)):
        A = np.zeros((len(part.residual), C + total))
        A[:, :C] = _times(part.by_tool, columns, part.posture)
        by_joints = _times(part.by_tool, Jq, part.posture)
        if part.other is not None and part.by_other is not None:
            A[:, :C] += _times(part.by_other, columns, part.other)
            by_joints = np.hypot(by_joints, _times(part.by_other, Jq, part.other))
        A[:, C + at : C + at + width] = part.by_own
        at += width
        blocks.append((part.residual, A, by_joints, part.posture, part.unit, np.full(len(part.residual), k)))
    whole = [np.concatenate(entries) for entries in zip(*blocks, strict=True)]
    order = np.argsort(whole[3], kind="stable")
    return LinearisedReadings(*(entries[order] for entries in whole))


def _times(by_tool: Array, columns: Array, posture: NDArray[np.intp]) -> Array:
    """Product of derivatives with respect to twists (M, 6) and twists (N, 6, C), in blocks to limit memory."""
    out = np.empty((len(by_tool), columns.shape[2]))
    for first in range(0, len(by_tool), BLOCK):
        part = slice(first, first + BLOCK)
        out[part] = (by_tool[part, None, :] @ columns[posture[part]])[:, 0]
    return out


def kept_of(chain: Chain, measures: Sequence[ToolReadings]) -> KeptColumns:
    """Frame columns that the rules retain, for measurements with unknown points, positions and base."""
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
        relations += [scale_relation(chain)] if is_scale_lost else []
        chain.kept_sets[key] = kept_columns(chain, relations, without)
    found: KeptColumns = chain.kept_sets[key]
    return found


def _is_scaled(measure: ToolReadings) -> bool:
    return bool(len(getattr(measure, "apart", ())))


def scale_relation(chain: Chain) -> Linear:
    """Relation that scales all lengths by one factor, which angle measurements alone cannot identify."""
    terms: dict[Hashable, Scalar] = {}
    for j, (R, p) in enumerate(chain.placements):
        for symbol, value in zip(SYMBOLS, apply(transpose(R), p), strict=False):
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

"""Closed kinematic chains in excitation trajectories: distance from singular postures, passive joint limits.

Near a singular posture passive joints move without bound, and beyond it lies another branch (theory, eqs. 36 to 44).
The transmission angle measures the distance: between the two links of a dyad, or two sides of a parallelogram.  For
loops without a closed form the singular values of their equations do (`conditioning`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minertia.algebra.expr import Expr
from minertia.algebra.scalar import Scalar, add, cos, mul, sin
from minertia.algebra.vec3 import HERE, Pose, Vec, compose, cross, dot, scale, vadd, vsub
from minertia.dynamics.loops.closing import Closing, closing_of
from minertia.dynamics.loops.scalar import LoopsOnScalars
from minertia.excitation.conditioning import ConditioningUse, conditionings
from minertia.excitation.model import StateGraph
from minertia.excitation.options import USUAL
from minertia.io.arrays import Array
from minertia.io.errors import Infeasible
from minertia.robot.joint import Cut
from minertia.robot.loops.closure import cut_chains, loop_joints
from minertia.robot.robot import Robot

Flags = NDArray[np.bool_]
APART = 1e-6  # part of a loop's size: hinges nearer than this, seen along their axes, are one
STATE = ("q", "qd")


@dataclass(frozen=True)
class LoopUse:
    """Range of a loop's transmission angle [deg] in a trajectory, between 0 and 180 on its branch."""

    name: str
    smallest: float
    largest: float
    asked: float

    @property
    def room(self) -> float:
        """Angle to the nearest singular posture [deg]."""
        return min(self.smallest, 180.0 - self.largest)

    def __str__(self) -> str:
        return (
            f"Loop '{self.name}': transmission angle from {self.smallest:.3g} to {self.largest:.3g} deg, at least "
            f"{self.room:.3g} deg from singular postures ({self.asked:g} required)."
        )


class _Corner(NamedTuple):
    """Three revolute joints of a loop that two links connect, and their common axis.

    places: frames of the joints on the chains from the loop's carrier.
    """

    cut: Cut
    places: tuple[tuple[tuple[int, ...], Pose], ...]  # (joints up to the frame, pose in the last one's frame)
    axis: Vec
    scale: float  # 1 / product of the two lengths, with the sign of the seed's branch


class _Passive(NamedTuple):
    """Limit of a passive joint: of its position about the middle of its range, or of its velocity.

    by_cosine: whether the position is known only by its cosine and sine.
    """

    name: str
    what: str
    middle: float
    half: float
    by_cosine: bool  # the position is known by cosine and sine alone


class LoopModel:
    """Margins of a robot's loops to singular postures, and of their passive joints to limits.

    angle [deg]: required distance of transmission angles from 0 and 180 degrees.  general: conditioning of
    loops without a closed form. `rooms` are the margins of transmission angles, passive joints and general
    loops: 1 if nothing is near, 0 at a limit and negative beyond it, NaN where a loop does not close.
    unlimited: passive joints without a range in the file.  left_out: loops whose distance from singular
    postures is not known.
    """

    def __init__(self, robot: Robot, angle: float = USUAL.transmission_deg) -> None:
        self.robot, self.angle = robot.numeric, angle
        if not 0 < angle < 90:
            raise Infeasible(f"the minimum transmission angle must be between 0 and 90 degrees, not {angle:g}")
        self.corners = [c for c in (_corner(self.robot, cut) for cut in self.robot.cuts) if c is not None]
        self.names = tuple(corner.cut.name for corner in self.corners)
        self.passive, self.unlimited = _passive_limits(self.robot)
        self.graph = StateGraph(self.robot, STATE)
        loops = self.graph.closed.closed
        self.general = conditionings(loops.closing, loops) if isinstance(loops, LoopsOnScalars) else ()
        known = {*self.names, *(name for each in self.general for name in each.names)}
        self.left_out = tuple(cut.name for cut in self.robot.cuts if cut.name not in known)
        outputs = [s if isinstance(s, Expr) else float(s) for s in self._outputs()]
        self.forward = self.graph.forward("loops", outputs, (len(outputs),))
        self.backward = self.graph.backward("loops", outputs)

    @property
    def counts(self) -> bool:
        """Whether there are any limits."""
        return bool(self.corners or self.passive or self.general)

    @cached_property
    def _closing(self) -> Closing | None:
        return closing_of(self.robot) if self.robot.open_cuts else None

    def _outputs(self) -> list[Scalar]:
        """Sine and cosine of every transmission angle, limited quantities of passive joints, entries of equations."""
        tree, state = self.graph.closed.tree, self.graph.closed.state
        found = [value for corner in self.corners for value in _sine_and_cosine(tree, state.q, corner)]
        numbers = {joint.name: j for j, joint in enumerate(tree.joints)}
        for limit in self.passive:
            j = numbers[limit.name]
            if limit.what == "velocity":
                found.append(tree.joint_rate(j, state.qd))
                continue
            position = tree.joint_position(j, state.q)
            if limit.by_cosine:
                position = add(mul(np.cos(limit.middle), cos(position)), mul(np.sin(limit.middle), sin(position)))
            found.append(position)
        return [*found, *(entry for each in self.general for entry in each.outputs)]

    # ------------------------------------------------------------------ rooms

    def rooms(self, q: Array, qd: Array) -> Array:
        """Normalised margins of states, shape (N, limits): 1 at best, 0 at the limit, negative or nan beyond."""
        return self.rooms_and_pull(q, qd)[0]

    def rooms_and_pull(self, q: Array, qd: Array) -> tuple[Array, Callable[[Array], tuple[Array, Array]]]:
        """`rooms`, and a function that propagates derivatives with respect to the margins back to q and qd.

        The function maps derivatives (N, limits) to derivatives (N, n) with respect to q and (N, n) with
        respect to qd.
        """
        passive = self.graph.passive(q)
        with np.errstate(all="ignore"):
            y = np.asarray(self.forward(q, qd, *passive))
            rooms, slopes = self._rooms(y)

        def pull(by_room: Array) -> tuple[Array, Array]:
            weights = np.zeros_like(y)
            for k, (place, slope) in enumerate(zip(self._places, slopes, strict=True)):
                weights[:, place] = by_room[:, k : k + 1] * slope
            by_q, by_qd = self.backward(q, qd, *passive, weights)
            return np.asarray(by_q), np.asarray(by_qd)

        return rooms, pull

    @cached_property
    def _places(self) -> list[slice]:
        """Outputs that each margin depends on; the cosine of a transmission angle is not used."""
        first = 2 * len(self.corners)
        found = [slice(2 * k, 2 * k + 1) for k in range(len(self.corners))]
        found += [slice(first + k, first + k + 1) for k in range(len(self.passive))]
        start = first + len(self.passive)
        for each in self.general:
            found.append(slice(start, start + len(each.outputs)))
            start += len(each.outputs)
        return found

    def _rooms(self, y: Array) -> tuple[Array, list[Array]]:
        """Margins, and the derivatives of each margin with respect to its outputs."""
        count = len(self.corners)
        parts = [y[:, place] for place in self._places]
        found = [_room_of_sine(value, self.angle) for value in parts[:count]]
        found += [_room_of_limit(*each) for each in zip(parts[count:], self.passive, strict=False)]
        found += [each.room(own) for each, own in zip(self.general, parts[count + len(self.passive) :], strict=True)]
        rooms, slopes = zip(*found, strict=True)
        return np.column_stack(rooms), list(slopes)

    def is_on_branch(self, q: Array, *, alone: bool = False) -> Flags:
        """Mask of postures (N, n) that the loops reach from the seed; alone: postures not from one motion."""
        return np.ones(len(q), bool) if self._closing is None else self._closing.is_reached(q, alone=alone)

    # ------------------------------------------------------------------ what a motion does

    def uses(self, q: Array) -> tuple[LoopUse | ConditioningUse, ...]:
        """Ranges of transmission angles, or of inverse condition numbers, over postures (N, n)."""
        y = np.asarray(self.forward(q, np.zeros_like(q), *self.graph.passive(q)))
        angles = [np.rad2deg(np.arctan2(y[:, 2 * k], y[:, 2 * k + 1])) for k in range(len(self.corners))]
        by_angle = (
            LoopUse(name, float(a.min()), float(a.max()), self.angle)
            for name, a in zip(self.names, angles, strict=True)
        )
        places = self._places[len(self.corners) + len(self.passive) :]
        return *by_angle, *(each.use(y[:, place]) for each, place in zip(self.general, places, strict=True))

    def nearest(self, q: Array, qd: Array) -> tuple[float, str]:
        """Smallest margin of all states, and its name."""
        rooms = np.nan_to_num(self.rooms(q, qd), nan=-1.0)
        k = int(np.argmin(rooms.min(axis=0)))
        whose = [f"distance of loop '{name}' from a singular posture" for name in self.names]
        whose += [f"{limit.what} limit of passive joint '{limit.name}'" for limit in self.passive]
        whose += [f"distance of loop '{each.name}' from a singular posture" for each in self.general]
        return float(rooms[:, k].min()), whose[k]


def _room_of_sine(sine: Array, angle: float) -> tuple[Array, Array]:
    """Margin (N,) of a transmission angle whose sine is (N, 1), and its derivative."""
    least = np.sin(np.deg2rad(angle))
    return (sine[:, 0] - least) / (1 - least), np.full_like(sine, 1 / (1 - least))


def _room_of_limit(value: Array, limit: _Passive) -> tuple[Array, Array]:
    """Margin of a passive joint's position, of its cosine from the middle of the range, or of its velocity."""
    if limit.by_cosine:
        edge = np.cos(limit.half)
        return (value[:, 0] - edge) / (1 - edge), np.full_like(value, 1 / (1 - edge))
    u = (value - limit.middle) / limit.half
    return 1 - u[:, 0] ** 2, -2 * u / limit.half


# ---------------------------------------------------------------------- geometry


def _corner(robot: Robot, cut: Cut) -> _Corner | None:
    """Two links of a loop whose angle measures its distance from a singular posture; None if there are none."""
    tree = robot.opened if robot.open_cuts else robot
    seed = _seed(robot, tree)
    places = _dyad_places(robot, cut) if not cut.form else _sides(tree, cut, seed)
    if places is None:
        return None
    axis = _axis(tree, seed, next(place for place in places if place[0]))
    corner = _Corner(cut, places, axis, 1.0)
    a, b = _links(tree, seed, corner)
    size = float(np.linalg.norm(np.array(a, float)) * np.linalg.norm(np.array(b, float)))
    sine = float(_sine_and_cosine(tree, seed, corner)[0])
    return corner._replace(scale=float(np.sign(sine)) / size) if sine and size else None


def _seed(robot: Robot, tree: Robot) -> list[Scalar]:
    assert robot.seed is not None
    return [robot.seed[j] for j in tree.independent]


def _dyad_places(robot: Robot, cut: Cut) -> tuple[tuple[tuple[int, ...], Pose], ...] | None:
    """Both revolute joints of a dyad and the point where its links meet, in the order of the links."""
    closing = closing_of(robot)
    for block, dyad in zip(closing.blocks, closing.dyads, strict=True):
        if dyad is None or closing.cuts[block.cuts[0]].name != cut.name:
            continue
        hinges = [(unknown.chain[: unknown.place + 1], HERE) for unknown in (dyad.first, dyad.second)]
        end = (dyad.second.chain, dyad.second.pose)
        return (*hinges, end) if dyad.is_one_sided else (hinges[0], end, hinges[1])
    return None


def _sides(tree: Robot, cut: Cut, seed: Sequence[Scalar]) -> tuple[tuple[tuple[int, ...], Pose], ...] | None:
    """Three corners of a parallelogram; coincident joint axes count once, None if the loop has not four corners."""
    chains = cut_chains(tree, cut)
    hinges = [[(chain[: k + 1], HERE) for k in range(len(chain))] for chain in chains]
    around = [*hinges[0], (chains[0], cut.first_pose), *reversed(hinges[1])]
    axis = np.array(_axis(tree, seed, next(place for place in around if place[0])), float)
    points = [np.array(_place(tree, seed, *place), float) for place in around]
    flat = [p - axis * (axis @ p) for p in points]
    size = max(float(np.linalg.norm(p - flat[0])) for p in flat)
    kept = [k for k in range(len(flat)) if np.linalg.norm(flat[k] - flat[k - 1]) > APART * size]
    return tuple(around[k] for k in kept[:3]) if len(kept) == 4 else None


def _place(tree: Robot, q: Sequence[Scalar], chain: tuple[int, ...], pose: Pose) -> Vec:
    """Position of a point in the carrier's frame."""
    return compose(*(tree.joints[j].pose(tree.joint_position(j, q)) for j in chain), pose)[1]


def _axis(tree: Robot, q: Sequence[Scalar], place: tuple[tuple[int, ...], Pose]) -> Vec:
    """Axis of the revolute joint at the end of a chain, in the carrier's frame, where it is constant."""
    R, _ = compose(*(tree.joints[j].pose(tree.joint_position(j, q)) for j in place[0]), HERE)
    return R[0][2], R[1][2], R[2][2]


def _links(tree: Robot, q: Sequence[Scalar], corner: _Corner) -> tuple[Vec, Vec]:
    """Both links, projected normal to the axis."""
    a, b, c = (_place(tree, q, *place) for place in corner.places)
    first, second = (_across(vsub(end, start), corner.axis) for start, end in ((a, b), (b, c)))
    return first, second


def _across(v: Vec, axis: Vec) -> Vec:
    return vadd(v, scale(axis, mul(-1, dot(axis, v))))


def _sine_and_cosine(tree: Robot, q: Sequence[Scalar], corner: _Corner) -> tuple[Scalar, Scalar]:
    a, b = _links(tree, q, corner)
    return mul(corner.scale, dot(corner.axis, cross(a, b))), mul(abs(corner.scale), dot(a, b))


# ---------------------------------------------------------------------- passive joints


def _passive_limits(robot: Robot) -> tuple[list[_Passive], tuple[str, ...]]:
    """Limits of the passive joints of loops, and the joints without a range."""
    found, unlimited = [], []
    for j in loop_joints(robot):
        joint = robot.joints[j]
        if j in robot.independent:
            continue
        limits, is_solved = joint.limits, joint.follows is None
        if limits.lower is None or limits.upper is None or not limits.lower < limits.upper:
            unlimited.append(joint.name)
        elif not (is_solved and limits.upper - limits.lower >= 2 * np.pi):
            middle, half = 0.5 * (limits.lower + limits.upper), 0.5 * (limits.upper - limits.lower)
            found.append(_Passive(joint.name, "position", middle, half, is_solved and joint.kind == "revolute"))
        if limits.velocity is not None:
            found.append(_Passive(joint.name, "velocity", 0.0, limits.velocity, False))
    return found, tuple(unlimited)

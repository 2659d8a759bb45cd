"""Closed loops in exciting motions: their distance from singular postures, and limits of their passive joints.

Near a singular posture passive joints move without bound, and beyond it lies another branch (theory, eqs. 36 to 44).
How near one is says the transmission angle: between the two links of a dyad, or two sides of a parallelogram.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minertia.algebra.expr import Expr, Graph
from minertia.algebra.scalar import Scalar, add, cos, mul, sin
from minertia.algebra.vec3 import HERE, Pose, Vec, compose, cross, dot, scale, vadd, vsub
from minertia.dynamics.closing import Closing, closing_of
from minertia.dynamics.kinematics import State
from minertia.dynamics.projection import project
from minertia.errors import Infeasible, InputError
from minertia.excitation.model import backward_kernel, forward_kernel
from minertia.robot.closure_rows import cut_chains, loop_joints
from minertia.robot.loop import Cut
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
USUAL_DEG = 20.0  # transmission angle kept from 0 and from 180 degrees
APART = 1e-6  # part of a loop's size: hinges nearer than this, seen along their axes, are one
STATE = ("q", "qd")


@dataclass(frozen=True)
class LoopUse:
    """What a motion does to a loop: smallest and largest transmission angle [deg], between 0 and 180 on its branch."""

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
            f"Loop '{self.name}': transmission angle from {self.smallest:.3g} to {self.largest:.3g} deg, "
            f"{self.room:.3g} deg from singular postures ({self.asked:g} asked)."
        )


class _Corner(NamedTuple):
    """Three hinges of a loop that two links join, on frames of the chains from its carrier; their common axis there."""

    cut: Cut
    places: tuple[tuple[tuple[int, ...], Pose], ...]  # (joints up to the frame, pose in the last one's frame)
    axis: Vec
    scale: float  # 1 / product of the two lengths, with the sign of the seed's branch


class _Passive(NamedTuple):
    """A limit of a joint that closing moves: of its position about the middle of its range, or of its velocity."""

    name: str
    what: str
    middle: float
    half: float
    by_cosine: bool  # the position is known by cosine and sine alone


class LoopModel:
    """How far the loops of a robot are from singular postures, and their passive joints from their limits.

    angle [deg]: what transmission angles keep from 0 and 180 degrees.  `rooms` are 1 where nothing is near, 0 at a
    limit and less beyond it, or no number where a loop does not close.  unlimited: passive joints without a range in
    the file.  left_out: loops whose distance is not known.
    """

    def __init__(self, robot: Robot, angle: float = USUAL_DEG) -> None:
        self.robot, self.angle = robot.numeric, angle
        if not 0 < angle < 90:
            raise Infeasible(f"the transmission angle to keep is between 0 and 90 degrees, not {angle:g}")
        self.corners = [c for c in (_corner(self.robot, cut) for cut in self.robot.cuts) if c is not None]
        self.names = tuple(corner.cut.name for corner in self.corners)
        self.left_out = tuple(cut.name for cut in self.robot.cuts if cut.name not in self.names)
        self.passive, self.unlimited = _passive_limits(self.robot)
        graph = Graph()
        q, qd = (graph.variables(name, self.robot.n) for name in STATE)
        outputs = [s if isinstance(s, Expr) else float(s) for s in self._outputs(q, qd)]
        self.forward = forward_kernel("loops", graph, STATE, self.robot.n, outputs, (len(outputs),))
        self.backward = backward_kernel("loops", graph, STATE, self.robot.n, outputs)

    @property
    def counts(self) -> bool:
        """Whether anything is kept."""
        return bool(self.corners or self.passive)

    @cached_property
    def _closing(self) -> Closing | None:
        return closing_of(self.robot) if self.robot.open_cuts else None

    def _outputs(self, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Scalar]:
        """Sine and cosine of every transmission angle, then what is limited of every passive joint."""
        closed = project(self.robot, State(q, qd, [0] * self.robot.n))
        tree, state = closed.tree, closed.state
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
        return found

    # ------------------------------------------------------------------ rooms

    def rooms(self, q: Array, qd: Array) -> Array:
        """How far states are from each limit, shape (N, limits): 1 at best, 0 at the limit, negative or nan beyond."""
        with np.errstate(all="ignore"):
            return self._rooms(np.asarray(self.forward(q, qd)))[0]

    def rooms_and_slopes(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """`rooms`, and their slopes by the outputs of the kernel, to be given to `vjp` with weights."""
        with np.errstate(all="ignore"):
            return self._rooms(np.asarray(self.forward(q, qd)))

    def vjp(self, q: Array, qd: Array, weights: Array) -> tuple[Array, Array]:
        """Derivatives (N, n) by q and by qd of the sum of weights times rooms; weights: with the slopes multiplied."""
        count = len(self.corners)
        full = np.zeros((len(q), 2 * count + len(self.passive)))
        full[:, : 2 * count : 2], full[:, 2 * count :] = weights[:, :count], weights[:, count:]
        by_q, by_qd = self.backward(q, qd, full)
        return np.asarray(by_q), np.asarray(by_qd)

    def _rooms(self, y: Array) -> tuple[Array, Array]:
        least, count = np.sin(np.deg2rad(self.angle)), len(self.corners)
        found = [(y[:, 2 * k] - least) / (1 - least) for k in range(count)]
        slopes = [np.full(len(y), 1 / (1 - least)) for _ in range(count)]
        for value, limit in zip(y[:, 2 * count :].T, self.passive, strict=True):
            if limit.by_cosine:
                edge = np.cos(limit.half)
                found.append((value - edge) / (1 - edge))
                slopes.append(np.full(len(y), 1 / (1 - edge)))
            else:
                u = (value - limit.middle) / limit.half
                found.append(1 - u * u)
                slopes.append(-2 * u / limit.half)
        return np.column_stack(found), np.column_stack(slopes)

    def is_on_branch(self, q: Array) -> Flags:
        """Which postures (N, n) the loops reach from the seed."""
        return np.ones(len(q), bool) if self._closing is None else self._closing.is_reached(q)

    # ------------------------------------------------------------------ what a motion does

    def uses(self, q: Array) -> tuple[LoopUse, ...]:
        """The transmission angles of postures (N, n)."""
        y = np.asarray(self.forward(q, np.zeros_like(q)))
        angles = [np.rad2deg(np.arctan2(y[:, 2 * k], y[:, 2 * k + 1])) for k in range(len(self.corners))]
        return tuple(
            LoopUse(name, float(a.min()), float(a.max()), self.angle)
            for name, a in zip(self.names, angles, strict=True)
        )

    def nearest(self, q: Array, qd: Array) -> tuple[float, str]:
        """The smallest room of all states, and what has it, in words."""
        rooms = np.nan_to_num(self.rooms(q, qd), nan=-1.0)
        k = int(np.argmin(rooms.min(axis=0)))
        if k < len(self.corners):
            return float(rooms[:, k].min()), f"loop '{self.names[k]}' from a singular posture"
        limit = self.passive[k - len(self.corners)]
        return float(rooms[:, k].min()), f"passive joint '{limit.name}' within its limit of {limit.what}"


def require_motions(robot: Robot) -> None:
    """InputError where loops have no closed form, which a search for motions differentiates."""
    if robot.open_cuts and any(dyad is None for dyad in closing_of(robot.numeric).dyads):
        names = ", ".join(f"'{cut.name}'" for cut in robot.open_cuts)
        raise InputError(
            f"the robot '{robot.name}' has closed loops without a closed form ({names}), for which the search for "
            "exciting motions is not there yet; planar loops with two passive hinges and parallelograms have one"
        )


# ---------------------------------------------------------------------- geometry


def _corner(robot: Robot, cut: Cut) -> _Corner | None:
    """The two links of a loop whose angle says how near it is to a singular posture; None where there are none."""
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
    """Both hinges of a dyad and where its links meet, in the order of the links."""
    closing = closing_of(robot)
    for block, dyad in zip(closing.blocks, closing.dyads, strict=True):
        if dyad is None or closing.cuts[block.cuts[0]].name != cut.name:
            continue
        hinges = [(unknown.chain[: unknown.place + 1], HERE) for unknown in (dyad.first, dyad.second)]
        end = (dyad.second.chain, dyad.second.pose)
        return (*hinges, end) if dyad.is_one_sided else (hinges[0], end, hinges[1])
    return None


def _sides(tree: Robot, cut: Cut, seed: Sequence[Scalar]) -> tuple[tuple[tuple[int, ...], Pose], ...] | None:
    """Three corners of a parallelogram, hinges on one line counted once; None where the loop has other than four."""
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
    """A point in the carrier's frame."""
    return compose(*(tree.joints[j].pose(tree.joint_position(j, q)) for j in chain), pose)[1]


def _axis(tree: Robot, q: Sequence[Scalar], place: tuple[tuple[int, ...], Pose]) -> Vec:
    """Axis of the hinge that ends a chain, in the carrier's frame, where it never moves."""
    R, _ = compose(*(tree.joints[j].pose(tree.joint_position(j, q)) for j in place[0]), HERE)
    return R[0][2], R[1][2], R[2][2]


def _links(tree: Robot, q: Sequence[Scalar], corner: _Corner) -> tuple[Vec, Vec]:
    """Both links, across the axis."""
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
    """Limits of the joints on loops that are no coordinates, and those without a range."""
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

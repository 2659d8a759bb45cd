"""Robots with a floating base that stand on their feet, or hang: as robots whose motion can be planned.

The base of a standing robot has six coordinates, and each planted foot closes a loop with the ground, so that the
joints of its leg follow from the others.  Efforts of the remaining coordinates are those without effect of contact
forces (theory, eq. 39).  Feet stay where they are as long as `ContactLimits` holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from minertia.algebra.expr import Expr
from minertia.algebra.scalar import Scalar, add, cos, div, mul, sin, sub
from minertia.algebra.vec3 import Mat, Pose
from minertia.dynamics.kinematics import passages
from minertia.dynamics.loops.closing import closing_of
from minertia.dynamics.model import forward_kinematics
from minertia.dynamics.newton_euler import rigid_torques
from minertia.excitation.constraint import Constraint
from minertia.excitation.limits import MotionLimits, motion_limits
from minertia.excitation.model import STATE, StateGraph, frame_origin
from minertia.excitation.options import BASE as BASE_PLANE
from minertia.excitation.options import Foot
from minertia.excitation.space import room
from minertia.excitation.trajectory import ContinuousMotion
from minertia.io.arrays import Array
from minertia.io.errors import Infeasible, ShapeError
from minertia.robot.joint import Cut, Joint, Limits
from minertia.robot.robot import Frame, Robot, find_frame

BASE = ("base x", "base y", "base z", "base roll", "base pitch", "base yaw")
X_UP: Mat = ((0, 0, 1), (1, 0, 0), (0, 1, 0))  # frames whose z axis is x or y of the base
Y_UP: Mat = ((0, 1, 0), (0, 0, 1), (1, 0, 0))
LEVEL: Mat = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
SWAY = Limits(-0.15, 0.15, velocity=0.5, acceleration=3.0)  # m: legs bend by less than a right angle
TILT = Limits(-0.25, 0.25, velocity=1.0, acceleration=6.0)  # rad
REACH = 0.6  # rad or m that joints move from the posture in which the robot stands
UNEVEN = 0.005  # m, and rad: a floor that differs by less is level
CLEAR = 0.02  # m between a lifted foot and the ground
SHARP = 10.0  # of the smooth minimum of margins
NEAR = 0.02  # weight of the distance from the posture given
ROOMY = 0.7  # part of the ranges in which a motion starts
BRIEF = 1e-4  # s, of differences
FREE = 0.05  # m above it at which a lifted foot is as free as can be


@dataclass(frozen=True)
class PlantedFoot:
    """A foot on the ground: place and attitude of its contact frame in the world."""

    foot: Foot
    place: Array
    turn: Array

    @property
    def flat(self) -> list[int]:
        """Axes of its frame that are level: along the length and the width of a sole."""
        return level_axes(self.turn)

    @property
    def count(self) -> int:
        """Components of its contact force: three of a point, six of a sole."""
        return 6 if self.foot.size else 3


def level_axes(turn: Array) -> list[int]:
    """Axes of a frame other than the one nearest to the vertical."""
    up = int(np.argmax(np.abs(turn[2])))
    return [k for k in range(3) if k != up]


def stand(robot: Robot, limits: MotionLimits, posture: ArrayLike | None) -> tuple[Robot, MotionLimits]:
    """Robot with a floating base as one that can be planned, and its limits.

    limits: of its joints, with `feet`; without feet the base is held, as that of a robot that hangs.  posture: joint
    positions (n,) in which all feet are on the ground and the base is level.
    """
    if not limits.feet:
        return robot.on_ground, _hung(robot.on_ground, limits)
    if limits.constraints:
        raise Infeasible("constraints of your own are not supported for a standing robot; omit them")
    robot = robot.numeric
    q = _posture(robot, posture)
    planted = [_planted(robot, foot, q) for foot in limits.feet if not foot.lifted]
    _check_ground(planted)
    standing = _closed(robot, planted, q, limits)
    workspace = replace(limits.workspace, floor=None)
    found = motion_limits(standing, effort=False, workspace=workspace)
    contact = ContactLimits(standing, planted, [f for f in limits.feet if f.lifted], limits.contact_margin)
    missing = {k: v for k, v in found.missing.items() if k not in ("floor", "effort")}
    missing |= {"effort": "those of a standing robot depend on how its feet share the load"}
    missing |= {"jerk": "not supported for a standing robot"} if limits.jerk is not None else {}
    found = replace(found, missing=missing, feet=limits.feet, contact_margin=limits.contact_margin)
    return standing, found.with_constraints(contact)


def settled(limits: MotionLimits, robot: Robot) -> Array:
    """Posture near the one in which the robot stands, with large margins of its contact forces and planted legs."""
    from scipy.optimize import minimize  # here: it takes long to load

    (contact,) = [one for one in limits.constraints if isinstance(one, ContactLimits)]
    loops = limits.loops
    assert robot.seed is not None and loops is not None
    first = np.array([robot.seed[j] for j in robot.independent])
    size, still = limits.half, np.zeros((1, len(first)))

    def cost(x: Array) -> tuple[float, Array]:
        q = first[None] + size * x
        rooms, pull = loops.rooms_and_pull(q, still)
        margins, count = np.concatenate([contact.margins(q, still, still), rooms], axis=1), rooms.shape[1]
        if not np.isfinite(margins).all():
            return 1e6, np.zeros_like(x)
        parts = np.exp(-SHARP * (margins - margins.min()))  # a smooth minimum
        value = margins.min() - np.log(parts.sum()) / SHARP
        parts = parts / parts.sum()
        slope = contact.slopes(q, still, still, parts[:, :-count])[0] + pull(parts[:, -count:])[0]
        slope = slope[0] * size
        return float(NEAR * x @ x - value), np.asarray(2 * NEAR * x - slope)

    low, high = ((end - first) / size * ROOMY for end in (limits.lower, limits.upper))
    found = minimize(cost, np.zeros_like(first), jac=True, bounds=list(zip(low, high, strict=True)), method="L-BFGS-B")
    return np.asarray(first + size * found.x)


def _hung(robot: Robot, limits: MotionLimits) -> MotionLimits:
    """Limits of a robot whose base is held above the floor."""
    text = "the base is taken to be held still while the robot hangs; plan it standing with [[foot]] in --limits"
    limits = replace(limits, notes=(*limits.notes, text))
    if limits.workspace.floor != BASE_PLANE:
        return limits
    space = room(robot, replace(limits.workspace, floor=None))
    missing = {**limits.missing, **space.missing, "floor": "the robot hangs"}
    return replace(limits, clearance=space.model, missing=missing)


def _posture(robot: Robot, given: ArrayLike | None) -> Array:
    q = np.asarray(np.nan if given is None or isinstance(given, str) else given, float)
    if given is None or isinstance(given, str):
        raise Infeasible(
            "a standing robot needs the posture in which it stands, with level base and all feet on the ground; give "
            "its joint positions with --start"
        )
    if q.shape != (robot.n,) or not np.isfinite(q).all():
        raise ShapeError(f"a start posture must be {robot.n} finite numbers")
    return q


def _planted(robot: Robot, foot: Foot, q: Array) -> PlantedFoot:
    whole = np.concatenate([[0.0, 0, 0, 0, 0, 0, 1], q])[None]
    turn, place = (np.asarray(x)[0] for x in forward_kinematics(robot, whole, foot.frame))
    if foot.size and np.abs(turn[2, level_axes(turn)]).max() > UNEVEN:
        raise Infeasible(f"the sole of '{foot.frame}' is not level in the start posture; give another with --start")
    return PlantedFoot(foot, place + turn @ np.array(foot.at, float), turn)


def _check_ground(feet: Sequence[PlantedFoot]) -> None:
    """Raise an error if planted feet are not level or cannot carry any small moment."""
    heights = [one.place[2] - one.foot.radius for one in feet]
    if feet and max(heights) - min(heights) > UNEVEN:
        low, high = (feet[int(f(heights))].foot.frame for f in (np.argmin, np.argmax))
        raise Infeasible(
            f"'{high}' is {1000 * (max(heights) - min(heights)):.0f} mm above '{low}' in the start posture; give one "
            "with --start in which all planted feet are on the ground"
        )
    if np.linalg.matrix_rank(_on_base(feet), tol=1e-6) < 6:
        raise Infeasible("a robot stands on three points that are not in line or on one sole; add a [[foot]]")


def _on_base(feet: Sequence[PlantedFoot]) -> Array:
    """Matrix (6, components) from forces (and moments, of soles) of the feet to the wrench about the world's origin."""
    parts = [np.zeros((6, 0))]
    for one in feet:
        x, y, z = one.place
        crossed = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        parts.append(np.block([[np.eye(3), np.zeros((3, 3))], [crossed, np.eye(3)]])[:, : one.count])
    return np.concatenate(parts, axis=1)


def _closed(robot: Robot, feet: Sequence[PlantedFoot], q: Array, limits: MotionLimits) -> Robot:
    """Robot on the ground with six joints of its base, and a cut at each planted foot."""
    if robot.cuts or robot.coupling is not None or any(joint.follows for joint in robot.joints):
        raise Infeasible(f"'{robot.name}' has closed chains or coupled joints; plan it hanging, without [[foot]]")
    if not robot.has_parameters:
        raise Infeasible(f"the file of '{robot.name}' has no masses, which contact forces depend on; add them")
    passive = {j for one in feet for j in _leg(robot, one.foot)}
    joints: list[Joint] = []
    before = LEVEL
    for k, (name, axes) in enumerate(zip(BASE, (X_UP, Y_UP, LEVEL) * 2, strict=True)):
        turn = np.array(before, int).T @ np.array(axes, int)
        kind, own = ("prismatic", SWAY) if k < 3 else ("revolute", TILT)
        R: Mat = tuple(tuple(int(x) for x in row) for row in turn)  # type: ignore[assignment]
        link = robot.base_name if k == 5 else name
        joints.append(Joint(name, kind, k - 1 if k else None, R, (0, 0, 0), link=link, limits=own))
        before = axes
    for j, joint in enumerate(robot.joints):
        lower, upper = max(limits.lower[j], q[j] - REACH), min(limits.upper[j], q[j] + REACH)
        own = replace(joint.limits, lower=lower, upper=upper, velocity=limits.velocity[j])
        own = replace(own, acceleration=limits.acceleration[j])
        joints.append(replace(joint, parent=_moved(joint.parent), limits=own, is_passive=j in passive,
                              has_motor=j in passive))  # fmt: skip
    cuts = tuple(_cut(robot, one) for one in feet)
    return replace(
        robot,
        base="fixed",
        joints=tuple(joints),
        links=(*(None,) * 5, robot.base_link, *robot.links),
        base_link=None,
        effects=(*({},) * 6, *robot.effects),
        constants=(*({},) * 6, *robot.constants),
        frames={name: Frame(_moved(frame.joint), frame.pose) for name, frame in robot.frames.items()},
        cuts=cuts,
        seed=(*(0.0,) * 6, *map(float, q)),
    )


def _moved(joint: int | None) -> int:
    """Index of a joint after the six of the base; that of the base itself for None."""
    return 5 if joint is None else joint + 6


def _leg(robot: Robot, foot: Foot) -> list[int]:
    """Joints that follow from a planted foot: the last three before a point, the last six before a sole."""
    frame, count = find_frame(robot, foot.frame), 6 if foot.size else 3
    chain = [] if frame.joint is None else list(robot.ancestors(frame.joint))
    if len(chain) < count:
        what = "sole" if foot.size else "point"
        raise Infeasible(f"a {what} on the ground needs {count} joints before '{foot.frame}', which has {len(chain)}")
    return chain[-count:]


def _cut(robot: Robot, one: PlantedFoot) -> Cut:
    frame = find_frame(robot, one.foot.frame)
    R, p = (np.array(x, float) for x in frame.pose)
    kind = "fixed" if one.foot.size else "spherical"
    second = _pose(R, p + R @ np.array(one.foot.at, float))
    return Cut(one.foot.frame, kind, None, _moved(frame.joint), _pose(one.turn, one.place), second)


def _pose(R: Array, p: Array) -> Pose:
    return tuple(tuple(map(float, row)) for row in R), tuple(map(float, p))  # type: ignore[return-value]


# ---------------------------------------------------------------------------------------------------- contact forces


class ContactLimits(Constraint):
    """Contact forces of planted feet: upwards, in their friction cones, pressing inside the soles; others clear.

    The total wrench follows from the nominal model.  Feet share it with the smallest squares of forces, and of
    moments over the size of the sole.  Each limit keeps a fraction `margin` for errors of the model and tracking.
    """

    def __init__(self, robot: Robot, feet: Sequence[PlantedFoot], lifted: Sequence[Foot], margin: float) -> None:
        self.graph = StateGraph(robot, STATE)
        tree, state = self.graph.closed.tree, self.graph.closed.state
        chi = tree.parameters()
        efforts = rigid_torques(tree, chi, state)
        ground = min(one.place[2] - one.foot.radius for one in feet)
        ways = passages(tree, state.q)
        points = [p for foot in lifted for p in _corners(tree, foot)]
        heights = [sub(frame_origin(tree, ways, point)[2], ground + foot_radius) for point, foot_radius in points]
        outputs = [s if isinstance(s, Expr) else float(s) for s in (*_wrench(efforts, state.q), *heights)]
        self.forward = self.graph.forward("contacts", outputs, (len(outputs),))
        self.backward = self.graph.backward("contacts", outputs)
        weight = sum(x["M"] for x in chi) * float(np.linalg.norm(robot.gravity))
        rows, least = _contact_rows(feet, margin, weight / len(feet))
        k = len(heights)
        self.A = np.block([[rows, np.zeros((len(rows), k))], [np.zeros((k, 6)), np.eye(k) / FREE]])
        self.b = np.concatenate([least, np.full(k, CLEAR / FREE)])

    @property
    def name(self) -> str:
        """Name in reports and messages."""
        return "contact forces"

    def margins(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Margins (N, m): 1 for an even share of the weight, 0 at a limit."""
        found: Array = np.asarray(self.forward(q, qd, qdd, *self.graph.passive(q)))
        return np.asarray(found @ self.A.T - self.b)

    def slopes(self, q: Array, qd: Array, qdd: Array, weights: Array) -> tuple[Array, Array, Array]:
        """Derivatives (N, n) of sum(weights * margins) by q, qd and qdd."""
        found = self.backward(q, qd, qdd, *self.graph.passive(q), np.ascontiguousarray(weights @ self.A))
        return tuple(np.asarray(x) for x in found)  # type: ignore[return-value]


def _wrench(efforts: Sequence[Scalar], q: Sequence[Scalar]) -> list[Scalar]:
    """Force and moment about the world's origin that the ground exerts, from the efforts of the base's six joints.

    The axes of the three hinges are x, y after roll, and z after roll and pitch.
    """
    force, (roll, pitch, yaw) = list(efforts[:3]), efforts[3:6]
    c, s = cos(q[3]), sin(q[3])
    third = div(sub(yaw, mul(sin(q[4]), roll)), cos(q[4]))
    moment = [roll, sub(mul(c, pitch), mul(s, third)), add(mul(s, pitch), mul(c, third))]
    (x, y, z), (fx, fy, fz) = q[:3], force
    lever = [sub(mul(y, fz), mul(z, fy)), sub(mul(z, fx), mul(x, fz)), sub(mul(x, fy), mul(y, fx))]
    return [*force, *(add(a, b) for a, b in zip(moment, lever, strict=True))]


def _corners(robot: Robot, foot: Foot) -> list[tuple[Frame, float]]:
    """Lowest points of a lifted foot, each with its radius: its contact point, or the corners of its sole."""
    frame = find_frame(robot, foot.frame)
    R, p = (np.array(x, float) for x in frame.pose)
    at = np.array(foot.at, float)
    if not foot.size:
        return [(Frame(frame.joint, _pose(R, p + R @ at)), foot.radius)]
    flat = [k for k in range(3) if k != int(np.argmax(np.abs(at)))]  # a sole lies along the axis of its offset
    found = []
    for a in (-0.5, 0.5):
        for b in (-0.5, 0.5):
            corner = at.copy()
            corner[flat] += np.array([a, b]) * foot.size
            found.append((Frame(frame.joint, _pose(R, p + R @ corner)), 0.0))
    return found


def _contact_rows(feet: Sequence[PlantedFoot], margin: float, load: float) -> tuple[Array, Array]:
    """Rows A (m, 6) and b (m,) of margins A w - b of the total wrench w; load: even share of the weight [N]."""
    sizes = np.concatenate([_sizes(one) for one in feet])
    onto = _on_base(feet)
    shares = (sizes[:, None] * onto.T) @ np.linalg.inv(onto @ (sizes[:, None] * onto.T))
    rows, least, k = [], [], 0
    for one in feet:
        own, mu = shares[k : k + one.count], one.foot.friction
        up = own[2] / load
        rows.append(up / (1 - margin))
        least.append(margin / (1 - margin))
        pushes = [(own[a], mu / np.sqrt(2)) for a in (0, 1)]  # a pyramid inside the cone
        if one.foot.size:
            (length, width), turn = np.array(one.foot.size) / 2, one.turn
            along, across = (turn[:, a] @ own[3:] for a in one.flat)
            pushes += [(across, length), (along, width), (own[5], mu * (length + width) / 2)]
        rows += [(1 - margin) * up + sign * push / (most * load) for push, most in pushes for sign in (1, -1)]
        least += [0.0] * (2 * len(pushes))
        k += one.count
    return np.array(rows), np.array(least)


def _sizes(one: PlantedFoot) -> Array:
    """Squares of the sizes of a foot's force components: 1 for forces, the sole's half sizes for moments [m]."""
    half = float(np.mean(one.foot.size)) / 2 if one.foot.size else 0.0
    return np.array([1.0, 1, 1, half**2, half**2, half**2][: one.count])


# --------------------------------------------------------------------------------------------------- motion of joints


@dataclass(frozen=True, repr=False)
class StandingMotion(ContinuousMotion):
    """Motion of all joints of a standing robot, from that of the coordinates that were planned."""

    robot: Robot
    planned: ContinuousMotion

    @property
    def duration(self) -> float:  # type: ignore[override]
        """Duration [s]."""
        return self.planned.duration

    def whole(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Positions and rates (N, 6 + joints): of the base x, y, z, roll, pitch, yaw, then of the joints."""
        closing, (q, qd, qdd) = closing_of(self.robot), self.planned.at(t)
        tree = closing.close(q)
        G = closing.rates(tree)
        rates = (G @ qd[:, :, None])[:, :, 0]
        return tree, rates, (G @ qdd[:, :, None])[:, :, 0] + closing.drift(tree, rates)

    def at(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """q, qd, qdd of the joints at times (N,), each of shape (N, joints)."""
        q, qd, qdd = (x[:, 6:] for x in self.whole(t))
        return q, qd, qdd

    def jerk(self, t: ArrayLike) -> Array:
        """Third derivatives at times (N,), shape (N, joints), by differences."""
        times = np.atleast_1d(np.asarray(t, float))
        return np.asarray((self.at(times + BRIEF)[2] - self.at(times - BRIEF)[2]) / (2 * BRIEF))

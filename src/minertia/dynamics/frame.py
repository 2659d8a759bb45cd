"""Frame of a robot: its pose, its Jacobian, and a wrench applied there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from minertia.algebra.scalar import Scalar, add
from minertia.algebra.vec3 import Pose, Vec, X, Y, Z, apply, column, compose, cross, scale, transpose, vadd, vsub
from minertia.dynamics.kinematics import Passage, Scalars, base_pose, passages
from minertia.dynamics.options import ChosenFrame
from minertia.io.errors import InputError, UnknownName
from minertia.robot.robot import Frame, Robot

MOST_NAMES = 30  # in a sentence


@dataclass(frozen=True, slots=True)
class FrameWrench:
    """External wrench on a robot: values (N, 6), force [N] then moment [N m], at a frame's origin.

    frame: a name (world axes) or a `ChosenFrame`; by default the frame of the last link.
    """

    values: Any
    frame: ChosenFrame | str | None = None


class AppliedWrench(NamedTuple):
    """External wrench on the link of a joint (None: a floating base), at its origin, in its axes."""

    joint: int | None
    force: Vec
    moment: Vec


def frame_named(robot: Robot, name: str | None) -> Frame:
    """Frame of that name; the error for an unknown name lists all frames."""
    try:
        return robot.payload_frame(name)
    except UnknownName as error:
        known = list(dict.fromkeys(error.available))
        more = f" and {len(known) - MOST_NAMES} more" if len(known) > MOST_NAMES else ""
        raise InputError(
            f"'{robot.name}' has no frame called '{name}'; its frames are {', '.join(known[:MOST_NAMES])}{more}"
        ) from None


def frame_pose(robot: Robot, q: Scalars, frame: Frame) -> Pose:
    """Rotation and position [m] of a frame in the world."""
    return compose(base_pose(robot, q), *_way_to(robot, q, frame), frame.pose)


def _way_to(robot: Robot, q: Scalars, frame: Frame) -> list[Pose]:
    ways = passages(robot, q)
    return [ways[j].pose for j in _path(robot, frame)]


def _path(robot: Robot, frame: Frame) -> tuple[int, ...]:
    """Joints on the path from the base to a frame."""
    return () if frame.joint is None else robot.ancestors(frame.joint)


def jacobian(robot: Robot, q: Scalars, frame: Frame, axes: str) -> list[list[Scalar]]:
    """J with (velocity of the frame's origin, angular velocity) = J qd, six rows, in world or the frame's axes."""
    J: list[list[Scalar]] = [[0] * robot.n_velocity for _ in range(6)]
    columns = _world_columns(robot, q, frame) if axes == "world" else _own_columns(robot, q, frame)
    for c, linear, angular in columns:
        for row, entry in enumerate((*linear, *angular)):
            J[row][c] = add(J[row][c], entry)
    return J


def _world_columns(robot: Robot, q: Scalars, frame: Frame) -> list[tuple[int, Vec, Vec]]:
    """(coordinate, linear, angular) of every joint before the frame, from the poses of all joints."""
    pose = base_pose(robot, q)
    seen: list[tuple[int, Vec, Vec, Vec]] = [(k, *twist, pose[1]) for k, twist in enumerate(_base_twists(pose))]
    seen = seen if robot.is_floating else []
    for j, way in zip(_path(robot, frame), _way_to(robot, q, frame), strict=True):
        pose = compose(pose, way)
        for c, ratio in robot.shares(j):
            angular, linear = (scale(apply(pose[0], v), ratio) for v in robot.joints[j].twist)
            seen.append((6 * robot.is_floating + c, linear, angular, pose[1]))
    _, end = compose(pose, frame.pose)
    return [(c, vadd(linear, cross(w, vsub(end, o))), w) for c, linear, w, o in seen]


def _own_columns(robot: Robot, q: Scalars, frame: Frame) -> list[tuple[int, Vec, Vec]]:
    """(coordinate, linear, angular) of every joint before the frame, in the frame's axes, from last to first."""
    found: list[tuple[int, Vec, Vec]] = []
    pose = frame.pose
    for j, way in reversed(list(zip(_path(robot, frame), _way_to(robot, q, frame), strict=True))):
        for c, ratio in robot.shares(j):
            S_w, S_v = (scale(v, ratio) for v in robot.joints[j].twist)
            found.append((6 * robot.is_floating + c, *_at(pose, S_v, S_w)))
        pose = compose(way, pose)
    if robot.is_floating:
        found += [(k, *_at(pose, *twist)) for k, twist in enumerate(_base_twists(((X, Y, Z), (0, 0, 0))))]
    return found


def _at(pose: Pose, linear: Vec, angular: Vec) -> tuple[Vec, Vec]:
    """Express a twist at the origin of a pose, in its axes."""
    back = transpose(pose[0])
    return apply(back, vadd(linear, cross(angular, pose[1]))), apply(back, angular)


def _base_twists(pose: Pose) -> list[tuple[Vec, Vec]]:
    """(linear, angular) of the six velocities of a floating base."""
    axes = [column(pose[0], k) for k in range(3)]
    return [(axis, (0, 0, 0)) for axis in axes] + [((0, 0, 0), axis) for axis in axes]


def applied(robot: Robot, q: Scalars, frame: Frame, axes: str, wrench: Scalars) -> AppliedWrench:
    """Wrench (force [N], moment [N m]: six scalars) at the origin of a frame, applied to the frame's link.

    axes: those in which the wrench is expressed.
    """
    force, moment = (wrench[0], wrench[1], wrench[2]), (wrench[3], wrench[4], wrench[5])
    R, p = frame.pose
    if axes == "world":
        ways = passages(robot, q)
        path = [ways[j] for j in _path(robot, frame)]
        turn = transpose(base_pose(robot, q)[0])
        force, moment = (_inward(path, apply(turn, v)) for v in (force, moment))
    else:
        force, moment = apply(R, force), apply(R, moment)
    return AppliedWrench(frame.joint, force, vadd(moment, cross(p, force)))


def _inward(path: Sequence[Passage], v: Vec) -> Vec:
    """Express a vector of the base frame in the frame of the last joint."""
    for way in path:
        v = way.inward(v)
    return v

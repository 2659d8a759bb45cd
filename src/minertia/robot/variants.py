"""Variants of a robot: joints locked, so that their bodies join the parent link, or friction made smooth."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace

from minertia.algebra.vec3 import HERE, Pose, compose
from minertia.io.errors import DescriptionError, InputError, UnknownName
from minertia.robot.files import RobotLike, as_robot
from minertia.robot.inertia import Ten, add_ten, transport_ten
from minertia.robot.joint import Cut, Follows, Joint
from minertia.robot.robot import Frame, Robot


def locked(robot: Robot, positions: Mapping[str, float | None]) -> Robot:
    """Robot with the named joints, and all joints that depend on them, fixed at these positions [rad or m].

    None: position in range nearest to 0.  Symbolic lengths become numbers.  Raises an error for coupled drives.
    """
    if not positions:
        return robot
    names = [joint.name for joint in robot.joints]
    for name in positions:
        if name not in names:
            raise UnknownName("joint", name, names)
    if robot.coupling is not None:
        raise DescriptionError("joints of a robot with coupled drives cannot be locked", file=robot.source)
    robot.require_tree("locking joints")
    at = {name: min(max(0.0, low), high) for name, (low, high) in _ranges(robot, positions).items()}
    return _Lock(robot.numeric, at | {name: value for name, value in positions.items() if value is not None}).robot()


def held(robot: Robot, positions: Mapping[str, float | None]) -> Robot:
    """`locked`, with an error for positions out of range."""
    for name, (low, high) in _ranges(robot, positions).items():
        value = positions[name]
        if value is not None and not low <= value <= high:
            raise InputError(f"joint '{name}' cannot be locked at {value:g}: its range is {low:g} to {high:g}")
    return locked(robot, positions)


def _ranges(robot: Robot, names: Collection[str]) -> dict[str, tuple[float, float]]:
    """Range of each of some joints; infinite where the robot has no limit."""
    found = {}
    for joint in robot.joints:
        lower, upper = joint.limits.lower, joint.limits.upper
        if joint.name in names:
            found[joint.name] = (
                -math.inf if lower is None else float(lower),
                math.inf if upper is None else float(upper),
            )
    return found


class _Lock:
    """Removal of locked joints from a tree.

    place: for each joint, the remaining joint that carries its link (itself, or the nearest one towards the
    base; new index, None for the base), and the pose of the link in that joint's frame.
    """

    def __init__(self, robot: Robot, positions: Mapping[str, float]) -> None:
        self.old = robot
        self.fixed = {j: positions[joint.name] for j, joint in enumerate(robot.joints) if joint.name in positions}
        for j, joint in enumerate(robot.joints):
            if joint.follows is None:
                continue
            free = [k for k in joint.follows.joints if k not in self.fixed]
            if j in self.fixed and free:
                raise DescriptionError(
                    f"joint '{joint.name}' follows another joint and cannot be locked alone; "
                    "lock the joint that it follows"
                )
            if not free and j not in self.fixed:
                self.fixed[j] = self._offset(joint.follows)
        self.place: dict[int | None, tuple[int | None, Pose]] = {None: (None, HERE)}
        self.kept = [j for j in range(robot.n_joints) if j not in self.fixed]
        self.new = {j: k for k, j in enumerate(self.kept)}

    def robot(self) -> Robot:
        """The robot without the locked joints."""
        old = self.old
        if not self.kept:
            raise DescriptionError("every joint is locked; leave at least one joint free", file=old.source)
        joints: list[Joint] = []
        links: list[Ten | None] = [old.links[j] for j in self.kept]
        base_link = old.base_link
        for j, joint in enumerate(old.joints):
            carrier, pose = self.place[joint.parent]
            if j not in self.fixed:
                joints.append(self._moved(joint, carrier, compose(pose, (joint.R, joint.p))))
                self.place[j] = (self.new[j], HERE)
                continue
            here = compose(pose, joint.pose(self.fixed[j]))
            self.place[j] = (carrier, here)
            ten = old.links[j]
            if ten is not None and carrier is None:
                base_link = add_ten(base_link or (0.0,) * 10, transport_ten(ten, here))
            elif ten is not None and carrier is not None:
                links[carrier] = add_ten(links[carrier] or (0.0,) * 10, transport_ten(ten, here))
        return replace(
            old,
            joints=tuple(joints),
            links=tuple(links),
            base_link=base_link,
            effects=tuple(old.effects[j] for j in self.kept),
            constants=tuple(old.constants[j] for j in self.kept),
            frames={name: self._frame(frame) for name, frame in old.frames.items()},
            cuts=tuple(self._cut(cut) for cut in old.cuts),
            seed=None if old.seed is None else tuple(old.seed[j] for j in self.kept),
        )

    def _offset(self, follows: Follows) -> float:
        """Position of a dependent joint where its unlocked leaders are at 0."""
        return sum((ratio * self.fixed[k] for k, ratio in follows.shares if k in self.fixed), follows.offset)

    def _moved(self, joint: Joint, carrier: int | None, pose: Pose) -> Joint:
        follows = joint.follows
        if follows is not None:
            left = [(self.new[k], ratio) for k, ratio in follows.shares if k in self.new]
            follows = Follows(tuple(k for k, _ in left), tuple(r for _, r in left), self._offset(follows))
        return replace(joint, parent=carrier, R=pose[0], p=pose[1], follows=follows)

    def _cut(self, cut: Cut) -> Cut:
        """Cut joint of a remaining loop, expressed in the links of the remaining joints."""
        (first, first_place), (second, second_place) = self.place[cut.first], self.place[cut.second]
        poses = compose(first_place, cut.first_pose), compose(second_place, cut.second_pose)
        return replace(cut, first=first, second=second, first_pose=poses[0], second_pose=poses[1])

    def _frame(self, frame: Frame) -> Frame:
        carrier, pose = self.place[frame.joint]
        return Frame(carrier, compose(pose, frame.pose))


# ---------------------------------------------------------------------------------------------------- smooth friction


def smooth_friction(robot: RobotLike, width: float = 0.02) -> Robot:
    """Robot with FC tanh(qd / width) instead of FC sign(qd), at its joints and motors; width in rad/s or m/s.

    InputError if a joint already has both kinds of friction, which could not be distinguished afterwards.
    """
    robot = as_robot(robot)
    if not (math.isfinite(width) and width > 0):
        raise InputError(f"the width of smooth friction must be a velocity above 0 [rad/s or m/s], not {width:g}")
    values, constants = dict[str, float](), dict[str, dict[str, float]]()
    for name, value in robot.effect_values.items():
        symbol, link = name.rstrip("0123456789"), name[len(name.rstrip("0123456789")) :]
        if symbol not in ("FC", "FCM"):
            continue
        smooth = f"FCT{symbol[2:]}{link}"
        if smooth in robot.effect_values:
            raise InputError(f"joint {link} of '{robot.name}' has both {name} and {smooth}; remove one of them first")
        values |= {name: 0.0, smooth: value}
        constants[smooth] = {"width": width}
    return robot.with_parameters(values, constants)

"""Robots with some joints locked: what they carry becomes part of the link before them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from minertia.algebra.vec3 import HERE, Pose, compose
from minertia.errors import DescriptionError, UnknownName
from minertia.robot.inertia import Ten, add_ten, transport_ten
from minertia.robot.joint import Follows, Joint
from minertia.robot.robot import Frame, Robot


def locked(robot: Robot, positions: Mapping[str, float]) -> Robot:
    """The robot with the named joints fixed at these positions [rad or m], and all joints that follow them.

    Lengths become numbers.  A robot with coupled drives is refused.
    """
    if not positions:
        return robot
    names = [joint.name for joint in robot.joints]
    for name in positions:
        if name not in names:
            raise UnknownName("joint", name, names)
    if robot.coupling is not None:
        raise DescriptionError("joints of a robot with coupled drives cannot be locked", file=robot.source)
    return _Lock(robot.numeric, positions).robot()


class _Lock:
    """One pass over the tree; `place`: for each joint, the joint that stays and carries it, and its pose there."""

    def __init__(self, robot: Robot, positions: Mapping[str, float]) -> None:
        self.old = robot
        self.fixed = {j: positions[joint.name] for j, joint in enumerate(robot.joints) if joint.name in positions}
        for j, joint in enumerate(robot.joints):
            if joint.follows is not None and joint.follows.joint in self.fixed and j not in self.fixed:
                self.fixed[j] = float(joint.position(self.fixed[joint.follows.joint]))  # type: ignore[arg-type]
            elif joint.follows is not None and j in self.fixed and joint.follows.joint not in self.fixed:
                raise DescriptionError(f"joint '{joint.name}' follows another one and cannot be locked alone")
        self.place: dict[int | None, tuple[int | None, Pose]] = {None: (None, HERE)}
        self.kept = [j for j in range(robot.n_joints) if j not in self.fixed]
        self.new = {j: k for k, j in enumerate(self.kept)}

    def robot(self) -> Robot:
        """The robot without the locked joints."""
        old = self.old
        if not self.kept:
            raise DescriptionError("every joint is locked", file=old.source)
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
        )

    def _moved(self, joint: Joint, carrier: int | None, pose: Pose) -> Joint:
        follows = joint.follows
        if follows is not None:
            follows = Follows(self.new[follows.joint], follows.ratio, follows.offset)
        return replace(joint, parent=carrier, R=pose[0], p=pose[1], follows=follows)

    def _frame(self, frame: Frame) -> Frame:
        carrier, pose = self.place[frame.joint]
        return Frame(carrier, compose(pose, frame.pose))

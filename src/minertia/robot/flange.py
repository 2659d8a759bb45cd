"""Flange of a robot: the frame in which its controller expects a payload's mass, centre of mass and inertia."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from minertia.algebra.vec3 import Pose, compose, invert
from minertia.io.arrays import Array
from minertia.io.errors import InputError
from minertia.robot.joint import numeric_pose
from minertia.robot.robot import Frame, Robot, find_frame

# Last words of a frame's name, in the order of trust.  `tool0` is the controller's own frame by the convention of
# ROS-Industrial; a `flange` or `ee_link` beside it has x, not z, along the last axis, which `_is_aligned` tells.
ZERO_TOOL = re.compile(r"(?:.*[\W_])?tool0", re.IGNORECASE)
NUMBERED = re.compile(r"(?:.*[\W_])?link_?(\d{1,3})", re.IGNORECASE)  # beyond the last joint: panda_link8
FLANGES = (
    ZERO_TOOL,
    re.compile(r"(?:.*[\W_])?(?:tool_|mounting_)?flange(?:_link)?", re.IGNORECASE),
    NUMBERED,
    re.compile(r"(?:.*[\W_])?(?:link_ee|ee_link|link_eef|end_effector_link|attachment(?:_site)?)", re.IGNORECASE),
)
ALIGNED = 1e-3  # rad between the z axis of a flange and the last joint's axis
LARGEST = 100.0  # m of an offset that can be meant


@dataclass(frozen=True)
class Flange:
    """Flange: its name, and its pose in the frame in which a payload is given [m]."""

    name: str
    pose: Pose

    def centre(self, com: Sequence[float]) -> tuple[float, float, float]:
        """Centre of mass `com`, given in the payload's frame [m], expressed in the flange frame."""
        R, p = self._arrays()
        x, y, z = (R.T @ (np.asarray(com, float) - p)).tolist()
        return x, y, z

    def tensor(self, inertia: Array) -> Array:
        """3x3 inertia tensor about the same point, in the axes of the flange."""
        R, _ = self._arrays()
        return np.asarray(R.T @ inertia @ R)

    def _arrays(self) -> tuple[Array, Array]:
        R, p = self.pose
        return np.array(R, float), np.array(p, float)


class NoFlange(InputError):
    """Error: no frame of the robot is known to be its flange."""


def is_flange_name(name: str) -> bool:
    """Whether the name of a fixed frame is a common name of a flange."""
    return any(pattern.fullmatch(name) for pattern in FLANGES if pattern is not NUMBERED)


def load_frame(robot: Robot, at: str | None) -> str | None:
    """Default frame of a payload: None for the frame of the last link, or the flange if it is on another link.

    With a multi-fingered hand, for instance, the last link is a finger, which moves relative to the arm's
    payload.
    """
    if at is not None or not robot.joints:
        return at
    known = _candidates(robot)
    if any(robot.frames[name].joint == robot.tip for name in known):
        return None
    return known[0] if len(known) == 1 else None


def find_flange(robot: Robot, at: str | None, given: str | Sequence[float] | None = None) -> Flange:
    """Flange on the link that carries a payload given in the frame `at` (None: the frame of the last link).

    given: the name of a frame, or x, y, z [m] and optionally roll, pitch, yaw [rad] in the frame `at`.  Raises
    NoFlange if it is not given and the file names no flange.
    """
    frame = robot.payload_frame(at)
    where = at or robot.joints[robot.tip].link or robot.joints[robot.tip].name
    if given is None:
        return _known(robot, frame, where)
    if isinstance(given, str):
        found = find_frame(robot, given)
        if found.joint != frame.joint:
            raise InputError(
                f"the flange '{given}' is on another link than '{where}', the frame in which the load is given; "
                f"give the load in '{given}' instead"
            )
        return Flange(given, _between(robot, frame, found))
    pose = _offset(given)
    numbers = ", ".join(f"{v:g}" for v in given)
    return Flange(f"({numbers}) from '{where}'", pose)


def _offset(given: Sequence[float]) -> Pose:
    """Pose from x, y, z [m] and roll, pitch, yaw [rad] (about fixed axes, as in URDF)."""
    try:
        values = [float(v) for v in given]
    except (TypeError, ValueError, OverflowError):
        values = []
    if len(values) not in (3, 6) or not np.all(np.abs(values) <= LARGEST):
        raise InputError(
            "the offset of a flange needs x, y, z [m], optionally followed by roll, pitch, yaw [rad]: 3 or 6 "
            f"numbers of magnitude at most {LARGEST:g}"
        )
    (cr, cp, cy), (sr, sp, sy) = (f(values[3:] or [0.0] * 3).tolist() for f in (np.cos, np.sin))
    R = (
        (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
        (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
        (-sp, cp * sr, cp * cr),
    )
    return R, (values[0], values[1], values[2])


def _known(robot: Robot, frame: Frame, where: str) -> Flange:
    """Flange of the link that carries a frame, as named in the file."""
    names = _candidates(robot, frame.joint)
    poses = [_between(robot, frame, robot.frames[name]) for name in names]
    if names and all(_is_same(pose, poses[0]) for pose in poses):
        return Flange(names[0], poses[0])
    turned = [name for _, name in _named(robot, frame.joint) if not _is_aligned(robot, name)]
    why = f" ('{turned[0]}' has its z axis perpendicular to that of the last joint)" if turned else ""
    which = f"the file has several candidates for the flange of '{where}' ({', '.join(names)})"
    raise NoFlange(
        (which if names else f"the file has no flange frame on '{where}'{why}")
        + ", but controllers expect the payload in the flange frame: name the frame with --flange NAME, or give "
        "its offset from that link's frame with --flange X,Y,Z,ROLL,PITCH,YAW [m, rad]"
    )


def _candidates(robot: Robot, joint: int | None = None) -> list[str]:
    """Best-ranked flange candidates by name and axes, on the link of one joint or on any link."""
    aligned = [(rank, name) for rank, name in _named(robot, joint) if _is_aligned(robot, name)]
    best = min((rank for rank, _ in aligned), default=0)
    return [name for rank, name in aligned if rank == best]


def _named(robot: Robot, joint: int | None) -> list[tuple[int, str]]:
    """(Rank, name) of frames with the name of a flange."""
    found = []
    for name, frame in robot.frames.items():
        if frame.joint is not None and joint in (None, frame.joint):
            ranks = [
                k
                for k, pattern in enumerate(FLANGES)
                if (match := pattern.fullmatch(name)) and _fits(robot, name, match)
            ]
            found += [(rank, name) for rank in ranks[:1]]
    return found


def _fits(robot: Robot, name: str, match: re.Match[str]) -> bool:
    """Whether a numbered link follows the link of the last joint: panda_link8 after panda_link7."""
    joint = robot.frames[name].joint
    if match.re is not NUMBERED or joint is None:
        return match.re is not NUMBERED
    return robot.joints[joint].link == f"{name[: match.start(1)]}{int(match[1]) - 1}"


def _is_same(pose: Pose, other: Pose) -> bool:
    return all(np.allclose(np.array(x, float), np.array(y, float), atol=1e-6) for x, y in zip(pose, other, strict=True))


def _is_aligned(robot: Robot, name: str) -> bool:
    """Whether z is along the axis of the joint that carries the frame, as controllers expect; always for `tool0`."""
    R, _ = numeric_pose(robot.frames[name].pose, robot.symbol_values)
    return bool(ZERO_TOOL.fullmatch(name)) or float(np.hypot(float(R[0][2]), float(R[1][2]))) < ALIGNED


def _between(robot: Robot, frame: Frame, other: Frame) -> Pose:
    """Pose of a frame in another frame of the same link."""
    first, second = (numeric_pose(f.pose, robot.symbol_values) for f in (frame, other))
    R, p = compose(invert(first), second)
    return tuple(tuple(float(v) for v in row) for row in R), tuple(float(v) for v in p)  # type: ignore[return-value]

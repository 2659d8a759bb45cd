"""Corrections of joint positions: gear ratio, eccentricity, coupling and gravity sag.

Each is a value times a shape over the positions of a chain's joints, along the joint's own motion.  Shapes take any
scalar: calibrations evaluate them on arrays, generated code on expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from minertia.algebra.scalar import Scalar, add, cos, mul, sin
from minertia.algebra.vec3 import HERE, Pose, Vec, column, compose, cross, dot, vsub
from minertia.robot.joint import Joint, numeric_pose

HARMONICS = (1, 2)  # periods a turn, of an eccentric wheel or encoder


@dataclass(frozen=True)
class JointCorrection:
    """One correction: `factor` [rad, m over the shape's unit] times the shape `name` of a group, of a chain's joint."""

    name: str
    group: str
    joint: int
    factor: float


@dataclass(frozen=True)
class JointCorrections:
    """Corrections of the joints of a calibrated chain.

    indices: the chain's joints in the robot.  joints: as described before the calibration, the first one placed in the
    root.  gravity [m/s2]: in root axes.  frame: the calibrated tool, a name among the frames and links of the robot.
    """

    indices: tuple[int, ...]
    joints: tuple[Joint, ...]
    gravity: Vec
    terms: tuple[JointCorrection, ...]
    frame: str

    def at(self, positions: Sequence[Scalar]) -> list[Scalar]:
        """Correction of each joint of the chain [rad, m] at its joints' positions; 0 where there is none."""
        chain = MovedJoints(self.joints, self.gravity, positions)
        found: list[Scalar] = [0] * len(self.joints)
        for group in dict.fromkeys(term.group for term in self.terms):
            for j in range(len(self.joints)):
                factors = {t.name: t.factor for t in self.terms if t.group == group and t.joint == j}
                for name, _, shape in SHAPES[group](chain, j) if factors else ():
                    if name in factors:
                        found[j] = add(found[j], mul(factors[name], shape))
        return found


def described_joints(joints: Sequence[Joint], first: Pose, values: Mapping[str, float]) -> tuple[Joint, ...]:
    """Joints of a chain with values for symbols, and with another placement of the first."""
    poses = [first, *((joint.R, joint.p) for joint in joints[1:])]
    placed = [numeric_pose(pose, values) for pose in poses]
    return tuple(replace(joint, R=R, p=p) for joint, (R, p) in zip(joints, placed, strict=True))


class MovedJoints:
    """Joints of a chain at positions [rad, m], each any scalar: what shapes of corrections read.

    gravity [m/s2] is in root axes.
    """

    def __init__(self, joints: Sequence[Joint], gravity: Vec, positions: Sequence[Scalar]) -> None:
        self.joints, self.gravity, self.positions = joints, gravity, positions

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joints)

    def is_hinge(self, j: int) -> bool:
        """Whether a joint is revolute."""
        return self.joints[j].kind == "revolute"

    @cached_property
    def frames(self) -> list[Pose]:
        """Pose of each joint's frame, moved, in the root."""
        found, pose = [], HERE
        for joint, position in zip(self.joints, self.positions, strict=True):
            pose = compose(pose, joint.pose(position))
            found.append(pose)
        return found


Shapes = Iterator[tuple[str, str, Scalar]]  # name, words, shape


def _gear(chain: MovedJoints, j: int) -> Shapes:
    yield f"K{j + 1}", f"ratio of joint '{chain.joints[j].name}'", chain.positions[j]


def _harmonics(chain: MovedJoints, j: int) -> Shapes:
    if chain.is_hinge(j):
        for k in HARMONICS:
            words, angle = f"eccentricity of joint '{chain.joints[j].name}', {k} a turn", mul(k, chain.positions[j])
            yield f"S{k}_{j + 1}", words, sin(angle)
            yield f"C{k}_{j + 1}", words, cos(angle)


def _coupling(chain: MovedJoints, j: int) -> Shapes:
    for i in (j - 1, j + 1):
        if 0 <= i < chain.n:
            words = f"joint '{chain.joints[j].name}' moved by '{chain.joints[i].name}'"
            yield f"K{j + 1}_{i + 1}", words, chain.positions[i]


def _sag(chain: MovedJoints, j: int) -> Shapes:
    """Gravity-sag shapes of joint j: its compliance times each first moment and mass beyond it."""
    R, origin = chain.frames[j]
    axis, turns, name = column(R, 2), chain.is_hinge(j), chain.joints[j].name
    for k in range(j, chain.n):
        R, place = chain.frames[k]
        for a, symbol in enumerate(("MX", "MY", "MZ") if turns else ()):
            words = f"sag of joint '{name}' by {symbol} of link {k + 1}"
            yield f"C{j + 1}{symbol}{k + 1}", words, dot(axis, cross(column(R, a), chain.gravity))
        load = cross(vsub(place, origin), chain.gravity) if turns else chain.gravity
        yield f"C{j + 1}M{k + 1}", f"sag of joint '{name}' by the mass of link {k + 1}", dot(axis, load)


SHAPES: dict[str, Callable[[MovedJoints, int], Shapes]] = {
    "sag": _sag,
    "gear": _gear,
    "harmonics": _harmonics,
    "coupling": _coupling,
}

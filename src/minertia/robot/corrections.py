"""Corrections of joint positions: gear ratio, eccentricity, coupling, compliance and gravity sag.

Each correction is added to the position of one joint: a factor times a shape, which is a function of the
positions of the chain's joints.  Shapes take any scalar: calibrations evaluate them on arrays, generated
code on expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from minertia.algebra.scalar import Scalar, add, cos, mul, sin, total
from minertia.algebra.vec3 import HERE, Pose, Vec, apply, column, compose, cross, dot, vsub
from minertia.robot.joint import Joint, numeric_pose

Load = tuple[float, ...]  # first moments MX, MY, MZ [kg m] and mass M [kg]
LOADS = ("MX", "MY", "MZ", "M")
HARMONICS = (1, 2)  # periods a turn, of an eccentric wheel or encoder


@dataclass(frozen=True)
class JointCorrection:
    """One correction of a joint's position: `factor` times the shape `name` of a group of shapes.

    joint: index of the corrected joint in the chain.  factor: [rad or m per unit of the shape].
    """

    name: str
    group: str
    joint: int
    factor: float


@dataclass(frozen=True)
class JointCorrections:
    """Corrections of the joints of a calibrated chain.

    indices: indices of the chain's joints in the robot.  joints: joints as described before the calibration,
    the first one placed in the root frame.  gravity [m/s2]: in root axes.  terms: the corrections.  frame:
    name of the calibrated tool frame or link of the robot.  loads: first moments and mass carried by each
    joint of the chain (`carried_loads`), which deflect compliant joints.
    """

    indices: tuple[int, ...]
    joints: tuple[Joint, ...]
    gravity: Vec
    terms: tuple[JointCorrection, ...]
    frame: str
    loads: tuple[Load, ...] = ()

    def at(self, positions: Sequence[Scalar]) -> list[Scalar]:
        """Correction of each joint of the chain [rad, m] at its joints' positions; 0 where there is none."""
        chain = MovedJoints(self.joints, self.gravity, positions, self.loads)
        found: list[Scalar] = [0] * len(self.joints)
        for group in dict.fromkeys(term.group for term in self.terms):
            for j in range(len(self.joints)):
                factors = {t.name: t.factor for t in self.terms if t.group == group and t.joint == j}
                for name, _, shape in SHAPES[group](chain, j) if factors else ():
                    if name in factors:
                        found[j] = add(found[j], mul(factors[name], shape))
        return found


def described_joints(joints: Sequence[Joint], first: Pose, values: Mapping[str, float]) -> tuple[Joint, ...]:
    """Joints of a chain with symbols replaced by values, and with the placement `first` for the first joint."""
    poses = [first, *((joint.R, joint.p) for joint in joints[1:])]
    placed = [numeric_pose(pose, values) for pose in poses]
    return tuple(replace(joint, R=R, p=p) for joint, (R, p) in zip(joints, placed, strict=True))


def carried_loads(
    joints: Sequence[Joint], links: Sequence[Sequence[float] | None], chain: Sequence[int]
) -> tuple[Load, ...]:
    """First moments and mass that each joint of a chain carries up to the next joint of the chain, in its frame.

    They include its link and all branches on it, with joints outside the chain at zero; () where no link has
    a mass.  joints: joints of a robot, without symbols.  links: ten parameters of each link, of which the
    last four are first moments and mass.
    """
    if all(link is None for link in links):
        return ()
    loads = [(0.0,) * 4 if link is None else tuple(float(x) for x in link[-4:]) for link in links]
    for j in reversed([j for j in range(len(joints)) if j not in chain]):
        joint, mass = joints[j], loads[j][3]
        if joint.parent is not None:
            turned = apply(joint.R, (loads[j][0], loads[j][1], loads[j][2]))
            moved = [float(a) + mass * float(b) for a, b in zip(turned, joint.p, strict=True)]  # type: ignore[arg-type]
            loads[joint.parent] = tuple(a + b for a, b in zip(loads[joint.parent], (*moved, mass), strict=True))
    return tuple(loads[j] for j in chain)


class MovedJoints:
    """Joints of a chain at given positions [rad, m], from which the shapes of corrections are computed.

    Positions can be any scalar type.  gravity [m/s2] is in root axes; loads: result of `carried_loads`.
    """

    def __init__(
        self, joints: Sequence[Joint], gravity: Vec, positions: Sequence[Scalar], loads: Sequence[Load] = ()
    ) -> None:
        self.joints, self.gravity, self.positions, self.loads = joints, gravity, positions, loads

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joints)

    def is_hinge(self, j: int) -> bool:
        """Whether a joint is revolute."""
        return self.joints[j].kind == "revolute"

    @cached_property
    def frames(self) -> list[Pose]:
        """Pose of each joint frame in the root frame, at the joint positions."""
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
    """Gravity-sag shapes of joint j: its gravity torque per unit of each first moment and mass beyond the joint.

    The factor of each is the compliance of the joint times that first moment or mass.
    """
    R, origin = chain.frames[j]
    axis, turns, name = column(R, 2), chain.is_hinge(j), chain.joints[j].name
    for k in range(j, chain.n):
        R, place = chain.frames[k]
        for a, symbol in enumerate(("MX", "MY", "MZ") if turns else ()):
            words = f"sag of joint '{name}' by {symbol} of link {k + 1}"
            yield f"C{j + 1}{symbol}{k + 1}", words, dot(axis, cross(column(R, a), chain.gravity))
        load = cross(vsub(place, origin), chain.gravity) if turns else chain.gravity
        yield f"C{j + 1}M{k + 1}", f"sag of joint '{name}' by the mass of link {k + 1}", dot(axis, load)


def _compliance(chain: MovedJoints, j: int) -> Shapes:
    """Gravity torque of joint j [N m, N] from known masses: the shape whose factor is the joint's compliance."""
    values = {f"C{j + 1}{s}{k + 1}": x for k, load in enumerate(chain.loads) for s, x in zip(LOADS, load, strict=True)}
    if values:
        parts = [mul(values[name], shape) for name, _, shape in _sag(chain, j)]
        yield f"C{j + 1}", f"compliance of joint '{chain.joints[j].name}' times its gravity torque", total(*parts)


SHAPES: dict[str, Callable[[MovedJoints, int], Shapes]] = {
    "compliance": _compliance,
    "sag": _sag,
    "gear": _gear,
    "harmonics": _harmonics,
    "coupling": _coupling,
}

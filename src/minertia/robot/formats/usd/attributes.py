"""Attributes of UsdPhysics, Newton and PhysX with their units, and minertia's additional attributes.

Most standard attributes are 32-bit numbers, with angles in degrees.  The attributes of minertia
(`minertia:`) are doubles in SI units.  They are used only where the standard attributes agree with them;
otherwise the file has been edited since it was written.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.algebra.vec3 import Pose
from minertia.robot.formats.mjcf.values import quaternion
from minertia.robot.inertia import Ten, to_com
from minertia.robot.joint import Joint, Limits
from minertia.robot.robot import Robot

FORMAT = 1  # of our own attributes
# of a link without mass or inertia, since 0 means "not given", and simulators then make up a value
TINY_MASS, TINY_INERTIA = 1e-12, 1e-9  # kg, kg m2; Newton raises moments below 1e-10
SAME = 4e-7  # part of a value within which a 32-bit attribute is that of ours: rounding is 6e-8, of angles more
MASS, CENTRE, MOMENTS, AXES = "physics:mass", "physics:centerOfMass", "physics:diagonalInertia", "physics:principalAxes"
FULL = "newton:inertia"
INERTIAL, FRAME, NAME, NUMBER = "minertia:inertial", "minertia:frame", "minertia:name", "minertia:number"
LOWER, UPPER = "physics:lowerLimit", "physics:upperLimit"
SPEEDS = ("newton:velocityLimit", "physxJoint:maxJointVelocity")
AXIS_SPEED = "physxJointAxis:{}:maxJointVelocity"  # of newer versions, which stands over the joint's
# effect -> attributes of programs, Newton's first, which counts; {} is "angular" or "linear"
EFFECTS: Mapping[str, tuple[str, ...]] = {
    "IA": ("newton:armature", "physxJointAxis:{}:armature", "physxJoint:armature"),
    "FV": ("newton:damping", "physxJointAxis:{}:viscousFrictionCoefficient"),
    "FC": (
        "newton:friction",
        "physxJointAxis:{}:dynamicFrictionEffort",
        "physxJointAxis:{}:staticFrictionEffort",
    ),
}
HELD = tuple(EFFECTS)
TYPES = {
    "physics:mass": "float",
    "physics:centerOfMass": "point3f",
    "physics:diagonalInertia": "float3",
    "physics:principalAxes": "quatf",
    "newton:inertia": "double[]",
    "physics:localPos0": "point3f",
    "physics:localPos1": "point3f",
    "physics:localRot0": "quatf",
    "physics:localRot1": "quatf",
}
# of older converters: the numbers of the URDF or MJCF file, in SI units
RAW: Mapping[str, tuple[str, ...]] = {
    "IA": ("mjc:armature",),
    "FV": ("urdf:dynamics:damping",),
    "FC": ("urdf:dynamics:friction", "mjc:frictionloss"),
}


@dataclass(frozen=True, slots=True)
class Units:
    """Units of a stage: metres per unit of length, and kilograms per unit of mass."""

    metres: float = 1.0
    kilograms: float = 1.0

    def effect(self, symbol: str, kind: str) -> float:
        """Conversion factor to SI units of the attribute of an effect, at a joint of this kind."""
        turns = kind == "revolute"
        lever = self.metres**2 if turns else self.metres if symbol == "FC" else 1.0
        return self.kilograms * lever * (180 / math.pi if turns and symbol == "FV" else 1.0)

    def position(self, kind: str) -> float:
        """Conversion factor of a joint position in USD (degrees, or the stage's unit of length) to rad or m."""
        return math.pi / 180 if kind == "revolute" else self.metres

    def effort(self, kind: str) -> float:
        """Conversion factor of an effort from the unit of the stage to N m or N."""
        return self.kilograms * self.metres * (self.metres if kind == "revolute" else 1.0)


def axis_word(kind: str) -> str:
    """Name of a joint's direction of motion in PhysX and in drives: "angular" for a revolute joint, else "linear"."""
    return "angular" if kind == "revolute" else "linear"


# ------------------------------------------------------------------------------------------------------------ writing


def inertial_attributes(ten: Ten | None, units: Units) -> dict[str, Any]:
    """Attributes of a body from ten parameters in its frame; a zero mass or inertia is written as a tiny value."""
    mass, com, inertia = to_com(ten or (0.0,) * 10)
    moments, axes = _principal(inertia)
    if not np.any(moments):
        moments, inertia = np.full(3, TINY_INERTIA), TINY_INERTIA * np.eye(3)
    square = units.kilograms * units.metres**2
    six = [inertia[k] / square for k in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    return {
        MASS: (mass or TINY_MASS) / units.kilograms,
        CENTRE: tuple(float(v) / units.metres for v in com),
        MOMENTS: tuple(float(v) / square for v in moments),
        AXES: quaternion(axes),
        FULL: tuple(float(v) for v in six),
    }


def _principal(inertia: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if not np.any(inertia - np.diag(np.diag(inertia))):
        return np.diag(inertia).copy(), np.eye(3)
    moments, axes = np.linalg.eigh(inertia)
    if np.linalg.det(axes) < 0:
        axes[:, 2] *= -1
    return moments, axes


def effect_attributes(effects: Mapping[str, float], kind: str, units: Units) -> dict[str, float]:
    """Newton and PhysX attributes of those joint effects for which they exist."""
    return {
        name.format(axis_word(kind)): effects[symbol] / units.effect(symbol, kind)
        for symbol, names in EFFECTS.items()
        if effects.get(symbol)
        for name in names
    }


def limit_attributes(joint: Joint, units: Units) -> dict[str, float]:
    """Attributes of the position and velocity limits of a joint."""
    x, unit = joint.limits, units.position(joint.kind)
    found = {LOWER: x.lower, UPPER: x.upper, **({} if not x.velocity else dict.fromkeys(SPEEDS, x.velocity))}
    return {name: value / unit for name, value in found.items() if value is not None}


def frame_attributes(pose: Pose) -> dict[str, Any]:
    """Attributes of a joint from its pose in the parent body; the child body's frame is the joint frame."""
    R, p = pose
    return {
        "physics:localPos0": tuple(float(v) for v in p),
        "physics:localRot0": quaternion(R),
        "physics:localPos1": (0.0, 0.0, 0.0),
        "physics:localRot1": (1.0, 0.0, 0.0, 0.0),
    }


def twelve(pose: Pose) -> tuple[float, ...]:
    """Pose as twelve numbers: the rotation matrix by rows, then the position."""
    R, p = pose
    return (*(float(v) for row in R for v in row), *(float(v) for v in p))


def pose_of(numbers: Sequence[float]) -> Pose:
    """Pose from twelve numbers: the rotation matrix by rows, then the position."""
    x = [float(v) for v in numbers]
    return ((x[0], x[1], x[2]), (x[3], x[4], x[5]), (x[6], x[7], x[8])), (x[9], x[10], x[11])


def own_effects(robot: Robot, j: int) -> Iterator[tuple[str, str, Any]]:
    """Type, name and value of minertia's attributes for the effects of a joint and their constants.

    Constants of the effects of a coupled motor are included.
    """
    motor = robot.motor_effects[robot.coupled_motors[j]] if j in robot.coupled_motors and robot.motor_effects else {}
    for symbol, value in (*robot.effects[j].items(), *motor.items()):
        if not value:
            continue
        if symbol not in motor:
            yield "custom double", f"minertia:effect:{symbol}", value
        for name, constant in robot.effect_constants(j, symbol).items():
            yield "custom double", f"minertia:effect:{symbol}:{name}", constant


def effect_schemas(kind: str, attributes: Collection[str]) -> list[str]:
    """API schemas that must be applied to a joint for attributes with these names."""
    found = []
    for prefix, schema in (
        ("newton:", "NewtonJointAPI"),
        ("physxJoint:", "PhysxJointAPI"),
        ("physxJointAxis:", f"PhysxJointAxisAPI:{axis_word(kind)}"),
    ):
        if any(name.startswith(prefix) for name in attributes):
            found.append(schema)
    return found


# ------------------------------------------------------------------------------------------------------------ reading


def agrees(ours: Mapping[str, Any], there: Mapping[str, Any]) -> bool:
    """Whether the standard attributes of a file equal those written for our values, up to 32-bit rounding.

    ours: attributes as they would be written.  there: attributes of the file; missing ones are not compared.
    """
    return all(name not in there or _same(value, there[name]) for name, value in ours.items())


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, str) or isinstance(b, str):
        return bool(a == b)
    x, y = np.atleast_1d(np.asarray(a, float)), np.atleast_1d(np.asarray(b, float))
    if x.shape != y.shape:
        return False
    return bool(np.all((x == y) | (np.abs(x - y) <= SAME * max(float(np.abs(x).max(initial=0.0)), 1e-30))))


def shortest(value: float) -> float:
    """Shortest decimal number that rounds to the same 32-bit value: 0.333 for the stored 0.33300000429.

    A value that is not exactly a 32-bit number is returned unchanged.
    """
    single = np.float32(value)
    return float(str(single)) if float(single) == value else float(value)


def limits_of(lower: float, upper: float, velocity: float | None, effort: float | None) -> Limits:
    """Limits with None for values that mean no limit: infinite or above 1e30; zero for velocity and effort."""

    def one(value: float | None) -> float | None:
        return None if value is None or not math.isfinite(value) or abs(value) > 1e30 else value

    return Limits(lower=one(lower), upper=one(upper), velocity=one(velocity) or None, effort=one(effort) or None)

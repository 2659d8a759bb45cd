"""The attributes of UsdPhysics, Newton and PhysX, in their units, and ours beside them.

Nearly all standard attributes have 32 bits; angles there are in degrees.  Ours (`minertia:`) are doubles in SI units.
They count only where the standard ones are what they would be written as: else somebody has edited the file.
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
# effect -> attributes of programs, Newton's first, which counts; {} is "angular" or "linear"
EFFECTS: Mapping[str, tuple[str, ...]] = {
    "IA": ("newton:armature", "physxJoint:armature"),
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
RAW = {"FV": "urdf:dynamics:damping", "FC": "urdf:dynamics:friction"}  # of older converters: the URDF's own numbers


@dataclass(frozen=True, slots=True)
class Units:
    """Units of a stage: metres and kilograms of one unit."""

    metres: float = 1.0
    kilograms: float = 1.0

    def effect(self, symbol: str, kind: str) -> float:
        """SI value of a unit of the attribute of an effect at a joint of some kind."""
        turns = kind == "revolute"
        lever = self.metres**2 if turns else self.metres if symbol == "FC" else 1.0
        return self.kilograms * lever * (180 / math.pi if turns and symbol == "FV" else 1.0)

    def position(self, kind: str) -> float:
        """Radians or metres of a unit of a joint position."""
        return math.pi / 180 if kind == "revolute" else self.metres

    def effort(self, kind: str) -> float:
        """N m or N of a unit of effort."""
        return self.kilograms * self.metres * (self.metres if kind == "revolute" else 1.0)


def axis_word(kind: str) -> str:
    """The word of PhysX and of drives for the motion of a joint."""
    return "angular" if kind == "revolute" else "linear"


# ------------------------------------------------------------------------------------------------------------ writing


def inertial_attributes(ten: Ten | None, units: Units) -> dict[str, Any]:
    """The attributes of a body with ten parameters in its frame; the least that counts for what is zero."""
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
    """The attributes of the effects of a joint that programs know."""
    return {
        name.format(axis_word(kind)): effects[symbol] / units.effect(symbol, kind)
        for symbol, names in EFFECTS.items()
        if effects.get(symbol)
        for name in names
    }


def limit_attributes(joint: Joint, units: Units) -> dict[str, float]:
    """The attributes of the limits of position and velocity of a joint."""
    x, unit = joint.limits, units.position(joint.kind)
    found = {LOWER: x.lower, UPPER: x.upper, **({} if not x.velocity else dict.fromkeys(SPEEDS, x.velocity))}
    return {name: value / unit for name, value in found.items() if value is not None}


def frame_attributes(pose: Pose) -> dict[str, Any]:
    """The attributes of a joint whose child has the joint's own frame."""
    R, p = pose
    return {
        "physics:localPos0": tuple(float(v) for v in p),
        "physics:localRot0": quaternion(R),
        "physics:localPos1": (0.0, 0.0, 0.0),
        "physics:localRot1": (1.0, 0.0, 0.0, 0.0),
    }


def twelve(pose: Pose) -> tuple[float, ...]:
    """A pose as twelve numbers: the rotation by rows, then the place."""
    R, p = pose
    return (*(float(v) for row in R for v in row), *(float(v) for v in p))


def pose_of(numbers: Sequence[float]) -> Pose:
    """The pose of twelve numbers."""
    x = [float(v) for v in numbers]
    return ((x[0], x[1], x[2]), (x[3], x[4], x[5]), (x[6], x[7], x[8])), (x[9], x[10], x[11])


def own_effects(robot: Robot, j: int) -> Iterator[tuple[str, str, Any]]:
    """Our own attributes of the effects of a joint, with their constants and those of its motor's effects."""
    motor = robot.motor_effects[robot.coupled_motors[j]] if j in robot.coupled_motors and robot.motor_effects else {}
    for symbol, value in (*robot.effects[j].items(), *motor.items()):
        if not value:
            continue
        if symbol not in motor:
            yield "custom double", f"minertia:effect:{symbol}", value
        for name, constant in robot.effect_constants(j, symbol).items():
            yield "custom double", f"minertia:effect:{symbol}:{name}", constant


def effect_schemas(kind: str, attributes: Collection[str]) -> list[str]:
    """The schemas that programs want applied for such attributes."""
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
    """Whether the standard attributes that are there are those that ours are written as, to 32 bits."""
    return all(name not in there or _same(value, there[name]) for name, value in ours.items())


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, str) or isinstance(b, str):
        return bool(a == b)
    x, y = np.atleast_1d(np.asarray(a, float)), np.atleast_1d(np.asarray(b, float))
    if x.shape != y.shape:
        return False
    return bool(np.all((x == y) | (np.abs(x - y) <= SAME * max(float(np.abs(x).max(initial=0.0)), 1e-30))))


def shortest(value: float) -> float:
    """The shortest decimal number that a 32-bit one stands for: 0.333, where 0.33300000429 is stored."""
    single = np.float32(value)
    return float(str(single)) if float(single) == value else float(value)


def limits_of(lower: float, upper: float, velocity: float | None, effort: float | None) -> Limits:
    """Limits with None for those that are no limits."""

    def one(value: float | None) -> float | None:
        return None if value is None or not math.isfinite(value) or abs(value) > 1e30 else value

    return Limits(lower=one(lower), upper=one(upper), velocity=one(velocity) or None, effort=one(effort) or None)

"""Joints of a stage: connected bodies, placements, limits, effects and elasticity."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.algebra.vec3 import HERE, Pose, compose, invert
from minertia.io.errors import DescriptionError
from minertia.robot.effects import BY_SYMBOL, MOTOR_SYMBOLS
from minertia.robot.formats.snap import (
    LENGTH_TOLERANCE,
    axis_to_z,
    quaternion_to_matrix,
    rotation_angle,
    snap_rotation,
    snap_vector,
)
from minertia.robot.formats.usd.attributes import (
    AXIS_SPEED,
    EFFECTS,
    FRAME,
    LOWER,
    RAW,
    SPEEDS,
    UPPER,
    Units,
    agrees,
    axis_word,
    effect_attributes,
    frame_attributes,
    limit_attributes,
    limits_of,
    pose_of,
    shortest,
)
from minertia.robot.formats.usd.bodies import EDITED
from minertia.robot.formats.usd.springs import DAMPER, ORIGIN, STIFFNESS
from minertia.robot.formats.usd.stage import Prim
from minertia.robot.joint import Elastic, Joint, Limits
from minertia.robot.robot import Note

KINDS = {
    "PhysicsRevoluteJoint": "revolute",
    "PhysicsPrismaticJoint": "prismatic",
    "PhysicsFixedJoint": "fixed",
}
FREEDOMS = ("transX", "transY", "transZ", "rotX", "rotY", "rotZ")
AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}
REPORTED = 1e-6  # rad: smaller changes are the rounding of 32 bits
FIRST_SIDE = {"physics:localPos0": (0.0, 0.0, 0.0), "physics:localRot0": (1.0, 0.0, 0.0, 0.0)}  # with its defaults
_BACK: Pose = (((1, 0, 0), (0, -1, 0), (0, 0, -1)), (0, 0, 0))  # half a turn about x: the axis in the other sense
# of older programs, in units that differ
DAMPING = "mjc:damping"
PER_RAD = (  # by MuJoCo USD Converter 0.4 (its pull request 106)
    "newton:damping is read per rad, as its converter wrote it beside an equal mjc:damping; programs take it per "
    "degree: convert the robot again"
)
UNREAD = (DAMPING, STIFFNESS, DAMPER, ORIGIN, "physxJoint:jointFriction")
NEGATIVE = {"IA": "armature", "FV": "viscous friction", "FC": "dry friction"}
OTHER_JOINT = "which is not supported; disable it, or describe the robot in an MJCF or a TOML file"
Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class JointMotion:
    """Motion that a joint allows: its kind, and its axis as a letter."""

    kind: str
    axis: str = "Z"


def check_kind(prim: Prim, name: str, source: str) -> None:
    """Raise an error for a joint of a kind that is not supported."""
    if prim.kind not in (*KINDS, "PhysicsJoint"):
        what = "a distance joint" if prim.kind == "PhysicsDistanceJoint" else f"of type {prim.kind}"
        text = f"joint '{name}' is {what}, {OTHER_JOINT}"
        if prim.kind == "PhysicsSphericalJoint":
            text = f"joint '{name}' is a spherical joint, which is not supported; replace it by revolute joints with "
            text += "small links between them"
        raise DescriptionError(text, file=source)


def motion_of(prim: Prim, name: str, source: str) -> JointMotion:
    """Kind and axis of a joint; an error for a D6 joint with several free axes."""
    if prim.kind in KINDS:
        return JointMotion(KINDS[prim.kind], str(prim.values.get("physics:axis", "X")))
    free = [axis for axis in FREEDOMS if not _is_locked(prim.values, axis)]
    if len(free) > 1:
        raise DescriptionError(
            f"joint '{name}' is a D6 joint with {len(free)} free axes ({', '.join(free)}); lock all but one by a "
            "lower limit above the upper limit, or replace it by single-axis joints",
            file=source,
        )
    if not free:
        return JointMotion("fixed")
    return JointMotion("revolute" if free[0].startswith("rot") else "prismatic", free[0][-1])


def _is_locked(values: Mapping[str, Any], axis: str) -> bool:
    """Whether an axis of a D6 joint cannot move."""
    ends = (("low", -math.inf), ("high", math.inf))
    low, high = (float(values.get(f"limit:{axis}:physics:{end}", usual)) for end, usual in ends)
    return low > high or low == high == 0


def unapplied_limits(prim: Prim, name: str) -> list[Note]:
    """A warning for axes of a D6 joint that have limits without the schema of limits."""
    axes = [axis for axis in FREEDOMS if any(key.startswith(f"limit:{axis}:") for key in prim.values)]
    bare = [axis for axis in axes if f"PhysicsLimitAPI:{axis}" not in prim.schemas]
    if prim.kind != "PhysicsJoint" or not bare:
        return []
    text = f"its limits of {', '.join(bare)} are read, but ignored by simulators, since PhysicsLimitAPI is not applied"
    return [Note("warning", f"joint '{name}'", text)]


def free_axis(prim: Prim, motion: JointMotion) -> str | None:
    """Free axis of a D6 joint, such as rotX; None for other joints and where all are locked."""
    if prim.kind != "PhysicsJoint" or motion.kind == "fixed":
        return None
    return f"{'rot' if motion.kind == 'revolute' else 'trans'}{motion.axis}"


def as_single_axis(prim: Prim, motion: JointMotion) -> Prim:
    """Joint prim whose attributes have the names of a revolute or prismatic joint, from a D6 joint."""
    free, word = free_axis(prim, motion), axis_word(motion.kind)
    if free is None:
        return prim
    names = {f"limit:{free}:physics:low": LOWER, f"limit:{free}:physics:high": UPPER}
    for family in ("drive", "physxJointAxis"):
        start = f"{family}:{free}:"
        names |= {key: f"{family}:{word}:{key.removeprefix(start)}" for key in prim.values if key.startswith(start)}
    return replace(prim, values={names.get(key, key): value for key, value in prim.values.items()})


# ------------------------------------------------------------------------------------------------------------- frames


def turned(prim: Prim, motion: JointMotion, worlds: Sequence[Array]) -> float:
    """Angle [rad] between the two sides of a joint that its motion does not explain.

    worlds: rotation in the world of each of the two prims that the joint names.
    """
    first, second = (R @ _turn(prim, k) for k, R in enumerate(worlds))
    if motion.kind != "revolute":
        return rotation_angle(first, second)
    a, b = (R @ np.array(AXES[motion.axis]) for R in (first, second))
    return float(math.atan2(np.linalg.norm(np.cross(a, b)), a @ b))


def placed(prim: Prim, ends: tuple[Array, Array]) -> Array:
    """Pose of the second body in the first one where the joint is at 0 (4 x 4, units of the stage).

    ends: pose of each of the two prims that the joint names, in the body that carries it.
    """
    sides = []
    for k, end in enumerate(ends):
        frame = np.eye(4)
        frame[:3, :3], frame[:3, 3] = _turn(prim, k), prim.values.get(f"physics:localPos{k}", (0.0, 0.0, 0.0))
        sides.append(end @ frame)
    return np.asarray(sides[0] @ np.linalg.inv(sides[1]))


def _turn(prim: Prim, k: int) -> Array:
    quat = prim.values.get(f"physics:localRot{k}", (1.0, 0.0, 0.0, 0.0))
    return quaternion_to_matrix(*quat) if any(quat) else np.eye(3)


@dataclass(frozen=True, slots=True)
class JointFrames:
    """Placement of a joint in its parent body, and of its child body in the joint frame."""

    placement: Pose
    child_frame: Pose
    notes: tuple[Note, ...] = ()


class FrameReading:
    """Reader of the frames of one joint."""

    def __init__(self, prim: Prim, name: str, motion: JointMotion, units: Units, snap: float) -> None:
        self.prim, self.name, self.motion, self.units, self.snap = prim, name, motion, units, snap
        self.notes: list[Note] = []

    def frames(self, ends: tuple[Array, Array], backwards: bool, own: bool) -> JointFrames:
        """Placement of the joint in its parent body, and of its child body in the joint frame.

        ends: pose of each of the two prims that the joint names, in the body that carries it (4 x 4, units of the
        stage).  backwards: whether the second body is the parent.  own: whether minertia's doubles are used.
        """
        given = self.prim.values.get(FRAME) if own else None
        plain = not backwards and all(np.abs(end - np.eye(4)).max() < REPORTED for end in ends)
        if given is not None:
            if plain and self._is_ours(given):
                return JointFrames(pose_of(given), HERE)
            self.notes.append(Note("warning", f"joint '{self.name}'", EDITED))
        first, second = (self._frame(k, end, own) for k, end in enumerate(ends))
        if backwards:
            first, second = compose(second, _BACK), compose(first, _BACK)
        return JointFrames(first, invert(second), tuple(self.notes))

    def _is_ours(self, given: Any) -> bool:
        if self.units.metres != 1 or len(given) != 12 or not np.all(np.isfinite(given)):
            return False
        pose = pose_of(given)
        is_z = self.motion.kind == "fixed" or self.motion.axis == "Z"
        return is_z and agrees(frame_attributes(pose), self._signed(pose))

    def _signed(self, pose: Pose) -> dict[str, Any]:
        """Attributes of the file, with each quaternion in the sign that is written for this pose."""
        found = dict(self.prim.values)
        for key, value in frame_attributes(pose).items():
            there = found.get(key)
            if len(value) == 4 and isinstance(there, tuple) and np.dot(value, there) < 0:
                found[key] = tuple(-v for v in there)
        return found

    def _frame(self, k: int, end: Array, own: bool) -> Pose:
        """Pose of the joint frame, z along the joint axis, in the frame of its first or second body (k = 0 or 1)."""
        values = self.prim.values
        stored = values.get(f"physics:localPos{k}", (0.0, 0.0, 0.0))
        place = np.array([shortest(v) if own else v for v in stored], float)
        R, p = end[:3, :3] @ _turn(self.prim, k), self.units.metres * (end[:3, :3] @ place + end[:3, 3])
        meant = snap_rotation(R, self.snap)
        off = rotation_angle(R, meant)
        if off > REPORTED:
            text = f"orientation {k} taken as the exact angle meant (off by {off:.2g} rad); snap=0 keeps it"
            self.notes.append(Note("info", f"joint '{self.name}'", text, is_geometry=True))
        pose = meant, snap_vector(p.tolist(), LENGTH_TOLERANCE if self.snap else 0.0)
        if self.motion.kind == "fixed":
            return pose
        return compose(pose, (axis_to_z(AXES[self.motion.axis]), (0, 0, 0)))


# ------------------------------------------------------------------------------------------------- limits and effects


def read_limits(prim: Prim, kind: str, units: Units, own: bool) -> Limits:
    """Limits of a joint in SI units."""
    values, unit, word = prim.values, units.position(kind), axis_word(kind)
    names = ("lower", "upper", "velocity", "acceleration", "effort")
    given = {name: values[f"minertia:limit:{name}"] for name in names if f"minertia:limit:{name}" in values}
    if own and given:
        ours = Limits(**given)
        said = limit_attributes(Joint("", kind, None, *HERE, limits=ours), units)
        there = {name for name in (LOWER, UPPER, *SPEEDS) if math.isfinite(values.get(name, math.inf))}
        if said.keys() >= there and agrees(said, values):
            return ours
    speeds = (SPEEDS[0], AXIS_SPEED.format(word), *SPEEDS[1:])
    speed = next((float(values[name]) for name in speeds if name in values), None)
    effort = values.get(f"drive:{word}:physics:maxForce")
    force = float(values["urdf:limit:effort"]) if "urdf:limit:effort" in values else None
    if effort is not None:
        force = float(effort) * units.effort(kind)
    low, high = float(values.get(LOWER, -math.inf)), float(values.get(UPPER, math.inf))
    return limits_of(low * unit, high * unit, None if speed is None else speed * unit, force)


def crossed_limits(limits: Limits, name: str) -> list[Note]:
    """A warning for a lower limit above the upper one, by which only the schema of D6 joints locks an axis."""
    if limits.lower is None or limits.upper is None or limits.lower <= limits.upper:
        return []
    text = "its lowerLimit is above its upperLimit, which USD defines for D6 joints only, where it locks an axis: "
    return [Note("warning", f"joint '{name}'", f"{text}correct both, or make it a fixed joint")]


def read_effects(
    prim: Prim,
    name: str,
    kind: str,
    units: Units,
    own: bool,
    *,
    is_mujoco: bool = False,
    unread: Collection[str] = UNREAD,
) -> tuple[dict[str, float], dict[str, dict[str, float]], list[Note]]:
    """Effects of a joint, their constants, and notes.

    is_mujoco: whether the file is of MuJoCo's converter, in which mjc:damping is in N m s/rad or N s/m.
    unread: attributes that are reported as not read.
    """
    values, notes = prim.values, []
    found = {symbol: v for symbol in EFFECTS if (v := _standard_effect(values, symbol, kind, units)) is not None}
    if is_mujoco and _is_set(values.get(DAMPING)) and ("FV" not in found or _is_per_rad(values, kind)):
        if "FV" in found:
            notes.append(Note("warning", f"joint '{name}'", PER_RAD))
        found["FV"] = shortest(float(values[DAMPING]))
    unread = [key for key in unread if _is_set(values.get(key)) and not (key == DAMPING and "FV" in found)]
    if unread:
        text = f"{', '.join(unread)} not read: its unit differs between programs"
        notes.append(Note("warning", f"joint '{name}'", text))
    if any(values.get(f"drive:{axis_word(kind)}:physics:{gain}") for gain in ("stiffness", "damping")):
        notes.append(Note("info", f"joint '{name}'", "its drive is a controller, and no part of the robot"))
    negative = [symbol for symbol, value in found.items() if value < 0]
    if negative:
        text = f"its {', '.join(NEGATIVE[symbol] for symbol in negative)} is negative, which no joint has"
        notes.append(Note("warning", f"joint '{name}'", text))
    given, constants = _own_effects(values) if own else ({}, {})
    if given:
        held = {symbol: value for symbol, value in given.items() if symbol in EFFECTS}
        if held.keys() == {s for s, v in found.items() if v} and agrees(effect_attributes(held, kind, units), values):
            return given, constants, notes
        notes.append(Note("warning", f"joint '{name}'", EDITED))
        found |= {symbol: value for symbol, value in given.items() if symbol not in EFFECTS}
    return {s: v for s, v in found.items() if v}, constants, notes


def _standard_effect(values: Mapping[str, Any], symbol: str, kind: str, units: Units) -> float | None:
    for key in EFFECTS[symbol]:
        value = values.get(key.format(axis_word(kind)))
        if value is not None and math.isfinite(float(value)):
            return shortest(float(value)) * units.effect(symbol, kind)
    raw = next((values[key] for key in RAW[symbol] if key in values), None)
    return None if raw is None else shortest(float(raw))


def _is_per_rad(values: Mapping[str, Any], kind: str) -> bool:
    """Whether the damping for Newton of a revolute joint is that for MuJoCo, although their units differ."""
    own, theirs = float(values.get(EFFECTS["FV"][0], math.nan)), float(values[DAMPING])
    return kind == "revolute" and agrees({DAMPING: own}, {DAMPING: theirs})


def _is_set(value: Any) -> bool:
    return any(value) if isinstance(value, tuple) else bool(value)


def _own_effects(values: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    effects: dict[str, float] = {}
    constants: dict[str, dict[str, float]] = {}
    for key, value in values.items():
        parts = key.split(":")
        if parts[:2] != ["minertia", "effect"] or not isinstance(value, float):
            continue
        if len(parts) == 3 and parts[2] in BY_SYMBOL and value and math.isfinite(value):
            effects[parts[2]] = value
        elif (
            len(parts) == 4
            and parts[2] in BY_SYMBOL
            and parts[3] in BY_SYMBOL[parts[2]].constants
            and math.isfinite(value)
        ):
            constants.setdefault(parts[2], {})[parts[3]] = value
    return effects, {s: c for s, c in constants.items() if s in effects or s in MOTOR_SYMBOLS}


def read_elastic(prim: Prim) -> Elastic | None:
    """Spring and damper between motor and link, from minertia's attributes."""
    given = [prim.values.get(f"minertia:elastic:{name}") for name in ("stiffness", "damping")]
    if all(v is None for v in given):
        return None
    stiffness, damping = (v if isinstance(v, float) and math.isfinite(v) else None for v in given)
    return Elastic(stiffness, damping)

"""Layer over the user's stage that overrides masses, inertias, armature and friction, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from minertia.algebra.vec3 import Pose, invert
from minertia.io.errors import DescriptionError
from minertia.robot.formats.reading import ReadOptions
from minertia.robot.formats.snap import ANGLE_TOLERANCE
from minertia.robot.formats.usd.actuators import CONSTANT
from minertia.robot.formats.usd.attributes import (
    EFFECTS,
    HELD,
    INERTIAL,
    RAW,
    TYPES,
    axis_word,
    effect_attributes,
    effect_schemas,
    inertial_attributes,
    own_effects,
)
from minertia.robot.formats.usd.converters import MUJOCO
from minertia.robot.formats.usd.joints import DAMPING, free_axis
from minertia.robot.formats.usd.read import StageReading
from minertia.robot.formats.usd.springs import STIFFNESS, spring_attributes
from minertia.robot.formats.usd.stage import read_stage
from minertia.robot.formats.usd.text import Node, layer_text, quoted
from minertia.robot.inertia import Ten, add_ten, impossible, transport_ten
from minertia.robot.joint import Joint, numeric_pose
from minertia.robot.robot import Robot

UNCHANGED = 1e-13  # relative difference of parameters that counts as none
SNAPPED = 1e-7  # rad or m: larger differences are those of angles that one reading took as exact
SAME_PLACE = 1e-2  # rad or m between the joints of the robot and of the template


def over_text(robot: Robot, template: str, sublayer: str, creator: str, prim: str = "") -> tuple[str, tuple[str, ...]]:
    """Text of the overriding layer, and the symbols of the effects that programs read from it.

    sublayer: path of the template, relative to the layer.  prim: path of the robot in the template.
    """
    over = _Over(robot, template, prim)
    return over.text(sublayer, creator), (*HELD, *(("OFF",) if over.has_offsets() else ()))


class _Over:
    """Writer of a layer that overrides parameters of one stage."""

    def __init__(self, robot: Robot, template: str, prim: str) -> None:
        self.robot, self.template = robot, template
        stage = read_stage(template)
        for snap in (ANGLE_TOLERANCE, 0.0):  # the robot may have been read either way
            self.reading = StageReading(stage, ReadOptions(robot.base, snap, letters=False, prim=prim))
            self.old = self.reading.robot().numeric
            if self._apart() < SNAPPED:
                break
        self._check_same()
        self.root = Node("")

    def text(self, sublayer: str, creator: str) -> str:
        for j, now in ((None, self.robot.base_link), *enumerate(self.robot.links)):
            self._link(j, now)
        for j in range(self.robot.n_joints):
            self._effects(j)
        stage = self.reading.stage
        metadata = ["customLayerData = {", f"    string creator = {quoted(creator)}", "}"]
        if stage.default:
            metadata.append(f"defaultPrim = {quoted(stage.default.removeprefix('/'))}")
        metadata += [f"kilogramsPerUnit = {stage.kilograms!r}", f"metersPerUnit = {self.reading.units.metres!r}"]
        metadata += ["subLayers = [", f"    @{sublayer}@", "]"]
        metadata += [f"upAxis = {quoted(stage.up)}"] if stage.up else []
        return layer_text(metadata, self.root.children)

    def _fail(self, text: str) -> None:
        raise DescriptionError(f"{text}; the template must be a stage of the same robot", file=self.template)

    def _check_same(self) -> None:
        ours, theirs = ([(j.name, j.kind, j.parent) for j in r.joints] for r in (self.robot, self.old))
        if ours != theirs:
            odd = sorted({name for name, *_ in {*ours} ^ {*theirs}})[:5]
            self._fail(f"it has other joints than the robot: {', '.join(odd) or 'their order'}")
        for now, old in zip(self.robot.joints, self.old.joints, strict=True):
            off = _distance(now, old)
            if off > SAME_PLACE:
                self._fail(f"it has joint '{now.name}' elsewhere (by {off:.2g} rad or m)")

    def _apart(self) -> float:
        """Largest distance [rad or m] between the joints and frames of the robot and those of the template."""
        joints = [_distance(*pair) for pair in zip(self.robot.joints, self.old.joints, strict=False)]
        shared = [name for name in self.old.frames if name in self.robot.frames]
        poses = [[numeric_pose(r.frames[n].pose, r.symbol_values) for r in (self.robot, self.old)] for n in shared]
        return max([*joints, *(_between(*pair) for pair in poses)], default=0.0)

    # ------------------------------------------------------------------ links

    def _link(self, carrier: int | None, now: Ten | None) -> None:
        before = self.old.base_link if carrier is None else self.old.links[carrier]
        zero = (0.0,) * 10
        if np.allclose(before or zero, now or zero, rtol=UNCHANGED, atol=0):
            return
        bodies = [n for n, f in self.old.frames.items() if f.joint == carrier and n in self.reading.links]
        if not bodies:
            name = "" if carrier is None else self.old.joints[carrier].name
            text = f"joint '{name}' shares its link with another joint, so the parameters behind it have no place"
            raise DescriptionError(f"{text}; write a complete file", file=self.template)
        owner = self._owner(carrier, bodies)
        others = [name for name in bodies if name != owner and self.reading.tens[name] is not None]
        rest = now
        for name in others:
            rest = add_ten(rest or zero, tuple(-v for v in self._there(name)))
        if others and (rest is None or impossible(rest) is not None):
            rest = now
            for name in others:
                self._write(name, None)
        pose = numeric_pose(self.old.frames[owner].pose, self.old.symbol_values)
        self._write(owner, None if rest is None else transport_ten(rest, invert(pose)))

    def _owner(self, carrier: int | None, bodies: list[str]) -> str:
        link = self.old.base_name if carrier is None else self.old.joints[carrier].link
        return link if link in bodies else bodies[0]

    def _there(self, name: str) -> Ten:
        """Parameters of a body of the template in the frame of the joint that carries it."""
        ten = self.reading.tens[name]
        return transport_ten(ten or (0.0,) * 10, numeric_pose(self.old.frames[name].pose, self.old.symbol_values))

    def _write(self, name: str, ten: Ten | None) -> None:
        node = self._node(self.reading.links[name])
        node.schemas = ["PhysicsMassAPI", "NewtonMassAPI"]
        values = inertial_attributes(ten, self.reading.units)
        node.attributes = [(TYPES[key], key, value) for key, value in values.items()]
        node.attributes.append(("custom double[]", INERTIAL, ten or ()))

    # ------------------------------------------------------------------ joints

    def _effects(self, j: int) -> None:
        joint, now, before = self.robot.joints[j], self.robot.effects[j], self.old.effects[j]
        changed = [s for s in {**now, **before} if _moved(now.get(s, 0.0), before.get(s, 0.0))]
        if not changed:
            return
        path = self.reading.joints[joint.name]
        edge = next(edge for edge in self.reading.edges if edge.prim.path == path)
        there, free = edge.prim.values, free_axis(edge.prim, edge.motion)
        values: dict[str, float] = {
            key: 0.0
            for symbol, names in EFFECTS.items()
            for key in (name.format(axis_word(joint.kind)) for name in names)
            if key in there and symbol in changed
        }
        values |= effect_attributes(now, joint.kind, self.reading.units)
        node = self._node(path)
        schemas = effect_schemas(joint.kind, values)
        if free is not None:  # a D6 joint has the names of its axis
            word = axis_word(joint.kind)
            values = {key.replace(f":{word}:", f":{free}:"): value for key, value in values.items()}
            schemas = [name.replace(f":{word}", f":{free}") for name in schemas]
        node.schemas = schemas
        node.attributes = [("float", key, value) for key, value in values.items()]
        node.attributes += [*self._raw(j, there, changed)]
        node.attributes += [*self._own(j, there)]
        actuator = self.reading.constant_efforts.get(path)
        if actuator is not None and "OFF" in changed:
            constant = -now.get("OFF", 0.0) / self.reading.units.effort(joint.kind)
            self._node(actuator.path).attributes.append(("float", CONSTANT, constant))

    def _raw(self, j: int, there: Any, changed: list[str]) -> Iterator[tuple[str, str, float]]:
        """Attributes of the template in SI units, which programs read beside the others or in their place."""
        now, is_mujoco = self.robot.effects[j], self.reading.stage.is_of(MUJOCO)
        for symbol, names in RAW.items():
            more = (DAMPING,) if symbol == "FV" and is_mujoco else ()
            for key in (name for name in (*names, *more) if symbol in changed and name in there):
                yield "double" if key.startswith("mjc:") else "float", key, now.get(symbol, 0.0)
        if is_mujoco and "KS" in changed and STIFFNESS in there:
            stiffness, rest = now.get("KS", 0.0), self.robot.effect_constants(j, "KS").get("rest", 0.0)
            kind = self.robot.joints[j].kind
            yield from (("double", *a) for a in spring_attributes(there, kind, self.reading.angle, stiffness, rest))

    def _own(self, j: int, there: Any) -> Iterator[tuple[str, str, Any]]:
        new = {key: (kind, key, value) for kind, key, value in own_effects(self.robot, j)}
        for key in there:
            if key.startswith("minertia:effect:") and key.count(":") == 2 and key not in new:
                yield "custom double", key, 0.0
        yield from new.values()

    def has_offsets(self) -> bool:
        """Whether each joint with an offset has an actuator in the template that holds it."""
        there = self.reading.constant_efforts
        pairs = zip(self.robot.joints, self.robot.effects, strict=True)
        return all(self.reading.joints[joint.name] in there for joint, effects in pairs if effects.get("OFF"))

    def _node(self, path: str) -> Node:
        if self.reading.stage.prims[path].is_instance:
            raise DescriptionError(
                f"'{path}' is inside an instance, where nothing can be overridden; make it not instanceable",
                file=self.template,
            )
        node = self.root
        for part in path.strip("/").split("/"):
            node = node.child(part)
        return node


def _distance(a: Joint, b: Joint) -> float:
    """Largest difference of the placements of two joints [rad or m]."""
    return _between((a.R, a.p), (b.R, b.p))


def _between(a: Pose, b: Pose) -> float:
    """Largest difference of two poses [rad or m]."""
    return max(float(np.abs(np.array(x, float) - np.array(y, float)).max()) for x, y in zip(a, b, strict=True))


def _moved(new: float, before: float) -> bool:
    return abs(new - before) > UNCHANGED * abs(before)

"""Robots as USD: a complete new layer, or a layer that overrides values of the user's stage."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from minertia.algebra.vec3 import HERE, Pose, compose
from minertia.io.errors import DescriptionError
from minertia.io.files import write_file
from minertia.robot.formats.mjcf.values import quaternion
from minertia.robot.formats.mjcf.write import STIFF
from minertia.robot.formats.usd.actuators import ACTUATORS, SCHEMAS_VERSION, NewtonActuator, actuator_nodes
from minertia.robot.formats.usd.attributes import (
    FORMAT,
    FRAME,
    HELD,
    INERTIAL,
    NAME,
    NUMBER,
    TYPES,
    Units,
    effect_attributes,
    effect_schemas,
    frame_attributes,
    inertial_attributes,
    limit_attributes,
    own_effects,
    twelve,
)
from minertia.robot.formats.usd.over import over_text
from minertia.robot.formats.usd.stage import to_crate
from minertia.robot.formats.usd.text import Node, PrimNames, layer_text, quoted
from minertia.robot.inertia import Ten, impossible
from minertia.robot.joint import Joint
from minertia.robot.robot import Note, Robot

CREATOR = f"minertia usd format {FORMAT}"
SOFTNESS = "mjc:solreffriction"  # of dry friction in MuJoCo and in Newton's solver of that name, by default ten times
KINDS = {"revolute": "PhysicsRevoluteJoint", "prismatic": "PhysicsPrismaticJoint"}


def write_usd(
    robot: Robot,
    path: str | Path,
    template: str | Path | None = None,
    *,
    force: bool = False,
    prim: str = "",
    actuators: Sequence[NewtonActuator] = (),
) -> tuple[Note, ...]:
    """Write a robot as USD (.usda as text, .usdc and .usd binary); returns notes on what programs cannot read.

    template: the user's stage of the same robot; the new layer then has it as a sublayer, and overrides only
    masses, inertias, armature and friction.  force, prim: as in `write_robot`.  actuators: servos for Newton, only
    in a complete layer.
    """
    check_written(robot)
    inputs: tuple[Path, ...] = ()
    if template is None:
        text, held = to_usda(robot, actuators), (*HELD, *(("OFF",) if actuators else ()))
    else:
        stage = Path(template)
        place = os.path.relpath(os.path.realpath(stage), os.path.dirname(os.path.realpath(path)) or ".")
        text, held = over_text(robot.numeric, str(stage), Path(place).as_posix(), CREATOR, prim)
        inputs = (stage,)
    is_text = Path(path).suffix.lower() == ".usda"
    write_file(path, text if is_text else to_crate(text), force=force, inputs=inputs)
    return tuple(_notes(robot, template is None, held))


def check_written(robot: Robot) -> None:
    """Raise an error for a robot that a USD file cannot represent."""
    robot.require_values("a USD file")
    if robot.cuts:
        names = ", ".join(f"'{cut.name}'" for cut in robot.cuts[:5])
        raise DescriptionError(
            f"the robot '{robot.name}' has closed loops ({names}), which cannot be written to a USD file; write an "
            "MJCF or a TOML file"
        )
    if not robot.has_parameters:
        raise DescriptionError(
            f"the robot '{robot.name}' has no masses, which simulators then replace by values of their own; add "
            "inertial parameters first"
        )
    for name, ten in _links(robot):
        if ten is not None and float(ten[9]) < 0:
            raise DescriptionError(
                f"link '{name}' has a negative mass ({float(ten[9]):.4g} kg), which USD cannot represent; make the "
                "parameters physically consistent first"
            )


def _links(robot: Robot) -> Iterator[tuple[str, Ten | None]]:
    yield robot.base_name, robot.base_link
    for joint, ten in zip(robot.joints, robot.links, strict=True):
        yield joint.link or joint.name, ten


def to_usda(robot: Robot, actuators: Sequence[NewtonActuator] = ()) -> str:
    """Complete layer as text: one rigid body per link, whose frame is the joint frame; no geometry."""
    return _Layer(robot.numeric, actuators).text()


def joint_prims(robot: Robot) -> list[str]:
    """Names of the prims of the joints."""
    taken = PrimNames(["world_joint"])
    return [taken.new(joint.name) for joint in robot.joints]


class _Layer:
    """Writer of one robot: all bodies at one level, joints in a separate scope."""

    def __init__(self, robot: Robot, actuators: Sequence[NewtonActuator] = ()) -> None:
        self.robot, self.units, self.actuators = robot, Units(), actuators
        self.name = PrimNames(["physicsScene"]).new(robot.name or "robot")
        names = PrimNames(["joints", ACTUATORS])
        self.base = names.new(robot.base_name)
        self.links = [names.new(joint.link or joint.name) for joint in robot.joints]
        self.joints = joint_prims(robot)
        self.poses = self._placed()

    def text(self) -> str:
        metadata = [
            "customLayerData = {",
            f"    string creator = {quoted(CREATOR)}",
            *([f"    string newtonUsdSchemas = {quoted(SCHEMAS_VERSION)}"] if self.actuators else []),
            "}",
            f"defaultPrim = {quoted(self.name)}",
            "kilogramsPerUnit = 1",
            "metersPerUnit = 1",
            'upAxis = "Z"',
        ]
        return layer_text(metadata, [self._root(), self._scene()])

    def _placed(self) -> list[Pose]:
        """Pose of every body in the world, joints at 0."""
        found: list[Pose] = []
        for joint in self.robot.joints:
            found.append(compose(HERE if joint.parent is None else found[joint.parent], (joint.R, joint.p)))
        return found

    def _root(self) -> Node:
        robot = self.robot
        bodies = [self._body(self.base, robot.base_name, robot.base_link, HERE, None)]
        for j, joint in enumerate(robot.joints):
            bodies.append(self._body(self.links[j], joint.link or joint.name, robot.links[j], self.poses[j], j))
        attributes = [("custom int", "minertia:format", FORMAT), ("custom string", NAME, robot.name)]
        if robot.coupling is not None:
            flat = [g for row in robot.coupling for g in row]
            attributes.append(("custom double[]", "minertia:coupling", flat))
            symbols = dict.fromkeys(s for motor in robot.motor_effects for s in motor)
            for symbol in symbols:
                values = [motor.get(symbol, 0.0) for motor in robot.motor_effects]
                attributes.append(("custom double[]", f"minertia:motor:{symbol}", values))
        joints = Node("joints", "Scope", children=[*self._ground(), *map(self._joint, range(robot.n_joints))])
        parts = [*bodies, joints]
        if self.actuators:
            paths = {joint.name: self._joint_path(j) for j, joint in enumerate(robot.joints)}
            parts.append(Node(ACTUATORS, "Scope", children=[*actuator_nodes(self.actuators, paths)]))
        return Node(self.name, "Xform", ["PhysicsArticulationRootAPI"], attributes, children=parts)

    def _joint_path(self, j: int) -> str:
        return f"/{self.name}/joints/{self.joints[j]}"

    def _scene(self) -> Node:
        x, y, z = (float(v) for v in self.robot.gravity)
        size = (x * x + y * y + z * z) ** 0.5
        down = (x / size, y / size, z / size) if size else (0.0, 0.0, -1.0)
        values = [
            ("vector3f", "physics:gravityDirection", down),
            ("float", "physics:gravityMagnitude", size),
            ("custom double[]", "minertia:gravity", (x, y, z)),
        ]
        return Node("physicsScene", "PhysicsScene", attributes=values)

    def _body(self, name: str, own: str, ten: Ten | None, pose: Pose, carrier: int | None) -> Node:
        inertial = inertial_attributes(ten, self.units)
        attributes = [(TYPES[key], key, value) for key, value in inertial.items()]
        attributes += [("custom double[]", INERTIAL, ten or ()), ("custom string", NAME, own), *_pose(pose)]
        schemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI", "NewtonMassAPI"]
        return Node(name, "Xform", schemas, attributes, children=list(self._frames(carrier)))

    def _frames(self, carrier: int | None) -> Iterator[Node]:
        """Further frames of the robot file on a link."""
        links = {self.robot.base_name, *(joint.link for joint in self.robot.joints)}
        names = PrimNames()
        for own, frame in self.robot.frames.items():
            if frame.joint == carrier and own not in links:
                ours = [("custom double[]", FRAME, twelve(frame.pose)), ("custom string", NAME, own)]
                yield Node(names.new(own), "Xform", attributes=[*ours, *_pose(frame.pose)])

    def _path(self, joint: int | None) -> str:
        return f"/{self.name}/{self.base if joint is None else self.links[joint]}"

    def _ground(self) -> Iterator[Node]:
        """Fixed joint between the world and the base; none for a floating base."""
        if not self.robot.is_floating:
            attributes = [(TYPES[k], k, v) for k, v in frame_attributes(HERE).items()]
            yield Node("world_joint", "PhysicsFixedJoint", (), attributes, {"physics:body1": self._path(None)})

    def _joint(self, j: int) -> Node:
        joint, effects = self.robot.joints[j], self.robot.effects[j]
        pose = (joint.R, joint.p)
        standard = limit_attributes(joint, self.units) | effect_attributes(effects, joint.kind, self.units)
        attributes: list[tuple[str, str, Any]] = [("uniform token", "physics:axis", "Z")]
        attributes += [(TYPES[k], k, v) for k, v in frame_attributes(pose).items()]
        attributes += [("float", k, v) for k, v in standard.items()]
        if effects.get("FC"):
            attributes.append(("uniform double[]", SOFTNESS, STIFF))
        targets = {"physics:body0": self._path(joint.parent), "physics:body1": self._path(j)}
        schemas = [*effect_schemas(joint.kind, standard)]
        if self._is_mimic(joint):
            follows = joint.follows
            assert follows is not None
            schemas.append("NewtonMimicAPI")
            unit = self.units.position(joint.kind)
            attributes += [("float", "newton:mimicCoef0", follows.offset / unit)]
            attributes += [("float", "newton:mimicCoef1", follows.ratios[0])]
            targets["newton:mimicJoint"] = self._joint_path(follows.joints[0])
        attributes += [("custom double[]", FRAME, twelve(pose)), *self._own(j)]
        return Node(self.joints[j], KINDS[joint.kind], schemas, attributes, targets)

    def _is_mimic(self, joint: Joint) -> bool:
        """Whether Newton can represent a dependent joint: it has one leader, of the same kind."""
        follows = joint.follows
        return (
            follows is not None and len(follows.joints) == 1 and self.robot.joints[follows.joints[0]].kind == joint.kind
        )

    def _own(self, j: int) -> Iterator[tuple[str, str, Any]]:
        joint, x = self.robot.joints[j], self.robot.joints[j].limits
        yield "custom string", NAME, joint.name
        yield "custom int", NUMBER, j
        for name in ("lower", "upper", "velocity", "acceleration", "effort"):
            if getattr(x, name) is not None:
                yield "custom double", f"minertia:limit:{name}", getattr(x, name)
        yield from own_effects(self.robot, j)
        if joint.elastic is not None:
            for name in ("stiffness", "damping"):
                value = getattr(joint.elastic, name)
                yield "custom double", f"minertia:elastic:{name}", float("nan") if value is None else value
        if joint.follows is not None:
            leaders = [self.robot.joints[k].name for k in joint.follows.joints]
            yield "custom string[]", "minertia:follows:joints", leaders
            yield "custom double[]", "minertia:follows:ratios", joint.follows.ratios
            yield "custom double", "minertia:follows:offset", joint.follows.offset


def _pose(pose: Pose) -> list[tuple[str, str, Any]]:
    R, p = pose
    return [
        ("double3", "xformOp:translate", tuple(float(v) for v in p)),
        ("quatd", "xformOp:orient", quaternion(R)),
        ("uniform token[]", "xformOpOrder", ["xformOp:translate", "xformOp:orient"]),
    ]


# ------------------------------------------------------------------ what programs do not find


def _notes(robot: Robot, whole: bool, held: Sequence[str]) -> Iterator[Note]:
    """Notes on what other programs cannot read from the file.

    whole: whether a complete robot is written.  held: symbols of the effects that they read.
    """
    for name, ten in [*_links(robot)][0 if robot.is_floating else 1 :]:
        why = None if ten is None or not any(ten) else impossible(ten)
        if ten is None or not any(ten):
            text = "it has no mass, which USD cannot say; it got the least that simulators take for one"
            yield Note("warning", f"link '{name}'", text)
        elif why is not None:
            yield Note("warning", f"link '{name}'", f"{why}; Newton changes such an inertia when it reads the file")
    for j, (joint, effects) in enumerate(zip(robot.joints, robot.effects, strict=True)):
        lost = [f"{s}{j + 1} = {v:.4g}" for s, v in effects.items() if v and s not in held]
        lost += ["its elasticity"] if joint.elastic is not None else []
        if lost and (whole or joint.elastic is None):
            text = f"USD has no place for {', '.join(lost)}: in attributes of our own, which other programs ignore"
            yield Note("warning", f"joint '{joint.name}'", text)
        follows = joint.follows
        if whole and follows is not None:
            leaders = [robot.joints[k] for k in follows.joints]
            if len(leaders) > 1 or leaders[0].kind != joint.kind:
                text = "what it follows is in attributes of our own, since Newton has joints follow one of their kind"
                yield Note("warning", f"joint '{joint.name}'", text)
    if robot.coupling is not None:
        text = "coupled drives, and friction and inertia at their motors, are in attributes of our own"
        yield Note("warning", "robot", f"{text}, which other programs ignore")

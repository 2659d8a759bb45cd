"""Reader of USD stages (.usd, .usda, .usdc): rigid bodies and joints of UsdPhysics to a `Robot`."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from minertia.algebra.vec3 import Pose
from minertia.io.errors import DescriptionError
from minertia.robot.assembly import assemble
from minertia.robot.description import (
    BodySpec,
    Description,
    FollowsSpec,
    JointSpec,
    check_count,
    impossible_body,
    moving_links,
)
from minertia.robot.flange import is_flange_name
from minertia.robot.formats.reading import ReadOptions
from minertia.robot.formats.snap import LENGTH_TOLERANCE, snap_rotation, snap_vector
from minertia.robot.formats.usd.actuators import CONSTANT, KIND, TARGETS
from minertia.robot.formats.usd.attributes import FRAME, INERTIAL, NAME, NUMBER, Units, agrees, pose_of, shortest
from minertia.robot.formats.usd.bodies import EDITED, STILL, MissingInertia, body_notes, read_inertial
from minertia.robot.formats.usd.check import check_values
from minertia.robot.formats.usd.converters import MUJOCO, URDF, offset_in_rad, old_converter
from minertia.robot.formats.usd.joints import (
    FIRST_SIDE,
    UNREAD,
    FrameReading,
    JointMotion,
    as_single_axis,
    check_kind,
    crossed_limits,
    motion_of,
    placed,
    read_effects,
    read_elastic,
    read_limits,
    turned,
    unapplied_limits,
)
from minertia.robot.formats.usd.mimic import newton_mimic, physx_mimic
from minertia.robot.formats.usd.scene import read_gravity
from minertia.robot.formats.usd.springs import STIFFNESS, angle_unit, read_spring
from minertia.robot.formats.usd.stage import Prim, UsdStage, is_body, read_stage
from minertia.robot.formats.usd.text import plain_name
from minertia.robot.inertia import Ten
from minertia.robot.robot import Note, Robot

COMPUTED = "so that simulators compute one from its colliders; write out mass, centerOfMass and diagonalInertia"
WORLD = ""  # path of the world
LARGEST = 1e30  # of an entry of a transform; not a number fails this, too
SCALED = 1e-5  # change of lengths by a transform that is no rounding
SMALLEST_UNIT, LARGEST_UNIT = 1e-9, 1e9  # metres and kilograms of a unit that can be meant
EXCLUDED = "physics:excludeFromArticulation"
STACKING = "newton:jointsAddMobility"  # of an articulation: joints between the same two links act one after another
APART = 1e-4  # between the places of a link, by two of these joints, that is no rounding; units of the stage
BETWEEN = "#"  # in the path of a link without mass between two such joints
TURNED = 1e-3  # rad between the placement of the base and its joint to the world that is no rounding
CENTIMETRE = 0.01  # metres of a unit where a stage does not say so, by the rule of USD
Array = NDArray[np.float64]


def parse_usd(text: str, source: str, options: ReadOptions) -> Robot:
    """Read a robot from a USD stage; text is not used, since OpenUSD opens the file and its layers itself."""
    return StageReading(read_stage(source), options).robot()


@dataclass(frozen=True, slots=True)
class Edge:
    """A joint between two bodies, given by their paths ("" for the world).

    ends: pose of each prim that the joint names, in the frame of the body that carries the prim.
    """

    prim: Prim
    name: str
    motion: JointMotion
    bodies: tuple[str, str]
    ends: tuple[Array, Array]

    def other(self, body: str) -> str:
        """The other of the two bodies."""
        return self.bodies[1] if body == self.bodies[0] else self.bodies[0]


class StageReading:
    """Reader of one stage; `links` and `joints` map the names in the robot to paths of prims."""

    def __init__(self, stage: UsdStage, options: ReadOptions) -> None:
        self.stage, self.options = stage, options
        self.notes: list[Note] = []
        self.own = not options.single
        self.prim = options.prim.rstrip("/")
        self.units = self._units()
        self.bodies = {p.path: p for p in self._scope() if is_body(p)}
        self._check_bodies()
        joints = [p for p in self.stage.prims.values() if _is_joint(p) and self._is_of_robot(p)]
        check_count(len(joints), "joints", stage.source)
        self.names = _names([*self.bodies.values()], self.own)
        labels = _names(joints, self.own)
        self.edges = self._edges([p for p in joints if _is_on(p, "jointEnabled")], labels)
        if any(p.values.get(STACKING) is True for p in self._scope()):
            self.edges = [*self._unstacked()]
        self._choose()
        self.links = {self.names[path]: path for path in self.bodies if BETWEEN not in path}
        self.joints = {edge.name: edge.prim.path for edge in self.edges}
        self.tens: dict[str, Ten | None] = {}

    def robot(self) -> Robot:
        """The robot of the stage."""
        root, base, world, edges = self._base()
        specs, order = self._tree(root, edges)
        is_floating = (self.options.base or base) == "floating"
        moving = _moving(specs, {self.names[root]} if is_floating else set())
        self.tens = {self.names[path]: self._ten(prim, moving) for path, prim in self.bodies.items()}
        self._check_carried(moving)
        bodies = [BodySpec(self.names[path], self.tens[self.names[path]]) for path in order if path != WORLD]
        if root == WORLD:
            bodies.insert(0, BodySpec("world"))
        frames = [*self._frames({body.name for body in bodies})]
        self._tell()
        description = Description(
            name=self._name(),
            bodies=[*bodies, *(body for body, _ in frames)],
            joints=[*self._ordered(specs), *(joint for _, joint in frames)],
            root="world" if root == WORLD else self.names[root],
            gravity=self._gravity(None if is_floating else world),
            base=self.options.base or base,
            notes=self.notes,
            source=self.stage.source,
            auto_letters=self.options.letters,
            depth_first=not self._is_numbered(specs),
            exact=self.options.snap == 0,
            **self._coupling(),
        )
        robot = assemble(description)
        self._check_masses(robot)
        return robot

    def _fail(self, text: str) -> NoReturn:
        raise DescriptionError(text, file=self.stage.source)

    # ------------------------------------------------------------------ what there is

    def _scope(self) -> list[Prim]:
        prim = self.prim
        if not prim:
            return [*self.stage.prims.values()]
        if prim not in self.stage.paths:
            near = [path for path in sorted(self.stage.paths) if path.count("/") <= 2][:5]
            self._fail(f"there is no prim '{prim[:100]}'; there are {', '.join(near) or 'none'}")
        return self.stage.below(prim)

    def _is_of_robot(self, joint: Prim) -> bool:
        """Whether a joint is below the prim of the robot, or has no other links than those below it."""
        if not self.prim or f"{joint.path}/".startswith(f"{self.prim}/"):
            return True
        named = [path for k in (0, 1) for path in joint.targets.get(f"physics:body{k}", ())]
        bodies = [path for path in map(self.stage.body_of, named) if path]
        return bool(bodies) and all(path in self.bodies for path in bodies)

    def _units(self) -> Units:
        metres, kilograms = self.stage.metres, self.stage.kilograms
        if metres is None:
            text = "the stage does not give metersPerUnit, so a unit is a centimetre, by the rule of USD"
            self.notes.append(Note("warning", "stage", text))
            metres = CENTIMETRE
        for what, value in (("metersPerUnit", metres), ("kilogramsPerUnit", kilograms)):
            if not SMALLEST_UNIT < value < LARGEST_UNIT:
                self._fail(f"{what} is {value:g}, which no stage means; correct it")
        return Units(metres, kilograms)

    def _check_bodies(self) -> None:
        stage = self.stage
        if not self.bodies:
            over = f" ({stage.undefined} bodies and joints are overridden, but nowhere defined)"
            over = over if stage.undefined else ""
            over += f" with the variants {', '.join(stage.variants[:5])}" if stage.variants else ""
            where = f" below '{self.prim}'" if self.prim else ""
            self._fail(f"the stage has no rigid bodies{where}{over}{stage.lost or '; it may hold shapes only'}")
        check_count(len(self.bodies), "rigid bodies", stage.source)
        if stage.lost:
            parts = [f"{len(stage.unopened)} layers did not open"] if stage.unopened else []
            parts += [f"{len(stage.dangling)} references were not followed"] if stage.dangling else []
            text = f"{' and '.join(parts)}{stage.lost}; the robot is read without them"
            self.notes.append(Note("warning", "stage", text))
        self.notes += old_converter(stage.creators)
        if stage.foreign:
            text = (
                f"{'; '.join(stage.foreign[:3])}; USD converts no units, so the numbers are read in those of the stage"
            )
            self.notes.append(Note("warning", "stage", text))

    def _edge(self, prim: Prim, name: str) -> Edge:
        check_kind(prim, name, self.stage.source)
        check_values(prim, f"joint '{name}'", self.stage.source)
        motion = motion_of(prim, name, self.stage.source)
        self._check_constant(prim, f"joint '{name}'")
        self.notes += unapplied_limits(prim, name)
        found = [self._end(prim, name, k) for k in (0, 1)]
        ends = found[0][1], found[1][1]
        return Edge(as_single_axis(prim, motion), name, motion, (found[0][0], found[1][0]), ends)

    def _edges(self, joints: Sequence[Prim], names: Mapping[str, str]) -> list[Edge]:
        """Joints between different bodies; an error for one outside the articulation that closes a loop.

        A joint outside the articulation that closes none, such as that of a tool, is a joint like others.
        """
        found = [self._edge(p, names[p.path]) for p in joints if not p.values.get(EXCLUDED)]
        near: dict[str, list[str]] = {}
        for edge in found:
            for body in edge.bodies:
                near.setdefault(body, []).append(edge.other(body))
        for prim in (p for p in joints if p.values.get(EXCLUDED)):
            check_values(prim, f"joint '{names[prim.path]}'", self.stage.source)
            a, b = (self._end(prim, names[prim.path], k)[0] for k in (0, 1))
            if a != b and b in _connected(near, a):
                self._fail(
                    f"joint '{names[prim.path]}' closes a loop (excludeFromArticulation), and loops are not read from "
                    "USD; describe the robot in an MJCF or a TOML file"
                )
            near.setdefault(a, []).append(b)
            near.setdefault(b, []).append(a)
            text = "it is outside the articulation (excludeFromArticulation), and read like other joints"
            self.notes.append(Note("info", f"joint '{names[prim.path]}'", text))
            found.append(self._edge(prim, names[prim.path]))
        return [edge for edge in found if self._joins(edge)]

    def _joins(self, edge: Edge) -> bool:
        """Whether a joint joins two bodies; a warning for one that should move and does not."""
        body, other = edge.bodies
        if body == other and edge.motion.kind != "fixed":
            where = f"link '{self.names[body]}'" if body else "no link"
            text = f"both its ends are on {where}, so it moves nothing and is not read; correct body0 and body1"
            self.notes.append(Note("warning", f"joint '{edge.name}'", text))
        return body != other

    def _unstacked(self) -> Iterator[Edge]:
        """Joints with links without mass between those of one pair of links, in the order of the stage.

        Such a link has the frame of the second link, in which the second side of each joint places its axis.
        """
        for edge in self.edges:
            stack = [other for other in self.edges if other.bodies == edge.bodies]
            off = np.abs(placed(edge.prim, edge.ends) - placed(stack[0].prim, stack[0].ends)).max()
            if off > APART:
                self._fail(
                    f"joints '{stack[0].name}' and '{edge.name}' between the same two links place them differently at "
                    "0; correct localPos0, localRot0, localPos1 and localRot1"
                )
            k, (first, second), (begin, end) = stack.index(edge), edge.bodies, edge.ends
            prim = edge.prim
            if k > 0:
                first, begin = f"{second}{BETWEEN}{k}", end
                sides = {key: prim.values.get(key.replace("0", "1"), usual) for key, usual in FIRST_SIDE.items()}
                prim = replace(prim, values={**prim.values, **sides})
            if k < len(stack) - 1:
                path = f"{second}{BETWEEN}{k + 1}"
                self.bodies[path] = replace(self.bodies[second], path=path, values={}, colliders=False, weighed=False)
                self.names[path] = f"{self.names[second]}{BETWEEN}{k + 1}"
                second = path
            yield replace(edge, prim=prim, bodies=(first, second), ends=(begin, end))

    def _end(self, prim: Prim, name: str, k: int) -> tuple[str, Array]:
        """Body to which a joint is attached, and the pose in it of the prim that the joint names.

        The body is that prim or its nearest ancestor that is a body; the world if there is none.
        """
        targets = prim.targets.get(f"physics:body{k}", ())
        if not targets:
            return WORLD, np.eye(4)
        path = targets[0]
        if len(targets) > 1:
            self._fail(f"joint '{name}' has {len(targets)} targets of physics:body{k}; name one body")
        if path not in self.stage.paths:
            self._fail(f"joint '{name}' names the body '{path[:200]}', which does not exist{self.stage.lost}")
        body = path
        while body and body not in self.bodies:
            body = body.rpartition("/")[0]
        if body == path:
            return body, np.eye(4)
        there = self.stage.prims.get(path)
        world = np.eye(4) if there is None else there.world
        self._check_rigid(world, f"prim '{path}'")
        carrier = np.eye(4) if not body else self.bodies[body].world
        return body, np.asarray(np.linalg.inv(carrier) @ world)

    def _check_rigid(self, world: Array, what: str) -> None:
        """Raise an error for a transform that scales or mirrors, or is not finite."""
        R = world[:3, :3]
        is_rigid = bool(np.abs(world).max() < LARGEST) and np.abs(R.T @ R - np.eye(3)).max() <= SCALED
        if not is_rigid or np.linalg.det(R) < 0:
            self._fail(
                f"{what} is scaled or mirrored by its transform, so that its frames mean other lengths; apply the "
                "scale to the shapes and take it off the bodies"
            )

    def _check_constant(self, prim: Prim, what: str) -> None:
        if prim.changing:
            self._fail(f"{what} has time samples ({prim.changing[0]}); give values that do not change")

    def _check_still(self, body: Prim) -> None:
        """Raise an error for a body below a prim whose transform changes with time."""
        path = body.parent
        while path:
            above = self.stage.prims.get(path)
            names = [name for name in (above.changing if above else ()) if name.startswith("xformOp:")]
            if names:
                self._fail(f"prim '{path}' has time samples ({names[0]}); give values that do not change")
            path = path.rpartition("/")[0]

    # ------------------------------------------------------------------ which robot

    def _choose(self) -> None:
        """Keep the bodies connected by moving joints; an error where they form several robots.

        A robot can be selected by the option `prim`; bodies without a moving joint are reported in a note.
        """
        groups = self._groups()
        moving = [g for g in groups if any(e.motion.kind != "fixed" and {*e.bodies} & g for e in self.edges)]
        if not moving:
            self._fail("no joint of this stage can move")
        grounded = {body for edge in self.edges if WORLD in edge.bodies for body in edge.bodies}
        if len(moving) > 1 and not (self.prim and all(group & grounded for group in moving)):
            found = [_common([f"{path}/" for path in group]).rstrip("/") for group in moving]
            names = ", ".join(f"'{path}'" for path in found[:5])
            if all(len(group) == 1 and group & grounded for group in moving):
                self._fail(
                    f"its {len(moving)} links are each joined to the world and to no other link ({names}); choose one "
                    "by its prim, or, where they are one robot, convert it again by another version of the converter"
                )
            if len({*found}) < len(found):
                firsts = ", ".join(f"'{next(path for path in self.bodies if path in g)}'" for g in moving[:5])
                self._fail(
                    f"the stage has {len(moving)} robots below one prim, which no joint connects (with the links "
                    f"{firsts}); give each a prim of its own"
                )
            self._fail(
                f"the stage has {len(moving)} robots ({names}); choose one by its prim, as minertia convert "
                "--prim PATH does"
            )
        kept = {path for group in moving for path in group}
        alone = [self.names[path] for path in self.bodies if path not in kept]
        if alone:
            listed = ", ".join(alone[:5]) + ", ..." * (len(alone) > 5)
            self.notes.append(Note("info", "stage", f"bodies that no moving joint reaches are left out: {listed}"))
        self.bodies = {path: prim for path, prim in self.bodies.items() if path in kept}
        self.edges = [edge for edge in self.edges if {*edge.bodies} - {WORLD} <= kept]
        for path, prim in self.bodies.items():
            check_values(prim, f"link '{self.names[path]}'", self.stage.source)
            self._check_constant(prim, f"link '{self.names[path]}'")
            self._check_rigid(prim.world, f"link '{self.names[path]}'")
            self._check_still(prim)

    def _groups(self) -> list[set[str]]:
        """Groups of bodies that are connected by joints; joints to the world do not connect groups."""
        near: dict[str, list[str]] = {path: [] for path in self.bodies}
        for edge in self.edges:
            a, b = edge.bodies
            if a != WORLD and b != WORLD:
                near[a].append(b)
                near[b].append(a)
        groups, seen = [], set[str]()
        for path in near:
            if path in seen:
                continue
            group = _connected(near, path)
            seen |= group
            groups.append(group)
        return groups

    # ------------------------------------------------------------------ the tree

    def _base(self) -> tuple[str, str, Array, list[Edge]]:
        """Root, kind of base, rotation of the root in the world, and the joints of the tree."""
        on_ground = [edge for edge in self.edges if WORLD in edge.bodies]
        for edge in on_ground:
            self._check_placed(edge)
        held = [path for path, prim in self.bodies.items() if prim.values.get("physics:kinematicEnabled")]
        if not on_ground and len(held) <= 1:
            root = held[0] if held else self._top()
            return root, "fixed" if held else "floating", self.bodies[root].world[:3, :3], self.edges
        if [edge.motion.kind for edge in on_ground] == ["fixed"] and not {*held} - {on_ground[0].other(WORLD)}:
            mount = on_ground[0]
            return mount.other(WORLD), "fixed", self._mounted(mount), [e for e in self.edges if e is not mount]
        if held:
            self._fail(f"link '{self.names[held[-1]]}' is kinematic beside other fixed bodies; fix it by a joint")
        if self.options.base == "floating":
            self._fail(f"the base cannot float: joint '{on_ground[0].name}' moves on the ground")
        return WORLD, "fixed", np.eye(3), self.edges

    def _check_placed(self, edge: Edge) -> None:
        """A warning where a body is not placed as its joint to the world holds it, since gravity depends on it."""
        worlds = [
            end[:3, :3] if body == WORLD else self.bodies[body].world[:3, :3] @ end[:3, :3]
            for body, end in zip(edge.bodies, edge.ends, strict=True)
        ]
        angle = turned(edge.prim, edge.motion, worlds)
        if angle > TURNED:
            text = (
                f"the transform of its body is turned by {math.degrees(angle):.3g} degrees against this joint to the "
            )
            text += "world; the joint is read, so check the direction of gravity"
            self.notes.append(Note("warning", f"joint '{edge.name}'", text))

    def _mounted(self, edge: Edge) -> Array:
        """Rotation of the root body in the world, from the fixed joint that attaches it."""
        frames = FrameReading(edge.prim, edge.name, edge.motion, self.units, self.options.snap)
        backwards = edge.bodies[1] == WORLD
        found = frames.frames(edge.ends, backwards, False)
        R = np.array(found.placement[0], float) @ np.array(found.child_frame[0], float)
        return np.asarray(R)

    def _top(self) -> str:
        """Root body of a robot without a joint to the world.

        The articulation root, else the first body that is not the second body of any joint.
        """
        roots = [path for path, prim in self.bodies.items() if "PhysicsArticulationRootAPI" in prim.schemas]
        seconds = {edge.bodies[1] for edge in self.edges}
        free = [path for path in self.bodies if path not in seconds]
        found = roots if len(roots) == 1 else free
        if not found:
            self._fail("every link is the second body of a joint, which closes a loop; loops are not read from USD")
        return found[0]

    def _tree(self, root: str, edges: Sequence[Edge]) -> tuple[list[JointSpec], list[str]]:
        """Joints from the root outwards, and bodies in that order."""
        at: dict[str, list[Edge]] = {}
        for edge in edges:
            for body in edge.bodies:
                at.setdefault(body, []).append(edge)
        specs, order, used = [], [root], set[int]()
        known, waiting = {root}, [root]
        while waiting:
            body = waiting.pop(0)
            for edge in at.get(body, ()):
                if id(edge) in used:
                    continue
                used.add(id(edge))
                if edge.bodies[1] == body and BETWEEN in "".join(edge.bodies):
                    self._fail(
                        f"joint '{edge.name}', one of several between the same two links, has the outer link as "
                        "body0; swap body0 and body1"
                    )
                other = edge.other(body)
                if other in known:
                    self._check_stacked(edge)
                    self._fail_loop(edge, root)
                known.add(other)
                order.append(other)
                waiting.append(other)
                specs.append(self._joint(edge, body))
        return specs, order

    def _fail_loop(self, edge: Edge, root: str) -> NoReturn:
        """Raise an error for a joint that closes a loop; one without a body is a joint to the world."""
        ends = [other for other in self.edges if WORLD in other.bodies]
        if root != WORLD or len(ends) < 2:
            self._fail(
                f"joint '{edge.name}' closes a loop, and loops are not read from USD; describe the robot in an MJCF or "
                "a TOML file"
            )
        names = " and ".join(f"'{other.name}'" for other in ends[:2])
        self._fail(
            f"joint '{edge.name}' closes a loop by the joints {names} to the world, and loops are not read from USD; "
            "correct body0 and body1 where one of these joins two links"
        )

    def _check_stacked(self, edge: Edge) -> None:
        """Raise an error for a joint beside another one between the same bodies."""
        twins = [other.name for other in self.edges if {*other.bodies} == {*edge.bodies}]
        if len(twins) > 1:
            self._fail(
                f"joints '{twins[0]}' and '{twins[1]}' connect the same two links, which is not supported; delete one, "
                "or put a link between them"
            )

    def _joint(self, edge: Edge, parent: str) -> JointSpec:
        prim, kind = edge.prim, edge.motion.kind
        reading = FrameReading(prim, edge.name, edge.motion, self.units, self.options.snap)
        frames = reading.frames(edge.ends, edge.bodies[0] != parent, self.own)
        self.notes += frames.notes
        names = ["world" if path == WORLD else self.names[path] for path in (parent, edge.other(parent))]
        spec = JointSpec(edge.name, kind, names[0], names[1], frames.placement, frames.child_frame)
        if kind == "fixed":
            return spec
        is_mujoco = self.stage.is_of(MUJOCO)
        spring = read_spring(prim.values, kind, self.angle) if is_mujoco and self.own else None
        unread = UNREAD if spring is None else [key for key in UNREAD if key != STIFFNESS]
        effects, constants, notes = read_effects(
            prim, edge.name, kind, self.units, self.own, is_mujoco=is_mujoco, unread=unread
        )
        self.notes += notes
        if spring is not None and "KS" not in effects:
            effects["KS"], constants["KS"] = spring[0], {"rest": spring[1]}
        self._add_offset(prim, edge.name, effects, self.units.effort(kind))
        limits = read_limits(prim, kind, self.units, self.own)
        self.notes += crossed_limits(limits, edge.name)
        return replace(
            spec,
            limits=limits,
            effects=effects,
            constants=constants,
            follows=self._follows(edge),
            elastic=read_elastic(prim) if self.own else None,
        )

    @cached_property
    def angle(self) -> float | None:
        """Unit [rad] of angles in MuJoCo's attributes; None where it is not specified."""
        return angle_unit(self.stage.prims.values())

    @cached_property
    def constant_efforts(self) -> dict[str, Prim]:
        """Newton's actuators with a constant effort by the path of their joint."""
        found: dict[str, Prim] = {}
        for prim in self.stage.prims.values():
            value = prim.values.get(CONSTANT)
            if prim.kind == KIND and isinstance(value, float) and math.isfinite(value):
                found |= {path: prim for path in prim.targets.get(TARGETS, ())[:1]}
        return found

    def _add_offset(self, joint: Prim, name: str, effects: dict[str, float], unit: float) -> None:
        """Add the constant effort of a joint's Newton actuator as an offset, unless ours is the same."""
        actuator = self.constant_efforts.get(joint.path)
        constant = None if actuator is None else actuator.values[CONSTANT]
        if constant is None or agrees({CONSTANT: effects.get("OFF", 0.0)}, {CONSTANT: -constant * unit}):
            return
        if "OFF" in effects:
            self.notes.append(Note("warning", f"joint '{name}'", EDITED))
        effects["OFF"] = -shortest(constant) * unit

    def _follows(self, edge: Edge) -> FollowsSpec | None:
        prim, kind = edge.prim, edge.motion.kind
        standard = self._mimic(edge)
        leaders, ratios = (prim.values.get(f"minertia:follows:{w}") for w in ("joints", "ratios"))
        if not self.own or not leaders or not ratios or len(leaders) != len(ratios):
            return standard
        offset = float(prim.values.get("minertia:follows:offset", 0.0))
        ours = FollowsSpec(tuple(leaders), tuple(ratios), offset)
        if standard is None and (len(leaders) > 1 or self._is_other_kind(leaders[0], kind)):
            return ours  # what Newton cannot say
        same = standard is not None and agrees(
            {"ratio": ours.ratios, "offset": 1 + offset, "leader": ours.joints[0]},
            {"ratio": standard.ratios, "offset": 1 + standard.offset, "leader": standard.joints[0]},
        )
        return ours if same else standard

    def _is_other_kind(self, leader: str, kind: str) -> bool:
        return any(edge.name == leader and edge.motion.kind != kind for edge in self.edges)

    def _mimic(self, edge: Edge) -> FollowsSpec | None:
        """Mimic joint of Newton or PhysX."""
        given = newton_mimic(edge.prim, edge.name, self.stage.source) or physx_mimic(edge.prim)
        if given is None:
            return None
        kind, leader = edge.motion.kind, next((e for e in self.edges if e.prim.path == given.leader), None)
        name = given.leader.rpartition("/")[2] if leader is None else leader.name
        ratio, unit = shortest(given.ratio), self.units.position(kind)
        if leader is not None and leader.motion.kind not in (kind, "fixed"):
            if not given.has_units and not self.stage.is_of(MUJOCO):  # which writes it per rad
                self._fail(
                    f"joint '{edge.name}' follows '{name}' of another kind, for which Newton has no unit of "
                    "newton:mimicCoef1; make both revolute or both prismatic"
                )
            ratio *= unit / self.units.position(leader.motion.kind) if given.has_units else 1.0
        by = offset_in_rad(self.stage.creators)
        if not by or given.has_units or not given.offset or kind != "revolute":
            return FollowsSpec((name,), (ratio,), given.offset * unit)
        text = f"newton:mimicCoef0 is read in rad, as {by} wrote it; programs take degrees: convert the robot again"
        self.notes.append(Note("warning", f"joint '{edge.name}'", text))
        return FollowsSpec((name,), (ratio,), given.offset)

    # ------------------------------------------------------------------ parts of the description

    def _ten(self, prim: Prim, moving: Collection[str]) -> Ten | None:
        """Ten parameters of a body; moving: names of the bodies whose inertia contributes to efforts."""
        name = self.names[prim.path]
        is_urdf = self.stage.is_of(URDF)
        self.notes += body_notes(prim, name, is_urdf=is_urdf)
        try:
            ten, notes = read_inertial(prim, name, self.units, self.own, self.stage.source, is_urdf=is_urdf)
        except MissingInertia:
            if name in moving:
                raise
            self.notes.append(Note("info", f"link '{name}'", STILL))
            return None
        impossible = impossible_body(name, ten)
        self.notes += [*notes, *([impossible] if impossible is not None else [])]
        return ten

    def _frames(self, taken: set[str]) -> Iterator[tuple[BodySpec, JointSpec]]:
        """Further frames on bodies: those that minertia wrote, and those with the name of a flange."""
        for prim in self._scope():
            body = prim.parent
            while body and body not in self.bodies:
                body = body.rpartition("/")[0]
            name = str(prim.values.get(NAME, prim.label or prim.name))
            if not body or prim.path in self.bodies or name in taken or prim.kind != "Xform":
                continue
            if FRAME not in prim.values and not is_flange_name(name):
                continue
            taken.add(name)
            check_values(prim, f"prim '{prim.path}'", self.stage.source)
            carrier = self.names[body]
            yield BodySpec(name), JointSpec(f"{name} on {carrier}", "fixed", carrier, name, self._placed(prim, body))

    def _placed(self, prim: Prim, body: str) -> Pose:
        pose = np.linalg.inv(self.bodies[body].world) @ prim.world
        given = prim.values.get(FRAME) if self.own else None
        if given is not None and len(given) == 12 and prim.parent == body:
            ours = np.array(given, float)
            if np.abs(np.concatenate([pose[:3, :3].ravel(), pose[:3, 3]]) - ours).max() < 1e-6:
                return pose_of(given)
        self._check_rigid(pose, f"prim '{prim.path}'")
        place = (self.units.metres * pose[:3, 3]).tolist()
        return snap_rotation(pose[:3, :3], self.options.snap), snap_vector(
            place, LENGTH_TOLERANCE if self.options.snap else 0.0
        )

    def _is_numbered(self, specs: Sequence[JointSpec]) -> bool:
        paths = [self.joints[spec.name] for spec in specs if spec.kind != "fixed"]
        return self.own and all(NUMBER in self.stage.prims[path].values for path in paths)

    def _ordered(self, specs: list[JointSpec]) -> list[JointSpec]:
        """Joints in the order that minertia wrote to the file, else in the order of the stage."""
        numbers = {name: k for k, name in enumerate(self.joints)}
        if self._is_numbered(specs):
            numbers |= {name: int(self.stage.prims[p].values.get(NUMBER, 0)) for name, p in self.joints.items()}
        return sorted(specs, key=lambda spec: numbers[spec.name])

    def _name(self) -> str:
        root = self.stage.prims.get(self.prim or self.stage.default)
        if root is None:
            return _common([*self.bodies]).rpartition("/")[2] or "robot"
        return str(root.values.get(NAME) or root.label or root.name)

    def _gravity(self, world: Array | None) -> tuple[float, float, float]:
        """Gravity [m/s2] in the frame of the root, whose rotation in the world is given (None: in the world)."""
        found, notes = read_gravity(self.stage, self.units, self.own)
        self.notes += notes
        R = np.eye(3) if world is None else np.array(snap_rotation(world, self.options.snap), float)
        x, y, z = (float(v) + 0.0 for v in R.T @ found)
        return x, y, z

    def _coupling(self) -> dict[str, Any]:
        """Coupled drives, from minertia's attributes."""
        root = self.stage.prims.get(self.stage.default)
        if root is not None:
            check_values(root, f"prim '{root.path}'", self.stage.source)
        flat = root.values.get("minertia:coupling") if root is not None and self.own else None
        if not flat:
            return {}
        n = math.isqrt(len(flat))
        moving = [e for e in self.edges if e.motion.kind != "fixed"]
        if n * n != len(flat) or n != sum(self._follows(edge) is None for edge in moving):
            self._fail("minertia:coupling has not one row for each independent joint; correct it or delete it")
        assert root is not None
        motors = {k.rpartition(":")[2]: v for k, v in root.values.items() if k.startswith("minertia:motor:")}
        effects = [{s: v[k] for s, v in motors.items() if len(v) == n and v[k]} for k in range(n)]
        return {"coupling": np.reshape(flat, (n, n)).tolist(), "motor_effects": effects}

    def _check_carried(self, moving: Collection[str]) -> None:
        """Raise an error for a moving body whose mass its colliders give; a warning for one without any mass."""
        for name in (name for name in self.links if name in moving and self.tens[name] is None):
            prim = self.bodies[self.links[name]]
            if self.own and INERTIAL in prim.values:
                continue
            if prim.weighed or (prim.colliders and prim.values.get("physics:density")):
                self._fail(f"link '{name}' moves and has no physics:mass, {COMPUTED}")
            text = "it has no physics:mass and is read without one; simulators may compute one from its colliders"
            self.notes.append(Note("warning", f"link '{name}'", text))

    def _check_masses(self, robot: Robot) -> None:
        for name, ten in moving_links(robot):
            if name not in self.links:
                continue
            is_ours = self.own and INERTIAL in self.bodies[self.links[name]].values
            if (ten is None or not any(ten)) and not is_ours:
                self._fail(f"link '{name}' moves and has no physics:mass, {COMPUTED}")

    def _tell(self) -> None:
        if self.stage.tendons:
            text = (
                f"its tendons ({', '.join(self.stage.tendons[:3])}) are not read: their forces are no part of the robot"
            )
            self.notes.append(Note("warning", "stage", text))
        if self.stage.variants:
            listed = ", ".join(self.stage.variants[:5])
            self.notes.append(Note("info", "stage", f"read with the variants {listed}"))


def _moving(specs: Sequence[JointSpec], roots: Collection[str]) -> set[str]:
    """Names of the bodies that move: roots that do, and all behind a moving joint, fixed joints included."""
    moving = {*roots, *(spec.child for spec in specs if spec.kind != "fixed")}
    for spec in specs:  # from the root outwards
        moving |= {spec.child} if spec.parent in moving else set()
    return moving


def _is_joint(prim: Prim) -> bool:
    is_attached = any(prim.targets.get(f"physics:body{k}") for k in (0, 1))
    return prim.kind.endswith("Joint") and ("Physics" in prim.kind or is_attached)


def _is_on(prim: Prim, word: str) -> bool:
    return prim.values.get(f"physics:{word}") is not False


def _connected(near: Mapping[str, Sequence[str]], start: str) -> set[str]:
    """All bodies that joints connect with a body, and that body."""
    found, waiting = set[str](), [start]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += near.get(one, ())
    return found


def _common(paths: Sequence[str]) -> str:
    """Path of the deepest common ancestor of these prims; the first path if there is none."""
    parts = [path.split("/")[:-1] for path in paths]
    found = []
    for level in zip(*parts, strict=False):
        if len({*level}) > 1:
            break
        found.append(level[0])
    return "/".join(found) or paths[0]


def _names(prims: Sequence[Prim], own: bool) -> dict[str, str]:
    """Unique name of each prim by its path: minertia's name if the prim has not been renamed, else its label."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for prim in prims:
        ours = prim.values.get(NAME)
        name = prim.label or prim.name
        if own and isinstance(ours, str) and ours and prim.name.rstrip("_") == plain_name(ours).rstrip("_"):
            name = ours
        while name in taken:
            name += "_"
        taken.add(name)
        found[prim.path] = name
    return found

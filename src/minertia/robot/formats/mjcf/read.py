"""MJCF files, through the `mujoco` package (extra `sim`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.algebra.polynomial import turn
from minertia.algebra.vec3 import IDENTITY, ZERO, Pose, compose, invert, shift, turn_z
from minertia.io.errors import DescriptionError
from minertia.robot.assembly import assemble
from minertia.robot.description import BodySpec, Description, FollowsSpec, JointSpec, LoopSpec
from minertia.robot.flange import is_flange_name
from minertia.robot.formats.dh.loops import with_side_file
from minertia.robot.formats.mjcf.compile import Compiled, compile_mjcf
from minertia.robot.formats.mjcf.joints import (
    LoopReading,
    followers,
    is_driven,
    joint_constants,
    joint_effects,
    joint_limits,
    remarks,
)
from minertia.robot.formats.mjcf.lean import lean_document
from minertia.robot.formats.mjcf.values import spring_rest
from minertia.robot.formats.reading import ReadOptions
from minertia.robot.formats.snap import (
    LENGTH_TOLERANCE,
    REPORTED,
    axis_to_z,
    quaternion_to_matrix,
    rotation_angle,
    snap_angle,
    snap_rotation,
    snap_vector,
)
from minertia.robot.formats.xml import Element, numbers
from minertia.robot.inertia import Ten, from_com
from minertia.robot.robot import Note, Robot

MASSLESS = 4e-15  # kg: MuJoCo wants some mass in each moving body; what `to_mjcf` gives massless ones is below this
LARGEST = 1e100
_SIZES = (
    *("jnt_pos", "jnt_axis", "qpos0", "dof_armature", "dof_damping", "dof_frictionloss", "eq_data"),
    *("site_pos", "site_quat"),
    *("actuator_gear", "actuator_armature", "actuator_damping"),
)
# <custom> numerics for what MJCF has no place for
OFFSET, ORDER, SEED = "minertia_offset", "minertia_order", "minertia_seed"
EXACT = "minertia_exact"  # a <custom> numeric: angles are as written, and not rounded


def parse_mjcf(text: str, source: str | None, options: ReadOptions) -> Robot:
    """Parse a robot from the text of an MJCF file; source: its path, for includes and meshes."""
    return robot_of(compiled(text, source, options), options)


def compiled(text: str, source: str | None, options: ReadOptions) -> Compiled:
    """Trim the document and compile it with MuJoCo."""
    return compile_mjcf(lean_document(text, source), options.base == "floating")


def robot_of(compiled: Compiled, options: ReadOptions) -> Robot:
    """Convert a compiled model to a robot."""
    own = replace(options, snap=0.0) if EXACT in compiled.lean.numbers else options
    return _ModelReading(compiled, own).robot()


def _with_offset(joint: JointSpec, offset: float) -> JointSpec:
    """Joint with a constant effort, which is taken out of the rest position of its spring, if it has one."""
    own = {**joint.effects, "OFF": offset}
    stiffness, spring = own.get("KS"), joint.constants.get("KS", {})
    constants = {"KS": {"rest": spring_rest(spring["rest"], stiffness, -offset)}} if stiffness and spring else {}
    return replace(joint, effects=own, constants={**joint.constants, **constants})


def _is_passive(spec: JointSpec, driven: set[str]) -> bool | None:
    """True for a dependent joint, False for another joint with an actuator, None where the file does not say."""
    if spec.kind == "fixed":
        return None
    return False if spec.name in driven and spec.follows is None else True if spec.follows is not None else None


class _ModelReading:
    """Reader of one compiled model."""

    def __init__(self, compiled: Compiled, options: ReadOptions) -> None:
        self.c, self.m, self.options = compiled, compiled.model, options
        self.types = compiled.mujoco.mjtJoint
        self.names = [str(self.m.body(b).name) for b in range(self.m.nbody)]
        self.joint_names = [str(self.m.joint(j).name) for j in range(self.m.njnt)]
        self.notes: list[Note] = list(compiled.lean.notes)
        self.bodies: list[BodySpec] = []
        self.joints: list[JointSpec] = []
        self.between: set[str] = set()  # bodies between two joints of one body
        self._check_finite()

    def robot(self) -> Robot:
        root = self._root()
        follows, notes = followers(self.c, self.joint_names)
        self.notes += notes
        self.bodies.append(BodySpec(self.names[root], self._ten(root)))
        for b in self._below(root):
            self._add_body(b, follows)
        self._add_flanges()
        self.notes += remarks(self.c, self.names, self.joint_names, {spec.name for spec in self.joints})
        order = self._with_custom()
        loops = self._loops()
        return assemble(with_side_file(self._description(root, order, loops), self.options))

    def _description(self, root: int, order: bool, loops: list[LoopSpec]) -> Description:
        return Description(
            name=self.c.lean.name,
            bodies=self.bodies,
            joints=self.joints,
            root=self.names[root],
            gravity=self._gravity(),
            base="fixed" if root == 0 else "floating",
            notes=self.notes,
            source=self.c.lean.source,
            auto_letters=self.options.letters,
            depth_first=not order,
            loops=loops,
            seed=self._seed(),
            reference=self._drawn(),
            exact=self.options.snap == 0,
        )

    def _fail(self, message: str, node: Element | None = None) -> None:
        line = node.line if node is not None and node.own else None
        raise DescriptionError(message, file=self.c.lean.source, line=line)

    def _check_finite(self) -> None:
        for name in ("body_pos", "body_quat", "body_ipos", "body_iquat", "body_inertia", "body_mass", *_SIZES):
            values = np.asarray(getattr(self.m, name, 0.0))
            if not np.all(np.isfinite(values)) or np.max(np.abs(values), initial=0) > LARGEST:
                self._fail(f"a number in the file is larger than {LARGEST:g} (in MuJoCo's '{name}')")
        for name, what in (("body_quat", "orientation"), ("body_iquat", "orientation"), ("jnt_axis", "axis")):
            if np.any(np.abs(np.linalg.norm(getattr(self.m, name), axis=1) - 1) > 1e-6):
                self._fail(f"an {what} in the file has components too large or too small to define a direction")

    # ------------------------------------------------------------------ the base

    def _root(self) -> int:
        """Root body of the tree: 0 for the ground, else the floating base."""
        free = [j for j in range(self.m.njnt) if self.m.jnt_type[j] == self.types.mjJNT_FREE]
        if len(free) > 1:
            bodies = ", ".join(f"'{self.names[self.m.jnt_bodyid[j]]}'" for j in free)
            self._fail(f"the file has {len(free)} free joints (bodies {bodies}); only one floating base is supported")
        if self.options.base == "fixed" or (not free and self.options.base is None):
            return 0
        moving = [b for b in range(1, self.m.nbody) if self.m.body_parentid[b] == 0 and self._moves(b)]
        root = int(self.m.jnt_bodyid[free[0]]) if free else self._only(moving)
        others = [b for b in moving if b != root]
        if others:
            self._fail(
                f"the base '{self.names[root]}' floats, but '{self.names[others[0]]}' moves relative to the world "
                "independently of it; remove one of them"
            )
        joint = int(self.m.body_jntadr[root])
        if not free and self.m.body_jntnum[root]:
            self._fail(
                f"body '{self.names[root]}' is connected to the world by joint '{self.joint_names[joint]}', so "
                "the base cannot float; read the robot with a fixed base"
            )
        if free and self.m.body_jntnum[root] > 1:
            self._fail(
                f"body '{self.names[root]}' has other joints in addition to its free joint, which is not supported"
            )
        return root

    def _only(self, moving: list[int]) -> int:
        if len(moving) != 1:
            self._fail(
                f"the base cannot float: {len(moving)} bodies attached to the world carry joints, but exactly one must"
            )
        return moving[0]

    def _moves(self, b: int) -> bool:
        return any(self.m.body_jntnum[k] and self.m.body_rootid[k] == b for k in range(self.m.nbody))

    def _below(self, root: int) -> list[int]:
        inside = {root}
        for b in range(root + 1, self.m.nbody):
            if int(self.m.body_parentid[b]) in inside:
                inside.add(b)
        return sorted(inside - {root})

    def _gravity(self) -> tuple[float, float, float]:
        if self.m.opt.disableflags & int(self.c.mujoco.mjtDisableBit.mjDSBL_GRAVITY):
            self.notes.append(Note("info", "option", "the file disables gravity"))
            return 0.0, 0.0, 0.0
        x, y, z = (float(v) for v in self.m.opt.gravity)
        if max(abs(x), abs(y), abs(z)) > LARGEST:
            self._fail(f"gravity is larger than {LARGEST:g}")
        return x, y, z

    # ------------------------------------------------------------------ bodies and joints

    def _ten(self, b: int) -> Ten | None:
        """Ten parameters in the body's own frame; None for a body without mass."""
        m, mass = self.m, float(self.m.body_mass[b])
        if mass <= MASSLESS and np.all(m.body_inertia[b] <= MASSLESS):
            return None
        R = quaternion_to_matrix(*(float(v) for v in m.body_iquat[b]))
        inertia = R @ np.diag(m.body_inertia[b]) @ R.T
        written = self.c.full_inertia.get(self.names[b])
        if written is not None and np.allclose(written, inertia, rtol=0, atol=1e-11 + 1e-6 * np.abs(written).max()):
            inertia = written  # MuJoCo finds the principal axes to 1e-12, in older versions to 1e-9 kg m2
        return from_com(mass, [float(v) for v in m.body_ipos[b]], inertia)

    def _add_body(self, b: int, follows: dict[int, FollowsSpec]) -> None:
        name, parent = self.names[b], self.names[int(self.m.body_parentid[b])]
        pose = self._body_pose(b)
        joints = self._moving_joints(b)
        if not joints:
            self.joints.append(JointSpec(f"{name} on {parent}", "fixed", parent, name, pose))
        for k, j in enumerate(joints):
            last = k == len(joints) - 1
            child = name if last else self._fresh(f"{name}/{self.joint_names[j]}")
            frame = self._joint_frame(j)
            placement = compose(pose, frame, self._reference(j))
            spec = self._joint_spec(j, parent, child)
            self.joints.append(replace(spec, placement=placement, child_frame=invert(frame), follows=follows.get(j)))
            self.bodies.append(BodySpec(child, self._ten(b) if last else None))
            self.between |= {child} if not last else set()
            parent, pose = child, (IDENTITY, ZERO)
        if not joints:
            self.bodies.append(BodySpec(name, self._ten(b)))

    def _add_flanges(self) -> None:
        """Add sites that are flanges by name as massless bodies: frames in which payloads are given."""
        known = {body.name for body in self.bodies}
        for s in range(self.m.nsite):
            name, parent = str(self.m.site(s).name), self.names[int(self.m.site_bodyid[s])]
            if is_flange_name(name) and name not in known and parent in known:
                R = snap_rotation(quaternion_to_matrix(*(float(v) for v in self.m.site_quat[s])), self.options.snap)
                pose = R, self._vector(self.m.site_pos[s])
                self.joints.append(JointSpec(f"{name} on {parent}", "fixed", parent, name, pose))
                self.bodies.append(BodySpec(name))

    def _fresh(self, name: str) -> str:
        while name in self.names:
            name += "_"
        return name

    def _moving_joints(self, b: int) -> list[int]:
        first = int(self.m.body_jntadr[b])
        joints = list(range(first, first + int(self.m.body_jntnum[b])))
        for j in joints:
            if self.m.jnt_type[j] == self.types.mjJNT_BALL:
                self._fail(
                    f"joint '{self.joint_names[j]}' is a ball joint, which is not supported; use three hinges, or "
                    "two hinges normal to a rod whose other end is held by a connect constraint",
                    self.c.lean.joints.get(self.joint_names[j]),
                )
        return [j for j in joints if self.m.jnt_type[j] != self.types.mjJNT_FREE]

    def _body_pose(self, b: int) -> Pose:
        A = quaternion_to_matrix(*(float(v) for v in self.m.body_quat[b]))
        R = snap_rotation(A, self.options.snap)
        self._report(f"body '{self.names[b]}'", "orientation", rotation_angle(A, R))
        return R, self._vector(self.m.body_pos[b])

    def _vector(self, p: NDArray[np.float64]) -> Any:
        return snap_vector([float(v) for v in p], LENGTH_TOLERANCE if self.options.snap else 0.0)

    def _joint_frame(self, j: int) -> Pose:
        """Pose of the joint frame (z = axis) in the body's own frame."""
        axis = self.m.jnt_axis[j]
        R = axis_to_z([float(v) for v in axis], self.options.snap)
        z = np.array([float(row[2]) for row in R])
        self._report(f"joint '{self.joint_names[j]}'", "axis", float(np.linalg.norm(np.cross(axis, z))))
        return R, self._vector(self.m.jnt_pos[j])

    def _reference(self, j: int) -> Pose:
        """Displacement of joint j by minus `ref`: the file gives the pose of the body at the position `ref`."""
        ref = float(self.m.qpos0[self.m.jnt_qposadr[j]])
        if ref == 0:
            return IDENTITY, ZERO
        if self.m.jnt_type[j] == self.types.mjJNT_SLIDE:
            return shift(z=-ref)
        angle = snap_angle(-ref, self.options.snap)
        self._report(f"joint '{self.joint_names[j]}'", "ref", abs(angle + ref))
        return turn_z(turn(angle))

    def _report(self, where: str, what: str, off: float) -> None:
        if off > REPORTED:
            text = f"{what} snapped to the exact angle (off by {off:.2g} rad)"
            self.notes.append(Note("info", where, text, is_geometry=True))

    def _joint_spec(self, j: int, parent: str, child: str) -> JointSpec:
        m, name = self.m, self.joint_names[j]
        slides = m.jnt_type[j] == self.types.mjJNT_SLIDE
        node = self.c.lean.joints.get(name)
        return JointSpec(
            name=name,
            kind="prismatic" if slides else "revolute",
            parent=parent,
            child=child,
            limits=joint_limits(self.c, j),
            effects=joint_effects(self.c, j),
            constants=joint_constants(self.c, j),
            line=node.line if node is not None and node.own else None,
        )

    # ------------------------------------------------------------------ loops

    def _loops(self) -> list[LoopSpec]:
        """Cut joints; joints with an actuator are active."""
        reading = LoopReading(self.c, self.names, self.options.snap)
        loops = reading.loops()
        self.notes += reading.notes
        known = {body.name for body in self.bodies}
        if loops:  # they are known to have no mass, so that nothing of them is looked for
            self.bodies = [replace(b, ten=(0.0,) * 10) if b.name in self.between else b for b in self.bodies]
        for loop in loops:
            for body in (loop.first, loop.second):
                if body not in known:
                    self._fail(
                        f"the loop '{loop.name}' connects the floating base to '{body}', which is not part of the robot"
                    )
        if loops and self.m.nu:
            driven = {self.joint_names[j] for j in range(self.m.njnt) if is_driven(self.c, j)}
            self.joints = [replace(s, is_passive=_is_passive(s, driven)) for s in self.joints]
        return loops

    def _drawn(self) -> dict[str, float]:
        """Non-zero positions of the moving joints in the file's reference configuration."""
        m = self.m
        names = {spec.name for spec in self.joints if spec.kind != "fixed"}
        found = {self.joint_names[j]: float(m.qpos0[m.jnt_qposadr[j]]) for j in range(m.njnt)}
        return {name: value for name, value in found.items() if name in names and value}

    def _seed(self) -> dict[str, float]:
        moving = {spec.name for spec in self.joints if spec.kind != "fixed"}
        names = [name for name in self.joint_names if name in moving]
        return dict(zip(names, self._numbers(SEED, len(names)), strict=False))

    # ------------------------------------------------------------------ what MJCF has no place for

    def _with_custom(self) -> bool:
        """Apply offsets and the joint order from <custom> numerics; returns whether the file gives an order."""
        moving = [k for k, spec in enumerate(self.joints) if spec.kind != "fixed"]
        offsets, order = (self._numbers(name, len(moving)) for name in (OFFSET, ORDER))
        for k, value in zip(moving, offsets, strict=False):
            if value:
                self.joints[k] = _with_offset(self.joints[k], value)
        if order:
            if sorted(order) != list(range(len(moving))):
                self._fail(f"the numeric '{ORDER}' is not a permutation of the joints")
            place = dict(zip(moving, order, strict=True))
            self.joints = [self.joints[k] for k in sorted(range(len(self.joints)), key=lambda k: place.get(k, -1.0))]
        return bool(order)

    def _numbers(self, name: str, count: int) -> tuple[float, ...]:
        element = self.c.lean.numbers.get(name)
        return () if element is None else numbers(element, "data", f"'{name}' (one number per joint)", count)

"""Joint properties of a compiled MJCF model besides placement: loops, tendons, limits, friction, drives, notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minertia.algebra.vec3 import HERE, IDENTITY, Pose
from minertia.io.arrays import Array
from minertia.io.errors import DescriptionError
from minertia.robot.description import FollowsSpec, LoopSpec
from minertia.robot.formats.mjcf.compile import Compiled
from minertia.robot.formats.mjcf.values import FAR
from minertia.robot.formats.snap import axis_to_z, quaternion_to_matrix, snap_rotation
from minertia.robot.formats.xml import Element, number, numbers
from minertia.robot.joint import Limits
from minertia.robot.robot import Note

# -------------------------------------------------------------------------------------------------- loops and tendons


AXIS = " (axis)"  # end of the name of a second `connect`, on the axis of a cut joint that turns


class LoopReading:
    """Cut joints of a compiled model; `notes` lists inactive ones."""

    def __init__(self, compiled: Compiled, bodies: Sequence[str], snap: float) -> None:
        self.c, self.m, self.bodies, self.snap = compiled, compiled.model, bodies, snap
        self.notes: list[Note] = []
        self.data: Any = None  # the model at its reference configuration, made when needed

    def loops(self) -> list[LoopSpec]:
        """Cut joint for each active `weld` and `connect`; the two `connect` of a revolute joint become one.

        minertia writes a revolute cut joint as two `connect` elements on its axis.
        """
        connect, weld = (int(kind) for kind in (self.c.mujoco.mjtEq.mjEQ_CONNECT, self.c.mujoco.mjtEq.mjEQ_WELD))
        found: dict[str, LoopSpec] = {}
        for e in range(self.m.neq):
            kind = int(self.m.eq_type[e])
            if kind not in (connect, weld):
                continue
            name = str(self.m.equality(e).name) or f"{'connect' if kind == connect else 'weld'} {e + 1}"
            if not self.m.eq_active0[e]:
                self.notes.append(Note("info", f"equality '{name}'", "it is not active and is ignored"))
            elif kind == weld:
                found[name] = self._weld(e, name)
            elif name.endswith(AXIS) and name.removesuffix(AXIS) in found:
                whole = name.removesuffix(AXIS)
                found[whole] = self._hinge(found[whole], self._connect(e, name))
            else:
                found[name] = self._connect(e, name)
        return list(found.values())

    def _connect(self, e: int, name: str) -> LoopSpec:
        if self._has_sites(e):
            (first, (_, p)), (second, (_, r)) = self._site(e, 0), self._site(e, 1)
            return LoopSpec(name, "spherical", first, second, (IDENTITY, p), (IDENTITY, r))
        first, second = self._body(e, 0), self._body(e, 1)
        a, b = (_vector(self.m.eq_data[e][k : k + 3]) for k in (0, 3))
        return LoopSpec(name, "spherical", first, second, (IDENTITY, a), (IDENTITY, b))

    def _weld(self, e: int, name: str) -> LoopSpec:
        if self._has_sites(e):
            (first, first_pose), (second, second_pose) = self._site(e, 0), self._site(e, 1)
            return LoopSpec(name, "fixed", first, second, first_pose, second_pose)
        own = str(self.m.equality(e).name)
        node = next((n for n in self._nodes("weld") if n.attributes.get("name", "") == own), None)
        if node is not None and any(numbers(node, "relpose", f"weld '{name}'", 7, (0.0,) * 7)[3:]):
            raise node.error(f"weld '{name}' has a 'relpose', which is not supported; weld two sites instead")
        pose = self._relative(int(self.m.eq_obj1id[e]), int(self.m.eq_obj2id[e]))
        return LoopSpec(name, "fixed", self._body(e, 0), self._body(e, 1), pose, HERE)

    def _hinge(self, origin: LoopSpec, axis: LoopSpec) -> LoopSpec:
        """Revolute cut joint from two pairs of coincident points on its axis."""
        poses = []
        for at, towards in ((origin.first_pose, axis.first_pose), (origin.second_pose, axis.second_pose)):
            direction = np.array(towards[1], float) - np.array(at[1], float)
            poses.append((axis_to_z((direction / np.linalg.norm(direction)).tolist(), self.snap), at[1]))
        return LoopSpec(origin.name, "revolute", origin.first, origin.second, poses[0], poses[1], origin.line)

    # ------------------------------------------------------------------ ends

    def _has_sites(self, e: int) -> bool:
        return int(self.m.eq_objtype[e]) == int(self.c.mujoco.mjtObj.mjOBJ_SITE)

    def _body(self, e: int, end: int) -> str:
        return self.bodies[int((self.m.eq_obj1id, self.m.eq_obj2id)[end][e])]

    def _site(self, e: int, end: int) -> tuple[str, Pose]:
        site = int((self.m.eq_obj1id, self.m.eq_obj2id)[end][e])
        R = snap_rotation(quaternion_to_matrix(*(float(v) for v in self.m.site_quat[site])), self.snap)
        return self.bodies[int(self.m.site_bodyid[site])], (R, _vector(self.m.site_pos[site]))

    def _relative(self, first: int, second: int) -> Pose:
        """Pose of a body in another in the file's reference configuration."""
        if self.data is None:
            self.data = self.c.mujoco.MjData(self.m)
            self.c.mujoco.mj_kinematics(self.m, self.data)
        R_a, R_b = (self.data.xmat[b].reshape(3, 3) for b in (first, second))
        R = snap_rotation(R_a.T @ R_b, self.snap)
        return R, _vector(R_a.T @ (self.data.xpos[second] - self.data.xpos[first]))

    def _nodes(self, tag: str) -> list[Element]:
        return [node for section in self.c.lean.full.all("equality") for node in section.all(tag)]


def tendon_followers(compiled: Compiled, names: Sequence[str]) -> dict[int, FollowsSpec]:
    """Joints that depend on several others: the first joint of each fixed tendon of constant length."""
    m, full = compiled.model, compiled.lean.full
    tendons = {n.attributes.get("name", ""): n for section in full.all("tendon") for n in section.all("fixed")}
    found: dict[int, FollowsSpec] = {}
    for node in (n for section in full.all("equality") for n in section.all("tendon")):
        where = f"equality of tendon '{node.attributes.get('tendon1', '')}'"
        tendon = tendons.get(node.attributes.get("tendon1", ""))
        length, *rest = numbers(node, "polycoef", where, 5, (0.0, 1.0, 0.0, 0.0, 0.0))
        if tendon is None or "tendon2" in node.attributes:
            raise DescriptionError(
                f"the {where} is not supported; only one fixed tendon of constant length can couple joints",
                file=node.source,
                line=node.line,
            )
        parts = [(names.index(p.required("joint", where)), number(p, "coef", where, 1.0)) for p in tendon.all("joint")]
        parts = [(j, factor) for j, factor in parts if factor]
        if len(parts) < 2 or parts[0][0] in found:
            raise node.error(f"the {where} must couple at least two joints, the first of which follows no other tendon")
        (own, by), *others = parts
        total = length + sum(factor * float(m.qpos0[m.jnt_qposadr[j]]) for j, factor in parts)
        ratios = tuple(-factor / by for _, factor in others)
        found[own] = FollowsSpec(tuple(names[j] for j, _ in others), ratios, total / by)
    return found


def _vector(p: Array) -> Any:
    return tuple(0 if abs(float(v)) < 1e-15 else float(v) for v in p)


# ------------------------------------------------------------------------------------------- limits, friction, drives


def joint_limits(compiled: Compiled, j: int) -> Limits:
    """Range and effort limit of MuJoCo's joint j."""
    m = compiled.model
    low, high = (float(v) for v in m.jnt_range[j]) if m.jnt_limited[j] else (None, None)
    effort = float(np.max(np.abs(m.jnt_actfrcrange[j]))) if m.jnt_actfrclimited[j] else _drive_effort(compiled, j)
    return Limits(lower=low, upper=high, effort=effort)


def joint_effects(compiled: Compiled, j: int) -> dict[str, float]:
    """Non-zero joint-side effects of MuJoCo's joint j.

    Armature and damping of its actuators are included, multiplied by the gear squared.
    """
    m, d = compiled.model, int(compiled.model.jnt_dofadr[j])
    armature, damping = drive_part(compiled, j)
    values = {
        "IA": float(m.dof_armature[d]) + armature,
        "FV": float(m.dof_damping[d]) + damping,
        "FC": float(m.dof_frictionloss[d]),
        "FVC": _row(m, "dof_dampingpoly", d)[1],
        "KS": 0.0 if _is_far(m, j) else float(m.jnt_stiffness[j]),
    }
    return {symbol: value for symbol, value in values.items() if value != 0}


def _is_far(m: Any, j: int) -> bool:
    """Whether the spring of joint j represents a constant effort; its exact value is in the numeric `OFFSET`."""
    return bool(abs(m.qpos_spring[m.jnt_qposadr[j]]) >= 0.5 * FAR)


def joint_constants(compiled: Compiled, j: int) -> dict[str, dict[str, float]]:
    """Constants of the effects of MuJoCo's joint j: the rest position of its spring."""
    m = compiled.model
    if not m.jnt_stiffness[j] or _is_far(m, j):
        return {}
    return {"KS": {"rest": float(m.qpos_spring[m.jnt_qposadr[j]])}}


def drive_part(compiled: Compiled, j: int) -> tuple[float, float]:
    """Inertia and damping that the actuators of joint j add to it."""
    m = compiled.model
    armature = damping = 0.0
    for a in _drives(compiled, j):
        square = float(m.actuator_gear[a][0]) ** 2
        armature += square * float(getattr(m, "actuator_armature", np.zeros(m.nu))[a])
        damping += square * float(getattr(m, "actuator_damping", np.zeros(m.nu))[a])
    return armature, damping


def _drive_effort(compiled: Compiled, j: int) -> float | None:
    """Effort limit of the single actuator on joint j; None if it is not specified."""
    m, drives = compiled.model, _drives(compiled, j)
    if len(drives) != 1 or not m.actuator_forcelimited[drives[0]]:
        return None
    a = drives[0]
    return abs(float(m.actuator_gear[a][0])) * float(np.max(np.abs(m.actuator_forcerange[a])))


def is_driven(compiled: Compiled, j: int) -> bool:
    """Whether an actuator acts on MuJoCo's joint j."""
    return bool(_drives(compiled, j))


def _drives(compiled: Compiled, j: int) -> Sequence[int]:
    return [a for a in range(compiled.model.nu) if int(compiled.model.actuator_trnid[a][0]) == j]


def _row(model: Any, name: str, k: int) -> tuple[float, float]:
    """Coefficients of |x| and x^2 in a polynomial, zeros where this version of MuJoCo has none."""
    table = getattr(model, name, None)
    return (0.0, 0.0) if table is None else (float(table[k][0]), float(table[k][1]))


def followers(compiled: Compiled, names: Sequence[str]) -> tuple[dict[int, FollowsSpec], list[Note]]:
    """Leaders of each dependent joint, from linear joint equalities and constant-length tendons; and notes."""
    m = compiled.model
    found = tendon_followers(compiled, names)
    notes = []
    for e in range(m.neq):
        if int(m.eq_type[e]) != int(compiled.mujoco.mjtEq.mjEQ_JOINT):
            continue
        j, leader = int(m.eq_obj1id[e]), int(m.eq_obj2id[e])
        c0, c1, *higher = (float(c) for c in m.eq_data[e][:5])
        where = f"equality of joint '{names[j]}'"
        if not m.eq_active0[e]:
            notes.append(Note("info", where, "it is not active and is ignored"))
        elif leader < 0 or j in found or c1 == 0 or any(higher):
            raise DescriptionError(
                f"the {where} is not supported: a joint can have one linear relation to another joint (polycoef a "
                "b 0 0 0); replace the equality or remove it",
                file=compiled.lean.source,
            )
        else:
            x0, y0 = (float(m.qpos0[m.jnt_qposadr[k]]) for k in (leader, j))
            found[j] = FollowsSpec((names[leader],), (c1,), y0 + c0 - c1 * x0)
    return found, notes


def remarks(compiled: Compiled, names: Sequence[str], joint_names: Sequence[str], used: set[str]) -> list[Note]:
    """Notes on elements that affect the motion in MuJoCo and are not part of the rigid model."""
    m = compiled.model
    found = []
    for j in range(m.njnt):
        where = f"joint '{joint_names[j]}'"
        if joint_names[j] in used:
            found += [(where, text) for text in _joint_remarks(m, j)]
        elif m.jnt_type[j] == compiled.mujoco.mjtJoint.mjJNT_FREE and _resists(m, int(m.jnt_dofadr[j])):
            found.append((where, "damping, friction and armature of a free joint are ignored"))
    for b in np.flatnonzero(m.body_gravcomp):
        found.append(
            (f"body '{names[int(b)]}'", ("its gravity compensation is not part of the rigid-body model and is ignored"))
        )
    if m.opt.density or m.opt.viscosity:
        found.append(
            ("option", ("forces of the surrounding fluid are not part of the rigid-body model and are ignored"))
        )
    return [Note("warning", where, text) for where, text in found]


def _joint_remarks(m: Any, j: int) -> list[str]:
    texts = []
    if any(_row(m, "jnt_stiffnesspoly", j)):
        texts.append("only the linear part of its spring is used")
    if _row(m, "dof_dampingpoly", int(m.jnt_dofadr[j]))[0]:
        texts.append("the quadratic part of its damping is ignored")
    return texts


def _resists(m: Any, d: int) -> bool:
    return any(np.any(table[d : d + 6]) for table in (m.dof_damping, m.dof_frictionloss, m.dof_armature))

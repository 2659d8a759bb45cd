"""Closed loops of a compiled MJCF: `connect` and `weld`, and tendons that tie joints together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minertia.algebra.vec3 import HERE, IDENTITY, Pose
from minertia.io.arrays import Array
from minertia.io.errors import DescriptionError
from minertia.robot.description import FollowsSpec, LoopSpec
from minertia.robot.mjcf.compile import Compiled
from minertia.robot.robot import Note
from minertia.robot.snap import axis_to_z, quaternion_to_matrix, snap_rotation
from minertia.robot.xml_input import Element, number, numbers

AXIS = " (axis)"  # end of the name of a second `connect`, on the axis of a cut joint that turns


class LoopReading:
    """The cut joints of a compiled model; `notes` says what is not active."""

    def __init__(self, compiled: Compiled, bodies: Sequence[str], snap: float) -> None:
        self.c, self.m, self.bodies, self.snap = compiled, compiled.model, bodies, snap
        self.notes: list[Note] = []
        self.data: Any = None  # the model at its reference configuration, made when needed

    def loops(self) -> list[LoopSpec]:
        """One for each `connect` (two of them for a hinge that we wrote) and `weld` that is active."""
        connect, weld = (int(kind) for kind in (self.c.mujoco.mjtEq.mjEQ_CONNECT, self.c.mujoco.mjtEq.mjEQ_WELD))
        found: dict[str, LoopSpec] = {}
        for e in range(self.m.neq):
            kind = int(self.m.eq_type[e])
            if kind not in (connect, weld):
                continue
            name = str(self.m.equality(e).name) or f"{'connect' if kind == connect else 'weld'} {e + 1}"
            if not self.m.eq_active0[e]:
                self.notes.append(Note("info", f"equality '{name}'", "it is not active and is left out"))
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
        """Two points that coincide are an axis."""
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
        """Pose of a body in another where the file draws them."""
        if self.data is None:
            self.data = self.c.mujoco.MjData(self.m)
            self.c.mujoco.mj_kinematics(self.m, self.data)
        R_a, R_b = (self.data.xmat[b].reshape(3, 3) for b in (first, second))
        R = snap_rotation(R_a.T @ R_b, self.snap)
        return R, _vector(R_a.T @ (self.data.xpos[second] - self.data.xpos[first]))

    def _nodes(self, tag: str) -> list[Element]:
        return [node for section in self.c.lean.full.all("equality") for node in section.all(tag)]


def tendon_followers(compiled: Compiled, names: Sequence[str]) -> dict[int, FollowsSpec]:
    """Joints that a fixed tendon of constant length ties to several others: the first of the tendon follows them."""
    m, full = compiled.model, compiled.lean.full
    tendons = {n.attributes.get("name", ""): n for section in full.all("tendon") for n in section.all("fixed")}
    found: dict[int, FollowsSpec] = {}
    for node in (n for section in full.all("equality") for n in section.all("tendon")):
        where = f"equality of tendon '{node.attributes.get('tendon1', '')}'"
        tendon = tendons.get(node.attributes.get("tendon1", ""))
        length, *rest = numbers(node, "polycoef", where, 5, (0.0, 1.0, 0.0, 0.0, 0.0))
        if tendon is None or "tendon2" in node.attributes:
            raise DescriptionError(
                f"the {where} is not supported; one fixed tendon of constant length can tie joints",
                file=node.source,
                line=node.line,
            )
        parts = [(names.index(p.required("joint", where)), number(p, "coef", where, 1.0)) for p in tendon.all("joint")]
        parts = [(j, factor) for j, factor in parts if factor]
        if len(parts) < 2 or parts[0][0] in found:
            raise node.error(f"the {where} must tie at least two joints, the first of which follows no other tendon")
        (own, by), *others = parts
        total = length + sum(factor * float(m.qpos0[m.jnt_qposadr[j]]) for j, factor in parts)
        ratios = tuple(-factor / by for _, factor in others)
        found[own] = FollowsSpec(tuple(names[j] for j, _ in others), ratios, total / by)
    return found


def _vector(p: Array) -> Any:
    return tuple(0 if abs(float(v)) < 1e-15 else float(v) for v in p)

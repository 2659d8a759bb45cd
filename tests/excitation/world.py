"""A robot in MuJoCo, built from its file by other code than the package's readers where that is a URDF or MJCF."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minertia.robot.robot import Robot

STRIPPED = ("asset", "actuator", "sensor", "contact", "tendon", "equality", "keyframe", "default")


class World:
    """Joint centres and shapes of a robot at any posture."""

    def __init__(self, name: str, robot: Robot) -> None:
        self.mujoco: Any = pytest.importorskip("mujoco")
        self.robot, self.spec = robot.numeric, self.mujoco.MjSpec()
        if name.endswith(".urdf"):
            self._from_urdf(ET.parse(name).getroot())
            self.model = self.spec.compile()
        elif name.endswith(".xml"):
            self.model = self.mujoco.MjModel.from_xml_path(str(Path(name).resolve()))
        else:
            self._from_table()
            self.model = self.spec.compile()
        self.data = self.mujoco.MjData(self.model)
        self.joints = [self.model.joint(joint.name) for joint in self.robot.joints]

    # ------------------------------------------------------------------ building

    def _body(self, parent: Any, name: str, p: Any, R: Any) -> Any:
        quat = np.zeros(4)
        self.mujoco.mju_mat2Quat(quat, np.array(R, float).ravel())
        body = parent.add_body(name=name, pos=np.array(p, float), quat=quat)
        body.mass, body.inertia, body.explicitinertial = 1.0, (1.0, 1.0, 1.0), True
        return body

    def _joint(self, body: Any, name: str, slides: bool, axis: Any) -> None:
        kinds = self.mujoco.mjtJoint
        body.add_joint(name=name, type=kinds.mjJNT_SLIDE if slides else kinds.mjJNT_HINGE, axis=axis)

    def _from_table(self) -> None:
        bodies: list[Any] = []
        for joint in self.robot.joints:
            parent = self.spec.worldbody if joint.parent is None else bodies[joint.parent]
            bodies.append(self._body(parent, joint.name, joint.p, joint.R))
            self._joint(bodies[-1], joint.name, joint.kind == "prismatic", (0, 0, 1))

    def _from_urdf(self, root: ET.Element) -> None:
        joints = root.findall("joint")
        carried = {j.find("child").get("link"): j for j in joints}  # type: ignore[union-attr]
        links = {link.get("name"): link for link in root.findall("link")}
        stack = [(name, self.spec.worldbody) for name in links if name not in carried]
        while stack:
            name, body = stack.pop()
            for collision in links[name].findall("collision"):
                self._geom(body, str(name), collision)
            for joint in joints:
                if joint.find("parent").get("link") == name:  # type: ignore[union-attr]
                    child = joint.find("child").get("link")  # type: ignore[union-attr]
                    made = self._body(body, str(child), *_origin(joint))
                    if joint.get("type") != "fixed":
                        axis = joint.find("axis")
                        along = [1, 0, 0] if axis is None else [float(v) for v in axis.get("xyz", "1 0 0").split()]
                        self._joint(made, str(joint.get("name")), joint.get("type") == "prismatic", along)
                    stack.append((child, made))

    def _geom(self, body: Any, link: str, collision: ET.Element) -> None:
        form = next(iter(collision.find("geometry") or ()), None)
        kinds = self.mujoco.mjtGeom
        if form is None or form.tag not in ("box", "sphere", "cylinder") or len(form.attrib) == 0:
            return
        p, R = _origin(collision)
        quat = np.zeros(4)
        self.mujoco.mju_mat2Quat(quat, np.array(R, float).ravel())
        if form.tag == "box":
            size = [0.5 * float(v) for v in form.get("size", "").split()]
        else:
            size = [float(form.get("radius", "0")), 0.5 * float(form.get("length", "0")), 0.0]
        kind = {"box": kinds.mjGEOM_BOX, "sphere": kinds.mjGEOM_SPHERE, "cylinder": kinds.mjGEOM_CYLINDER}[form.tag]
        body.add_geom(name=f"{link}#{len(body.geoms)}", type=kind, size=size, pos=p, quat=quat)

    # ------------------------------------------------------------------ asking

    def _move(self, posture: Any) -> None:
        for j, theirs in enumerate(self.joints):
            self.data.qpos[theirs.qposadr[0]] = float(self.robot.joint_position(j, posture))
        self.mujoco.mj_kinematics(self.model, self.data)

    def centres(self, q: Any) -> Any:
        """Joint centres (N, joints, 3) in the base frame."""
        found = np.empty((len(q), len(self.joints), 3))
        for k, posture in enumerate(q):
            self._move(posture)
            found[k] = [self.data.xanchor[theirs.id] for theirs in self.joints]
        return found

    def meeting(self, q: Any, ignored: tuple[str, ...]) -> list[str]:
        """Pairs of shapes that touch at any of these postures, but for neighbours and those named."""
        from tests.excitation.draws import both, near

        owner = [self._owner(int(self.model.geom_bodyid[g])) for g in range(self.model.ngeom)]
        names = [self._link(g) for g in range(self.model.ngeom)]
        solid = [g for g in range(self.model.ngeom) if self.model.geom_contype[g] or self.model.geom_conaffinity[g]]
        pairs = [
            (a, b, both(names[a], names[b]))
            for a, b in combinations(solid, 2)
            if not near(self.robot, owner[a], owner[b]) and both(names[a], names[b]) not in ignored
        ]
        wrong = set()
        for posture in q if pairs else ():
            self._move(posture)
            for a, b, said in pairs:
                if self.mujoco.mj_geomDistance(self.model, self.data, a, b, 0.01, np.zeros(6)) <= 0:
                    wrong.add(said)
        return sorted(wrong)

    def _link(self, g: int) -> str:
        """The link of a shape; that of a root has no body of its own in MuJoCo."""
        link, sign, _ = str(self.model.geom(g).name).partition("#")
        return link if sign else str(self.model.body(int(self.model.geom_bodyid[g])).name)

    def _owner(self, body: int) -> int | None:
        """The joint of the package's robot that moves a body."""
        numbers = {int(theirs.id): j for j, theirs in enumerate(self.joints)}
        while body:
            first = int(self.model.body_jntadr[body])
            if first >= 0:
                return numbers[first]
            body = int(self.model.body_parentid[body])
        return None


def _origin(element: ET.Element) -> tuple[Any, Any]:
    """Position and rotation of the <origin> of a URDF element."""
    origin = element.find("origin")
    given = {} if origin is None else origin.attrib
    x, y, z = (float(v) for v in given.get("rpy", "0 0 0").split())
    (cx, cy, cz), (sx, sy, sz) = np.cos([x, y, z]), np.sin([x, y, z])
    roll = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
    pitch = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    yaw = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
    return [float(v) for v in given.get("xyz", "0 0 0").split()], yaw @ pitch @ roll

"""Complete URDF 1.0 of a robot as a new file, and its single elements."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from minertia.algebra.vec3 import HERE, Mat, Pose, turn_y, turn_z
from minertia.io.errors import MinertiaError
from minertia.robot.formats.urdf.read import EFFECTS, UNLIMITED, UNRANGED
from minertia.robot.formats.writing import has_exact_angles
from minertia.robot.formats.xml import Element, all_written, element_lines, new_element, written, xml_text
from minertia.robot.inertia import Ten, from_com, to_com
from minertia.robot.joint import Cut, Joint, numeric_pose
from minertia.robot.loops.closure import loop_joints
from minertia.robot.robot import Note, Robot

FORMAT = "<!-- minertia urdf format 1 -->"
ACCURACY = 1e-12  # part of a link's largest parameter that may be lost in writing without a note


def new_urdf(robot: Robot) -> tuple[str, list[Note]]:
    """URDF text, and notes on what it cannot represent.

    Link frames are joint frames; other frames become massless links.
    """
    return _NewFile(robot).text()


class _NewFile:
    """Writer of one robot; names are first made valid for XML and unique."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot.numeric
        self.values = robot.symbol_values
        self.notes: list[Note] = []
        self.looped = loop_joints(robot)
        self.unranged = {note.where for note in robot.notes if note.code == UNRANGED}
        root = next((n for n, f in robot.frames.items() if f.joint is None and f.pose == HERE), "base")
        links = [root, *(joint.link for joint in robot.joints)]
        self.extra = [name for name in robot.frames if name not in links]
        self.links = self._fit([*links, *self.extra], "link", ["world"] * robot.is_floating)
        ours = [*(f"{name}_fixed" for name in self.extra), *["floating_base"] * robot.is_floating]
        self.joints = self._fit([joint.name for joint in robot.joints], "joint", ours)

    def text(self) -> tuple[str, list[Note]]:
        (name,) = self._fit([self.robot.name], "robot")
        lines = element_lines(new_element("robot", {"name": name}, self._content()))
        return "\n".join(['<?xml version="1.0"?>', FORMAT, *lines]) + "\n", self.notes

    def _content(self) -> list[Element]:
        robot, n = self.robot, self.robot.n_joints
        content: list[Element] = exact_mark(robot)
        if robot.is_floating:
            content.append(new_element("link", {"name": self.links[-1]}))
            content.append(self._joint(self.joints[-1], "floating", self.links[-1], 0, []))
        for k, ten in enumerate((robot.base_link, *robot.links)):
            content.append(new_element("link", {"name": self.links[k]}, self._inertial(ten, self.links[k])))
        for j, joint in enumerate(robot.joints):
            content.append(self._moving(j, joint))
        for k, name in enumerate(self.extra, start=n):
            frame = robot.frames[name]
            content.append(new_element("link", {"name": self.links[k + 1]}))
            inside = origin(numeric_pose(frame.pose, self.values))
            content.append(self._joint(self.joints[k], "fixed", self._carrier(frame.joint), k + 1, inside))
        return content + [self._loop(cut) for cut in robot.cuts]

    def _loop(self, cut: Cut) -> Element:
        """Cut joint as an element of URDF+."""
        ends = [("predecessor", cut.first, cut.first_pose), ("successor", cut.second, cut.second_pose)]
        inside = [new_element(role, {"link": self._carrier(j)}, origin(pose)) for role, j, pose in ends]
        axis = new_element("axis", {"xyz": "0 0 1"})
        return new_element("loop", {"name": cut.name, "type": cut.kind}, [*inside, axis])

    def _moving(self, j: int, joint: Joint) -> Element:
        free = joint.kind == "revolute" and joint.limits.lower is None and joint.limits.upper is None
        inside = [*origin((joint.R, joint.p)), new_element("axis", {"xyz": "0 0 1"}), *self._limit(joint, free)]
        inside += self._mimic(joint)
        for tag, table in EFFECTS.items():
            given = {a: self.robot.effects[j].get(s, 0.0) for a, s in table.items()}
            own = {a: written(v) for a, v in given.items()} if any(given.values()) else {}
            if tag == "minertia" and self.robot.seed is not None and j in self.looped:
                own["closed"] = written(self.robot.seed[j])
            if own:
                inside.append(new_element(tag, own))
        if free and f"joint '{joint.name}'" in self.unranged:
            text = "it is revolute without a range in the file that was read; it is written as continuous"
            self.notes.append(Note("info", f"joint '{joint.name}'", text))
        kind = "continuous" if free else joint.kind
        element = self._joint(self.joints[j], kind, self._carrier(joint.parent), j + 1, inside)
        if j in self.looped and joint.follows is None or joint.is_passive:
            element.attributes["independent"] = "false" if joint.is_passive else "true"
        return element

    def _mimic(self, joint: Joint) -> list[Element]:
        f = joint.follows
        if f is None:
            return []
        if len(f.joints) > 1 and joint.is_passive:
            return []  # its loop says it
        if len(f.joints) > 1:
            text = "it follows several joints, which a URDF cannot represent; it is independent in the file"
            self.notes.append(Note("warning", f"joint '{joint.name}'", text))
            return []
        leader = {"joint": self.joints[f.joints[0]], "multiplier": written(f.ratios[0]), "offset": written(f.offset)}
        return [new_element("mimic", leader)]

    def _carrier(self, joint: int | None) -> str:
        return self.links[0 if joint is None else joint + 1]

    def _joint(self, name: str, kind: str, parent: str, child: int, inside: Sequence[Element]) -> Element:
        ends = [new_element("parent", {"link": parent}), new_element("child", {"link": self.links[child]})]
        return new_element("joint", {"name": name, "type": kind}, [*ends, *inside])

    def _limit(self, joint: Joint, free: bool) -> list[Element]:
        """Limit element: other readers need effort and velocity always, lower and upper unless continuous."""
        x = joint.limits
        given = {"effort": x.effort, "velocity": x.velocity}
        if not free:
            given |= {"lower": x.lower, "upper": x.upper}
        elif x.effort is None and x.velocity is None and x.acceleration is None:
            return []
        if None in given.values():
            missing = ", ".join(a for a, v in given.items() if v is None)
            text = f"it has no limit for {missing}; {UNLIMITED:g} is written, which means no limit"
            self.notes.append(Note("info", f"joint '{joint.name}'", text))
        unlimited = {a: -UNLIMITED if a == "lower" else UNLIMITED for a in given}
        numbers = {a: unlimited[a] if v is None else v for a, v in given.items()}
        if x.acceleration is not None:
            numbers["acceleration"] = x.acceleration
        return [new_element("limit", {a: written(v) for a, v in numbers.items()})]

    def _inertial(self, ten: Ten | None, name: str) -> list[Element]:
        found, notes = inertial(ten, name)
        self.notes += notes
        return found

    def _fit(self, names: Sequence[str], what: str, ours: Sequence[str] = ()) -> list[str]:
        """Unique names that are valid in XML; ours: generated names, which are changed without a note."""
        fit: list[str] = []
        for name in (*names, *ours):
            clean = xml_text(name) if name.strip() else what
            tries = (clean, *(f"{clean}_{k}" for k in range(2, len(fit) + 3)))
            fit.append(next(one for one in tries if one not in fit))
            if fit[-1] != name and name and len(fit) <= len(names):
                self.notes.append(Note("info", f"{what} '{name}'", f"it is called '{fit[-1]}' in the URDF"))
        return fit


def inertial(ten: Ten | None, link: str) -> tuple[list[Element], list[Note]]:
    """The <inertial> of parameters in the link's own frame (none without parameters), and notes on losses."""
    if ten is None or not any(ten):
        return [], []
    mass, com, inertia = to_com(ten)
    if mass < 0:
        raise MinertiaError(
            f"link '{link}' has a negative mass ({mass:.4g} kg), which a URDF cannot represent; make the "
            "parameters physically consistent first"
        )
    six = {f"i{'xyz'[i]}{'xyz'[k]}": written(inertia[i, k]) for i in range(3) for k in range(i, 3)}
    inside = [
        new_element("origin", {"xyz": all_written(com), "rpy": "0 0 0"}),
        new_element("mass", {"value": written(mass)}),
        new_element("inertia", six),
    ]
    lost = np.abs(np.array(from_com(mass, com.tolist(), inertia)) - np.array(ten, float)).max()
    notes = []
    if lost > ACCURACY * np.abs(np.array(ten, float)).max():
        text = (
            f"its mass ({mass:.4g} kg) is too small for its first moments, which a URDF represents as mass times "
            f"centre of mass; the parameters written differ by up to {lost:.2g}"
        )
        notes.append(Note("warning", f"link '{link}'", text))
    return [new_element("inertial", {}, inside)], notes


def exact_mark(robot: Robot) -> list[Element]:
    """Element that marks angles as exact, for a robot that snapping would change; else none."""
    return [new_element("minertia", {"exact": "true"})] if has_exact_angles(robot) else []


def origin(pose: Pose) -> list[Element]:
    """<origin> element of a pose, with all digits; none for the identity."""
    R, p = pose
    if (R, p) == HERE:
        return []
    return [new_element("origin", {"xyz": all_written(p), "rpy": all_written(exact_rpy(R))})]


def exact_rpy(R: Mat) -> tuple[float, float, float]:
    """Roll, pitch, yaw that reproduce the rotation to rounding, also near pitch = 90 degrees.

    The roll is computed from the rotation remaining after yaw and pitch, so that it compensates a poorly known yaw.
    """
    A = np.array(R, float)
    yaw = math.atan2(A[1, 0], A[0, 0])
    pitch = math.atan2(-A[2, 0], math.hypot(A[0, 0], A[1, 0]))
    Z, Y = (np.array(t((math.cos(a), math.sin(a)))[0], float) for t, a in ((turn_z, yaw), (turn_y, pitch)))
    B = (Z @ Y).T @ A
    return math.atan2(B[2, 1] - B[1, 2], B[1, 1] + B[2, 2]), pitch, yaw

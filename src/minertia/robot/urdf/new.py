"""A robot as a complete new URDF 1.0, and the texts of single elements."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from xml.sax.saxutils import quoteattr

import numpy as np

from minertia.algebra.polynomial import evaluate
from minertia.algebra.vec3 import HERE, Mat, Pose, turn_y, turn_z
from minertia.errors import MinertiaError
from minertia.robot.inertia import Ten, from_com, to_com
from minertia.robot.joint import Joint
from minertia.robot.robot import Note, Robot
from minertia.robot.urdf.read import DYNAMICS, OWN_DYNAMICS, UNLIMITED

FORMAT = "<!-- minertia urdf format 1 -->"
INDENT = "  "
ACCURACY = 1e-12  # part of a link's largest parameter that may be lost in writing without a note
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # characters XML cannot hold


def new_urdf(robot: Robot) -> tuple[str, list[Note]]:
    """The text, and what it cannot hold.  Link frames are joint frames; other frames become links without mass."""
    return _NewFile(robot).text()


class _NewFile:
    """One run over a robot; names are made fit for XML and unique first."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot.numeric
        self.values = robot.symbol_values
        self.notes: list[Note] = []
        root = next((n for n, f in robot.frames.items() if f.joint is None and f.pose == HERE), "base")
        links = [root, *(joint.link for joint in robot.joints)]
        self.extra = [name for name in robot.frames if name not in links]
        self.links = self._fit([*links, *self.extra], "link", ["world"] * robot.is_floating)
        ours = [*(f"{name}_fixed" for name in self.extra), *["floating_base"] * robot.is_floating]
        self.joints = self._fit([joint.name for joint in robot.joints], "joint", ours)

    def text(self) -> tuple[str, list[Note]]:
        (name,) = self._fit([self.robot.name], "robot")
        lines = element("robot", {"name": name}, self._content())
        return "\n".join(['<?xml version="1.0"?>', FORMAT, *lines]) + "\n", self.notes

    def _content(self) -> list[str]:
        robot, n = self.robot, self.robot.n_joints
        lines: list[str] = []
        if robot.is_floating:
            lines += element("link", {"name": self.links[-1]})
            lines += self._joint_lines(self.joints[-1], "floating", None, 0, [], parent=self.links[-1])
        for k, ten in enumerate((robot.base_link, *robot.links)):
            lines += element("link", {"name": self.links[k]}, self._inertial(ten, self.links[k]))
        for j, joint in enumerate(robot.joints):
            lines += self._moving(j, joint)
        for k, name in enumerate(self.extra, start=n):
            frame = robot.frames[name]
            lines += element("link", {"name": self.links[k + 1]})
            pose = numeric_pose(frame.pose, self.values)
            lines += self._joint_lines(self.joints[k], "fixed", frame.joint, k + 1, origin_lines(pose))
        return lines

    def _moving(self, j: int, joint: Joint) -> list[str]:
        free = joint.kind == "revolute" and joint.limits.lower is None and joint.limits.upper is None
        inside = [*origin_lines((joint.R, joint.p)), *element("axis", {"xyz": "0 0 1"}), *self._limit(joint, free)]
        if joint.follows is not None:
            f = joint.follows
            leader = {"joint": self.joints[f.joint], "multiplier": written(f.ratio), "offset": written(f.offset)}
            inside += element("mimic", leader)
        for tag, table in (("dynamics", DYNAMICS), ("minertia", OWN_DYNAMICS)):
            given = {a: self.robot.effects[j].get(s, 0.0) for a, s in table.items()}
            if any(given.values()):
                inside += element(tag, {a: written(v) for a, v in given.items()})
        return self._joint_lines(self.joints[j], "continuous" if free else joint.kind, joint.parent, j + 1, inside)

    def _joint_lines(
        self, name: str, kind: str, carrier: int | None, child: int, inside: list[str], parent: str | None = None
    ) -> list[str]:
        above = parent or self.links[0 if carrier is None else carrier + 1]
        ends = [*element("parent", {"link": above}), *element("child", {"link": self.links[child]})]
        return element("joint", {"name": name, "type": kind}, [*ends, *inside])

    def _limit(self, joint: Joint, free: bool) -> list[str]:
        """Other readers need effort and velocity always, lower and upper unless the joint turns freely."""
        x = joint.limits
        given = {"effort": x.effort, "velocity": x.velocity}
        if not free:
            given |= {"lower": x.lower, "upper": x.upper}
        elif x.effort is None and x.velocity is None and x.acceleration is None:
            return []
        if None in given.values():
            missing = ", ".join(a for a, v in given.items() if v is None)
            text = f"it has no limit for {missing}; {UNLIMITED:g} is written, which stands for no limit"
            self.notes.append(Note("info", f"joint '{joint.name}'", text))
        unlimited = {a: -UNLIMITED if a == "lower" else UNLIMITED for a in given}
        numbers = {a: unlimited[a] if v is None else v for a, v in given.items()}
        if x.acceleration is not None:
            numbers["acceleration"] = x.acceleration
        return element("limit", {a: written(v) for a, v in numbers.items()})

    def _inertial(self, ten: Ten | None, name: str) -> list[str]:
        lines, notes = inertial_lines(ten, name)
        self.notes += notes
        return lines

    def _fit(self, names: Sequence[str], what: str, ours: Sequence[str] = ()) -> list[str]:
        """Names that XML can hold, each once; ours: names we made up, of which nobody need hear."""
        fit: list[str] = []
        for name in (*names, *ours):
            clean = _NOT_XML.sub("_", name) if name.strip() else what
            tries = (clean, *(f"{clean}_{k}" for k in range(2, len(fit) + 3)))
            fit.append(next(one for one in tries if one not in fit))
            if fit[-1] != name and name and len(fit) <= len(names):
                self.notes.append(Note("info", f"{what} '{name}'", f"it is called '{fit[-1]}' in the URDF"))
        return fit


def element(tag: str, attributes: Mapping[str, str], inside: Iterable[str] = ()) -> list[str]:
    """Lines of an element; attribute values are escaped."""
    start = " ".join([f"<{tag}", *(f"{name}={quoteattr(value)}" for name, value in attributes.items())])
    lines = [INDENT + line for line in inside]
    return [f"{start}>", *lines, f"</{tag}>"] if lines else [f"{start}/>"]


def inertial_lines(ten: Ten | None, link: str) -> tuple[list[str], list[Note]]:
    """Lines of <inertial> of parameters in the link's own frame (none without parameters), and what is lost."""
    if ten is None or not any(ten):
        return [], []
    mass, com, inertia = to_com(ten)
    if mass < 0:
        raise MinertiaError(
            f"link '{link}' has a negative mass ({mass:.4g} kg), which a URDF cannot hold; "
            "make the parameters physically feasible first"
        )
    six = {f"i{'xyz'[i]}{'xyz'[k]}": written(inertia[i, k]) for i in range(3) for k in range(i, 3)}
    inside = [
        *element("origin", {"xyz": " ".join(written(v) for v in com), "rpy": "0 0 0"}),
        *element("mass", {"value": written(mass)}),
        *element("inertia", six),
    ]
    lost = np.abs(np.array(from_com(mass, com.tolist(), inertia)) - np.array(ten, float)).max()
    notes = []
    if lost > ACCURACY * np.abs(np.array(ten, float)).max():
        text = (
            f"its mass ({mass:.4g} kg) is too small for its first moments, which a URDF gives as mass times centre; "
            f"parameters of the written link differ by up to {lost:.2g}"
        )
        notes.append(Note("warning", f"link '{link}'", text))
    return element("inertial", {}, inside), notes


def origin_lines(pose: Pose) -> list[str]:
    """Lines of <origin>, to the last digit."""
    R, p = pose
    if (R, p) == HERE:
        return []
    xyz, rpy = (" ".join(written(v) for v in triple) for triple in (p, exact_rpy(R)))
    return element("origin", {"xyz": xyz, "rpy": rpy})


def exact_rpy(R: Mat) -> tuple[float, float, float]:
    """Roll, pitch, yaw that give the rotation back to rounding, near pitch = 90 degrees too.

    The roll is taken from what yaw and pitch leave, so that it makes up for a yaw that is poorly known there.
    """
    A = np.array(R, float)
    yaw = math.atan2(A[1, 0], A[0, 0])
    pitch = math.atan2(-A[2, 0], math.hypot(A[0, 0], A[1, 0]))
    Z, Y = (np.array(t((math.cos(a), math.sin(a)))[0], float) for t, a in ((turn_z, yaw), (turn_y, pitch)))
    B = (Z @ Y).T @ A
    return math.atan2(B[2, 1] - B[1, 2], B[1, 1] + B[2, 2]), pitch, yaw


def numeric_pose(pose: Pose, values: Mapping[str, float]) -> Pose:
    """A pose with every letter replaced by its value."""
    R, p = pose
    return tuple(tuple(evaluate(s, values) for s in row) for row in R), tuple(evaluate(s, values) for s in p)  # type: ignore[return-value]


def written(value: float) -> str:
    """A number with all its digits."""
    return repr(float(value) + 0.0)

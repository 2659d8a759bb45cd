"""Robots as MJCF: a complete new file, or the user's own with changed values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from minertia.algebra.vec3 import compose, shift
from minertia.io.files import write_file
from minertia.robot.formats.mjcf.edit import edit_mjcf
from minertia.robot.formats.mjcf.joints import AXIS
from minertia.robot.formats.mjcf.read import EXACT, OFFSET, ORDER, SEED
from minertia.robot.formats.mjcf.values import (
    EFFECTS,
    FAR,
    HELD,
    far_rest,
    inertial,
    is_massless,
    pose_attributes,
    spring_rest,
    unphysical,
)
from minertia.robot.formats.writing import has_exact_angles, load_original, own_symbols, unheld_effects, unheld_motors
from minertia.robot.formats.xml import Element, all_written, element_lines, new_element, written, xml_text
from minertia.robot.joint import Cut, Joint
from minertia.robot.robot import Note, Robot

HEADER = "<!-- minertia mjcf format 1 -->"
TYPES = {"revolute": "hinge", "prismatic": "slide"}
STIFF = (2e-3, 1.0)  # time constant [s] and damping of dry friction, which MuJoCo makes soft
CUTS = {"revolute": "connect", "spherical": "connect", "fixed": "weld"}  # constraints of cut joints
LEVER = 0.1  # m: the second point on the axis of a cut joint that turns
MOTOR = {"IAM": "armature", "FVM": "damping", "FCM": "frictionloss"}  # attributes of a tendon
POLYNOMIAL = "its cubic friction is written as a polynomial damping, which older versions of MuJoCo do not read"
_CONTROL = re.compile("[\x00-\x1f\x7f]")  # not in names: they would break the lines of MuJoCo's messages


def write_mjcf(
    robot: Robot, path: str | Path, template: str | Path | None = None, *, force: bool = False
) -> tuple[Note, ...]:
    """Write a robot as MJCF and return notes on what could not be represented.

    template: the user's MJCF (a path, or its text) in which only inertias, armatures and friction that changed are
    replaced; None for a new file.  force: as in `write_robot`.
    """
    if template is None:
        write_file(path, to_mjcf(robot), force=force)
        notes = _notes(robot)
    else:
        original = load_original(template, robot.source)
        text, notes = edit_mjcf(robot, original.text, original.source)
        write_file(path, original.encoded(text), force=force, inputs=original.files, seal=False)
        notes = (*notes, *_unexpressed(robot, whole=False))
    return notes


def to_mjcf(robot: Robot) -> str:
    """Complete MJCF document: one body per joint, its z axis the joint axis, no geometry.

    Massless links get the smallest inertia that MuJoCo accepts, which the reader takes as none.  Motors coupled
    to several joints are fixed tendons with their own armature, damping and friction; constant efforts are
    springs with a distant rest position.
    """
    return "\n".join([HEADER, *element_lines(_Document(robot.numeric).root())]) + "\n"


def effect_attributes(effects: Mapping[str, float]) -> dict[str, str]:
    """MJCF attributes of a joint for its effects, except offsets and rest positions of springs."""
    values = {name: written(effects[s]) for s, name in EFFECTS.items() if effects.get(s)}
    if effects.get("FC"):
        values["solreffriction"] = all_written(STIFF)
    if effects.get("FVC"):  # damping = a + b |v| + c v^2
        values["damping"] = all_written([effects.get("FV", 0.0), 0.0, effects["FVC"]])
    return values


class _Document:
    """Writer of one robot; names are made unique as MuJoCo requires."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        bodies, joints = _Names("body", {"world"}), _Names("joint", set())
        self.root_name = bodies.new(_root_name(robot))
        self.links = [bodies.new(joint.link or joint.name) for joint in robot.joints]
        self.joints = [joints.new(joint.name) for joint in robot.joints]
        linked = {joint.link for joint in robot.joints} | {_root_name(robot), "world"}
        self.frames = {name: bodies.new(name) for name in robot.frames if name not in linked}
        self.order: list[int] = []  # joints in the order of the document
        self.offsets = constant_efforts(robot)

    def root(self) -> Element:
        robot = self.robot
        world = new_element("worldbody", children=[self._tree()])
        parts = [
            new_element("compiler", {"angle": "radian", "autolimits": "true", "inertiafromgeom": "false"}),
            new_element("option", {"gravity": all_written(robot.gravity)}),
            world,
        ]
        followers = [self._equality(name, joint) for name, joint in zip(self.joints, robot.joints, strict=True)]
        equalities = [*(node for node in followers if node is not None), *self._cuts()]
        if equalities:
            parts.append(new_element("equality", children=equalities))
        tendons = [*self._motors(), *self._sums()]
        if tendons:
            parts.append(new_element("tendon", children=tendons))
        if robot.cuts:  # which joints are the coordinates
            motors = [new_element("motor", {"joint": self.joints[j]}) for j in robot.independent]
            parts.append(new_element("actuator", children=motors))
        custom = self._custom()
        if custom:
            parts.append(new_element("custom", children=custom))
        return new_element("mujoco", {"model": robot.name}, parts)

    def _tree(self) -> Element:
        robot = self.robot
        base = new_element("body", {"name": self.root_name})
        if robot.is_floating:
            base.children.append(new_element("freejoint", {"name": _Names("root", set(self.joints)).new("root")}))
        if robot.is_floating or _ground_has_mass(robot):
            base.children.append(new_element("inertial", inertial(robot.base_link, "the base")))
        base.children += [*self._frame_bodies(None), *self._sites(None)]
        children: dict[int | None, list[int]] = {}
        for j, joint in enumerate(robot.joints):
            children.setdefault(joint.parent, []).append(j)
        stack = [(base, j) for j in reversed(children.get(None, []))]
        while stack:
            parent, j = stack.pop()
            self.order.append(j)
            body = self._body(j)
            parent.children.append(body)
            stack += [(body, k) for k in reversed(children.get(j, []))]
        return base

    def _body(self, j: int) -> Element:
        joint = self.robot.joints[j]
        place = {"name": self.links[j], **pose_attributes(joint.R, joint.p)}
        parts = [
            new_element("joint", self._joint(j)),
            new_element("inertial", inertial(self.robot.links[j], f"link '{joint.link or joint.name}'")),
            *self._frame_bodies(j),
            *self._sites(j),
        ]
        return new_element("body", place, parts)

    def _sites(self, j: int | None) -> list[Element]:
        """Sites at the ends of cut joints on a link; a revolute cut joint has a second site on its axis."""
        found = []
        for cut in self.robot.cuts:
            for end, joint, (R, p) in ((1, cut.first, cut.first_pose), (2, cut.second, cut.second_pose)):
                if joint != j or cut.kind not in CUTS:
                    continue
                found.append(new_element("site", {"name": _site(cut, end), **pose_attributes(R, p)}))
                if cut.kind == "revolute":
                    at = {"name": _site(cut, end, AXIS), **pose_attributes(*compose((R, p), shift(z=LEVER)))}
                    found.append(new_element("site", at))
        return found

    def _cuts(self) -> list[Element]:
        """Cut joints as equality constraints between sites."""
        found = []
        for cut in (cut for cut in self.robot.cuts if cut.kind in CUTS):
            for part in ("", AXIS) if cut.kind == "revolute" else ("",):
                sites = {f"site{end}": _site(cut, end, part) for end in (1, 2)}
                found.append(new_element(CUTS[cut.kind], {"name": f"{cut.name}{part}", **sites}))
        return found

    def _joint(self, j: int) -> dict[str, str]:
        joint = self.robot.joints[j]
        values = {"name": self.joints[j], "type": TYPES[joint.kind], "axis": "0 0 1"}
        limits = joint.limits
        if _has_range(joint):
            values["range"] = all_written([limits.lower or 0.0, limits.upper or 0.0])
        if limits.effort:
            values["actuatorfrcrange"] = all_written([-abs(limits.effort), abs(limits.effort)])
        return values | effect_attributes(self.robot.effects[j]) | self._spring(j)

    def _spring(self, j: int) -> dict[str, str]:
        """Attributes of the joint's own spring, or else of one that represents its constant effort."""
        stiffness, offset = self.robot.effects[j].get("KS", 0.0), float(self.offsets[j])
        if stiffness:
            return {"springref": written(spring_rest(self.robot.effect_constants(j, "KS")["rest"], stiffness, offset))}
        return {} if not offset else {"stiffness": written(abs(offset) / FAR), "springref": written(far_rest(offset))}

    def _motors(self) -> list[Element]:
        """Motors coupled to several joints, as tendons."""
        robot = self.robot
        found = []
        for row in robot.coupled_motors.values() if robot.coupling is not None and robot.motor_effects else ():
            effects, factors = robot.motor_effects[row], robot.coupling[row] if robot.coupling is not None else ()
            values = {name: written(effects[symbol]) for symbol, name in MOTOR.items() if effects.get(symbol)}
            values |= {"solreffriction": all_written(STIFF)} if effects.get("FCM") else {}
            turns = [
                new_element("joint", {"joint": self.joints[robot.independent[c]], "coef": written(factor)})
                for c, factor in enumerate(factors)
                if factor
            ]
            found.append(new_element("fixed", {"name": f"m{row}", **values}, turns))
        return found

    def _frame_bodies(self, j: int | None) -> list[Element]:
        """Other frames of the robot file, as massless bodies."""
        frames = self.robot.frames
        return [
            new_element("body", {"name": new, **pose_attributes(*frames[name].pose)})
            for name, new in self.frames.items()
            if frames[name].joint == j
        ]

    def _equality(self, name: str, joint: Joint) -> Element | None:
        if joint.follows is None:
            return None
        leaders, ratios, offset = joint.follows.joints, joint.follows.ratios, joint.follows.offset
        if len(leaders) > 1:
            return new_element("tendon", {"tendon1": _sum_name(name), "polycoef": all_written([offset, 0, 0, 0, 0])})
        coefficients = all_written([offset, ratios[0], 0, 0, 0])
        return new_element("joint", {"joint1": name, "joint2": self.joints[leaders[0]], "polycoef": coefficients})

    def _sums(self) -> list[Element]:
        """Tendon for each dependent joint with several leaders; its length is the coupling error."""
        found = []
        for name, joint in zip(self.joints, self.robot.joints, strict=True):
            if joint.follows is None or len(joint.follows.joints) == 1:
                continue
            parts = [(name, 1.0), *((self.joints[k], -ratio) for k, ratio in joint.follows.shares)]
            inside = [new_element("joint", {"joint": part, "coef": written(factor)}) for part, factor in parts]
            found.append(new_element("fixed", {"name": _sum_name(name)}, inside))
        return found

    def _custom(self) -> list[Element]:
        found = []
        offsets = [self.robot.effects[j].get("OFF", 0.0) for j in self.order]
        if any(offsets):
            found.append(new_element("numeric", {"name": OFFSET, "data": all_written(offsets)}))
        if self.robot.seed is not None:
            seed = [self.robot.seed[j] for j in self.order]
            found.append(new_element("numeric", {"name": SEED, "data": all_written(seed)}))
        if self.order != sorted(self.order):
            found.append(new_element("numeric", {"name": ORDER, "data": " ".join(map(str, self.order))}))
        if has_exact_angles(self.robot):
            found.append(new_element("numeric", {"name": EXACT, "data": "1"}))
        return found


def _site(cut: Cut, end: int, part: str = "") -> str:
    return f"{cut.name}{part} end {end}"


def _sum_name(joint: str) -> str:
    return f"{joint} follows"


def constant_efforts(robot: Robot) -> NDArray[np.float64]:
    """Constant efforts of all joints, including those of motors coupled to several joints."""
    found = np.array([effects.get("OFF", 0.0) for effects in robot.effects])
    if robot.coupling is not None and robot.motor_effects:
        for row in robot.coupled_motors.values():
            found[list(robot.independent)] += np.array(robot.coupling[row]) * robot.motor_effects[row].get("OFFM", 0.0)
    return found


class _Names:
    """Unique names that are valid in MJCF."""

    def __init__(self, kind: str, taken: set[str]) -> None:
        self.kind, self.taken, self.count = kind, set(taken), 0

    def new(self, wish: str) -> str:
        self.count += 1
        name = xml_text(_CONTROL.sub("_", wish)) or f"{self.kind}{self.count}"
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name


def _root_name(robot: Robot) -> str:
    """Name of the root body, which cannot be the world."""
    return "base" if robot.base_name == "world" else robot.base_name


def _ground_has_mass(robot: Robot) -> bool:
    """Whether to write the mass of the ground link, which has no effect; MuJoCo rejects an inconsistent one."""
    return not is_massless(robot.base_link) and unphysical(robot.base_link) is None


def _has_range(joint: Joint) -> bool:
    lower, upper = joint.limits.lower, joint.limits.upper
    return lower is not None and upper is not None and lower < upper


# ------------------------------------------------------------------ what is not expressed


def _notes(robot: Robot) -> tuple[Note, ...]:
    notes = [*_unexpressed(robot)]
    if not robot.is_floating and unphysical(robot.base_link) is not None:
        notes.append(
            Note(
                "info",
                "the base",
                "its inertia is not physically consistent but has no effect on a fixed base; it is omitted",
            )
        )
    names = [f"link '{joint.link or joint.name}'" for joint in robot.joints]
    links = [("the base", robot.base_link)] if robot.is_floating else []
    for name, ten in [*links, *zip(names, robot.links, strict=True)]:
        reason = unphysical(ten)
        if reason is not None:
            notes.append(Note("warning", name, f"{reason}; MuJoCo will reject the file"))
        elif is_massless(ten):
            notes.append(Note("info", name, "it has no mass; the smallest mass that MuJoCo accepts is written"))
    return tuple(notes)


def _unexpressed(robot: Robot, *, whole: bool = True) -> list[Note]:
    """Notes on what MJCF cannot represent.

    whole: whether a new file is written, which can represent more than an edited file of the user.
    """
    notes = [*_drives(robot, whole)]
    for cut in robot.cuts if whole else ():
        if cut.kind not in CUTS:
            text = (
                f"MJCF has no constraint for a cut joint of kind {cut.kind}; it is omitted and the loop is "
                "open in the file"
            )
            notes.append(Note("warning", f"loop '{cut.name}'", text))
    if own_symbols(robot):
        notes.append(Note("info", "lengths", "symbols are written as their values"))
    notes += unheld_effects(robot, HELD, "MJCF")
    notes += unheld_motors(robot, (*MOTOR, "OFFM"), "MJCF") if whole else []
    for j, joint in enumerate(robot.joints):
        limits = joint.limits
        if robot.effects[j].get("FVC"):
            notes.append(Note("info", f"joint '{joint.name}'", POLYNOMIAL))
        if not _has_range(joint) and not (limits.lower is None and limits.upper is None):
            text = f"the range {limits.lower} to {limits.upper} cannot be represented in MJCF"
            notes.append(Note("info", f"joint '{joint.name}'", text))
        if limits.velocity is not None or limits.acceleration is not None:
            text = "limits of velocity and acceleration cannot be represented in MJCF"
            notes.append(Note("info", f"joint '{joint.name}'", text))
    return notes


def _drives(robot: Robot, whole: bool) -> list[Note]:
    if robot.coupling is None:
        return []
    if whole:
        text = "motors coupled to several joints are written as tendons; reading the file does not recover the coupling"
        return [Note("info", "drives", text)]
    text = (
        "motors coupled to several joints cannot be written into an MJCF template; their inertia and friction "
        "are omitted"
    )
    return [Note("warning", "drives", text)]

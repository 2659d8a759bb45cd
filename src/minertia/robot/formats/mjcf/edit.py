"""The user's own MJCF with other inertias, armatures and friction; every other byte is unchanged."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

import numpy as np

from minertia.algebra.vec3 import invert
from minertia.io.errors import DescriptionError, MinertiaError
from minertia.robot.formats.mjcf.compile import Compiled
from minertia.robot.formats.mjcf.joints import drive_part
from minertia.robot.formats.mjcf.lean import float_or
from minertia.robot.formats.mjcf.read import MASSLESS, OFFSET, compiled, parse_mjcf, robot_of
from minertia.robot.formats.mjcf.values import EFFECTS, FAR, HELD, far_rest, inertial, spring_rest, unphysical
from minertia.robot.formats.reading import ReadOptions
from minertia.robot.formats.snap import ANGLE_TOLERANCE
from minertia.robot.formats.writing import XmlEdit
from minertia.robot.formats.xml import Element, all_written, start_tag, start_tag_end, written
from minertia.robot.inertia import Ten, transport_ten
from minertia.robot.robot import Note, Robot

SAME = 1e-13  # parameters that differ by less than this part are left as the user wrote them
CORRECTED = 1e-9  # rad or m by which frames of a calibrated robot are others
SAME_PLACE = 1e-2  # rad or m between the joints of the robot and of the template
NOTHING = {"pos": "0 0 0", "mass": "0", "diaginertia": "0 0 0"}
_ORIENTATIONS = ("quat", "axisangle", "xyaxes", "zaxis", "euler", "fullinertia", "diaginertia")
_RESETS = ("inertiafromgeom", "settotalmass", "boundmass", "boundinertia", "balanceinertia")
_SPACE = re.compile(r"\s*")


def edit_mjcf(robot: Robot, text: str, source: str | None) -> tuple[str, tuple[Note, ...]]:
    """Template (without a byte-order mark) with the robot's parameters, and notes on what could not be represented."""
    options, template, old = _matching(robot, text, source)
    edit = _MjcfEdit(robot.numeric, template, old, text)
    changed = edit.links()
    edit.joints()
    edit.offsets()
    new = edit.edit.result()
    notes = [Note("info", where, "its inertia now includes that of the bodies fixed to it") for where in changed]
    return new, (*edit.notes, *notes, *_verified(robot.numeric, new, source, options))


def _matching(robot: Robot, text: str, source: str | None) -> tuple[ReadOptions, Compiled, Robot]:
    """Template read with the options that reproduce the robot, found by trial."""
    best: tuple[float, ReadOptions, Compiled, Robot] | None = None
    for snap in (0.0, ANGLE_TOLERANCE):
        options = ReadOptions(robot.base, snap, False)
        template = compiled(text, source, options)
        old = robot_of(template, options)
        _check_same_joints(robot, old)
        off = _distance(robot.numeric, old)
        if best is None or off < best[0]:
            best = (off, options, template, old)
    assert best is not None
    if best[0] > SAME_PLACE:
        raise MinertiaError(
            f"the joints of the template are placed differently from those of the robot '{robot.name}' (by "
            f"{best[0]:.2g} rad or m); give the file from which the robot was read"
        )
    if robot.corrections is not None and best[0] > CORRECTED:
        raise MinertiaError(
            f"an MJCF template keeps its frames, and those of '{robot.name}' were calibrated (they differ by up to "
            f"{best[0]:.2g} rad or m); write a new file without the template"
        )
    return best[1:]


def _check_same_joints(robot: Robot, old: Robot) -> None:
    ours = [(joint.name, joint.kind, joint.parent) for joint in robot.joints]
    theirs = [(joint.name, joint.kind, joint.parent) for joint in old.joints]
    held = {name for name, *_ in theirs} - {name for name, *_ in ours}
    if held and {name for name, *_ in ours} < {name for name, *_ in theirs}:
        raise MinertiaError(
            f"the robot '{robot.name}' locks joints of the template ({', '.join(sorted(held)[:5])}), which an "
            "MJCF template cannot represent; write a new file without the template"
        )
    if ours != theirs:
        different = {name for name, *_ in set(ours) ^ set(theirs)}
        listed = ", ".join(f"'{name}'" for name in sorted(different)[:5]) or "their order"
        raise MinertiaError(f"the template has other joints than the robot '{robot.name}': {listed}")


def _distance(robot: Robot, old: Robot) -> float:
    off = 0.0
    for a, b in zip(robot.joints, old.joints, strict=True):
        for x, y in ((a.R, b.R), (a.p, b.p)):
            off = max(off, float(np.max(np.abs(np.array(x, float) - np.array(y, float)))))
    return off


def _differs(a: Ten | None, b: Ten | None) -> bool:
    """Whether two sets of ten parameters differ by more than rounding."""
    x, y = (np.array(ten or (0.0,) * 10, float) for ten in (a, b))
    return any(
        bool(np.max(np.abs(x[part] - y[part])) > SAME * np.max(np.abs(y[part])))
        for part in (slice(0, 6), slice(6, 9), slice(9, 10))
    )


class _MjcfEdit:
    """One pass of edits over a template."""

    def __init__(self, robot: Robot, template: Compiled, old: Robot, text: str) -> None:
        self.robot, self.template, self.old, self.edit = robot, template, old, XmlEdit(text)
        self.notes: list[Note] = []

    # ------------------------------------------------------------------ inertias

    def links(self) -> list[str]:
        """Change the inertials; returns names of the bodies that took over the inertia of others fixed to them."""
        base = [(None, self.robot.base_link, self.old.base_link)] if self.robot.is_floating else []
        rows = [*base, *((j, self.robot.links[j], self.old.links[j]) for j in range(self.robot.n_joints))]
        changed = [(j, new) for j, new, before in rows if _differs(new, before)]
        if changed and self._compiler_interferes():
            self._reset_compiler()
            changed = [(j, new) for j, new, _ in rows]
        return [where for j, new in changed for where in self._link(j, new)]

    def _link(self, j: int | None, ten: Ten | None) -> list[str]:
        names = [name for name, frame in self.old.frames.items() if frame.joint == j]
        main = names[0] if j is None else self.old.joints[j].link
        if main not in self.template.lean.bodies and not _differs(ten, None):
            return []  # between two joints of one body there is nothing to write
        if ten is not None and j is not None:
            ten = transport_ten(ten, invert(self.old.joints[j].file_frame))
        reason = unphysical(ten)
        if reason is not None:
            self.notes.append(Note("warning", f"body '{main}'", f"{reason}; it is written unchanged"))
        self._inertial(main, inertial(ten, f"body '{main}'"))
        model = self.template.model
        own = {str(model.body(b).name) for b in range(model.nbody)}  # a frame may be a site
        merged = [name for name in names if name in own - {main} and float(model.body(name).mass[0]) > MASSLESS]
        for name in merged:
            self._inertial(name, NOTHING)
        return [f"body '{main}'"] if merged else []

    def _inertial(self, body: str, values: Mapping[str, str]) -> None:
        node = self._own(self.template.lean.bodies.get(body), f"body '{body}'")
        element = node.first("inertial")
        if element is not None:
            self.edit.attributes(self._own(element, f"body '{body}'"), {k: None for k in _ORIENTATIONS} | dict(values))
            return
        stop = start_tag_end(self.edit.text, node)
        space = _SPACE.match(self.edit.text, stop)
        self.edit.put(stop, (space[0] if space else "") + start_tag("inertial", values, empty=True))

    def _compiler_interferes(self) -> bool:
        compiler = self.template.lean.compiler
        sizes = (float_or(compiler.get(name), 0.0) for name in _RESETS[1:4])
        return any(compiler.get(name) == "true" for name in _RESETS) or any(size > 0 for size in sizes)

    def _reset_compiler(self) -> None:
        for node in self.template.lean.full.walk():
            if node.tag == "compiler" and any(name in node.attributes for name in _RESETS):
                self.edit.attributes(self._own(node, "<compiler>"), {name: None for name in _RESETS})
        text = "compiler options that change inertias are removed, and every inertia is written explicitly"
        self.notes.append(Note("info", "compiler", text))

    # ------------------------------------------------------------------ joints

    def joints(self) -> None:
        """Write armature, damping and friction of the joints where they changed."""
        for j, joint in enumerate(self.robot.joints):
            new, before = self.robot.effects[j], self.old.effects[j]
            changed = [s for s in EFFECTS if _moved(new.get(s, 0.0), before.get(s, 0.0))]
            if _moved(new.get("FVC", 0.0), before.get("FVC", 0.0)):
                changed = [*changed, *(["FV"] if "FV" not in changed else [])]  # one polynomial holds both
            rests = [_rest(robot, j) for robot in (self.robot, self.old)]
            if new.get("KS") and _moved(*rests) and "KS" not in changed:
                changed.append("KS")
            far = self._far_spring(j)
            if not changed and not far:
                continue
            number = int(self.template.model.joint(joint.name).id)
            armature, damping = drive_part(self.template, number)
            texts = {
                "IA": written(new.get("IA", 0.0) - armature),
                "FV": all_written([new.get("FV", 0.0) - damping, *self._higher_damping(number, new.get("FVC", 0.0))]),
                "FC": written(new.get("FC", 0.0)),
                "KS": written(new.get("KS", 0.0)),
            }
            values = {EFFECTS[s]: texts[s] for s in changed} | far
            if "KS" in changed:
                values["springref"] = written(self._written_angle(rests[0], joint.kind))
            node = self._own(self.template.lean.joints.get(joint.name), f"joint '{joint.name}'")
            self.edit.attributes(node, values)

    def _far_spring(self, j: int) -> dict[str, str]:
        """Spring with a distant rest position for a changed constant effort, where the joint has no spring."""
        joint, new, before = self.robot.joints[j], self.robot.effects[j], self.old.effects[j]
        offset, node = new.get("OFF", 0.0), self.template.lean.joints.get(joint.name)
        if not _moved(offset, before.get("OFF", 0.0)) or new.get("KS") or before.get("KS"):
            return {}
        if node is None or not node.own:
            return {}  # it stays in <custom> alone
        rest = self._written_angle(far_rest(offset), joint.kind) if offset else 0.0
        return {"stiffness": written(abs(offset) / FAR), "springref": written(rest)}

    def _written_angle(self, rest: float, kind: str) -> float:
        """Joint position in the template's unit: degrees unless its compiler element sets radians."""
        is_degree = self.template.lean.compiler.get("angle", "degree") != "radian"
        return math.degrees(rest) if is_degree and kind == "revolute" else rest

    def _higher_damping(self, number: int, cubic: float) -> list[float]:
        model = self.template.model
        table = getattr(model, "dof_dampingpoly", None)
        quadratic = 0.0 if table is None else float(table[int(model.jnt_dofadr[number])][0])
        return [quadratic, cubic] if quadratic or cubic else []

    def offsets(self) -> None:
        """Store constant efforts also in a <custom> numeric, from which the reader restores them exactly."""
        new = {joint.name: self.robot.effects[j].get("OFF", 0.0) for j, joint in enumerate(self.robot.joints)}
        before = {joint.name: self.old.effects[j].get("OFF", 0.0) for j, joint in enumerate(self.old.joints)}
        if not any(_moved(new[name], before[name]) for name in new):
            return
        model = self.template.model
        order = [name for name in (model.joint(k).name for k in range(model.njnt)) if name in new]
        data = all_written(new[name] for name in order)
        full = self.template.lean.full
        old = [node for node in full.walk() if node.tag == "numeric" and node.attributes.get("name") == OFFSET]
        if old:
            self.edit.attributes(self._own(old[-1], f"<numeric> '{OFFSET}'"), {"data": data, "size": None})
        else:
            element = f'  <custom><numeric name="{OFFSET}" data="{data}"/></custom>\n'
            self.edit.put(self.edit.text.rindex("</", full.start, full.end), element)

    # ------------------------------------------------------------------ text

    def _own(self, node: Element | None, what: str) -> Element:
        if node is None or not node.own:
            raise MinertiaError(
                f"{what} does not appear literally in the template (it is included from another file, copied by "
                "<replicate>, or lies between two joints of one body), so its parameters cannot be changed there"
            )
        return node


def _rest(robot: Robot, j: int) -> float:
    """Rest position of the spring of a joint, with its constant effort [rad or m]."""
    own, rest = robot.effects[j], robot.effect_constants(j, "KS")["rest"]
    return spring_rest(rest, own["KS"], own.get("OFF", 0.0)) if own.get("KS") else rest


def _moved(new: float, before: float) -> bool:
    return abs(new - before) > SAME * abs(before)


def _verified(robot: Robot, text: str, source: str | None, options: ReadOptions) -> list[Note]:
    """Read the new text again; returns notes on what MuJoCo rejects, or interprets differently."""
    try:
        again = parse_mjcf(text, source, options)
    except DescriptionError as err:
        return [Note("warning", "MuJoCo", f"the file cannot be loaded: {err.message}")]
    notes = []
    for j, joint in enumerate(robot.joints):
        if _far(robot.links[j], again.links[j]) or any(
            abs(robot.effects[j].get(s, 0.0) - again.effects[j].get(s, 0.0)) > 1e-9 for s in HELD
        ):
            text = (
                "MuJoCo reads parameters from the new file that differ from those written; check its <compiler> options"
            )
            notes.append(Note("warning", f"joint '{joint.name}'", text))
    return notes


def _far(a: Ten | None, b: Ten | None) -> bool:
    x, y = (np.array(ten or (0.0,) * 10, float) for ten in (a, b))
    return bool(np.max(np.abs(x - y)) > 1e-9 * max(1.0, float(np.max(np.abs(x)))))

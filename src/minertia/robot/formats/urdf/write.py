"""`write_urdf`: write parameters into the user's own URDF, otherwise unchanged, or write a new URDF."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from minertia.algebra.vec3 import HERE, Pose, compose, invert
from minertia.io.errors import DescriptionError
from minertia.io.files import write_file
from minertia.robot.description import BodySpec
from minertia.robot.formats.reading import ReadOptions
from minertia.robot.formats.urdf.new import exact_mark, inertial, new_urdf, origin
from minertia.robot.formats.urdf.pose import written_origin
from minertia.robot.formats.urdf.read import EFFECTS, is_exact, parse_urdf, read_bodies, read_effects
from minertia.robot.formats.writing import XmlEdit, load_original, own_symbols, unheld_effects
from minertia.robot.formats.xml import Element, new_element, parse_xml, shown, written
from minertia.robot.inertia import Ten, add_ten, impossible, transport_ten
from minertia.robot.joint import numeric_pose
from minertia.robot.robot import EARTH, Note, Robot

UNCHANGED = 1e-13  # relative difference of parameters that counts as none
PLACED = 1e-12  # m, rad: difference of poses that counts as none


def edited_urdf(robot: Robot, text: str, source: str) -> tuple[str, list[Note]]:
    """Text with the robot's parameters, and notes on moved inertia; source: the template's name, for messages."""
    return _UrdfEdit(robot, text, source).result()


class _UrdfEdit:
    """One pass of edits over a template."""

    def __init__(self, robot: Robot, text: str, source: str) -> None:
        self.robot, self.source = robot, source
        self.tree = parse_xml(text, source)
        self.reference = parse_urdf(text, source, ReadOptions(letters=False))
        self.held = self._held(self.reference)
        self.links = {e.attributes["name"]: e for e in self.tree.all("link")}
        self.joints = {e.attributes["name"]: e for e in self.tree.all("joint")}
        self.edit = XmlEdit(text)
        self.notes: list[Note] = []

    def result(self) -> tuple[str, list[Note]]:
        robot = self.robot
        bodies = self._bodies_by_carrier()
        for j, now in ((None, robot.base_link), *enumerate(robot.links)):
            self._link(j, now, bodies.get(j, []))
        for joint, effects in zip(robot.joints, robot.effects, strict=True):
            self._effects(self.joints[joint.name], effects)
        if self._is_moved():
            self._geometry()
        return self.edit.result(), self.notes

    def _held(self, reference: Robot) -> frozenset[str]:
        """Links of joints in this file that are locked in the robot; all other joints must be the same."""
        ours, theirs = ({(j.name, j.link, j.kind) for j in r.joints} for r in (self.robot, reference))
        moved = {link for _, link, _ in theirs - ours}
        odd = sorted(name for name, link, _ in ours ^ theirs if link not in self.robot.frames or link not in moved)
        odd += sorted(name for name, _, _ in ours - theirs)
        if odd:
            self._fail(f"joint '{shown(odd[0])}' differs between the robot and this file")
        carriers = {k for k, j in enumerate(reference.joints) if j.link in moved}
        return frozenset(name for name, frame in reference.frames.items() if frame.joint in carriers)

    def _bodies_by_carrier(self) -> dict[int | None, list[BodySpec]]:
        groups: dict[int | None, list[BodySpec]] = {}
        for body in read_bodies(self.tree):
            if body.name in self.robot.frames:
                groups.setdefault(self.robot.frames[body.name].joint, []).append(body)
            elif body.ten is not None:
                self._fail(f"the robot has no link '{shown(body.name)}'")
        return groups

    # ------------------------------------------------------------------ links

    def _link(self, carrier: int | None, now: Ten | None, bodies: list[BodySpec]) -> None:
        """Keep the parameters of rigidly connected bodies if their sum is unchanged; else one gets the new sum.

        The bodies of locked joints keep their parameters if the remainder is physically consistent.
        """
        before = self._sum(bodies)
        if np.allclose(before, now or (0.0,) * 10, rtol=UNCHANGED, atol=0):
            return
        held = [body for body in bodies if body.name in self.held]
        rest = add_ten(now or (0.0,) * 10, tuple(-v for v in self._sum(held)))
        if held and impossible(rest) is None:
            now, bodies = rest, [body for body in bodies if body.name not in self.held]
        owner = self._owner(carrier)
        pose = numeric_pose(self.robot.frames[owner].pose, self.robot.symbol_values)
        found, notes = inertial(None if now is None else transport_ten(now, invert(pose)), owner)
        self.notes += notes
        self._write_inertial(self.links[owner], found)
        for body in bodies:
            if body.ten is not None and body.name != owner:
                self._write_inertial(self.links[body.name], [])
                text = (
                    f"its <inertial> is removed, because its inertia is now included in link '{owner}', to "
                    "which it is fixed"
                )
                self.notes.append(Note("info", f"link '{body.name}'", text))

    def _sum(self, bodies: list[BodySpec]) -> Ten:
        """Summed parameters of rigidly connected bodies, in the frame of the joint that carries them."""
        total: Ten = (0.0,) * 10
        for body in bodies:
            if body.ten is not None:
                pose = numeric_pose(self.robot.frames[body.name].pose, self.robot.symbol_values)
                total = add_ten(total, transport_ten(body.ten, pose))
        return total

    def _owner(self, carrier: int | None) -> str:
        if carrier is not None:
            return self.robot.joints[carrier].link
        frames = self.robot.frames.items()
        return next(name for name, f in frames if f.joint is None and f.pose == HERE and name in self.links)

    def _write_inertial(self, link: Element, new: list[Element]) -> None:
        """Insert the result of `inertial`: one element or none."""
        old = link.first("inertial")
        if old is not None and new:
            self.edit.replace(old, new[0])
        elif old is not None:
            self.edit.remove(old)
        elif new:
            self.edit.insert(link, new[0])

    # ------------------------------------------------------------------ joints

    def _effects(self, joint: Element, now: Mapping[str, float]) -> None:
        before = read_effects(joint, f"joint '{shown(joint.attributes['name'])}'")
        for tag, table in EFFECTS.items():
            changed = [a for a, s in table.items() if now.get(s, 0.0) != before.get(s, 0.0)]
            if not changed:
                continue
            old = joint.first(tag)
            new = {a: written(now.get(s, 0.0)) for a, s in table.items() if old is None or a in changed}
            if old is None:
                self.edit.insert(joint, new_element(tag, new), last=True)
            else:
                self.edit.attributes(old, new)

    # ------------------------------------------------------------------ geometry

    def _is_moved(self) -> bool:
        """Whether joint placements differ from the file."""
        before = {joint.name: joint for joint in self.reference.joints}
        values = self.robot.symbol_values
        pairs = ((joint, before.get(joint.name)) for joint in self.robot.joints)
        return any(
            old is not None and _apart(numeric_pose((now.R, now.p), values), (old.R, old.p)) > PLACED
            for now, old in pairs
        )

    def _geometry(self) -> None:
        """Edit each <origin> with another placement, add links for new frames, and update the exactness mark."""
        for element in self.joints.values():
            if element.attributes.get("type") != "floating":
                self._origin(element)
        for name in self.robot.frames:
            if name not in self.links:
                self._frame(name)
        mark = exact_mark(self.robot)
        if mark and not is_exact(self.tree):
            self.edit.insert(self.tree, mark[0])

    def _origin(self, element: Element) -> None:
        ends = [element.first(end) for end in ("parent", "child")]
        names = [end.attributes.get("link", "") for end in ends if end is not None]
        if any(name not in self.robot.frames for name in names):
            return
        meant = self._placed(names[0], names[1])
        if meant is None or _apart(meant, written_origin(element, "joint")) <= PLACED:
            return
        (new,) = origin(meant) or [new_element("origin", {"xyz": "0 0 0", "rpy": "0 0 0"})]
        old = element.first("origin")
        if old is None:
            self.edit.insert(element, new)
        else:
            self.edit.attributes(old, dict.fromkeys(old.attributes) | new.attributes)

    def _placed(self, parent: str, child: str) -> Pose | None:
        """Pose of a link in its parent link, at position 0 of the joint between; None for locked joints."""
        robot, values = self.robot, self.robot.symbol_values
        a, b = robot.frames[parent], robot.frames[child]
        before, after = (numeric_pose(frame.pose, values) for frame in (a, b))
        if a.joint == b.joint:
            return compose(invert(before), after) if child not in self.held else None
        if b.joint is None or robot.joints[b.joint].parent != a.joint:
            return None
        joint = robot.joints[b.joint]
        return compose(invert(before), numeric_pose((joint.R, joint.p), values), after)

    def _frame(self, name: str) -> None:
        """Add a massless link, fixed to the link that carries the frame."""
        frame = self.robot.frames[name]
        owner = self._owner(frame.joint)
        values = self.robot.symbol_values
        pose = compose(invert(numeric_pose(self.robot.frames[owner].pose, values)), numeric_pose(frame.pose, values))
        inside = [*origin(pose), new_element("parent", {"link": owner}), new_element("child", {"link": name})]
        self.edit.insert(self.tree, new_element("link", {"name": name}), last=True)
        self.edit.insert(self.tree, new_element("joint", {"name": f"{name}_fixed", "type": "fixed"}, inside), last=True)

    def _fail(self, what: str) -> None:
        raise DescriptionError(f"{what}; the template must be the file from which the robot was read", file=self.source)


def _apart(a: Pose, b: tuple[object, object]) -> float:
    """Largest absolute difference of the entries of two poses."""
    pairs = ((a[0], b[0]), (a[1], b[1]))
    return max(float(np.abs(np.array(x, float) - np.array(y, float)).max()) for x, y in pairs)


# --------------------------------------------------------------------------------------------------------- write_urdf


def write_urdf(
    robot: Robot, path: str | Path, template: str | Path | None = None, *, force: bool = False
) -> tuple[Note, ...]:
    """Write a URDF and return notes on what it cannot represent.

    template: the URDF the robot was read from, as a path or as its text; only <inertial> and <dynamics> elements whose
    values changed are replaced in it and every other byte is kept.  Without one, a complete URDF 1.0 is written whose
    link frames are the joint frames.  force: as in `write_robot`.
    """
    if template is None:
        text, notes = new_urdf(robot)
        write_file(path, text, force=force)
    else:
        original = load_original(template)
        text, notes = edited_urdf(robot, original.text, original.source or "template")
        write_file(path, original.encoded(text), force=force, inputs=original.files, seal=False)
    return (*notes, *_not_carried(robot, whole=template is None))


def _not_carried(robot: Robot, whole: bool) -> list[Note]:
    """Notes on what URDF cannot represent; whole: the geometry is written as well."""
    notes = []
    for joint, effects in zip(robot.joints, robot.effects, strict=True):
        own = [what for symbol, what in (("IA", "rotor inertia"), ("OFF", "offset")) if effects.get(symbol)]
        if own:
            lost = " and ".join(own)
            text = (
                f"its {lost} is written to the element <minertia>, which other programs ignore; MJCF can represent it"
            )
            notes.append(Note("warning", f"joint '{joint.name}'", text))
    notes += unheld_effects(robot, [s for table in EFFECTS.values() for s in table.values()], "URDF")
    if robot.coupling is not None or any(any(e.values()) for e in robot.motor_effects):
        text = "coupled drives and motor-side friction and inertia cannot be represented in a URDF and are omitted"
        notes.append(Note("warning", "robot", text))
    if whole and robot.cuts:
        text = (
            "its loops are written as <loop> elements of URDF+; most other programs ignore them and read the "
            "spanning tree only"
        )
        notes.append(Note("warning", "robot", text))
    if tuple(robot.gravity) != EARTH:
        notes.append(
            Note("info", "robot", "a URDF does not contain gravity; give the gravity again when you read the file")
        )
    if whole and own_symbols(robot):
        unknown = sorted(name for name, value in robot.symbols.items() if value is None)
        text = "symbolic lengths and angles are written as numbers"
        drawn = f"; {', '.join(unknown)} had no value and got random ones" if unknown else ""
        notes.append(Note("warning" if unknown else "info", "robot", text + drawn))
    return notes

"""Reader from URDF 1.0 to 1.2 to a `Robot`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches

import numpy as np
from numpy.typing import NDArray

from minertia.io.errors import DescriptionError
from minertia.robot.assembly import assemble
from minertia.robot.description import (
    BodySpec,
    Description,
    FollowsSpec,
    JointSpec,
    check_count,
    impossible_body,
    missing_masses,
)
from minertia.robot.formats.dh.loops import with_side_file
from minertia.robot.formats.reading import ReadOptions
from minertia.robot.formats.urdf.loops import closed_position, is_passive, read_loops, with_couplings
from minertia.robot.formats.urdf.pose import Placing, written_origin
from minertia.robot.formats.xml import Element, number, parse_xml, shown
from minertia.robot.inertia import Ten, from_com, symmetric
from minertia.robot.joint import Limits
from minertia.robot.robot import Note, Robot

NEWEST = (1, 2)  # version of URDF
UNRANGED = "unranged"  # code of notes on revolute joints without a range
UNLIMITED = 1e9  # a limit this large, in any unit, stands for no limit

_KINDS = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "fixed": "fixed"}
_SIX = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_PARTS = {
    "link": ("inertial",),
    "joint": ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic", "minertia"),
}
# element of a joint -> attribute -> effect; <minertia> is our own
EFFECTS = {"dynamics": {"damping": "FV", "friction": "FC"}, "minertia": {"rotor_inertia": "IA", "offset": "OFF"}}


def parse_urdf(text: str, source: str, options: ReadOptions) -> Robot:
    """Parse a robot from a URDF text; source: the name of the file, for messages."""
    tree = parse_xml(text, source)
    options = replace(options, snap=0.0) if is_exact(tree) else options
    notes = _check_is_urdf(tree) + _repeated(tree)
    check_count(len(tree.all("joint")), "joints", source)  # before any is looked at
    bodies = read_bodies(tree)
    notes += [note for b in bodies if (note := impossible_body(b.name, b.ten, b.line)) is not None]
    joints: list[JointSpec] = []
    floating: list[JointSpec] = []
    for element in tree.all("joint"):
        spec, found = read_joint(element, options.snap)
        (floating if spec.kind == "floating" else joints).append(spec)
        notes += found
    _check_ends(bodies, [*joints, *floating], source)
    root = _root(bodies, [*joints, *floating], source)
    base = "fixed"
    if floating:
        base, ground, root = "floating", root, _floating_base(bodies, joints, floating, root, source)
        bodies = [body for body in bodies if body.name != ground]
    loops, more = read_loops(tree, options.snap)
    description = Description(
        name=tree.attributes.get("name") or "robot",
        bodies=bodies,
        joints=_with_loops(tree, joints, bool(loops)),
        root=root,
        base=options.base or base,
        source=source,
        auto_letters=options.letters,
        loops=loops,
        seed=_seed(tree),
        exact=options.snap == 0,
    )
    robot = assemble(with_side_file(description, options))
    return replace(robot, notes=(*notes, *more, *robot.notes, *missing_masses(robot)))


def is_exact(tree: Element) -> bool:
    """Whether a URDF marks its angles as exact, by minertia's element <minertia exact="true"/> in <robot>."""
    own = tree.first("minertia")
    return own is not None and own.attributes.get("exact") == "true"


def _with_loops(tree: Element, joints: list[JointSpec], has_loops: bool) -> list[JointSpec]:
    """Joints with the couplings and passive joints of URDF+; where some are marked, the others are independent."""
    specs = with_couplings(tree, joints) if tree.first("coupling") is not None else joints
    if not has_loops:
        return [replace(spec, is_passive=None) for spec in specs]
    if all(spec.is_passive is None for spec in joints):
        return specs
    free = [spec.follows is None and spec.kind != "fixed" for spec in specs]
    return [replace(s, is_passive=bool(s.is_passive)) if own else s for s, own in zip(specs, free, strict=True)]


def _seed(tree: Element) -> dict[str, float]:
    found = {}
    for element in tree.all("joint"):
        name = element.attributes.get("name", "")
        position = closed_position(element, f"joint '{shown(name)}'")
        if position is not None:
            found[name] = position
    return found


def read_bodies(tree: Element) -> list[BodySpec]:
    """The links of a URDF, ten parameters each in the link's own frame."""
    return [_body(element) for element in tree.all("link")]


def read_joint(element: Element, snap: float) -> tuple[JointSpec, list[Note]]:
    """One joint of a URDF and notes on changes of its geometry; snap: tolerance on rounded angles [rad]."""
    name = element.required("name", "a joint")
    owner = f"joint '{shown(name)}'"
    kind = _kind(element, owner)
    placing = Placing(element, owner, snap)
    placement, child_frame = placing.fixed() if kind in ("fixed", "floating") else placing.about_axis()
    spec = JointSpec(
        name=name,
        kind=kind,
        parent=_end(element, "parent", owner),
        child=_end(element, "child", owner),
        placement=placement,
        child_frame=child_frame,
        limits=_limits(element, owner),
        effects=read_effects(element, owner),
        follows=None if kind == "fixed" else _follows(element, owner),
        line=element.line,
        is_passive=None if kind in ("fixed", "floating") else is_passive(element),
    )
    return spec, [*placing.notes, *_without_range(element, owner)]


def _without_range(element: Element, owner: str) -> list[Note]:
    """Note on a revolute joint without a range of positions, which a URDF requires."""
    limit = element.first("limit")
    given = [] if limit is None else [a for a in ("lower", "upper") if a in limit.attributes]
    if element.attributes.get("type") != "revolute" or len(given) == 2:
        return []
    if limit is None:
        text = "it has no <limit> and is read without limits, as a continuous joint; give <limit> or type continuous"
        return [Note("info", owner, text, element.line, code=UNRANGED)]
    missing = " and ".join(a for a in ("lower", "upper") if a not in given)
    text = f"its <limit> lacks {missing}: no limit here, 0 in programs such as Pinocchio; give both"
    return [Note("warning", owner, text, limit.line, code=UNRANGED)]


def read_effects(joint: Element, owner: str) -> dict[str, float]:
    """Effects {IA, FV, FC, OFF} of a joint element."""
    effects: dict[str, float] = {}
    for tag, table in EFFECTS.items():
        element = joint.first(tag)
        if element is not None:
            present = {a: symbol for a, symbol in table.items() if a in element.attributes}
            effects |= {symbol: number(element, a, owner) for a, symbol in present.items()}
    return effects


# ---------------------------------------------------------------------- links


def _body(element: Element) -> BodySpec:
    name = element.required("name", "a link")
    owner = f"link '{shown(name)}'"
    inertial = element.first("inertial")
    ten = None if inertial is None else _ten(inertial, owner)
    return BodySpec(name, ten, (inertial or element).line)


def _ten(inertial: Element, owner: str) -> Ten | None:
    """Ten parameters in the link's frame; None for an <inertial> that holds only zeros."""
    mass_element, inertia_element = (_part(inertial, tag, owner) for tag in ("mass", "inertia"))
    mass = number(mass_element, "value", owner)
    if mass < 0:
        raise mass_element.error(f"{owner}: its mass is negative ({mass:g} kg); correct it")
    six = [number(inertia_element, a, owner) for a in _SIX]
    R, com = written_origin(inertial, owner)
    if mass == 0 and not any(six):
        return None
    rotated: NDArray[np.float64] = R @ symmetric(six) @ R.T
    return from_com(mass, com, rotated)


def _part(inertial: Element, tag: str, owner: str) -> Element:
    part = inertial.first(tag)
    if part is None:
        raise inertial.error(f"{owner}: its <inertial> has no <{tag}>; add it, or remove the whole <inertial>")
    return part


# ---------------------------------------------------------------------- joints


def _kind(element: Element, owner: str) -> str:
    written = element.required("type", owner)
    if written == "floating":
        return written
    if written not in _KINDS:
        hint = "; replace it by prismatic and revolute joints with massless links between them" * (written == "planar")
        raise element.error(
            f"{owner} is of type '{shown(written)}', which is not supported; supported: {', '.join(_KINDS)}, and "
            f"floating for the base{hint}"
        )
    return _KINDS[written]


def _end(element: Element, role: str, owner: str) -> str:
    end = element.first(role)
    if end is None:
        raise element.error(
            f"{owner} has no <{role}>; name the link that it {'is attached to' if role == 'parent' else 'moves'}"
        )
    return end.required("link", owner)


def _limits(element: Element, owner: str) -> Limits:
    limit = element.first("limit")
    if limit is None:
        return Limits()

    def one(attribute: str) -> float | None:
        value = number(limit, attribute, owner) if attribute in limit.attributes else UNLIMITED
        return value if abs(value) < UNLIMITED else None

    turns_freely = element.attributes.get("type") == "continuous"
    both = [v for v in (one("acceleration"), one("deceleration")) if v is not None]
    one("jerk")  # read for its errors only: nothing here uses it
    return Limits(
        lower=None if turns_freely else one("lower"),
        upper=None if turns_freely else one("upper"),
        velocity=one("velocity"),
        acceleration=min(both, default=None),
        effort=one("effort"),
    )


def _follows(element: Element, owner: str) -> FollowsSpec | None:
    mimic = element.first("mimic")
    if mimic is None:
        return None
    leader = mimic.required("joint", owner)
    ratio, offset = number(mimic, "multiplier", owner, 1.0), number(mimic, "offset", owner, 0.0)
    return FollowsSpec((leader,), (ratio,), offset)


# ---------------------------------------------------------------------- the file as a whole


def _check_is_urdf(tree: Element) -> list[Note]:
    if tree.tag != "robot":
        raise tree.error(f"a URDF has the root element <robot>, but this file has <{shown(tree.tag)}>")
    _refuse_xacro(tree)
    version = tree.attributes.get("version", "1.0")
    match = re.fullmatch(r"(\d{1,4})(?:\.(\d{1,4}))?", version.strip(), re.ASCII)
    if match is None:
        text = f"the version '{shown(version)}' is not a URDF version; the file is read as URDF {NEWEST[0]}.{NEWEST[1]}"
        return [Note("warning", "robot", text, tree.line)]
    if (int(match[1]), int(match[2] or 0)) > NEWEST:
        raise tree.error(f"URDF {version} is not supported; supported: 1.0 to {NEWEST[0]}.{NEWEST[1]}")
    return []


def _refuse_xacro(element: Element) -> None:
    if element.tag.startswith("xacro:"):
        raise element.error(
            f"<{shown(element.tag)}> is a xacro element, not URDF; expand the file first (xacro robot.xacro > "
            "robot.urdf)"
        )
    for child in element.children:
        _refuse_xacro(child)


def _repeated(tree: Element) -> list[Note]:
    """Warning for each duplicate element, of which the first counts (as in other readers)."""
    notes = []
    for element in (e for e in tree.children if e.tag in _PARTS):
        for tag in _PARTS[element.tag]:
            if len(element.all(tag)) > 1:
                where = f"{element.tag} '{shown(element.attributes.get('name', ''))}'"
                text = f"it has several <{tag}> elements, of which the first is used; remove the others"
                notes.append(Note("warning", where, text, element.all(tag)[1].line))
    return notes


def _check_ends(bodies: Sequence[BodySpec], joints: Sequence[JointSpec], source: str) -> None:
    names = {body.name for body in bodies}
    for joint in joints:
        for role, end in (("parent", joint.parent), ("child", joint.child)):
            if end not in names:
                near = get_close_matches(end, sorted(names)[:1000], n=1)
                hint = f"; did you mean '{shown(near[0])}'?" if near else ""
                raise DescriptionError(
                    f"joint '{shown(joint.name)}' names the {role} link '{shown(end)}', which does not exist{hint}",
                    file=source,
                    line=joint.line,
                )


def _root(bodies: Sequence[BodySpec], joints: Sequence[JointSpec], source: str) -> str:
    """Name of the root link, which is the child of no joint."""
    if not bodies:
        raise DescriptionError("the robot has no <link>", file=source)
    carried = {joint.child for joint in joints}
    roots = list(dict.fromkeys(body.name for body in bodies if body.name not in carried))
    if len(roots) == 1:
        return roots[0]
    if roots:
        some = ", ".join(f"'{shown(name)}'" for name in roots[:5]) + ", ..." * (len(roots) > 5)
        message = (
            f"{len(roots)} links have no parent joint ({some}); a robot has one root link, so attach the others to it"
        )
    else:
        message = (
            "every link is the child of a joint, so the links form a loop; open the loop so that one link is the root"
        )
    raise DescriptionError(message, file=source)


def _floating_base(
    bodies: Sequence[BodySpec], joints: Sequence[JointSpec], floating: Sequence[JointSpec], root: str, source: str
) -> str:
    """Name of the floating base link; the floating joint must be the only joint on a massless root."""
    joint = floating[0]
    ground = next(body for body in bodies if body.name == root)
    alone = len(floating) == 1 and all(other.parent != root for other in joints)
    if joint.parent != root or ground.ten is not None or not alone:
        raise DescriptionError(
            f"joint '{shown(joint.name)}' is floating; only one floating joint is supported, as the only joint of "
            "a massless root link, where it represents a floating base",
            file=source,
            line=joint.line,
        )
    return joint.child

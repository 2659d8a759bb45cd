"""Closed kinematic chains in URDF files: <loop> and <coupling> of URDF+, and the <constraint> proposed for URDF."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from minertia.algebra.vec3 import Pose
from minertia.io.errors import DescriptionError
from minertia.robot.description import FollowsSpec, JointSpec, LoopSpec
from minertia.robot.formats.urdf.pose import Placing
from minertia.robot.formats.xml import Element, number, shown
from minertia.robot.joint import CUT_KINDS
from minertia.robot.robot import Note

# type in the file -> kind of the cut
KINDS = {"revolute": "revolute", "continuous": "revolute", "ball": "spherical", **{kind: kind for kind in CUT_KINDS}}
WITHOUT_AXIS = ("spherical", "fixed")


def read_loops(tree: Element, snap: float) -> tuple[list[LoopSpec], list[Note]]:
    """Cut joints of a file; snap: tolerance on rounded angles [rad]."""
    loops: list[LoopSpec] = []
    notes: list[Note] = []
    for element in tree.children:
        if element.tag in ("loop", "constraint"):
            spec, found = _loop(element, snap) if element.tag == "loop" else _constraint(element, snap)
            loops.append(spec)
            notes += found
    return loops, notes


def _loop(element: Element, snap: float) -> tuple[LoopSpec, list[Note]]:
    """Cut joint of URDF+: frames in the predecessor and the successor link that share the joint axis."""
    name, owner, kind = _head(element)
    axis = element.first("axis")
    ends = []
    for role in ("predecessor", "successor"):
        end = element.first(role)
        if end is None:
            raise element.error(f"{owner} has no <{role}>; name the two links that it connects")
        ends.append((end.required("link", owner), _frame(element, owner, kind, snap, (end.first("origin"), axis))))
    return _spec(element, name, kind, ends)


def _constraint(element: Element, snap: float) -> tuple[LoopSpec, list[Note]]:
    """Cut joint of the proposed <constraint> of URDF: origin and axis in each of the two links."""
    name, owner, kind = _head(element)
    ends = []
    for role in ("parent", "child"):
        end = element.first(role)
        if end is None:
            raise element.error(f"{owner} has no <{role}>; name the two links that it connects")
        parts = element.first(f"{role}_origin"), element.first(f"{role}_axis")
        ends.append((end.required("link", owner), _frame(element, owner, kind, snap, parts)))
    return _spec(element, name, kind, ends)


def _head(element: Element) -> tuple[str, str, str]:
    """Name, description for messages, and kind."""
    name = element.required("name", f"a <{element.tag}>")
    owner = f"{element.tag} '{shown(name)}'"
    kind = element.required("type", owner)
    if kind not in KINDS:
        raise element.error(
            f"{owner} is of type '{shown(kind)}', which is not supported; supported: {', '.join(KINDS)}"
        )
    return name, owner, KINDS[kind]


def _frame(
    element: Element, owner: str, kind: str, snap: float, parts: tuple[Element | None, Element | None]
) -> tuple[Pose, list[Note]]:
    """Pose of a cut joint's frame, with z along its axis, in the link's own frame."""
    tags = [replace(part, tag=tag) for part, tag in zip(parts, ("origin", "axis"), strict=True) if part is not None]
    placing = Placing(Element("joint", {}, element.source, element.line, children=tags), owner, snap)
    pose = (placing.fixed() if kind in WITHOUT_AXIS else placing.about_axis())[0]
    return pose, placing.notes


def _spec(
    element: Element, name: str, kind: str, ends: Sequence[tuple[str, tuple[Pose, list[Note]]]]
) -> tuple[LoopSpec, list[Note]]:
    (first, (first_pose, notes)), (second, (second_pose, more)) = ends
    return LoopSpec(name, kind, first, second, first_pose, second_pose, element.line), [*notes, *more]


# ---------------------------------------------------------------------- joints


def with_couplings(tree: Element, joints: Sequence[JointSpec]) -> list[JointSpec]:
    """Joints with the couplings of URDF+: rotation of the successor = ratio times that of the predecessor.

    Rotations are sums of joint positions from the common ancestor link; one of the joints that are not
    independent becomes dependent on the others.
    """
    found = {spec.name: spec for spec in joints}
    for element in tree.all("coupling"):
        name = element.required("name", "a <coupling>")
        owner = f"coupling '{shown(name)}'"
        ratio_element = element.first("ratio")
        if ratio_element is None:
            raise element.error(f'{owner} has no <ratio value="..."/>')
        ratio = number(ratio_element, "value", owner)
        signs = _turns(element, owner, found)
        terms = {spec: ratio * s if s > 0 else s for spec, s in signs.items()}  # their sum is 0
        free = [s for s, factor in terms.items() if factor and found[s].is_passive and found[s].follows is None]
        if not free:
            raise element.error(
                f'{owner} couples joints, but none of them has independent="false"; mark the one that follows'
            )
        own = terms.pop(free[-1])
        found[free[-1]] = replace(
            found[free[-1]],
            follows=FollowsSpec(tuple(terms), tuple(-factor / own for factor in terms.values())),
            is_passive=None,
        )
    return [found[spec.name] for spec in joints]


def _turns(element: Element, owner: str, joints: Mapping[str, JointSpec]) -> dict[str, int]:
    """Sign of each joint on the path between the two links: 1 on the predecessor's side, else -1."""
    carried_by = {spec.child: spec for spec in joints.values()}
    ways = []
    for role in ("predecessor", "successor"):
        end = element.first(role)
        if end is None:
            raise element.error(f"{owner} has no <{role}>; name the two links that it couples")
        way: list[str] = []
        link = end.required("link", owner)
        while link in carried_by:
            if len(way) > len(joints):
                raise DescriptionError(f"{owner}: its links form a cycle", file=element.source, line=element.line)
            way.append(carried_by[link].name)
            link = carried_by[link].parent
        ways.append(way)
    first, second = ({name for name in way if joints[name].kind != "fixed"} for way in ways)
    return dict.fromkeys(sorted(first - second), 1) | dict.fromkeys(sorted(second - first), -1)


def is_passive(element: Element) -> bool | None:
    """Whether a joint is passive by its attribute `independent`; None without it."""
    said = element.attributes.get("independent")
    if said is None:
        return None
    if said.strip().lower() not in ("true", "false", "1", "0"):
        name = shown(element.attributes.get("name", ""))
        raise element.error(f"joint '{name}': 'independent' must be true or false, not '{shown(said)}'")
    return said.strip().lower() in ("false", "0")


def closed_position(element: Element, owner: str) -> float | None:
    """Position of a joint in the closed configuration, from minertia's own attribute `closed`; None without it."""
    own = element.first("minertia")
    return number(own, "closed", owner) if own is not None and "closed" in own.attributes else None

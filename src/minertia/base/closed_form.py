"""Symbolic regrouping in closed form (Gautier & Khalil 1990; Khalil, Bennis & Gautier; theory, eqs. 13 to 17).

A parameter combination that a joint's motion does not excite acts on its parent in the same way at every position, so
it is moved to the parent, from the tips to the base.  Six rules, numbered as in the theory page, then regroup or
eliminate the parameters of the first links of each path.
"""

from __future__ import annotations

from minertia.algebra.linear import Linear
from minertia.algebra.scalar import add, mul, sub
from minertia.algebra.vec3 import apply, dot
from minertia.base.geometry import Axes
from minertia.base.islands import MOMENTS, Forms, clear_beyond, clear_far, eliminate_along, is_beyond, unexcited_beyond
from minertia.robot.inertia import transport
from minertia.robot.joint import KINDS
from minertia.robot.parameters import LINK_SYMBOLS, split_name
from minertia.robot.robot import Robot


def closed_form(robot: Robot, columns: tuple[str, ...], axes: Axes | None = None) -> dict[str, Linear]:
    """Return {retained column: its regrouped linear form} for the given standard parameters, in their order."""
    axes = Axes(robot) if axes is None else axes
    base, links = unit_forms(robot, columns)
    _move_to_parents(robot, axes, base, links)
    inside = [j for j in range(robot.n_joints) if not is_beyond(robot, j)]
    for j in reversed(inside):
        _regroup_first_moments(robot, axes, links, j)
    for j in range(robot.n_joints):
        if j in inside:
            _clear_without_effect(robot, axes, links, j)
            _merge_rotor(robot, axes, links, j)
        else:
            clear_beyond(robot, axes, j, links[j])
    for k, sensor in enumerate(robot.sensors):
        clear_far(robot, axes, sensor, links[robot.n_joints + k])
    tables = {0: base} | {j + 1: link for j, link in enumerate(links)}
    left = {}
    for name in columns:
        symbol, link = split_name(name)
        form = tables[link].get(symbol, 0)
        if isinstance(form, Linear):
            left[name] = form
    return left


def unit_forms(robot: Robot, columns: tuple[str, ...]) -> tuple[Forms, list[Forms]]:
    """Return each standard parameter as its own linear form, for the floating base, the links and the far parts."""
    count = robot.n_joints + len(robot.sensors)
    tables: dict[int, Forms] = {k: dict.fromkeys(LINK_SYMBOLS, 0) for k in range(count + 1)}
    for name in columns:
        symbol, link = split_name(name)
        tables[link][symbol] = Linear.unit(name)
    return tables[0], [tables[j + 1] for j in range(count)]


def _move_to_parents(robot: Robot, axes: Axes, base: Forms, links: list[Forms]) -> None:
    """Rule 1 (theory, eqs. 14 to 15): regroup each link's unexcited part into its parent.

    The unexcited part of a link on the ground has no effect and is dropped.
    """
    for j in reversed(range(robot.n_joints)):
        joint, x = robot.joints[j], links[j]
        moved = dict.fromkeys(LINK_SYMBOLS, 0) | {s: x[source] for s, source in KINDS[joint.kind].invisible}
        if is_beyond(robot, j):
            moved |= {s: x[s] for s in unexcited_beyond(robot, axes, j)}
        for symbol in LINK_SYMBOLS:
            x[symbol] = sub(x[symbol], moved[symbol])
        sensor = robot.sensor_before(j)
        if sensor is not None:
            parent = links[robot.n_joints + sensor]
        elif joint.parent is not None:
            parent = links[joint.parent]
        elif robot.is_floating:
            parent = base
        else:
            continue
        for symbol, value in transport(moved, (joint.R, joint.p)).items():
            parent[symbol] = add(parent[symbol], value)


def _regroup_first_moments(robot: Robot, axes: Axes, links: list[Forms], j: int) -> None:
    """Rules 2 and 3: regroup first moments of prismatic links between joints r1 and r2, outermost first.

    r1: first revolute joint of the path.  r2: first revolute joint whose axis is not parallel to that of r1.
    """
    axis, joint = axes.axis[j], robot.joints[j]
    if joint.kind != "prismatic" or axis.r1 is None or axis.beyond:
        return
    if axis.parallel:
        _rule_2(robot, axes, links, j)
    else:
        assert axis.u is not None
        eliminate_along(links[j], axis.u, robot.symbol_values)  # rule 3 (theory, eq. 17)


def _rule_2(robot: Robot, axes: Axes, links: list[Forms], j: int) -> None:
    """Rule 2, for a prismatic axis parallel to the axis of r1: MZ has no effect; regroup MX and MY.

    MX and MY are regrouped into the parent and into ZZ of the nearest revolute joint (theory, eq. 16).
    """
    joint, x = robot.joints[j], links[j]
    parent = joint.parent
    assert parent is not None
    moments = apply(joint.R, (x["MX"], x["MY"], 0))
    u = axes.axis[parent].u
    assert u is not None
    near = next(k for k in reversed(robot.ancestors(parent)) if robot.joints[k].kind == "revolute")
    swing = sub(dot(moments, joint.p), mul(dot(moments, u), dot(u, joint.p)))
    links[near]["ZZ"] = add(links[near]["ZZ"], mul(2, swing))
    for symbol, value in zip(MOMENTS, moments, strict=True):
        links[parent][symbol] = add(links[parent][symbol], value)
        x[symbol] = 0


def _clear_without_effect(robot: Robot, axes: Axes, links: list[Forms], j: int) -> None:
    """Rules 4, 5 and 6: eliminate parameters of the first links that have no effect."""
    axis, kind, x = axes.axis[j], robot.joints[j].kind, links[j]
    if kind == "revolute" and not axis.beyond:
        gone = ("XX", "XY", "XZ", "YZ", *(("MX", "MY") if axes.first_moments_vanish(j) else ()))
    elif kind == "prismatic" and axis.r1 is None and not axis.beyond:
        gone = MOMENTS
    else:
        return
    x |= dict.fromkeys(gone, 0)


def _merge_rotor(robot: Robot, axes: Axes, links: list[Forms], j: int) -> None:
    """Merge a rotor inertia with a link parameter that has the same effect.

    That is ZZ of joint r1, or of r2 if it is perpendicular to r1, or the mass of a first prismatic link.
    """
    partner = rotor_partner(robot, axes, j)
    x = links[j]
    if partner is not None and isinstance(x.get("IA", 0), Linear) and isinstance(x[partner], Linear):
        x[partner] = x[partner] + x["IA"]
        x["IA"] = 0


def rotor_partner(robot: Robot, axes: Axes, j: int) -> str | None:
    """Parameter whose column equals the column of IA of joint j; None if there is none in closed form."""
    axis = axes.axis[j]
    if robot.joints[j].kind == "revolute":
        first = axis.r1 == j
        return "ZZ" if first or (axis.is_r2 and axis.perpendicular) else None
    return "M" if axes.is_first(j) and not axes.gravity_along(j) else None

"""Minimal linear combinations of composite bodies (Lin 1995, theorem 2), also for trees and floating bases.

The equations are theory, eqs. 18 to 20.

Composite body i is link i with all links beyond it, made independent of the joint positions beyond.  The efforts at
joint i depend only on the combinations of bodies i and beyond, so a robot can be identified from the last link to the
first.
"""

from __future__ import annotations

from minertia.algebra.linear import Linear
from minertia.algebra.scalar import Scalar, add, mul, neg, sub
from minertia.algebra.vec3 import Vec
from minertia.base.closed_form import rotor_partner, unit_forms
from minertia.base.geometry import Axes
from minertia.base.islands import Forms
from minertia.robot.effects import STANDARD_SYMBOLS, STANDARD_TWINS
from minertia.robot.inertia import transport
from minertia.robot.parameters import LINK_SYMBOLS, split_name
from minertia.robot.robot import Robot

ENTRIES = {"U11": "XX", "U12": "XY", "U13": "XZ", "U22": "YY", "U23": "YZ", "U33": "ZZ"}
MOMENTS = {"K1": "MX", "K2": "MY", "K3": "MZ"}


def minimal_combinations(robot: Robot, columns: tuple[str, ...], axes: Axes | None = None) -> dict[str, Linear]:
    """Return {name: linear form} of the minimal linear combinations; effects keep their names."""
    axes = Axes(robot) if axes is None else axes
    base, links = unit_forms(robot, columns)
    _compose(robot, base, links)
    found: dict[str, Scalar] = {}
    if robot.is_floating:
        found |= {f"{name}_0": base[symbol] for name, symbol in (ENTRIES | MOMENTS).items()} | {"MH_0": base["M"]}
    for j in range(robot.n_joints):
        partner, rotor = rotor_partner(robot, axes, j), links[j].get("IA", 0)
        if partner is not None and isinstance(rotor, Linear):
            links[j] |= {partner: add(links[j][partner], rotor), "IA": 0}
        found |= {f"{name}_{j + 1}": form for name, form in _combinations(robot, axes, links[j], j).items()}
        found |= {f"{s}{j + 1}": links[j].get(s, 0) for s in (*STANDARD_SYMBOLS, *STANDARD_TWINS)}
    return {name: form for name, form in found.items() if isinstance(form, Linear)}


def link_of(name: str) -> int:
    """Link number in the name of a combination."""
    return int(name.rsplit("_", 1)[1]) if "_" in name else split_name(name)[1]


def _compose(robot: Robot, base: Forms, links: list[Forms]) -> None:
    """Add to each composite body the part of its children that does not depend on their joint positions."""
    for j in reversed(range(robot.n_joints)):
        joint = robot.joints[j]
        if joint.parent is None and not robot.is_floating:
            continue
        parent = base if joint.parent is None else links[joint.parent]
        for symbol, value in transport(_seen(links[j], joint.kind), (joint.R, joint.p)).items():
            parent[symbol] = add(parent[symbol], value)


def _seen(x: Forms, kind: str) -> Forms:
    """Part of a composite body whose effect on its parent does not depend on the position of their joint."""
    if kind == "prismatic":
        return {symbol: x[symbol] for symbol in LINK_SYMBOLS}
    empty: Forms = dict.fromkeys(LINK_SYMBOLS, 0)
    return empty | {"XX": x["YY"], "YY": x["YY"], "ZZ": x["ZZ"], "MZ": x["MZ"], "M": x["M"]}


def _combinations(robot: Robot, axes: Axes, x: Forms, j: int) -> Forms:
    axis = axes.axis[j]
    if robot.joints[j].kind == "revolute":
        if axis.beyond:
            bends = {"U11mU22": sub(x["XX"], x["YY"])} | {k: x[ENTRIES[k]] for k in ("U12", "U13", "U23", "U33")}
            return bends | {"K1": x["MX"], "K2": x["MY"]}
        visible = not axes.first_moments_vanish(j)
        return {"U33": x["ZZ"]} | ({"K1": x["MX"], "K2": x["MY"]} if visible else {})
    found: Forms = {"MH": x["M"]}
    if axis.beyond:
        found |= {name: x[symbol] for name, symbol in MOMENTS.items()}
    elif axis.r1 is not None and not axis.parallel:
        assert axis.u is not None
        found |= _oblique_moments(x, axis.u)
    return found


def _oblique_moments(x: Forms, u: Vec) -> Forms:
    """First-moment components of an oblique prismatic joint that rotation about r1 excites (theory, eq. 20)."""
    ux, uy, uz = u
    along = add(mul(ux, x["MX"]), mul(uy, x["MY"]))
    return {
        "KA": add(neg(mul(uz, along)), mul(sub(1, mul(uz, uz)), x["MZ"])),
        "KB": sub(mul(ux, x["MY"]), mul(uy, x["MX"])),
    }

"""Regrouping relations that a cut joint adds to those of the spanning tree (theory, eqs. 40 and 41).

The part of a body that a joint's motion does not excite may belong to either of the links it connects; that holds for
a cut joint as for any other.  So this part, expressed at the cut's frame and assigned to the first link, minus the
same on the second link, has no effect.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from minertia.algebra.linear import Linear
from minertia.algebra.quotient import length, number_of, quotient
from minertia.algebra.scalar import Scalar, add, is_zero, mul, neg
from minertia.algebra.vec3 import IDENTITY, Mat, Vec, cross, matmul, vsub
from minertia.base.geometry import DRAW, TOLERANCE
from minertia.robot.inertia import transport
from minertia.robot.joint import Cut
from minertia.robot.loops.closure import cut_chains
from minertia.robot.parameters import LINK_SYMBOLS, full_name, split_name
from minertia.robot.robot import Robot

Relation = dict[str, Scalar]  # {column: factor}: the sum of the columns times their factors is zero at every state
UNSEEN: Mapping[str, tuple[Mapping[str, int], ...]] = {  # what motion of each kind of cut joint cannot show
    "revolute": ({"M": 1}, {"MZ": 1}, {"XX": 1, "YY": 1}),
    "spherical": ({"M": 1},),
    "prismatic": tuple({symbol: 1} for symbol in ("XX", "XY", "XZ", "YY", "YZ", "ZZ")),
    "fixed": tuple({symbol: 1} for symbol in LINK_SYMBOLS),
}
Chains: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]  # joints from the carrier to both sides of a cut
TURNED: Mat = ((1, 0, 0), (0, -1, 0), (0, 0, -1))
PREFERENCE = ("ZZ", "XX", "XY", "XZ", "YZ", "MX", "MY", "M", "MZ", "YY")  # kept first where there is a choice
ROUNDING = 1e-10  # part of the largest factor of a relation below which a factor is rounding
PIVOT = 1e-2  # part of it that a factor needs for others to be divided by it


def cut_relations(robot: Robot, columns: Collection[str]) -> Iterator[Relation]:
    """Yield the relations that the cut joints add between these columns; symbolic where the lengths are symbolic."""
    for cut in (robot.uncut(cut) for cut in robot.cuts):
        chains = cut_chains(robot, cut)
        is_planar = _is_planar(robot, cut, chains)
        cut = _as_hinge(robot, cut, chains) if is_planar else cut
        found = [_unseen(robot, cut, {s: unit.get(s, 0) for s in LINK_SYMBOLS}) for unit in UNSEEN[cut.kind]]
        found += [_edges(robot, cut, chains)] if is_planar else []
        # a massless link has no columns
        yield from (relation for relation in found if all(name in columns for name in relation))


def _unseen(robot: Robot, cut: Cut, unit: Mapping[str, Scalar]) -> Relation:
    """Relation without effect: a parameter in the cut's frame, added to the first link, subtracted from the second."""
    found: Relation = {}
    for joint, pose, sign in ((cut.first, cut.first_pose, 1), (cut.second, cut.second_pose, -1)):
        enter(robot, found, joint, transport(unit, pose), sign)
    return found


def _edges(robot: Robot, cut: Cut, chains: Chains) -> Relation:
    """Relation of the inertias w z' + z w', w = z x e, over all links of a planar loop of revolute joints.

    z: common axis of the joints.  e: edge of each link (theory, eq. 42).  The sum has no effect.
    With the angular velocity omega of each link, loop closure gives the sum of (omega . z) e = 0, and the
    components of omega in the plane are common to all links.
    """
    found: Relation = {}
    starts: list[Vec] = []  # where each side begins, in the carrier's frame
    for chain, pose, sign in ((chains[0], cut.first_pose, 1), (chains[1], cut.second_pose, -1)):
        ends = [*(robot.joints[j].p for j in chain), pose[1]]
        starts.append(ends[0])
        for j, (x, y, _) in zip(chain, ends[1:], strict=True):
            enter(robot, found, j, {"XZ": neg(y), "YZ": x}, sign)
    edge = vsub(starts[0], starts[1])
    first = next(j for chain in chains for j in chain)
    z = robot.joints[first].axis
    w = cross(z, edge)
    pairs = zip(LINK_SYMBOLS, ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)), strict=False)
    enter(
        robot, found, robot.joints[first].parent, {s: add(mul(w[a], z[b]), mul(z[a], w[b])) for s, (a, b) in pairs}, 1
    )
    return found


def enter(robot: Robot, found: Relation, joint: int | None, part: Mapping[str, Scalar], times: Scalar) -> None:
    """Add `times` the given parameters of a joint's link to a relation; the ground has no parameters."""
    if joint is None and not robot.is_floating:
        return
    for symbol, value in part.items():
        if not is_zero(value):
            name = full_name(symbol, 0 if joint is None else joint + 1)
            found[name] = add(found.get(name, 0), mul(times, value))


def _is_planar(robot: Robot, cut: Cut, chains: Chains) -> bool:
    """Whether a loop has revolute joints only, all parallel for any values of the symbols."""
    joints = [j for chain in chains for j in chain]
    if cut.kind not in ("revolute", "spherical") or any(robot.joints[j].kind != "revolute" for j in joints):
        return False
    drawn = robot.at(robot.other_values(DRAW))
    firsts = [chain[0] for chain in chains if chain]
    z = [np.array(drawn.joints[j].axis, float) for j in firsts]
    later = [drawn.joints[j].R for j in joints if j not in firsts]
    if cut.kind == "revolute":
        own = next(drawn.uncut(other) for other in drawn.cuts if other.name == cut.name)
        later += [pose[0] for chain, pose in zip(chains, (own.first_pose, own.second_pose), strict=True) if chain]
    return all(np.linalg.norm(np.cross(z[0], v)) < TOLERANCE for v in z[1:]) and all(
        math.hypot(float(R[0][2]), float(R[1][2])) < TOLERANCE for R in later
    )


def _as_hinge(robot: Robot, cut: Cut, chains: Chains) -> Cut:
    """Replace the cut of a planar loop by a revolute joint with z along the loop's axis.

    A spherical joint in a planar loop rotates about no other direction.
    """
    if cut.kind == "revolute":
        return cut
    drawn = robot.at(robot.other_values(DRAW))
    first = next(j for chain in chains for j in chain)
    common = np.array(drawn.joints[first].axis, float)
    poses = []
    for chain, (_, p) in zip(chains, (cut.first_pose, cut.second_pose), strict=True):
        R = IDENTITY if chain else robot.joints[first].R
        along = float(common @ np.array(drawn.joints[chain[0]].axis, float)) if chain else 1.0
        along *= math.prod(float(drawn.joints[j].R[2][2]) for j in chain[1:])
        poses.append((R if along > 0 else matmul(R, TURNED), p))
    return replace(cut, kind="revolute", first_pose=poses[0], second_pose=poses[1])


def with_relations(
    left: Mapping[str, Linear], relations: Iterable[Relation], draws: Sequence[Mapping[str, float]]
) -> dict[str, Linear]:
    """Eliminate one retained column for each new relation; draws: values of the symbols.

    A relation rho between columns implies the relation K rho between retained columns.  One column that
    occurs in it is eliminated: multiples of its linear form, in the ratio of the coefficients, are added to
    those of the others.
    """
    forms = dict(left)
    for relation in relations:
        kept = _between_kept(forms, relation, draws)
        sizes = {name: abs(float(number_of(factor, draws[0]))) for name, factor in kept.items()}
        largest = max(sizes.values(), default=0.0)
        if largest <= ROUNDING * _size(relation.values(), draws):
            continue  # it says nothing at the robot's own lengths
        free = [name for name, size in sizes.items() if size >= PIVOT * largest]
        gone = max(free, key=lambda name: _readiness(name, kept[name]))
        form = forms.pop(gone)
        for name, factor in kept.items():
            if name != gone:
                forms[name] = forms[name] + form * _structural(neg(quotient(factor, kept[gone])))  # type: ignore[assignment]
    return forms


def without_columns(
    left: Mapping[str, Linear], absent: Collection[str], draws: Sequence[Mapping[str, float]]
) -> dict[str, Linear]:
    """Eliminate parameters that are zero; a retained one is replaced by another column of its form."""
    stripped = {name: _without(form, absent, draws) for name, form in left.items()}
    forms: dict[str, Linear] = {name: form for name, form in stripped.items() if form.terms}
    for name in [name for name in forms if name in absent]:
        form = forms.pop(name)
        if not form.terms:
            continue
        sizes = {str(c): abs(float(number_of(factor, draws[0]))) for c, factor in form.terms.items()}
        free = [c for c, size in sizes.items() if size >= PIVOT * max(sizes.values())]
        place = max(free, key=lambda c: _wanted(c, form.terms[c]))
        lead = form / form.terms[place]
        for other in [k for k, own in forms.items() if place in own.terms]:
            changed = forms[other] - lead * forms[other].terms[place]
            forms[other] = changed if isinstance(changed, Linear) else Linear({})
        forms[place] = lead
    return {name: form for name, form in forms.items() if form.terms}


def _without(form: Linear, absent: Collection[str], draws: Sequence[Mapping[str, float]]) -> Linear:
    """Remove from a form the zero parameters and the coefficients that are only rounding error."""
    least = ROUNDING * _size(form.terms.values(), draws)
    kept = [name for name, factor in form.terms.items() if name not in absent and _size([factor], draws) > least]
    return Linear({name: form.terms[name] for name in kept})


def _size(factors: Iterable[Scalar], draws: Sequence[Mapping[str, float]]) -> float:
    """Largest magnitude of some coefficients over all draws of the symbols.

    Several draws are needed, as a coefficient may vanish at the numerical values of the robot.
    """
    return max((abs(float(number_of(factor, values))) for factor in factors for values in draws), default=0.0)


def _wanted(name: str, factor: Scalar) -> tuple[bool, int, int, int]:
    """Sort key for the replacement column: coefficients of 1 or -1, short ones, distal columns, then by preference."""
    symbol, link = split_name(name)
    return *simplicity(factor), link, -preference(symbol)


def _between_kept(forms: Mapping[str, Linear], relation: Relation, draws: Sequence[Mapping[str, float]]) -> Relation:
    """Express a relation in retained columns; coefficients that are only rounding error are dropped."""
    least = ROUNDING * _size(relation.values(), draws)
    found: Relation = {}
    for name, form in forms.items():
        summed: Scalar = 0
        for column, factor in form.terms.items():
            if str(column) in relation:
                summed = add(summed, mul(relation[str(column)], factor))
        if not is_zero(summed) and _size([summed], draws) > least:
            found[name] = summed
    return found


def _readiness(name: str, factor: Scalar) -> tuple[bool, int, int, int]:
    """Sort key for elimination: the simplest coefficients, then distal columns, then the least preferred kind."""
    symbol, link = split_name(name)
    return *simplicity(factor), link, preference(symbol)


def preference(symbol: str) -> int:
    """Rank of a symbol in the order of retention; effects come before link parameters."""
    return PREFERENCE.index(symbol) if symbol in PREFERENCE else -1


def simplicity(factor: Scalar) -> tuple[bool, int]:
    """Sort key of a pivot: 1 and -1, then short coefficients; long sums would grow from relation to relation."""
    return type(factor) is int and abs(factor) == 1, -length(factor)


def _structural(value: Scalar) -> Scalar:
    return int(value) if isinstance(value, (int, float)) and value in (1, -1) else value

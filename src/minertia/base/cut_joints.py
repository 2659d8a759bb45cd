"""Relations that a cut joint adds to those of the tree it leaves (theory, eqs. 57 and 58).

What a joint's motion cannot show may sit on either of the links it joins; that holds for a cut joint as for any other.
So the part written at the cut's frame and moved to the first link, less the same moved to the second, has no effect.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from minertia.algebra.linear import Linear
from minertia.algebra.quotient import number_of, quotient
from minertia.algebra.scalar import Scalar, add, is_zero, mul, neg
from minertia.robot.inertia import transport
from minertia.robot.loop import Cut
from minertia.robot.parameters import LINK_SYMBOLS, full_name, split_name
from minertia.robot.robot import Robot

Relation = dict[str, Scalar]  # {column: factor}: the sum of the columns times their factors is zero at every state
UNSEEN: Mapping[str, tuple[Mapping[str, int], ...]] = {  # what motion of each kind of cut joint cannot show
    "revolute": ({"M": 1}, {"MZ": 1}, {"XX": 1, "YY": 1}),
    "spherical": ({"M": 1},),
    "prismatic": tuple({symbol: 1} for symbol in ("XX", "XY", "XZ", "YY", "YZ", "ZZ")),
    "fixed": tuple({symbol: 1} for symbol in LINK_SYMBOLS),
}
PREFERENCE = ("ZZ", "XX", "XY", "XZ", "YZ", "MX", "MY", "M", "MZ", "YY")  # kept first where there is a choice
ROUNDING = 1e-9  # part of the terms of a sum below which it is rounding


def cut_relations(robot: Robot, columns: Collection[str]) -> Iterator[Relation]:
    """What the cut joints add between these columns; the factors are in letters where the robot's lengths are."""
    for cut in robot.cuts:
        for unit in UNSEEN[cut.kind]:
            relation = _relation(cut, {symbol: unit.get(symbol, 0) for symbol in LINK_SYMBOLS})
            if all(name in columns for name in relation):  # a massless link has no columns
                yield relation


def _relation(cut: Cut, unit: Mapping[str, Scalar]) -> Relation:
    found: Relation = {}
    for joint, pose, sign in ((cut.first, cut.first_pose, 1), (cut.second, cut.second_pose, -1)):
        if joint is not None:
            ten = transport(unit, pose)
            found |= {full_name(s, joint + 1): mul(sign, v) for s, v in ten.items() if not is_zero(v)}
    return found


def with_relations(
    left: Mapping[str, Linear], relations: Iterable[Relation], values: Mapping[str, float]
) -> dict[str, Linear]:
    """Forms with one kept column less for each relation between them that is new; values: of the letters.

    A relation of columns is one of kept columns, K rho; one column that has a part in it goes, and the others take on
    its form in the ratio of their factors to its own.
    """
    forms = dict(left)
    for relation in relations:
        kept = _between_kept(forms, relation, values)
        if not kept:
            continue
        gone = max(kept, key=lambda name: _readiness(name, kept[name]))
        form = forms.pop(gone)
        for name, factor in kept.items():
            if name != gone:
                forms[name] = forms[name] + form * _structural(neg(quotient(factor, kept[gone])))  # type: ignore[assignment]
    return forms


def _between_kept(forms: Mapping[str, Linear], relation: Relation, values: Mapping[str, float]) -> Relation:
    """A relation as one of kept columns; what is only the rounding of a sum is none of it."""
    found: Relation = {}
    for name, form in forms.items():
        terms = [mul(relation[str(c)], factor) for c, factor in form.terms.items() if str(c) in relation]
        sizes = [abs(number_of(term, values)) for term in terms]
        summed: Scalar = 0
        for term in terms:
            summed = add(summed, term)
        if not is_zero(summed) and abs(number_of(summed, values)) > ROUNDING * sum(sizes):
            found[name] = summed
    return found


def _readiness(name: str, factor: Scalar) -> tuple[bool, int, int]:
    """What goes first: factors of 1 or -1, which divide nothing; then columns far out; then the least wanted kind."""
    symbol, link = split_name(name)
    return type(factor) is int and abs(factor) == 1, link, PREFERENCE.index(symbol)


def _structural(value: Scalar) -> Scalar:
    return int(value) if isinstance(value, (int, float)) and value in (1, -1) else value

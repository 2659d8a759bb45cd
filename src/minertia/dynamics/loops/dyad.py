"""Closed form of planar loops with two passive revolute joints, on any scalar (theory, eqs. 47 and 48).

Four-bars, five-bars and levers driven by linear actuators are of this kind: two links of known lengths connect two
known points.  Passive angles are given by cosine and sine, so that generated code needs one square root and no
arctangent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from minertia.algebra.scalar import Scalar, Turn, add, cos, div, mul, neg, sin, sqrt, sub
from minertia.algebra.vec3 import Pose, Vec, apply, column, compose, transpose, vsub
from minertia.robot.joint import Cut
from minertia.robot.loops.closure import cut_chains
from minertia.robot.loops.forms import is_planar
from minertia.robot.robot import Robot

Plane = tuple[Scalar, Scalar]


class _Unknown(NamedTuple):
    """Passive revolute joint: its kinematic chain and its index in it."""

    chain: tuple[int, ...]
    pose: Pose  # of the cut, at the end of the chain
    place: int

    @property
    def joint(self) -> int:
        return self.chain[self.place]


@dataclass(frozen=True)
class Dyad:
    """Two links of known lengths between known points, which close a planar loop.

    coordinates: passive coordinates of the tree.  first, second: their revolute joints.  other: side of the
    cut without the first joint.  sign: sign of the assembly branch.  pin: the cut, if a third passive joint
    is located at it.
    """

    coordinates: tuple[int, ...]
    first: _Unknown
    second: _Unknown
    other: tuple[tuple[int, ...], Pose]  # the side of the cut without the first hinge
    sign: int
    pin: Cut | None = None  # the fixed cut behind the joint of the third coordinate, where there is one

    @property
    def is_one_sided(self) -> bool:
        """Whether both revolute joints are on one side of the cut."""
        return self.first.chain == self.second.chain

    def angles(self, tree: Robot, q: Mapping[int, Scalar]) -> tuple[Turn, ...]:
        """All passive angles; q: known positions of the tree's coordinates."""
        found = self._both(tree, q)
        return found if self.pin is None else (*found, self._third(tree, q, self.pin, found))

    def _third(self, tree: Robot, q: Mapping[int, Scalar], cut: Cut, both: tuple[Turn, Turn]) -> Turn:
        """The angle of the joint at the cut, from the directions of both sides."""
        known = {**q, **dict(zip(self.coordinates, both, strict=False))}
        first, second = cut_chains(tree, cut)
        joint = tree.joints[first[-1]]
        before = _along(tree, known, first[:-1], (joint.R, joint.p))[0]
        after = _along(tree, known, second, cut.second_pose)[0]
        along = apply(transpose(before), column(after, 0))
        return Turn(along[0], along[1])

    def _both(self, tree: Robot, q: Mapping[int, Scalar]) -> tuple[Turn, Turn]:
        start, levers = self._start(tree, q)
        d, a, b = levers
        along, across = _parts(d, a, b)
        u = _over(_sum(_times(d, along), _times(_quarter(d), mul(self.sign, sqrt(across)))), _square(d))
        w = sub(u[0], d[0]), sub(u[1], d[1])
        one = _turn(a, u)
        return one, _turn(b, self._seen(tree, q, start, one, w))

    def branch(self, tree: Robot, q: Sequence[Scalar]) -> float:
        """Sign of the branch at positions of all the tree's coordinates."""
        known = dict(enumerate(q))
        _, (d, a, _) = self._start(tree, known)
        angle = known[self.coordinates[0]]
        u = sub(mul(cos(angle), a[0]), mul(sin(angle), a[1])), add(mul(sin(angle), a[0]), mul(cos(angle), a[1]))
        return float(sub(mul(d[0], u[1]), mul(d[1], u[0])))

    def _start(self, tree: Robot, q: Mapping[int, Scalar]) -> tuple[Pose, tuple[Plane, Plane, Plane]]:
        """Frame of the first revolute joint at zero angle, and three vectors in its plane.

        The vectors are the one to the end of the second link, and both links.
        """
        start = _before(tree, q, self.first)
        if self.is_one_sided:
            between = _between(tree, q, self.first, self.second)
            a, b = between[1], _after(tree, q, self.second)
            end = _along(tree, q, self.other[0], self.other[1])
            b = neg(b[0]), neg(b[1]), neg(b[2])
        else:
            a, b = _after(tree, q, self.first), _after(tree, q, self.second)
            end = _before(tree, q, self.second)
        back = transpose(start[0])
        d = apply(back, vsub(end[1], start[1]))
        return start, (_plane(d), _plane(a), _plane(b))

    def _seen(self, tree: Robot, q: Mapping[int, Scalar], start: Pose, one: Turn, w: Plane) -> Plane:
        """Express a direction of the first revolute joint's frame in the second joint's frame at zero angle."""
        if self.is_one_sided:
            turned = add(mul(one.c, w[0]), mul(one.s, w[1])), sub(mul(one.c, w[1]), mul(one.s, w[0]))
            between = _between(tree, q, self.first, self.second)
            return _plane(apply(transpose(between[0]), (*turned, 0)))
        there = _before(tree, q, self.second)
        return _plane(apply(transpose(there[0]), apply(start[0], (*w, 0))))


def dyad_of(tree: Robot, cut: Cut, passive: tuple[int, ...], seed: Sequence[float]) -> Dyad | None:
    """Closed form of a loop with these passive coordinates; None if it is not of this kind.

    seed: closed positions of the tree's coordinates, which define the branch.
    """
    pin, fixed = tree.pin(cut), cut
    if pin is not None:  # its joint hangs on nothing else, so that it comes last
        passive, cut = tuple(c for c in passive if (c, 1) not in tree.shares(pin)), tree.uncut(cut)
    chains = cut_chains(tree, cut)
    if len(passive) != 2:
        return None
    unknown = [_unknown(tree, cut, chains, c) for c in passive]
    if unknown[0] is None or unknown[1] is None or not is_planar(tree, cut):
        return None
    first, second = unknown[0], unknown[1]
    other = (chains[1], cut.second_pose) if first.chain is chains[0] else (chains[0], cut.first_pose)
    found = Dyad(passive, first, second, other, 1)
    if pin is not None and tree.joints[pin].follows is None:
        found = replace(found, coordinates=(*passive, tree.shares(pin)[0][0]), pin=fixed)
    return found if found.branch(tree, seed) > 0 else replace(found, sign=-1)


def _unknown(tree: Robot, cut: Cut, chains: tuple[tuple[int, ...], tuple[int, ...]], c: int) -> _Unknown | None:
    """Revolute joint moved by a passive coordinate; None if it moves several joints or a prismatic one."""
    places = [
        _Unknown(chain, pose, k)
        for chain, pose in zip(chains, (cut.first_pose, cut.second_pose), strict=True)
        for k, j in enumerate(chain)
        if any(own == c for own, _ in tree.shares(j))
    ]
    if len(places) != 1 or tree.joints[places[0].joint].kind != "revolute":
        return None
    return places[0] if tree.joints[places[0].joint].follows is None else None


def _pose(tree: Robot, q: Mapping[int, Scalar], j: int) -> Pose:
    """Pose of a joint's frame relative to the previous one; its coordinates must be known."""
    own = [q.get(c, 0) for c in range(tree.n)]
    return tree.joints[j].pose(tree.joint_position(j, own))


def _along(tree: Robot, q: Mapping[int, Scalar], chain: Sequence[int], end: Pose) -> Pose:
    return compose(*(_pose(tree, q, j) for j in chain), end)


def _before(tree: Robot, q: Mapping[int, Scalar], hinge: _Unknown) -> Pose:
    """Frame of a revolute joint at zero angle, relative to the carrier."""
    joint = tree.joints[hinge.joint]
    return _along(tree, q, hinge.chain[: hinge.place], (joint.R, joint.p))


def _between(tree: Robot, q: Mapping[int, Scalar], first: _Unknown, second: _Unknown) -> Pose:
    """Frame of the second revolute joint at zero angle, relative to the link of the first."""
    joint = tree.joints[second.joint]
    return _along(tree, q, second.chain[first.place + 1 : second.place], (joint.R, joint.p))


def _after(tree: Robot, q: Mapping[int, Scalar], hinge: _Unknown) -> Vec:
    """Position of the cut on the link of a revolute joint."""
    return _along(tree, q, hinge.chain[hinge.place + 1 :], hinge.pose)[1]


def _parts(d: Plane, a: Plane, b: Plane) -> tuple[Scalar, Scalar]:
    """k = (d.d + a.a - b.b) / 2 and the square of h, a.a d.d - k^2."""
    dd, aa = _square(d), _square(a)
    k = mul(0.5, sub(add(dd, aa), _square(b)))
    return k, sub(mul(aa, dd), mul(k, k))


def _turn(a: Plane, u: Plane) -> Turn:
    """Angle that rotates a to u, which has the same length."""
    size = _square(a)
    c = add(mul(u[0], a[0]), mul(u[1], a[1]))
    s = sub(mul(u[1], a[0]), mul(u[0], a[1]))
    return Turn(div(c, size), div(s, size))


def _quarter(v: Plane) -> Plane:
    return neg(v[1]), v[0]


def _square(v: Plane) -> Scalar:
    return add(mul(v[0], v[0]), mul(v[1], v[1]))


def _times(v: Plane, factor: Scalar) -> Plane:
    return mul(v[0], factor), mul(v[1], factor)


def _over(v: Plane, divisor: Scalar) -> Plane:
    part = div(1, divisor)
    return mul(v[0], part), mul(v[1], part)


def _sum(a: Plane, b: Plane) -> Plane:
    return add(a[0], b[0]), add(a[1], b[1])


def _plane(v: Vec) -> Plane:
    return v[0], v[1]

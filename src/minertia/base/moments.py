"""Relations of first moments of links with constant relative orientation in loops (theory, eq. 46a).

A first moment has an effect through gravity and through its products with the edge vectors from the
base to its link.  Where edges of two links lie in links with constant relative orientation, there are
combinations of their moments whose products are all zero, so that they have no effect.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TypeAlias, TypeVar

import numpy as np

from minertia.algebra.quotient import number_of, quotient
from minertia.algebra.scalar import Scalar, add, is_zero, mul, neg
from minertia.algebra.vec3 import IDENTITY, ZERO, Mat, Vec, X, Y, Z, apply, vadd
from minertia.base.cut_joints import PIVOT, ROUNDING, Relation, enter, simplicity
from minertia.base.geometry import Axes
from minertia.io.arrays import Array
from minertia.robot.inertia import transport
from minertia.robot.parameters import LINK_SYMBOLS, full_name
from minertia.robot.robot import Robot

SAME = 1e-9  # rad and m
MATRIX = ("XX", "XY", "XZ", "YY", "YZ", "ZZ")
Key = TypeVar("Key", bound=Hashable)
GROUND, FIXED, WEIGHT = -1, -1, -2  # in place of a link; of a slide
Parts: TypeAlias = dict[int, Vec]  # {first link of those that turn alike: vector in its axes}
Products: TypeAlias = dict[tuple[int, ...], Scalar]  # {two such links, a slide and a component: what acts there}


def constant(turns: Array) -> Mat | None:
    """Rotation matrix common to all states, with 0, 1 and -1 as structural ints; None if it varies."""
    if np.abs(turns - turns[0]).max() > SAME:
        return None
    return tuple(tuple(structural(float(v)) for v in row) for row in turns[0])  # type: ignore[return-value]


def structural(value: float) -> Scalar:
    """Direction cosine; 0, 1 and -1 become structural ints."""
    return round(value) if abs(value - round(value)) < SAME else value


def moment(m: Vec, at: Vec) -> dict[str, Scalar]:
    """Ten inertial parameters of a first moment about a point, in the frame of the link."""
    unit: dict[str, Scalar] = dict.fromkeys(LINK_SYMBOLS, 0) | dict(zip(("MX", "MY", "MZ"), m, strict=True))
    return transport(unit, (IDENTITY, at))


def carried_moments(robot: Robot, R: Array, axes: Axes) -> Iterator[Relation]:
    """Combinations of first moments without effect; R: link rotations (states, joints, 3, 3)."""
    known: dict[tuple[int, ...], tuple[Relation, Products]] = {}  # {pivot: a combination in which it is 1}
    for relation, products in _Carriers(robot, R, axes).elements():
        size = _largest(products, robot)
        for pivot, (other, own) in known.items():
            factor = products.get(pivot, 0)
            if not is_zero(factor):
                _subtract(relation, other, factor)
                _subtract(products, own, factor)
                del products[pivot]
        left = {key: v for key, v in products.items() if abs(_number(v, robot)) > ROUNDING * size}
        if left:
            pivot = _pivot(left, robot)
            known[pivot] = _divided(relation, left[pivot]), _divided(left, left[pivot])
        else:
            yield relation


class _Carriers:
    """Groups of links with constant relative orientation; decomposes vectors into parts normal to the joint axes."""

    def __init__(self, robot: Robot, R: Array, axes: Axes) -> None:
        self.robot, self.axes = robot, axes
        self.first: list[int] = []  # of the links that turn as this one; the ground where it does not turn
        self.turn: list[Mat] = []  # from axes of the link to those of the first one
        for j in range(robot.n_joints):
            first, turn = next(self._alike(j, R))
            self.first.append(first)
            self.turn.append(turn)

    def _alike(self, j: int, R: Array) -> Iterator[tuple[int, Mat]]:
        """Links with constant orientation relative to this one, itself last, with the rotation between them."""
        for k in (GROUND, *sorted({*self.first} - {GROUND}), j):
            own = np.broadcast_to(np.eye(3), R[:, j].shape) if k == GROUND else R[:, k]
            turn = constant(np.einsum("sji,sjk->sik", own, R[:, j]))
            if turn is not None:
                yield k, turn

    def parts(self, j: int | None, v: Vec) -> Parts:
        """Decompose a vector of a link into parts normal to joint axes; parts along an axis go to the parent."""
        found: Parts = {}
        while j is not None and (k := self.first[j]) != GROUND:
            x, y, z = apply(self.turn[j], v)
            found[k] = vadd(found.get(k, ZERO), (x, y, 0))
            j, v = self.robot.joints[k].parent, apply(self.robot.joints[k].R, (0, 0, z))
        return found | {GROUND: v if j is None else apply(self.turn[j], v)}

    def place(self, j: int) -> dict[int, Parts]:
        """Position of a link's origin, decomposed: constant part, and {prismatic joint: vector per unit travel}."""
        found: dict[int, Parts] = {FIXED: {}}
        for k in self.robot.ancestors(j):
            joint = self.robot.joints[k]
            if joint.kind == "prismatic":
                found[k] = self.parts(k, Z)
            for c, v in self.parts(joint.parent, joint.p).items():
                found[FIXED][c] = vadd(found[FIXED].get(c, ZERO), v)
        return found

    def elements(self) -> Iterator[tuple[Relation, Products]]:
        """Yield products of inertia with a joint axis, and first moments, each with its products with edges."""
        for k in sorted({*self.first} - {GROUND}):
            joint = self.robot.joints[k]
            for m, symbol in ((X, "XZ"), (Y, "YZ")):
                # the same as a moment at a point of the axis, which is one of the link before as well
                products: Products = {}
                for c, u in self.parts(joint.parent, apply(joint.R, Z)).items():
                    self._multiply(products, (k, m), (c, u))
                yield {full_name(symbol, k + 1): -1}, products
        for j in range(self.robot.n_joints):
            yield from (self._of_moment(j, m) for m in (X, Y))

    def _of_moment(self, j: int, m: Vec) -> tuple[Relation, Products]:
        """Relation of a link's first moment m, and its products with the edge vectors from the base to the link.

        The part that acts as an inertia is subtracted in the relation.
        """
        relation: Relation = {}
        products: Products = {}
        enter(self.robot, relation, j, moment(m, ZERO), 1)
        own = {k: v for k, v in self.parts(j, m).items() if k != GROUND}
        places = [(slide, c, u) for slide, parts in self.place(j).items() for c, u in parts.items()]
        for k, v in own.items():
            if not self._is_weightless(k):
                _enter(products, (k, k, WEIGHT), v)
            for slide, c, u in places:
                if k == c and slide == FIXED:
                    inertia = {s: value for s, value in moment(v, u).items() if s in MATRIX}
                    enter(self.robot, relation, c, inertia, -1)
                else:
                    self._multiply(products, (k, v), (c, u), slide)
        return relation, products

    def _multiply(
        self, products: Products, moved: tuple[int, Vec], carrying: tuple[int, Vec], slide: int = FIXED
    ) -> None:
        """Add the products of a vector of one link and a vector of a link that carries it to `products`.

        Products with a fixed vector of the ground are omitted, as it does not move.
        """
        if slide == FIXED:
            if carrying[0] == GROUND:
                return
            moved, carrying = sorted((moved, carrying), key=lambda part: part[0])
        _enter(products, (moved[0], carrying[0], slide), self._product(*moved, *carrying))

    def _product(self, k: int, v: Vec, c: int, u: Vec) -> tuple[Scalar, ...]:
        """Effective products of the components of two vectors on two links.

        These are all nine products, or two combinations of them if the axes are parallel and the motion is planar.
        """
        is_plane = c != GROUND and not any(self.axes.axis[i].beyond for i in (k, c)) and self.axes.are_parallel(k, c)
        if not is_plane:
            return tuple(mul(a, b) for a in v for b in u)
        along = u[1] if float(self.axes.z(k) @ self.axes.z(c)) > 0 else neg(u[1])
        return add(mul(v[0], u[0]), mul(v[1], along)), add(mul(v[0], along), neg(mul(v[1], u[0])))

    def _is_weightless(self, k: int) -> bool:
        """Whether gravity is zero, or along the only axis about which a link rotates."""
        return not any(self.robot.gravity) or (not self.axes.axis[k].beyond and self.axes.is_upright(k))


def _enter(products: Products, where: tuple[int, ...], values: Sequence[Scalar]) -> None:
    for component, value in enumerate(values):
        if not is_zero(value):
            products[*where, component] = add(products.get((*where, component), 0), value)


def _subtract(values: dict[Key, Scalar], others: Mapping[Key, Scalar], factor: Scalar) -> None:
    for key, value in others.items():
        values[key] = add(values.get(key, 0), neg(mul(factor, value)))


def _divided(values: Mapping[Key, Scalar], by: Scalar) -> dict[Key, Scalar]:
    return {key: quotient(value, by) for key, value in values.items()}


def _pivot(products: Products, robot: Robot) -> tuple[int, ...]:
    """Select the pivot: the product with the simplest coefficient that is not small; the others are divided by it."""
    least = PIVOT * _largest(products, robot)
    free = [key for key, value in products.items() if abs(_number(value, robot)) >= least]
    return max(free, key=lambda key: simplicity(products[key]))


def _largest(products: Products, robot: Robot) -> float:
    return max((abs(_number(v, robot)) for v in products.values()), default=0.0)


def _number(value: Scalar, robot: Robot) -> float:
    return float(number_of(value, robot.symbol_values))

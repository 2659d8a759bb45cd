"""Energy and momentum of the links: the same model without accelerations.

Kinetic and potential energy give an independent derivation of the model (theory, eq. 12).  Momentum p = D qd
with its rate, and energy with its power, are also linear in the parameters (theory, eqs. 34 and 35).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from minertia.algebra.scalar import Scalar, add, is_zero, mul, neg, total
from minertia.algebra.vec3 import ZERO, Pose, Vec, X, Y, Z, apply, compose, cross, dot, scale, vadd
from minertia.dynamics.compound import drive_inertia
from minertia.dynamics.effects import effect_columns
from minertia.dynamics.kinematics import (
    BASE_TWISTS,
    Scalars,
    State,
    base_pose,
    base_velocity,
    in_base,
    joint_rates,
    passages,
    structural_gravity,
    velocity_of,
)
from minertia.dynamics.newton_euler import Parameters
from minertia.dynamics.regressor import Entries, link_entries
from minertia.robot.effects import ROTOR_SYMBOLS
from minertia.robot.inertia import first_moment, inertia_matrix
from minertia.robot.parameters import LINK_SYMBOLS, full_name
from minertia.robot.robot import Robot


def kinetic_energy(robot: Robot, chi: Parameters, q: Scalars, qd: Scalars, *, rotors: bool = True) -> Scalar:
    """Kinetic energy qd' D qd / 2 [J] of the links and, by default, of the rotors."""
    links = _of_links(robot, chi, q, qd)
    return add(links, rotor_energy(robot, chi, qd)) if rotors else links


def rotor_energy(robot: Robot, chi: Parameters, qd: Scalars) -> Scalar:
    """Kinetic energy [J] of the rotors about their own axes, with the inertias of `drive_inertia`."""
    total: Scalar = 0
    for rate, row in zip(qd, drive_inertia(robot, chi), strict=True):
        for other, entry in zip(qd, row, strict=True):
            total = add(total, mul(mul(0.5, entry), mul(rate, other)))
    return total


def _of_links(robot: Robot, chi: Parameters, q: Scalars, qd: Scalars) -> Scalar:
    base: tuple[Vec, Vec] = (ZERO, ZERO)
    total: Scalar = 0
    if robot.is_floating:
        base = (qd[3], qd[4], qd[5]), (qd[0], qd[1], qd[2])
        total = _kinetic(chi[0], *base)
    velocities: list[tuple[Vec, Vec]] = []
    links = zip(robot.joints, passages(robot, q), joint_rates(robot, qd), chi[int(robot.is_floating) :], strict=True)
    for joint, way, rate, x in links:
        parent = base if joint.parent is None else velocities[joint.parent]
        velocities.append(velocity_of(*parent, way, joint, rate))
        total = add(total, _kinetic(x, *velocities[-1]))
    return total


def potential_energy(robot: Robot, chi: Parameters, q: Scalars, gravity: Vec | None = None) -> Scalar:
    """Potential energy of the links [J]; zero with all masses at the world origin."""
    g = structural_gravity(robot.gravity) if gravity is None else gravity
    total = _potential(chi[0], base_pose(robot, q), g) if robot.is_floating else 0
    for pose, x in zip(link_poses(robot, q), chi[int(robot.is_floating) :], strict=True):
        total = add(total, _potential(x, pose, g))
    return total


def link_poses(robot: Robot, q: Scalars) -> list[Pose]:
    """Pose of every joint frame in the world."""
    base = base_pose(robot, q)
    poses: list[Pose] = []
    for joint, way in zip(robot.joints, passages(robot, q), strict=True):
        poses.append(compose(base if joint.parent is None else poses[joint.parent], way.pose))
    return poses


def _kinetic(x, w: Vec, v: Vec) -> Scalar:  # type: ignore[no-untyped-def]
    spin = dot(w, apply(inertia_matrix(x), w))
    mixed = mul(2, dot(first_moment(x), cross(v, w)))
    return mul(0.5, add(add(spin, mixed), mul(x["M"], dot(v, v))))


def _potential(x, pose: Pose, gravity: Vec) -> Scalar:  # type: ignore[no-untyped-def]
    R, p = pose
    return neg(dot(gravity, vadd(scale(p, x["M"]), apply(R, first_moment(x)))))


# ------------------------------------------------------------------------------------------------- momentum and power
# A coordinate moves a link with angular velocity A and velocity L of its origin, for a unit rate; these change with
# the inertial rates A' and L'. A link of momentum P and angular momentum H about its origin then has dT/dq = P . L' +
# H . A' + v . (A x (w x ms)), as the rest cancels particle by particle. A floating base has six such motions, along
# and about its own axes; its momenta are in its frame, which turns, and the same sum is what that adds to their rates.


class _UnitMotion(NamedTuple):
    """Link motion for a unit rate of a coordinate, in the link's frame, and its time derivative.

    A, L: angular and linear velocity.  A_rate, L_rate: their derivatives in the inertial frame.
    """

    A: Vec
    L: Vec
    A_rate: Vec
    L_rate: Vec


class _MovingLink(NamedTuple):
    """Motion of a link in its frame, and the unit motions of the coordinates that move it.

    up: gravity vector reversed, in the link's frame.  height: height of the link's origin times g.
    """

    w: Vec
    v: Vec
    twists: dict[int, _UnitMotion]
    up: Vec
    height: Scalar


def momentum_entries(robot: Robot, q: Scalars, qd: Scalars, wanted: Collection[str]) -> tuple[Entries, Entries]:
    """Entries of Yp and Yc: momentum Yp X, d/dt (Yp X) + Yc X = tau; also for rotors, friction and offsets."""
    rest: list[Scalar] = [0] * robot.n_velocity
    momenta, rates = Entries(), link_entries(robot, State(q, rest, rest), wanted)
    for k, link in _links(robot, q, qd):
        for symbol, (P, H, shifted) in _unit_momenta(link).items():
            name = full_name(symbol, k)
            for row, t in link.twists.items() if name in wanted else ():
                _put(momenta, (row, name), add(dot(t.L, P), dot(t.A, H)))
                slope = total(dot(t.L_rate, P), dot(t.A_rate, H), dot(shifted, cross(link.v, t.A)))
                _put(rates, (row, name), neg(slope))
    _add_effects(robot, momenta, State(q, rest, qd), wanted, rotors=True)
    _add_effects(robot, rates, State(q, qd, rest), wanted, rotors=False)
    return momenta, rates


def power_entries(robot: Robot, q: Scalars, qd: Scalars, wanted: Collection[str]) -> tuple[Entries, Entries]:
    """Entries of E and P, one row each: energy E X, d/dt (E X) + P X = qd . tau."""
    rest: list[Scalar] = [0] * robot.n_velocity
    own = qd[6 * robot.is_floating :]
    energies, powers = Entries(), Entries()
    for k, link in _links(robot, q, qd):
        for symbol, entry in _unit_energies(link).items():
            if full_name(symbol, k) in wanted:
                _put(energies, (0, full_name(symbol, k)), entry)
    for column in effect_columns(robot, State(q, rest, qd), wanted):
        if column.symbol in ROTOR_SYMBOLS:
            twice = total(*(mul(own[c], effort) for c, effort in column.efforts.items()))
            _put(energies, (0, full_name(column.symbol, column.joint + 1)), mul(0.5, twice))
    for column in effect_columns(robot, State(q, qd, rest), wanted):
        if column.symbol not in ROTOR_SYMBOLS:
            power = total(*(mul(own[c], effort) for c, effort in column.efforts.items()))
            _put(powers, (0, full_name(column.symbol, column.joint + 1)), power)
    return energies, powers


def _links(robot: Robot, q: Scalars, qd: Scalars) -> Iterator[tuple[int, _MovingLink]]:
    """Moving links with their numbers, 0 for a floating base."""
    ways, rates, first = passages(robot, q), joint_rates(robot, qd), 6 * robot.is_floating
    ground = _base(robot, q, qd)
    if robot.is_floating:
        yield 0, ground
    found: list[_MovingLink] = []
    for j, (joint, way, rate) in enumerate(zip(robot.joints, ways, rates, strict=True)):
        above = ground if joint.parent is None else found[joint.parent]
        w, v = velocity_of(above.w, above.v, way, joint, rate)
        leap = vadd(cross(above.w, way.p), scale(way.outward(joint.twist[1]), rate))
        twists = {}
        for row, t in above.twists.items():
            linear = vadd(t.L, cross(t.A, way.p))
            linear_rate = vadd(t.L_rate, cross(t.A_rate, way.p), cross(t.A, leap))
            twists[row] = _UnitMotion(*(way.inward(part) for part in (t.A, linear, t.A_rate, linear_rate)))
        for c, ratio in robot.shares(j):
            S_w, S_v = (scale(part, ratio) for part in joint.twist)
            own = _UnitMotion(S_w, S_v, cross(w, S_w), cross(w, S_v))
            before, row = twists.get(first + c), first + c  # a follower moves with a coordinate met before
            twists[row] = own if before is None else _UnitMotion(*map(vadd, before, own))
        height = add(above.height, dot(above.up, way.p))
        found.append(_MovingLink(w, v, twists, way.inward(above.up), height))
        yield j + 1, found[-1]


def _base(robot: Robot, q: Scalars, qd: Scalars) -> _MovingLink:
    """Motion of the ground or of a floating base."""
    up = scale(structural_gravity(robot.gravity), -1)
    if not robot.is_floating:
        return _MovingLink(ZERO, ZERO, {}, up, 0)
    v, w = base_velocity(qd)
    twists = {k: _UnitMotion(A, L, cross(w, A), cross(w, L)) for k, (A, L) in enumerate(BASE_TWISTS)}
    return _MovingLink(w, v, twists, in_base(robot, q, up), dot(up, (q[0], q[1], q[2])))


def _unit_momenta(link: _MovingLink) -> dict[str, tuple[Vec, Vec, Vec]]:
    """Momentum, angular momentum, and w x ms for each unit parameter."""
    (x, y, z), v = link.w, link.v
    found: dict[str, tuple[Vec, Vec, Vec]] = {
        "XX": (ZERO, (x, 0, 0), ZERO),
        "XY": (ZERO, (y, x, 0), ZERO),
        "XZ": (ZERO, (z, 0, x), ZERO),
        "YY": (ZERO, (0, y, 0), ZERO),
        "YZ": (ZERO, (0, z, y), ZERO),
        "ZZ": (ZERO, (0, 0, z), ZERO),
    }
    for symbol, axis in (("MX", X), ("MY", Y), ("MZ", Z)):
        found[symbol] = (cross(link.w, axis), cross(axis, v), cross(link.w, axis))
    return found | {"M": (v, ZERO, ZERO)}


def _unit_energies(link: _MovingLink) -> dict[str, Scalar]:
    """Kinetic and potential energy for each unit parameter."""
    (x, y, z), v = link.w, link.v
    mixed = cross(v, link.w)
    entries = (
        *(mul(0.5, mul(x, x)), mul(x, y), mul(x, z), mul(0.5, mul(y, y)), mul(y, z), mul(0.5, mul(z, z))),
        *(add(mixed[k], link.up[k]) for k in range(3)),
        add(mul(0.5, dot(v, v)), link.height),
    )
    return dict(zip(LINK_SYMBOLS, entries, strict=True))


def _add_effects(robot: Robot, entries: Entries, state: State, wanted: Collection[str], *, rotors: bool) -> None:
    for column in effect_columns(robot, state, wanted):
        if (column.symbol in ROTOR_SYMBOLS) == rotors:
            name = full_name(column.symbol, column.joint + 1)
            for c, effort in column.efforts.items():
                _put(entries, (6 * robot.is_floating + c, name), effort)


def _put(entries: Entries, key: tuple[int, str], value: Scalar) -> None:
    if not is_zero(value):
        entries[key] = add(entries.get(key, 0), value)

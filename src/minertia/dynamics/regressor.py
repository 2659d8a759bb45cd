"""Regressor: efforts are linear in the parameters, tau = Y(q, qd, qdd) X (theory, eq. 9).

An entry is the twist of a coordinate, expressed in a link's frame, times the wrench of that link for a unit parameter.
This takes about half the operations of running the recursion on linear forms, and no zero is computed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

from minertia.algebra.scalar import Scalar, add, is_zero, mul, neg, sub
from minertia.algebra.vec3 import ZERO, Pose, Vec, column, cross, dot, scale, vadd
from minertia.dynamics.effects import effect_columns, loads
from minertia.dynamics.kinematics import (
    BASE_TWISTS,
    LinkMotion,
    Passage,
    Scalars,
    State,
    forward,
    passages,
    structural_gravity,
)
from minertia.dynamics.newton_euler import rigid_torques
from minertia.robot.effects import BY_SYMBOL
from minertia.robot.parameters import BIAS_SYMBOLS, LINK_SYMBOLS, full_name
from minertia.robot.robot import Robot

Twist: TypeAlias = tuple[Vec, Vec]  # angular, linear
Entries: TypeAlias = dict[tuple[int, str], Scalar]  # (row of tau, full name of the parameter) -> entry


def regressor_entries(
    robot: Robot,
    state: State,
    wanted: Collection[str],
    gravity: Vec | None = None,
    temperature: Scalars | None = None,
) -> Entries:
    """Structurally non-zero entries of Y for the requested columns (full names).

    Load-dependent friction uses the load of the robot's nominal parameters.
    """
    entries = link_entries(robot, state, wanted, gravity)
    first, load = 6 * robot.is_floating, None
    if any("load" in BY_SYMBOL[symbol].inputs for symbol in _symbols(wanted)):
        chi = robot.parameters()
        load = loads(robot, chi, state, rigid_torques(robot, chi, state, gravity))
    for effect in effect_columns(robot, state, wanted, load, temperature):
        name = full_name(effect.symbol, effect.joint + 1)
        entries |= {(first + c, name): e for c, e in effect.efforts.items() if not is_zero(e)}
    for k, name in _biases(robot):
        if name in wanted:
            entries[k, name] = 1
    return entries


def _biases(robot: Robot) -> list[tuple[int, str]]:
    """Row and name of each bias of the force/torque sensors."""
    far, first = robot.n_joints + 1, robot.n_velocity
    return [
        (first + 6 * s + k, full_name(symbol, far + s))
        for s in range(len(robot.sensors))
        for k, symbol in enumerate(BIAS_SYMBOLS)
    ]


def _symbols(wanted: Collection[str]) -> set[str]:
    """Symbols of the effects among full names."""
    return {name.rstrip("0123456789") for name in wanted} & BY_SYMBOL.keys()


def link_entries(robot: Robot, state: State, wanted: Collection[str], gravity: Vec | None = None) -> Entries:
    """Entries of Y for the inertial parameters of the links."""
    g = structural_gravity(robot.gravity) if gravity is None else gravity
    ways = passages(robot, state.q)
    return entries_of_motions(robot, ways, *forward(robot, ways, state, g), wanted)


def entries_of_motions(
    robot: Robot, ways: Sequence[Passage], base: LinkMotion, motions: Sequence[LinkMotion], wanted: Collection[str]
) -> Entries:
    """Entries of Y: twists of the coordinates times the unit wrenches of links with these motions."""
    base_twists = dict(enumerate(BASE_TWISTS)) if robot.is_floating else {}
    entries: Entries = {}
    if robot.is_floating:
        _add_link(entries, 0, base, base_twists, wanted)
    first = 6 * robot.is_floating
    beyond: dict[int, dict[int, Twist]] = {}  # twists of the far parts of links, by their sensor

    def add_far(joint: int | None, motion: LinkMotion, near: Mapping[int, Twist]) -> None:
        for s, sensor in enumerate(robot.sensors):
            if sensor.joint == joint:
                beyond[s] = {**near, **_sensor_twists(sensor.pose, robot.n_velocity + 6 * s)}
                _add_link(entries, robot.n_joints + s + 1, motion, beyond[s], wanted)

    add_far(None, base, base_twists)
    twists: list[dict[int, Twist]] = []
    for j, (joint, way) in enumerate(zip(robot.joints, ways, strict=True)):
        sensor = robot.sensor_before(j)
        above = base_twists if joint.parent is None else twists[joint.parent]
        above = above if sensor is None else beyond[sensor]
        here = {
            row: (way.inward(angular), way.inward(vadd(linear, cross(angular, way.p))))
            for row, (angular, linear) in above.items()
        }
        for c, ratio in robot.shares(j):
            S_w, S_v = (scale(v, ratio) for v in joint.twist)
            angular, linear = here.get(first + c, (ZERO, ZERO))  # a follower moves with a coordinate met before
            here[first + c] = vadd(angular, S_w), vadd(linear, S_v)
        twists.append(here)
        _add_link(entries, j + 1, motions[j], here, wanted)
        add_far(j, motions[j], here)
    return entries


def _sensor_twists(pose: Pose, first: int) -> dict[int, Twist]:
    """Unit motions of a far part against the near part, along and about the axes of the sensor between them.

    Their efforts are the wrench that the near part exerts on the far part, in axes and at the origin of the sensor.
    """
    R, p = pose
    axes = [column(R, k) for k in range(3)]
    twists = [*((ZERO, a) for a in axes), *((a, cross(p, a)) for a in axes)]
    return {first + k: twist for k, twist in enumerate(twists)}


def unit_wrenches(motion: LinkMotion) -> dict[str, tuple[Vec, Vec]]:
    """Force and moment of a link for each of its ten unit parameters."""
    _, wd, vd, U, (xx, yy, zz, xy, xz, yz) = motion
    columns = [(U[0][k], U[1][k], U[2][k]) for k in range(3)]
    return {
        "XX": (ZERO, (wd[0], xz, neg(xy))),
        "XY": (ZERO, (neg(U[2][0]), U[2][1], sub(xx, yy))),
        "XZ": (ZERO, (U[1][0], sub(zz, xx), neg(U[1][2]))),
        "YY": (ZERO, (neg(yz), wd[1], xy)),
        "YZ": (ZERO, (sub(yy, zz), neg(U[0][1]), U[0][2])),
        "ZZ": (ZERO, (yz, neg(xz), wd[2])),
        "MX": (columns[0], (0, neg(vd[2]), vd[1])),
        "MY": (columns[1], (vd[2], 0, neg(vd[0]))),
        "MZ": (columns[2], (neg(vd[1]), vd[0], 0)),
        "M": (vd, ZERO),
    }


def _add_link(
    entries: Entries, link: int, motion: LinkMotion, twists: Mapping[int, Twist], wanted: Collection[str]
) -> None:
    names = [(symbol, full_name(symbol, link)) for symbol in LINK_SYMBOLS]
    if not any(name in wanted for _, name in names):
        return
    wrenches = unit_wrenches(motion)
    for symbol, name in names:
        if name not in wanted:
            continue
        force, moment = wrenches[symbol]
        for row, (angular, linear) in twists.items():
            entry = add(dot(angular, moment), dot(linear, force))
            if not is_zero(entry):
                entries[row, name] = entry


def times(entries: Entries, values: Mapping[str, Scalar], rows: int) -> list[Scalar]:
    """Efforts Y X from the entries of Y and the parameter values X."""
    taus: list[Scalar] = [0] * rows
    for (row, name), entry in entries.items():
        taus[row] = add(taus[row], mul(entry, values[name]))
    return taus

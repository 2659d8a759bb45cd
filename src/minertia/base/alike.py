"""Relations between links whose relative orientation is kept constant by loop closures or mimic joints.

See theory, eqs. 43 to 46.  The relations are found at random states that satisfy the loop
closures; callers verify them at other states and other values of the symbols.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np

from minertia.algebra.quotient import number_of, quotient
from minertia.algebra.scalar import Scalar, is_zero, mul
from minertia.algebra.vec3 import ZERO, Mat, Vec, X, Y, Z, apply, cross, dot, scale, transpose, vsub
from minertia.base.cut_joints import Relation, enter
from minertia.base.geometry import Axes
from minertia.base.moments import MATRIX, SAME, carried_moments, constant, moment, structural
from minertia.base.numeric import random_states
from minertia.dynamics.energy import link_poses
from minertia.dynamics.kinematics import State, joint_rates
from minertia.dynamics.loops.projection import project
from minertia.io.arrays import Array
from minertia.robot.inertia import transport
from minertia.robot.joint import Cut
from minertia.robot.loops.closure import cut_chains
from minertia.robot.parameters import LINK_SYMBOLS, full_name
from minertia.robot.robot import Robot

STATES, SEED = 8, 77
PLACES = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


def alike_relations(robot: Robot) -> Iterator[Relation]:
    """Yield parameter combinations without effect in closed kinematic chains with constant orientations.

    These come from links with constant relative orientation or a single rotation axis, and from joints
    with equal or opposite rates.  Robots without cut joints or with a floating base have none.
    """
    if not robot.cuts or robot.is_floating:
        return
    R, p, rates = _poses(robot)
    for i, k in combinations(range(robot.n_joints), 2):
        turn = constant(np.einsum("sji,sjk->sik", R[:, i], R[:, k]))
        if turn is not None:
            offset = _offset(robot, R[:, i], p[:, k] - p[:, i])
            symbols = MATRIX if offset is None else LINK_SYMBOLS
            for symbol in symbols:
                yield _moved(robot, i, k, symbol, turn, offset or (0, 0, 0))
    for j in range(robot.n_joints):
        direction = _one_direction(R[:, j])
        if direction is not None:
            yield from _turning_about(robot, j, direction)
    yield from _alike_effects(robot, rates)
    axes = Axes(robot)
    for cut in robot.cuts:
        yield from _opposite_moments(robot, cut, R)
        yield from _swung_moments(robot, cut, R, axes)
    yield from carried_moments(robot, R, axes)


def _alike_effects(robot: Robot, rates: Array) -> Iterator[Relation]:
    """Relations of rotor inertia, viscous and Coulomb friction of joints with equal or opposite rates."""
    for i, k in combinations(range(robot.n_joints), 2):
        one, other = rates[:, i], rates[:, k]
        is_alike = min(np.abs(one - other).max(), np.abs(one + other).max()) < SAME
        if is_alike and robot.joints[i].kind == robot.joints[k].kind:
            yield from ({full_name(symbol, k + 1): 1, full_name(symbol, i + 1): -1} for symbol in ("IA", "FV", "FC"))


def _one_direction(R: Array) -> Vec | None:
    """Direction of a link's only rotation axis, with 0, 1 and -1 as structural ints; None if it has none."""
    off = np.concatenate([turn.T - R[0].T for turn in R[1:]])
    _, values, V = np.linalg.svd(off)
    if values[2] > SAME or values[1] < SAME:
        return None
    return tuple(structural(float(v)) for v in R[0].T @ V[2])  # type: ignore[return-value]


def _turning_about(robot: Robot, j: int, u: Vec) -> Iterator[Relation]:
    """Relations of a link that rotates about u only: u'Ju is identifiable, a first moment along u is not."""
    relation: Relation = {}
    enter(robot, relation, j, dict(zip(("MX", "MY", "MZ"), u, strict=True)), 1)
    yield relation
    axis = {symbol: mul(u[a], u[b]) for symbol, (a, b) in zip(MATRIX, PLACES, strict=True)}
    for symbol, (a, b) in zip(MATRIX, PLACES, strict=True):
        relation = {full_name(symbol, j + 1): 1}
        enter(robot, relation, j, axis, mul(-1 if a == b else -2, axis[symbol]))
        left = {name: factor for name, factor in relation.items() if not is_zero(factor)}
        if left:  # u'Ju itself is what shows
            yield left


class _Pair(NamedTuple):
    """Pair of opposite sides of a parallelogram: link `kept` (None: ground) and the opposite link `far`.

    place: position of the vertex shared by both pairs of sides, in the frame of the kept link.  moment:
    direction z x edge of a first moment perpendicular to the kept link's edge, in the same frame.
    """

    kept: int | None
    far: int
    place: Vec
    moment: Vec


def _opposite_moments(robot: Robot, cut: Cut, R: Array) -> Iterator[Relation]:
    """Yield the unidentifiable combination of first moments of a planar parallelogram (theory, eq. 45).

    Each pair of opposite sides contributes a first moment perpendicular to the kept link's edge: added to
    the far link and subtracted from the kept link.  The relation is the sum over both pairs.
    """
    found: Relation = {}
    for pair in _pairs(robot, cut, R) if cut.form else ():
        own = np.eye(3)[None] if pair.kept is None else R[:, pair.kept]
        turn = constant(np.einsum("sji,sjk->sik", np.broadcast_to(own, R[:, 0].shape), R[:, pair.far]))
        if turn is None:
            return
        enter(robot, found, pair.far, moment(apply(transpose(turn), pair.moment), ZERO), 1)
        enter(robot, found, pair.kept, moment(pair.moment, pair.place), -1)
    if found:
        yield found


def _swung_moments(robot: Robot, cut: Cut, R: Array, axes: Axes) -> Iterator[Relation]:
    """Relations of first moments of links hinged on a carrier that rotates about one direction u.

    See theory, eq. 46.  The edge e between the two hinges lies in the plane of u and the hinge axis z.
    A first moment m of one link, minus m on the other link, minus c (m z' + z m') in the inertia of that
    other link has no effect; c = (e . e) (u . z) / (u . e).
    """
    long, short = sorted(cut_chains(robot, cut), key=len, reverse=True)
    if not cut.form or len(long) != 2 or len(short) != 1:
        return
    kept, far = robot.joints[long[0]], robot.joints[short[0]]
    turn = constant(np.einsum("sji,sjk->sik", R[:, long[0]], R[:, short[0]]))
    u = None if kept.parent is None else axes.axis[kept.parent].u
    if turn is None or u is None:
        return
    apart = vsub(far.p, kept.p)
    height = dot(kept.axis, apart)
    edge = vsub(apart, scale(kept.axis, height))
    across = dot(u, edge)
    if abs(float(number_of(across, robot.symbol_values))) < SAME:
        return
    c = quotient(mul(dot(edge, edge), dot(u, kept.axis)), across)
    for m, symbol in ((X, "XZ"), (Y, "YZ")):
        found: Relation = {}
        enter(robot, found, short[0], moment(apply(transpose(turn), m), ZERO), 1)
        enter(robot, found, long[0], moment(m, (0, 0, height)), -1)
        enter(robot, found, long[0], {symbol: c}, -1)
        yield found


def _pairs(robot: Robot, cut: Cut, R: Array) -> tuple[_Pair, ...]:
    """Both pairs of opposite sides of a parallelogram of four links, or of three links and their parent."""
    long, short = sorted(cut_chains(robot, cut), key=len, reverse=True)
    if len(long) != 2 or len(short) not in (1, 2):
        return ()
    (m, f), g, p = long, short[-1], [joint.p for joint in robot.joints]
    if len(short) == 1:
        edge = vsub(p[g], p[m])
        return _Pair(robot.joints[m].parent, f, p[m], cross(robot.joints[m].axis, edge)), _Pair(
            m, g, ZERO, cross(Z, p[f])
        )
    k = short[0]
    moment = cross(Z, scale(p[g], _sense(R[:, m], R[:, k])))
    return _Pair(k, f, ZERO, moment), _Pair(m, g, ZERO, cross(Z, p[f]))


def _sense(R: Array, other: Array) -> int:
    """Relative sense of the z axes of two links: 1 if they point the same way, -1 otherwise."""
    return 1 if float(R[0, :, 2] @ other[0, :, 2]) > 0 else -1


def _poses(robot: Robot) -> tuple[Array, Array, Array]:
    """Rotations (states, joints, 3, 3) and origins (states, joints, 3) of all links, and joint Jacobians.

    The Jacobians (states, joints, n) are derivatives of the joint positions with respect to the coordinates.
    """
    q = np.asarray(random_states(robot, STATES, SEED).q)
    rest = [0] * robot.n_velocity
    closed = project(robot.numeric, State(list(q.T), rest, rest))
    poses = link_poses(closed.tree, closed.state.q)
    R = [[[np.broadcast_to(s, STATES) for s in row] for row in pose[0]] for pose in poses]
    p = [[np.broadcast_to(s, STATES) for s in pose[1]] for pose in poses]
    columns = [joint_rates(closed.tree, closed.rates(unit)) for unit in np.eye(robot.n, dtype=int).tolist()]
    rates = [[np.broadcast_to(rate, STATES) for rate in column] for column in columns]
    return (
        np.array(R, float).transpose(3, 0, 1, 2),
        np.array(p, float).transpose(2, 0, 1),
        np.array(rates, float).transpose(2, 1, 0),
    )


def _offset(robot: Robot, R: Array, apart: Array) -> Vec | None:
    """Point of a link that moves like the origin of another link of the same orientation; None if there is none.

    apart: vector from origin to origin.  For a robot with symbolic lengths only the origin itself can be recognised.
    """
    if np.abs(apart - apart[0]).max() < SAME:
        return (0, 0, 0)
    if robot.has_letters:
        return None
    rows = np.concatenate([np.concatenate([turn, np.eye(3)], axis=1) for turn in R])
    way = apart.reshape(-1)
    x = np.linalg.lstsq(rows, way, rcond=None)[0]
    if np.abs(rows @ x - way).max() > SAME:
        return None
    return tuple(0 if abs(v) < SAME else float(v) for v in x[:3])  # type: ignore[return-value]


def _moved(robot: Robot, i: int, k: int, symbol: str, turn: Mat, offset: Vec) -> Relation:
    """Relation: a parameter of link k minus the same parameter transferred to link i."""
    unit: dict[str, Scalar] = {s: int(s == symbol) for s in LINK_SYMBOLS}
    found: Relation = {full_name(symbol, k + 1): 1}
    enter(robot, found, i, transport(unit, (turn, offset)), -1)
    return found

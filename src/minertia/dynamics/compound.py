"""Mass matrix from compound links: the links from j to the tips as one rigid body, last to first.

D_ij is the effort at i for a unit acceleration at j (Izaguirre, Hashimoto, Paul, Hayward 1992).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from minertia.algebra.scalar import Scalar, add, is_zero, mul, neg, sub
from minertia.algebra.vec3 import ZERO, Vec, apply, cross, dot, scale, vadd
from minertia.dynamics.kinematics import BASE_TWISTS, Passage, Scalars, passages
from minertia.dynamics.newton_euler import Parameters
from minertia.robot.inertia import first_moment, inertia_matrix, transport
from minertia.robot.parameters import LINK_SYMBOLS
from minertia.robot.robot import Robot

Matrix = list[list[Scalar]]


def mass_matrix(robot: Robot, chi: Parameters, q: Scalars) -> Matrix:
    """D(q) of the links, n_velocity x n_velocity [kg m2, kg m, kg]; rotor inertias are added by `drive_inertia`."""
    ways = passages(robot, q)
    compounds, ground = compound_links(robot, chi, ways)
    first = 6 * robot.is_floating
    size = robot.n_velocity
    D: Matrix = [[0] * size for _ in range(size)]
    for j, joint in enumerate(robot.joints):
        S_w, S_v = joint.twist
        f, m = wrench(compounds[j], S_w, S_v)
        for c, ratio in robot.shares(j):
            _carry_down(robot, D, ways, j, first + c, scale(f, ratio), scale(m, ratio))
    if robot.is_floating:
        for k, (S_w, S_v) in enumerate(BASE_TWISTS):
            f, m = wrench(ground, S_w, S_v)
            for i, entry in enumerate((*f, *m)):
                D[i][k] = entry
    return D


def compound_links(
    robot: Robot, chi: Parameters, ways: Sequence[Passage]
) -> tuple[list[dict[str, Scalar]], dict[str, Scalar]]:
    """Parameters of the compound body of each joint in its frame (theory, eq. 5), and of the whole floating robot."""
    first = int(robot.is_floating)
    compounds = [dict(x) for x in chi[first:]]
    ground = dict(chi[0]) if first else {}
    for j in reversed(range(len(robot.joints))):
        p = robot.joints[j].parent
        if p is None and not first:
            continue
        target = ground if p is None else compounds[p]
        for symbol, value in moved(compounds[j], ways[j]).items():
            target[symbol] = add(target[symbol], value)
    return compounds, ground


def moved(x: Mapping[str, Scalar], way: Passage) -> dict[str, Scalar]:
    """`transport` through a passage in fewer operations: rotation about z, fixed rotation, translation by p.

    With s = ms + M p / 2, the translation adds 2 (p.s) 1 - p s' - s p' to J.
    """
    x = transport(turned_back(x, way.turn), (way.R, ZERO))
    p, m, ms = way.p, x["M"], first_moment(x)
    s = vadd(ms, scale(p, mul(0.5, m)))
    along = [mul(mul(2, a), b) for a, b in zip(p, s, strict=True)]
    gain = (
        add(along[1], along[2]), neg(add(mul(p[0], s[1]), mul(p[1], s[0]))), neg(add(mul(p[0], s[2]), mul(p[2], s[0]))),
        add(along[0], along[2]), neg(add(mul(p[1], s[2]), mul(p[2], s[1]))), add(along[0], along[1]),
    )  # fmt: skip
    six = (add(x[symbol], more) for symbol, more in zip(LINK_SYMBOLS, gain, strict=False))
    return dict(zip(LINK_SYMBOLS, (*six, *vadd(ms, scale(p, m)), m), strict=True))


def turned_back(x: Mapping[str, Scalar], turn: tuple[Scalar, Scalar]) -> dict[str, Scalar]:
    """Parameters of a body in a frame rotated back about z: R J R', sharing common products."""
    c, s = turn
    if is_zero(s):
        return dict(x)
    e = add(mul(s, sub(x["XX"], x["YY"])), mul(c, mul(2, x["XY"])))
    part = mul(s, e)
    turned = {
        "XX": sub(x["XX"], part),
        "XY": sub(mul(c, e), x["XY"]),
        "YY": add(x["YY"], part),
        "XZ": sub(mul(c, x["XZ"]), mul(s, x["YZ"])),
        "YZ": add(mul(s, x["XZ"]), mul(c, x["YZ"])),
        "MX": sub(mul(c, x["MX"]), mul(s, x["MY"])),
        "MY": add(mul(s, x["MX"]), mul(c, x["MY"])),
    }
    return dict(x) | turned


def _carry_down(robot: Robot, D: Matrix, ways: Sequence[Passage], j: int, row: int, f: Vec, m: Vec) -> None:
    """Project the wrench of compound link j on joint j and every inner joint; D is kept symmetric."""
    i: int | None = j
    while i is not None:
        joint = robot.joints[i]
        S_w, S_v = joint.twist
        enter_pair(D, robot, (i, j), row, add(dot(S_w, m), dot(S_v, f)))
        f = ways[i].outward(f)
        m = vadd(ways[i].outward(m), cross(ways[i].p, f))
        i = joint.parent
    if robot.is_floating:
        for k, entry in enumerate((*f, *m)):
            D[k][row] = add(D[k][row], entry)
            D[row][k] = D[k][row]


def enter_pair(D: Matrix, robot: Robot, pair: tuple[int, int], row: int, effort: Scalar) -> None:
    """Add to D the effort of joint i due to the motion of joint j at a unit acceleration of coordinate `row`.

    pair: (i, j), where i precedes j or equals it.  row: index in D of a coordinate that moves joint j.
    """
    i, j = pair
    first = 6 * robot.is_floating
    for c, ratio in robot.shares(i):
        other, entry = first + c, mul(ratio, effort)
        if i == j and other < row:
            continue  # entered with the other coordinate of this joint
        D[other][row] = add(D[other][row], entry)
        if other != row:
            D[row][other] = D[other][row]
        elif i != j:
            D[row][row] = add(D[row][row], entry)


def wrench(x: Mapping[str, Scalar], S_w: Vec, S_v: Vec) -> tuple[Vec, Vec]:
    """Force and moment on a body at rest for a unit acceleration along a twist."""
    ms = first_moment(x)
    force = vadd(scale(S_v, x["M"]), cross(S_w, ms))
    return force, vadd(apply(inertia_matrix(x), S_w), cross(ms, S_v))


def drive_inertia(robot: Robot, chi: Parameters) -> Matrix:
    """Contribution of rotor inertias to D: constant, through ratios of mimic joints and the coupling of motors."""
    first, size = 6 * robot.is_floating, robot.n_velocity
    D: Matrix = [[0] * size for _ in range(size)]
    for j in range(robot.n_joints):
        x = chi[j + int(robot.is_floating)]
        for (a, ratio), (b, other) in product(robot.shares(j), repeat=2):
            D[first + a][first + b] = add(D[first + a][first + b], mul(ratio, mul(other, x.get("IA", 0))))
        if j in robot.coupled_motors and robot.coupling is not None:
            row = robot.coupling[robot.coupled_motors[j]]
            for a, b in product(range(robot.n), repeat=2):
                D[first + a][first + b] = add(D[first + a][first + b], mul(_gain(row[a] * row[b]), x.get("IAM", 0)))
    return D


def total_mass_matrix(robot: Robot, chi: Parameters, q: Scalars) -> Matrix:
    """D(q) of the links with the rotor inertias."""
    pairs = zip(mass_matrix(robot, chi, q), drive_inertia(robot, chi), strict=True)
    return [[add(a, b) for a, b in zip(*rows, strict=True)] for rows in pairs]


def _gain(value: float) -> Scalar:
    return 0 if value == 0 else value

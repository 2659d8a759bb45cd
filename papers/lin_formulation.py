"""Newton-Euler in minimal linear combinations (Lin 1995, section III): its quantities, and Atkeson's technique."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from tests.composite_bodies import Reference, combinations, drawn, geometry
from tests.random_robots import random_robot

from minertia.base.composite_dynamics import CompositeBodies, composite_torques
from minertia.base.derive import base_parameters
from minertia.base.mlc import link_of
from minertia.dynamics.kinematics import State
from minertia.dynamics.model import inverse_dynamics
from minertia.robot.files import bundled_robots, read_robot
from minertia.robot.inertia import symmetric
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
STATES = 20
ORIGINAL = {  # the one original parameter that stands for a combination in Atkeson's technique
    "U11mU22": "XX", "U12": "XY", "U13": "XZ", "U23": "YZ", "U33": "ZZ", "K1": "MX", "K2": "MY", "K3": "MZ", "MH": "M",
}  # fmt: skip


def random_states(robot: Robot, count: int = STATES, seed: int = 1) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations (count, n), uniform within 1.5 rad or m, and per s, per s2."""
    q, qd, qdd = np.random.default_rng(seed).uniform(-1.5, 1.5, (3, count, robot.n))
    return q, qd, qdd


def state_of(q: Array, qd: Array, qdd: Array) -> State:
    """The states (N, n) as one of arrays, which the recursion takes in place of numbers."""
    return State(list(q.T), list(qd.T), list(qdd.T))


def effort_errors() -> dict[str, tuple[int, float]]:
    """{bundled robot without loops: number of combinations, largest difference over the largest effort}."""
    found = {}
    for name in bundled_robots():
        robot = read_robot(name)
        if robot.passive or robot.open_cuts:
            continue
        bare, chi = drawn(robot)
        states, values = random_states(bare), combinations(bare, chi)
        tau = inverse_dynamics(bare, *states)
        ours = np.array([np.broadcast_to(t, STATES) for t in composite_torques(bare, values, state_of(*states))]).T
        found[name] = len(values), float(np.abs(ours - tau).max() / np.abs(tau).max())
    return found


# ---------------------------------------------------------------------- quantities on the way

QUANTITIES = {  # quantity: equations, what the copy at hand holds of them, what ours is compared with
    "ω, ω̇": ("(57), (58)", "whole", "the same two lines carried out on numbers"),
    "Ω": ("(59)", "whole", "[ω̇×] + [ω×][ω×]"),
    "h, a": ("(61), (62), (69) to (71)", "lost but for the text around them", "a = a of the base point + h; (18)"),
    "D": ("(38) to (43), (91), (92)", "whole", "constant inertia by (12), (14) less diag(U'22, U'22, 0), slides added"),
    "ρ of a slide": ("(64), (72)", "lost", "mass of the composite body times h"),
    "P": ("(63), (66)", "lost", "lemma 3: m̂ a + Ω k + P is the joint force of Newton-Euler"),
    "N": ("(65), (67), (73) to (75)", "lost", "lemma 4: with it the moment of Newton-Euler, all three components"),
    "κ1, κ2": ("(86), (87)", "whole", "the formula of (87) on k by (10)"),
    "τ": ("(68), (83) to (90), (93)", "lost but for (93)", "joint force or moment along the axis"),
}
CHAINS = (("RRTRTTR", (), False, 0), ("RRRRRR", (), True, 0), ("RTTRR", (3,), False, 4), ("TRTRRT", (), False, 2))


def quantity_errors() -> dict[str, float]:
    """Largest difference of each quantity over the chains above and a random tree, over the size of what it is in."""
    worst = dict.fromkeys(QUANTITIES, 0.0)
    for robot in (*(geometry(*chain) for chain in CHAINS), random_robot(3, tree=True)):
        bare, chi = drawn(robot, 5)
        q, qd, qdd = (v[0] for v in random_states(bare, 1, 6))
        lin = CompositeBodies(bare, combinations(bare, chi), State(list(q), list(qd), list(qdd)))
        known = Reference(bare, chi, lin)
        for j in range(bare.n_joints):
            for name, ours, theirs in _compared(lin, known, j):
                gap = float(np.abs(np.asarray(ours, float) - theirs).max())
                worst[name] = max(worst[name], gap / max(1.0, float(np.abs(theirs).max())))
    return worst


def _compared(lin: CompositeBodies, known: Reference, j: int) -> Iterator[tuple[str, object, Array]]:
    """(quantity, ours, what it is compared with) of joint j."""
    w, wd, vd, W, _ = (np.array(v, float) for v in lin.motions[j])
    yield from _forward(lin, j)
    turning, axis = lin.turning[j], lin.axes.axis[j]
    yield "τ", lin.efforts[j], np.array((known.m if turning else known.f)[j][2])
    if not turning:
        h = np.array(lin.bodies[j].h, float)
        yield "h, a", np.array(lin._before(j), float) + h, vd
        yield "ρ of a slide", lin.bodies[j].rho, known.mass[j] * h
    if not axis.beyond:
        if not turning and axis.u is not None:
            yield from _two_numbers(lin, known, j)
        return
    P, N = _from_children(lin, known, j)
    yield "P", known.mass[j] * vd + W @ known.k[j] + P, known.f[j]
    if turning:
        full, level = known.inertia(j), (known.U[j] + known.raised[j])[1, 1]
        yield "D", lin.bodies[j].D, full - np.diag([level, level, 0])
        yield "N", full @ wd + np.cross(w, full @ w) + np.cross(known.k[j], vd) + N, known.m[j]


def _forward(lin: CompositeBodies, j: int) -> Iterator[tuple[str, object, Array]]:
    """(57) to (59) by rotation matrices of numbers."""
    joint, turning = lin.robot.joints[j], float(lin.turning[j])
    before = (np.zeros(3), np.zeros(3))
    if joint.parent is not None:
        before = tuple(np.array(v, float) for v in lin.motions[joint.parent][:2])
    R = np.array(lin.ways[j].pose[0], float)
    u, qd, qdd = np.array([0.0, 0, 1]), float(lin.qd[j]), float(lin.qdd[j])
    w0 = R.T @ before[0]
    w, wd = w0 + turning * u * qd, R.T @ before[1] + turning * (u * qdd + np.cross(w0, u) * qd)
    yield "ω, ω̇", lin.motions[j][:2], np.array([w, wd])
    yield "Ω", lin.motions[j][3], _cross(wd) + _cross(w) @ _cross(w)


def _two_numbers(lin: CompositeBodies, known: Reference, j: int) -> Iterator[tuple[str, object, Array]]:
    u = lin.axes.axis[j].u
    assert u is not None
    (ux, uy, uz), (kx, ky, kz) = (float(s) for s in u), known.k[j]
    theirs = np.array([-uy * kx + ux * ky, -uz * (ux * kx + uy * ky) + (1 - uz * uz) * kz])
    yield "κ1, κ2", (lin._of("KB", j), lin._of("KA", j)), theirs


def _from_children(lin: CompositeBodies, known: Reference, j: int) -> tuple[Array, Array]:
    P, N = np.zeros(3), np.zeros(3)
    for c in known.children(j):
        way, body = lin.ways[c], lin.bodies[c]
        there = np.array(way.outward(body.P), float)
        P, N = P + there, N + np.array(way.outward(body.N), float) + np.cross(np.array(way.p, float), there)
    return P, N


def _cross(v: Array) -> Array:
    x, y, z = v
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


# ---------------------------------------------------------------------- against Khalil and Kleinfinger

TERMS = ("inertia", "first moment", "force of the link", "moment of the link", "sum of forces", "sum of moments")


def khalil_kleinfinger_errors(robot: Robot) -> dict[str, float]:
    """Largest difference, term by term, to their recursion on the regrouped links; joints that turn in space.

    Of joints before the second direction only the terms of their efforts are there: entry ZZ, and moments about z.
    """
    bare, chi = drawn(robot, 8)
    q, qd, qdd = (v[0] for v in random_states(bare, 1, 9))
    lin = CompositeBodies(bare, combinations(bare, chi), State(list(q), list(qd), list(qdd)))
    closed = base_parameters(bare)
    ten = closed.standard_values(closed.values(chi)).reshape(-1, 10)
    worst = dict.fromkeys(TERMS, 0.0)
    f, m = np.zeros(3), np.zeros(3)
    for j in reversed(range(bare.n_joints)):
        w, wd, vd, W, _ = (np.array(v, float) for v in lin.motions[j])
        J, ms, mass = np.array(symmetric(ten[j, :6].tolist()), float), ten[j, 6:9], ten[j, 9]
        force, moment = mass * vd + W @ ms, J @ wd + np.cross(w, J @ w) + np.cross(ms, vd)
        if j + 1 < bare.n_joints:
            R, p = (np.array(v, float) for v in lin.ways[j + 1].pose)
            f, m = R @ f, R @ m + np.cross(p, R @ f)
        f, m = f + force, m + moment
        body, k = lin.bodies[j], np.array(lin._moment(j), float)
        pairs = ((body.D, J), (k, ms), (body.rho, force), (body.zeta, moment), (body.P, f), (body.N, m))
        for name, (ours, theirs) in zip(TERMS, pairs, strict=True):
            gap = np.abs(np.asarray(ours, float) - theirs)
            if not lin.axes.axis[j].beyond:
                gap = gap[..., 2] if gap.ndim == 1 else gap[2, 2]
            worst[name] = max(worst[name], float(np.max(gap)) / max(1.0, float(np.abs(theirs).max())))
    return worst


# ---------------------------------------------------------------------- Atkeson's technique


def technique_errors(robot: Robot) -> tuple[float, float, list[str]]:
    """Relative effort errors of original parameters that take the values of regrouped ones, and of combinations.

    The third: combinations whose value is then no longer the one given.
    """
    bare, chi = drawn(robot)
    closed, lin = base_parameters(bare), base_parameters(bare, "mlc")
    regrouped = closed.standard_values(closed.values(chi))
    given = dict(zip(lin.names, lin.values(chi).tolist(), strict=True))
    place = {name: k for k, name in enumerate(bare.columns())}
    put = np.zeros(len(chi))
    for name, value in given.items():
        put[place[f"{ORIGINAL[name.rpartition('_')[0]]}{link_of(name)}"]] = value
    after = lin.values(put)
    lost = [name for name, value in zip(lin.names, after, strict=True) if abs(value - given[name]) > 1e-9]
    return _effort_error(bare, chi, regrouped), _effort_error(bare, chi, put), lost


def _effort_error(robot: Robot, chi: Array, other: Array) -> float:
    states = random_states(robot)
    tau, found = (
        inverse_dynamics(robot.with_parameters(dict(zip(robot.columns(), values.tolist(), strict=True))), *states)
        for values in (chi, other)
    )
    return float(np.sqrt(np.mean((found - tau) ** 2) / np.mean(tau**2)))


def upright(name: str) -> Robot:
    """A bundled robot without effects of its drives."""
    return replace(read_robot(name), effects=())


# ---------------------------------------------------------------------- the identification procedure, joint by joint


def procedure(robot: Robot, samples: int = 60) -> tuple[dict[str, float], dict[int, Array]]:
    """Steps 1 to 4 on exact efforts: {combination: its error}, {joint: its columns v (samples, unknowns)}.

    The columns of joint i are efforts of composite body i for one unit of each of its combinations; what the bodies
    beyond it do, from the values found before, is subtracted from the effort (equations 107 to 116).
    """
    bare, chi = drawn(robot, 3)
    true = combinations(bare, chi)
    q, qd, qdd = random_states(bare, samples, 4)
    tau, state = inverse_dynamics(bare, q, qd, qdd), state_of(q, qd, qdd)
    found: dict[str, float] = {}
    columns: dict[int, Array] = {}
    for i in reversed(range(bare.n_joints)):
        names = [name for name in true if link_of(name) == i + 1]
        A = np.array([_effort(bare, {name: 1.0}, state, i, samples) for name in names]).T
        y = tau[:, i] - _effort(bare, found, state, i, samples)
        found |= dict(zip(names, np.linalg.lstsq(A, y, rcond=None)[0].tolist(), strict=True))
        columns[i] = A
    return {name: found[name] - value for name, value in true.items()}, columns


def _effort(robot: Robot, values: dict[str, float], state: State, joint: int, samples: int) -> Array:
    return np.broadcast_to(np.asarray(CompositeBodies(robot, values, state).efforts[joint], float), samples)


def printed_columns(robot: Robot, samples: int = 60) -> dict[int, Array]:
    """The columns as the paper prints them: (106) before joint r, (103) and (104) from r to before s.

    A slide before r: a - g along it.  A slide between r and s: that, less the square of the speed about joint r, and
    the acceleration about it, for the mass and the two numbers of (86).  A turning joint there: its acceleration, and
    the two components of a - g across it where the combinations k1, k2 exist.
    """
    bare, _ = drawn(robot, 3)
    lin = CompositeBodies(bare, {}, state_of(*random_states(bare, samples, 4)))
    found = {}
    for i in range(bare.n_joints):
        axis, vd = lin.axes.axis[i], lin.motions[i].vd
        if axis.beyond:
            continue
        w, wd = lin._rate(i)
        if lin.turning[i]:
            parts = [lin.motions[i].wd[2], vd[1], -1 * np.asarray(vd[0])]
        elif axis.r1 is None:
            parts = [vd[2]]
        else:
            parts = [vd[2], -1 * np.asarray(w) ** 2, wd]
        found[i] = np.array([np.broadcast_to(np.asarray(part, float), samples) for part in parts]).T
    return found

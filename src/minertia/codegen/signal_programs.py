"""Programs without accelerations and for signals: observer, momentum and power regressors, differentiators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minertia.algebra.derivative import reverse
from minertia.algebra.expr import Expr
from minertia.algebra.matrix import inner, summed
from minertia.algebra.scalar import Scalar, add, mul, sub
from minertia.algebra.vec3 import cross, vadd
from minertia.codegen.draft import EFFORT, Built, Draft, flat
from minertia.codegen.motion_programs import base_rows
from minertia.codegen.program import Port
from minertia.dynamics.compound import drive_inertia, total_mass_matrix
from minertia.dynamics.derivatives import coriolis_matrix
from minertia.dynamics.energy import kinetic_energy, momentum_entries, power_entries
from minertia.dynamics.forward import moving_efforts
from minertia.dynamics.kinematics import State, base_velocity, structural_gravity
from minertia.dynamics.loops.projection import projected_momentum
from minertia.dynamics.newton_euler import gravity_torques
from minertia.robot.parameters import LINK_SYMBOLS, full_name

PERIOD = "time between two calls [s]"
ON_BASE = "; the first six: external force and moment on the base, in its frame"


def _momentum_observer(d: Draft) -> Built:
    """Momentum observer r = K (p - p^), p^' = tau - friction + dL/dq + r.

    r follows external efforts with the time constants 1 / K.
    """
    n, chi = d.robot.n_velocity, d.chi()
    tau, gain = Port("tau", (n,), EFFORT), Port("gain", (n,), "gains of the observer [1/s], below 1 / period")
    period, held = Port("period", (1,), PERIOD), Port("momentum", (n,), "observed momenta, zeros at rest")
    p, driven = momentum_and_rate(d, chi, d.read(tau))
    seen = [mul(k, sub(x, y)) for k, x, y in zip(d.read(gain), p, d.read(held), strict=True)]
    rate = summed(driven, seen)
    step = d.read(period)[0]
    after = [add(y, mul(step, x)) for y, x in zip(d.read(held), rate, strict=True)]
    text = "external efforts at the joints [N m, N]" + ON_BASE * d.robot.is_floating
    ports = [Port("r", (n,), text), Port("momentum_next", (n,), held.meaning)]
    return [d.q_port, d.qd_port, tau, gain, period, held, *d.warmth_ports], ports, [*seen, *after]


def momentum_and_rate(d: Draft, chi: Any, tau: Sequence[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
    """Momenta p = D qd, and their rates tau - friction + dL/dq under efforts tau, without accelerations."""
    q, qd = d.read(d.q_port), d.read(d.qd_port)
    p, slope = _closed_momenta(d, chi, qd) if d.robot.open_cuts else _momenta(d, chi, q, qd)
    return p, summed(_left(d, chi, qd, tau), slope)


def _momenta(d: Draft, chi: Any, q: list[Expr], qd: list[Expr]) -> tuple[list[Scalar], list[Scalar]]:
    """Momenta p and dL/dq; for a floating base with the terms of its rotating frame in the rates."""
    kinetic: Scalar = kinetic_energy(d.robot, chi, q, qd, rotors=False)  # theirs is constant in q: added below
    adjoints = reverse(d.graph, [kinetic], [d.graph.constant(1)])
    rotors = drive_inertia(d.robot, chi)
    p = [add(_by(adjoints, rate), inner(row, qd)) for rate, row in zip(qd, rotors, strict=True)]
    slope = [_by(adjoints, x) for x in q[7 * d.robot.is_floating :]]
    if d.robot.is_floating:
        (v, w), (linear, angular) = base_velocity(qd), base_velocity(p)
        slope = [*cross(linear, w), *vadd(cross(angular, w), cross(linear, v)), *slope]
    g = d.coefficients(chi).gravity(structural_gravity(d.robot.gravity))
    return p, [sub(own, holding) for own, holding in zip(slope, g, strict=True)]


def _closed_momenta(d: Draft, chi: Any, qd: list[Expr]) -> tuple[list[Scalar], list[Scalar]]:
    """Momenta of a robot with loops, and their rates without efforts tau, from the momenta p of its tree.

    Momenta: G' p.  Rates: G' (C' qd - g) + (dG/dt)' p.
    """
    closed = d.closed(qd, d.rest)
    tree, q, rates = closed.tree, closed.state.q, closed.state.qd
    p = [inner(row, rates) for row in total_mass_matrix(tree, chi, q)]
    turning = [inner(column, rates) for column in zip(*coriolis_matrix(tree, chi, q, rates), strict=True)]
    held = [sub(a, b) for a, b in zip(turning, gravity_torques(tree, chi, q), strict=True)]
    bent = [inner(column, p) for column in zip(*closed.bent(qd), strict=True)]
    return closed.efforts(p), summed(closed.efforts(held), bent)


def _left(d: Draft, chi: Any, qd: list[Expr], tau: Sequence[Scalar]) -> list[Scalar]:
    """Efforts tau minus those of friction and springs."""
    if not d.robot.open_cuts:
        return moving_efforts(d.robot, chi, State(d.read(d.q_port), qd, d.rest), d.rest, tau, d.warmth)
    return [sub(t, f) for t, f in zip(tau, d.effects(chi, qd, d.rest, d.rest, rotors=False), strict=True)]


def _by(adjoints: dict[int, Expr], variable: Expr) -> Scalar:
    return adjoints.get(variable.id, 0)


def _momentum_regressor(d: Draft) -> Built:
    wanted = frozenset(d.setting.base.kept)
    qd = d.read(d.qd_port)
    closed = d.closed(qd, d.rest)
    parts = momentum_entries(closed.tree, closed.state.q, closed.state.qd, wanted)
    momenta, rates = (base_rows(d, entries, d.robot.n_velocity) for entries in projected_momentum(closed, *parts, qd))
    shape = (len(momenta), len(momenta[0]))
    ports = [
        Port("Yp", shape, "momenta for unit base parameters"),
        Port("Yc", shape, "what else makes the efforts: tau = d/dt (Yp beta) + Yc beta"),
    ]
    return [d.q_port, d.qd_port], ports, [*flat(momenta), *flat(rates)]


def _power_regressor(d: Draft) -> Built:
    wanted = frozenset(d.setting.base.kept)
    closed = d.closed(d.read(d.qd_port), d.rest)
    parts = power_entries(closed.tree, closed.state.q, closed.state.qd, wanted)
    (energy,), (power,) = (base_rows(d, entries, 1) for entries in parts)
    ports = [
        Port("E", (len(energy),), "energy [J] for unit base parameters"),
        Port("P", (len(power),), "power [W] that friction takes: qd . tau = d/dt (E beta) + P beta"),
    ]
    return [d.q_port, d.qd_port], ports, [*energy, *power]


def _differentiator(d: Draft) -> Built:
    """Five-point differentiator, exact on polynomials of degree four."""
    rows, h = _window(d)
    by_step = 1 / (12 * h)
    by_step_twice = by_step / h
    first = [mul(by_step, sub(mul(8, sub(c, b)), sub(e, a))) for a, b, _, c, e in zip(*rows, strict=True)]
    second = [
        mul(by_step_twice, sub(sub(mul(16, add(b, c)), mul(30, m)), add(a, e)))
        for a, b, m, c, e in zip(*rows, strict=True)
    ]
    return _derivatives(d, rows[2], first, second)


def _parabola_differentiator(d: Draft) -> Built:
    """Value and derivatives of the least-squares parabola through five positions, at the middle one (Khosla 1987)."""
    rows, h = _window(d)
    five = list(zip(*rows, strict=True))
    by_step, by_step_twice = 1 / (10 * h), 1 / (7 * h * h)
    value = [mul(1 / 35, sub(add(mul(17, m), mul(12, add(b, c))), mul(3, add(a, e)))) for a, b, m, c, e in five]
    first = [mul(by_step, add(mul(2, sub(e, a)), sub(c, b))) for a, b, _, c, e in five]
    second = [mul(by_step_twice, sub(mul(2, sub(add(a, e), m)), add(b, c))) for a, b, m, c, e in five]
    return _derivatives(d, value, first, second)


def _window(d: Draft) -> tuple[list[list[Expr]], Expr]:
    """Five rows of positions, oldest first, and the sampling period."""
    window, period = _window_ports(d.robot.n)
    x = d.read(window)
    return [x[d.robot.n * k : d.robot.n * (k + 1)] for k in range(5)], d.read(period)[0]


def _window_ports(n: int) -> list[Port]:
    return [
        Port("window", (5, n), "the last five positions of all joints, oldest first [rad, m]"),
        Port("period", (1,), "time between two samples [s]"),
    ]


def _derivatives(d: Draft, q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar]) -> Built:
    n, late = d.robot.n, "two samples ago"
    ports = [
        Port("q", (n,), f"positions {late} [rad, m]"),
        Port("qd", (n,), f"velocities {late} [rad/s, m/s]"),
        Port("qdd", (n,), f"accelerations {late} [rad/s2, m/s2]"),
    ]
    return _window_ports(n), ports, [*q, *qd, *qdd]


def _low_pass(d: Draft) -> Built:
    n = d.robot.n
    signal = Port("x", (n,), "one sample of n signals")
    numbers = Port("coefficients", (5,), "b0 b1 b2 a1 a2 of y = (b0 + b1/z + b2/z2) / (1 + a1/z + a2/z2) x")
    memory = Port("memory", (2, n), "of the filter, zeros at first")
    x, (b0, b1, b2, a1, a2), m = d.read(signal), d.read(numbers), d.read(memory)
    y = [add(mul(b0, value), old) for value, old in zip(x, m[:n], strict=True)]
    triples = list(zip(x, y, m[n:], strict=True))
    first = [add(sub(mul(b1, value), mul(a1, out)), old) for value, out, old in triples]
    second = [sub(mul(b2, value), mul(a2, out)) for value, out, _ in triples]
    ports = [Port("y", (n,), "the filtered sample"), Port("memory_next", (2, n), memory.meaning)]
    return [signal, numbers, memory], ports, [*y, *first, *second]


def _watch_terms(d: Draft) -> Built:
    """Terms of the on-line monitor: momenta and their rates, of the robot and of unit payload parameters."""
    n, qd, tau = d.robot.n, d.read(d.qd_port), Port("tau", (d.robot.n,), EFFORT)
    p, rate = momentum_and_rate(d, d.chi(), d.read(tau))
    names = [full_name(symbol, d.robot.tip + 1) for symbol in LINK_SYMBOLS]
    entries = momentum_entries(d.robot, d.read(d.q_port), qd, frozenset(names))
    columns = [[table.get((row, name), 0) for row in range(n) for name in names] for table in entries]
    load = f"of a load on joint {d.robot.tip + 1}, {' '.join(LINK_SYMBOLS)} about its frame's origin"
    ports = [
        Port("p", (n,), "momenta of the joints [kg m2/s, kg m/s]"),
        Port("p_rate", (n,), "their rates of change if nothing else acts [N m, N]"),
        Port("Yp", (n, 10), f"momenta for unit parameters {load}"),
        Port("Yc", (n, 10), "what else it asks for: tau = d/dt (Yp load) + Yc load"),
    ]
    return [d.q_port, d.qd_port, tau, *d.warmth_ports], ports, [*p, *rate, *columns[0], *columns[1]]


SIGNAL_BUILDERS: dict[str, Callable[[Draft], Built]] = {
    "momentum_observer": _momentum_observer,
    "momentum_regressor": _momentum_regressor,
    "power_regressor": _power_regressor,
    "differentiator": _differentiator,
    "parabola_differentiator": _parabola_differentiator,
    "low_pass": _low_pass,
    "watch_terms": _watch_terms,
}

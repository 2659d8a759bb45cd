"""Derivatives of inverse and forward dynamics with all effects, for optimal control and observers.

For robots with loops they follow from the derivatives of the spanning trees (theory, eqs. 49 and 50).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from minertia.algebra.derivative import replayed, reverse
from minertia.algebra.expr import Expr, Graph
from minertia.algebra.matrix import inner, matrix_sum, product, transposed
from minertia.algebra.scalar import Scalar, add, div, is_zero, mul, neg
from minertia.dynamics.compound import Matrix, drive_inertia, mass_matrix
from minertia.dynamics.derivatives import slopes
from minertia.dynamics.effects import effect_torques, needs_load
from minertia.dynamics.forward import solve_columns, velocity_names
from minertia.dynamics.kinematics import Scalars, State
from minertia.dynamics.loops.projection import Projection
from minertia.dynamics.newton_euler import Parameters, inverse_dynamics, rigid_torques
from minertia.dynamics.reference_motion import expect_fixed_base
from minertia.robot.parameters import LINK_SYMBOLS
from minertia.robot.robot import Robot


class InverseSlopes(NamedTuple):
    """Derivatives of efforts with respect to q, qd and qdd, n x n each.

    dqdd: the mass matrix plus load-dependent friction.  dq: for the pose of a floating base, derivatives
    with respect to translations along and rotations about its own axes, in the order of its velocities.
    """

    dq: Matrix
    dqd: Matrix
    dqdd: Matrix


class ForwardSlopes(NamedTuple):
    """Derivatives of accelerations with respect to q (as in `InverseSlopes`), qd and tau, n x n each."""

    dq: Matrix
    dqd: Matrix
    dtau: Matrix


class EffectSlopes(NamedTuple):
    """Derivatives of the effects' efforts with respect to q, qd, qdd and the rigid-body efforts.

    rigid: derivatives with respect to the rigid-body efforts, nonzero for load-dependent friction.
    """

    q: Matrix
    qd: Matrix
    qdd: Matrix
    rigid: Matrix


def inverse_slopes(
    robot: Robot, chi: Parameters, state: State, temperature: Scalars | None = None, D: Matrix | None = None
) -> InverseSlopes:
    """d tau/dq, d tau/dqd, d tau/dqdd; D: mass matrix of the links if known."""
    links = slopes(robot, chi, state)
    D = mass_matrix(robot, chi, state.q) if D is None else D
    effects = effect_slopes(robot, chi, state, temperature)
    parts = zip((links.position, links.velocity, D), effects[:3], strict=True)
    return InverseSlopes(*(matrix_sum(own, more, _by_own_load(effects.rigid, own)) for own, more in parts))


def slopes_under(robot: Robot, chi: Parameters, state: State, temperature: Scalars | None, D: Matrix) -> ForwardSlopes:
    """Derivatives of accelerations at a state with known accelerations; D: mass matrix of the links.

    tau(q, qd, qdd) stays the same: D dqdd = dtau - (d tau/dq) dq - (d tau/dqd) dqd.  Load-dependent friction
    multiplies the rows of all efforts of links and rotors by a factor, which is divided out on both sides.
    """
    links, effects = slopes(robot, chi, state), effect_slopes(robot, chi, state, temperature)
    n, right = robot.n_velocity, list[list[Scalar]]()
    factors = [add(1, effects.rigid[i][i]) for i in range(n)]
    whole = matrix_sum(D, drive_inertia(robot, chi))
    for own, more in ((links.position, effects.q), (links.velocity, effects.qd)):
        rows = [[neg(add(own[i][k], _over(more[i][k], factors[i]))) for k in range(n)] for i in range(n)]
        right += [[rows[i][k] for i in range(n)] for k in range(n)]
    right += [[_over(1, factors[i]) if i == k else 0 for i in range(n)] for k in range(n)]
    columns = solve_columns(whole, right, velocity_names(robot))
    found = [[[columns[n * part + k][i] for k in range(n)] for i in range(n)] for part in range(3)]
    return ForwardSlopes(*found)


def effect_slopes(robot: Robot, chi: Parameters, state: State, temperature: Scalars | None = None) -> EffectSlopes:
    """Derivatives of the efforts of rotors, friction and springs; zero for Coulomb friction."""
    n, graph, values = robot.n_velocity, Graph(), dict[str, Scalar]()

    def inputs(name: str, scalars: Sequence[Scalar]) -> list[Expr]:
        values.update({f"{name}[{k}]": scalar for k, scalar in enumerate(scalars)})
        return graph.variables(name, len(scalars))

    rigid = rigid_torques(robot, chi, state) if needs_load(robot, chi) else [0] * n
    names = ("q", "qd", "qdd", "rigid")
    held = [inputs(name, part) for name, part in zip(names, (*state, rigid), strict=True)]
    own = [_effects_as_inputs(k, x, inputs) for k, x in enumerate(chi)]
    warmth = None if temperature is None else inputs("temperature", temperature)
    efforts = effect_torques(robot, own, State(*held[:3]), held[3], warmth)
    one = graph.constant(1)
    adjoints = [reverse(graph, [tau], [one]) if isinstance(tau, Expr) else {} for tau in efforts]
    held[0] = held[0][int(robot.is_floating) :]  # of a floating base's pose, which no effect reads, six stand for seven
    flat = [by.get(held[part][k].id, 0) for part in range(4) for by in adjoints for k in range(n)]
    entries = iter(replayed(flat, values))
    return EffectSlopes(*([[next(entries) for _ in range(n)] for _ in range(n)] for _ in range(4)))


def _effects_as_inputs(k: int, x, inputs) -> dict[str, Scalar]:  # type: ignore[no-untyped-def]
    """Effects of one link as inputs of the small graph; structural zeros are omitted."""
    kept = [symbol for symbol, value in x.items() if symbol not in LINK_SYMBOLS and not is_zero(value)]
    return dict(zip(kept, inputs(f"x{k}", [x[symbol] for symbol in kept]), strict=True))


def _over(a: Scalar, b: Scalar) -> Scalar:
    return 0 if is_zero(a) else div(a, b)


def _by_own_load(diagonal: Matrix, B: Matrix) -> Matrix:
    """Multiply the rows of B by the diagonal: load-dependent friction depends only on the load of its joint."""
    return [[mul(diagonal[i][i], b) for b in row] for i, row in enumerate(B)]


# -------------------------------------------------------------------------------------------------- robots with loops


def projected_inverse_slopes(
    closed: Projection, chi: Parameters, qd: Scalars, temperature: Scalars | None = None, D: Matrix | None = None
) -> InverseSlopes:
    """d tau_a/dq, d tau_a/dqd, d tau_a/dqdd at a motion that satisfies the loop closures.

    qd: velocities of the robot.  D: mass matrix of the tree's links, if known.
    """
    own = inverse_slopes(closed.tree, chi, closed.state, temperature, D)
    if closed.G is None:
        return own
    expect_fixed_base(closed.robot, "a derivative")
    bent = closed.bent(qd)
    by_position = matrix_sum(
        product(own.dq, closed.G), product(own.dqd, bent), product(own.dqdd, _bent_again(closed, bent))
    )
    by_rate = matrix_sum(product(own.dqd, closed.G), [[mul(2, x) for x in row] for row in product(own.dqdd, bent)])
    tau = inverse_dynamics(closed.tree, chi, closed.state, None, temperature)
    dq = matrix_sum(closed.rows(by_position), _turned_efforts(closed, tau))
    return InverseSlopes(dq, closed.rows(by_rate), closed.square(own.dqdd))


def projected_forward_slopes(
    closed: Projection, chi: Parameters, qd: Scalars, temperature: Scalars | None, D: Matrix
) -> ForwardSlopes:
    """d qdd/dq, d qdd/dqd, d qdd/dtau at a motion with accelerations that satisfies the loop closures.

    qd: velocities of the robot.  D: mass matrix of the tree's links.
    """
    if closed.G is None:
        return slopes_under(closed.tree, chi, closed.state, temperature, D)
    own = projected_inverse_slopes(closed, chi, qd, temperature, D)
    n = closed.robot.n
    unit: Matrix = [[-int(i == k) for k in range(n)] for i in range(n)]
    right = [[neg(row[k]) for row in part] for part in (own.dq, own.dqd, unit) for k in range(n)]
    columns = solve_columns(own.dqdd, right, velocity_names(closed.robot))
    found = [[[columns[n * part + k][i] for k in range(n)] for i in range(n)] for part in range(3)]
    return ForwardSlopes(*found)


def _bent_again(closed: Projection, bent: Matrix) -> Matrix:
    """Derivatives of the tree's accelerations with respect to the robot's positions, from those of A qdd + b.

    bent: derivatives of the tree's velocities with respect to the robot's positions.
    """
    assert closed.closed is not None and closed.G is not None
    by_q, by_qd = closed.closed.closing.acceleration_slopes(*closed.state)
    gained = matrix_sum(product(by_q, closed.G), product(by_qd, bent))
    columns = [closed.closed.settled(column) for column in zip(*gained, strict=True)]
    return transposed(columns)


def _turned_efforts(closed: Projection, tau: Scalars) -> Matrix:
    """Derivatives of G' tau with respect to the robot's positions at fixed tau; symmetric."""
    n = closed.robot.n
    units = [[int(i == k) for i in range(n)] for k in range(n)]
    found: dict[tuple[int, int], Scalar] = {}
    for k in range(n):
        for i in range(k + 1):
            found[i, k] = inner(tau, closed.bend(units[i], units[k]))
    return [[found[min(i, k), max(i, k)] for k in range(n)] for i in range(n)]

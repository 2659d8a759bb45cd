"""First derivatives of the dynamics of robots with loops, from those of their trees (theory, eqs. 49 and 50)."""

from __future__ import annotations

from minertia.algebra.scalar import Scalar, add, mul, neg, total
from minertia.dynamics.compound import Matrix
from minertia.dynamics.forward import solve_columns, velocity_names
from minertia.dynamics.kinematics import Scalars
from minertia.dynamics.newton_euler import Parameters, inverse_dynamics
from minertia.dynamics.projection import Projection
from minertia.dynamics.reference_motion import expect_fixed_base
from minertia.dynamics.sensitivity import ForwardSlopes, InverseSlopes, inverse_slopes, slopes_under


def projected_inverse_slopes(
    closed: Projection, chi: Parameters, qd: Scalars, temperature: Scalars | None = None, D: Matrix | None = None
) -> InverseSlopes:
    """d tau_a/dq, d tau_a/dqd, d tau_a/dqdd at a closed motion; qd: of the robot, D: of the tree's links if known."""
    own = inverse_slopes(closed.tree, chi, closed.state, temperature, D)
    if closed.G is None:
        return own
    expect_fixed_base(closed.robot, "a derivative")
    bent = closed.bent(qd)
    by_position = _sum(
        _product(own.dq, closed.G), _product(own.dqd, bent), _product(own.dqdd, _bent_again(closed, bent))
    )
    by_rate = _sum(_product(own.dqd, closed.G), [[mul(2, x) for x in row] for row in _product(own.dqdd, bent)])
    tau = inverse_dynamics(closed.tree, chi, closed.state, None, temperature)
    dq = _sum(closed.rows(by_position), _turned_efforts(closed, tau))
    return InverseSlopes(dq, closed.rows(by_rate), closed.square(own.dqdd))


def projected_forward_slopes(
    closed: Projection, chi: Parameters, qd: Scalars, temperature: Scalars | None, D: Matrix
) -> ForwardSlopes:
    """d qdd/dq, d qdd/dqd, d qdd/dtau at a closed motion with its accelerations; D: of the tree's links."""
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
    """Derivatives of the tree's accelerations by the robot's positions: A times them takes up what A qdd + b gains.

    bent: derivatives of its velocities by them.
    """
    assert closed.closed is not None and closed.G is not None
    by_q, by_qd = closed.closed.closing.acceleration_slopes(*closed.state)
    gained = _sum(_product(by_q, closed.G), _product(by_qd, bent))
    columns = [closed.closed.settled(column) for column in zip(*gained, strict=True)]
    return [list(row) for row in zip(*columns, strict=True)]


def _turned_efforts(closed: Projection, tau: Scalars) -> Matrix:
    """Derivatives of G' tau by the robot's positions at fixed tau; symmetric."""
    n = closed.robot.n
    units = [[int(i == k) for i in range(n)] for k in range(n)]
    found: dict[tuple[int, int], Scalar] = {}
    for k in range(n):
        for i in range(k + 1):
            pairs = zip(tau, closed.bend(units[i], units[k]), strict=True)
            found[i, k] = total(*(mul(a, b) for a, b in pairs))
    return [[found[min(i, k), max(i, k)] for k in range(n)] for i in range(n)]


def _product(A: Matrix, B: Matrix) -> Matrix:
    columns = list(zip(*B, strict=True))
    return [[total(*(mul(a, b) for a, b in zip(row, column, strict=True))) for column in columns] for row in A]


def _sum(first: Matrix, *others: Matrix) -> Matrix:
    found = first
    for other in others:
        found = [[add(a, b) for a, b in zip(*rows, strict=True)] for rows in zip(found, other, strict=True)]
    return found

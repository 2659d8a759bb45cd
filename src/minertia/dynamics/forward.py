"""Forward dynamics: accelerations from efforts."""

from __future__ import annotations

from minertia.algebra.scalar import Scalar, div, is_zero, mul, sub, total
from minertia.dynamics.compound import Matrix, total_mass_matrix
from minertia.dynamics.kinematics import Scalars, State
from minertia.dynamics.newton_euler import Parameters, inverse_dynamics
from minertia.robot.robot import Robot


def forward_dynamics(robot: Robot, chi: Parameters, q: Scalars, qd: Scalars, tau: Scalars) -> list[Scalar]:
    """qdd with D qdd = tau - (velocity, gravity and friction efforts); friction and rotor inertia included."""
    bias = inverse_dynamics(robot, chi, State(q, qd, [0] * robot.n_velocity))
    D = total_mass_matrix(robot, chi, q)
    return solve_symmetric(D, [sub(t, b) for t, b in zip(tau, bias, strict=True)])


def solve_symmetric(A: Matrix, b: Scalars) -> list[Scalar]:
    """x with A x = b for a positive definite A, by L D L' without pivoting; zeros of the structure are skipped."""
    n = len(b)
    L: Matrix = [[0] * n for _ in range(n)]
    d: list[Scalar] = [0] * n
    for j in range(n):
        scaled = [mul(L[j][k], d[k]) for k in range(j)]
        d[j] = sub(A[j][j], _dot(L[j][:j], scaled))
        for i in range(j + 1, n):
            rest = sub(A[i][j], _dot(L[i][:j], scaled))
            L[i][j] = 0 if is_zero(rest) else div(rest, d[j])
    y: list[Scalar] = []
    for i in range(n):
        y.append(sub(b[i], _dot(L[i][:i], y)))
    x: list[Scalar] = [div(value, pivot) for value, pivot in zip(y, d, strict=True)]
    for i in reversed(range(n)):
        x[i] = sub(x[i], _dot([L[k][i] for k in range(i + 1, n)], x[i + 1 :]))
    return x


def _dot(a: Scalars, b: Scalars) -> Scalar:
    return total(*(mul(x, y) for x, y in zip(a, b, strict=True)))

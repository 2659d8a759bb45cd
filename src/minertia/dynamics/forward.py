"""Forward dynamics: accelerations from efforts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from minertia.algebra.expr import Expr
from minertia.algebra.matrix import inner
from minertia.algebra.scalar import Scalar, add, div, is_zero, mul, sub
from minertia.dynamics.compound import Matrix, total_mass_matrix
from minertia.dynamics.effects import free_torques, loads_under, needs_load
from minertia.dynamics.frame import AppliedWrench
from minertia.dynamics.kinematics import Scalars, State
from minertia.dynamics.loops.projection import Projection
from minertia.dynamics.newton_euler import Parameters, inverse_dynamics, rigid_torques
from minertia.io.errors import SingularMass
from minertia.robot.robot import Robot

ZERO = 1e-13  # part of a diagonal entry that rounding leaves of a pivot that is zero


def forward_dynamics(
    robot: Robot,
    chi: Parameters,
    q: Scalars,
    qd: Scalars,
    tau: Scalars,
    temperature: Scalars | None = None,
    outside: AppliedWrench | None = None,
) -> list[Scalar]:
    """qdd with D qdd = tau - (velocity, gravity and friction efforts); all effects included.

    outside: external wrench on a link.
    """
    state = State(q, qd, [0] * robot.n_velocity)
    rigid = rigid_torques(robot, chi, state, outside=outside)
    D = total_mass_matrix(robot, chi, q)
    return solve_symmetric(D, moving_efforts(robot, chi, state, rigid, tau, temperature), velocity_names(robot))


def projected_dynamics(
    closed: Projection,
    chi: Parameters,
    tau: Scalars,
    temperature: Scalars | None = None,
    outside: AppliedWrench | None = None,
) -> list[Scalar]:
    """Forward dynamics with loops, G' D G qdd = tau - other efforts; closed: motion with zero accelerations."""
    tree, state = closed.tree, closed.state
    if closed.G is None:
        return forward_dynamics(tree, chi, state.q, state.qd, tau, temperature, outside)
    bias = closed.efforts(inverse_dynamics(tree, chi, state, None, temperature, outside))
    D = closed.square(total_mass_matrix(tree, chi, state.q))
    return solve_symmetric(D, [sub(t, b) for t, b in zip(tau, bias, strict=True)], velocity_names(closed.robot))


def moving_efforts(
    robot: Robot, chi: Parameters, state: State, rigid: Scalars, tau: Scalars, temperature: Scalars | None = None
) -> list[Scalar]:
    """Part of the efforts tau that accelerates links and rotors; rigid: rigid-body efforts without acceleration."""
    effects = free_torques(robot, chi, state, temperature)
    if not needs_load(robot, chi):
        bias = [add(a, b) for a, b in zip(rigid, effects, strict=True)]
        return [sub(t, b) for t, b in zip(tau, bias, strict=True)]
    carried = loads_under(robot, chi, state, [sub(t, e) for t, e in zip(tau, effects, strict=True)])
    return [sub(load, r) for load, r in zip(carried, rigid, strict=True)]


def velocity_names(robot: Robot) -> list[str]:
    """Name of the velocity coordinate of each row of the mass matrix."""
    return ["the floating base"] * (6 * robot.is_floating) + [f"joint '{name}'" for name in robot.coordinate_names]


def solve_symmetric(A: Matrix, b: Scalars, names: Sequence[str]) -> list[Scalar]:
    """Solve A x = b for a mass matrix A, by L D L' without pivoting; structural zeros are skipped.

    names: names of the rows, for the error message if A is singular.
    """
    return solve_columns(A, [b], names)[0]


def solve_columns(A: Matrix, columns: Sequence[Scalars], names: Sequence[str]) -> list[list[Scalar]]:
    """Solve A x = b for several columns b, from the tips to the base, which preserves zeros between branches."""
    L, d = _factors([row[::-1] for row in A[::-1]], names[::-1])
    return [_substituted(L, d, list(b)[::-1])[::-1] for b in columns]


def _factors(A: Matrix, names: Sequence[str]) -> tuple[Matrix, list[Scalar]]:
    """Factors L and d of A = L diag(d) L'."""
    n = len(A)
    L: Matrix = [[0] * n for _ in range(n)]
    d: list[Scalar] = [0] * n
    for j in range(n):
        scaled = [mul(L[j][k], d[k]) for k in range(j)]
        d[j] = sub(A[j][j], inner(L[j][:j], scaled))
        if _vanishes(d[j], A[j][j]):
            raise _singular(A, j, names)
        for i in range(j + 1, n):
            rest = sub(A[i][j], inner(L[i][:j], scaled))
            L[i][j] = 0 if is_zero(rest) else div(rest, d[j])
    return L, d


def _substituted(L: Matrix, d: Scalars, b: Scalars) -> list[Scalar]:
    n, y = len(b), list[Scalar]()
    for i in range(n):
        y.append(sub(b[i], inner(L[i][:i], y)))
    x: list[Scalar] = [div(value, pivot) for value, pivot in zip(y, d, strict=True)]
    for i in reversed(range(n)):
        x[i] = sub(x[i], inner([L[k][i] for k in range(i + 1, n)], x[i + 1 :]))
    return x


def _vanishes(pivot: Scalar, whole: Scalar) -> bool:
    """Whether a pivot is zero up to rounding in any sample; False for symbolic values."""
    rest, entry = (x.value if isinstance(x, Expr) else x for x in (pivot, whole))
    if rest is None:
        return False
    return bool(np.any(np.abs(rest) <= ZERO * np.abs(0.0 if entry is None else entry)))


def _singular(A: Matrix, j: int, names: Sequence[str]) -> SingularMass:
    """Error that names the joints without inertia, or the joint of the vanishing pivot."""
    empty = list(dict.fromkeys(names[k] for k in range(len(A)) if _vanishes(A[k][k], 0.0)))
    return SingularMass(
        f"the mass matrix is singular: {', '.join(empty) or names[j]} {'move' if len(empty) > 1 else 'moves'} no "
        f"mass or inertia of {'their' if len(empty) > 1 else 'its'} own; give the links after the joint mass and "
        "inertia, or the drive a rotor inertia"
    )

"""Dynamics on arrays with samples first (validated and converted by `border`).

Every function takes q, qd ... as arrays of shape (n,) or (N, n), and returns arrays with the same leading shape; lists
of expressions give expressions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from minertia.algebra.vec3 import ZERO
from minertia.dynamics import (
    compound,
    derivatives,
    effects,
    energy,
    forward,
    newton_euler,
    reference_motion,
    regressor,
)
from minertia.dynamics import frame as frames
from minertia.dynamics.border import Call, Values, checked_gravity, chosen_frame, samples_of, wrench_values
from minertia.dynamics.frame import FrameWrench
from minertia.dynamics.loops.closing import closing_of
from minertia.dynamics.loops.projection import projected_coriolis, projected_momentum
from minertia.dynamics.newton_euler import Parameters
from minertia.dynamics.options import ChosenFrame
from minertia.dynamics.sensitivity import projected_forward_slopes, projected_inverse_slopes
from minertia.io.arrays import Array
from minertia.io.errors import ShapeError
from minertia.robot.files import RobotLike, as_robot
from minertia.robot.parameters import full_name


def inverse_dynamics(
    robot: RobotLike,
    q: Values,
    qd: Values,
    qdd: Values,
    *,
    parameters: Parameters | None = None,
    gravity: Sequence[float] | None = None,
    temperature: Values | None = None,
    wrench: FrameWrench | Values | None = None,
) -> Any:
    """Inverse dynamics: efforts [N m or N], shape (N, n), of links, rotors, friction, springs and offsets.

    See theory, eqs. 6 to 9.  temperature (N, n) [degC] of the joints, for friction that depends on it; by default
    the reference temperature.  wrench (N, 6): external force [N] and moment [N m] on the robot at the origin of
    the last link's frame, in world axes; a `FrameWrench` specifies another frame or other axes.
    """
    with np.errstate(all="ignore"):  # what is infinite or not a number stays so, without a word
        call = Call(robot, parameters, q=q, qd=qd, qdd=qdd, temperature=temperature, wrench=wrench_values(wrench))
        given = (call.tree, call.chi, call.state, checked_gravity(gravity), call.temperature, call.outside(wrench))
        return call.efforts(newton_euler.inverse_dynamics(*given))


def gravity_torques(
    robot: RobotLike, q: Values, *, parameters: Parameters | None = None, gravity: Sequence[float] | None = None
) -> Any:
    """Gravity efforts [N m or N] of the links; springs and offsets are effects and not included."""
    with np.errstate(all="ignore"):
        call = Call(robot, parameters, q=q)
        return call.efforts(newton_euler.gravity_torques(call.tree, call.chi, call.state.q, checked_gravity(gravity)))


def velocity_torques(robot: RobotLike, q: Values, qd: Values, *, parameters: Parameters | None = None) -> Any:
    """Centrifugal and Coriolis efforts [N m or N]."""
    with np.errstate(all="ignore"):
        call = Call(robot, parameters, q=q, qd=qd)
        return call.efforts(newton_euler.rigid_torques(call.tree, call.chi, call.state, ZERO))


def mass_matrix(robot: RobotLike, q: Values, *, parameters: Parameters | None = None, rotors: bool = True) -> Any:
    """Mass matrix D(q), shape (N, n, n) [kg m2, kg m, kg]; rotors: include the rotor inertias."""
    with np.errstate(all="ignore"):
        call = Call(robot, parameters, q=q)
        of = compound.total_mass_matrix if rotors else compound.mass_matrix
        return call.matrix(call.closed.square(of(call.tree, call.chi, call.state.q)))


def kinetic_energy(
    robot: RobotLike, q: Values, qd: Values, *, parameters: Parameters | None = None, rotors: bool = True
) -> Any:
    """Kinetic energy qd' D qd / 2 [J], shape (N,), by default with the rotor inertias (theory, eq. 12)."""
    with np.errstate(all="ignore"):
        call = Call(robot, parameters, q=q, qd=qd)
        return call.scalar(energy.kinetic_energy(call.tree, call.chi, call.state.q, call.state.qd, rotors=rotors))


def potential_energy(
    robot: RobotLike, q: Values, *, parameters: Parameters | None = None, gravity: Sequence[float] | None = None
) -> Any:
    """Potential energy of the links [J], shape (N,) (theory, eq. 12)."""
    with np.errstate(all="ignore"):
        call = Call(robot, parameters, q=q)
        return call.scalar(energy.potential_energy(call.tree, call.chi, call.state.q, checked_gravity(gravity)))


def forward_dynamics(
    robot: RobotLike,
    q: Values,
    qd: Values,
    tau: Values,
    *,
    parameters: Parameters | None = None,
    temperature: Values | None = None,
    wrench: FrameWrench | Values | None = None,
) -> Any:
    """Forward dynamics: accelerations [rad/s2 or m/s2] under efforts tau; see `inverse_dynamics`."""
    with np.errstate(all="ignore"):
        call = Call(robot, parameters, q=q, qd=qd, tau=tau, temperature=temperature, wrench=wrench_values(wrench))
        given = (call.closed, call.chi, call.tau, call.temperature, call.outside(wrench))
        return call.vector(forward.projected_dynamics(*given))


def jacobian(robot: RobotLike, q: Values, frame: ChosenFrame | str | None = None) -> Any:
    """Jacobian of a frame, shape (N, 6, n): velocity of its origin, then its angular velocity.

    frame: a name (world axes) or a `ChosenFrame`; by default the frame of the last link.  J' w are the
    efforts equivalent to a wrench w at its origin.
    """
    with np.errstate(all="ignore"):
        call, chosen = Call(robot, (), q=q), chosen_frame(frame)
        place = frames.frame_named(call.tree, chosen.name)
        return call.matrix(call.closed.columns(frames.jacobian(call.tree, call.state.q, place, chosen.axes)))


def forward_kinematics(robot: RobotLike, q: Values, frame: ChosenFrame | str | None = None) -> tuple[Any, Any]:
    """Rotation (N, 3, 3), from the frame's axes to the world's, and position (N, 3) [m] of a frame; see `jacobian`."""
    with np.errstate(all="ignore"):
        call, chosen = Call(robot, (), q=q), chosen_frame(frame)
        R, p = frames.frame_pose(call.tree, call.state.q, frames.frame_named(call.tree, chosen.name))
        return call.matrix(R), call.vector(p)


def torque_regressor(
    robot: RobotLike,
    q: Values,
    qd: Values,
    qdd: Values,
    *,
    columns: Sequence[str] | None = None,
    gravity: Sequence[float] | None = None,
    temperature: Values | None = None,
) -> Any:
    """Regressor Y with tau = Y X (theory, eq. 9), shape (N, n, columns).

    columns: full names, by default the link inertias.  Load-dependent friction uses the load of the robot's nominal
    parameters; temperature: see `inverse_dynamics`.
    """
    with np.errstate(all="ignore"):
        call = Call(robot, (), q=q, qd=qd, qdd=qdd, temperature=temperature)
        names = call.names(columns)
        given = (call.tree, call.state, frozenset(names), checked_gravity(gravity), call.temperature)
        return call.table(call.closed.entries(regressor.regressor_entries(*given)), names)


def coriolis_matrix(robot: RobotLike, q: Values, qd: Values, *, parameters: Parameters | None = None) -> Any:
    """Coriolis matrix C(q, qd), shape (N, n, n): C qd are the velocity efforts, and D' - 2 C is skew-symmetric."""
    with np.errstate(all="ignore"):
        call = Call(robot, parameters, q=q, qd=qd)
        C = derivatives.coriolis_matrix(call.tree, call.chi, call.state.q, call.state.qd)
        return call.matrix(projected_coriolis(call.closed, call.chi, C, call.velocities))


def slotine_li_torques(
    robot: RobotLike,
    q: Values,
    qd: Values,
    qdr: Values,
    qddr: Values,
    *,
    parameters: Parameters | None = None,
    temperature: Values | None = None,
) -> Any:
    """Efforts D(q) qddr + C(q, qd) qdr + g(q) [N m or N] along a reference, with rotors at qddr and friction at qd."""
    with np.errstate(all="ignore"):
        call = Call(robot, parameters, q=q, qd=qd, qdd=qddr, qdr=qdr, temperature=temperature)
        given, state, qdr = (call.tree, call.chi), *call.along_reference
        rigid = reference_motion.reference_torques(*given, state.q, state.qd, qdr, state.qdd)
        more = effects.effect_torques(*given, state, rigid, call.temperature)
        return call.efforts([a + b for a, b in zip(rigid, more, strict=True)])


def slotine_li_regressor(
    robot: RobotLike, q: Values, qd: Values, qdr: Values, qddr: Values, *, columns: Sequence[str] | None = None
) -> Any:
    """Y(q, qd, qdr, qddr), shape (N, n, columns), with Y X the efforts of `slotine_li_torques`; columns: full names."""
    with np.errstate(all="ignore"):
        call = Call(robot, (), q=q, qd=qd, qdd=qddr, qdr=qdr)
        names, state, qdr = call.names(columns), *call.along_reference
        entries = reference_motion.reference_entries(call.tree, state.q, state.qd, qdr, state.qdd, frozenset(names))
        for column in effects.effect_columns(call.tree, state, frozenset(names)):
            full = full_name(column.symbol, column.joint + 1)
            entries |= {(6 * call.robot.is_floating + c, full): entry for c, entry in column.efforts.items()}
        return call.table(call.closed.entries(entries), names)


def inverse_dynamics_derivatives(
    robot: RobotLike,
    q: Values,
    qd: Values,
    qdd: Values,
    *,
    parameters: Parameters | None = None,
    temperature: Values | None = None,
) -> tuple[Any, Any, Any]:
    """Derivatives of efforts with respect to q, qd and qdd, each (N, n, n); zero for Coulomb friction.

    For the pose of a floating base, q stands for small motions along and about its own axes, in the order
    of its velocities.
    """
    with np.errstate(all="ignore"):
        call = Call(robot, parameters, q=q, qd=qd, qdd=qdd, temperature=temperature)
        found = projected_inverse_slopes(call.closed, call.chi, call.velocities, call.temperature)
        return call.matrix(found.dq), call.matrix(found.dqd), call.matrix(found.dqdd)


def forward_dynamics_derivatives(
    robot: RobotLike,
    q: Values,
    qd: Values,
    tau: Values,
    *,
    parameters: Parameters | None = None,
    temperature: Values | None = None,
) -> tuple[Any, Any, Any]:
    """Derivatives of accelerations with respect to q, qd and tau, each (N, n, n).

    For the derivatives with respect to q see `inverse_dynamics_derivatives`.
    """
    with np.errstate(all="ignore"):
        call = Call(robot, parameters, q=q, qd=qd, tau=tau, temperature=temperature)
        qdd = forward.projected_dynamics(call.closed, call.chi, call.tau, call.temperature)
        D = compound.mass_matrix(call.tree, call.chi, call.state.q)
        given = (call.closed.accelerated(qdd), call.chi, call.velocities, call.temperature, D)
        found = projected_forward_slopes(*given)
        return call.matrix(found.dq), call.matrix(found.dqd), call.matrix(found.dtau)


def momentum_regressor(
    robot: RobotLike, q: Values, qd: Values, *, columns: Sequence[str] | None = None
) -> tuple[Any, Any]:
    """Momentum regressors Yp and Yc, each (N, n, columns), with tau = d/dt (Yp X) + Yc X (theory, eq. 34).

    No accelerations are needed.
    """
    with np.errstate(all="ignore"):
        call = Call(robot, (), q=q, qd=qd)
        names = call.names(columns)
        found = energy.momentum_entries(call.tree, call.state.q, call.state.qd, frozenset(names))
        return tuple(call.table(entries, names) for entries in projected_momentum(call.closed, *found, call.velocities))


def power_regressor(
    robot: RobotLike, q: Values, qd: Values, *, columns: Sequence[str] | None = None
) -> tuple[Any, Any]:
    """Power regressors E and P, each (N, columns), with tau . qd = d/dt (E X) + P X (theory, eq. 35).

    There is one row per sample, and no accelerations are needed.
    """
    with np.errstate(all="ignore"):
        call = Call(robot, (), q=q, qd=qd)
        names = call.names(columns)
        found = energy.power_entries(call.tree, call.state.q, call.state.qd, frozenset(names))
        stored, power = (call.table(entries, names) for entries in found)
        return (stored, power) if call.symbolic else (stored[..., 0, :], power[..., 0, :])


def actuation_matrix(robot: RobotLike, q: ArrayLike) -> Array:
    """Actuation Jacobian G_m, shape (N, motors, n): motor joint velocities = G_m qd, efforts = G_m' tau_m.

    The joints with motors are `robot.actuated`: the coordinates, and driven passive joints.  With more motors than
    coordinates many tau_m give the same efforts: internal loads of the loops cause no motion.
    """
    call = Call(robot, (), q=q)
    first = 6 * call.robot.is_floating
    shares = [{first + c: ratio for c, ratio in call.tree.shares(j)} for j in call.robot.actuated]
    rows = [[own.get(c, 0) for c in range(call.tree.n_velocity)] for own in shares]
    return np.asarray(call.matrix(call.closed.columns(rows)))


def coordinate_efforts(robot: RobotLike, q: ArrayLike, motor_efforts: ArrayLike) -> Array:
    """Efforts of the coordinates (N, n) from those of all joints with motors (N, motors): G_m' tau_m."""
    robot = as_robot(robot)
    G = actuation_matrix(robot, q)
    names = ", ".join(robot.joints[j].name for j in robot.actuated)
    given = samples_of(robot, f"motor_efforts (of {names})", motor_efforts, len(robot.actuated))
    if given.shape != G.shape[:-1]:
        raise ShapeError(f"motor_efforts have shape {given.shape}, but q requires {G.shape[:-1]}")
    return np.asarray(np.einsum("...mk,...m->...k", G, given))


def passive_start(robot: RobotLike, q: ArrayLike | None = None) -> Array:
    """Positions of the passive joints without a closed form, shape (N, passive): input `passive` of programs.

    q (N, n): positions of the robot's coordinates, reached from its seed on its branch; None for the seed
    itself.
    """
    robot = as_robot(robot)
    given = None if q is None else samples_of(robot, "q", q, robot.n_position)
    if not robot.open_cuts:
        return np.zeros((*given.shape[:-1], 0) if given is not None else (0,))
    closing = closing_of(robot.numeric)
    if given is None:
        return np.asarray(closing.seed[closing.iterated])
    flat = given.reshape(-1, robot.n_position)[:, 7 * robot.is_floating :]
    found = closing.close(flat)[:, closing.iterated]
    return np.asarray(found.reshape(*given.shape[:-1], len(closing.iterated)))

"""Programs of control and optimal control: Coriolis matrix, Slotine-Li, first derivatives, wrenches, Jacobians."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minertia.algebra.matrix import summed
from minertia.algebra.scalar import Scalar
from minertia.codegen.draft import ACCELERATION, EFFORT, Built, Draft, combined, flat
from minertia.codegen.program import Port
from minertia.dynamics.compound import Matrix
from minertia.dynamics.derivatives import coriolis_matrix
from minertia.dynamics.effects import effect_columns, effect_torques
from minertia.dynamics.frame import AppliedWrench, applied, frame_pose, jacobian
from minertia.dynamics.loops.projection import projected_coriolis
from minertia.dynamics.reference_motion import reference_entries, reference_torques
from minertia.dynamics.regressor import Entries
from minertia.dynamics.sensitivity import projected_forward_slopes, projected_inverse_slopes
from minertia.robot.parameters import full_name

REFERENCE = "reference velocities [rad/s, m/s]"
REFERENCE_RATE = "their rates [rad/s2, m/s2]"


def reference_ports(d: Draft) -> tuple[Port, Port]:
    """Ports of the reference velocities and accelerations."""
    return Port("qdr", d.qd_port.shape, REFERENCE), Port("qddr", d.qd_port.shape, REFERENCE_RATE)


def _coriolis(d: Draft) -> Built:
    chi, qd = d.chi(), d.read(d.qd_port)
    closed = d.closed(qd, d.rest)
    C = projected_coriolis(closed, chi, coriolis_matrix(closed.tree, chi, closed.state.q, closed.state.qd), qd)
    port = Port("C", (len(C), len(C)), "Coriolis matrix: C qd = h, and D' - 2 C is skew [kg m2/s, kg m/s, kg/s]")
    return [d.q_port, d.qd_port], [port], flat(C)


def _slotine_li(d: Draft) -> Built:
    chi, qd = d.chi(), d.read(d.qd_port)
    v_port, a_port = reference_ports(d)
    closed = d.closed(qd, d.read(a_port))
    state, qdr = closed.along_reference(qd, d.read(v_port))
    rigid = reference_torques(closed.tree, chi, state.q, state.qd, qdr, state.qdd)
    more = effect_torques(closed.tree, chi, state, rigid, closed.of_active(d.warmth))
    tau = d.at_motors(closed.efforts(summed(rigid, more)))
    text = f"{EFFORT}: D qddr + C(q, qd) qdr + g, rotors at qddr, friction at qd"
    return [d.q_port, d.qd_port, v_port, a_port, *d.warmth_ports], [Port("tau", (len(tau),), text)], tau


def reference_rows(d: Draft) -> list[list[Scalar]]:
    """Y(q, qd, qdr, qddr) of the base parameters, row by row."""
    qd = d.read(d.qd_port)
    v_port, a_port = reference_ports(d)
    wanted = frozenset(d.setting.base.kept)
    closed = d.closed(qd, d.read(a_port))
    state, qdr = closed.along_reference(qd, d.read(v_port))
    entries = reference_entries(closed.tree, state.q, state.qd, qdr, state.qdd, wanted)
    for column in effect_columns(closed.tree, state, wanted):
        name = full_name(column.symbol, column.joint + 1)
        entries |= {(6 * d.robot.is_floating + c, name): entry for c, entry in column.efforts.items()}
    return base_rows(d, closed.entries(entries), d.robot.n_velocity)


def base_rows(d: Draft, entries: Entries, rows: int) -> list[list[Scalar]]:
    """Regressor rows of the base parameters, from the entries of the independent columns."""
    base = d.setting.base
    mixing: Any = np.linalg.inv(base.K[:, base.kept_indices])
    own = [[entries.get((i, name), 0) for name in base.kept] for i in range(rows)]
    return [[combined(row, mixing[:, c]) for c in d.setting.essential_rows] for row in own]


def _slotine_li_regressor(d: Draft) -> Built:
    rows = reference_rows(d)
    port = Port("Y", (len(rows), len(rows[0])), "efforts along the reference for unit base parameters")
    return [d.q_port, d.qd_port, *reference_ports(d)], [port], flat(rows)


def _inverse_derivatives(d: Draft) -> Built:
    chi, qd = d.chi(), d.read(d.qd_port)
    closed = d.closed(qd, d.read(d.qdd_port))
    found = projected_inverse_slopes(closed, chi, qd, closed.of_active(d.warmth), d.tree_mass(chi))
    ports = [_square(f"dtau_{by}", d, f"derivatives of tau by {by}") for by in ("dq", "dqd", "dqdd")]
    return [d.q_port, d.qd_port, d.qdd_port, *d.warmth_ports], ports, _all(found)


def _forward_derivatives(d: Draft) -> Built:
    n, chi, qd = d.robot.n_velocity, d.chi(), d.read(d.qd_port)
    tau_port = Port("tau", (n,), EFFORT)
    qdd = d.accelerations(chi, qd, d.read(tau_port), d.torques(chi, qd, d.rest))
    closed = d.closed(qd, qdd)
    found = projected_forward_slopes(closed, chi, qd, closed.of_active(d.warmth), d.tree_mass(chi))
    ports = [_square(f"dqdd_{by}", d, f"derivatives of qdd by {by}") for by in ("dq", "dqd", "dtau")]
    return [d.q_port, d.qd_port, tau_port, *d.warmth_ports], ports, _all(found)


def _square(name: str, d: Draft, text: str) -> Port:
    text += ", one row for each effort or acceleration"
    if d.robot.is_floating and name.endswith("dq"):
        text += "; the first six columns: the base moved along and turned about its own axes"
    return Port(name, (d.robot.n_velocity, d.robot.n_velocity), text)


def _all(matrices: tuple[Matrix, ...]) -> list[Scalar]:
    return [entry for matrix in matrices for entry in flat(matrix)]


MOTION_BUILDERS: dict[str, Callable[[Draft], Built]] = {
    "coriolis_matrix": _coriolis,
    "slotine_li": _slotine_li,
    "slotine_li_regressor": _slotine_li_regressor,
    "inverse_dynamics_derivatives": _inverse_derivatives,
    "forward_dynamics_derivatives": _forward_derivatives,
}


# ----------------------------------------------------------------------------------------------------- a chosen frame


def _place(d: Draft) -> str:
    chosen = d.setting.frame
    axes = "axes of the world" if chosen.axes == "world" else "its own axes"
    return f"frame {chosen.of(d.setting.robot)}, {axes}"


def _wrench(d: Draft) -> tuple[Port, AppliedWrench]:
    text = f"force [N] and moment [N m] that the surroundings exert on the robot at the origin of the {_place(d)}"
    port = Port("wrench", (6,), text)
    closed = d.closed(d.rest, d.rest)
    return port, applied(closed.tree, closed.state.q, d.frame, d.setting.frame.axes, d.read(port))


def _inverse_dynamics_wrench(d: Draft) -> Built:
    chi, qd, qdd = d.chi(), d.read(d.qd_port), d.read(d.qdd_port)
    port, outside = _wrench(d)
    rigid = d.torques(chi, qd, qdd, outside=outside)
    tau = d.at_motors(summed(rigid, d.effects(chi, qd, qdd, rigid)))
    return [d.q_port, d.qd_port, d.qdd_port, port, *d.warmth_ports], [Port("tau", (len(tau),), EFFORT)], tau


def _forward_dynamics_wrench(d: Draft) -> Built:
    n, chi, qd = d.robot.n_velocity, d.chi(), d.read(d.qd_port)
    tau_port = Port("tau", (n,), EFFORT)
    port, outside = _wrench(d)
    qdd = d.accelerations(chi, qd, d.read(tau_port), d.torques(chi, qd, d.rest, outside=outside))
    return [d.q_port, d.qd_port, tau_port, port, *d.warmth_ports], [Port("qdd", (n,), ACCELERATION)], qdd


def _jacobian(d: Draft) -> Built:
    closed = d.closed(d.rest, d.rest)
    J = closed.columns(jacobian(closed.tree, closed.state.q, d.frame, d.setting.frame.axes))
    text = f"velocity of the origin, then angular velocity, of the {_place(d)}, for unit joint velocities"
    return [d.q_port], [Port("J", (6, d.robot.n_velocity), text)], flat(J)


def _forward_kinematics(d: Draft) -> Built:
    closed = d.closed(d.rest, d.rest)
    R, p = frame_pose(closed.tree, closed.state.q, d.frame)
    name = d.setting.frame.of(d.setting.robot)
    ports = [
        Port("R", (3, 3), f"rotation from the axes of frame {name} to those of the world"),
        Port("p", (3,), f"position of the origin of frame {name} in the world [m]"),
    ]
    outputs: list[Scalar] = [*flat(R), *p]
    return [d.q_port], ports, outputs


FRAME_BUILDERS: dict[str, Callable[[Draft], Built]] = {
    "inverse_dynamics_wrench": _inverse_dynamics_wrench,
    "forward_dynamics_wrench": _forward_dynamics_wrench,
    "jacobian": _jacobian,
    "forward_kinematics": _forward_kinematics,
}

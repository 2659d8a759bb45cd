"""Programs of control and optimal control: Coriolis matrix, Slotine-Li efforts and regressor, first derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minertia.algebra.matrix import summed
from minertia.algebra.scalar import Scalar
from minertia.codegen.draft import EFFORT, Built, Draft, combined, flat
from minertia.codegen.program import Port
from minertia.dynamics.compound import Matrix
from minertia.dynamics.derivatives import coriolis_matrix
from minertia.dynamics.effects import effect_columns, effect_torques
from minertia.dynamics.projection import projected_coriolis
from minertia.dynamics.reference_motion import reference_entries, reference_torques
from minertia.dynamics.regressor import Entries
from minertia.dynamics.sensitivity import projected_forward_slopes, projected_inverse_slopes
from minertia.robot.parameters import full_name

REFERENCE = "reference velocities [rad/s, m/s]"
REFERENCE_RATE = "their rates [rad/s2, m/s2]"


def reference_ports(d: Draft) -> tuple[Port, Port]:
    """The reference velocities and their rates."""
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
    """Rows of the base parameters from entries of the independent columns."""
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

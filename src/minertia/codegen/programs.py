"""Program builders: each runs a recursion on expressions and defines the inputs and outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minertia.algebra.expr import Expr
from minertia.algebra.matrix import inner, summed
from minertia.algebra.scalar import Scalar
from minertia.algebra.vec3 import ZERO
from minertia.codegen.adaptive_programs import ADAPTIVE_BUILDERS
from minertia.codegen.calibrated_programs import CALIBRATED_BUILDERS
from minertia.codegen.draft import ACCELERATION, EFFORT, HOLDING, Built, Draft, flat
from minertia.codegen.elastic_programs import ELASTIC_BUILDERS
from minertia.codegen.motion_programs import FRAME_BUILDERS, MOTION_BUILDERS, base_rows
from minertia.codegen.program import Port, Program
from minertia.codegen.setting import Representative, Setting
from minertia.codegen.signal_programs import SIGNAL_BUILDERS
from minertia.codegen.tail import RootUpdate
from minertia.dynamics.kinematics import structural_gravity
from minertia.dynamics.reference_motion import expect_fixed_base
from minertia.dynamics.regressor import regressor_entries
from minertia.io.errors import UnknownName


def _inverse_dynamics(d: Draft) -> Built:
    combinations, chi = d.setting.enter_combinations(d.graph) if d.setting.is_composite else (None, d.chi())
    qd, qdd = d.read(d.qd_port), d.read(d.qdd_port)
    rigid = d.torques(chi, qd, qdd) if combinations is None else d.composite_torques(combinations, qd, qdd)
    tau = d.at_motors(summed(rigid, d.effects(chi, qd, qdd, rigid)))
    return [d.q_port, d.qd_port, d.qdd_port, *d.warmth_ports], [Port("tau", (len(tau),), EFFORT)], tau


def _gravity(d: Draft) -> Built:
    g = _holding(d, d.chi())
    return [d.q_port], [Port("g", (len(g),), HOLDING)], g


def _holding(d: Draft, chi: Any) -> list[Scalar]:
    """Gravity efforts g: from compound links, or for robots with loops by the recursion at rest.

    Compound links need about a fifth fewer operations.
    """
    if d.robot.open_cuts:
        return d.torques(chi, d.rest, d.rest)
    return d.coefficients(chi).gravity(structural_gravity(d.robot.gravity))


def _velocity_torque(d: Draft) -> Built:
    tau = d.torques(d.chi(), d.read(d.qd_port), d.rest, ZERO)
    return [d.q_port, d.qd_port], [Port("h", (len(tau),), "centrifugal and Coriolis efforts [N m, N]")], tau


def _friction(d: Draft) -> Built:
    """Program of friction, springs and offsets alone; zeros if these are excluded."""
    chi, qd, qdd, rigid = d.setting.friction_values(d.chi()), d.read(d.qd_port), d.rest, d.rest
    if "qdd" in d.setting.friction_inputs:
        qdd = d.read(d.qdd_port)
        rigid = d.torques(chi, qd, qdd)
    f = d.effects(chi, qd, qdd, rigid, rotors=False)
    state = [port for port in (d.q_port, d.qd_port, d.qdd_port) if port.name in d.setting.friction_inputs]
    return [*state, *d.warmth_ports], [Port("f", (len(f),), "efforts of friction, springs and offsets [N m, N]")], f


def _mass_matrix(d: Draft) -> Built:
    D = d.mass(d.chi())
    return [d.q_port], [_mass_port(len(D))], flat(D)


def _coefficients(d: Draft) -> Built:
    """Program of D and g alone; Izaguirre counts their operations separately from the velocity-dependent efforts."""
    chi = d.chi()
    D = d.mass(chi)
    g = _holding(d, chi)
    return [d.q_port], [_mass_port(len(D)), Port("g", (len(g),), HOLDING)], [*flat(D), *g]


def _background(d: Draft) -> Built:
    chi = d.chi()
    D = d.mass(chi)
    bias = d.torques(chi, d.read(d.qd_port), d.rest)
    port = Port("b", (len(D),), "velocity and gravity efforts h + g [N m, N]")
    return [d.q_port, d.qd_port], [_mass_port(len(D)), port], [*flat(D), *bias]


def _background_parts(d: Draft) -> Built:
    _, ports, outputs = _coefficients(d)
    _, (h_port,), h = _velocity_torque(d)
    return [d.q_port, d.qd_port], [*ports, h_port], [*outputs, *h]


def _synchronous(d: Draft) -> Built:
    n = d.robot.n_velocity
    D_port, b_port = _mass_port(n), Port("b", (n,), "velocity and gravity efforts, from the background task")
    D, b, qdd = d.read(D_port), d.read(b_port), d.read(d.qdd_port)
    tau: list[Scalar] = [inner(D[n * i : n * i + n], qdd, b[i]) for i in range(n)]
    inputs = [D_port, b_port, d.qdd_port]
    if d.setting.friction:
        inputs += [d.qd_port, *d.place_ports, *d.warmth_ports]
        tau = summed(tau, d.effects(d.chi(), d.read(d.qd_port), d.rest, tau))
    return inputs, [Port("tau", (n,), EFFORT)], d.at_motors(tau)


def _forward_dynamics(d: Draft) -> Built:
    n, chi, qd = d.robot.n_velocity, d.chi(), d.read(d.qd_port)
    tau_port = Port("tau", (n,), EFFORT)
    qdd = d.accelerations(chi, qd, d.read(tau_port), d.torques(chi, qd, d.rest))
    return [d.q_port, d.qd_port, tau_port, *d.warmth_ports], [Port("qdd", (n,), ACCELERATION)], qdd


def regressor_rows(d: Draft) -> list[list[Scalar]]:
    """Regressor Y of the base parameters (or of the essential ones), by rows; int 0 for structural zeros."""
    closed = d.closed(d.read(d.qd_port), d.read(d.qdd_port))
    entries = regressor_entries(closed.tree, closed.state, frozenset(d.setting.base.kept))
    return base_rows(d, closed.entries(entries), d.robot.n_velocity)


def _base_regressor(d: Draft) -> Built:
    rows = regressor_rows(d)
    shape = (len(rows), len(rows[0]))
    return [d.q_port, d.qd_port, d.qdd_port], [Port("Y", shape, "efforts for unit base parameters")], flat(rows)


def _base_regressor_entries(d: Draft) -> Built:
    entries = [entry for row in regressor_rows(d) for entry in row if not _is_number(entry, 0)]
    port = Port("Y", (len(entries),), "non-zero entries of the regressor, row by row")
    return [d.q_port, d.qd_port, d.qdd_port], [port], entries


def _recursive_update(d: Draft) -> Built:
    rows = regressor_rows(d)
    n, p = len(rows), len(rows[0])
    tau, forget = Port("tau", (n,), EFFORT), Port("forgetting", (1,), "forgetting factor, 0 to 1")
    beta, factor = Port("beta", (p,), "base parameters"), Port("S", (p * (p + 1) // 2,), _FACTOR)
    inputs = [d.q_port, d.qd_port, d.qdd_port, tau, forget, beta, factor]
    return inputs, [Port("beta_next", beta.shape, beta.meaning), Port("S_next", factor.shape, _FACTOR)], flat(rows)


_FACTOR = "upper triangle, row by row, of S with covariance S S'"


def _tail(draft: Draft) -> RootUpdate:
    rows = regressor_rows(draft)
    first = tuple(next((c for c, entry in enumerate(row) if not _is_number(entry, 0)), len(row) - 1) for row in rows)
    return RootUpdate(len(rows), len(rows[0]), first)


_RECURSIONS: dict[str, Callable[[Draft], Built]] = {
    "inverse_dynamics": _inverse_dynamics,
    "background": _background,
    "background_parts": _background_parts,
    "synchronous": _synchronous,
    "coefficients": _coefficients,
    "gravity": _gravity,
    "mass_matrix": _mass_matrix,
    "velocity_torque": _velocity_torque,
    "friction": _friction,
    "base_regressor": _base_regressor,
    "base_regressor_entries": _base_regressor_entries,
    "forward_dynamics": _forward_dynamics,
    "recursive_update": _recursive_update,
}
BUILDERS: dict[str, Callable[[Draft], Built]] = {
    **_RECURSIONS,
    **FRAME_BUILDERS,
    **MOTION_BUILDERS,
    **SIGNAL_BUILDERS,
    **ADAPTIVE_BUILDERS,
    **ELASTIC_BUILDERS,
    **CALIBRATED_BUILDERS,
}
# programs for robots that stand on the ground and have no loops
ON_TREES = frozenset({"watch_terms", *ELASTIC_BUILDERS, *CALIBRATED_BUILDERS})


def build(
    setting: Setting, name: str, representative: Representative | None = None, *, thorough: bool | None = True
) -> Program:
    """Build a program of `BUILDERS`; thorough: effort of operation reduction (None: none)."""
    if name not in BUILDERS:
        raise UnknownName("program", name, BUILDERS)
    if name in ON_TREES:
        setting.robot.require_tree(f"the program '{name}'")
        expect_fixed_base(setting.robot, f"the program '{name}'")
    draft = Draft(setting, representative)
    inputs, ports, outputs = BUILDERS[name](draft)
    used = _used_inputs(draft, outputs)
    if draft.passive_port.name in used:
        more, last = draft.closing_outputs()
        inputs, ports, outputs = [*inputs, draft.passive_port], [*ports, *more], [*outputs, *last]
    parameters = [port for port in setting.ports if port.name in used]
    program = Program(
        name=name,
        graph=draft.graph,
        inputs=(*inputs, *parameters),
        ports=tuple(ports),
        outputs=tuple(output if isinstance(output, Expr) else float(output) for output in outputs),
        parameters=tuple(port.name for port in parameters),
        joints=setting.robot.coordinate_names,
        **_shape_of(draft, name),
    )
    return program if thorough is None else program.simplified(thorough=thorough)


def _used_inputs(draft: Draft, outputs: Sequence[Scalar]) -> set[str]:
    nodes = draft.graph.needed([o for o in outputs if isinstance(o, Expr)])
    return {draft.graph.nodes[k][1].split("[")[0] for k in nodes if draft.graph.nodes[k][0] == "var"}


def _shape_of(draft: Draft, name: str) -> dict[str, Any]:
    """Names of the columns, and the sparsity pattern of a matrix output."""
    if not name.startswith("recursive") and "regressor" not in name:
        return {"columns": draft.setting.names}
    base = draft.setting.base
    columns = tuple(base.names[k] for k in draft.setting.essential_rows)
    if name != "base_regressor_entries":
        tail = {"tail": _tail(draft)} if name == "recursive_update" else {}
        return {"columns": columns, "shape": (draft.robot.n_velocity, len(columns)), **tail}
    rows = regressor_rows(draft)
    pattern = tuple((i, c) for i, row in enumerate(rows) for c, entry in enumerate(row) if not _is_number(entry, 0))
    return {"columns": columns, "shape": (len(rows), len(columns)), "pattern": pattern}


def _is_number(entry: Scalar, number: float) -> bool:
    value = entry.value if isinstance(entry, Expr) else entry
    return value is not None and bool(value == number)


def _mass_port(n: int) -> Port:
    return Port("D", (n, n), "mass matrix [kg m2, kg m, kg]")

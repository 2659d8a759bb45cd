"""Robot with closed kinematic chains that stay exactly closed, simulated by minertia's own forward dynamics.

MuJoCo closes loops by soft constraints, whose compliance is far larger than the effects that identification
resolves.  Here the state consists of the coordinates, so no loop can open (theory, eq. 39); dry friction
holds joints at rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from minertia.algebra.expr import Expr, Graph
from minertia.algebra.scalar import mul, total
from minertia.codegen.kernels.kernel import compile_function
from minertia.codegen.program import Port, Program
from minertia.dynamics import model as dynamics
from minertia.dynamics.kinematics import State, joint_positions, joint_rates
from minertia.dynamics.loops.projection import project
from minertia.io.errors import InputError
from minertia.robot.effect import JointState
from minertia.robot.effects import BY_SYMBOL, EFFECT_SYMBOLS
from minertia.robot.robot import Robot
from minertia.simulation.arm import GRIP, RUNAWAY, ActingEffect, Array, More, SimulatedArm, acting_effects
from minertia.simulation.passive_joints import passive_joints

PASSES = 3  # to find the middle of a step
SWEEPS = 100  # over the joints that rub, to find what holds still
SETTLED = 1e-12  # part of a joint's largest friction


class ClosedArm:
    """One robot with closed kinematic chains; h: step [s].

    Efforts are held over a step; the integrator is the implicit midpoint rule, of second order.  Dry friction of the
    effect table holds joints at rest.
    """

    def __init__(self, robot: Robot, h: float, more: More, temperature: Array | None) -> None:
        self.robot, self.h = robot.numeric, h
        acting = [acting_effects(self.robot, j, values, more) for j, values in enumerate(self.robot.effects)]
        for j, effects in enumerate(acting):
            _require_simulable(robot, j, effects)
        self.position, self.velocity = np.zeros(robot.n), np.zeros(robot.n)
        self.passive = passive_joints(self.robot)
        dry = {j: own for j, effects in enumerate(acting) if (own := [e for e in effects if e.row.is_dry])}
        self.function = compile_function(_program(self.robot, 0 if self.passive is None else self.passive.count, dry))

    # ------------------------------------------------------------------ state

    def place(self, q: Array, qd: Array) -> None:
        """Set the state of the robot."""
        self.position, self.velocity = np.array(q, float), np.array(qd, float)

    def go_on_from(self, other: SimulatedArm) -> None:
        """Take over the state of the same robot with other parameters."""
        self.place(other.q, other.qd)

    @property
    def q(self) -> Array:
        """True positions of the coordinates."""
        return self.position.copy()

    @property
    def qd(self) -> Array:
        """True velocities of the coordinates."""
        return self.velocity.copy()

    def acceleration(self, tau: ArrayLike) -> Array:
        """Accelerations of the coordinates at the current state under efforts, without dry friction."""
        D, bias, *_ = self._dynamics(self.position, self.velocity)
        return np.asarray(np.linalg.solve(D, np.asarray(tau, float) - bias))

    def step(self, tau: Array, outside: Array | None) -> None:
        """Apply efforts for one step; outside: external efforts."""
        if np.abs(self.velocity).max(initial=0.0) > RUNAWAY:
            return  # out of control already
        begun = now = self.velocity
        pushed = tau if outside is None else tau + outside
        for _ in range(PASSES):
            found = self._pushed(self.position + 0.5 * self.h * now, now, pushed)
            if not np.all(np.isfinite(found)):  # a loop past its reach: out of control, which ends the run
                self.velocity = np.full(self.robot.n, 2 * RUNAWAY)
                return
            now = 0.5 * (begun + found)
        self.velocity = found
        self.position = self.position + self.h * now

    def grip(self) -> tuple[Array, Array, Array]:
        """Position and velocity of the point `GRIP` of the tip's link, and its Jacobian (3, n)."""
        R, p = dynamics.forward_kinematics(self.robot, self.position)
        J = np.asarray(dynamics.jacobian(self.robot, self.position))
        arm = np.asarray(R) @ np.array(GRIP)
        jacobian = np.asarray(J[:3] + np.cross(J[3:].T, arm).T)
        return np.asarray(p + arm), np.asarray(jacobian @ self.velocity), jacobian

    def on_coordinates(self, jacobian: Array) -> Array:
        """Jacobian of `grip`, which is with respect to the coordinates already."""
        return jacobian

    def _pushed(self, q: Array, qd: Array, tau: Array) -> Array:
        """Velocities after a step with this midpoint position and velocity."""
        D, bias, J, up, down = self._dynamics(q, qd)
        if not np.all(np.isfinite(D)):
            return np.full(self.robot.n, np.nan)
        inverse = np.linalg.inv(D)
        free = self.velocity + self.h * inverse @ (tau - bias)
        bounds = self.h * np.maximum(up, 0.0), self.h * np.maximum(down, 0.0)
        return np.asarray(free + inverse @ J.T @ _held(J @ free, J @ inverse @ J.T, bounds))

    def _dynamics(self, q: Array, qd: Array) -> tuple[Array, ...]:
        """Mass matrix, bias efforts, Jacobian of the joints with dry friction, and friction bounds."""
        found = self.function(q if self.passive is None else self.passive(q), qd)
        return found if len(found) == 5 else (*found, np.zeros((0, self.robot.n)), np.zeros(0), np.zeros(0))


def _require_simulable(robot: Robot, j: int, effects: Sequence[ActingEffect]) -> None:
    """Raise an error for effects that this integrator does not support, or that are too stiff for it."""
    for row, *_ in effects:
        is_steep = row.is_bounded and not row.is_dry and "qd" in row.inputs
        if is_steep or {"load", "temperature"} & {*row.inputs}:
            raise InputError(
                f"the simulation of closed loops does not support {row.meaning.split(',')[0]} yet "
                f"({row.name}{j + 1} of '{robot.name}'); rehearse without it"
            )


def _held(rates: Array, A: Array, bounds: tuple[Array, Array]) -> Array:
    """Impulses of dry friction that bring rates + A impulses as close to zero as possible.

    bounds: largest impulses against forward and backward motion.
    """
    up, down = bounds
    impulses = np.where(rates > 0, -up, np.where(rates < 0, down, 0.0))
    if np.all(np.sign(rates + A @ impulses) == np.sign(rates)):  # everything goes on moving
        return np.asarray(impulses)
    for _ in range(SWEEPS):
        before = impulses.copy()
        for k in range(len(rates)):
            wanted = impulses[k] - (rates[k] + A[k] @ impulses) / A[k, k]
            impulses[k] = min(max(wanted, -up[k]), down[k])
        if np.all(np.abs(impulses - before) <= SETTLED * np.maximum(up, down)):
            break
    return np.asarray(impulses)


def _program(robot: Robot, passive: int, dry: Mapping[int, Sequence[ActingEffect]]) -> Program:
    """Program from (q, qd) to mass matrix with rotors, bias efforts without dry friction, and dry friction data.

    passive: number of passive joints without a closed form, which follow the coordinates in q.  dry: dry-friction
    effects by joint.
    """
    graph, n = Graph(), robot.n
    q, qd = graph.variables("q", n + passive), graph.variables("qd", n)
    rubbing = {s for s in EFFECT_SYMBOLS if BY_SYMBOL[s].is_dry}
    smooth = [{s: v for s, v in x.items() if s not in rubbing} for x in robot.parameters()]
    bias = dynamics.inverse_dynamics(robot, q, qd, [0] * n, parameters=smooth)
    D = dynamics.mass_matrix(robot, q)
    rows, up, down = _rubbing(robot, q, qd, dry)
    outputs = [*(e for row in D for e in row), *bias, *(e for row in rows for e in row), *up, *down]
    ports = [Port("D", (n, n)), Port("bias", (n,))]
    if rows:
        ports += [Port("J", (len(rows), n)), Port("up", (len(rows),)), Port("down", (len(rows),))]
    flat = tuple(_scalar(e) for e in outputs)
    return Program("plant", graph, (Port("q", (n + passive,)), Port("qd", (n,))), tuple(ports), flat)


def _rubbing(
    robot: Robot, q: list[Expr], qd: list[Expr], dry: Mapping[int, Sequence[ActingEffect]]
) -> tuple[list[list[Any]], list[Any], list[Any]]:
    """Jacobian of the joints with dry friction with respect to the coordinates, and their friction bounds.

    The bounds are those in forward and in backward motion.
    """
    if not dry:
        return [], [], []
    units = [[int(i == k) for i in range(robot.n)] for k in range(robot.n)]
    closed = project(robot, State(q, qd, [0] * robot.n))
    columns = [closed.rates(unit) for unit in units]
    rows = [[closed.tree.joint_rate(j, column) for column in columns] for j in dry]
    places, rates = joint_positions(closed.tree, closed.state.q), joint_rates(closed.tree, closed.state.qd)

    def bound(j: int, sliding: int) -> Any:
        state = JointState(places[j], rates[j], 0, sliding=sliding)
        return total(*(mul(sliding * e.value, e.row.shape(state, e.constants)) for e in dry[j]))

    return rows, [bound(j, 1) for j in dry], [bound(j, -1) for j in dry]


def _scalar(value: Any) -> Any:
    return value if isinstance(value, Expr) else float(value)

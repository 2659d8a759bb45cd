"""A robot with closed loops that stay closed exactly: simulated by the package's own forward dynamics.

MuJoCo closes loops by soft constraints, whose give is far larger than what identification looks for.  Here the state is
that of the coordinates, so no loop can open (theory, eq. 39); dry friction holds still what stands still.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minertia.algebra.expr import Expr, Graph
from minertia.codegen.kernels.kernel import compile_function
from minertia.codegen.program import Port, Program
from minertia.dynamics import model as dynamics
from minertia.dynamics.kinematics import State
from minertia.dynamics.projection import project
from minertia.errors import InputError, ShapeError
from minertia.robot.effects import BY_SYMBOL
from minertia.robot.robot import Robot
from minertia.validation.passive_joints import passive_joints
from minertia.validation.plant import GRIP, RUNAWAY, Plant

Array = NDArray[np.float64]
DRY = "FC"
PASSES = 3  # to find the middle of a step
SWEEPS = 100  # over the joints that rub, to find what holds still
SETTLED = 1e-12  # part of a joint's largest friction


class ClosedPlant(Plant):
    """One robot with closed loops.

    Efforts are held over a period; the integrator is the implicit midpoint rule, of second order.
    """

    def _prepare(self, robot: Robot) -> None:
        for j, values in enumerate(robot.effects):
            for symbol, value in values.items():
                effect = BY_SYMBOL[symbol]
                reads = {*effect.inputs}
                jumps = effect.is_bounded and "qd" in reads
                if value and symbol != DRY and (jumps or reads & {"load", "temperature"}):
                    raise InputError(
                        f"a plant with closed loops has no {effect.meaning.split(',')[0]} ({symbol}{j + 1} of "
                        f"'{robot.name}') yet; rehearse without it"
                    )

    def _install(self, robot: Robot) -> None:
        """Compile the dynamics of a robot; a state already reached is kept."""
        self.robot = robot.numeric
        self.position = getattr(self, "position", np.zeros(robot.n))
        self.velocity = getattr(self, "velocity", np.zeros(robot.n))
        self.passive = passive_joints(self.robot)
        self.function = compile_function(_program(self.robot, 0 if self.passive is None else self.passive.count))
        self.none: Array = np.zeros((0, robot.n))
        self.dry = np.array([values[DRY] for values in self.robot.effects if values.get(DRY)])

    # ------------------------------------------------------------------ state

    def place(self, q: ArrayLike, qd: ArrayLike | None = None) -> None:
        """Put the robot into a state at time 0."""
        self.position = np.array(q, float)
        if self.position.shape != (self.robot.n,):
            shape = self.position.shape
            raise ShapeError(f"a posture of '{self.robot.name}' has {self.robot.n} numbers, not shape {shape}")
        self.velocity = np.zeros(self.robot.n) if qd is None else np.array(qd, float)

    @property
    def q(self) -> Array:
        """True positions of the coordinates."""
        return self.position.copy()

    @property
    def qd(self) -> Array:
        """True velocities of the coordinates."""
        return self.velocity.copy()

    def acceleration(self, tau: ArrayLike) -> Array:
        """Accelerations of the coordinates at the state under efforts, without dry friction."""
        D, bias, _ = self._dynamics(self.position, self.velocity)
        return np.asarray(np.linalg.solve(D, np.asarray(tau, float) - bias))

    def step(self, tau: Array) -> None:
        """Apply efforts for one period."""
        h = self.period / self.substeps
        for _ in range(self.substeps):
            begun = now = self.velocity
            for _ in range(PASSES):
                found = self._pushed(self.position + 0.5 * h * now, now, np.asarray(tau, float), h)
                if not np.all(np.isfinite(found)):  # a loop past its reach: out of control, which ends the run
                    self.velocity = np.full(self.robot.n, 2 * RUNAWAY)
                    return
                now = 0.5 * (begun + found)
            self.velocity = found
            self.position = self.position + h * now

    def grip(self) -> tuple[Array, Array, Array]:
        """Position and velocity of the point `GRIP` of the tip's link, and its Jacobian (3, n)."""
        R, p = dynamics.forward_kinematics(self.robot, self.position)
        J = np.asarray(dynamics.jacobian(self.robot, self.position))
        arm = np.asarray(R) @ np.array(GRIP)
        jacobian = np.asarray(J[:3] + np.cross(J[3:].T, arm).T)
        return np.asarray(p + arm), np.asarray(jacobian @ self.velocity), jacobian

    def on_coordinates(self, jacobian: Array) -> Array:
        """A Jacobian of `grip`, which is by the coordinates already."""
        return jacobian

    def _pushed(self, q: Array, qd: Array, tau: Array, h: float) -> Array:
        """Velocities after a step whose middle has this position and velocity."""
        D, bias, J = self._dynamics(q, qd)
        if not np.all(np.isfinite(D)):
            return np.full(self.robot.n, np.nan)
        inverse = np.linalg.inv(D)
        outside = 0.0 if self.outside is None else self.outside
        free = self.velocity + h * inverse @ (tau + outside - bias - self._more(qd))
        return np.asarray(free + inverse @ J.T @ _held(J @ free, J @ inverse @ J.T, h * self.dry))

    def _dynamics(self, q: Array, qd: Array) -> tuple[Array, Array, Array]:
        """Mass matrix, efforts without acceleration, and the rates of the joints that rub by those of coordinates."""
        found = self.function(q if self.passive is None else self.passive(q), qd)
        return found if len(found) == 3 else (*found, self.none)

    def _more(self, v: Array) -> Array:
        """Friction beyond Coulomb's at low speed."""
        if self.stribeck is None:
            return np.zeros(self.robot.n)
        w = self.flaws.stribeck_velocity
        return np.asarray(self.stribeck * np.tanh(v / (0.1 * w)) * np.exp(-((v / w) ** 2)))


def plant_of(robot: Robot, **options: Any) -> Plant:
    """The plant of a robot: MuJoCo's, or, with closed loops, one in which they stay closed."""
    return ClosedPlant(robot, **options) if robot.cuts else Plant(robot, **options)


def _held(rates: Array, A: Array, most: Array) -> Array:
    """Impulses of dry friction, at most `most`, that bring rates + A impulses as near to rest as they can."""
    impulses = -most * np.sign(rates)
    if np.all(np.sign(rates + A @ impulses) == np.sign(rates)):  # everything goes on moving
        return np.asarray(impulses)
    for _ in range(SWEEPS):
        before = impulses.copy()
        for k in range(len(rates)):
            wanted = impulses[k] - (rates[k] + A[k] @ impulses) / A[k, k]
            impulses[k] = min(max(wanted, -most[k]), most[k])
        if np.all(np.abs(impulses - before) <= SETTLED * most):
            break
    return np.asarray(impulses)


def _program(robot: Robot, passive: int) -> Program:
    """(q, qd) to the mass matrix with rotors, the efforts without acceleration and dry friction, and how joints rub.

    passive: how many joints of loops without a closed form stand behind the coordinates in q.
    """
    graph, n = Graph(), robot.n
    q, qd = graph.variables("q", n + passive), graph.variables("qd", n)
    smooth = [{s: v for s, v in x.items() if s != DRY} for x in robot.parameters()]
    bias = dynamics.inverse_dynamics(robot, q, qd, [0] * n, parameters=smooth)
    D = dynamics.mass_matrix(robot, q)
    rows = _rubbing(robot, q)
    outputs = [_scalar(e) for e in (*(e for row in D for e in row), *bias, *(e for row in rows for e in row))]
    ports = (Port("D", (n, n)), Port("bias", (n,)), *([Port("J", (len(rows), n))] if rows else []))
    return Program("plant", graph, (Port("q", (n + passive,)), Port("qd", (n,))), ports, tuple(outputs))


def _rubbing(robot: Robot, q: list[Expr]) -> list[list[Any]]:
    """Velocity of every joint with dry friction by those of the coordinates."""
    units = [[int(i == k) for i in range(robot.n)] for k in range(robot.n)]
    closed = project(robot, State(q, [0] * robot.n, [0] * robot.n))
    columns = [closed.rates(unit) for unit in units]
    found = [j for j, values in enumerate(robot.effects) if values.get(DRY)]
    return [[closed.tree.joint_rate(j, column) for column in columns] for j in found]


def _scalar(value: Any) -> Any:
    return value if isinstance(value, Expr) else float(value)

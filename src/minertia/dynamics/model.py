"""The dynamics on arrays: the border between users (samples first, checked shapes) and the scalar recursion.

Every function takes q, qd ... as arrays of shape (n,) or (N, n), and returns arrays with the same leading shape; a list
that holds expressions is passed through and gives expressions.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minertia.algebra.expr import Expr
from minertia.algebra.scalar import Scalar
from minertia.dynamics import compound, energy, forward, newton_euler, regressor
from minertia.dynamics.kinematics import State, structural_gravity
from minertia.dynamics.newton_euler import Parameters
from minertia.errors import ShapeError
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
Values = ArrayLike | Sequence[Scalar]


def inverse_dynamics(
    robot: Robot,
    q: Values,
    qd: Values,
    qdd: Values,
    *,
    parameters: Parameters | None = None,
    gravity: Sequence[float] | None = None,
    temperature: Values | None = None,
) -> Any:
    """Efforts [N m or N] of a motion, shape (N, n): links, rotors, friction, springs, offsets (theory, eqs. 6 to 9).

    temperature (N, n) [degC] of the joints, for friction that depends on it; by default the reference temperature.
    """
    call = _Call(robot, parameters, q=q, qd=qd, qdd=qdd, temperature=temperature)
    efforts = newton_euler.inverse_dynamics(robot.numeric, call.chi, call.state, _gravity(gravity), call.temperature)
    return call.vector(efforts)


def gravity_torques(
    robot: Robot, q: Values, *, parameters: Parameters | None = None, gravity: Sequence[float] | None = None
) -> Any:
    """Efforts [N m or N] that hold the links at rest; springs and offsets are effects and not among them."""
    call = _Call(robot, parameters, q=q)
    return call.vector(newton_euler.gravity_torques(robot.numeric, call.chi, call.state.q, _gravity(gravity)))


def velocity_torques(robot: Robot, q: Values, qd: Values, *, parameters: Parameters | None = None) -> Any:
    """Centrifugal and Coriolis efforts [N m or N]."""
    call = _Call(robot, parameters, q=q, qd=qd)
    return call.vector(newton_euler.velocity_torques(robot.numeric, call.chi, call.state.q, call.state.qd))


def mass_matrix(robot: Robot, q: Values, *, parameters: Parameters | None = None, rotors: bool = True) -> Any:
    """D(q), shape (N, n, n) [kg m2, kg m, kg], with the rotor inertias unless told otherwise."""
    call = _Call(robot, parameters, q=q)
    of = compound.total_mass_matrix if rotors else compound.mass_matrix
    return call.matrix(of(robot.numeric, call.chi, call.state.q))


def kinetic_energy(robot: Robot, q: Values, qd: Values, *, parameters: Parameters | None = None) -> Any:
    """Kinetic energy of the links [J], shape (N,) (theory, eq. 12)."""
    call = _Call(robot, parameters, q=q, qd=qd)
    return call.scalar(energy.kinetic_energy(robot.numeric, call.chi, call.state.q, call.state.qd))


def potential_energy(
    robot: Robot, q: Values, *, parameters: Parameters | None = None, gravity: Sequence[float] | None = None
) -> Any:
    """Potential energy of the links [J], shape (N,) (theory, eq. 12)."""
    call = _Call(robot, parameters, q=q)
    return call.scalar(energy.potential_energy(robot.numeric, call.chi, call.state.q, _gravity(gravity)))


def forward_dynamics(
    robot: Robot,
    q: Values,
    qd: Values,
    tau: Values,
    *,
    parameters: Parameters | None = None,
    temperature: Values | None = None,
) -> Any:
    """Accelerations [rad/s2 or m/s2] under efforts tau; temperature: see `inverse_dynamics`."""
    call = _Call(robot, parameters, q=q, qd=qd, qdd=tau, temperature=temperature)
    return call.vector(forward.forward_dynamics(robot.numeric, call.chi, *call.state, call.temperature))


def torque_regressor(
    robot: Robot,
    q: Values,
    qd: Values,
    qdd: Values,
    *,
    columns: Sequence[str] | None = None,
    gravity: Sequence[float] | None = None,
    temperature: Values | None = None,
) -> Any:
    """Y with tau = Y X (theory, eq. 9), shape (N, n, columns); columns by full name, by default the links' inertias.

    Friction that depends on the load takes the load of the robot's nominal parameters; temperature: see
    `inverse_dynamics`.
    """
    names = tuple(robot.columns() if columns is None else columns)
    call = _Call(robot, (), q=q, qd=qd, qdd=qdd, temperature=temperature)
    wanted = frozenset(names)
    entries = regressor.regressor_entries(robot.numeric, call.state, wanted, _gravity(gravity), call.temperature)
    return call.table(entries, names)


class _Call:
    """One call: arrays taken apart into scalars on the way in, scalars put together on the way out."""

    def __init__(self, robot: Robot, parameters: Parameters | None, **asked: Values | None) -> None:
        self.robot = robot
        given = {name: values for name, values in asked.items() if values is not None}
        self.chi: Any = robot.parameters() if parameters is None else parameters
        self.symbolic = any(isinstance(s, Expr) for values in given.values() if not _is_array(values) for s in values)  # type: ignore[union-attr]
        rest: list[Scalar] = [0] * robot.n_velocity
        self.leading: tuple[int, ...] = ()
        scalars = {name: self._scalars(name, values) for name, values in given.items()}
        self.state = State(scalars["q"], scalars.get("qd", rest), scalars.get("qdd", rest))
        self.temperature = scalars.get("temperature")

    def _scalars(self, name: str, values: Values) -> list[Scalar]:
        sizes = {"q": self.robot.n_position, "temperature": self.robot.n}
        wanted = sizes.get(name, self.robot.n_velocity)
        if self.symbolic:
            taken = list(values)  # type: ignore[arg-type]
            if len(taken) != wanted:
                raise ShapeError(f"{name} has {len(taken)} entries; '{self.robot.name}' needs {wanted}")
            return taken
        array = np.asarray(values)
        if array.dtype.kind not in "fciu":
            raise ShapeError(f"{name} must hold numbers")
        array = array if array.dtype.kind in "fc" else array.astype(float)
        if array.ndim not in (1, 2) or array.shape[-1] != wanted:
            raise ShapeError(
                f"{name} has shape {array.shape}; '{self.robot.name}' needs ({wanted},) or (N, {wanted}), samples first"
            )
        if array.ndim == 2:
            if self.leading and self.leading != array.shape[:1]:
                raise ShapeError(f"{name} has {array.shape[0]} samples where another array has {self.leading[0]}")
            self.leading = array.shape[:1]
        return [np.ascontiguousarray(column) if array.ndim == 2 else column for column in array.T]

    def scalar(self, value: Scalar) -> Any:
        return value if self.symbolic else np.broadcast_to(np.asarray(value), self.leading).copy()[()]

    def vector(self, values: Sequence[Scalar]) -> Any:
        return list(values) if self.symbolic else self._stack(values, (len(values),))

    def matrix(self, rows: Sequence[Sequence[Scalar]]) -> Any:
        if self.symbolic:
            return [list(row) for row in rows]
        return self._stack([s for row in rows for s in row], (len(rows), len(rows)))

    def table(self, entries: regressor.Entries, names: Sequence[str]) -> Any:
        if self.symbolic:
            return entries
        index = {name: k for k, name in enumerate(names)}
        Y = np.zeros((*self.leading, self.robot.n_velocity, len(names)), dtype=self._dtype(entries.values()))
        for (row, name), entry in entries.items():
            Y[..., row, index[name]] = entry
        return Y

    def _stack(self, values: Sequence[Scalar], shape: tuple[int, ...]) -> Array:
        out = np.zeros((*self.leading, len(values)), dtype=self._dtype(values))
        for k, value in enumerate(values):
            out[..., k] = value
        return out.reshape(*self.leading, *shape)

    @staticmethod
    def _dtype(values: Collection[Scalar]) -> Any:
        return complex if any(np.iscomplexobj(value) for value in values) else float


def _is_array(values: Values) -> bool:
    return isinstance(values, np.ndarray)


def _gravity(gravity: Sequence[float] | None) -> Any:
    return None if gravity is None else structural_gravity(gravity)

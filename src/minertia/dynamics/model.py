"""The dynamics on arrays: the border between users (samples first, checked shapes) and the scalar recursion.

Every function takes q, qd ... as arrays of shape (n,) or (N, n), and returns arrays with the same leading shape; a list
that holds expressions is passed through and gives expressions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minertia.algebra.expr import Expr
from minertia.algebra.scalar import Scalar, add, mul
from minertia.algebra.vec3 import ZERO
from minertia.dynamics import (
    compound,
    derivatives,
    effects,
    energy,
    forward,
    momentum,
    newton_euler,
    reference_motion,
    regressor,
    sensitivity,
)
from minertia.dynamics import frame as frames
from minertia.dynamics.closing import closing_of
from minertia.dynamics.frame import ChosenFrame, FrameWrench
from minertia.dynamics.kinematics import State, structural_gravity
from minertia.dynamics.newton_euler import Parameters
from minertia.dynamics.projection import Projection, project, projected_coriolis, projected_momentum
from minertia.errors import InputError, ShapeError
from minertia.robot.parameters import LINK_SYMBOLS, full_name
from minertia.robot.robot import Robot, expect_robot

Array = NDArray[np.float64]
Values = ArrayLike | Sequence[Scalar]
OPTIONAL = ("temperature", "wrench")  # inputs that may be None


def inverse_dynamics(
    robot: Robot,
    q: Values,
    qd: Values,
    qdd: Values,
    *,
    parameters: Parameters | None = None,
    gravity: Sequence[float] | None = None,
    temperature: Values | None = None,
    wrench: FrameWrench | Values | None = None,
) -> Any:
    """Efforts [N m or N] of a motion, shape (N, n): links, rotors, friction, springs, offsets (theory, eqs. 6 to 9).

    temperature (N, n) [degC] of the joints, for friction that depends on it; by default the reference temperature.
    wrench (N, 6): force [N] and moment [N m] that the surroundings exert on the robot at the origin of the last link's
    frame, in axes of the world; a `FrameWrench` says another frame or other axes.
    """
    with np.errstate(all="ignore"):  # what is infinite or not a number stays so, without a word
        call = _Call(robot, parameters, q=q, qd=qd, qdd=qdd, temperature=temperature, wrench=_numbers(wrench))
        given = (call.tree, call.chi, call.state, _gravity(gravity), call.temperature, call.outside(wrench))
        return call.efforts(newton_euler.inverse_dynamics(*given))


def gravity_torques(
    robot: Robot, q: Values, *, parameters: Parameters | None = None, gravity: Sequence[float] | None = None
) -> Any:
    """Efforts [N m or N] that hold the links at rest; springs and offsets are effects and not among them."""
    with np.errstate(all="ignore"):
        call = _Call(robot, parameters, q=q)
        return call.efforts(newton_euler.gravity_torques(call.tree, call.chi, call.state.q, _gravity(gravity)))


def velocity_torques(robot: Robot, q: Values, qd: Values, *, parameters: Parameters | None = None) -> Any:
    """Centrifugal and Coriolis efforts [N m or N]."""
    with np.errstate(all="ignore"):
        call = _Call(robot, parameters, q=q, qd=qd)
        return call.efforts(newton_euler.rigid_torques(call.tree, call.chi, call.state, ZERO))


def mass_matrix(robot: Robot, q: Values, *, parameters: Parameters | None = None, rotors: bool = True) -> Any:
    """D(q), shape (N, n, n) [kg m2, kg m, kg], with the rotor inertias unless told otherwise."""
    with np.errstate(all="ignore"):
        call = _Call(robot, parameters, q=q)
        of = compound.total_mass_matrix if rotors else compound.mass_matrix
        return call.matrix(call.closed.square(of(call.tree, call.chi, call.state.q)))


def kinetic_energy(robot: Robot, q: Values, qd: Values, *, parameters: Parameters | None = None) -> Any:
    """Kinetic energy of the links [J], shape (N,) (theory, eq. 12)."""
    with np.errstate(all="ignore"):
        call = _Call(robot, parameters, q=q, qd=qd)
        return call.scalar(energy.kinetic_energy(call.tree, call.chi, call.state.q, call.state.qd))


def potential_energy(
    robot: Robot, q: Values, *, parameters: Parameters | None = None, gravity: Sequence[float] | None = None
) -> Any:
    """Potential energy of the links [J], shape (N,) (theory, eq. 12)."""
    with np.errstate(all="ignore"):
        call = _Call(robot, parameters, q=q)
        return call.scalar(energy.potential_energy(call.tree, call.chi, call.state.q, _gravity(gravity)))


def forward_dynamics(
    robot: Robot,
    q: Values,
    qd: Values,
    tau: Values,
    *,
    parameters: Parameters | None = None,
    temperature: Values | None = None,
    wrench: FrameWrench | Values | None = None,
) -> Any:
    """Accelerations [rad/s2 or m/s2] under efforts tau; temperature, wrench: see `inverse_dynamics`."""
    with np.errstate(all="ignore"):
        call = _Call(robot, parameters, q=q, qd=qd, tau=tau, temperature=temperature, wrench=_numbers(wrench))
        given = (call.closed, call.chi, call.tau, call.temperature, call.outside(wrench))
        return call.vector(forward.projected_dynamics(*given))


def jacobian(robot: Robot, q: Values, frame: ChosenFrame | str | None = None) -> Any:
    """J of a frame, shape (N, 6, n): velocity of its origin, then its angular velocity, for unit joint velocities.

    frame: a name (axes of the world) or a `ChosenFrame`; by default the last link's.  Efforts J' w hold a wrench w.
    """
    with np.errstate(all="ignore"):
        call, chosen = _Call(robot, (), q=q), _chosen(frame)
        place = frames.frame_named(call.tree, chosen.name)
        return call.matrix(call.closed.columns(frames.jacobian(call.tree, call.state.q, place, chosen.axes)))


def forward_kinematics(robot: Robot, q: Values, frame: ChosenFrame | str | None = None) -> tuple[Any, Any]:
    """Rotation (N, 3, 3), from the frame's axes to the world's, and position (N, 3) [m] of a frame; see `jacobian`."""
    with np.errstate(all="ignore"):
        call, chosen = _Call(robot, (), q=q), _chosen(frame)
        R, p = frames.frame_pose(call.tree, call.state.q, frames.frame_named(call.tree, chosen.name))
        return call.matrix(R), call.vector(p)


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
    with np.errstate(all="ignore"):
        call = _Call(robot, (), q=q, qd=qd, qdd=qdd, temperature=temperature)
        names = robot.columns() if columns is None else _names(columns)
        given = (call.tree, call.state, frozenset(names), _gravity(gravity), call.temperature)
        return call.table(call.closed.entries(regressor.regressor_entries(*given)), names)


def coriolis_matrix(robot: Robot, q: Values, qd: Values, *, parameters: Parameters | None = None) -> Any:
    """C(q, qd), shape (N, n, n), of a fixed base: C qd are the velocity efforts, and D' - 2 C is skew."""
    with np.errstate(all="ignore"):
        call = _Call(robot, parameters, q=q, qd=qd)
        C = derivatives.coriolis_matrix(call.tree, call.chi, call.state.q, call.state.qd)
        return call.matrix(projected_coriolis(call.closed, call.chi, C, call.velocities))


def slotine_li_torques(
    robot: Robot,
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
        call = _Call(robot, parameters, q=q, qd=qd, qdd=qddr, qdr=qdr, temperature=temperature)
        given, state, qdr = (call.tree, call.chi), *call.along_reference
        rigid = reference_motion.reference_torques(*given, state.q, state.qd, qdr, state.qdd)
        more = effects.effect_torques(*given, state, rigid, call.temperature)
        return call.efforts([a + b for a, b in zip(rigid, more, strict=True)])


def slotine_li_regressor(
    robot: Robot, q: Values, qd: Values, qdr: Values, qddr: Values, *, columns: Sequence[str] | None = None
) -> Any:
    """Y(q, qd, qdr, qddr), shape (N, n, columns), with Y X the efforts of `slotine_li_torques`; columns: full names."""
    with np.errstate(all="ignore"):
        call = _Call(robot, (), q=q, qd=qd, qdd=qddr, qdr=qdr)
        names, state, qdr = robot.columns() if columns is None else _names(columns), *call.along_reference
        entries = reference_motion.reference_entries(call.tree, state.q, state.qd, qdr, state.qdd, frozenset(names))
        for column in effects.effect_columns(call.tree, state, frozenset(names)):
            full = full_name(column.symbol, column.joint + 1)
            entries |= {(c, full): entry for c, entry in column.efforts.items()}
        return call.table(call.closed.entries(entries), names)


def inverse_dynamics_derivatives(
    robot: Robot,
    q: Values,
    qd: Values,
    qdd: Values,
    *,
    parameters: Parameters | None = None,
    temperature: Values | None = None,
) -> tuple[Any, Any, Any]:
    """Derivatives of efforts by q, by qd and by qdd, each (N, n, n), of a fixed base; Coulomb friction has no slope."""
    with np.errstate(all="ignore"):
        call = _Call(robot, parameters, q=q, qd=qd, qdd=qdd, temperature=temperature)
        robot.require_tree("the derivative of dynamics")
        found = sensitivity.inverse_slopes(robot.numeric, call.chi, call.state, call.temperature)
        return call.matrix(found.dq), call.matrix(found.dqd), call.matrix(found.dqdd)


def forward_dynamics_derivatives(
    robot: Robot,
    q: Values,
    qd: Values,
    tau: Values,
    *,
    parameters: Parameters | None = None,
    temperature: Values | None = None,
) -> tuple[Any, Any, Any]:
    """Derivatives of accelerations by q, by qd and by tau, each (N, n, n), of a fixed base."""
    with np.errstate(all="ignore"):
        call = _Call(robot, parameters, q=q, qd=qd, qdd=tau, temperature=temperature)
        robot.require_tree("the derivative of dynamics")
        found = sensitivity.forward_slopes(robot.numeric, call.chi, *call.state, call.temperature)
        return call.matrix(found.dq), call.matrix(found.dqd), call.matrix(found.dtau)


def momentum_regressor(robot: Robot, q: Values, qd: Values, *, columns: Sequence[str] | None = None) -> tuple[Any, Any]:
    """Yp and Yc, each (N, n, columns), with tau = d/dt (Yp X) + Yc X (theory, eq. 34): no accelerations."""
    with np.errstate(all="ignore"):
        call, names = _Call(robot, (), q=q, qd=qd), robot.columns() if columns is None else _names(columns)
        found = momentum.momentum_entries(call.tree, call.state.q, call.state.qd, frozenset(names))
        return tuple(call.table(entries, names) for entries in projected_momentum(call.closed, *found, call.velocities))


def power_regressor(robot: Robot, q: Values, qd: Values, *, columns: Sequence[str] | None = None) -> tuple[Any, Any]:
    """E and P, each (N, columns), with tau . qd = d/dt (E X) + P X (theory, eq. 35): one row, no accelerations."""
    with np.errstate(all="ignore"):
        call, names = _Call(robot, (), q=q, qd=qd), robot.columns() if columns is None else _names(columns)
        found = momentum.power_entries(call.tree, call.state.q, call.state.qd, frozenset(names))
        energy, power = (call.table(entries, names) for entries in found)
        return (energy, power) if call.symbolic else (energy[..., 0, :], power[..., 0, :])


def actuation_matrix(robot: Robot, q: ArrayLike) -> Array:
    """G_m, shape (N, motors, n): velocities of joints with motors = G_m qd, efforts of the coordinates = G_m' tau_m.

    The joints with motors are `robot.actuated`: the coordinates, and passive joints that are driven, too.  With more
    motors than coordinates many tau_m give the same efforts: what they strain inside the loops moves nothing.
    """
    call = _Call(robot, (), q=q)
    first = 6 * robot.is_floating
    rows = []
    for j in robot.actuated:
        rate: list[Scalar] = [0] * robot.n_velocity
        for c, ratio in call.tree.shares(j):
            own = call.closed.G[first + c] if call.closed.G is not None else _unit(first + c, robot.n_velocity)
            rate = [add(a, mul(ratio, b)) for a, b in zip(rate, own, strict=True)]
        rows.append(rate)
    return np.asarray(call.matrix(rows))


def coordinate_efforts(robot: Robot, q: ArrayLike, motor_efforts: ArrayLike) -> Array:
    """Efforts of the coordinates (N, n) for those of all joints with motors (N, motors): G_m' tau_m."""
    G = actuation_matrix(robot, q)
    names = ", ".join(robot.joints[j].name for j in robot.actuated)
    given = _samples(robot, f"motor_efforts (of {names})", motor_efforts, len(robot.actuated))
    if given.shape != G.shape[:-1]:
        raise ShapeError(f"motor_efforts have shape {given.shape} where q asks for {G.shape[:-1]}")
    return np.asarray(np.einsum("...mk,...m->...k", G, given))


def _unit(k: int, n: int) -> list[Scalar]:
    return [int(i == k) for i in range(n)]


def passive_start(robot: Robot, q: ArrayLike | None = None) -> Array:
    """Positions of the passive joints without a closed form, shape (N, passive): what programs take as `passive`.

    q (N, n): of the coordinates, reached from the robot's seed on its branch; None for the seed itself.
    """
    expect_robot(robot)
    given = None if q is None else _samples(robot, "q", q, robot.n_position)
    if not robot.open_cuts:
        return np.zeros((*given.shape[:-1], 0) if given is not None else (0,))
    closing = closing_of(robot.numeric)
    if given is None:
        return np.asarray(closing.seed[closing.iterated])
    flat = given.reshape(-1, robot.n_position)[:, 7 * robot.is_floating :]
    found = closing.close(flat)[:, closing.iterated]
    return np.asarray(found.reshape(*given.shape[:-1], len(closing.iterated)))


def _samples(robot: Robot, name: str, values: Values, wanted: int) -> NDArray[Any]:
    """What a user gave as an array of shape (wanted,) or (N, wanted)."""
    try:
        array = np.asarray(values)
    except (ValueError, TypeError):  # rows of different lengths, or something that is no array
        raise ShapeError(f"{name} must be an array of numbers with rows of one length") from None
    if array.dtype.kind not in "fciu":
        raise ShapeError(f"{name} must hold numbers")
    array = array if array.dtype.kind in "fc" else array.astype(float)
    if array.ndim not in (1, 2) or array.shape[-1] != wanted:
        raise ShapeError(
            f"{name} has shape {array.shape}; '{robot.name}' needs ({wanted},) or (N, {wanted}), samples first"
        )
    return array


class _Call:
    """One call: arrays taken apart into scalars on the way in, scalars put together on the way out."""

    def __init__(self, robot: Robot, parameters: Parameters | None, **asked: Values | None) -> None:
        expect_robot(robot)
        self.robot = robot
        given: dict[str, Any] = {k: v for k, v in asked.items() if k not in OPTIONAL or v is not None}
        self.chi: Any = robot.parameters() if parameters is None else _checked(robot, parameters)
        self.symbolic = any(isinstance(s, Expr) for values in given.values() if _is_list(values) for s in values)  # type: ignore[union-attr]
        rest: list[Scalar] = [0] * robot.n_velocity
        self.leading: tuple[int, ...] = ()
        scalars = {name: self._scalars(name, values) for name, values in given.items()}
        self.velocities, self.tau = scalars.get("qd", rest), scalars.get("tau", rest)
        self.closed = self._closed(State(scalars["q"], self.velocities, scalars.get("qdd", rest)))
        self.tree, self.state = self.closed.tree, self.closed.state
        self.temperature, self.wrench = self.closed.of_active(scalars.get("temperature")), scalars.get("wrench")
        self.reference: list[Scalar] = scalars.get("qdr", rest)

    def _closed(self, state: State) -> Projection:
        """The motion on the tree of the robot: itself where it has no loop to close."""
        if self.robot.open_cuts and self.robot.has_input("load"):
            raise InputError(f"friction that depends on the load is not there for loops, which '{self.robot.name}' has")
        return project(self.robot.numeric, state)

    @property
    def along_reference(self) -> tuple[State, list[Scalar]]:
        """State of the tree whose accelerations belong to the reference, and velocities of the reference there."""
        return self.closed.along_reference(self.velocities, self.reference)

    def outside(self, given: FrameWrench | Values | None) -> frames.AppliedWrench | None:
        """The wrench as it acts on the link of its frame."""
        chosen, robot = _chosen(given.frame if isinstance(given, FrameWrench) else None), self.tree
        place = frames.frame_named(robot, chosen.name)
        return None if self.wrench is None else frames.applied(robot, self.state.q, place, chosen.axes, self.wrench)

    def _scalars(self, name: str, values: Values) -> list[Scalar]:
        sizes = {"q": self.robot.n_position, "temperature": self.robot.n, "wrench": 6}
        wanted = sizes.get(name, self.robot.n_velocity)
        if self.symbolic:
            taken = list(values) if isinstance(values, Iterable) else []
            if len(taken) != wanted:
                raise ShapeError(f"{name} has {len(taken)} entries; '{self.robot.name}' needs {wanted}")
            return taken
        array = _samples(self.robot, name, values, wanted)
        if array.ndim == 2:
            if self.leading and self.leading != array.shape[:1]:
                raise ShapeError(f"{name} has {array.shape[0]} samples where another array has {self.leading[0]}")
            self.leading = array.shape[:1]
        return [np.ascontiguousarray(column) if array.ndim == 2 else column for column in array.T]

    def scalar(self, value: Scalar) -> Any:
        return value if self.symbolic else np.broadcast_to(np.asarray(value), self.leading).copy()[()]

    def efforts(self, values: Sequence[Scalar]) -> Any:
        """Efforts of the robot's coordinates from those of its tree."""
        return self.vector(self.closed.efforts(values))

    def vector(self, values: Sequence[Scalar]) -> Any:
        return list(values) if self.symbolic else self._stack(values, (len(values),))

    def matrix(self, rows: Sequence[Sequence[Scalar]]) -> Any:
        if self.symbolic:
            return [list(row) for row in rows]
        return self._stack([s for row in rows for s in row], (len(rows), len(rows[0])))

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


def _chosen(frame: ChosenFrame | str | None) -> ChosenFrame:
    if frame is not None and not isinstance(frame, str | ChosenFrame):
        raise InputError("a frame is given by its name or as a ChosenFrame")
    return frame if isinstance(frame, ChosenFrame) else ChosenFrame(frame)


def _numbers(wrench: FrameWrench | Values | None) -> Values | None:
    return wrench.values if isinstance(wrench, FrameWrench) else wrench


def _is_list(values: Values) -> bool:
    return isinstance(values, list | tuple)


def _gravity(gravity: Sequence[float] | None) -> Any:
    if gravity is None:
        return None
    try:
        given = np.asarray(gravity, dtype=float).tolist() if np.isrealobj(gravity) else []
    except (TypeError, ValueError, OverflowError):
        given = []
    if np.shape(given) != (3,) or not np.isfinite(given).all():
        raise InputError("gravity is three finite numbers [m/s2] in the base frame")
    return structural_gravity(given)


def _names(columns: Sequence[str]) -> tuple[str, ...]:
    try:
        names = () if isinstance(columns, str) else tuple(columns)
        is_list = not isinstance(columns, str) and all(isinstance(name, str) for name in names)
    except TypeError:
        is_list = False
    if not is_list:
        raise InputError("columns are a list of full names, such as ['ZZ1', 'MX2']")
    return names


def _checked(robot: Robot, parameters: Parameters) -> Parameters:
    """Parameters given by a user: one table for each link, with its ten numbers; none for a regressor."""
    if not isinstance(parameters, tuple) or parameters:
        count = robot.n_joints + robot.is_floating
        is_list = isinstance(parameters, list | tuple) and len(parameters) == count
        if not is_list or not all(_is_table(values) for values in parameters):
            raise InputError(
                f"parameters are a list of {count} tables of numbers, one for each link of '{robot.name}', "
                f"with {', '.join(LINK_SYMBOLS)}"
            )
    return parameters


def _is_table(values: object) -> bool:
    if not isinstance(values, Mapping) or any(symbol not in values for symbol in LINK_SYMBOLS):
        return False
    return not any(value is None or isinstance(value, str) for value in values.values())

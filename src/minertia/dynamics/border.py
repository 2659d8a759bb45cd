"""Interface of the dynamics: validation of user arrays, and their conversion to and from scalars."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minertia.algebra.expr import Expr
from minertia.algebra.scalar import Scalar
from minertia.dynamics import frame as frames
from minertia.dynamics import regressor
from minertia.dynamics.frame import FrameWrench
from minertia.dynamics.kinematics import State, structural_gravity
from minertia.dynamics.loops.closing import closing_of
from minertia.dynamics.loops.projection import Projection, project
from minertia.dynamics.newton_euler import Parameters
from minertia.dynamics.options import ChosenFrame
from minertia.io.arrays import Array
from minertia.io.errors import InputError, ShapeError
from minertia.robot.files import RobotLike, as_robot
from minertia.robot.parameters import LINK_SYMBOLS
from minertia.robot.robot import Robot

Values = ArrayLike | Sequence[Scalar]
OPTIONAL = ("temperature", "wrench")  # inputs that may be None


def samples_of(robot: Robot, name: str, values: Values, wanted: int) -> NDArray[Any]:
    """Validated user array of shape (wanted,) or (N, wanted)."""
    try:
        array = np.asarray(values)
    except (ValueError, TypeError):  # rows of different lengths, or something that is no array
        raise ShapeError(f"{name} must be an array of numbers whose rows have equal length") from None
    if array.dtype.kind not in "fciu":
        raise ShapeError(f"{name} must contain numbers only")
    array = array if array.dtype.kind in "fc" else array.astype(float)
    if array.ndim not in (1, 2) or array.shape[-1] != wanted:
        raise ShapeError(
            f"{name} has shape {array.shape}; '{robot.name}' needs ({wanted},) or (N, {wanted}), with one row per "
            "sample"
        )
    return array


class Call:
    """One call: arrays split into scalars on input, scalars assembled to arrays on output."""

    def __init__(self, robot: RobotLike, parameters: Parameters | None, **asked: Values | None) -> None:
        self.robot = robot = as_robot(robot)
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
        """Motion projected on the robot's spanning tree; unchanged for a robot without loops."""
        if self.robot.open_cuts and self.robot.has_input("load"):
            raise InputError(
                f"load-dependent friction is not supported for robots with loops, such as '{self.robot.name}'"
            )
        return project(self.robot.numeric, state)

    @property
    def along_reference(self) -> tuple[State, list[Scalar]]:
        """State of the tree with the reference accelerations, and the reference velocities of the tree."""
        return self.closed.along_reference(self.velocities, self.reference)

    def outside(self, given: FrameWrench | Values | None) -> frames.AppliedWrench | None:
        """Applied wrench on the link of its frame."""
        chosen, robot = chosen_frame(given.frame if isinstance(given, FrameWrench) else None), self.tree
        place = frames.frame_named(robot, chosen.name)
        return None if self.wrench is None else frames.applied(robot, self.state.q, place, chosen.axes, self.wrench)

    def _scalars(self, name: str, values: Values) -> list[Scalar]:
        sizes = {"q": self.robot.n_position, "temperature": self.robot.n, "wrench": 6}
        wanted = sizes.get(name, self.robot.n_velocity)
        if self.symbolic:
            taken = list(values) if isinstance(values, Iterable) else []
            if len(taken) != wanted and not (name == "q" and len(taken) == wanted + self._iterated):
                raise ShapeError(f"{name} has {len(taken)} entries; '{self.robot.name}' needs {wanted}")
            return taken
        array = samples_of(self.robot, name, values, wanted)
        if array.ndim == 2:
            if self.leading and self.leading != array.shape[:1]:
                raise ShapeError(f"{name} has {array.shape[0]} samples but another array has {self.leading[0]}")
            self.leading = array.shape[:1]
        return [np.ascontiguousarray(column) if array.ndim == 2 else column for column in array.T]

    @property
    def _iterated(self) -> int:
        """Number of passive positions with closed loops that may follow q in the input (see `project`)."""
        return len(closing_of(self.robot.numeric).iterated) if self.robot.open_cuts else 0

    def names(self, columns: Sequence[str] | None) -> tuple[str, ...]:
        """Requested columns by full name; by default the link inertias."""
        return self.robot.columns() if columns is None else _names(columns)

    def scalar(self, value: Scalar) -> Any:
        """Array of the leading shape from a scalar."""
        return value if self.symbolic else np.broadcast_to(np.asarray(value), self.leading).copy()[()]

    def efforts(self, values: Sequence[Scalar]) -> Any:
        """Efforts of the robot's coordinates from those of its tree."""
        return self.vector(self.closed.efforts(values))

    def vector(self, values: Sequence[Scalar]) -> Any:
        """Array of scalars, samples first."""
        return list(values) if self.symbolic else self._stack(values, (len(values),))

    def matrix(self, rows: Sequence[Sequence[Scalar]]) -> Any:
        """Array of rows of scalars, samples first."""
        if self.symbolic:
            return [list(row) for row in rows]
        return self._stack([s for row in rows for s in row], (len(rows), len(rows[0])))

    def table(self, entries: regressor.Entries, names: Sequence[str]) -> Any:
        """Regressor array (N, n, columns) from its entries."""
        if self.symbolic:
            return entries
        index = {name: k for k, name in enumerate(names)}
        Y = np.zeros((*self.leading, self.robot.n_efforts, len(names)), dtype=self._dtype(entries.values()))
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


def chosen_frame(frame: ChosenFrame | str | None) -> ChosenFrame:
    """Convert a frame name or specification to a `ChosenFrame`."""
    if frame is not None and not isinstance(frame, str | ChosenFrame):
        raise InputError("the frame must be the name of a frame or a ChosenFrame")
    return frame if isinstance(frame, ChosenFrame) else ChosenFrame(frame)


def wrench_values(wrench: FrameWrench | Values | None) -> Values | None:
    """Six components of a wrench in any input form."""
    return wrench.values if isinstance(wrench, FrameWrench) else wrench


def _is_list(values: Values) -> bool:
    return isinstance(values, list | tuple)


def checked_gravity(gravity: Sequence[float] | None) -> Any:
    """Validated gravity vector from the user, with structural ints for zero components; None: the robot's gravity."""
    if gravity is None:
        return None
    try:
        given = np.asarray(gravity, dtype=float).tolist() if np.isrealobj(gravity) else []
    except (TypeError, ValueError, OverflowError):
        given = []
    if np.shape(given) != (3,) or not np.isfinite(given).all():
        raise InputError("gravity must be three finite numbers [m/s2] in the base frame")
    return structural_gravity(given)


def _names(columns: Sequence[str]) -> tuple[str, ...]:
    try:
        names = () if isinstance(columns, str) else tuple(columns)
        is_list = not isinstance(columns, str) and all(isinstance(name, str) for name in names)
    except TypeError:
        is_list = False
    if not is_list:
        raise InputError("columns must be a list of full parameter names, such as ['ZZ1', 'MX2']")
    return names


def _checked(robot: Robot, parameters: Parameters) -> Parameters:
    """Validated parameters from the user: one table of ten values per link; none for a regressor."""
    if not isinstance(parameters, tuple) or parameters:
        count = robot.n_joints + robot.is_floating
        is_list = isinstance(parameters, list | tuple) and len(parameters) == count
        if not is_list or not all(_is_table(values) for values in parameters):
            raise InputError(
                f"parameters must be a list of {count} tables of numbers, one for each link of '{robot.name}', "
                f"with {', '.join(LINK_SYMBOLS)}"
            )
    return parameters


def _is_table(values: object) -> bool:
    if not isinstance(values, Mapping) or any(symbol not in values for symbol in LINK_SYMBOLS):
        return False
    return not any(value is None or isinstance(value, str) for value in values.values())

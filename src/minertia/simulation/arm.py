"""Interface of a simulated arm, independent of the simulator: efforts in, state out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from minertia.robot.effect import Constants, Effect
from minertia.robot.effects import BY_SYMBOL
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
RUNAWAY = 1e3  # rad/s or m/s: no joint moves so fast under control, and MuJoCo still computes
GRIP = (0.1, 0.0, 0.1)  # m, in the last link's frame: off the axis of a joint that turns there


class ActingEffect(NamedTuple):
    """Effect that acts at a joint: its row of the effect table, its parameter value, and its constants."""

    row: Effect
    value: float
    constants: Constants


More = Mapping[int, Sequence[ActingEffect]]  # effects of joints besides those of the robot


def acting_effects(robot: Robot, j: int, values: Mapping[str, float], more: More | None = None) -> list[ActingEffect]:
    """Effects of joint j with these values, and the additional ones in `more`."""
    own = [ActingEffect(BY_SYMBOL[s], v, robot.effect_constants(j, s)) for s, v in values.items() if v]
    return [*own, *(more or {}).get(j, ())]


class SimulatedArm(Protocol):
    """One robot in one simulator.

    q, qd (n,): true positions and velocities of the coordinates.
    """

    robot: Robot

    @property
    def q(self) -> Array: ...  # noqa: D102
    @property
    def qd(self) -> Array: ...  # noqa: D102

    def place(self, q: Array, qd: Array) -> None:
        """Set the state of the robot."""
        ...

    def go_on_from(self, other: SimulatedArm) -> None:
        """Take over the state of the same robot with other parameters."""
        ...

    def step(self, tau: Array, outside: Array | None) -> None:
        """Apply efforts (n,) for one step; outside: external efforts, in the coordinates of the `grip` Jacobian."""
        ...

    def grip(self) -> tuple[Array, Array, Array]:
        """Position (3,) [m] and velocity (3,) [m/s] of the point `GRIP` of the last link, and its Jacobian (3, any)."""
        ...

    def on_coordinates(self, jacobian: Array) -> Array:
        """Jacobian of `grip` with respect to the robot's coordinates (3, n)."""
        ...

"""What a rollout is given: values at the joints, commands, the unknowns whose derivatives are carried."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from minertia.io.arrays import Array

AT_JOINTS = ("kp", "kd", "ki", "limit", "zero")
OF_SPRINGS = ("cj", "dj", "rj")  # compliance, damping and rest of elastic joints
# kinds of unknowns, in the order of servo.c
KINDS = ("link", "effect", "kp", "kd", "ki", "delay", "q0", "v0", "zero", *OF_SPRINGS)


@dataclass(frozen=True)
class Springs:
    """Elastic joints of a group, each (m,): coordinates of link and motor, and what is between them.

    compliance [rad/(N m), m/N], damping [N m s/rad, N s/m]; rest: motor less link position without effort [rad, m].
    """

    link: tuple[int, ...] = ()
    motor: tuple[int, ...] = ()
    compliance: Array = field(default_factory=lambda: np.zeros(0))
    damping: Array = field(default_factory=lambda: np.zeros(0))
    rest: Array = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True)
class LoopValues:
    """Values of one group of n joints, on the joint side in N m (N), rad (m) and s.

    kp, kd, ki (n,): gains of the position loop; limit (n,): of its effort, infinite without.  zero (n,): the links are
    at q + zero.  effects: values of the effects of the group's kernel, in its order.  links: the links' parameters that
    are inputs of the kernel.  effort_delay: by which the loop's effort acts later [s], None where only the command
    does.  is_voltage: the limit holds for the part that is proportional to the position error alone, and damping is the
    motor's own.  is_euler: step as MuJoCo's Euler does, instead of the midpoint rule.  springs: elastic joints, whose
    motors are coordinates of their own behind the joints; sees: the coordinate that the law of each coordinate reads,
    its own where none is given.
    """

    kp: Array
    kd: Array
    ki: Array
    limit: Array
    zero: Array
    effects: Array = field(default_factory=lambda: np.zeros(0))
    links: Array = field(default_factory=lambda: np.zeros(0))
    effort_delay: float | None = None
    is_voltage: bool = False
    is_euler: bool = False
    springs: Springs = field(default_factory=Springs)
    sees: tuple[int, ...] = ()

    @property
    def seen(self) -> NDArray[np.int32]:
        """The coordinate that each law reads."""
        return np.array(self.sees or range(len(self.kp)), dtype=np.int32)


@dataclass(frozen=True)
class LoopCommand:
    """What the loop is told in each step, (steps, n).

    u, u_d: mean command and its derivative by the command's delay.  ud, ud_d: the same of the velocity reference; None
    where damping acts on the measured velocity.
    """

    u: Array
    u_d: Array
    ud: Array | None = None
    ud_d: Array | None = None


@dataclass(frozen=True)
class Rollout:
    """One simulation.

    h: step [s]; every: steps between rows; q0, v0: start (n,).  unknowns: (kind, place), the links' first; place is the
    joint within the group, or the entry of `LoopValues.links` or `LoopValues.effects`.
    """

    values: LoopValues
    command: LoopCommand
    h: float
    every: int
    q0: Array
    v0: Array
    unknowns: tuple[tuple[str, int], ...] = ()

    @property
    def steps(self) -> int:
        """Steps of the simulation."""
        return len(self.command.u)

    @property
    def rows(self) -> int:
        """Rows that come back, the start among them."""
        return self.steps // self.every + 1

    @property
    def ring(self) -> int:
        """Efforts of steps before that are kept: those that act later."""
        later = self.values.effort_delay
        return 0 if later is None else int(later / self.h) + 2

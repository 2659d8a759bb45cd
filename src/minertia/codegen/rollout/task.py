"""Arguments of a rollout: values at the joints, commands, and the unknowns of the sensitivities."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from minertia.io.arrays import Array

AT_JOINTS = ("kp", "kd", "ki", "limit", "zero")
OF_SPRINGS = ("cj", "dj", "rj")  # compliance, damping and rest of elastic joints
OF_TARGET = ("speed", "lapse")  # of servos driven by their duty: the target's speed, and the part that it loses
# of their motors: load of the gear, duty that starts the motor, temperature, supply, play of the gear
OF_MOTOR = ("share", "curve", "start", "warm", "sag", "play")
OF_DUTY = (*OF_TARGET, *OF_MOTOR)
OF_SUPPLY = ("gain", "room", "on", "volts", "heat")  # what drives their motors from each row on
# kinds of unknowns, in the order of servo.c
KINDS = ("link", "effect", "kp", "kd", "ki", "delay", "q0", "v0", "zero", *OF_SPRINGS, *OF_DUTY)


@dataclass(frozen=True)
class Springs:
    """Elastic joints of a group, each (m,): coordinates of link and motor, and the spring between them.

    compliance [rad/(N m), m/N], damping [N m s/rad, N s/m]; rest: motor minus link position at zero effort
    [rad, m].
    """

    link: tuple[int, ...] = ()
    motor: tuple[int, ...] = ()
    compliance: Array = field(default_factory=lambda: np.zeros(0))
    damping: Array = field(default_factory=lambda: np.zeros(0))
    rest: Array = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True)
class LoopValues:
    """Values of one group of n joints, on the joint side in N m (N), rad (m) and s.

    kp, kd, ki (n,): gains of the position servo.  limit (n,): limit of its effort, infinite if there is
    none. zero (n,): joint zeros; the links are at q + zero.  effects: values of the effects of the group's
    kernel, in its order.  links: link parameters that are inputs of the kernel.  effort_delay: delay of the
    servo's effort [s], None if only the command is delayed.  is_voltage: whether the limit is a voltage
    limit, which applies to the effort of the position error only and not to damping.  is_euler: whether to
    integrate like MuJoCo's Euler method instead of the midpoint rule.  springs: elastic joints, whose
    motors are separate coordinates after the joints.  sees: index of the coordinate that the controller of
    each coordinate measures; by default the coordinate itself.  share (n,): the load that friction depends on
    is this part of the motor's effort, and otherwise the static effort of the links; None: the effort that
    moves the links.  curve (n,): such a load L counts as L (1 + curve |L|) [1/(N m), 1/N].  start (n,): duty
    cycle that any position error adds.  warm (n,): relative change of the motor's effort with its temperature [1/K].
    sag (n,): drop of the supply by the motor's effort, times the duty cycle [V/(N m), V/N].  play (n,): between the
    gear and the shaft whose position is measured [rad or m], which stays while the gear crosses it; None: none.
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
    share: Array | None = None
    curve: Array | None = None
    start: Array | None = None
    warm: Array | None = None
    sag: Array | None = None
    play: Array | None = None

    @property
    def seen(self) -> NDArray[np.int32]:
        """Coordinate that the controller of each coordinate measures."""
        return np.array(self.sees or range(len(self.kp)), dtype=np.int32)


@dataclass(frozen=True)
class Supply:
    """What drives the motors from each row on, (rows, n): kp is then the effort of a volt.

    gain: volts of a position error [V/rad, V/m]; room: highest voltage [V]; on: 1 where the motor is switched
    on, 0 where it is open and its back-EMF drives no current; volts: supply where it is on [V]; heat: temperature
    of the motor over that at which kp and kd hold [K].
    """

    gain: Array
    room: Array
    on: Array
    volts: Array
    heat: Array


@dataclass(frozen=True)
class LoopCommand:
    """Commands of the servo in each step, (steps, n).

    u, u_d: mean command, and its derivative with respect to the command's delay.  ud, ud_d: the same for
    the velocity reference; None if damping acts on the measured velocity.  u_s, u_l: derivatives of the
    command with respect to the speed of the target and to its lapse; None if the target is the command.
    supply: of servos driven by their duty.
    """

    u: Array
    u_d: Array
    ud: Array | None = None
    ud_d: Array | None = None
    u_s: Array | None = None
    u_l: Array | None = None
    supply: Supply | None = None


@dataclass(frozen=True)
class Rollout:
    """One simulation of a group of joints.

    h: step [s]; every: steps between rows; q0, v0: initial state (n,).  unknowns: (kind, index) of each
    quantity for which sensitivities are computed, link parameters first; the index is the joint within the
    group, or the entry of `LoopValues.links`, `LoopValues.effects` or `LoopValues.springs`.
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
        """Number of simulation steps."""
        return len(self.command.u)

    @property
    def rows(self) -> int:
        """Number of returned rows, including the start."""
        return self.steps // self.every + 1

    @property
    def ring(self) -> int:
        """Number of past efforts to store for the delay."""
        later = self.values.effort_delay
        return 0 if later is None else int(later / self.h) + 2

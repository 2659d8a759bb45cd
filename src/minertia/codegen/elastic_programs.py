"""Programs of robots with elastic joints: accelerations and equations of links and motors.

Links: D qdd + b = spring = stiffness (motor - q) + damping (motor_rate - qd).  Motors: rotor motor_acceleration +
friction + spring = tau.  All on the joint side.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minertia.algebra.expr import Expr
from minertia.algebra.matrix import summed
from minertia.algebra.scalar import Scalar, add, div, mul, sub
from minertia.codegen.draft import EFFORT, Built, Draft
from minertia.codegen.program import Port
from minertia.dynamics.forward import solve_symmetric, velocity_names
from minertia.io.errors import InputError
from minertia.robot.effects import BY_SYMBOL
from minertia.robot.robot import Robot

SPRING_PORTS = {
    "stiffness": "of each spring [N m/rad, N/m]",
    "damping": "of each spring [N m s/rad, N s/m]",
    "rotor": "inertia of each rotor at its joint [kg m2, kg]",
}


def sprung_joints(robot: Robot) -> tuple[int, ...]:
    """Elastic coordinates: those named in the robot file, else all."""
    return tuple(robot.elastic) or tuple(range(robot.n))


def parted(chi: Sequence[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Split effects into the motor side of the springs (friction and offsets) and the link side (all others).

    Rotor inertias would count as link side; a robot with elastic joints has none among its effects.
    """

    def is_friction(symbol: str) -> bool:
        row = BY_SYMBOL[symbol]
        return not row.is_at_link and "qdd" not in row.inputs

    effects = [{s: v for s, v in x.items() if s in BY_SYMBOL} for x in chi]
    at_motor = [{s: v for s, v in x.items() if is_friction(s)} for x in effects]
    at_link = [{s: v for s, v in x.items() if not is_friction(s)} for x in effects]
    return at_motor, at_link


class _SprungDraft:
    """Inputs and terms that both programs of robots with elastic joints share."""

    def __init__(self, d: Draft) -> None:
        if d.robot.elastic and d.setting.rotors:
            raise InputError(
                f"rotors of '{d.robot.name}' are separated from its links by springs: generate programs for "
                "elastic joints without rotor inertia (--no-rotors, CodeModel(rotors=False)); their inertia is the "
                "input 'rotor'"
            )
        n = d.robot.n
        self.d, self.chi = d, d.chi()
        self.motor = Port("motor", (n,), "positions of the motors at their joints [rad, m]")
        self.rate = Port("motor_rate", (n,), "velocities of the motors [rad/s, m/s]")
        self.ports = [Port(name, (n,), text) for name, text in SPRING_PORTS.items()]
        self.stiffness, self.damping, self.rotor = (d.read(port) for port in self.ports)
        self.q, self.qd, self.theta, self.thetad = (
            d.read(port) for port in (d.q_port, d.qd_port, self.motor, self.rate)
        )
        self.sprung = sprung_joints(d.robot)

    @property
    def state_ports(self) -> list[Port]:
        return [self.d.q_port, self.d.qd_port, self.motor, self.rate]

    def springs(self) -> list[Scalar]:
        """Spring efforts on the links; 0 at rigid joints."""
        found: list[Scalar] = [0] * self.d.robot.n
        for j in self.sprung:
            wound, rate = sub(self.theta[j], self.q[j]), sub(self.thetad[j], self.qd[j])
            found[j] = add(mul(self.stiffness[j], wound), mul(self.damping[j], rate))
        return found

    def friction(self, load: Sequence[Scalar]) -> list[Scalar]:
        """Friction and offset efforts on the motor side; load: transmitted efforts."""
        turns: list[Expr] = [self.thetad[j] if j in self.sprung else self.qd[j] for j in range(self.d.robot.n)]
        return self.d.effects(parted(self.chi)[0], turns, self.d.rest, load, rotors=False)

    def links(self, qdd: Sequence[Scalar]) -> list[Scalar]:
        """Rigid-body efforts of the links, other springs included."""
        rigid = self.d.torques(self.chi, self.qd, qdd)
        return summed(rigid, self.d.effects(parted(self.chi)[1], self.qd, qdd, rigid))


def _elastic_forward_dynamics(d: Draft) -> Built:
    s, n = _SprungDraft(d), d.robot.n
    tau_port = Port("tau", (n,), "efforts of the motors at their joints [N m, N]")
    tau, spring = d.read(tau_port), s.springs()
    carried = [spring[j] if j in s.sprung else tau[j] for j in range(n)]
    friction = s.friction(carried)
    D = [list(row) for row in d.mass(s.chi)]
    for j in range(n):
        if j not in s.sprung:  # a rigid joint moves its rotor with its link
            D[j][j] = add(D[j][j], s.rotor[j])
            carried[j] = sub(tau[j], friction[j])
    left = [sub(a, b) for a, b in zip(carried, s.links(d.rest), strict=True)]
    qdd = solve_symmetric(D, left, velocity_names(d.robot))
    motors = [div(sub(sub(tau[j], friction[j]), spring[j]), s.rotor[j]) if j in s.sprung else qdd[j] for j in range(n)]
    ports = [Port("qdd", (n,), "accelerations of the links"), Port("motor_acceleration", (n,), "of the motors")]
    return [*s.state_ports, tau_port, *s.ports, *d.warmth_ports], ports, [*qdd, *motors]


def _elastic_inverse_dynamics(d: Draft) -> Built:
    s, n = _SprungDraft(d), d.robot.n
    last = Port("motor_acceleration", (n,), "of the motors [rad/s2, m/s2]")
    qdd, thetadd = d.read(d.qdd_port), d.read(last)
    spring, links = s.springs(), s.links(qdd)
    carried = [spring[j] if j in s.sprung else links[j] for j in range(n)]
    friction = s.friction(carried)
    turned = [thetadd[j] if j in s.sprung else qdd[j] for j in range(n)]
    tau = [add(add(mul(s.rotor[j], turned[j]), friction[j]), carried[j]) for j in range(n)]
    rest = [sub(spring[j], links[j]) if j in s.sprung else 0 for j in range(n)]
    ports = [
        Port("tau", (n,), f"{EFFORT}, of the motors"),
        Port("residual", (n,), "effort of each spring less what its link needs [N m, N]: 0 in a motion that can be"),
    ]
    return [*s.state_ports, d.qdd_port, last, *s.ports, *d.warmth_ports], ports, [*tau, *rest]


ELASTIC_BUILDERS: dict[str, Callable[[Draft], Built]] = {
    "elastic_forward_dynamics": _elastic_forward_dynamics,
    "elastic_inverse_dynamics": _elastic_inverse_dynamics,
}

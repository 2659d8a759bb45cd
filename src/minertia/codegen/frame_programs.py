"""Programs about a chosen frame: a wrench that acts there, its Jacobian, its pose."""

from __future__ import annotations

from collections.abc import Callable

from minertia.algebra.matrix import summed
from minertia.algebra.scalar import Scalar
from minertia.codegen.draft import ACCELERATION, EFFORT, Built, Draft, flat
from minertia.codegen.program import Port
from minertia.dynamics.frame import AppliedWrench, applied, frame_pose, jacobian


def _place(d: Draft) -> str:
    chosen = d.setting.frame
    axes = "axes of the world" if chosen.axes == "world" else "its own axes"
    return f"frame {chosen.of(d.setting.robot)}, {axes}"


def _wrench(d: Draft) -> tuple[Port, AppliedWrench]:
    text = f"force [N] and moment [N m] that the surroundings exert on the robot at the origin of the {_place(d)}"
    port = Port("wrench", (6,), text)
    closed = d.closed(d.rest, d.rest)
    return port, applied(closed.tree, closed.state.q, d.frame, d.setting.frame.axes, d.read(port))


def _inverse_dynamics_wrench(d: Draft) -> Built:
    chi, qd, qdd = d.chi(), d.read(d.qd_port), d.read(d.qdd_port)
    port, outside = _wrench(d)
    rigid = d.torques(chi, qd, qdd, outside=outside)
    tau = d.at_motors(summed(rigid, d.effects(chi, qd, qdd, rigid)))
    return [d.q_port, d.qd_port, d.qdd_port, port, *d.warmth_ports], [Port("tau", (len(tau),), EFFORT)], tau


def _forward_dynamics_wrench(d: Draft) -> Built:
    n, chi, qd = d.robot.n_velocity, d.chi(), d.read(d.qd_port)
    tau_port = Port("tau", (n,), EFFORT)
    port, outside = _wrench(d)
    qdd = d.accelerations(chi, qd, d.read(tau_port), d.torques(chi, qd, d.rest, outside=outside))
    return [d.q_port, d.qd_port, tau_port, port, *d.warmth_ports], [Port("qdd", (n,), ACCELERATION)], qdd


def _jacobian(d: Draft) -> Built:
    closed = d.closed(d.rest, d.rest)
    J = closed.columns(jacobian(closed.tree, closed.state.q, d.frame, d.setting.frame.axes))
    text = f"velocity of the origin, then angular velocity, of the {_place(d)}, for unit joint velocities"
    return [d.q_port], [Port("J", (6, d.robot.n_velocity), text)], flat(J)


def _forward_kinematics(d: Draft) -> Built:
    closed = d.closed(d.rest, d.rest)
    R, p = frame_pose(closed.tree, closed.state.q, d.frame)
    name = d.setting.frame.of(d.setting.robot)
    ports = [
        Port("R", (3, 3), f"rotation from the axes of frame {name} to those of the world"),
        Port("p", (3,), f"position of the origin of frame {name} in the world [m]"),
    ]
    outputs: list[Scalar] = [*flat(R), *p]
    return [d.q_port], ports, outputs


FRAME_BUILDERS: dict[str, Callable[[Draft], Built]] = {
    "inverse_dynamics_wrench": _inverse_dynamics_wrench,
    "forward_dynamics_wrench": _forward_dynamics_wrench,
    "jacobian": _jacobian,
    "forward_kinematics": _forward_kinematics,
}

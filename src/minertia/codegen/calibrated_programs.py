"""Programs of calibrated robots: joint correction and its inverse, tool pose and Jacobian at encoder readings.

Encoders read q, joints are at q_corrected = q + c(q), where c(q) are the corrections of a calibration
(gear ratio, eccentricity, coupling, sag).  The inverse iterates q_command = q - c(q_command); each step
multiplies its error by the derivative of c.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from minertia.algebra.derivative import reverse
from minertia.algebra.expr import Expr
from minertia.algebra.matrix import inner
from minertia.algebra.scalar import Scalar, sub
from minertia.base.numeric import random_states
from minertia.codegen.draft import POSITION, Built, Draft, flat
from minertia.codegen.program import Port
from minertia.dynamics.frame import frame_named, frame_pose, jacobian
from minertia.dynamics.options import ChosenFrame
from minertia.io.arrays import Array
from minertia.io.errors import InputError
from minertia.robot.robot import Robot

SAMPLED = 500  # random postures, at which the steps of the inverse are counted
CLOSE = 1e-15  # rad, m: change of a step that is the last
MOST_STEPS = 20  # beyond, slopes of the corrections are above 0.2, and no calibration is right
STEP = 1e-30  # of complex differences, which lose no digits


def calibrated_frame(robot: Robot, chosen: ChosenFrame) -> ChosenFrame:
    """Frame of the program: the chosen one, or the calibrated tool frame if none was named."""
    if chosen.name is not None or robot.corrections is None:
        return chosen
    return ChosenFrame(robot.corrections.frame, chosen.axes)


def corrected_positions(robot: Robot, q: Array) -> Array:
    """Joint positions (N, n) at the encoder readings q (N, n); complex input gives complex output."""
    found = robot.corrected(list(q.T))
    return np.stack([np.broadcast_to(np.asarray(x), len(q)) for x in found], axis=1)


def correction_slopes(robot: Robot, q: Array) -> Array:
    """Derivatives (N, n, n) of `corrected_positions` with respect to the encoder readings, by complex steps."""
    steps = 1j * STEP * np.eye(q.shape[1])
    return np.stack([corrected_positions(robot, q + step).imag / STEP for step in steps], axis=2)


def inverse_steps(robot: Robot) -> int:
    """Number of fixed-point steps until the inverse of the joint correction is exact to rounding, and one more."""
    if robot.corrections is None or not robot.corrections.terms:
        return 0
    q = np.asarray(random_states(robot, SAMPLED, 0)[0])
    command = q
    for step in range(1, MOST_STEPS):
        last, command = command, q - (corrected_positions(robot, command) - command)
        if np.abs(command - last).max() <= CLOSE:
            return step
    raise InputError(
        f"the joint corrections of '{robot.name}' cannot be inverted: {MOST_STEPS} iterations do not converge; "
        "calibrate the robot with fewer levels"
    )


def _correct_joints(d: Draft) -> Built:
    found = d.robot.corrected(d.read(d.q_port))
    return (
        [d.q_port],
        [Port("q_corrected", (len(found),), "positions of the joints [rad, m] where encoders read q")],
        found,
    )


def _command_joints(d: Draft) -> Built:
    q = d.read(d.q_port)
    command: list[Scalar] = list(q)
    for _ in range(inverse_steps(d.robot)):
        change = [sub(c, x) for c, x in zip(d.robot.corrected(command), command, strict=True)]
        command = [sub(x, c) for x, c in zip(q, change, strict=True)]
    wanted = Port("q", (len(q),), f"wanted {POSITION}")
    return (
        [wanted],
        [Port("q_command", (len(q),), "positions to command [rad, m], so that the joints are at q")],
        command,
    )


def _calibrated_forward_kinematics(d: Draft) -> Built:
    chosen = calibrated_frame(d.robot, d.setting.frame)
    R, p = frame_pose(d.robot, d.robot.corrected(d.read(d.q_port)), frame_named(d.robot, chosen.name))
    name = chosen.of(d.setting.robot)
    ports = [
        Port("R", (3, 3), f"rotation from the axes of frame {name} to those of the world"),
        Port("p", (3,), f"position of the origin of frame {name} in the world [m]"),
    ]
    outputs: list[Scalar] = [*flat(R), *p]
    return [d.q_port], ports, outputs


def _calibrated_jacobian(d: Draft) -> Built:
    chosen = calibrated_frame(d.robot, d.setting.frame)
    q = d.read(d.q_port)
    corrected = d.robot.corrected(q)
    J = jacobian(d.robot, corrected, frame_named(d.robot, chosen.name), chosen.axes)
    slopes = [_slopes(d, entry, q) for entry in corrected]
    found = [[inner(row, [slope[c] for slope in slopes], 0) for c in range(len(q))] for row in J]
    axes = "axes of the world" if chosen.axes == "world" else "its own axes"
    text = (
        f"velocity of the origin, then angular velocity, of the frame {chosen.of(d.setting.robot)}, {axes}, for unit "
        "velocities of the encoders"
    )
    return [d.q_port], [Port("J", (6, len(q)), text)], flat(found)


def _slopes(d: Draft, output: Scalar, q: Sequence[Expr]) -> list[Scalar]:
    """Derivatives of an expression with respect to each entry of q; ints where they are 0 or 1."""
    if not isinstance(output, Expr):
        return [0] * len(q)
    adjoints = reverse(d.graph, [output], [d.graph.constant(1.0)])
    found: list[Scalar] = []
    for x in q:
        slope = adjoints.get(x.id, 0)
        value = slope.value if isinstance(slope, Expr) else slope
        found.append(int(value) if value in (0, 1) else slope)
    return found


CALIBRATED_BUILDERS: dict[str, Callable[[Draft], Built]] = {
    "correct_joints": _correct_joints,
    "command_joints": _command_joints,
    "calibrated_forward_kinematics": _calibrated_forward_kinematics,
    "calibrated_jacobian": _calibrated_jacobian,
}

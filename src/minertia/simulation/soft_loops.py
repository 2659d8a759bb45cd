"""Cross-check of closed kinematic chains with MuJoCo, which closes them by soft constraints, at two impedances.

MuJoCo is independent of minertia's loop closure, parallelograms included.  The errors of its accelerations
are proportional to 1 - impedance, so the results at two impedances are extrapolated to rigid loops.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.dynamics.kinematics import State, joint_positions, joint_rates
from minertia.dynamics.loops.projection import project
from minertia.dynamics.model import inverse_dynamics
from minertia.excitation.trajectory import Trajectory
from minertia.robot.formats.mjcf.write import to_mjcf
from minertia.robot.robot import Robot
from minertia.simulation.engines import compiled_spec, mujoco_package

Array = NDArray[np.float64]
IMPEDANCES = (0.999, 0.9999)  # of MuJoCo's constraints: 1 would be rigid
STATES = 40  # along the motion


@dataclass(frozen=True, slots=True)
class SoftLoops:
    """Difference between MuJoCo's and minertia's accelerations: RMS of the worst joint, relative to the largest.

    errors: at each impedance.  rigid: after extrapolation to rigid loops.
    """

    impedances: tuple[float, float]
    errors: tuple[float, float]
    rigid: float

    def sentence(self) -> str:
        """Result as a message."""
        pairs = zip(self.errors, self.impedances, strict=True)
        found = " and ".join(f"{100 * error:.2g} % at impedance {d:g}" for error, d in pairs)
        rigid = f"{100 * self.rigid:.1g} %"
        return (
            f"accelerations of MuJoCo, whose loop constraints are soft, differ by {found}: {rigid} with rigid "
            "constraints"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return as a dict of plain data, for JSON."""
        return {"impedances": list(self.impedances), "errors": list(self.errors), "rigid": self.rigid}


def soft_loops(robot: Robot, motion: Trajectory) -> SoftLoops:
    """Compare accelerations along a trajectory of a robot with closed chains, without friction and springs."""
    smooth = robot.numeric.without_effects(["friction"])
    rows = np.linspace(0, len(motion.q) - 1, STATES).astype(int)
    q, qd, qdd = motion.q[rows], motion.qd[rows], motion.qdd[rows]
    tau = np.asarray(inverse_dynamics(smooth, q, qd, qdd), float)
    closed = project(smooth, State(list(q.T), list(qd.T), list(qdd.T)))
    tree, state = closed.tree, closed.state
    positions = _samples(joint_positions(tree, state.q), len(q))
    rates = _samples(joint_rates(tree, state.qd), len(q))
    soft, stiff = (_accelerations(smooth, impedance, positions, rates, tau) for impedance in IMPEDANCES)
    a, b = (1 - impedance for impedance in IMPEDANCES)
    errors = [_size(found - qdd) / _size(qdd) for found in (soft, stiff, (a * stiff - b * soft) / (a - b))]
    return SoftLoops(IMPEDANCES, (errors[0], errors[1]), errors[2])


def _size(accelerations: Array) -> float:
    """Largest root mean square over the joints."""
    return float(np.sqrt(np.mean(accelerations**2, axis=0)).max())


def _samples(values: list[Any], count: int) -> Array:
    return np.stack([np.broadcast_to(np.asarray(value, float), count) for value in values], axis=1)


def _accelerations(robot: Robot, impedance: float, positions: Array, rates: Array, tau: Array) -> Array:
    """MuJoCo's accelerations of the coordinates at all joint positions and velocities, under given efforts."""
    mujoco = mujoco_package()
    free = tuple(replace(joint, follows=None) if joint.is_passive else joint for joint in robot.joints)
    spec = mujoco.MjSpec.from_string(to_mjcf(replace(robot, joints=free)))
    for equality in spec.equalities:
        equality.solimp = (impedance, impedance, 1e-3, 0.5, 2)
    model = compiled_spec(spec, robot)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_LIMIT  # what stops a joint is no loop
    data = mujoco.MjData(model)
    where = [int(model.joint(joint.name).dofadr[0]) for joint in robot.joints]
    active = [where[j] for j in robot.independent]
    found = np.zeros_like(tau)
    for k in range(len(tau)):
        data.qpos[where], data.qvel[where] = positions[k], rates[k]
        data.qfrc_applied[active] = tau[k]
        mujoco.mj_forward(model, data)
        found[k] = data.qacc[active]
    return found

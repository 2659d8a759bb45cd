"""Poses at rest at which a force/torque sensor weighs its tool: gravity directions far apart, within the limits.

The determinant of the information on load, bias and tilt is maximised by adding and exchanging whole poses (Fedorov
1972).  It depends on a pose only through the direction of gravity in the sensor's axes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minertia.dynamics.model import forward_kinematics
from minertia.excitation.limits import MotionLimits
from minertia.io.arrays import Array
from minertia.io.errors import Infeasible, InputError
from minertia.io.files import write_file
from minertia.io.notebook import clipped, plural
from minertia.robot.files import RobotLike, as_robot
from minertia.robot.robot import Robot

FEWEST = 3  # poses: three gravity directions show load and bias
CANDIDATES = 3000
EXCHANGES = 2  # rounds over all poses
NOISE = np.repeat([0.1, 0.005], 3)  # N, N m: of a usual wrist sensor, beside the tool that is expected
MASS, CENTRE = 1.0, np.array([0.0, 0.0, 0.05])  # kg, m: of that tool
TILT = 1 / np.deg2rad(1.0)  # inverse deviation of a sensor's tilt that is expected
WEAK = 1e-6  # information on what no pose shows yet


@dataclass(frozen=True)
class SensorPosePlan:
    """Poses of a sensor: joint positions (N, robot.n) [rad, m] in the order in which to visit them.

    deviations: standard deviations of mass [kg] and centre of mass [m] of a tool of 1 kg on a usual sensor.
    """

    robot: Robot
    frame: str
    q: Array
    deviations: tuple[float, float]

    def to_csv(self) -> str:
        """Text of a CSV file with columns named after the joints."""
        names = self.robot.coordinate_names
        return "\n".join([",".join(names), *(",".join(f"{v:.6f}" for v in row) for row in self.q)]) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Return as a dict of plain data."""
        return {
            "format": 1,
            "robot": self.robot.name,
            "frame": self.frame,
            "joints": list(self.robot.coordinate_names),
            "poses": self.q.tolist(),
            "deviations": {"mass": self.deviations[0], "centre": self.deviations[1]},
        }

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the poses as a CSV file."""
        write_file(path, self.to_csv(), force=force)

    def __repr__(self) -> str:
        return f"<SensorPosePlan of '{clipped(self.robot.name, 40)}': {plural(len(self.q), 'pose')} of {self.frame}>"


def plan_sensor_poses(robot: RobotLike, frame: str, count: int, limits: MotionLimits) -> SensorPosePlan:
    """Plan `count` poses at rest for a sensor in a link or frame, within limits and free of collision."""
    robot = as_robot(robot)
    if not count >= FEWEST:
        raise InputError(f"a sensor needs at least {FEWEST} poses to weigh its tool, not {count}")
    q = _candidates(limits, count, robot.name)
    R = np.asarray(forward_kinematics(robot, q, frame)[0])
    up = -np.array(robot.gravity, float)
    if not np.any(up):
        raise InputError(f"'{robot.name}' has no gravity, so that no pose shows the weight of a tool; set --gravity")
    J = _columns(np.einsum("nji,j->ni", R, up)) / NOISE[:, None]
    chosen = _exchanged(J, _added(J, count))
    best = q[chosen][_short_order(q[chosen])]
    covariance = np.linalg.inv(_information(J, chosen))
    spread = np.sqrt(np.diag(covariance))
    return SensorPosePlan(robot, frame, best, (float(spread[0]), float(np.linalg.norm(spread[1:4]) / MASS)))


def _candidates(limits: MotionLimits, count: int, name: str) -> Array:
    """Random postures within the limits of position, without collision."""
    rng = np.random.default_rng(0)
    q = rng.uniform(limits.lower, limits.upper, (CANDIDATES, len(limits.names)))
    if limits.clearance is not None and limits.clearance.counts:
        q = q[limits.clearance.room(q) > 0]
    if len(q) < 2 * count:
        raise Infeasible(
            f"only {len(q)} of {CANDIDATES} random postures of '{name}' are free of collision, too few for {count} "
            "poses; lower the floor, or widen the joint limits"
        )
    return q


def _columns(a: Array) -> Array:
    """Derivatives (N, 6, 13) of the wrench by mass, first moments, bias and tilt; a (N, 3): force per unit mass."""
    x, y, z = a.T
    o = np.zeros_like(x)
    cross = np.moveaxis(np.array([[o, -z, y], [z, o, -x], [-y, x, o]]), 2, 0)
    J = np.zeros((len(a), 6, 13))
    J[:, :3, 0] = a
    J[:, 3:, 1:4] = -cross
    J[:, :, 4:10] = np.eye(6)
    J[:, :3, 10:] = MASS * cross
    c = MASS * CENTRE
    lever = np.array([[0.0, -c[2], c[1]], [c[2], 0.0, -c[0]], [-c[1], c[0], 0.0]])
    J[:, 3:, 10:] = lever @ cross
    return J


def _information(J: Array, chosen: list[int]) -> Array:
    prior = np.full(13, WEAK)
    prior[10:] = TILT**2
    return np.asarray(np.einsum("kmc,kmd->cd", J[chosen], J[chosen]) + np.diag(prior))


def _added(J: Array, count: int) -> list[int]:
    """Poses added one by one, each with the largest gain of the determinant."""
    chosen: list[int] = []
    for _ in range(count):
        chosen.append(int(np.argmax(_gains(J, _information(J, chosen)))))
    return chosen


def _exchanged(J: Array, chosen: list[int]) -> list[int]:
    """Poses exchanged for others while that increases the determinant."""
    for _ in range(EXCHANGES):
        for k in range(len(chosen)):
            others = chosen[:k] + chosen[k + 1 :]
            gains = _gains(J, _information(J, others))
            best = int(np.argmax(gains))
            if gains[best] > gains[chosen[k]]:
                chosen[k] = best
    return chosen


def _gains(J: Array, H: Array) -> Array:
    """Logarithm of the determinant's increase by each pose."""
    inner = np.eye(6) + J @ np.linalg.inv(H) @ J.transpose(0, 2, 1)
    return np.asarray(np.linalg.slogdet(inner)[1])


def _short_order(q: Array) -> list[int]:
    """Order of the poses in which the next one is the nearest of the rest, from the one nearest to zero on."""
    left = set(range(len(q)))
    order = [int(np.argmin(np.linalg.norm(q, axis=1)))]
    left.remove(order[0])
    while left:
        order.append(min(left, key=lambda k: float(np.linalg.norm(q[k] - q[order[-1]]))))
        left.remove(order[-1])
    return order

"""A load that is known: what it asks of the joints is taken off what was measured, so the empty robot is fitted."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from minertia.identification.loads.body import body_columns
from minertia.identification.loads.load import Load
from minertia.identification.signals.filtering import Motion
from minertia.io.errors import CampaignError
from minertia.robot.inertia import from_com, impossible, symmetric
from minertia.robot.robot import Robot

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Carried:
    """A body fixed in a frame of a robot: ten parameters about the frame's origin; at: the frame, or the last link."""

    robot: Robot
    ten: tuple[float, ...]
    at: str | None = None

    def efforts(self, motion: Motion) -> Array:
        """What the load asks of every joint, (N, efforts)."""
        rows = range(self.robot.n_velocity)
        return np.asarray(body_columns(self.robot, rows, motion.q, motion.qd, motion.qdd, self.at) @ np.array(self.ten))

    def taken_off(self, motion: Motion) -> Motion:
        """The motion with the efforts that the empty robot needs."""
        return replace(motion, tau=motion.tau - self.efforts(motion))


def carried(robot: Robot, load: Load | None) -> Carried | None:
    """The load of a log as a body; without a centre it is a point at the frame's origin."""
    if load is None:
        return None
    inertia = symmetric(load.inertia or (0.0,) * 6)
    ten = tuple(float(v) for v in from_com(load.mass, load.com or (0.0, 0.0, 0.0), inertia))
    robot.payload_frame(load.at)
    if load.inertia is not None and (why := impossible(list(ten))) is not None:
        raise CampaignError(f"no body can have this load: {why}", field="load")
    return Carried(robot, ten, load.at)

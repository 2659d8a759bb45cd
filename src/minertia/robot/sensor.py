"""Force/torque sensors in a robot: each divides a link into a near part, towards the ground, and a far part."""

from __future__ import annotations

from dataclasses import dataclass

from minertia.algebra.vec3 import HERE, Pose
from minertia.robot.inertia import Ten

AXES = ("fx", "fy", "fz", "mx", "my", "mz")  # of a sensor's efforts, in this order


@dataclass(frozen=True, slots=True)
class Sensor:
    """Sensor in the link of a joint (None: ground or floating base), with its far part.

    pose: frame of the sensor in the frame of the joint.  beyond: joints that the far part carries.  ten: parameters
    of the far part in the frame of the joint, None where they are not known.  bias [N, N m]: of its six efforts.
    """

    name: str
    joint: int | None
    pose: Pose = HERE
    beyond: tuple[int, ...] = ()
    ten: Ten | None = None
    bias: tuple[float, ...] = (0.0,) * 6

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of its efforts."""
        return tuple(f"{self.name} {axis}" for axis in AXES)

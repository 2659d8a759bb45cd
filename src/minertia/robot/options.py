"""`RobotOptions`: base, gravity and locked joints with which a robot is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from minertia.io.schema import Declared, option

BASES = ("fixed", "floating")


@dataclass(frozen=True, slots=True, repr=False)
class RobotOptions(Declared):
    """Options with which a robot is read; they take precedence over its file."""

    base: str | None = option(
        None,
        "Kind of base. `fixed` holds a robot whose file lets its base move (a quadruped on a stand).",
        choices=BASES,
        command="base",
        otherwise="the file's",
    )
    gravity: tuple[float, ...] | None = option(
        None,
        "Gravity in the robot's base frame; zeros for none.",
        unit="m/s2",
        range=(-1e3, 1e3),
        length=3,
        command="gravity",
        otherwise="the robot's",
    )
    hold: Mapping[str, float | None] = option(
        factory=dict,
        help="Joints to lock, such as those of a gripper, with their positions. What they carry belongs to the link "
        "before, and a log needs no columns for them (`hold = { panda_finger_joint1 = 0.02 }`). `campaign new` asks "
        "for them, and where columns go by numbers also which they are. On command lines a joint without a position "
        "is locked at 0, or at the nearest limit.",
        unit="rad or m",
        command="hold",
        otherwise="none",
    )

"""Options of reading robots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from minertia.io.schema import Declared, option

BASES = ("fixed", "floating")


@dataclass(frozen=True, slots=True, repr=False)
class RobotOptions(Declared):
    """Options with which a robot is read; they take precedence over its file."""

    base: str | None = option(
        None,
        "Kind of base. `fixed` fixes a floating base of the file (a quadruped on a stand).",
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
        help="Joints to lock, with their positions (on command lines by default 0, or the nearest limit). Logs need no "
        "columns for them (`hold = { panda_finger_joint1 = 0.02 }`); their links become part of the parent link. "
        "`campaign new` asks for the positions.",
        unit="rad or m",
        command="hold",
        otherwise="none",
    )
    prim: str = option(
        "",
        "Path of the robot's prim in a USD stage, such as /World/arm.",
        pattern=r"\S*",
        command="prim",
        otherwise="the only robot of the stage",
    )


def _targets() -> Iterable[str]:
    from minertia.robot.targets import BY_NAME

    return BY_NAME


@dataclass(frozen=True, slots=True, repr=False)
class ExportOptions(Declared):
    """Programs for which robot files are written."""

    export: tuple[str, ...] = option(
        (),
        "Programs for which files are written, each with the best parameters that it can represent.",
        choices=_targets,
        command="export",
    )

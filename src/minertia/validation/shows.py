"""The generated controllers at work: a table of what is done with a stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from minertia.errors import Infeasible
from minertia.robot.inertia import impossible
from minertia.robot.robot import Robot
from minertia.robot.smooth import smooth_friction
from minertia.validation.adaptation import Adaptation, show_adaptation
from minertia.validation.compiled import CompiledCode, compiled_code
from minertia.validation.contact import Detection, show_collisions
from minertia.validation.guiding import Guiding, show_guiding
from minertia.validation.stage import SHOWN_PROGRAMS, Stage

Shown: TypeAlias = Adaptation | Detection | Guiding
WIDTH = 0.02  # rad/s or m/s: friction at measured velocities must not jump with the noise of a joint at rest

# name -> what is done with a stage and that many seconds of free motion to be watched
SHOWS: Mapping[str, Callable[[Stage, float], Shown]] = MappingProxyType(
    {
        "adaptive": lambda stage, _: show_adaptation(stage),
        "collision": show_collisions,
        "guiding": lambda stage, _: show_guiding(stage),
    }
)


def shown_robot(robot: Robot) -> Robot:
    """The identified robot as the controllers have it: smooth friction, and links that adaptation can begin with."""
    for joint, ten in zip(robot.joints, robot.links, strict=True):
        why = "it has no mass" if ten is None or ten[9] <= 0 else impossible(ten)
        if why is not None:
            raise Infeasible(f"adaptive control cannot begin with link '{joint.link or joint.name}': {why}")
    return smooth_friction(robot, WIDTH)


def shown_code(robot: Robot, folder: Path) -> CompiledCode:
    """The programs of all shows, written into a folder and compiled."""
    return compiled_code(robot, folder, SHOWN_PROGRAMS)

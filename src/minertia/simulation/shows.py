"""Demonstrations of the generated controllers: table of functions that run on a rig."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from minertia.dynamics.loops.closing import closing_of
from minertia.io.errors import Infeasible
from minertia.robot.inertia import impossible
from minertia.robot.robot import Robot
from minertia.robot.variants import smooth_friction
from minertia.simulation.adaptation import Adaptation, show_adaptation
from minertia.simulation.compiled import CompiledCode, compiled_code
from minertia.simulation.contact import Detection, show_collisions
from minertia.simulation.guiding import Guiding, show_guiding
from minertia.simulation.rig import SHOWN_PROGRAMS, Rig

Shown: TypeAlias = Adaptation | Detection | Guiding
WIDTH = 0.02  # rad/s or m/s: friction at measured velocities must not jump with the noise of a joint at rest

# name -> what is done with a rig and that many seconds of free motion to be watched
SHOWS: Mapping[str, Callable[[Rig, float], Shown]] = MappingProxyType(
    {
        "adaptive": lambda rig, _: show_adaptation(rig),
        "collision": show_collisions,
        "guiding": lambda rig, _: show_guiding(rig),
    }
)


def shown_robot(robot: Robot) -> Robot:
    """Identified robot for the controllers: smooth friction, and links that are valid initial values of adaptation."""
    for joint, ten in zip(robot.joints, robot.links, strict=True):
        why = "it has no mass" if ten is None or ten[9] <= 0 else impossible(ten)
        if why is not None:
            raise Infeasible(f"adaptive control cannot start with link '{joint.link or joint.name}': {why}")
    return smooth_friction(robot, WIDTH)


def shown_code(robot: Robot, folder: Path) -> CompiledCode:
    """Write the programs of all demonstrations into a folder and compile them."""
    if robot.open_cuts and (names := closing_of(robot.numeric).iterated_names):
        raise Infeasible(
            f"controllers are simulated only on loops with a closed-form solution, which {', '.join(names)} do not have"
        )
    return compiled_code(robot, folder, SHOWN_PROGRAMS)

"""Robots made simulable: inertias replaced by the nearest consistent ones, no temperature dependence."""

from __future__ import annotations

from minertia.robot.effects import EFFECTS
from minertia.robot.inertia import impossible, nearest_possible
from minertia.robot.parameters import LINK_SYMBOLS
from minertia.robot.robot import Robot


def _possible(robot: Robot) -> tuple[Robot, tuple[str, ...]]:
    """Robot with physically consistent inertias, which MuJoCo requires, and a message on changed links.

    Published files often have inertias that violate the triangle inequality; a rehearsal only needs a plausible
    robot.
    """
    changed: dict[str, float] = {}
    links = []
    for j, (joint, ten) in enumerate(zip(robot.joints, robot.links, strict=True)):
        if ten is None or ten[9] <= 0 or impossible(ten) is None:
            continue
        links.append(f"'{joint.link or joint.name}'")
        changed |= {f"{s}{j + 1}": float(v) for s, v in zip(LINK_SYMBOLS, nearest_possible(ten), strict=True)}
    if not links:
        return robot, ()
    text = (
        f"the inertia of {', '.join(links)} in the robot file is not physically consistent; the nearest "
        "physically consistent one is simulated"
    )
    return robot.with_parameters(changed), (text,)


def simulable_robot(robot: Robot) -> tuple[Robot, tuple[str, ...]]:
    """Simulable version of a robot, and messages on the changes."""
    robot.parameters()  # says what is missing
    found, notes = _possible(robot)
    if found.has_input("presliding"):
        notes = (*notes, "presliding is not simulated: friction is that of steady sliding at once")
    if not found.has_input("temperature"):
        return found, notes
    warm = [e.name for e in EFFECTS if "temperature" in e.inputs]
    return found.without_effects(warm), (*notes, f"temperature is not simulated: {', '.join(warm)} are omitted")

"""What a description format has no place for, said once for all of them."""

from __future__ import annotations

import re
from collections.abc import Collection

from minertia.robot.effects import BY_SYMBOL, Effect
from minertia.robot.robot import Note, Robot


def unheld_effects(robot: Robot, held: Collection[str], where: str) -> list[Note]:
    """A note for each joint with effects that a format cannot hold; held: symbols it can, where: its name."""
    notes = []
    for j, (joint, effects) in enumerate(zip(robot.joints, robot.effects, strict=True)):
        lost = [f"{_noun(BY_SYMBOL[s])} ({s}{j + 1} = {v:.4g})" for s, v in effects.items() if v and s not in held]
        if lost:
            text = f"{where} has no place for the {', the '.join(lost)}: left out, so that efforts differ by it"
            notes.append(Note("warning", f"joint '{joint.name}'", text))
        if joint.elastic is not None:
            text = f"{where} has no place for its elasticity: written as a rigid joint"
            notes.append(Note("warning", f"joint '{joint.name}'", text))
    return notes


def unheld_motors(robot: Robot, held: Collection[str], where: str) -> list[Note]:
    """The same for motors that turn with several joints."""
    notes = []
    for j, row in robot.coupled_motors.items() if robot.motor_effects else ():
        lost = [f"{s}{j + 1} = {v:.4g}" for s, v in robot.motor_effects[row].items() if v and s not in held]
        if lost:
            text = f"{where} has no place for its {', '.join(lost)}: left out, so that efforts differ by it"
            notes.append(Note("warning", f"motor of joint '{robot.joints[j].name}'", text))
    return notes


def _noun(effect: Effect) -> str:
    """What an effect is, without what its meaning adds after a comma, colon or semicolon."""
    return re.split("[,:;]", effect.meaning)[0]

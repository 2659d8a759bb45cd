"""`write_urdf`: a robot's parameters into the user's own URDF, or the whole robot as a new one."""

from __future__ import annotations

from pathlib import Path

from minertia.io.files import write_file
from minertia.robot.original import load_original
from minertia.robot.robot import EARTH, Note, Robot
from minertia.robot.unheld import unheld_effects
from minertia.robot.urdf.new import new_urdf
from minertia.robot.urdf.read import EFFECTS
from minertia.robot.urdf.template import edited_urdf


def write_urdf(
    robot: Robot, path: str | Path, template: str | Path | None = None, *, force: bool = False
) -> tuple[Note, ...]:
    """Write a URDF and say what it cannot hold.

    template: the URDF the robot was read from, as a path or as its text; only <inertial> and <dynamics> elements whose
    values changed are replaced in it and every other byte is kept.  Without one, a complete URDF 1.0 is written whose
    link frames are the joint frames.  force: as in `write_robot`.
    """
    if template is None:
        text, notes = new_urdf(robot)
        write_file(path, text, force=force)
    else:
        original = load_original(template)
        text, notes = edited_urdf(robot, original.text, original.source or "template")
        write_file(path, original.encoded(text), force=force, inputs=original.files, seal=False)
    return (*notes, *_not_carried(robot, whole=template is None))


def _not_carried(robot: Robot, whole: bool) -> list[Note]:
    """Notes on what URDF has no place for; whole: the geometry is written too."""
    notes = []
    for joint, effects in zip(robot.joints, robot.effects, strict=True):
        own = [what for symbol, what in (("IA", "rotor inertia"), ("OFF", "offset")) if effects.get(symbol)]
        if own:
            lost = " and ".join(own)
            text = f"in our own element <minertia>: its {lost}, which other programs ignore; an MJCF holds them"
            notes.append(Note("warning", f"joint '{joint.name}'", text))
    notes += unheld_effects(robot, [s for table in EFFECTS.values() for s in table.values()], "URDF")
    if robot.coupling is not None or any(any(e.values()) for e in robot.motor_effects):
        text = "coupled drives and motor-side friction and inertia cannot be written in a URDF and are left out"
        notes.append(Note("warning", "robot", text))
    if whole and robot.cuts:
        text = "its loops are in elements <loop> of URDF+, which most other programs ignore, so that they see a tree"
        notes.append(Note("warning", "robot", text))
    if tuple(robot.gravity) != EARTH:
        notes.append(Note("info", "robot", "a URDF holds no gravity; give it again when you read the file"))
    if whole and robot.has_letters:
        unknown = sorted(name for name, value in robot.symbols.items() if value is None)
        text = "lengths and angles that are letters are written as numbers"
        drawn = f"; {', '.join(unknown)} had no value, so one was drawn for each" if unknown else ""
        notes.append(Note("warning" if unknown else "info", "robot", text + drawn))
    return notes

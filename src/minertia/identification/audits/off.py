"""What an audit did not look at, because the log or the robot's file does not say enough."""

from __future__ import annotations

from minertia.identification.logs.recording import Recording
from minertia.robot.robot import Robot


def checks_off(recording: Recording, robot: Robot) -> tuple[str, ...]:
    """A sentence for each check that is off, with what is missing."""
    limits = [robot.joints[j].limits for j in robot.independent]
    missing = {
        "velocities are not logged: they are not held against the positions": recording.qd is None,
        "efforts are not logged: their saturation and their delay are not looked at": recording.tau is None,
        "commands are not logged: how positions follow them is not looked at": "command" not in recording.channels,
        "temperatures are not logged: warmth cannot be told from friction": "temperature" not in recording.channels,
        "the robot's file has no limits of position for some joint: positions beyond them are not looked at there": any(
            own.lower is None or own.upper is None for own in limits
        ),
    }
    return tuple(sentence for sentence, is_missing in missing.items() if is_missing)

"""Simulator files of an identification from commands."""

from __future__ import annotations

from pathlib import Path

from minertia.identification.closed_loop.actuators import to_isaac_lab, to_position_mjcf
from minertia.identification.closed_loop.record import LOOP
from minertia.identification.model import IdentifiedModel
from minertia.io.errors import MinertiaError
from minertia.io.files import write_file
from minertia.robot.robot import Note

LOOP_FILES = ("actuators.mjcf", "isaac_lab.py")


def write_loop_files(model: IdentifiedModel, draft: Path) -> tuple[Note, ...]:
    """Write the position servos for simulators, if the scale is known."""
    mjcf, isaac = LOOP_FILES
    if model.evidence[LOOP]["gauges"] or not model.is_physical:
        return (Note("warning", mjcf, "not written: a simulator needs a scale and physically consistent links"),)
    write_file(draft / isaac, to_isaac_lab(model))
    try:
        write_file(draft / mjcf, to_position_mjcf(model))
    except MinertiaError as err:
        return (Note("warning", mjcf, f"not written: {err}"),)
    return ()

"""Folders of results: the files of identifications and motions, each set written at once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from minertia.errors import MinertiaError
from minertia.excitation.limits_file import FILE as LIMITS_FILE
from minertia.excitation.limits_file import limits_toml
from minertia.excitation.result import Excitation
from minertia.files import FileError, check_folder, folder_at_once, reading, write_file
from minertia.identification.actuators import isaac_lab_text, position_mjcf
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.prepare import Tell, silent
from minertia.identification.closed_loop.identify import is_commanded
from minertia.identification.commanded import LoopIdentification
from minertia.identification.identify import Identification
from minertia.identification.loss import urdf_loss
from minertia.identification.model import IdentifiedModel
from minertia.identification.model_file import write_model
from minertia.identification.physical.fit import NOT_FOUND
from minertia.report.bundle import write_page
from minertia.report.commanded_page import commanded_page
from minertia.report.pages import fit_page, motion_page
from minertia.robot.identified import taken_notes
from minertia.robot.robot import Note, Robot
from minertia.robot.write import write_robot

IDENTIFICATION_FILES = ("model.toml", "result.json", "report.html")
MOTION_FILES = ("excitation.csv", "excitation.html", "excitation.json", LIMITS_FILE)
LOOP_FILES = ("actuators.mjcf", "isaac_lab.py")  # position loops for simulators
TEMPLATES = (".urdf", ".xml", ".mjcf")


# ---------------------------------------------------------------------- motions


def write_excitation(
    out: Path,
    found: Excitation,
    *,
    texts: Mapping[str, str] | None = None,
    data: Mapping[str, Any] | None = None,
    force: bool = False,
) -> tuple[Note, ...]:
    """The motion for the controller, its page and its numbers, at once; a note where no page can be written.

    texts: files for controllers by name, the motion among them (by default the motion alone).  data: its numbers.
    """
    motion, page, numbers, limits = MOTION_FILES
    with folder_at_once(out, force=force) as draft:
        for name, text in (texts or {motion: found.trajectory.to_csv()}).items():
            write_file(draft / name, text)
        notes = write_page(draft / page, lambda: motion_page(found))
        content = {**(data or found.to_dict()), "limits": limits}
        write_file(draft / numbers, json.dumps(content, indent=1, allow_nan=False) + "\n")
        write_file(draft / limits, limits_toml(found.base.robot, found.limits))
    return notes


# ---------------------------------------------------------------------- identifications


def check_identification(out: Path, asked: Campaign, *, force: bool = False) -> None:
    """Say before the work, not after it, that the result cannot be written."""
    reading(*(log.file for log in (*asked.train, *asked.validate) if log.file is not None))
    own = _own_file(asked.robot)
    robot = () if own is None else _robot_files(own)
    check_folder(out, (*IDENTIFICATION_FILES, *(LOOP_FILES if is_commanded(asked) else robot)), force=force)


def write_identification(
    out: Path,
    result: Identification,
    *,
    names: Mapping[str, str] | None = None,
    tell: Tell = silent,
    force: bool = False,
) -> tuple[Note, ...]:
    """All files of a result, at once; the notes say what the robot's own file cannot hold.

    names: titles of logs by the names of their files, for the page.
    """
    model_file, data, page = IDENTIFICATION_FILES
    tell("finding physical parameters")
    model = result.model()
    tell("writing")
    with folder_at_once(out, force=force) as draft:
        write_model(model, draft / model_file)
        write_file(draft / data, result.to_json() + "\n")
        if isinstance(result, LoopIdentification):
            told = write_page(draft / page, lambda: commanded_page(result, model).written())
            return (*told, *_write_loops(model, draft))
        told = write_page(draft / page, lambda: fit_page(result, model, names))
        notes = _write_robot(model, draft, out)
    return (*told, *notes, *_loss(result, model, [note.where for note in notes]))


def _write_loops(model: IdentifiedModel, draft: Path) -> tuple[Note, ...]:
    """The position loops for simulators, where a scale is known."""
    mjcf, isaac = LOOP_FILES
    if model.evidence["loop"]["gauges"] or not model.is_physical:
        return (Note("warning", mjcf, "not written: a simulator needs a scale and bodies that can exist"),)
    write_file(draft / isaac, isaac_lab_text(model))
    try:
        write_file(draft / mjcf, position_mjcf(model))
    except MinertiaError as err:
        return (Note("warning", mjcf, f"not written: {err}"),)
    return ()


def _loss(result: Identification, model: IdentifiedModel, where: Sequence[str]) -> tuple[Note, ...]:
    """What other programs miss of the URDF that was written, and where they find it."""
    source = _own_file(model.nominal)
    if source is None or source.suffix.lower() != ".urdf" or source.name in where:
        return ()
    text = urdf_loss(result, model)
    beside = "robot.mjcf has it for MuJoCo; minertia.to_pinocchio(model) has rotor inertias for Pinocchio"
    return () if text is None else (Note("warning", "robot.urdf", f"{text}; {beside}"),)


def _robot_files(own: Path) -> tuple[str, ...]:
    """Names of the robot's files in a result: its own, and beside a URDF an MJCF, which holds more."""
    suffix = own.suffix.lower()
    return (f"robot{suffix}", *(("robot.mjcf",) if suffix == ".urdf" else ()))


def _own_file(robot: Robot) -> Path | None:
    """The URDF or MJCF a robot was read from."""
    source = Path(robot.source or "")
    return source if source.suffix.lower() in TEMPLATES and source.is_file() else None


def _write_robot(model: IdentifiedModel, draft: Path, out: Path) -> tuple[Note, ...]:
    """The robot's own URDF or MJCF with the identified parameters, and an MJCF beside a URDF, if they are possible."""
    source = _own_file(model.nominal)
    if source is None:
        return ()
    name, *beside = _robot_files(source)
    older = f"; the {name} there is that of an earlier result" if (out / name).exists() else ""
    if not model.is_physical:
        advice = "" if model.evidence.get("physical", {}).get("status") == NOT_FOUND else "; try --physical"
        text = f"not written: no real robot can have these values{advice}{older}"
        return (Note("warning", source.name, text),)
    robot = model.robot
    try:
        notes = (*taken_notes(robot), *write_robot(robot, draft / name, template=source))
        for other in beside:
            told = write_robot(robot, draft / other)
            notes = (*notes, *(replace(n, where=f"{other}, {n.where}") for n in told if n.level != "info"))
        return notes
    except FileError:
        raise
    except MinertiaError as err:
        return (Note("warning", source.name, f"not written with the new parameters: {err}{older}"),)

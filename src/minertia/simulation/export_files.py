"""Files of an identified model for other programs: one function for each row of `robot/targets.py`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from minertia.codegen.generate import generate
from minertia.codegen.options import CodeModel
from minertia.identification.closed_loop.actuators import newton_actuators, newton_notes, to_isaac_lab
from minertia.identification.model import IdentifiedModel, Model, with_efforts
from minertia.io.errors import MinertiaError
from minertia.io.files import left_over, write_file
from minertia.robot.files import write_robot
from minertia.robot.formats.usd.write import write_usd
from minertia.robot.robot import Note
from minertia.robot.targets import BY_NAME, target_of

MOST_NAMES = 8  # of files of earlier results that a warning lists
CODE = CodeModel(rotors=True, friction=True)
Writer: TypeAlias = Callable[[IdentifiedModel, Path, bool], Sequence[Note]]


def export_names(names: Sequence[str]) -> tuple[str, ...]:
    """Names of the files that the export targets with these names write into a result folder."""
    files = [(Path(BY_NAME[one].file), one == "isaac-lab") for one in names]
    return tuple(str(name) for file, is_isaac in files for name in (file, *((_isaac_text(file),) if is_isaac else ())))


def _isaac_text(stage: Path) -> Path:
    """Text beside a stage for Isaac Lab: each stage of a folder has its own."""
    return stage.with_suffix(".py")


def left_over_notes(folder: Path, draft: Path, names: Iterable[str]) -> tuple[Note, ...]:
    """Warning of files in a result folder that are of an earlier result than that in a draft; none without any.

    names: of all files that such results may have.
    """
    found = left_over(folder, draft, names)
    if not found:
        return ()
    shown = ", ".join(found[:MOST_NAMES]) + (" ..." if len(found) > MOST_NAMES else "")
    text = f"{shown}: of an earlier result, not of this one; remove what you do not need"
    return (Note("warning", str(folder), text),)


def write_exports(model: Model, folder: Path, names: Sequence[str]) -> tuple[Note, ...]:
    """Write an identified model for export targets into a folder; notes list what they cannot represent."""
    found: list[Note] = []
    for name in names:
        file = folder / BY_NAME[name].file
        try:
            found += [_of_file(file, note) for note in write_export(model, file, name)]
        except MinertiaError as err:
            reason = str(err).replace(f"{folder}{os.sep}", "")  # which is moved to the result later
            found.append(Note("warning", file.name, f"not written: {reason}"))
    return tuple(found)


def _of_file(file: Path, note: Note) -> Note:
    """Note that names its file: other files of the result may hold what this one does not."""
    return note if note.where == file.name else replace(note, where=f"{file.name}, {note.where}")


def write_export(model: Model, file: Path, name: str, *, force: bool = False) -> tuple[Note, ...]:
    """Write an identified model to a file, or folder of code, for the export target of this name."""
    return tuple(WRITERS[name](with_efforts(model, f"an export for {name}"), file, force))


def _write_file(model: IdentifiedModel, file: Path, force: bool) -> Sequence[Note]:
    target = target_of(file)
    assert target is not None
    return write_robot(model.to_robot(target.name), file, force=force)


def _write_newton(model: IdentifiedModel, file: Path, force: bool) -> Sequence[Note]:
    robot = model.to_robot("newton")
    notes = write_usd(robot, file, force=force, actuators=newton_actuators(model, robot))
    return (*notes, *(Note("warning", file.name, text) for text in newton_notes(model)))


def _write_isaac(model: IdentifiedModel, file: Path, force: bool) -> Sequence[Note]:
    notes = write_usd(model.to_robot("isaac-lab"), file, force=force)
    text = _isaac_text(file)
    write_file(text, to_isaac_lab(model), force=force)
    return (*notes, Note("info", file.name, f"{text.name} has its actuators, and check(asset)"))


def _write_code(model: IdentifiedModel, folder: Path, force: bool) -> Sequence[Note]:
    return [Note("info", folder.name, note) for note in generate(model.robot, folder, model=CODE, force=force).notes]


def _write_fmu(model: IdentifiedModel, folder: Path, force: bool) -> Sequence[Note]:
    made = generate(model.robot, folder, target="fmu", model=CODE, force=force)
    return [Note("info", folder.name, note) for note in made.notes]


WRITERS: dict[str, Writer] = {
    "mjcf": _write_file,
    "urdf": _write_file,
    "usd": _write_file,
    "newton": _write_newton,
    "isaac-lab": _write_isaac,
    "c": _write_code,
    "fmu": _write_fmu,
}

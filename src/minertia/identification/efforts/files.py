"""Robot files of an identification from efforts: the robot's own format, and an MJCF in addition to a URDF."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from minertia.identification.model import IdentifiedModel
from minertia.identification.physical.fit import NOT_FOUND
from minertia.io.errors import MinertiaError
from minertia.io.files import FileError
from minertia.robot.files import write_robot
from minertia.robot.formats.mjcf.write import POLYNOMIAL
from minertia.robot.robot import Note, Robot
from minertia.robot.targets import STAGES, target_of

TEMPLATES = (".urdf", ".xml", ".mjcf", *STAGES)


def robot_files(robot: Robot) -> tuple[str, ...]:
    """Names of the robot files that a result contains."""
    own = _own_file(robot)
    return () if own is None else _robot_files(own)


def _robot_files(own: Path) -> tuple[str, ...]:
    """Names of the robot files in a result: its own file, and for a URDF also an MJCF, which represents more."""
    suffix = own.suffix.lower()
    if suffix in STAGES:
        return ("robot.usda",)
    return (f"robot{suffix}", *(("robot.mjcf",) if suffix == ".urdf" else ()))


def _own_file(robot: Robot) -> Path | None:
    """Path of the URDF, MJCF or USD stage from which a robot was read."""
    source = Path(robot.source or "")
    return source if source.suffix.lower() in TEMPLATES and source.is_file() else None


def write_robot_files(model: IdentifiedModel, draft: Path, out: Path) -> tuple[Note, ...]:
    """Write the robot files, each with the best parameters it can represent; notes name what it lacks."""
    source = _own_file(model.nominal)
    if source is None:
        return ()
    notes: list[Note] = []
    is_stage = source.suffix.lower() in STAGES
    if is_stage:
        advice = (
            f"robot.usda is a whole new file; minertia convert model.toml NEW.usda --template {source.name} overrides"
        )
        notes.append(Note("info", source.name, f"{advice} this stage, shapes included"))
    for name in _robot_files(source):
        older = f"; the {name} there belongs to an earlier result" if (out / name).exists() else ""
        if not model.is_physical and getattr(target_of(name), "name", "") not in model.exports:
            advice = "" if model.evidence.get("physical", {}).get("status") == NOT_FOUND else "; try --physical"
            text = f"not written: the parameters are not physically consistent{advice}{older}"
            return (*notes, Note("warning", source.name, text))
        is_own = name == _robot_files(source)[0]
        try:
            told = write_robot(model, draft / name, template=source if is_own and not is_stage else None)
        except FileError:
            raise
        except MinertiaError as err:
            return (*notes, Note("warning", source.name, f"not written with the new parameters: {err}{older}"))
        notes += [
            n if is_own else replace(n, where=f"{name}, {n.where}")
            for n in told
            if is_own or n.level != "info" or n.text == POLYNOMIAL
        ]
    return tuple(notes)

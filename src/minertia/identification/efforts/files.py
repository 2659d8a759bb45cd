"""Files of an identification from efforts: the robot's own file with the new parameters, and what it cannot hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from minertia.identification.model import IdentifiedModel
from minertia.identification.physical.fit import NOT_FOUND
from minertia.identification.problem.linear import symbol_of
from minertia.identification.problem.observation import Observation
from minertia.io.errors import MinertiaError
from minertia.io.files import FileError
from minertia.robot.files import write_robot
from minertia.robot.identified import taken_notes
from minertia.robot.parameters import LINK_SYMBOLS
from minertia.robot.robot import Note, Robot

TEMPLATES = (".urdf", ".xml", ".mjcf")
IN_URDF = (*LINK_SYMBOLS, "FV", "FC")  # masses and inertias, damping and friction
SMALL = 1.05  # of the whole model's residual: what is lost does not show


def robot_files(robot: Robot) -> tuple[str, ...]:
    """Names of the robot's files in a result."""
    own = _own_file(robot)
    return () if own is None else _robot_files(own)


def write_robot_files(observation: Observation, model: IdentifiedModel, draft: Path, out: Path) -> tuple[Note, ...]:
    """Write them; the notes say what they cannot hold."""
    notes = _write_robot(model, draft, out)
    return (*notes, *_loss(observation, model, [note.where for note in notes]))


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


def _loss(observation: Observation, model: IdentifiedModel, where: Sequence[str]) -> tuple[Note, ...]:
    """What other programs miss of the URDF that was written, and where they find it."""
    source = _own_file(model.nominal)
    if source is None or source.suffix.lower() != ".urdf" or source.name in where:
        return ()
    text = urdf_loss(observation, model)
    beside = "robot.mjcf has it for MuJoCo; minertia.to_pinocchio(model) has rotor inertias for Pinocchio"
    return () if text is None else (Note("warning", "robot.urdf", f"{text}; {beside}"),)


def urdf_loss(observation: Observation, model: IdentifiedModel) -> str | None:
    """A sentence where a URDF loses something that the fitted logs show: how much of the effort, and what of it."""
    if not str(model.nominal.source).lower().endswith(".urdf"):
        return None
    linear = observation.model
    lost = [name for name, value in model.standard.items() if value and symbol_of(name) not in IN_URDF]
    if not lost or not observation.count:
        return None
    x = np.array([model.standard[name] for name in linear.standard])
    without = np.where([name in lost for name in linear.standard], 0.0, x)
    effort = float(np.linalg.norm(observation.totals[:, :, -1]))
    whole, part = (float(np.linalg.norm(observation.residuals(linear.K @ v))) / effort for v in (x, without))
    if part < SMALL * whole:
        return None
    return (
        f"read by other programs it leaves {100 * part:.3g} % of the effort of the fitted logs, where all that was "
        f"identified leaves {100 * whole:.3g} %: a URDF has no place for {', '.join(_kinds(lost))}"
    )


def _kinds(names: list[str]) -> list[str]:
    """Symbols with the joints that have them: IA1 to IA6."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(symbol_of(name), []).append(name)
    return [own[0] if len(own) == 1 else f"{own[0]} to {own[-1]}" for own in found.values()]

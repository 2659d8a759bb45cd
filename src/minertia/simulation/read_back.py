"""Exported files read back by the target programs, and the residuals of an identification's logs with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minertia.base.numeric import random_states
from minertia.dynamics.model import inverse_dynamics
from minertia.identification.closed_loop.files import LOOP_FILES
from minertia.identification.efforts.judge import residuals_by
from minertia.identification.kind import Problem
from minertia.identification.model import Model, with_efforts
from minertia.identification.problem.rows import projected
from minertia.identification.signals.filtering import Motion
from minertia.io.arrays import Array
from minertia.io.errors import MinertiaError, MissingExtra
from minertia.robot.files import read_robot
from minertia.robot.identified import export_values
from minertia.robot.robot import Robot
from minertia.robot.targets import BY_NAME, ExportTarget, target_of
from minertia.simulation.commanded_plant import follow_logs
from minertia.simulation.file_engines import READERS, SUBSTITUTES, Efforts, UnreadableFile
from minertia.simulation.proof import held_by

STATES = 50  # at which a file is compared with what was written
SERVOS = LOOP_FILES[0]
ELSEWHERE = 200_000  # samples of a log that another program predicts one by one, of whole blocks


def read_back(model: Model, problem: Problem, folder: Path, exports: Iterable[str] = ()) -> Model:
    """Model with the residuals of its exported files on the logs, as evaluated by the target programs.

    exports: names of the targets whose files were requested; those of the robot's own files are always evaluated.
    Where a target program is not installed or cannot read a file, the next one in `SUBSTITUTES` evaluates it.
    """
    found = dict(model.exports)
    files = {name: file for file in problem.file_names(problem.campaign) if (name := _target_name(file)) in found}
    files |= {name: BY_NAME[name].file for name in exports}
    for name, file in files.items():
        if (folder / file).exists() and model.exports:
            found[name] = _evaluated(model, problem, BY_NAME[name], folder / file)
    if (folder / SERVOS).exists() and len(problem.unseen or problem.logs) == len(_own(model)):
        found["mjcf"] = _with_servos(model, problem)
    return model.with_exports(found)


def _own(model: Model) -> Sequence[Mapping[str, Any]]:
    """Residuals of the model itself on each validation log, or else on all fitted logs together."""
    return model.evidence.get("validation") or [model.evidence.get("training", {})]


def _with_servos(model: Model, problem: Any) -> dict[str, Any]:
    """Export entry of the position servos in MJCF: residuals of the positions that MuJoCo simulates."""
    logs = problem.unseen or problem.logs
    rows = [{key: value for key, value in own.items() if key != "log"} for own in _own(model)]
    left = [{"log": log.name, "model": own, "file": own} for log, own in zip(logs, rows, strict=True)]
    entry = {"file": SERVOS, "read_by": "minertia", "left": left}
    try:
        found = follow_logs(with_efforts(model), problem.campaign, logs)
    except MinertiaError:
        return {**entry, "not_read_by": "MuJoCo"}
    left = [{**own, "file": there.to_dict(with_log=False)} for own, there in zip(left, found, strict=True)]
    return {**entry, "read_by": "MuJoCo", "left": left}


def _target_name(file: str) -> str:
    target = target_of(file)
    return "" if target is None else target.name


def _evaluated(model: Model, problem: Problem, target: ExportTarget, file: Path) -> dict[str, Any]:
    """Export entry of a file with its residuals on the logs, and the program that evaluated it."""
    export = {**_entry(model, target), "file": file.name}
    found = _efforts(target, file, model.to_robot(target.name).numeric)
    if found is None:
        return {**export, "not_read_by": target.engine}
    return {**export, **found.record(target), "left": _left(problem, export["left"], found.efforts)}


def _entry(model: Model, target: ExportTarget) -> dict[str, Any]:
    """Export entry of a target; one that takes the values of the model itself has its residuals."""
    first: Mapping[str, Any] = next(iter(model.exports.values()), {"left": ()})
    own = [{**entry, "file": entry["model"]} for entry in first["left"]]
    return {"read_by": "minertia", "left": own, **model.exports.get(target.name, {})}


def read_by_engine(model: Model, file: Path, export: str = "") -> Model | None:
    """Model whose only export is this file, with the program that read it; None if it has no such export.

    The efforts computed from the file are compared with those of the model at random states.  The residuals
    on the logs are taken from the identification.  export: name of the target, by default by the extension.
    """
    target = BY_NAME[export] if export in BY_NAME else target_of(file)
    if target is None or not (target.name in model.exports or (target.is_whole and model.exports)):
        return None
    entry = {**_entry(model, target), "file": file.name}
    held = held_by(model.to_robot(target.name), target).numeric
    found = _efforts(target, file, held)
    if found is not None:
        q, qd, qdd = (np.asarray(part) for part in random_states(held, STATES, 0))
        own, theirs = np.asarray(inverse_dynamics(held, q, qd, qdd)), found.efforts(q, qd, qdd)
        difference = float(np.abs(theirs - own).max() / max(float(np.abs(own).max()), 1e-300))
        entry |= {**found.record(target), "difference": difference}
    entry = {**(export_values(model.exports, target.name) or {}), **entry}
    if entry["read_by"] == target.engine:
        entry.pop("not_read_by", None)  # it could not where the model was identified
    return model.with_exports({target.name: entry})


def _left(problem: Problem, before: Sequence[Any], efforts: Efforts) -> list[dict[str, Any]]:
    """Export entries with the residuals of the joints' efforts; unchanged where only sensors were fitted."""
    linear = problem.linear
    joints, logs = linear.joint_rows, problem.unseen or problem.logs
    rows = [linear.rows[k] for k in joints]

    def predicted(motion: Motion) -> Array:
        found = np.zeros((len(motion), len(linear.rows)))
        found[:, joints] = efforts(*(np.asarray(a, float) for a in (motion.q, motion.qd, motion.qdd)))[:, rows]
        return projected(linear, motion, found)

    def left(log: Any) -> dict[str, Any]:
        return residuals_by(linear, log, predicted, ELSEWHERE, joints)[0].to_dict(with_log=False)

    return [{**entry, "file": left(log)} if joints else entry for entry, log in zip(before, logs, strict=True)]


@dataclass(frozen=True)
class _ReadFile:
    """Program that read a file, and its effort function."""

    program: str
    efforts: Efforts

    def record(self, target: ExportTarget) -> dict[str, Any]:
        """Entry of an export: the program, and the target's own one if it could not read the file."""
        instead = {} if self.program == target.engine else {"not_read_by": target.engine}
        return {"read_by": self.program, **instead}


def _efforts(target: ExportTarget, file: Path, robot: Robot) -> _ReadFile | None:
    """Effort function of a file in the target's engine or its substitute, else in minertia; None if none reads it."""
    for program in (target.engine, *SUBSTITUTES.get(target.engine, ())):
        try:
            return _ReadFile(program, READERS[program](file, robot))
        except (MissingExtra, UnreadableFile):
            continue
    if target.is_whole:
        return None
    try:
        own = read_robot(file, gravity=robot.gravity, base=robot.base)
    except MinertiaError:
        return None
    if own.coordinate_names != robot.coordinate_names:  # joints that were held have no samples
        return None
    return _ReadFile("minertia", lambda q, qd, qdd: np.asarray(inverse_dynamics(own, q, qd, qdd)))

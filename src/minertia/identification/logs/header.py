"""Reading a log without a robot description: the joints are inferred from its header."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from minertia.algebra.vec3 import IDENTITY, ZERO
from minertia.identification.logs.columns import PATTERNS, choose, filled
from minertia.identification.logs.columns_file import columns_beside, read_columns
from minertia.identification.logs.options import ColumnMap
from minertia.identification.logs.readers import open_log, read_recording
from minertia.identification.logs.recording import Recording
from minertia.io.errors import EffortUnitUnknown, RecordingError
from minertia.robot.joint import Joint
from minertia.robot.robot import Robot

UNIT_UNKNOWN = "the unit of the efforts is not known; they are shown as logged"
MOTOR_SIDE = "motor-side signals are shown as logged: the ratios of the drives are not known"


def read_to_audit(
    path: str | Path,
    robot: Robot | None = None,
    columns: ColumnMap | str | Path | None = None,
    *,
    drop_torn: bool = False,
) -> Recording:
    """Read a log for an audit; unknown effort units and drive data are tolerated.

    Without a robot, the joints are those in the header, assumed to be revolute.
    """
    if not isinstance(columns, ColumnMap):
        columns = columns_beside(path) if columns is None else read_columns(columns)
    names = open_log(path, columns, robot).names()
    if robot is None:
        robot = robot_of(named_joints(names, columns, str(path)))
    notes = []
    if columns.effort_unit is None and not _tells_unit(names, columns, robot, str(path)):
        columns = replace(columns, effort_unit="Nm")
        notes.append(UNIT_UNKNOWN)
    chosen = choose(names, columns, robot, str(path), effort=False)
    drive = columns.drive
    unknown = drive.ratios is None and drive.coupling is None and robot.coupling is None
    if unknown and "motor" in (chosen.position_side, chosen.effort_side):
        columns = replace(columns, drive=replace(drive, ratios=(1.0,) * robot.n))
        notes.append(MOTOR_SIDE)
    return read_recording(path, robot, columns, effort=False, drop_torn=drop_torn).noted(*notes)


def robot_of(names: Sequence[str]) -> Robot:
    """Serial chain of revolute joints with these names and arbitrary geometry."""
    joints = (Joint(name, "revolute", None if k == 0 else k - 1, IDENTITY, ZERO) for k, name in enumerate(names))
    return Robot("log", tuple(joints))


def named_joints(names: Sequence[str], columns: ColumnMap, source: str) -> list[str]:
    """Names of the joints whose positions a header contains."""
    if columns.q is not None and not isinstance(columns.q, str):
        return [f"joint{k + 1}" for k in range(len(columns.q))]
    templates = [columns.q] if columns.q else [pattern.template for pattern in PATTERNS["q"]]
    best: list[str] = []
    for template in templates:
        found = _matched(names, template)
        if len(found) > len(best):
            best = found
    if not best:
        listed = ", ".join(names[:40]) + (" ..." if len(names) > 40 else "")
        raise RecordingError(
            "no columns of positions are recognised, such as q1, actual_q_0 or position_<joint>; name them with "
            f"--columns; the log has: {listed}",
            file=source,
        )
    return best


def _matched(names: Sequence[str], template: str) -> list[str]:
    if "{joint}" in template:
        before, _, after = template.partition("{joint}")
        pattern = re.compile(re.escape(before) + r"(\D.*)" + re.escape(after))
        return [match[1] for name in names if (match := pattern.fullmatch(name))]
    first, known, count = (1 if "{j}" in template else 0), set(names), 0
    try:
        while filled(template, j=first + count, j0=first + count) in known and count < 1000:
            count += 1
    except ValueError:
        return []
    return [f"joint{k + 1}" for k in range(count)]


def _tells_unit(names: Sequence[str], columns: ColumnMap, robot: Robot, source: str) -> bool:
    try:
        choose(names, columns, robot, source, effort=False)
    except EffortUnitUnknown:
        return False
    except RecordingError:
        pass
    return True

"""Limits against which a trajectory is checked before it is run: of the robot file, its folder, and options.

Limits in the folder of a trajectory (`excitation-limits.toml`, which `excite` writes) can be narrower than
those of the robot file, but never wider.  Checks that the file disables (floor, distance between links) are
reported at every run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from minertia.excitation.claims import claims, listed
from minertia.excitation.limits import SMALLEST, MotionLimits
from minertia.excitation.limits_file import FILE, LimitsTable, limits_dict, limits_from_tables
from minertia.excitation.options import FORMAT
from minertia.io.arrays import Array
from minertia.io.documents import DocumentError, json_document
from minertia.io.errors import Infeasible, MinertiaError
from minertia.io.files import is_file, reading
from minertia.io.seals import has_seal
from minertia.io.tables import parse_table
from minertia.robot.robot import Robot

FAR = 1e6  # rad or m: a joint whose range nobody knows
STRONG = 1e12  # N m or N: where no limit is known
# {what: (turning, sliding)} where no limit is known: hardly any arm's joint is as fast
ASSUMED = {"velocity": (10.0, 3.0), "acceleration": (100.0, 50.0)}  # rad/s and m/s; rad/s2 and m/s2
# above these a file does not know: some exporters write 100, 1000 or 1e8; the fastest axes of small arms have 45 rad/s
BELIEVED = {"velocity": (60.0, 20.0), "acceleration": (1e4, 1e3)}
# what can be given where the file has none; URDF has no place for accelerations, so these can be given by option alone
WIDEST = {"velocity": ASSUMED["velocity"], "acceleration": (1000.0, 300.0)}
UNITS = {"velocity": ("rad/s", "m/s"), "acceleration": ("rad/s2", "m/s2")}
RATES = ("velocity", "acceleration")
SAME = 1e-6  # m/s2 between gravities that are the same
NUMBERS = "excitation.json"  # beside a motion; says whether limits were written with it
LONGEST = 10_000_000  # bytes of either file


@dataclass(frozen=True)
class GateLimits:
    """Effective limits, and phrases for what is not checked."""

    limits: MotionLimits
    unchecked: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """Message on what is not checked."""
        return f"not checked before the run: {'; '.join(self.unchecked)}"

    def digest(self, robot: Robot) -> str:
        """Digest of the joint limits, from the values as read; computed values are not included."""
        data = json.dumps(limits_dict(robot, self.limits), sort_keys=True)
        return hashlib.sha256(data.encode()).hexdigest()


def gate_limits(path: str | Path, robot: Robot, tables: Sequence[LimitsTable] = ()) -> GateLimits:
    """Limits for the trajectory in a file or folder; tables: those of options, of which the last takes precedence."""
    if robot.is_floating or not robot.n:
        why = "its base floats" if robot.is_floating else "it has no movable joint"
        raise Infeasible(f"'{robot.name}' cannot run a trajectory: {why}")
    beside = _beside(Path(path), robot)
    given = [table for table in (beside, *tables) if table is not None]
    known = _known(robot)
    start = LimitsTable({what: _where_known(robot, what, values) for what, values in known.items()})
    limits = within_file(robot, limits_from_tables(robot, [start, *given]))
    stated = {what for what in known for table in given if what in table}
    if limits.effort is not None and "effort" not in stated:
        known["effort"] = _positive(_of(robot, "effort"))
    unknown = [
        f"{what} limits of {listed(names)} (the robot file has none{_assumed(what)}; give --limits {what}=...)"
        for what, values in known.items()
        if what not in stated and (names := _names(robot, values))
    ]
    return GateLimits(limits, (*unknown, *claims(limits).unchecked))


# ---------------------------------------------------------------------- the robot's file


def _known(robot: Robot) -> dict[str, Array]:
    """{quantity: values in the robot file}, position (n, 2); NaN for missing limits and for implausible rates."""
    position = np.column_stack([_of(robot, "lower"), _of(robot, "upper")]).reshape(-1, 2)
    rates = {what: _positive(_of(robot, what)) for what in RATES}
    rates = {what: np.where(v <= _by_kind(robot, BELIEVED[what]), v, np.nan) for what, v in rates.items()}
    return {"position": position, **rates}


def _of(robot: Robot, name: str) -> Array:
    values = [getattr(robot.joints[j].limits, name) for j in robot.independent]
    return np.array([np.nan if value is None else float(value) for value in values])


def _positive(values: Array) -> Array:
    """Positive limits; a zero, used in many files for an unknown limit, becomes nan."""
    return np.where(values > SMALLEST, values, np.nan)


def _where_known(robot: Robot, what: str, values: Array) -> Any:
    """Values, with NaN replaced by the default for joints without a limit."""
    if what == "position":
        return np.where(np.isnan(values), [-FAR, FAR], values).tolist()
    return np.where(np.isnan(values), _by_kind(robot, ASSUMED[what]), values).tolist()


def _by_kind(robot: Robot, values: tuple[float, float]) -> Array:
    """Array (n,) of the value for revolute joints and the value for prismatic joints."""
    sliding = np.array([robot.joints[j].kind == "prismatic" for j in robot.independent])
    return np.where(sliding, values[1], values[0])


def _assumed(what: str) -> str:
    if what not in ASSUMED:
        return ""
    return "; assumed: " + ", ".join(
        f"{value:g} {unit}" for value, unit in zip(ASSUMED[what], UNITS[what], strict=True)
    )


def _names(robot: Robot, values: Array) -> list[str]:
    """Names of the joints without a limit in the file."""
    is_unknown = np.asarray(np.isnan(values).reshape(robot.n, -1).any(axis=1))
    return [name for name, unknown in zip(robot.coordinate_names, is_unknown, strict=True) if unknown]


def within_file(robot: Robot, limits: MotionLimits) -> MotionLimits:
    """Limits restricted to those of the robot file; raises an error for implausible velocities or accelerations.

    Only velocities and accelerations for which the file has no limit are checked for plausibility.
    """
    known = _known(robot)
    for what in RATES:
        _check_believable(robot, what, getattr(limits, what), known[what])
    narrowed = {what: np.fmin(getattr(limits, what), known[what]) for what in RATES}
    ends = known["position"]
    narrowed |= {"lower": np.fmax(limits.lower, ends[:, 0]), "upper": np.fmin(limits.upper, ends[:, 1])}
    efforts = _positive(_of(robot, "effort"))
    if limits.effort is not None:
        narrowed["effort"] = np.fmin(limits.effort, efforts)
    elif not np.isnan(efforts).all() and robot.has_parameters:  # switched off by hand; the motors' limits still are
        narrowed["effort"] = np.where(np.isnan(efforts), STRONG, efforts)
    return replace(limits, **narrowed)  # type: ignore[arg-type]


def _check_believable(robot: Robot, what: str, given: Array, known: Array) -> None:
    """Raise an error for an implausible limit of a joint that has none in the file."""
    widest = _by_kind(robot, WIDEST[what])
    off = np.isnan(known) & (given > widest * (1 + 1e-9))
    if off.any():
        j = int(np.argmax(off))
        unit = UNITS[what][robot.joints[robot.independent[j]].kind == "prismatic"]
        where = "; give at most that" + (", or add its limit to the robot file" if what == "velocity" else "")
        raise Infeasible(
            f"joint '{robot.coordinate_names[j]}' has no {what} limit in the robot file, and {given[j]:g} {unit} "
            f"is more than the largest value allowed then, {widest[j]:g} {unit}{where}"
        )


# ---------------------------------------------------------------------- the folder of the motion


def _beside(path: Path, robot: Robot) -> LimitsTable | None:
    """Limits that were written with a trajectory; None where there are none."""
    folder = path.parent if is_file(path) else path
    file = folder / FILE
    if not is_file(file):
        if _has_lost_limits(folder):
            raise MinertiaError(
                f"'{folder}' has no {FILE} any more, which contains the limits and obstacles of its trajectory; "
                "restore it, or write the trajectory again"
            )
        return None
    reading(file)
    with open(file, "rb") as opened:
        data = opened.read(LONGEST)
    if not has_seal(data):
        raise MinertiaError(
            f"'{file}' was changed after `minertia excite` wrote it; write the trajectory again, and give other "
            "limits to `run` with --limits"
        )
    table = parse_table(data.decode("utf-8", "replace").replace("\r\n", "\n"), str(file), LimitsTable)
    if table.get("format") != FORMAT:
        raise table.fail(f"only format {FORMAT} can be read; write the trajectory again with this version", "format")
    _check_made_for(table, robot)
    return table


def _has_lost_limits(folder: Path) -> bool:
    """Whether the data file of a trajectory refers to a file of limits, which is then missing from the folder."""
    try:
        with open(folder / NUMBERS, "rb") as file:
            data = json_document(file.read(LONGEST).decode("utf-8", "replace"))
    except (OSError, DocumentError):
        return False
    return isinstance(data, dict) and "limits" in data


def _check_made_for(table: LimitsTable, robot: Robot) -> None:
    """Raise an error for limits of other joints, or of a robot with another mounting."""
    made = table.table("made_for")
    made.only(("robot", "joints", "gravity"))
    joints = made.texts("joints") or ()
    if tuple(joints) != robot.coordinate_names:
        raise Infeasible(
            f"the trajectory was made for '{made.text('robot', '?')}' with joints {listed(list(joints))}, not for "
            f"those of '{robot.name}': {listed(list(robot.coordinate_names))}"
        )
    gravity = made.numbers("gravity", 3, (0.0, 0.0, 0.0))
    if np.abs(np.subtract(gravity, robot.gravity)).max() > SAME:
        told = " ".join(f"{v:g}" for v in gravity)
        raise Infeasible(
            f"the trajectory was made for gravity {told}, but '{robot.name}' has "
            f"{' '.join(f'{float(v):g}' for v in robot.gravity)}; give --gravity {told}, or compute the "
            "trajectory again"
        )

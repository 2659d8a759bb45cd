"""Runs of a servo with known loads: a folder of logs with its index.csv."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from minertia.identification.campaigns.campaign import Log, LogLike
from minertia.identification.loads.load import Load
from minertia.identification.logs.readers import is_there
from minertia.io.errors import InputError, RecordingError
from minertia.robot.joint import Joint
from minertia.robot.robot import EARTH, Robot

INDEX = "index.csv"
LOAD = "mass and length (or inertia and gravity_moment)"
COLUMNS = f"file, kp, {LOAD}"
REGISTER = ("kp", "register")  # names of the column of the firmware's gain
SLENDER = 1.0001  # least inertia about the axis over that of a point with the same moment
PENDULUM = Robot(
    "servo",
    (Joint("servo", "revolute", None, ((0, -1, 0), (0, 0, 1), (-1, 0, 0)), (0, 0, 0), link="arm"),),
    links=((0.0,) * 10,),
)  # zero hanging down, without a load


@dataclass(frozen=True)
class Run:
    """Row of an index: log, load [kg m2, N m], register, motion, and the voltage that is stated, if any."""

    log: Log
    inertia: float
    moment: float
    register: float
    motion: str
    volts: float | None


def indexed_logs(logs: LogLike | Sequence[LogLike]) -> list[LogLike]:
    """Logs, with those of the index instead of a folder that has one."""
    many = logs if isinstance(logs, Sequence) and not isinstance(logs, str) else [logs]
    found: list[LogLike] = []
    for one in many:
        is_folder = isinstance(one, str | Path) and is_there(Path(one) / INDEX)
        found += [run.log for run in read_runs(one)] if is_folder else [one]  # type: ignore[arg-type]
    return found


def read_runs(folder: str | Path) -> list[Run]:
    """Runs of a folder's index."""
    path = Path(folder) / INDEX
    if not path.exists():
        raise InputError(f"'{folder}' has no {INDEX}; write one with a row per log and the columns {COLUMNS}")
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as err:
        raise InputError(f"'{path}' cannot be read: {err}") from None
    if not rows:
        raise InputError(f"'{path}' names no runs; write a row per log with the columns {COLUMNS}")
    _check_columns(path, rows[0])
    return [_run(path, number, row) for number, row in enumerate(rows, 2)]


def _check_columns(path: Path, row: Mapping[str, str | None]) -> None:
    """Raise an error for an index without a column that every run needs."""
    names = {name for name in row if name}
    lacking = [one[0] for one in (("file",), REGISTER) if not names.intersection(one)]
    if not (names >= {"inertia", "gravity_moment"} or names >= {"mass", "length"}):
        lacking.append(LOAD)
    if lacking:
        raise RecordingError(f"the index has no column {', no column '.join(lacking)}; add it", file=path, row=1)


def _run(path: Path, number: int, row: Mapping[str, str | None]) -> Run:
    def value(*names: str) -> float | None:
        name, text = next(((name, row[name]) for name in names if row.get(name)), (names[0], None))
        if text is None:
            return None
        try:
            return float(text)
        except ValueError:
            raise RecordingError(f"'{text}' is not a number", file=path, row=number, column=name) from None

    if None in row:  # what csv has for cells beyond the header
        raise RecordingError("this run has more cells than the header; give one for each column", file=path, row=number)
    file, register, volts = row.get("file"), value(*REGISTER), value("volts", "vin")
    mass, length = value("mass"), value("length")
    inertia, moment = value("inertia"), value("gravity_moment")
    if mass is not None and length is not None:
        inertia = mass * length**2 if inertia is None else inertia
        moment = -EARTH[2] * mass * length if moment is None else moment
    if not file or register is None or inertia is None or moment is None:
        lacking = "file" if not file else "kp" if register is None else f"load: {LOAD}"
        raise RecordingError(f"this run has no {lacking}; give it", file=path, row=number)
    for name, found in (("kp", register), ("inertia", inertia), ("gravity_moment", moment)):
        if not 0 < found < math.inf:
            told = f"{name} must be finite and above 0, not {found:g}"
            of = "" if name == "kp" or row.get(name) else "; it is computed from mass and length"
            raise RecordingError(told + of, file=path, row=number)
    log = Log(path.parent / file, load=load_of(inertia, moment, mass), register=register, volts=volts)
    return Run(log, inertia, moment, register, row.get("motion") or "", volts)


def load_of(inertia: float, moment: float, mass: float | None = None) -> Load:
    """Body with this inertia about the axis [kg m2] and gravity moment [N m]; as heavy as given, if that can be."""
    first = -moment / EARTH[2]
    weight = max(mass or 0.0, SLENDER * first**2 / inertia)
    rest = inertia - first**2 / weight
    return Load(weight, (first / weight, 0.0, 0.0), (rest / 2, 0.0, 0.0, rest / 2, 0.0, rest))

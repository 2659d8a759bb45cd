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
    try:
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as err:
        raise InputError(f"'{path}' cannot be read: {err}; a folder of runs has an index.csv") from None
    if not rows:
        raise InputError(f"'{path}' names no runs")
    return [_run(path, number, row) for number, row in enumerate(rows, 2)]


def _run(path: Path, number: int, row: Mapping[str, str | None]) -> Run:
    def value(*names: str) -> float | None:
        text = next((row[name] for name in names if row.get(name)), None)
        try:
            return None if text is None else float(text)
        except ValueError:
            raise RecordingError(f"'{text}' is not a number", file=path, row=number, column=names[0]) from None

    file, register, volts = row.get("file"), value("kp", "register"), value("volts", "vin")
    mass, length = value("mass"), value("length")
    inertia, moment = value("inertia"), value("gravity_moment")
    if mass is not None and length is not None:
        inertia = mass * length**2 if inertia is None else inertia
        moment = -EARTH[2] * mass * length if moment is None else moment
    if (
        not file
        or register is None
        or inertia is None
        or moment is None
        or not all(0 < number < math.inf for number in (register, inertia, moment))
    ):
        raise RecordingError(
            "a run needs a file, kp, and its load: inertia and gravity_moment, or mass and length, finite and above 0",
            file=path,
            row=number,
        )
    log = Log(path.parent / file, load=load_of(inertia, moment, mass), register=register, volts=volts)
    return Run(log, inertia, moment, register, row.get("motion") or "", volts)


def load_of(inertia: float, moment: float, mass: float | None = None) -> Load:
    """Body with this inertia about the axis [kg m2] and gravity moment [N m]; as heavy as given, if that can be."""
    first = -moment / EARTH[2]
    weight = max(mass or 0.0, SLENDER * first**2 / inertia)
    rest = inertia - first**2 / weight
    return Load(weight, (first / weight, 0.0, 0.0), (rest / 2, 0.0, 0.0, rest / 2, 0.0, rest))

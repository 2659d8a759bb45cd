"""A small fleet: two-link arms whose logs come from our own dynamics, a few seconds each."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet

from minertia.fleet.fleet import Fleet
from minertia.robot.files import read_robot
from tests.arm import ARM, FRICTION, simulated

FLEET = """format = 1
zone = "Europe/Berlin"
[types.arm]
robot = "arm.urdf"
[types.arm.filter]
cutoff_hz = 5.0
[[robots]]
id = "A1"
type = "arm"
[[robots]]
id = "A2"
[[robots]]
id = "line-*"
"""
START = datetime(2026, 3, 2, 6, tzinfo=UTC).timestamp()
DAY = 86_400.0


def small_fleet(folder: Path) -> Path:
    """The folder with FLEET.toml and arm.urdf."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "arm.urdf").write_text(ARM.format(name="arm"), encoding="utf-8")
    (folder / "FLEET.toml").write_text(FLEET, encoding="utf-8")
    return folder


def true_arm(folder: Path, **friction: float) -> Any:
    robot = read_robot(folder / "arm.urdf")
    own = dict(zip(robot.columns(), robot.parameter_vector(), strict=True))
    return robot.with_parameters({**own, **FRICTION, **friction})


def log_columns(folder: Path, number: int, start: float, seconds: float = 8.0, *, warm: bool = True) -> dict[str, Any]:
    """Columns of a log; number: which motion and noise."""
    motion = simulated(true_arm(folder), 0.1 + 0.7 * number, seconds, rate=100.0)
    columns = {"t": motion["t"] + start}
    columns |= {f"{name}{j + 1}": motion[name][:, j] for name in ("q", "tau") for j in range(2)}
    if warm:
        columns |= {f"temperature{j + 1}": 25.0 + 0.5 * j + 0.1 * motion["t"] for j in range(2)}
        columns |= {"program": np.full(len(motion["t"]), number % 3), "load": np.full(len(motion["t"]), 0.25)}
    return columns


def write_log(path: Path, columns: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(pyarrow.table(columns), path)
    else:
        names = ",".join(columns)
        np.savetxt(path, np.column_stack(list(columns.values())), "%.9f", ",", header=names, comments="")
    return path


def small_logs(folder: Path, robots: tuple[str, ...] = ("A1", "A2"), days: int = 2, seconds: float = 8.0) -> Path:
    """Logs below folder/logs: Parquet and CSV in turns, one for each robot and day."""
    number = 0
    for robot in robots:
        for day in range(days):
            start = START + DAY * day
            name = f"day={datetime.fromtimestamp(start, UTC):%Y-%m-%d}/run.{'csv' if number % 2 else 'parquet'}"
            write_log(folder / "logs" / f"robot={robot}" / name, log_columns(folder, number, start, seconds))
            number += 1
    return folder / "logs"


def logged_fleet(folder: Path, days: int, seconds: float) -> Path:
    """The folder of a small fleet with logs of its two robots."""
    own = small_fleet(folder)
    small_logs(own, days=days, seconds=seconds)
    return own


def added(folder: Path, store: str | Path, logs: Any = None, **options: Any) -> tuple[Fleet, Any]:
    fleet = Fleet.open(store, folder / "FLEET.toml")
    if not options:
        options = {"workers": 0}
    return fleet, fleet.add(folder / "logs" if logs is None else logs, **options)


def contents(fleet: Fleet) -> dict[str, bytes]:
    """Every record of a store by name."""
    return {name: fleet.store.place.read(name) for name in fleet.store.place.names("evidence")}

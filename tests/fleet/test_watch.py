"""Reports that continue from the last one: the answer from zero, at the cost of the new days."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.simulated_fleet import START, FleetChange, SimulatedFleet
from benchmarks.simulated_store import simulated_store

from minertia.fleet.calendar import day_name
from minertia.fleet.drift import FleetDrift
from minertia.fleet.fleet import Fleet
from minertia.fleet.judging import write_calibration
from minertia.fleet.options import DriftOptions
from minertia.fleet.readout import StoredDays
from minertia.fleet.robot_day import RobotDay
from tests.fleet.test_state import EFFECTS, LOAD_EFFECTS, more

DAYS, LEARNT = 16, 10
FLEET = SimulatedFleet(3, DAYS, 4, (FleetChange(0, "dry", 0.5, 11, 1),), programs=3, new_programs={2: 12})
OPTIONS = DriftOptions(learning=LEARNT)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three robots; the last one changes its program among the monitored days."""
    folder = tmp_path_factory.mktemp("watch") / "store"
    fleet = simulated_store(str(folder), FLEET)
    write_calibration(
        fleet.store, fleet.stored_type(), {"load": LOAD_EFFECTS} | {f"j{j + 1}": EFFECTS for j in range(6)}
    )
    return folder


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "store"))


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[int]]:
    """Days that are read of each robot."""
    seen: dict[str, list[int]] = {}
    usual = StoredDays.read

    def counted(self: StoredDays, robot: str, days: Collection[int]) -> dict[int, RobotDay]:
        seen.setdefault(robot, []).extend(days)
        return usual(self, robot, days)

    monkeypatch.setattr(StoredDays, "read", counted)
    return seen


def drift(store: Path) -> FleetDrift:
    return Fleet.open(store).drift(options=OPTIONS)


def shown(store: Path, until: int) -> None:
    """The store as if only the logs until a day had been added."""
    fleet = Fleet.open(store)
    fleet.store.write_index([row for row in fleet.store.rebuilt_index() if row.day <= day_name(START + until)])


def same(one: FleetDrift, other: FleetDrift) -> None:
    """Equal reports; numbers to 1e-12."""
    assert [(a.robot, a.joint, a.what, a.since) for a in one.alarms] == [
        (a.robot, a.joint, a.what, a.since) for a in other.alarms
    ]
    assert one.not_judged == other.not_judged and one.days == other.days and len(one.streams) == len(other.streams)
    for a, b in zip(one.streams, other.streams, strict=True):
        assert (a.stream.robot, a.stream.joint, a.events) == (b.stream.robot, b.stream.joint, b.events)
        pairs = [(getattr(a.process, n), getattr(b.process, n)) for n in ("days", "e", "raw", "change", "deviation")]
        for x, y in [*pairs, (a.stream.y, b.stream.y), (a.stream.V, b.stream.V), (a.stream.warm, b.stream.warm)]:
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-300)


def test_daily_reports_end_with_the_report_from_zero_and_read_new_days_only(store: Path, read: Any, tmp_path) -> None:
    zero = drift(Path(shutil.copytree(store, tmp_path / "zero")))
    shown(store, 12)
    drift(store)
    for day in range(13, DAYS):
        shown(store, day)
        read.clear()
        found = drift(store)
        assert read == {robot: [START + day] for robot in ("r000", "r001", "r002")}
    same(found, zero)
    assert [a.robot for a in found.alarms] == ["r000"]
    read.clear()
    same(drift(store), zero)
    assert not read


def test_a_late_log_or_an_event_computes_that_robot_again(store: Path, read: Any, tmp_path: Path) -> None:
    drift(store)
    read.clear()
    spare = SimulatedFleet(1, 1, 9, programs=3).robot(0)[START]
    more(store, "r001", START + 12, spare, hours=10.0)
    found = drift(store)
    assert set(read) == {"r001"} and len(read["r001"]) == DAYS
    same(found, drift(_forgotten(store, tmp_path / "late")))
    read.clear()
    (store / "events.csv").write_text(
        f"robot,day,joint,kind,note\nr000,{day_name(START + 11)},j2,maintenance,\n", "utf-8"
    )
    found = drift(store)
    assert set(read) == {"r000"} and not found.alarms
    same(found, drift(_forgotten(store, tmp_path / "event")))


def _forgotten(store: Path, copy: Path) -> Path:
    """A copy of a store without the states of reports."""
    shutil.copytree(store, copy)
    for file in (copy / "judged").glob("*.state"):
        file.unlink()
    return copy


def test_a_training_day_that_is_another_computes_the_type_again(store: Path, read: Any) -> None:
    drift(store)
    fleet = Fleet.open(store)
    rows = fleet.store.index()
    fleet.store.write_index([row for row in rows if (row.robot, row.day) != ("r002", day_name(START + 3))])
    read.clear()
    found = drift(store)
    assert set(read) == {"r000", "r001"}  # the third has too few training days left
    assert "too few of its training days" in next(n.reason for n in found.not_judged if n.robot == "r002")


def test_a_broken_or_foreign_state_is_made_anew(store: Path, read: Any) -> None:
    zero = drift(store)
    (file,) = (store / "judged").glob("*.state")
    whole = file.read_bytes()
    for data in (b"", whole[:-100], whole[: len(whole) // 2] + b"x" + whole[len(whole) // 2 + 1 :]):
        file.write_bytes(data)
        same(drift(store), zero)
        assert file.read_bytes() == whole
    other = Fleet.open(store).drift(options=replace(OPTIONS, horizon=30))
    assert {len(s.process.e) for s in other.streams} == {len(s.process.e) for s in zero.streams}
    assert [s.process.last for s in other.streams] != [s.process.last for s in zero.streams]


def test_compaction_changes_no_report_and_makes_nobody_new(store: Path, read: Any) -> None:
    zero = drift(store)
    Fleet.open(store).compact(before="2100-01")
    read.clear()
    same(drift(store), zero)
    assert not read


@pytest.mark.slow
def test_reports_that_are_killed_leave_the_state_of_a_whole_one(store: Path, tmp_path: Path) -> None:
    """SIGKILL at 20 moments of the command; the last run then has the bytes of one that nobody killed."""
    shown(store, 13)
    drift(store)
    shown(store, DAYS - 1)
    calm = Path(shutil.copytree(store, tmp_path / "calm"))
    command = [sys.executable, "-m", "minertia", "fleet", "drift", "--learning", str(LEARNT), "--exit-zero", "--store"]
    start = time.perf_counter()
    subprocess.run([*command, str(calm)], check=True, capture_output=True)
    whole = time.perf_counter() - start
    (wanted,) = (calm / "judged").glob("*.state")
    for moment in np.linspace(0.3, 1.1, 20) * whole:
        child = subprocess.Popen([*command, str(store)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(float(moment))
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    done = subprocess.run([*command, str(store)], check=True, capture_output=True)
    assert b"1 of 3 robots needs an inspection" in done.stdout
    (file,) = (store / "judged").glob("*.state")
    assert file.read_bytes() == wanted.read_bytes()

"""The bytes of a record depend on its log alone: not on engine, number of workers, order, place of the store."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from minertia.fleet.fleet import Fleet
from minertia.fleet.sources import find_logs
from tests.fleet.small import added, contents, small_fleet, small_logs


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    own = small_fleet(tmp_path_factory.mktemp("bits"))
    small_logs(own)
    return own


@pytest.fixture(scope="module")
def serial(folder: Path) -> dict[str, bytes]:
    fleet, done = added(folder, folder / "serial")
    assert done.count("new") == 4 and not done.faults and len(done.arithmetics) == 1
    return contents(fleet)


def test_records_are_small_files_of_robot_and_day(serial: dict[str, bytes]) -> None:
    assert len(serial) == 4
    assert all(
        name.startswith(("evidence/robot=A1/day=2026-03-0", "evidence/robot=A2/day=2026-03-0")) for name in serial
    )
    assert len(set(serial.values())) == 4


def test_any_order_gives_the_same_bytes(folder: Path, serial: dict[str, bytes], tmp_path: Path) -> None:
    logs = [log.url for log in find_logs([folder / "logs"])]
    random.Random(3).shuffle(logs)
    for k, log in enumerate(logs):  # one run for each log, as they would arrive
        fleet, done = added(folder, tmp_path / "store", log, workers=0)
        assert done.count("new") == 1, k
    assert contents(fleet) == serial


@pytest.mark.slow
def test_two_processes_give_the_same_bytes(folder: Path, serial: dict[str, bytes], tmp_path: Path) -> None:
    """Started by a script without a guard, which they must not run again."""
    script = tmp_path / "script.py"
    script.write_text(
        "import minertia as mi\n"
        "print('once')\n"
        f"fleet = mi.fleet.Fleet.open({str(tmp_path / 'store')!r}, {str(folder / 'FLEET.toml')!r})\n"
        f"print(fleet.add({str(folder / 'logs')!r}, workers=2))\n",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout == "once\n<AddResult: 4 new, 0 known, 0 faults>\n"
    assert contents(Fleet.open(tmp_path / "store")) == serial


def test_a_store_in_memory_gives_the_same_bytes(folder: Path, serial: dict[str, bytes]) -> None:
    fleet, done = added(folder, "memory://bits")
    assert done.count("new") == 4 and contents(fleet) == serial

"""The fleet file: every entry checked, wrong ones named with line and key."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest

from minertia.fleet.fleet_file import FleetRobot, read_fleet
from minertia.fleet.options import FleetEntries, RobotEntry, TypeEntries
from minertia.fleet.record import TYPES
from minertia.fleet.sources import LogSource
from minertia.fleet.stored_types import StoredFleet, fleet_text, parsed_fleet
from minertia.io.errors import MinertiaError
from minertia.io.schema import keys_of
from tests.fleet.small import FLEET, small_fleet


def test_a_file_is_read(tmp_path: Path) -> None:
    folder = small_fleet(tmp_path)
    text = FLEET.replace('id = "A2"\n', 'id = "A2"\nsince = 2026-04-01\n')
    (folder / "FLEET.toml").write_text(text + "[types.arm.drive]\ngains = [2.0, 3.0]\n", encoding="utf-8")
    fleet = read_fleet(folder / "FLEET.toml")
    assert list(fleet.types) == ["arm"] and fleet.types["arm"].columns.drive.gains == (2.0, 3.0)
    assert fleet.types["arm"].filter.rate_hz == 25.0 and fleet.types["arm"].filter.on == "signals"
    assert fleet.robot("A2").since == date(2026, 4, 1)
    assert fleet.robot("line-77").type == "arm" and fleet.robot("B1") is None


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("format = 1", "format = 2", "format = 1"),
        ("[types.arm]", "speed = 1\n[types.arm]", "'speed'"),
        ('robot = "arm.urdf"', "", "needs 'robot'"),
        ('robot = "arm.urdf"', 'robot = "none.urdf"', "none.urdf"),
        ("cutoff_hz = 5.0", "", "cutoff_hz"),
        ("cutoff_hz = 5.0", "cutoff_hz = -5.0", "a number from 0.001 to"),
        ('zone = "Europe/Berlin"', 'zone = "Berlin"', "time zone"),
        ('type = "arm"', 'type = "leg"', "'leg'"),
        ('id = "A2"', 'id = "A1"', "twice"),
        ('id = "A2"', 'id = "A/2"', "letters"),
        ('id = "A2"', 'id = "A2"\nsince = "soon"', "2026-03-31"),
        ('robot = "arm.urdf"', 'robot = "arm.urdf"\nrest = -1.0', "a number from 0 to 1000 [rad/s or m/s], not -1.0"),
    ],
)
def test_wrong_entries_are_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    folder = small_fleet(tmp_path)
    assert old in FLEET
    (folder / "FLEET.toml").write_text(FLEET.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(MinertiaError, match=r"FLEET\.toml") as caught:
        read_fleet(folder / "FLEET.toml")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("url", "robot", "day"),
    [
        ("/data/robot=A1/day=2026-03-02/x.csv", "A1", "2026-03-02"),
        ("s3://bucket/robot=line-4/x.parquet", "line-4", None),
        ("/data/A2/2026-03-02.csv", "A2", "2026-03-02"),
        ("/data/A1_2026-03-02_night.csv.gz", "A1", "2026-03-02"),
        ("/A1/robot=A2/x.csv", "A2", None),
        ("/data/robot=B9/A1/x.csv", None, None),
        ("/data/B9.csv", None, None),
    ],
)
def test_paths_tell_robot_and_day(tmp_path: Path, url: str, robot: str | None, day: str | None) -> None:
    fleet = read_fleet(small_fleet(tmp_path) / "FLEET.toml")
    log = LogSource(url, 1, "")
    assert (log.robot(fleet), log.day) == (robot, day)


def test_every_key_and_column_is_on_the_page() -> None:
    words = set(re.findall(r"\w+", (Path(__file__).parents[2] / "docs" / "fleets.md").read_text(encoding="utf-8")))
    assert {key for kind in (FleetEntries, TypeEntries, RobotEntry) for key in keys_of(kind)} <= words
    assert {name for name in TYPES if name != "stretch_R_samples"} <= words


def test_lines_are_kept_in_the_store() -> None:
    """Pages group robots by line; a store knows it without the fleet file."""
    robots = (FleetRobot("line3-*", "arm", None, "line 3"), FleetRobot("spare", "arm"))
    assert parsed_fleet(fleet_text(StoredFleet({"arm": "k"}, robots))).robots == robots

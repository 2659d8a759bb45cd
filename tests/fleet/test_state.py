"""What one log, one file or one robot can do to the others: nothing, and it is named."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.simulated_fleet import START, FleetChange, SimulatedFleet
from benchmarks.simulated_store import simulated_record, simulated_store, simulated_type

from minertia.fleet import months
from minertia.fleet.calendar import day_name
from minertia.fleet.day_effects import DayEffects
from minertia.fleet.drift import FleetDrift
from minertia.fleet.fleet import Fleet
from minertia.fleet.index import IndexRow
from minertia.fleet.judging import write_calibration
from minertia.fleet.options import DriftOptions
from minertia.fleet.robot_day import RobotDay
from minertia.fleet.streams import learning_window, stray_days
from tests.conftest import Run

DAYS, CHANGED, LEARNT = 17, 11, 10
FLEET = SimulatedFleet(3, DAYS, 4, (FleetChange(0, "dry", 0.5, CHANGED, 1),), programs=3)
OPTIONS = DriftOptions(learning=LEARNT)
EFFECTS = DayEffects((0.015, 0.01), 0.8, 0.7, 40, 30)  # as the simulation has them; learning them takes seconds
LOAD_EFFECTS = DayEffects((3e-4,), 0.8, 0.7, 40, 30)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three robots in a store, the first with dry friction grown by half; nothing was judged yet."""
    folder = tmp_path_factory.mktemp("state") / "store"
    fleet = simulated_store(str(folder), FLEET)
    effects = {"load": LOAD_EFFECTS} | {f"j{j + 1}": EFFECTS for j in range(6)}
    write_calibration(fleet.store, fleet.stored_type(), effects)
    return folder


@pytest.fixture(scope="module")
def judged(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same after its first page."""
    folder = Path(shutil.copytree(made, tmp_path_factory.mktemp("judged") / "store"))
    assert verdicts(Fleet.open(folder).drift(options=OPTIONS))
    return folder


@pytest.fixture
def store(judged: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(judged, tmp_path / "store"))


@pytest.fixture(scope="module")
def spare() -> dict[int, RobotDay]:
    """Days of a robot that is none of the fleet."""
    return SimulatedFleet(1, 3, 9, programs=3).robot(0)


def more(store: Path, robot: str, day: int, own: RobotDay, *, hours: float = 0.0, content: str = "") -> IndexRow:
    """One more log in a store, as if it had been added."""
    fleet = Fleet.open(store)
    record = simulated_record(simulated_type(), fleet.stored_type().key, robot, day, own)
    start = record.first + 3600.0 * hours
    changes = {"content": content or f"{day:x}{hours:02.0f}".ljust(64, "a"), "first": start, "last": start + 60.0}
    record = replace(record, **changes)
    row = IndexRow.of(record, fleet.store.put(record), f"/logs/robot={robot}/{day_name(day)}.csv", "1")
    fleet.store.write_index([*fleet.store.index(), row])
    return row


def verdicts(found: FleetDrift) -> dict[tuple[str, str | None], tuple[bool, list[int], list[float]]]:
    return {
        (s.stream.robot, s.stream.joint): (s.is_alarm, s.process.days.tolist(), s.process.e.tolist())
        for s in found.streams
    }


def drift(store: Path) -> FleetDrift:
    return Fleet.open(store).drift(options=OPTIONS)


# ---------------------------------------------------------------------- learning, and logs that come late


def test_learning_counts_days_with_logs() -> None:
    assert learning_window(range(100, 200), 30) == (100, 129)
    assert learning_window(range(100, 400, 3), 30) == (100, 187)
    assert learning_window([55, *range(100, 200)], 30) == (55, 128)
    assert learning_window([5, 7], 30) == (5, 7)


@pytest.mark.parametrize(
    ("days", "stray"),
    [
        (range(100, 140), ()),
        ([50, *range(100, 140)], (50,)),
        ([75, *range(100, 140)], ()),
        ([50, *range(100, 140), 900, 901], (50, 900, 901)),
        ([50, 51, 52, *range(100, 140)], ()),
        ([1, 100], ()),
        ([1, 100, 200], ()),
    ],
)
def test_few_days_far_from_all_others_are_stray(days, stray: tuple[int, ...]) -> None:
    assert stray_days(days) == stray


@pytest.mark.parametrize("before", [45, pytest.param(5, marks=pytest.mark.slow)])
def test_an_older_log_is_named_and_changes_no_verdict(store, spare, run: Run, before: int) -> None:
    """Learning counted from the first day: one log of 45 days before made a robot learn for ever, with exit code 0."""
    same = verdicts(drift(store))
    row = more(store, "r000", START - before, spare[START])
    found = drift(store)
    assert verdicts(found) == same and [a.robot for a in found.alarms] == ["r000"]
    (left,) = found.left_out
    assert left.source == row.source and "is older than the training days of robot 'r000'" in left.reason
    code, out, _ = run("fleet", "drift", "--store", store, "--learning", LEARNT)
    assert code == 1 and row.source in out and "1 of 3 robots needs an inspection" in out
    code, out, _ = run("fleet", "drift", "--store", store, "--learning", LEARNT, "--json")
    assert json.loads(out)["left_out"][0]["robot"] == "r000"


def test_an_older_log_that_was_there_before_the_first_page_does_not_silence_either(made, spare, tmp_path) -> None:
    store = Path(shutil.copytree(made, tmp_path / "store"))
    same = verdicts(drift(Path(shutil.copytree(made, tmp_path / "without"))))
    more(store, "r000", START - 45, spare[START])
    found = drift(store)
    assert verdicts(found) == same and [a.robot for a in found.alarms] == ["r000"]
    assert any("'r000'" in note and day_name(START - 45) in note for note in found.notes)


def test_a_late_log_of_a_learnt_day_changes_no_verdict(store, spare) -> None:
    same = verdicts(drift(store))
    more(store, "r000", START + 4, spare[START], hours=10.0)
    found = drift(store)
    assert verdicts(found) == same
    assert "came after the training days of robot 'r000'" in found.left_out[0].reason


def test_a_late_log_of_a_watched_day_counts_and_is_named_once(store, spare) -> None:
    same = verdicts(drift(store))
    more(store, "r001", START + 12, spare[START], hours=10.0)
    found = drift(store)
    (note,) = [note for note in found.notes if "after their days had been assessed" in note]
    assert "'r001'" in note and day_name(START + 12) in note
    now = verdicts(found)
    assert {name for name in same if same[name] != now[name]} <= {name for name in same if name[0] == "r001"}
    assert not [note for note in drift(store).notes if "after their days had been assessed" in note]


def test_a_robot_that_was_judged_and_no_longer_is_ends_with_1(store, run: Run) -> None:
    """Its newest logs are lost: it has been silent since, which nobody was told before."""
    fleet = Fleet.open(store)
    rows = [r for r in fleet.store.index() if r.robot not in ("r000", "r001") or r.day < day_name(START + DAYS - 5)]
    fleet.store.write_index([row for row in rows if row.robot != "r000" or row.day < day_name(START + CHANGED)])
    code, out, _ = run("fleet", "drift", "--store", store, "--learning", LEARNT, "--json")
    data = json.loads(out)
    assert code == 1 and not data["alarms"]
    assert {own["robot"]: own["until"] for own in data["no_longer_judged"]} == {
        "r000": day_name(START + DAYS - 1),
        "r001": day_name(START + DAYS - 1),
    }
    assert "no logs since" in data["no_longer_judged"][0]["reason"]
    code, out, _ = run("fleet", "drift", "--store", store, "--learning", LEARNT)
    assert code == 1 and "2 robots assessed before are no longer assessed" in out and "no longer judged" in out
    events = f"robot,day,joint,kind,note\nr000,{day_name(START)},*,retired,\nr001,{day_name(START)},,retired,sold\n"
    (store / "events.csv").write_text(events, "utf-8")
    assert run("fleet", "drift", "--store", store, "--learning", LEARNT)[0] == 0


def test_a_robot_whose_records_are_all_gone_is_missed(store) -> None:
    fleet = Fleet.open(store)
    fleet.store.write_index([row for row in fleet.store.index() if row.robot != "r002"])
    (lost,) = drift(store).no_longer
    assert (lost.robot, lost.joints) == ("r002", ()) and "no valid log of it" in lost.reason


def test_one_log_without_temperatures_takes_only_its_day(made, tmp_path) -> None:
    """All friction of the robot was given up before, without a word in the exit code."""
    store = Path(shutil.copytree(made, tmp_path / "store"))
    fleet = Fleet.open(store)
    (row,) = [row for row in fleet.rows("r000") if row.day == day_name(START + 13)]
    (record,) = fleet.store.records([row])
    fleet.store.put(replace(record, temperature=np.zeros(0)))
    found = drift(store)
    assert [a.robot for a in found.alarms] == ["r000"]
    days = {s.stream.joint: s.stream.days.tolist() for s in found.streams if s.stream.robot == "r000"}
    assert START + 13 not in days["j2"] and START + 13 in days[None]


def test_temperatures_that_stop_are_missed(store) -> None:
    fleet = Fleet.open(store)
    for record in list(fleet.store.records([r for r in fleet.rows("r000") if r.day > day_name(START + 12)])):
        fleet.store.put(replace(record, temperature=np.zeros(0)))
    found = drift(store)
    assert [s.stream.joint for s in found.streams if s.stream.robot == "r000"] == [None]
    (lost,) = found.no_longer
    assert lost.robot == "r000" and "j2" in lost.joints and "temperatures are missing since" in lost.reason


# ---------------------------------------------------------------------- clocks and names


@pytest.mark.parametrize(
    "day", [START + 30 * 365, pytest.param(START + 900, marks=pytest.mark.slow)], ids=["in the future", "far ahead"]
)
def test_a_log_of_a_clock_that_is_ahead_silences_nobody(store, spare, day: int) -> None:
    """The page was that of the newest day: all other robots had no logs since."""
    same = verdicts(drift(store))
    more(store, "r002", day, spare[START])
    found = drift(store)
    assert verdicts(found) == same and found.days[1] == START + DAYS - 1
    assert any("'r002'" in note and day_name(day) in note for note in found.notes)


def test_a_robot_whose_clock_is_ahead_by_days_does_not_set_the_day_of_the_page(monkeypatch) -> None:
    from minertia.fleet import drift as module

    class Today(module.date):
        @classmethod
        def today(cls):
            return cls.fromordinal(START + 100)

    monkeypatch.setattr(module, "date", Today)
    page, notes = module._page_day({"a": START + 99, "b": START + 120}, OPTIONS)
    assert page == START + 99 and "robot 'b'" in notes[0]
    assert module._page_day({"b": START + 120}, OPTIONS) == (START + 120, [])  # our own clock is behind


def test_a_copy_among_another_robots_logs_takes_nothing_from_what_was_judged(store, spare) -> None:
    same = verdicts(drift(store))
    row = next(row for row in Fleet.open(store).rows("r000") if row.day == day_name(START + 14))
    more(store, "r002", START + 14, spare[START], hours=9.0, content=row.content)
    found = drift(store)
    assert {k: v for k, v in verdicts(found).items() if k[0] == "r000"} == {
        k: v for k, v in same.items() if k[0] == "r000"
    }
    assert any("also stored for" in fault.reason for fault in Fleet.open(store).conflicts())


def test_two_robots_of_one_name_are_told(made, spare, tmp_path) -> None:
    """Their logs overlap, none counts: the robot was missing from the page without a word."""
    store = Path(shutil.copytree(made, tmp_path / "store"))
    for day in range(START, START + DAYS):
        more(store, "r001", day, spare[START], hours=1.0)
    reasons = {own.robot: own.reason for own in drift(store).not_judged}
    assert "none of its 34 logs counts" in reasons["r001"]


def test_a_robot_of_another_type_than_before_is_judged_by_that_alone(store) -> None:
    fleet = Fleet.open(store)
    rows = fleet.store.index()
    other = [replace(r, robot_type="leg") for r in rows if r.robot == "r001"]
    fleet.store.write_index([*(r for r in rows if r.robot != "r001"), *other])
    assert "r001" not in fleet.robots  # the store says that all robots called r* are of the type arm
    assert [own.robot for own in drift(store).no_longer] == ["r001"]


def test_a_robot_of_other_units_takes_nobody_with_it(made, tmp_path) -> None:
    """In mN m, and first by name: its noise weighed the efforts of all, which were all taken for unclear."""
    store = Path(shutil.copytree(made, tmp_path / "store"))
    same = verdicts(drift(store))
    fleet = Fleet.open(store)
    odd = SimulatedFleet(1, DAYS, 21, programs=3).robot(0)
    for day, own in odd.items():
        factor = np.full(6, 1e6)
        assert own.evidence.stretches is not None
        triangles = []
        for R in own.evidence.triangles:
            triangles.append(np.concatenate([R[:, :-1], 1e3 * R[:, -1:]], axis=1))
        stretches = replace(own.evidence.stretches.scaled(np.ones(6)), rest=own.evidence.stretches.rest * factor)
        scores = tuple(1e3 * score for score in stretches.scores)
        evidence = replace(own.evidence, triangles=tuple(triangles), stretches=replace(stretches, scores=scores))
        more(store, "r", day, replace(own, evidence=evidence), content=f"{day:x}odd".ljust(64, "0"))
    found = drift(store)
    assert "units and gains" in next(n.reason for n in found.not_judged if n.robot == "r")
    assert verdicts(found) == same and fleet.robots[0] == "r"


# ---------------------------------------------------------------------- files of the store


def spoil(path: Path, how: str) -> None:
    data = bytearray(path.read_bytes())
    if how == "a bit":
        data[len(data) // 2] ^= 1
    path.chmod(0o644)
    if how == "gone":
        path.unlink()
    else:
        path.write_bytes(data[: len(data) // 2] if how == "cut" else b"" if how == "empty" else data)


@pytest.mark.parametrize(
    "how", ["a bit", "gone", *(pytest.param(how, marks=pytest.mark.slow) for how in ("cut", "empty"))]
)
def test_a_damaged_record_is_named_and_the_others_are_judged(store, run: Run, how: str) -> None:
    (row,) = [row for row in Fleet.open(store).rows("r001") if row.day == day_name(START + 13)]
    same = verdicts(drift(store))
    spoil(store / row.record, how)
    code, out, err = run("fleet", "drift", "--store", store, "--learning", LEARNT, "--json")
    data = json.loads(out)
    (fault,) = data["faults"]
    assert code == 1 and fault["robot"] == "r001" and fault["source"] == row.record, err
    assert "cannot be read" in fault["reason"] and day_name(START + 13) in fault["reason"]
    assert [a["robot"] for a in data["alarms"]] == ["r000"] and not data["no_longer_judged"]
    now = verdicts(drift(store))
    assert {k: v for k, v in now.items() if k[0] != "r001"} == {k: v for k, v in same.items() if k[0] != "r001"}
    assert START + 13 not in now["r001", "j1"][1] and len(now["r001", "j1"][1]) == DAYS - LEARNT - 1
    code, out, _ = run("fleet", "fit", "--store", store, "--columns", "FV,FC,OFF")
    if how != "a bit":  # which is one of scores, that fits do not read
        assert code == 1 and f"fault: {row.record}" in out


@pytest.mark.parametrize("how", ["a bit", "cut"])
def test_of_a_damaged_month_what_can_be_read_counts(made, tmp_path, monkeypatch, how: str) -> None:
    """One bit takes the days of one row group, a lost end all days of the file, and no robot stops the others."""
    monkeypatch.setattr(months, "GROUP", 3)
    store = Path(shutil.copytree(made, tmp_path / "store"))
    fleet = Fleet.open(store)
    (first, *_) = fleet.compact(before="2100-01")
    spoil(store / first, how)
    found = drift(store)
    assert found.faults and found.faults[0].source == first
    assert how == "cut" or [a.robot for a in found.alarms] == ["r000"]
    before = len(fleet.store.readable(first)[0])
    fleet.compact(before="2100-01")  # keeps what can be read, once it is known to be damaged
    assert not (store / first).exists() and not fleet.store.damaged
    assert len(fleet.rows()) == 3 * DAYS  # the index still knows what was lost
    assert sum(len(fleet.store.table(name)) for name in fleet.store.files()) >= before


def test_a_record_without_numbers_is_left_out(store) -> None:
    fleet = Fleet.open(store)
    (row,) = [row for row in fleet.rows("r001") if row.day == day_name(START + 13)]
    (record,) = fleet.store.records([row])
    evidence = record.evidence
    bad = replace(evidence, triangles=(np.full_like(evidence.triangles[0], np.nan), *evidence.triangles[1:]))
    fleet.store.put(replace(record, evidence=bad))
    found = drift(store)
    assert "not finite" in found.faults[0].reason and [a.robot for a in found.alarms] == ["r000"]
    assert np.all(np.isfinite(fleet.fit().type.values))


def test_what_was_judged_cannot_be_read(store) -> None:
    (file,) = (store / "judged").glob("learning-*.parquet")
    file.write_bytes(b"no table")
    found = drift(store)
    assert [a.robot for a in found.alarms] == ["r000"] and found.needs_a_look
    assert "the assessments of earlier reports cannot be read" in found.faults[0].reason
    assert not drift(store).faults  # written anew


def test_a_broken_calibration_is_noted(store) -> None:
    (file,) = (store / "calibration").iterdir()
    file.write_text("{", "utf-8")
    found = drift(store)
    assert any("is not a calibration" in note for note in found.notes)
    assert len(found.no_longer) == 3 and found.needs_a_look  # fewer than five robots tell no day effects


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
def test_a_store_that_is_only_read_is_judged(store) -> None:
    for folder in [store, *(path for path in store.rglob("*") if path.is_dir())]:
        folder.chmod(0o555)
    try:
        found = drift(store)
    finally:
        for folder in [store, *(path for path in store.rglob("*") if path.is_dir())]:
            folder.chmod(0o755)
    assert [a.robot for a in found.alarms] == ["r000"]


def test_a_store_that_cannot_be_written_is_judged_all_the_same(made, tmp_path, monkeypatch) -> None:
    from minertia.fleet.places import LocalPlace

    def closed(self: LocalPlace, name: str, data: bytes) -> None:
        raise PermissionError(30, "Read-only file system", name)

    store = Path(shutil.copytree(made, tmp_path / "store"))
    monkeypatch.setattr(LocalPlace, "write", closed)
    found = drift(store)
    assert [a.robot for a in found.alarms] == ["r000"]
    assert any("could not be stored for the next one" in note and "Read-only" in note for note in found.notes)


def test_a_damaged_file_of_the_fleet_is_named(store, run: Run) -> None:
    (store / "fleet.toml").write_text("types = 3\nrobots = [", "utf-8")
    code, _, err = run("fleet", "drift", "--store", store)
    assert code == 2 and "fleet.toml is damaged" in err and "--fleet" in err


def test_an_empty_store_is_told(tmp_path: Path, run: Run) -> None:
    simulated_store(str(tmp_path / "store"), FLEET, robots=())
    code, _, err = run("fleet", "drift", "--store", tmp_path / "store")
    assert code == 2 and "add logs first" in err

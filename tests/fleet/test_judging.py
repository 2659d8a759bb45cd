"""Fit, drift and report of a store, by commands and from Python, and the page."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.simulated_fleet import START, FleetChange, SimulatedFleet
from benchmarks.simulated_store import simulated_store

from minertia.fleet.calendar import day_name
from minertia.fleet.day_stack import DayStack
from minertia.fleet.drift import FleetDrift, NoLongerJudged
from minertia.fleet.fleet import Fleet
from minertia.fleet.index import LogFault
from minertia.fleet.judging import judge_stored
from minertia.fleet.options import DriftOptions, FitOptions
from minertia.fleet.readout import StoredStacks
from minertia.fleet.record import table_bytes
from minertia.fleet.store import GROUP
from minertia.report import fleet_page as page_module
from minertia.report.blocks import FleetStrip, Words
from minertia.report.fleet_page import fleet_page
from minertia.report.fleet_tables import chance_text, ranked_robots
from minertia.studio.fleet_work import fleet_view
from tests.arm import FRICTION
from tests.conftest import Run
from tests.fleet.small import added, small_fleet, small_logs
from tests.pages import page_data, page_text

DAYS, CHANGED = 18, 11
FLEET = SimulatedFleet(7, DAYS, 4, (FleetChange(0, "dry", 0.5, CHANGED, 1),), programs=3)
LEARNING = ("--learning", "10")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven robots, some of their days in months, and a robot whose dry friction has grown by half."""
    folder = tmp_path_factory.mktemp("fleet") / "store"
    fleet = simulated_store(str(folder), FLEET)
    fleet.compact(before=day_name(START + 10)[:7])
    return folder


@pytest.fixture(scope="module")
def found(store: Path) -> FleetDrift:
    return Fleet.open(store).drift(options=DriftOptions(learning=10))


@pytest.mark.slow
def test_drift_of_a_store(found: FleetDrift, store: Path) -> None:
    (alarm,) = found.alarms
    assert (alarm.robot, alarm.joint, alarm.what) == ("r000", "j2", "dry friction")
    assert alarm.change == pytest.approx(0.5, abs=0.08)
    assert list((store / "calibration").glob("*.json"))


def test_a_calibration_that_was_kept_serves_fewer_robots(found: FleetDrift, store: Path) -> None:
    assert found.calibration
    fleet = Fleet.open(store)
    rows = [row for row in fleet.rows() if row.robot in ("r000", "r001")]
    few = judge_stored(fleet.store, [fleet.stored_type()], rows, DriftOptions(learning=10), ())
    assert [a.robot for a in few.alarms] == ["r000"] and any("earlier calibration" in n for n in few.notes)


@pytest.mark.slow
def test_an_event_that_is_planned_has_not_happened(found: FleetDrift, store: Path, tmp_path: Path) -> None:
    """Maintenance of a later year keeps nobody from being judged until then."""
    planned = tmp_path / "events.csv"
    planned.write_text("robot,day,joint,kind,note\nr000,2999-01-01,*,maintenance,planned\n", "utf-8")
    later = Fleet.open(store).drift(options=DriftOptions(learning=10), events=planned)
    assert [(a.robot, a.e) for a in later.alarms] == [(a.robot, a.e) for a in found.alarms]
    assert later.not_judged == found.not_judged


def test_stacks_of_a_store_are_those_of_its_days(store: Path) -> None:
    fleet = Fleet.open(store)
    stacks = StoredStacks(fleet.store, fleet.stored_type(), fleet.rows())
    wanted = DayStack.of({d: x.evidence for d, x in FLEET.robot(3).items()})
    assert list(stacks) == FLEET.names() and stacks["r003"].days == wanted.days
    for found in (stacks["r003"], stacks.alone("r003")):
        assert all(np.array_equal(a, b) for a, b in zip(found.unpacked().rows, wanted.rows, strict=True))


@pytest.mark.slow
def test_of_a_month_one_robot_can_be_read_alone_and_old_months_too(tmp_path: Path) -> None:
    """Only the row groups that may hold it are read, and all of its records are in them."""
    arrow = pytest.importorskip("pyarrow")
    made = SimulatedFleet(6, 20, 5, programs=2)
    fleet = simulated_store(str(tmp_path / "store"), made)
    fleet.compact(before="2100-01")
    (name, *_) = fleet.store.place.names("months")
    whole, part = fleet.store.table(name, ["robot"]), fleet.store.table(name, ["robot"], robot="r002")
    count = whole.column("robot").to_pylist().count("r002")
    assert count and part.column("robot").to_pylist().count("r002") == count and len(part) < len(whole)
    new = StoredStacks(fleet.store, fleet.stored_type(), fleet.rows())["r002"]
    table = fleet.store.table(name)  # as it was written before, with numbers that may be missing
    kinds = [(f.name, arrow.list_(f.type.value_type) if arrow.types.is_list(f.type) else f.type) for f in table.schema]
    fleet.store.place.write(name, table_bytes(table.cast(arrow.schema(kinds)), GROUP))
    assert fleet.store.table(name).schema != table.schema
    old = StoredStacks(fleet.store, fleet.stored_type(), fleet.rows())["r002"]
    assert old.days == new.days and np.array_equal(old.packed, new.packed)


def test_the_commands(store: Path, run: Run) -> None:
    code, out, _ = run("fleet", "drift", "--store", store, *LEARNING, "--json")
    data = json.loads(out)
    assert code == 1 and data["alarms"][0]["robot"] == "r000" and data["store"] == str(store)
    assert data["arithmetic"] and data["faults"] == []


@pytest.mark.slow
def test_the_command_takes_events_and_writes_a_page(store: Path, run: Run, tmp_path: Path) -> None:
    events = tmp_path / "events.csv"
    events.write_text(f"robot,day,joint,kind,note\nr000,{day_name(START + CHANGED)},j2,maintenance,new gear\n", "utf-8")
    asked = ("--events", events, "--html", tmp_path / "page.html")
    code, out, _ = run("fleet", "drift", "--store", store, *LEARNING, *asked)
    assert code == 0 and "none of 7 robots needs an inspection" in out and (tmp_path / "page.html").is_file()


def test_the_report_and_its_files(store: Path, run: Run, tmp_path: Path) -> None:
    code, out, _ = run("fleet", "report", "--store", store, *LEARNING, "--out", tmp_path / "page", "--exit-zero")
    assert code == 0 and "1 of 7 robots needs an inspection" in out and "fleet.html" in out
    assert {p.name for p in (tmp_path / "page").iterdir()} == {"fleet.html", "drift.json", "fit-arm.json"}
    fit = json.loads((tmp_path / "page" / "fit-arm.json").read_text("utf-8"))
    assert len(fit["robots"]) == 7 and fit["type"]["robots"] == 7


def test_the_fit_command(store: Path, run: Run) -> None:
    code, out, _ = run("fleet", "fit", "--store", store, "--columns", "FV,FC,OFF", "--robot", "r001")
    assert code == 0 and "friction of r001" in out and "FC6" in out
    code, out, _ = run("fleet", "fit", "--store", store, "--columns", "FV,FC,OFF", "--json")
    assert code == 0 and json.loads(out)["types"][0]["effects"] == ["FV", "FC", "OFF"]
    code, _, err = run("fleet", "fit", "--store", store, "--columns", "XY")
    assert code == 2 and "--columns must be a list of" in err and "XY" in err
    code, _, err = run("fleet", "fit", "--store", store, "--type", "crane")
    assert code == 2 and "'crane'" in err
    code, _, err = run("fleet", "drift", "--store", store / "nothing")
    assert code == 2 and "no fleet store" in err


def test_the_page_tells_all_and_asks_nobody(found: FleetDrift, store: Path) -> None:
    fleet = Fleet.open(store)
    page = fleet_page(found, {"arm": fleet.fit()}, store="<here>", faults=["a.csv: truncated"], arithmetic=["one"])
    written = page.written()
    order = ["Alarms", "What changed", "Every robot, every day", "Robots unlike the others", "Faults of logs"]
    assert [part.title for part in page.parts] == [*order, "How it was judged"]
    assert "<here>" not in written and "<here>" in page_text(written)
    blocks = [block for part in page_data(written)["view"]["parts"] for block in part["blocks"]]
    chart, warmth = [block["chart"] for block in blocks if "chart" in block]
    assert warmth["unit"] == "\u00b0C"
    assert chart["span"][0] < chart["span"][1] and chart["edges"] == ["at most", "at least"]
    (strip,) = [block["strip"] for block in blocks if "strip" in block]
    assert "e3" in strip["robots"][0]["days"] and strip["robots"][0]["alarms"] == 1
    assert strip["robots"][0]["type"] == "arm" and strip["robots"][0]["line"] == ""


@pytest.mark.slow
def test_the_page_of_a_fleet_that_is_learning_says_so(store: Path) -> None:
    text = page_text(fleet_page(Fleet.open(store).drift(options=DriftOptions(learning=DAYS))).written())
    assert "still learning: 18 days with logs" in text and "Not judged" in text and "What changed" not in text
    assert "No robot could be assessed" in text


def test_logs_that_were_added_are_fitted_and_not_judged_yet(tmp_path: Path) -> None:
    """From files of logs to friction, through records alone."""
    small_fleet(tmp_path)
    small_logs(tmp_path, days=5)
    fleet, _ = added(tmp_path, tmp_path / "store")
    fit = fleet.fit(options=FitOptions(("FV", "FC", "OFF")))
    for own in fit.robots.values():
        for name, wanted in FRICTION.items():
            place = own.names.index(name)
            assert own.values[place] == pytest.approx(wanted, rel=0.3) and 0 < own.deviation[place] < 0.3 * wanted
    found = fleet.drift()
    assert not found.streams and found.statement == "no robot could be assessed"
    assert {n.robot for n in found.not_judged} == {"A1", "A2"}


def test_robots_with_alarms_are_drawn_first_however_many_there_are(
    found: FleetDrift, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A robot with several alarms pushed others below the healthy ones, and the cut hid them."""
    (alarm,) = found.alarms
    names = [f"r{k:03d}" for k in range(7)]
    alarms = [replace(alarm, robot=robot, e=1e6 / (k + 1)) for k, robot in enumerate(["r006"] * 5 + ["r003", "r001"])]
    many = replace(found, alarms=tuple(alarms))
    assert ranked_robots(many) == (["r006", "r003", "r001", "r000", "r002", "r004", "r005"], 3)
    monkeypatch.setattr(page_module, "MOST_ROWS", 2)
    told, strip = page_module._strip(many)
    assert isinstance(told, Words) and isinstance(strip, FleetStrip)
    drawn = strip.view["robots"]
    assert [row["name"] for row in drawn] == ["r006", "r003", "r001"] and all(row["alarms"] for row in drawn)
    assert "4 more robots without alarms are not drawn" in told.text
    monkeypatch.setattr(page_module, "MOST_ROWS", 6)
    (told, _) = page_module._strip(many)
    assert isinstance(told, Words) and "1 more robot without alarms is not drawn" in told.text
    assert [row["name"] for row in fleet_view(many)["robots"]][:3] == ["r006", "r003", "r001"]
    assert set(names) == set(many.robots)


def test_numbers_are_printed_plainly(found: FleetDrift, store: Path, run: Run) -> None:
    """A thin space was shown as an escape on the terminal: 1 in 103\\x2009769."""
    (alarm,) = found.alarms
    assert chance_text(replace(alarm, e=103769.4)) == "1 in 103769"
    assert chance_text(replace(alarm, e=2.5e7)) == "1 in 10^7"
    _, out, _ = run("fleet", "drift", "--store", store, *LEARNING, "--exit-zero")
    assert re.search(r"1 in (\d+|10\^\d+)  ", out)


def test_the_page_says_who_is_no_longer_judged_and_what_is_damaged(found: FleetDrift) -> None:
    lost = NoLongerJudged("r002", found.days[1] - 4, "no logs since <then>")
    fault = LogFault("evidence/x.parquet", "r001", "the record cannot be read")
    text = page_text(fleet_page(replace(found, no_longer=(lost,), faults=(fault,), left_out=(fault,))).written())
    assert "No longer judged" in text and "no logs since <then>" in text and "evidence/x.parquet" in text
    assert "1 robot assessed before is no longer assessed" in text and "Logs that came too late" in text

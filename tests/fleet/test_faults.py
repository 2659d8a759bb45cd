"""Each bad log, a full disk, a store that vanishes: named, and nothing else changes."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minertia.fleet import add
from minertia.fleet.fleet import Fleet
from minertia.fleet.places import LocalPlace, StoreError
from minertia.io import drafts
from minertia.io.errors import MinertiaError
from tests.fleet import killers
from tests.fleet.small import DAY, START, added, contents, log_columns, logged_fleet, write_log


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return logged_fleet(tmp_path_factory.mktemp("faults"), days=1, seconds=5.0)


@pytest.fixture(scope="module")
def good(folder: Path) -> dict[str, bytes]:
    fleet, done = added(folder, folder / "good")
    assert done.count("new") == 2 and not done.faults
    return contents(fleet)


def with_bad(folder: Path, store: Path, *bad: Path) -> tuple[Fleet, Any]:
    return added(folder, store, [folder / "logs", *bad], workers=0)


def test_a_truncated_log_is_named(folder, good, tmp_path) -> None:
    bad = write_log(tmp_path / "robot=A1" / "cut.parquet", log_columns(folder, 5, START + 5 * DAY))
    bad.write_bytes(bad.read_bytes()[:-100])
    fleet, done = with_bad(folder, tmp_path / "store", bad)
    assert [fault.source for fault in done.faults] == [str(bad)] and "Parquet" in done.faults[0].reason
    assert contents(fleet) == good


def test_a_log_of_a_robot_with_other_joints_is_named(folder, good, tmp_path) -> None:
    columns = log_columns(folder, 5, START + 5 * DAY)
    bad = write_log(tmp_path / "robot=A2" / "three.csv", columns | {"q3": columns["q1"], "tau3": columns["tau1"]})
    fleet, done = with_bad(folder, tmp_path / "store", bad)
    assert [fault.source for fault in done.faults] == [str(bad)] and "3 joints" in done.faults[0].reason
    assert contents(fleet) == good


def test_a_log_of_another_robot_of_as_many_joints_is_remarked(folder, tmp_path) -> None:
    columns = log_columns(folder, 5, START + 5 * DAY)
    rng = np.random.default_rng(1)
    other = columns | {f"tau{j}": np.cumsum(rng.normal(size=len(columns["t"]))) for j in (1, 2)}
    bad = write_log(tmp_path / "robot=A1" / "other.csv", other)
    fleet, done = added(folder, tmp_path / "store", bad, workers=0)
    (record,) = fleet.records("A1")
    assert not done.faults and any("not explained" in remark for remark in record.remarks)
    assert record.unexplained.max() > 0.5


def test_a_log_without_a_robot_is_named(folder, good, tmp_path) -> None:
    bad = write_log(tmp_path / "robot=B7" / "run.csv", log_columns(folder, 5, START))
    fleet, done = with_bad(folder, tmp_path / "store", bad)
    assert [fault.source for fault in done.faults] == [str(bad)] and "no robot" in done.faults[0].reason
    assert contents(fleet) == good


def test_a_log_of_a_clock_that_began_anew_is_named(folder, good, tmp_path) -> None:
    """After a power cut clocks start in 2000: the log stood 26 years before all others."""
    columns = log_columns(folder, 5, 946_684_800.0 + 7200.0)
    bad = write_log(tmp_path / "robot=A1" / "day=2026-03-07" / "run.csv", columns)
    fleet, done = with_bad(folder, tmp_path / "store", bad)
    assert [fault.source for fault in done.faults] == [str(bad)] and "its time stamps are of 2000-01-01" in done.faults[
        0
    ].reason
    assert contents(fleet) == good


def test_a_copy_under_another_name_counts_once(folder, good, tmp_path) -> None:
    first = next((folder / "logs" / "robot=A1").rglob("run.*"))
    copy = tmp_path / "robot=A1" / f"copy{first.suffix}"
    copy.parent.mkdir()
    shutil.copy(first, copy)
    fleet, done = with_bad(folder, tmp_path / "store", copy)
    assert not done.faults and contents(fleet) == good
    assert len(fleet.rows()) == 2
    again = fleet.add([folder / "logs", copy], workers=0)
    assert again.skipped == 3 and not again.rows


def test_a_log_of_two_robots_is_counted_for_neither(folder, tmp_path) -> None:
    first = next((folder / "logs" / "robot=A1").rglob("run.*"))
    copy = tmp_path / "robot=line-3" / f"copy{first.suffix}"
    copy.parent.mkdir()
    shutil.copy(first, copy)
    fleet, done = with_bad(folder, tmp_path / "store", copy)
    assert {fault.source for fault in done.faults} == {str(first), str(copy)}
    assert all("both are ignored" in fault.reason for fault in done.faults)
    assert [row.robot for row in fleet.rows()] == ["A2"]
    assert fleet.conflicts() == list(done.faults)


def test_logs_that_overlap_in_time_are_counted_neither(folder, tmp_path) -> None:
    other = write_log(tmp_path / "robot=A1" / "other.csv", log_columns(folder, 6, START + 2.0))
    fleet, done = with_bad(folder, tmp_path / "store", other)
    assert len(done.faults) == 2 and all("overlaps in time" in fault.reason for fault in done.faults)
    assert [row.robot for row in fleet.rows()] == ["A2"]


def test_a_log_that_grew_replaces_its_record(folder, good, tmp_path) -> None:
    columns = log_columns(folder, 5, START + 5 * DAY, 10.0)
    short = {name: values[:600] for name, values in columns.items()}
    log = write_log(tmp_path / "robot=A1" / "run.csv", short)
    fleet, done = with_bad(folder, tmp_path / "store", log)
    assert done.count("new") == 3
    write_log(log, columns)
    assert len(log.read_bytes()) > 0
    again = fleet.add([folder / "logs", log], workers=0)
    assert again.skipped == 2 and again.count("new") == 1 and not again.faults
    assert max(record.samples for record in fleet.records("A1")) == 1000
    names = contents(fleet)
    assert len(names) == 3 and {name: data for name, data in names.items() if name in good} == good


def test_a_log_that_grows_while_it_is_read_is_refused(folder, tmp_path, monkeypatch) -> None:
    log = write_log(tmp_path / "robot=A1" / "run.csv", log_columns(folder, 5, START + 5 * DAY))
    honest = add.gathered

    def growing(*args: Any, **options: Any) -> Any:
        found = honest(*args, **options)
        if log.exists():
            with open(log, "a", encoding="utf-8") as file:
                file.write("1,2\n")
        return found

    monkeypatch.setattr(add, "gathered", growing)
    fleet, done = added(folder, tmp_path / "store", log, workers=0)
    assert [fault.source for fault in done.faults] == [str(log)] and "changed while" in done.faults[0].reason
    assert not contents(fleet)


def test_a_full_disk_is_named_and_leaves_no_draft(folder, good, tmp_path, monkeypatch) -> None:
    bad = write_log(tmp_path / "robot=A1" / "run.csv", log_columns(folder, 5, START + 5 * DAY))
    honest = drafts.os.fsync

    def full(descriptor: int) -> None:
        if os.path.realpath(f"/proc/self/fd/{descriptor}").count("day=2026-03-07"):
            raise OSError(errno.ENOSPC, "No space left on device")
        honest(descriptor)

    monkeypatch.setattr(drafts.os, "fsync", full)
    fleet, done = with_bad(folder, tmp_path / "store", bad)
    assert [fault.source for fault in done.faults] == [str(bad)] and "No space left" in done.faults[0].reason
    assert contents(fleet) == good
    assert not list((tmp_path / "store").rglob(".minertia*"))
    monkeypatch.undo()
    again = fleet.add([folder / "logs", bad], workers=0)  # there is room again
    assert again.skipped == 2 and again.count("new") == 1 and not again.faults


def test_a_store_that_vanishes_is_named_and_not_made_anew(folder, good, tmp_path, monkeypatch) -> None:
    store, away = tmp_path / "store", tmp_path / "away"
    honest = LocalPlace.write

    def vanishing(self: LocalPlace, name: str, data: bytes) -> None:
        honest(self, name, data)
        if name.startswith("evidence/"):
            store.rename(away)

    monkeypatch.setattr(LocalPlace, "write", vanishing)
    _, done = added(folder, store)
    assert not store.exists() and done.count("new") == 1
    assert {fault.source for fault in done.faults} >= {str(store)} and len(done.faults) == 2
    assert all("no fleet store" in fault.reason for fault in done.faults)
    monkeypatch.undo()
    away.rename(store)  # mounted again
    fleet, again = added(folder, store)
    assert (again.count("new"), again.count("known")) == (1, 1) and not again.faults and contents(fleet) == good


def test_an_interrupted_run_goes_on(folder, good, tmp_path, monkeypatch) -> None:
    def interrupted(step: str) -> None:
        raise KeyboardInterrupt

    fleet = Fleet.open(tmp_path / "store", folder / "FLEET.toml")
    with pytest.raises(KeyboardInterrupt):
        fleet.add(folder / "logs", workers=0, tell=interrupted)
    assert len(contents(fleet)) == 1
    honest, read = add.gathered, []

    def counted(*args: Any, **options: Any) -> Any:
        read.append(args)
        return honest(*args, **options)

    monkeypatch.setattr(add, "gathered", counted)
    done = fleet.add(folder / "logs", workers=0)
    assert not done.faults and contents(fleet) == good
    assert len(read) == 1  # the other one is there, though the interrupted run did not come to enter it


def test_a_record_that_no_run_listed_is_replaced_when_its_log_has_grown(folder, tmp_path) -> None:
    """A worker that outlives its run writes such a record; beside that of the longer log, both would be ignored."""
    log, rows = tmp_path / "robot=A1" / "run.csv", log_columns(folder, 5, START + 5 * DAY)
    write_log(log, {name: column[:500] for name, column in rows.items()})
    fleet, _ = added(folder, tmp_path / "store", log)
    fleet.store.write_index([])
    write_log(log, rows)
    assert not fleet.add(log, workers=0).faults
    (tmp_path / "store" / "index.parquet").unlink()  # made again from the records
    assert len(contents(fleet)) == 1 and not fleet.check().faults


def test_any_run_lists_the_records_that_no_run_listed(folder, good, tmp_path) -> None:
    fleet, _ = added(folder, tmp_path / "store")
    fleet.store.write_index(fleet.store.index()[:1])
    assert len(fleet.check().faults) == len(good) - 1
    assert not fleet.add(
        write_log(tmp_path / "robot=A1" / "x.csv", log_columns(folder, 5, START + 5 * DAY)), workers=0
    ).faults
    assert not fleet.check().faults and len(fleet.store.index()) == len(good) + 1


def test_a_log_that_ends_its_process_is_named(folder, good, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(add, "work", killers.work)
    bad = write_log(tmp_path / "robot=A1" / "killer.csv", log_columns(folder, 5, START + 5 * DAY))
    fleet, done = added(folder, tmp_path / "store", [folder / "logs", bad], workers=1)
    assert [fault.source for fault in done.faults] == [str(bad)] and "ends the process" in done.faults[0].reason
    assert contents(fleet) == good


def test_a_folder_that_is_no_store_stays_as_it_is(folder, tmp_path) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(StoreError, match="not a fleet store"):
        Fleet.open(tmp_path, folder / "FLEET.toml")
    with pytest.raises(MinertiaError, match="check that it is mounted"):
        Fleet.open(tmp_path / "nowhere")
    assert os.listdir(tmp_path) == ["mine.txt"]

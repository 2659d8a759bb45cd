"""Old records, changed settings and shared stores: what is deleted, read again, and who may write what."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from minertia.fleet.alarm_store import ACTIONS
from minertia.fleet.calendar import day_name
from minertia.fleet.fleet import Fleet
from minertia.fleet.places import LocalPlace, StoreError
from tests.conftest import Run
from tests.fleet.small import added, small_fleet, small_logs
from tests.fleet.test_watch import LEARNT, START, drift, made, read, same, shown, store  # noqa: F401


def test_old_records_go_and_the_next_report_is_that_of_all_records(
    store: Path,  # noqa: F811
    read: dict[str, list[int]],  # noqa: F811
    tmp_path: Path,
    run: Run,
) -> None:
    zero = drift(Path(shutil.copytree(store, tmp_path / "zero")))
    shown(store, 14)
    drift(store)
    fleet = Fleet.open(store)
    done = fleet.prune(2)  # of the monitored days 10 to 14 the last two stay
    assert (done.old, done.superseded) == (3 * 3, 0)
    assert {row.day for row in fleet.rows("r000")} == {day_name(START + d) for d in (*range(LEARNT), 13, 14)}
    assert not [path for d in (10, 11, 12) for path in (store / "evidence").glob(f"*/day={day_name(START + d)}/*")]
    read.clear()
    new = [row for row in Fleet.open(tmp_path / "zero").store.index() if row.day == day_name(START + 15)]
    fleet.store.write_index([*fleet.store.index(), *new])
    same(drift(store), zero)
    assert read == {robot: [START + 15] for robot in ("r000", "r001", "r002")}
    assert fleet.prune(2).old == 3 and not fleet.check().faults
    code, out, _ = run("fleet", "prune", "--store", store, "--keep", "7")
    assert code == 0 and "0 old records deleted" in out


def test_logs_are_read_again_for_a_changed_filter(tmp_path: Path, run: Run) -> None:
    small_fleet(tmp_path)
    small_logs(tmp_path, days=2)
    fleet, _ = added(tmp_path, tmp_path / "store")
    count, before = len(fleet.rows()), set(fleet.store.fleet.keys.values())
    file = tmp_path / "FLEET.toml"
    text = file.read_text("utf-8")
    changed = text.replace("cutoff_hz = ", "cutoff_hz = 1")
    assert changed != text
    file.write_text(changed, "utf-8")
    lost = Path(fleet.rows()[0].source)
    lost.unlink()
    code, out, err = run("fleet", "migrate", "--fleet", file, "--store", tmp_path / "store", "--workers", "0")
    assert code == 1 and f"gone: {lost}" in out and f"{count - 1} logs added" in out, err
    now = Fleet.open(tmp_path / "store")
    assert len(now.rows()) == count - 1 and before.isdisjoint(now.store.fleet.keys.values())
    assert now.prune(3650, superseded=True).superseded == count - 1
    assert len(now.store.index()) == count  # the record of the lost log stays, with its earlier settings
    assert not now.migrate(workers=0)[0].rows


def test_roles(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """Read: a report with a note.  Acknowledge: one folder.  Write: all; that is what reports and `add` need."""
    drift(store)
    usual = LocalPlace.write
    allowed: list[str] = [ACTIONS]

    def limited(self: LocalPlace, name: str, data: bytes) -> None:
        if not any(name.startswith(folder) for folder in allowed):
            raise PermissionError(13, "Permission denied", name)
        usual(self, name, data)

    monkeypatch.setattr(LocalPlace, "write", limited)
    fleet = Fleet.open(store)
    (life,) = fleet.alarms()
    assert fleet.act(life.row.alarm, "acknowledge", "Ada").state == "acknowledged"
    with pytest.raises(StoreError, match="Permission denied"):
        fleet.add_event("r000", "2026-03-01", "maintenance")
    assert [a.robot for a in drift(store).alarms] == ["r000"]
    allowed.clear()
    with pytest.raises(StoreError, match="Permission denied"):
        fleet.act(life.row.alarm, "close", "Ada")

"""Damaged records are made anew by adding their logs again, wherever they lie; nothing else is read."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from minertia.fleet import add
from minertia.fleet.fleet import Fleet
from minertia.fleet.places import StoreError
from tests.fleet.small import added, contents, logged_fleet


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return logged_fleet(tmp_path_factory.mktemp("healing"), days=2, seconds=5.0)


@pytest.fixture(scope="module")
def filled(folder: Path) -> Path:
    added(folder, folder / "filled")
    return folder / "filled"


@pytest.fixture
def store(filled: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(filled, tmp_path / "store"))


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every log that is read."""
    honest, seen = add.gathered, list[Any]()

    def counted(*args: Any, **options: Any) -> Any:
        seen.append(args)
        return honest(*args, **options)

    monkeypatch.setattr(add, "gathered", counted)
    return seen


def flip(path: Path, *, quietly: bool = False) -> None:
    """One bit of a file; quietly: as a disk does it, without a new date."""
    data, when = bytearray(path.read_bytes()), path.stat()
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    if quietly:
        os.utime(path, ns=(when.st_atime_ns, when.st_mtime_ns))


@pytest.mark.parametrize("how", ["a bit", "cut", "gone"])
def test_adding_the_log_again_makes_the_record_anew(folder, filled, store, read, how: str) -> None:
    """`add` took the log for known and left the record as it was."""
    before = contents(Fleet.open(filled))
    name = sorted(before)[1]
    if how == "gone":
        (store / name).unlink()
    elif how == "cut":
        (store / name).write_bytes(before[name][:-200])
    else:
        flip(store / name)
    fleet, done = added(folder, store)
    assert (done.count("new"), done.skipped, len(read)) == (1, 3, 1) and not done.faults
    assert contents(fleet) == before and not fleet.check().faults
    again = fleet.add(folder / "logs", workers=0)
    assert again.skipped == 4 and len(read) == 1


def test_what_a_disk_spoils_quietly_is_made_anew_once_it_was_found(folder, filled, store, read) -> None:
    before = contents(Fleet.open(filled))
    name = sorted(before)[0]
    flip(store / name, quietly=True)
    fleet = Fleet.open(store)
    assert added(folder, store)[1].skipped == 4  # nobody has seen it yet
    assert "damaged" in fleet.check().faults[0].reason and fleet.store.damaged == {name}
    _, done = added(folder, store)
    assert done.count("new") == 1 and len(read) == 1 and contents(fleet) == before and not fleet.store.damaged


def test_a_record_of_a_month_is_made_anew_beside_it(folder, filled, store, read) -> None:
    fleet = Fleet.open(store)
    wanted = {record.content: str(record.row()) for record in fleet.records()}
    (month,) = fleet.compact(before="2026-04")
    flip(store / month)
    with pytest.raises(StoreError, match="cannot be read .*; add its log again"):
        list(fleet.records("A1"))
    _, done = added(folder, store)
    assert done.count("new") == 4 and not done.faults
    assert {record.content: str(record.row()) for record in fleet.records()} == wanted
    fleet.compact(before="2026-04")
    assert {record.content: str(record.row()) for record in fleet.records()} == wanted
    assert not contents(fleet) and not fleet.check().faults and not fleet.store.damaged
    assert added(folder, store)[1].skipped == 4


def test_compacting_leaves_damaged_days_as_they_are(folder, store) -> None:
    fleet = Fleet.open(store)
    name = sorted(contents(fleet))[0]
    flip(store / name)
    assert len(fleet.compact(before="2026-04")) == 1
    assert list(contents(fleet)) == [name] and fleet.store.damaged == {name}
    assert added(folder, store)[1].count("new") == 1 and not fleet.store.damaged


def test_files_of_types_and_robots_are_written_anew(folder, store) -> None:
    fleet = Fleet.open(store)
    (kind,) = (store / "types").iterdir()
    kind.write_text("name = ", "utf-8")
    (store / "fleet.toml").write_text("types = [", "utf-8")
    with pytest.raises(StoreError, match=r"fleet\.toml is damaged"):
        fleet.drift()
    fleet, done = added(folder, store)
    assert done.skipped == 4 and fleet.stored_type("arm").type.zone == "Europe/Berlin"

"""The store: found again, rebuilt, put together by months, checked; keys never mix; object stores are stores, too."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from minertia.fleet.fleet import Fleet
from minertia.fleet.index import index_bytes
from minertia.fleet.places import LocalPlace
from minertia.fleet.record import TYPES
from minertia.fleet.stored_types import StoredType
from minertia.io.errors import MinertiaError
from tests.fleet.small import DAY, FLEET, START, added, contents, log_columns, small_fleet, small_logs, write_log


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    own = small_fleet(tmp_path_factory.mktemp("store"))
    small_logs(own, days=3, seconds=6.0)
    return own


@pytest.fixture(scope="module")
def filled(folder: Path) -> Path:
    _, done = added(folder, folder / "filled")
    assert done.count("new") == 6 and not done.faults
    return folder / "filled"


@pytest.fixture
def store(filled: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(filled, tmp_path / "store"))


def test_a_second_run_reads_nothing(folder, store) -> None:
    fleet, done = added(folder, store)
    assert done.skipped == 6 and not done.rows and not done.faults
    new = write_log(folder.parent / "more" / "robot=A1" / "new.csv", log_columns(folder, 9, START + 9 * DAY, 6.0))
    assert fleet.add([folder / "logs", new], workers=0).skipped == 6
    assert len(fleet.rows("A1")) == 4


def test_the_index_is_made_again_from_the_records(folder, store) -> None:
    fleet = Fleet.open(store)
    before = fleet.rows()
    for broken in (None, b"no table"):
        (store / "index.parquet").unlink(missing_ok=True)
        if broken is not None:
            (store / "index.parquet").write_bytes(broken)
        again = fleet.rows()
        assert [row.identity for row in again] == [row.identity for row in before]
    _, done = added(folder, store)  # which enters where the logs lie again
    assert done.count("known") == 6 and not done.faults
    assert added(folder, store)[1].skipped == 6


def test_a_store_says_what_its_records_were_made_with(folder, store) -> None:
    shutil.rmtree(folder / "gone", ignore_errors=True)
    fleet = Fleet.open(store)
    stored = fleet.stored_type("arm")
    assert isinstance(stored, StoredType) and stored.type.zone == "Europe/Berlin"
    assert stored.type.key() == stored.key  # the robot, filter and columns that were read back are the same
    assert stored.layout == stored.type.column_set.layout
    more = write_log(folder.parent / "later" / "robot=A2" / "new.csv", log_columns(folder, 8, START + 20 * DAY, 6.0))
    done = fleet.add(more, workers=0)  # without the fleet file
    assert done.count("new") == 1 and not done.faults


def test_another_filter_makes_other_records_that_are_not_mixed(folder, store, tmp_path) -> None:
    other = small_fleet(tmp_path / "other")
    (other / "FLEET.toml").write_text(FLEET.replace("5.0", "4.0"), encoding="utf-8")
    before = contents(Fleet.open(store))
    fleet, done = added(other, store, folder / "logs", workers=0)
    assert done.count("new") == 6 and not done.faults  # two records of a log do not overlap: their keys differ
    after = contents(fleet)
    assert len(after) == 12 and {name: after[name] for name in before} == before
    assert len({row.key for row in fleet.rows()}) == 1 and len(fleet.rows()) == 6
    assert len(fleet.check().keys) == 2


def test_months_hold_the_same_records(folder, store) -> None:
    fleet = Fleet.open(store)
    before = {record.content: record for record in fleet.records()}
    bits = fleet.evidence("A1").packed()
    assert fleet.compact(before="2026-03") == []
    made = fleet.compact(before="2026-04")
    assert made == ["months/type=arm/month=2026-03/part-000.parquet"] and not contents(fleet)
    after = {record.content: record for record in fleet.records()}
    assert after.keys() == before.keys()
    assert all(str(after[k].row()) == str(before[k].row()) for k in before)
    assert np.array_equal(fleet.evidence("A1").packed(), bits)
    assert added(folder, store)[1].skipped == 6  # still known
    assert not fleet.check().faults
    late = write_log(folder.parent / "late" / "robot=A1" / "late.csv", log_columns(folder, 7, START + 5 * DAY, 6.0))
    fleet, done = added(folder, store, late, workers=0)
    assert done.count("new") == 1 and fleet.compact(before="2026-04")[0].endswith("part-001.parquet")
    assert len(fleet.rows()) == 7


@pytest.mark.parametrize("dies", ["before the index is written", "before days are taken away"])
def test_a_compaction_that_is_killed_is_finished_by_the_next(store, monkeypatch, dies) -> None:
    fleet = Fleet.open(store)
    before = {record.content: str(record.row()) for record in fleet.records()}

    def killed(*args: object) -> None:
        raise KeyboardInterrupt

    if dies == "before the index is written":
        monkeypatch.setattr(type(fleet.store), "write_index", killed)
    else:
        monkeypatch.setattr(LocalPlace, "remove", killed)
    with pytest.raises(KeyboardInterrupt):
        fleet.compact(before="2026-04")
    monkeypatch.undo()
    assert {record.content: str(record.row()) for record in fleet.records()} == before
    assert len(fleet.check().faults) == 6  # every record is there twice
    fleet.compact(before="2026-04")
    assert not contents(fleet) and not fleet.check().faults
    assert {record.content: str(record.row()) for record in fleet.records()} == before


def test_a_log_renamed_after_its_month_was_put_together_counts_once(folder, store, tmp_path) -> None:
    fleet = Fleet.open(store)
    fleet.compact(before="2026-04")
    log = next((folder / "logs" / "robot=A1").rglob("run.*"))
    moved = tmp_path / "robot=A1" / f"moved{log.suffix}"
    moved.parent.mkdir()
    shutil.copy(log, moved)
    done = fleet.add(moved, workers=0)
    assert done.count("known") == 1 and not contents(fleet) and len(fleet.rows()) == 6


def test_a_check_finds_what_is_wrong(folder, store) -> None:
    fleet = Fleet.open(store)
    assert fleet.check().faults == () and fleet.check().records == 6
    names = sorted(contents(fleet))
    data = bytearray((store / names[0]).read_bytes())
    data[len(data) // 2] ^= 1  # one bit
    (store / names[0]).write_bytes(data)
    (store / names[1]).rename(
        store / names[1].replace("day=2026-03-03", "day=2026-03-09").replace("-03-09/", "-03-03/x")
    )
    (store / names[3]).unlink()
    reasons = {fault.source: fault.reason for fault in fleet.check().faults}
    assert "damaged" in reasons[names[0]]
    assert any("another log" in reason for reason in reasons.values())
    assert any("is missing" in reason for reason in reasons.values())
    fleet.store.write_index(fleet.store.index()[:-1])
    assert any("does not list it" in fault.reason for fault in fleet.check().faults)


def test_missing_days_are_listed(folder, tmp_path) -> None:
    logs = [write_log(tmp_path / "robot=A1" / f"{d}.csv", log_columns(folder, d, START + d * DAY, 5.0)) for d in (0, 3)]
    fleet, _ = added(folder, tmp_path / "store", logs, workers=0)
    assert fleet.check().missing == {"A1": ["2026-03-03", "2026-03-04"]}


def test_the_day_is_that_of_the_plant(folder, tmp_path) -> None:
    midnight = START - 6 * 3600.0  # UTC
    log = write_log(tmp_path / "robot=A1" / "night.csv", log_columns(folder, 1, midnight - 1800.0, 5.0))
    fleet, _ = added(folder, tmp_path / "store", log, workers=0)
    assert [row.day for row in fleet.rows()] == ["2026-03-02"]  # half past eleven in London is half past midnight here


def test_a_clock_that_does_not_know_the_day_needs_a_path_that_does(folder, tmp_path) -> None:
    known = write_log(tmp_path / "robot=A1" / "day=2026-05-06" / "run.csv", log_columns(folder, 1, 0.0, 5.0))
    lost = write_log(tmp_path / "robot=A1" / "run.csv", log_columns(folder, 2, 0.0, 5.0))
    fleet, done = added(folder, tmp_path / "store", [known, lost], workers=0)
    assert [(row.day, row.clock) for row in fleet.rows()] == [("2026-05-06", "relative")]
    assert [fault.source for fault in done.faults] == [str(lost)] and "name the day" in done.faults[0].reason


def test_days_are_asked_for_from_and_to(store) -> None:
    fleet = Fleet.open(store)
    assert [row.day for row in fleet.rows("A1", "2026-03-03:2026-03-04")] == ["2026-03-03", "2026-03-04"]
    assert [row.day for row in fleet.rows("A1", ":2026-03-02")] == ["2026-03-02"]
    assert fleet.evidence("A1", "2026-03-03").stretches is not None
    for wrong in ("tomorrow", "2026-13-01:", "a:b:c"):
        with pytest.raises(MinertiaError, match="2026-03-"):
            fleet.rows("A1", wrong)
    with pytest.raises(MinertiaError, match="A7"):
        fleet.evidence("A7")


def test_rows_are_tables_that_others_read(store) -> None:
    pandas = pytest.importorskip("pandas")
    name = next(iter(contents(Fleet.open(store))))
    frame = pandas.read_parquet(store / name, partitioning=None)
    assert list(frame.columns) == list(TYPES) and len(frame) == 1
    assert frame["programs"][0].tolist() and frame["load"][0].tolist() == [0.25, 0.25, 0.25]


def test_an_index_is_the_same_whatever_the_order(store) -> None:
    rows = Fleet.open(store).store.index()
    assert index_bytes(rows) == index_bytes(rows[::-1])


# ---------------------------------------------------------------------- an S3 server


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    moto = pytest.importorskip("moto.server")
    s3fs = pytest.importorskip("s3fs")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (keys | {"AWS_ENDPOINT_URL": f"http://{host}:{port}"}).items():
            patch.setenv(name, value)
        s3fs.S3FileSystem.clear_instance_cache()
        s3fs.S3FileSystem().mkdir("fleet")
        yield "s3://fleet"
        s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


@pytest.mark.slow
def test_an_object_store_holds_the_same_bytes(folder, filled, bucket) -> None:
    import s3fs

    s3fs.S3FileSystem().put(str(folder / "logs"), "fleet/logs", recursive=True)
    fleet, done = added(folder, f"{bucket}/store", f"{bucket}/logs", workers=0)
    assert done.count("new") == 6 and not done.faults
    assert contents(fleet) == contents(Fleet.open(filled))
    assert added(folder, f"{bucket}/store", f"{bucket}/logs", workers=0)[1].skipped == 6
    assert fleet.compact(before="2026-04") and not contents(fleet) and len(fleet.rows()) == 6
    assert not fleet.check().faults

"""A real Dask cluster on this machine: same bytes with 1, 2 and 4 workers, and what killed workers leave behind."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minertia.fleet import add
from tests.fleet import killers
from tests.fleet.small import START, added, contents, log_columns, logged_fleet, write_log

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
        ) as own,
    ):
        yield own


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return logged_fleet(tmp_path_factory.mktemp("cluster"), days=3, seconds=6.0)


@pytest.fixture(scope="module")
def serial(folder: Path) -> dict[str, bytes]:
    fleet, _ = added(folder, folder / "serial")
    return contents(fleet)


def scaled(cluster: Any, workers: int) -> Any:
    cluster.scale(workers)
    client = distributed.Client(cluster)
    client.wait_for_workers(workers, timeout=120)
    return client


@pytest.mark.slow
def test_one_and_two_workers_give_the_same_bytes(cluster, folder, serial, tmp_path) -> None:
    with scaled(cluster, 1):
        fleet, done = added(folder, tmp_path / "one", scheduler=cluster.scheduler_address)
    assert done.count("new") == 6 and not done.faults and contents(fleet) == serial
    with scaled(cluster, 2) as client:
        fleet, done = added(folder, tmp_path / "two", executor=client)
    assert done.count("new") == 6 and not done.faults and contents(fleet) == serial


def test_a_cluster_in_this_process_gives_the_same_bytes(folder, serial, tmp_path) -> None:
    """As one of processes does, without the seconds that its workers take to start."""
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options, silence_logs=50) as own, distributed.Client(own) as client:
        fleet, done = added(folder, tmp_path / "store", executor=client)
    assert done.count("new") == 6 and not done.faults and contents(fleet) == serial


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_loses_nothing(cluster, folder, serial, tmp_path) -> None:
    store = tmp_path / "store"
    with scaled(cluster, 2) as client:
        pids = list(client.run(os.getpid).values())
        stop = threading.Event()

        def kill() -> None:
            while not stop.is_set() and not list(store.glob("evidence/*/*/*.parquet")):
                time.sleep(0.005)
            for pid in pids[:1]:
                os.kill(pid, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            fleet, done = added(folder, store, executor=client)
        finally:
            stop.set()
            killer.join()
    assert done.count("new") == 6 and not done.faults
    assert contents(fleet) == serial
    assert not [name for name in os.listdir(store) if name.endswith(".tmp")]


@pytest.mark.slow
def test_a_log_that_ends_its_worker_is_named_and_the_others_are_added(
    cluster, folder, serial, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(add, "work", killers.work)
    guilty = write_log(tmp_path / "robot=A1" / "killer.csv", log_columns(folder, 9, START + 7 * 86_400, 6.0))
    with scaled(cluster, 2) as client:
        fleet, done = added(folder, tmp_path / "store", [folder / "logs", guilty], executor=client)
    assert [fault.source for fault in done.faults] == [str(guilty)]
    assert "ends the process" in done.faults[0].reason
    assert contents(fleet) == serial


@pytest.mark.slow
def test_four_workers_give_the_same_bytes(cluster, folder, serial, tmp_path) -> None:
    with scaled(cluster, 4):
        fleet, done = added(folder, tmp_path / "four", scheduler=cluster.scheduler_address)
    assert done.count("new") == 6 and not done.faults and contents(fleet) == serial

"""Client, worker and scheduler killed, and a store that goes, at 50 moments of `fleet add`.

After each of them the same command, run again, leaves the bytes of a run that nobody disturbed.  A command that
outlives the disturbance ends as if there had been none, or with one sentence.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minertia.fleet.fleet import Fleet
from minertia.fleet.places import place
from tests.fleet.small import logged_fleet
from tests.fleet.test_outages import KEYS

pytestmark = pytest.mark.slow
MOMENTS = 10  # of each kind of disturbance, evenly over the time that the command takes
QUIET: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
# the command with shorter waits, so that these outages take minutes
COMMAND = """
import sys
from minertia.cli import main
from minertia.fleet import engine, outages
engine.REACHED, engine.FOUND_AGAIN, outages.PAUSE = 4.0, 5.0, 0.01
try:
    import s3fs
    s3fs.S3FileSystem.retries = 1
except ImportError:
    pass
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return logged_fleet(tmp_path_factory.mktemp("kills"), days=4, seconds=8.0)


@pytest.fixture(scope="module")
def wanted(folder: Path) -> dict[str, bytes]:
    """Files of the store of a run that nobody disturbed."""
    done = ended(started(folder, folder / "serial", "--workers", "0"))
    assert done == (0, "")
    return files(folder / "serial")


def started(folder: Path, store: str | Path, *options: str) -> subprocess.Popen[bytes]:
    """`fleet add` of all logs in a process of its own."""
    add = ["fleet", "add", str(folder / "logs"), "--fleet", str(folder / "FLEET.toml"), "--store", str(store)]
    own = {**os.environ, "AWS_MAX_ATTEMPTS": "1", "AWS_EC2_METADATA_DISABLED": "true", **KEYS}
    run = [sys.executable, "-c", COMMAND, *add, *options]
    return subprocess.Popen(run, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=own)


def ended(child: subprocess.Popen[bytes]) -> tuple[int, str]:
    """Exit code, and what it says of errors, without the lines of its progress."""
    _, said = child.communicate(timeout=240)
    return child.returncode, re.sub(r"(?m)^\d+ (s|min)\b.*: .*\n", "", said.decode())


def files(store: str | Path) -> dict[str, bytes]:
    """All files of a store; drafts would be among them."""
    own = place(str(store))
    return {name: own.read(name) for name in own.names("")}


def disturbed(
    run: Callable[[int], subprocess.Popen[bytes]],
    disturb: Callable[[subprocess.Popen[bytes]], None],
    restore: Callable[[], None] = lambda: None,
) -> list[tuple[int, str]]:
    """Outcome of runs that are disturbed at evenly spread moments; run(k) is the k-th, run(0) is left alone."""
    begun = time.perf_counter()
    assert ended(run(0)) == (0, "")
    whole = time.perf_counter() - begun
    found = []
    for k, part in enumerate(np.linspace(0.15, 1.0, MOMENTS), 1):
        child = run(k)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(part * whole)
        disturb(child)
        found.append(ended(child))
        restore()
    return found


def retried(run: Callable[[int], subprocess.Popen[bytes]], stores: list[str], wanted: dict[str, bytes]) -> None:
    """The same commands again: identical bytes, and a store without faults."""
    for k, store in enumerate(stores[1:], 1):
        assert ended(run(k)) == (0, ""), store
        assert files(store) == wanted, store
        assert not Fleet.open(store).check().faults
    assert files(stores[0]) == wanted


def in_words(found: list[tuple[int, str]], *sentences: str) -> None:
    """Each run ended well, or with one of the sentences."""
    for code, said in found:
        assert (code, said) == (0, "") or (
            code == 2 and said.count("\n") == 1 and any(own in said for own in sentences)
        ), (code, said)


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_killed_client(folder: Path, wanted: dict[str, bytes], tmp_path: Path, workers: str) -> None:
    stores = [str(tmp_path / f"store{k}") for k in range(MOMENTS // 2 + 1)]

    def run(k: int) -> subprocess.Popen[bytes]:
        return started(folder, stores[(k + 1) // 2], "--workers", workers)  # each store is disturbed twice

    found = disturbed(run, lambda child: child.send_signal(signal.SIGKILL))  # its end waits for that of its processes
    assert {code for code, _ in found} <= {0, -signal.SIGKILL}
    retried(lambda k: run(2 * k), stores, wanted)


# ---------------------------------------------------------------------- a Dask cluster


@dataclass
class Cluster:
    """A scheduler and two workers in processes of their own; workers are started again by their nannies."""

    folder: Path
    address: str = ""
    children: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self) -> None:
        said = self.folder / f"scheduler-{time.monotonic_ns()}.json"
        port = self.address.rpartition(":")[2] or "0"
        run = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", port]
        self.children = [subprocess.Popen([*run, "--no-dashboard", "--scheduler-file", said], **QUIET)]
        while not said.is_file() or not said.read_bytes():
            assert self.children[0].poll() is None
            time.sleep(0.05)
        self.address = json.loads(said.read_text("utf-8"))["address"]
        run = [sys.executable, "-m", "distributed.cli.dask_worker", self.address, "--nthreads", "1", "--nworkers", "2"]
        self.children.append(subprocess.Popen([*run, "--no-dashboard"], **QUIET))
        assert len(self.workers(2)) == 2

    def workers(self, at_least: int) -> list[int]:
        """Process ids of the workers, once there are so many."""
        distributed = pytest.importorskip("distributed")
        with distributed.Client(self.address) as client:
            for _ in range(60):  # one that was just killed may still be on the scheduler's list
                client.wait_for_workers(at_least, timeout=60)
                found = client.run(os.getpid, on_error="ignore")
                if len(found) >= at_least:
                    return sorted(found.values())
                time.sleep(1.0)
        raise AssertionError(f"there are not {at_least} workers")

    def stop(self) -> None:
        for child in reversed(self.children):
            child.terminate() if child is not self.children[0] else child.kill()
            child.wait(30)

    def again(self) -> None:
        self.stop()
        self.start()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    pytest.importorskip("distributed")
    own = Cluster(tmp_path)
    own.start()
    yield own
    own.stop()


def test_a_killed_worker(cluster: Cluster, folder: Path, wanted: dict[str, bytes], tmp_path: Path) -> None:
    stores = [str(tmp_path / f"store{k}") for k in range(MOMENTS + 1)]
    pids: list[int] = []

    def run(k: int) -> subprocess.Popen[bytes]:
        pids[:] = cluster.workers(2)
        return started(folder, stores[k], "--scheduler", cluster.address)

    found = disturbed(run, lambda child: os.kill(pids[0], signal.SIGKILL))
    in_words(found)
    for k in range(1, MOMENTS + 1):
        assert files(stores[k]) == wanted  # nothing was lost, without a second run
    retried(run, stores, wanted)


def test_a_killed_scheduler(cluster: Cluster, folder: Path, wanted: dict[str, bytes], tmp_path: Path) -> None:
    stores = [str(tmp_path / f"store{k}") for k in range(MOMENTS + 1)]

    def run(k: int) -> subprocess.Popen[bytes]:
        return started(folder, stores[k], "--scheduler", cluster.address)

    found = disturbed(run, lambda child: cluster.children[0].kill(), cluster.again)
    in_words(found, "no longer answers", "there is no Dask scheduler")
    assert any(code for code, _ in found)
    retried(run, stores, wanted)


# ---------------------------------------------------------------------- a store that goes


class Gate:
    """A port that leads to another one while it is open; closing it cuts all connections."""

    def __init__(self, target: tuple[str, int]) -> None:
        self.target, self.is_open, self.pipes = target, True, list[socket.socket]()
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            near, _ = self.server.accept()
            if not self.is_open:
                near.close()
                continue
            far = socket.create_connection(self.target)
            self.pipes += [near, far]
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=(one, other), daemon=True).start()

    @staticmethod
    def _pump(one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                other.sendall(data)
        for own in (one, other):
            _cut(own)
            own.close()

    def close(self) -> None:
        self.is_open = False
        for own in self.pipes:
            _cut(own)
        self.pipes.clear()

    def open(self) -> None:
        self.is_open = True


def _cut(own: socket.socket) -> None:
    with contextlib.suppress(OSError):
        own.shutdown(socket.SHUT_RDWR)


def test_a_store_that_goes(
    folder: Path, wanted: dict[str, bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    moto, s3fs = pytest.importorskip("moto.server"), pytest.importorskip("s3fs")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    gate = Gate(server.get_host_and_port())
    for name, value in {**KEYS, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{gate.port}"}.items():
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()
    s3fs.S3FileSystem().mkdir("kills")
    stores = [f"s3://kills/store{k}" for k in range(MOMENTS + 1)]

    def run(k: int) -> subprocess.Popen[bytes]:
        return started(folder, stores[k], "--workers", "0")

    try:
        found = disturbed(run, lambda child: gate.close(), gate.open)
        in_words(found, "the storage cannot be reached", "the storage does not answer")
        assert any(code for code, _ in found)
        s3fs.S3FileSystem.clear_instance_cache()
        retried(run, stores, wanted)
    finally:
        server.stop()
        s3fs.S3FileSystem.clear_instance_cache()

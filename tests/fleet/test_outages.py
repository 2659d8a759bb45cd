"""Schedulers and object stores that do not answer: one sentence, an exit code, and nothing is lost."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from minertia.fleet import engine, outages
from minertia.fleet.fleet import Fleet
from minertia.fleet.outages import Outage, kind_of
from minertia.fleet.places import place
from minertia.io.errors import MinertiaError
from tests.conftest import Run
from tests.fleet.small import added, contents, logged_fleet

KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return logged_fleet(tmp_path_factory.mktemp("outages"), days=2, seconds=5.0)


# ---------------------------------------------------------------------- a Dask scheduler


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, subprocess.Popen[bytes], subprocess.Popen[bytes]]]:
    """A scheduler and a worker in processes of their own: address, and the two processes."""
    pytest.importorskip("distributed")
    said, quiet = tmp_path / "scheduler.json", {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    run = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    head = subprocess.Popen([*run, "--no-dashboard", "--scheduler-file", said], **quiet)
    try:
        while not said.is_file() or not said.read_bytes():
            assert head.poll() is None
            time.sleep(0.05)
        address = json.loads(said.read_text("utf-8"))["address"]
        run = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny"]
        with subprocess.Popen([*run, "--no-dashboard"], **quiet) as worker:
            yield address, head, worker
            worker.kill()
    finally:
        head.kill()
        head.wait()


def test_a_scheduler_killed_in_the_middle_is_named_and_the_next_run_goes_on(
    cluster: tuple[str, Any], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog
) -> None:
    address, head, worker = cluster
    fleet = Fleet.open(tmp_path / "store", folder / "FLEET.toml")

    def kill(step: str) -> None:
        head.kill()
        head.wait()

    monkeypatch.setattr(engine, "FOUND_AGAIN", 1.0)
    with pytest.raises(MinertiaError, match=rf"the Dask scheduler at '{address}' no longer answers.*run the"):
        fleet.add(folder / "logs", scheduler=address, tell=kill)
    assert not [own for own in caplog.records if own.name.startswith("distributed")]  # we said it already
    worker.wait(60)  # until then it goes on with its task, whose record only the next run can list
    kept, listed = contents(fleet), {row.record for row in fleet.store.index()}
    assert listed and {fault.source for fault in fleet.check().faults} == kept.keys() - listed
    done = fleet.add(folder / "logs", workers=0)
    assert not done.faults and contents(fleet).items() >= kept.items() and not fleet.check().faults
    serial, _ = added(folder, tmp_path / "serial")
    assert contents(fleet) == contents(serial)


def test_a_scheduler_without_workers_is_named(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(engine, "LOOKED", 0.2)
    monkeypatch.setattr(engine, "WORKERLESS", 0.5)
    fleet = Fleet.open(tmp_path / "store", folder / "FLEET.toml")
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None) as nobody,
        distributed.Client(nobody) as client,
        pytest.raises(MinertiaError, match=r"has had no workers for 0.5 s; .* start workers"),
    ):
        fleet.add(folder / "logs", executor=client)
    assert not fleet.check().faults
    assert not fleet.add(folder / "logs", workers=0).faults


def test_there_is_no_scheduler(folder: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(engine, "REACHED", 0.5)
    store = ("--fleet", folder / "FLEET.toml", "--store", tmp_path / "store")
    for address in ("tcp://127.0.0.1:9", "tcp://no.such.host.invalid:8786", "nonsense", "http://127.0.0.1:1"):
        code, _, err = run("fleet", "add", folder / "logs", *store, "--scheduler", address)
        assert code == 2 and f"there is no Dask scheduler at '{address}'" in err and err.count("\n") == 1
    assert not list((tmp_path / "store").glob("evidence/**/*.parquet"))


# ---------------------------------------------------------------------- an object store


class Answers(BaseHTTPRequestHandler):
    """A server that answers every question with the same code of S3, or not at all."""

    status, code = 403, "AccessDenied"

    def answer(self) -> None:
        if not self.code:
            time.sleep(3.0)
            return
        body = f"<?xml version='1.0'?><Error><Code>{self.code}</Code><Message>{self.code}</Message></Error>".encode()
        self.send_response(self.status)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = answer

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """The environment of a client of S3 that gives up soon."""
    s3fs = pytest.importorskip("s3fs")
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    for name, value in {"AWS_MAX_ATTEMPTS": "1", "AWS_EC2_METADATA_DISABLED": "true"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(s3fs.S3FileSystem, "retries", 1)
    monkeypatch.setattr(outages, "PAUSE", 0.01)
    s3fs.S3FileSystem.clear_instance_cache()
    yield monkeypatch
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        (403, "AccessDenied", "access is denied; check the keys"),
        (403, "InvalidAccessKeyId", "access is denied; check the keys"),
        (403, "ExpiredToken", "access is denied; check the keys"),
        (404, "NoSuchBucket", "the bucket does not exist; create it"),
        (503, "SlowDown", "the storage limits the request rate; run the same command again later"),
        (500, "InternalError", "the storage cannot be reached; check the network"),
    ],
)
def test_what_a_server_refuses_is_said_in_one_sentence(keys, folder, run: Run, status: int, code: str, said) -> None:
    own = type("Own", (Answers,), {"status": status, "code": code})
    server = ThreadingHTTPServer(("127.0.0.1", 0), own)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    keys.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_address[1]}")
    try:
        for command in (
            (
                "fleet",
                "add",
                folder / "logs",
                "--fleet",
                folder / "FLEET.toml",
                "--store",
                "s3://fleet/a",
                "--workers",
                0,
            ),
            ("fleet", "drift", "--store", "s3://fleet/a"),
        ):
            exit_code, out, err = run(*command)
            assert exit_code == 2 and not out and said in err and err.count("\n") == 1, err
            assert "internal error" not in err and "s3://fleet/a" in err
    finally:
        server.shutdown()
        server.server_close()


def test_a_server_that_is_not_there(keys, folder, run: Run) -> None:
    keys.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    code, _, err = run("fleet", "drift", "--store", "s3://fleet/a")
    assert code == 2 and "the storage cannot be reached; check the network and AWS_ENDPOINT_URL" in err, err
    where = ("--fleet", folder / "FLEET.toml", "--store", folder / "other")
    code, _, err = run("fleet", "add", "s3://fleet/logs", *where)  # logs, too
    assert code == 2 and "the storage cannot be reached" in err


def test_no_keys_at_all(keys, tmp_path: Path, run: Run) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        keys.delenv(name)
    keys.setenv("HOME", str(tmp_path))
    keys.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    code, _, err = run("fleet", "drift", "--store", "s3://fleet/a")
    assert code == 2 and "there are no access keys" in err, err


def test_a_server_that_goes_in_the_middle_leaves_a_store_that_the_next_run_completes(keys, folder, tmp_path) -> None:
    moto, s3fs = pytest.importorskip("moto.server"), pytest.importorskip("s3fs")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    keys.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    s3fs.S3FileSystem().mkdir("outage")
    fleet = Fleet.open("s3://outage/store", folder / "FLEET.toml")
    done: list[str] = []

    def stop(step: str) -> None:
        done.append(step)
        if len(done) == 2:
            server.stop()

    with pytest.raises(Outage, match="s3://outage/store: the storage cannot be reached"):
        fleet.add(folder / "logs", workers=0, tell=stop)
    again = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False)
    again.start()
    try:
        s3fs.S3FileSystem.clear_instance_cache()
        fleet = Fleet.open("s3://outage/store")
        assert len(contents(fleet)) == 2
        assert not fleet.add(folder / "logs", workers=0).faults
        serial, _ = added(folder, tmp_path / "serial")
        assert contents(fleet) == contents(serial) and not fleet.check().faults
    finally:
        again.stop()


def test_kinds_are_told_by_names_codes_and_causes() -> None:
    wrapped = RuntimeError("could not read")
    wrapped.__cause__ = TimeoutError("slow")
    assert kind_of(wrapped) is outages.LATE and kind_of(ConnectionResetError(104, "reset")) is outages.AWAY
    assert kind_of(ValueError("something else")) is None and kind_of(FileNotFoundError("a/b")) is None
    with pytest.raises(FileNotFoundError), outages.told("s3://a"):
        raise FileNotFoundError("a/b")
    with pytest.raises(ZeroDivisionError), outages.told("s3://a"):  # a fault of ours stays one
        1 / 0  # noqa: B018


def test_what_passes_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outages, "PAUSE", 0.0)
    answers: list[Any] = [TimeoutError("slow"), b"1"]

    def ask() -> bytes:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return bytes(answer)

    assert outages.asked("s3://a", ask) == b"1"
    answers[:] = [PermissionError("refused"), b"1"]
    with pytest.raises(Outage, match="access is denied"):
        outages.asked("s3://a", ask)
    assert answers == [b"1"]
    assert place("memory://outages").changed(["nothing"]) == {}

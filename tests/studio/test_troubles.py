"""What goes wrong around the studio: a full disk, a cut connection, huge files, two writers, senseless requests."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import random
import socket
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from minertia.io import drafts
from minertia.io.errors import InputError
from minertia.studio.jobs import Jobs
from minertia.studio.project import Project
from minertia.studio.serve import Listening
from tests.studio.running import client, running

SEED, TRIES = 3, 9  # of requests that make no sense: for each operation


@pytest.fixture(scope="module")
def at(tmp_path_factory):
    with running(tmp_path_factory.mktemp("project")) as found:
        yield found


@pytest.fixture
def c(at):
    with client(at) as found:
        yield found


def folder_of(c) -> Path:
    return Path(c.get("/api/project").json()["folder"])


def test_a_full_disk_gets_a_sentence_and_leaves_nothing(c, monkeypatch):
    c.put("/api/robot", json={"bundled": "planar2r"}).raise_for_status()
    folder = folder_of(c)
    before = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*"))

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(drafts.os, "fsync", full)
        answers = [
            c.post("/api/uploads", params={"kind": "log", "title": "a.csv"}, content=b"t,q1\n0,0\n"),
            c.put("/api/robot", json={"bundled": "puma560"}),
            c.put("/api/campaign", json={}),
            c.post("/api/jobs", json={"kind": "robot"}),
        ]
    for answer in answers:
        assert answer.status_code == 400 and "No space left" in answer.json()["error"], answer.text
    now = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.name != "uploads")
    assert now == [name for name in before if name != "uploads"]
    assert c.get("/api/project").json()["robot"]["bundled"] == "planar2r"


def upload_head(at: Listening, length: int) -> bytes:
    """The beginning of an upload of so many bytes."""
    host, port = at.listener.getsockname()[:2]
    own = (f"Host: {host}:{port}", f"Authorization: Bearer {at.door.token}")
    lines = ("POST /api/uploads?kind=log&title=a.csv HTTP/1.1", *own, f"Content-Length: {length}")
    return "\r\n".join((*lines, "", "")).encode()


def test_a_connection_that_is_cut_leaves_no_file(at, c):
    host, port = at.listener.getsockname()[:2]
    with socket.create_connection((host, port)) as line:
        line.sendall(upload_head(at, 100_000) + b"t,q1,tau1\n" * 1000)
    with socket.create_connection((host, port)) as line:  # a reader of events who goes away
        c.put("/api/robot", json={"bundled": "planar2r"})
        line.sendall(f"GET /api/project HTTP/1.1\r\nHost: {host}:{port}\r\n".encode())
    deadline = time.monotonic() + 10
    uploads = folder_of(c) / "uploads"
    while uploads.is_dir() and list(uploads.iterdir()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert c.get("/api/project").status_code == 200


def test_two_gigabytes_are_refused_before_they_are_sent(at, c):
    host, port = at.listener.getsockname()[:2]
    with socket.create_connection((host, port), timeout=20) as line:
        line.sendall(upload_head(at, 2 * 10**9))
        answer = line.recv(4096).decode()
    assert " 413 " in answer.splitlines()[0]
    assert c.get("/api/project").json()["largest"] == 500_000_000


def test_a_folder_that_is_gone_is_not_made_again(tmp_path):
    """Whoever took the folder away finds no new one in its place, and the page has a sentence."""
    project = Project(tmp_path / "project")
    (project.folder / "runs").rmdir()
    project.folder.rmdir()
    with pytest.raises(OSError):
        project.choose_robot(bundled="planar2r")
    assert not project.folder.exists()


def _write_titles(folder: str, name: str, count: int) -> None:
    project = Project(folder)
    for k in range(count):
        upload = project.upload("log", f"{name}{k}.csv")
        with upload.open() as file:
            file.write(b"t,q1\n0,0\n")
        upload.close()


def test_two_writers_lose_nothing(tmp_path):
    """A job that adds logs, and the server meanwhile: both titles and the robot are remembered."""
    count = 6
    other = multiprocessing.get_context("spawn").Process(target=_write_titles, args=(str(tmp_path), "theirs", count))
    other.start()
    project = Project(tmp_path)
    threads = [threading.Thread(target=_write_titles, args=(str(tmp_path), f"ours{k}-", count)) for k in range(2)]
    for thread in threads:
        thread.start()
    while other.is_alive():
        project.choose_robot(bundled="planar2r")
        time.sleep(0.02)
    other.join()
    for thread in threads:
        thread.join()
    titles = {file.title for file in project.files()}
    assert titles == {f"{name}{k}.csv" for name in ("theirs", "ours0-", "ours1-") for k in range(count)}
    assert json.loads((tmp_path / "studio.json").read_text())["robot"] == {"bundled": "planar2r"}


def test_two_tabs_that_start_the_same_job_start_one(tmp_path, monkeypatch):
    monkeypatch.setattr(Jobs, "_launch", lambda self, job: time.sleep(0.01))
    jobs = Jobs(Project(tmp_path))
    names = []
    threads = [threading.Thread(target=lambda: names.append(jobs.start("excite", {"seed": 1}).name)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(names) == 8 and set(names) == {"0001-excite"}


def test_a_folder_is_open_in_one_studio_at_a_time(tmp_path):
    """A second one would take the jobs of the first for interrupted ones; it says so, and begins after the first."""
    first = Jobs(Project(tmp_path))
    with pytest.raises(InputError, match="another studio has .* open"):
        Jobs(Project(tmp_path))
    first.close()
    Jobs(Project(tmp_path)).close()


# ---------------------------------------------------------------------- requests that make no sense


def test_requests_that_make_no_sense_are_refused(c, monkeypatch):
    """A small seeded sample; `test_no_request_breaks_the_server` takes the large one from the same description."""
    monkeypatch.setattr(Jobs, "_launch", lambda self, job: None)
    description = c.get("/api/openapi.json").json()
    draw, asked, statuses = _Draw(description, random.Random(SEED)), 0, set()
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            if path.endswith("/events"):
                continue  # of a job that runs they have no end
            for _ in range(TRIES):
                answer = c.request(method, **draw.request(path, operation))
                statuses.add(answer.status_code)
                assert answer.status_code < 500, (method, path, answer.text)
                asked += 1
    assert asked > 100 and {200, 202, 404, 422} <= statuses


class _Draw:
    """Requests by a description: some that fit, some that do not."""

    ODD = (
        None,
        True,
        -1,
        0,
        1e308,
        "",
        "\x00",
        "../../etc/passwd",
        "é" * 50,
        [],
        {},
        [[1, [2]]],
        {"a": {"b": 1}},
        10**30,
    )

    def __init__(self, description: dict[str, Any], rng: random.Random) -> None:
        self.schemas, self.rng = description["components"]["schemas"], rng

    def request(self, path: str, operation: dict[str, Any]) -> dict[str, Any]:
        query: dict[str, str] = {}
        for parameter in operation.get("parameters", ()):
            value = self.value(parameter["schema"])
            if parameter["in"] == "path":
                path = path.replace(f"{{{parameter['name']}}}", quote(str(value), safe="") or "-")
            else:
                query[parameter["name"]] = str(value)
        content = operation.get("requestBody", {}).get("content", {}).get("application/json")
        body = {} if content is None else {"json": self.value(content["schema"])}
        return {"url": path, "params": query, **body}

    def value(self, schema: dict[str, Any], depth: int = 0) -> Any:
        if self.rng.random() < 0.12 or depth > 6:
            return self.rng.choice(self.ODD)
        if "$ref" in schema:
            return self.value(self.schemas[schema["$ref"].rsplit("/", 1)[1]], depth + 1)
        for word in ("anyOf", "oneOf"):
            if word in schema:
                return self.value(self.rng.choice(schema[word]), depth + 1)
        if "const" in schema or "enum" in schema:
            return self.rng.choice(schema.get("enum", [schema.get("const")]))
        return self._plain(schema, depth)

    def _plain(self, schema: dict[str, Any], depth: int) -> Any:
        kind, rng = schema.get("type"), self.rng
        if kind == "object":
            named = schema.get("properties", {})
            return {name: self.value(own, depth + 1) for name, own in named.items() if rng.random() < 0.7}
        if kind == "array":
            return [self.value(schema.get("items", {}), depth + 1) for _ in range(rng.randrange(4))]
        if kind in ("integer", "number"):
            return rng.choice([0, 1, 3, -2, 0.5 if kind == "number" else 2, schema.get("maximum", 7)])
        if kind == "boolean":
            return rng.random() < 0.5
        words = {r"^[0-9a-f]{12}$": "0123456789ab", r"^[0-9]{4,6}-[a-z]{1,20}$": "0001-robot"}
        return words.get(schema.get("pattern", ""), rng.choice(["a.csv", "x.urdf", "planar2r", "log"]))

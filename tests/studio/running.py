"""A studio on a port of this machine, for tests."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from minertia.studio.child import JobLimits
from minertia.studio.safety import Door
from minertia.studio.serve import Listening, place
from minertia.studio.server import studio

PATIENCE = 120.0


@contextmanager
def running(
    folder: Path, *, largest: int | None = None, limits: JobLimits | None = None, token: str | None = None
) -> Iterator[Listening]:
    """A server on a folder, as `minertia studio` starts it."""
    at = place(port=0, largest=largest)
    if token is not None:
        at = Listening(at.listener, Door((), token), at.address)
    config = uvicorn.Config(
        studio(folder, door=at.door, limits=limits), log_level="error", timeout_graceful_shutdown=1, ws="none"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [at.listener]}, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    try:
        yield at
    finally:
        server.should_exit = True
        thread.join(20)
        at.listener.close()


def stranger(at: Listening) -> httpx.Client:
    """Another user of the machine: without the token."""
    # no certificates: reading them takes longer than most requests
    return httpx.Client(base_url=at.address, timeout=PATIENCE, trust_env=False, verify=False)


@contextmanager
def client(at: Listening) -> Iterator[httpx.Client]:
    """Whoever started the studio, with the cookie of the browser that it opened."""
    with stranger(at) as found:
        assert found.get(at.entrance).status_code == 303
        yield found


def done(c: httpx.Client, kind: str, **settings: Any) -> dict[str, Any]:
    """A job, followed by its events to its end."""
    answer = c.post("/api/jobs", json={"kind": kind, "settings": settings})
    assert answer.status_code == 202, answer.text
    return followed(c, answer.json()["name"])[-1]


def followed(c: httpx.Client, name: str) -> list[dict[str, Any]]:
    import json

    found = []
    with c.stream("GET", f"/api/jobs/{name}/events") as events:
        for line in events.iter_lines():
            if line.startswith("data: "):
                found.append(json.loads(line.removeprefix("data: ")))
    return found


def uploaded(c: httpx.Client, kind: str, path: Path, title: str | None = None) -> httpx.Response:
    return c.post("/api/uploads", params={"kind": kind, "title": title or path.name}, content=path.read_bytes())

"""Fifty readers of a studio in which two jobs run: `python -m benchmarks.studio_load`."""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from tests.studio.running import client, done, running

from benchmarks.measure import Row
from minertia.studio.serve import Listening

READERS, SECONDS = 50, 10.0
PATHS = ("/api/project", "/api/jobs/{robot}/view", "/api/jobs/{job}", "/api/openapi.json", "/")
LONG = {"duration": 60.0, "harmonics": 20}  # searches that last longer than the readers stay


@dataclass
class Readers:
    """What all readers saw: seconds of each answer, and every request that failed."""

    times: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    events: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def read(self, at: Listening, paths: list[str], until: float, start: int) -> None:
        """Ask in turn until the time is over; any answer but 200 has failed."""
        with client(at) as c:
            k = start
            while time.monotonic() < until:
                path, begun = paths[k % len(paths)], time.monotonic()
                try:
                    answer = c.get(path)
                    said = "" if answer.status_code == 200 else f"{path}: {answer.status_code} {answer.text[:100]}"
                except httpx.HTTPError as err:
                    said = f"{path}: {err!r}"
                with self.lock:
                    self.times.append(time.monotonic() - begun)
                    self.failed += [said] if said else []
                k += 1

    def follow(self, at: Listening, name: str, until: float) -> None:
        """The events of a job, as a page has them open."""
        with client(at) as c:
            try:
                with c.stream("GET", f"/api/jobs/{name}/events") as events:
                    for line in events.iter_lines():
                        with self.lock:
                            self.events += line.startswith("data: ")
                        if time.monotonic() > until:
                            return
            except httpx.HTTPError as err:
                with self.lock:
                    self.failed.append(f"events of {name}: {err!r}")


def measured(readers: int = READERS, seconds: float = SECONDS) -> Readers:
    """Readers of a project with two searches for motions, some of them following a job's events."""
    found = Readers()
    with tempfile.TemporaryDirectory() as place, running(Path(place) / "project") as at, client(at) as c:
        c.put("/api/robot", json={"bundled": "puma560"}).raise_for_status()
        robot = done(c, "robot")["name"]
        asked = [{"kind": "excite", "settings": {"starts": 20, "patience": 10, "seed": k, **LONG}} for k in range(2)]
        jobs = [c.post("/api/jobs", json=one).raise_for_status().json()["name"] for one in asked]
        paths = [path.format(robot=robot, job=jobs[0]) for path in PATHS]
        until = time.monotonic() + seconds
        threads = [
            threading.Thread(target=found.follow, args=(at, jobs[k % 2], until))
            if k % 5 == 0
            else threading.Thread(target=found.read, args=(at, paths, until, k))
            for k in range(readers)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        states = [c.get(f"/api/jobs/{name}").json()["state"] for name in jobs]
        found.failed += [
            f"job {name} is {state}" for name, state in zip(jobs, states, strict=True) if state != "running"
        ]
        for name in jobs:
            c.delete(f"/api/jobs/{name}")
    return found


def loaded() -> Row:
    """The row of the page; a failed request is a fault."""
    found = measured()
    assert not found.failed, found.failed[:5]
    late = sorted(found.times)[int(0.99 * len(found.times))]
    note = f"{len(found.times)} requests, none failed; 99 % within {1e3 * late:.0f} ms; {found.events} events followed"
    return Row(f"{READERS} readers, two jobs running: one answer", statistics.median(found.times), note=note)


if __name__ == "__main__":
    print(loaded())

"""A fleet of 1000 robots over 30 days: what a log costs to add, what a record weighs, how long a refit of all takes.

Logs are simulated and read for real; of the 30 000 robot-days one month of one robot is, and the others are its records
with other numbers in the last digits, for what is measured there is reading and arithmetic, not what is found.

`python -m benchmarks.fleet_scale LOG.parquet` adds one log in this process and prints its peak memory [MiB].
"""

from __future__ import annotations

import os
import pickle
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Row
from minertia.codegen.kernels.kernel import BatchKernel, torque_program
from minertia.fleet.add import Batch, LogTask, work
from minertia.fleet.fleet import Fleet
from minertia.fleet.fleet_file import FleetFile, FleetRobot
from minertia.fleet.index import IndexRow
from minertia.fleet.months import PART
from minertia.fleet.record import EvidenceRecord, rows_table, table_bytes
from minertia.fleet.robot_type import RobotType
from minertia.fleet.sources import find_logs
from minertia.fleet.store import GROUP
from minertia.identification.logs.options import ColumnMap
from minertia.identification.signals.options import Filter
from minertia.robot.files import read_robot

ARM, RATE, CUTOFF, KEPT_HZ = "puma560_physical", 1000.0, 10.0, 50.0
ROBOTS, DAYS = 1000, 30
MINUTES = 20  # of the logs that speed is measured on
LOGS = 32  # that processes share, 11 hours in all
SPEED_GOAL, SCALING_GOAL, MEMORY_GOAL, SIZE_GOAL, REFIT_GOAL = 0.7e6, 1.7, 500, 170e3, 10.0
START = 1_772_431_200.0  # s: 2026-03-02 06:00 UTC
PIECE = 250_000  # samples in a row group
FIRST = date(2026, 3, 1)


def rows(robots: int = ROBOTS, minutes: float = MINUTES) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = folder / "logs" / "robot=r0001" / "day.parquet"
        samples = round(minutes * 60 * RATE)
        write_day(log, samples)
        yield from adding(folder, log, samples)
        yield from scaling(folder, minutes)
        yield from refitting(folder, robots)


def adding(folder: Path, log: Path, samples: int) -> Iterator[Row]:
    """Processor time and memory of one worker."""
    fleet = opened(folder / "store")
    seconds = min(added_alone(fleet, log) for _ in range(3)) / samples
    size = next((folder / "store" / "evidence").rglob("*.parquet")).stat().st_size
    run = [sys.executable, "-m", "benchmarks.fleet_scale", str(log)]
    memory = float(subprocess.run(run, capture_output=True, text=True, check=True).stdout.split()[-1])
    yield Row(
        "a log to its record, per sample of six joints at 1 kHz with temperatures",
        seconds,
        note=f"{1e-6 / seconds:.2f} M samples/s of one core, goal {SPEED_GOAL * 1e-6:g} M: hashed, read, filtered to "
        f"{KEPT_HZ:g} Hz, 136 columns, QR, scores, written; record {size / 1e3:.0f} kB, goal {SIZE_GOAL / 1e3:.0f}; "
        f"peak memory of the worker {memory:.0f} MiB, goal below {MEMORY_GOAL}",
    )
    yield Row("a robot-day of 8 hours", seconds * 8 * 3600 * RATE)


def scaling(folder: Path, minutes: float) -> Iterator[Row]:
    """Logs by one and by two processes: elapsed time with the start of the processes, which is stated beside it."""
    logs, few = folder / "many", folder / "few"
    for k in range(LOGS):
        write_day(logs / f"robot=r{k:04d}" / "day.parquet", round(minutes * 60 * RATE), seed=k)
    write_day(few / "robot=r0000" / "day.parquet", 5 * round(RATE))
    start, _ = added_by(1, few, folder / "by")
    (one, spent_one), (two, spent_two) = (added_by(n, logs, folder / f"by{n}") for n in (1, 2))
    yield Row(
        f"{LOGS} logs of {minutes:g} minutes, two processes",
        two,
        one,
        "one process",
        goal=SCALING_GOAL,
        note=f"elapsed, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; of it {start:.1f} s until a short log "
        f"is there (a process starts, imports, reads); processor time of the work {spent_one:.2f} s by one, "
        f"{spent_two:.2f} s by two together: two free cores are {2 * spent_one / spent_two:.2f} times one",
    )


def added_by(workers: int, logs: Path, store: Path) -> tuple[float, float]:
    """Elapsed seconds and processor time of the work on logs by so many processes."""
    fleet = opened(store)
    start = time.perf_counter()
    done = fleet.add(logs, workers=workers)
    elapsed = time.perf_counter() - start
    assert done.count("new") == len(list(logs.rglob("*.parquet"))), done.faults
    return elapsed, sum(row.cpu for row in done.rows)


def refitting(folder: Path, robots: int) -> Iterator[Row]:
    """All records of the fleet in files of a month, and the fit of all robots from them."""
    fleet = opened(folder / "month")
    some = folder / "some"
    for k in range(10):
        write_day(some / "robot=r0000" / f"{k}.parquet", 150_000, seed=k, start=START + 86_400.0 * k)
    fleet.add(some, workers=0)
    templates = list(fleet.records())
    size, seconds = fill_month(fleet, templates, robots)
    yield Row(
        f"{robots} robots x {DAYS} days into files of a month, per record",
        seconds / (robots * DAYS),
        note=f"{size / (robots * DAYS) / 1e3:.0f} kB a record, {size / 1e9:.2f} GB in all",
    )
    start, cpu = time.perf_counter(), time.process_time()
    found = fleet.fit()
    elapsed, cpu = time.perf_counter() - start, time.process_time() - cpu
    yield Row(
        f"refit of {robots} robots from their month",
        elapsed,
        note=f"{cpu:.1f} s of processor time, goal {REFIT_GOAL * 2:g} (two cores for {REFIT_GOAL:g} s); "
        f"{len(found.robots)} robots, read, merged and fitted; load {os.getloadavg()[0]:.1f}",
    )


# ---------------------------------------------------------------------- logs and stores


def fleet_type() -> RobotType:
    return RobotType("puma", read_robot(ARM, letters=False), ColumnMap(), Filter(cutoff_hz=CUTOFF, rate_hz=KEPT_HZ))


def opened(store: Path) -> Fleet:
    return Fleet.open(store, FleetFile({"puma": fleet_type()}, (FleetRobot("r*", "puma"),)))


def write_day(path: Path, count: int, seed: int = 0, start: float = START) -> None:
    """A smooth motion that does not repeat, efforts with friction, slowly warming joints; in row groups."""
    import pyarrow
    import pyarrow.parquet

    robot, rng = read_robot(ARM, letters=False), np.random.default_rng(seed)
    n = robot.n
    w = 2 * np.pi * rng.uniform(0.05, 0.8, size=(n, 5))
    a, phase = rng.normal(size=(n, 5)) * 0.3, rng.uniform(0, 2 * np.pi, size=(n, 5))
    efforts = BatchKernel(torque_program(robot))
    names = ["t", *(f"{word}{j + 1}" for word in ("q", "tau", "temperature") for j in range(n))]
    schema = pyarrow.schema([(name, pyarrow.float64()) for name in names])
    path.parent.mkdir(parents=True, exist_ok=True)
    with pyarrow.parquet.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for first in range(0, count, PIECE):
            t = np.arange(first, min(first + PIECE, count)) / RATE
            angle = t[:, None, None] * w + phase
            s, c = np.sin(angle), np.cos(angle)
            q, qd, qdd = (a * s).sum(-1), (a * w * c).sum(-1), -(a * w * w * s).sum(-1)
            warmth = 25.0 + 20.0 * (1 - np.exp(-t / 3600.0))[:, None] + 0.1 * np.arange(n)
            tau = efforts(q, qd, qdd) + 2.0 * qd + 3.0 * np.sign(qd)
            q = q + 1e-5 * rng.normal(size=q.shape)
            tau = tau + 0.02 * np.abs(tau).max(axis=0) * rng.normal(size=tau.shape)
            columns = [t + start, *q.T, *tau.T, *warmth.T]
            writer.write_table(pyarrow.table(dict(zip(names, columns, strict=True)), schema=schema))


def added_alone(fleet: Fleet, log: Path) -> float:
    """Processor time of the work on one log, its record made anew."""
    (source,) = find_logs([log])
    keys = fleet.store.keep_fleet(fleet.described, "scores")
    task = LogTask(source, "r0001", None, frozenset(), (), None)
    batch = Batch(pickle.dumps(fleet.described.types["puma"]), "scores", fleet.store.place.url, (task,))
    for name in fleet.store.place.names("evidence"):
        fleet.store.place.remove(name)
    start = time.process_time()
    (done,) = work(batch)
    spent = time.process_time() - start
    assert done.status == "new" and done.row is not None and done.row.key in keys.values(), done
    return spent


def fill_month(fleet: Fleet, templates: list[EvidenceRecord], robots: int) -> tuple[int, float]:
    """Files of one month with the records of all robots; their bytes, and the seconds that they took."""
    rng, written, spent, index = np.random.default_rng(0), 0, 0.0, []
    held: list[dict[str, Any]] = []
    days = [(FIRST + timedelta(days=d)).isoformat() for d in range(DAYS)]
    for number, (robot, day) in enumerate((f"r{k:04d}", day) for k in range(robots) for day in days):
        template = templates[number % len(templates)]
        changed = replace(template, robot=robot, day=day, content=f"{number:064x}")
        row = changed.row()
        for name in ("R", "scores", "diagonals"):
            row[name] = row[name] * (1 + 1e-4 * rng.normal(size=row[name].shape)).astype(row[name].dtype)
        held.append(row)
        name = f"months/type=puma/month={day[:7]}/part-{number // PART:03d}.parquet"
        index.append(replace(IndexRow.of(row, name), clock="relative"))
        if len(held) == PART or number == robots * DAYS - 1:
            start = time.process_time()
            data = table_bytes(rows_table(held), GROUP)
            spent += time.process_time() - start
            fleet.store.place.write(name, data)
            written, held = written + len(data), []
    for name in fleet.store.place.names("evidence"):
        fleet.store.place.remove(name)
    fleet.store.write_index(index)
    return written, spent


def worker_memory(log: Path) -> float:
    """Peak memory [MiB] of this process after adding one log."""
    with tempfile.TemporaryDirectory() as folder:
        added_alone(opened(Path(folder) / "store"), log)
    status = Path("/proc/self/status")
    if not status.is_file():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    # what getrusage says on Linux holds the process that started this one, too
    (line,) = [line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM")]
    return float(line.split()[1]) / 2**10


if __name__ == "__main__":
    print(f"{worker_memory(Path(sys.argv[1])):.1f}")

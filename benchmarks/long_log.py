"""`minertia identify` on a log of 1e7 samples that is read in blocks: memory, reading, and filter and fit together.

The plain way is Pinocchio's regressor sample by sample, stacked, and numpy.linalg.lstsq, scaled to as many samples.
"""

from __future__ import annotations

import contextlib
import io
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import peers
from benchmarks.fits import N_PEER, motion, plain_fit
from benchmarks.measure import Row, seconds
from minertia.codegen.kernels.kernel import BatchKernel, torque_program
from minertia.robot.files import read_robot

ARM, N, RATE = "puma560", 10_000_000, 1000.0
CUTOFF, KEPT_HZ = 10.0, 50.0
PART = 250_000  # samples in a row group
MEMORY_GOAL, SPEED_GOAL = 1024, 40.0  # MiB, times
CAMPAIGN = f"""format = 1
robot = "{ARM}"
[logs]
train = ["log.parquet"]
[model]
effects = ["rotor", "viscous", "coulomb", "offset"]
[filter]
cutoff_hz = {CUTOFF}
rate_hz = {KEPT_HZ}
on = "signals"
"""


def rows(count: int = N) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        write_log(Path(folder) / "log.parquet", count)
        (Path(folder) / "campaign.toml").write_text(CAMPAIGN, encoding="utf-8")
        command = [sys.executable, "-m", "benchmarks.long_log", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    state = motion(ARM, N_PEER)
    tau = np.random.default_rng(1).normal(size=(N_PEER, peers.arm(ARM).n))
    extra = found["unknowns"] - peers.base(ARM).count
    fit = plain_fit(ARM, state, tau, extra)
    with threadpool_limits(1):
        plain = min(seconds(fit) for _ in range(2)) / N_PEER * count
    title = f"{count:.0e} samples of {ARM}, Parquet"
    memory = f"peak memory {found['memory']:.0f} MiB, goal below {MEMORY_GOAL}; elapsed {found['elapsed']:.0f} s"
    yield Row(f"{title}: reading, all passes", found["reading"], note=memory)
    yield Row(
        f"{title}: filter and fit",
        found["fitting"],
        plain,
        "Pinocchio matrix + numpy lstsq",
        SPEED_GOAL,
        note=f"{RATE:g} Hz decimated to {KEPT_HZ:g} Hz; peer: better of two on {N_PEER:.0e} samples, scaled; same "
        "unknowns, no filter",
    )
    yield Row(f"{title}: filter and judge", found["judging"], note=f"residual {100 * found['residual']:.2g} %")


def write_log(path: Path, count: int) -> None:
    """A smooth motion that does not repeat, efforts with friction, noise on both; in row groups."""
    import pyarrow
    import pyarrow.parquet

    robot, rng = read_robot(ARM, letters=False), np.random.default_rng(0)
    n = robot.n
    w = 2 * np.pi * rng.uniform(0.05, 0.8, size=(n, 5))
    a, phase = rng.normal(size=(n, 5)) * 0.3, rng.uniform(0, 2 * np.pi, size=(n, 5))
    efforts = BatchKernel(torque_program(robot))
    turns = np.exp(1j * w * np.arange(PART)[:, None, None] / RATE)  # of each harmonic from the start of a row group
    names = ["t", *(f"q{j + 1}" for j in range(n)), *(f"tau{j + 1}" for j in range(n))]
    schema = pyarrow.schema([(name, pyarrow.float64()) for name in names])
    # noise cannot be compressed; trying to takes longer than all the rest
    with pyarrow.parquet.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for start in range(0, count, PART):
            t = np.arange(start, min(start + PART, count)) / RATE
            wave = turns[: len(t)] * np.exp(1j * (w * start / RATE + phase))
            s, c = wave.imag, wave.real
            q, qd, qdd = (a * s).sum(-1), (a * w * c).sum(-1), -(a * w * w * s).sum(-1)
            tau = efforts(q, qd, qdd)
            q = q + 1e-5 * rng.normal(size=q.shape)
            tau = tau + 0.02 * np.abs(tau).max(axis=0) * rng.normal(size=tau.shape)
            columns = [t, *q.T, *tau.T]
            writer.write_table(pyarrow.table(dict(zip(names, columns, strict=True)), schema=schema))


def measured(folder: Path) -> dict[str, float]:
    """`minertia identify` in this process: peak memory [MiB], processor time of its parts [s], elapsed time [s]."""
    from minertia.cli import main
    from minertia.identification import identify
    from minertia.identification.campaigns import recorded

    spent = {"reading": 0.0, "fitting": 0.0, "judging": 0.0}  # of one thread; reading is taken off the others
    blocks = recorded._file_blocks

    def read(*args: Any) -> Iterator[Any]:
        source = blocks(*args)
        while True:
            start = time.thread_time()
            block = next(source, None)
            spent["reading"] += time.thread_time() - start
            if block is None:
                return
            yield block

    def timed(name: str, do: Callable[..., Any]) -> Callable[..., Any]:
        def inner(*args: Any, **options: Any) -> Any:
            start, before = time.thread_time(), spent["reading"]
            result = do(*args, **options)
            spent[name] += time.thread_time() - start - (spent["reading"] - before)
            return result

        return inner

    recorded._file_blocks = read
    for step in ("build_problem", "solve"):
        setattr(identify, step, timed("fitting", getattr(identify, step)))
    identify.judge = timed("judging", identify.judge)
    sys.argv = ["minertia", "identify", "--campaign", str(folder / "campaign.toml"), "--json"]
    text, start = io.StringIO(), time.perf_counter()
    with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
        main()
    unit = 2**20 if sys.platform == "darwin" else 2**10
    found = json.loads(text.getvalue())
    return {
        "unknowns": found["count"],
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit,
        "reading": spent["reading"],
        "fitting": spent["fitting"],
        "judging": spent["judging"],
        "elapsed": time.perf_counter() - start,
        "residual": found["training"]["relative"],
    }


if __name__ == "__main__":
    print(json.dumps(measured(Path(sys.argv[1]))))

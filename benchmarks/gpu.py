"""`python -m benchmarks.gpu [ROBOT ...]`: programs on a CUDA device against its memory and against peers, in one run.

Needs CuPy and a device.  The first robot (a Panda) with all programs; of further ones the torques and accelerations.
frax and MJX (JAX) take part where they are installed, GRiD where the environment names its generator (GRID_GENERATE,
of grid-rbd) or its header for the first robot (GRID_HEADER).  Prints what it measures and writes it to
results/<device>.json; `python -m benchmarks.page` puts it on the page.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import minertia as mi
from benchmarks import gpu_peers, results
from minertia.base.numeric import random_states

MANY, FEW = 2**25, 4096
PROGRAMS = (
    "inverse_dynamics",
    "forward_dynamics",
    "mass_matrix",
    "coriolis_matrix",
    "base_regressor",
    "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives",
)
REPEATS = 15
LAUNCHES = 10  # in a row: the device must not wait for Python between them
COPY_BYTES = 4 << 30


def seconds(cupy: Any, call: Callable[[], Any], launches: int = 1) -> float:
    """Median time of a call on the device, of several launches in a row."""
    for _ in range(3):
        call()
    times = []
    for _ in range(REPEATS):
        start, stop = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        for _ in range(launches):
            call()
        stop.record()
        stop.synchronize()
        times.append(cupy.cuda.get_elapsed_time(start, stop) / 1e3 / launches)
    return float(np.median(times))


def copy_bandwidth(cupy: Any) -> float:
    """Bytes read and written by a device-to-device copy, per second."""
    source = cupy.zeros(COPY_BYTES // 8)
    target = cupy.empty_like(source)
    return 2 * COPY_BYTES / seconds(cupy, lambda: cupy.copyto(target, source))


def arrays_of(cupy: Any, program: Any, robot: mi.Robot, count: int, precision: str, layout: str) -> list[Any]:
    """Random inputs on the device."""
    dtype = {"double": "float64", "float": "float32"}[precision]
    few = random_states(robot, 4096, 0)
    base = dict(zip(("q", "qd", "qdd"), (np.asarray(x) for x in few), strict=True))
    found = []
    for port in program.inputs:
        rows = base.get(port.name)
        rows = np.random.default_rng(0).normal(size=(4096, *port.shape)) if rows is None else rows
        x = cupy.asarray(np.resize(rows, (4096, port.size)), dtype)
        x = cupy.tile(x, (-(-count // 4096), 1))[:count]
        found.append(cupy.ascontiguousarray(x.T).T if layout == "joint-major" else cupy.ascontiguousarray(x))
    return found


def measure(
    cupy: Any, robot: mi.Robot, name: str, precision: str, layout: str, copy: float, of: str = ""
) -> Iterator[dict[str, Any]]:
    """One line for one program: many samples, and few in one launch; of: what its title says of the robot."""
    program = mi.codegen.build_program(robot, name)
    kernel = mi.compile(program, device="cuda", precision=precision)
    size = 8 if precision == "double" else 4
    entries = sum(p.size for p in program.inputs) + sum(p.size for p in program.ports)
    count = min(MANY, int(40e9 / (entries * size)) // 4096 * 4096)
    arrays = arrays_of(cupy, program, robot, count, precision, layout)
    out = kernel(*arrays)
    time = seconds(cupy, lambda: kernel(*arrays, out=out), LAUNCHES)
    check(cupy, robot, name, arrays, out, precision)
    moved = count * entries * size / time
    few = arrays_of(cupy, program, robot, FEW, precision, layout)
    small = kernel(*few)
    latency = graph_seconds(cupy, lambda: kernel(*few, out=small))
    print(
        f"{name:28s} {precision:6s} {layout:12s} {count / time / 1e9:7.2f} G/s  {moved / 1e12:5.2f} TB/s "
        f"({100 * moved / copy:3.0f} % of a copy)  {FEW} samples: {latency * 1e6:5.2f} us on the device, "
        f"{1e6 * seconds(cupy, lambda: kernel(*few, out=small), 2 * LAUNCHES):5.1f} us from Python",
        flush=True,
    )
    title = name.replace("_", " ") + of
    about = {"arrays": layout, "precision": precision}
    yield {"program": title, **about, "rate": count / time, "share": moved / copy}
    yield {"program": f"{title}, {FEW} samples, one launch of a CUDA graph", **about, "seconds": latency}


def graph_seconds(cupy: Any, call: Callable[[], Any]) -> float:
    """Time of one launch out of many in a CUDA graph: without what Python takes to launch it."""
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        call()
        stream.begin_capture()
        for _ in range(100):
            call()
        graph = stream.end_capture()
        graph.launch(stream)
        stream.synchronize()
        times = []
        for _ in range(REPEATS):
            start, stop = cupy.cuda.Event(), cupy.cuda.Event()
            start.record(stream)
            graph.launch(stream)
            stop.record(stream)
            stop.synchronize()
            times.append(cupy.cuda.get_elapsed_time(start, stop) / 1e3 / 100)
    return float(np.median(times))


def check(cupy: Any, robot: mi.Robot, name: str, arrays: Sequence[Any], out: Any, precision: str) -> None:
    """Torques against the recursion on the processor."""
    if name != "inverse_dynamics":
        return
    q, qd, qdd = (cupy.asnumpy(x[:4096]).astype(float) for x in arrays)
    wanted = np.asarray(mi.inverse_dynamics(robot, q, qd, qdd))
    worst = float(np.abs(cupy.asnumpy(out[:4096]) - wanted).max() / np.abs(wanted).max())
    assert worst < (1e-12 if precision == "double" else 1e-4), worst
    print(f"  largest difference to the processor: {worst:.1e} of the largest torque")


def main() -> None:
    """Print the table, and keep it."""
    import cupy

    robot, *others = (mi.read_robot(name) for name in sys.argv[1:] or ["panda"])
    device = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    copy = copy_bandwidth(cupy)
    print(f"{device}, '{robot.name}', a copy moves {copy / 1e12:.2f} TB/s")
    rows: list[dict[str, Any]] = []
    further = [(own, name, f", '{own.name}', {own.n} joints") for own in others for name in PROGRAMS[:2]]
    for own, name, of in (*((robot, name, "") for name in PROGRAMS), *further):
        for precision in ("double", "float"):
            for layout in ("joint-major", "sample-major"):
                rows += measure(cupy, own, name, precision, layout, copy, of)
                cupy.get_default_memory_pool().free_all_blocks()
    with tempfile.TemporaryDirectory() as folder:
        header = _grid_header(robot, Path(folder))
        rows += gpu_peers.rows(robot, header)
    about = {
        "about": f"Robot '{robot.name}', up to 2^25 samples; a copy moves {copy / 1e12:.2f} TB/s",
        "versions": [
            f"Python {platform.python_version()}",
            f"CuPy {cupy.__version__}",
            *gpu_peers.versions(header),
        ],
    }
    print(results.save_device(device.split()[-1].lower(), rows, about))


def _grid_header(robot: mi.Robot, folder: Path) -> Path | None:
    """Header of GRiD that the environment names, or whose generator it names."""
    if header := os.environ.get("GRID_HEADER"):
        return Path(header)
    generate = os.environ.get("GRID_GENERATE")
    return gpu_peers.grid_header(robot, generate, folder) if generate else None


if __name__ == "__main__":
    main()

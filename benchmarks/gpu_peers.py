"""Peers on a CUDA device: frax, GRiD and MJX, each with a Panda, the best of several batches."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import minertia as mi

GRID_VERSION = "0.6.0"
GRID_SOURCE = Path(__file__).parent / "league" / "rivals" / "grid.cu"
GRID_PROGRAMS = ("inverse_dynamics", "forward_dynamics", "inverse_dynamics_gradient", "forward_dynamics_gradient")
BATCHES = (12, 16, 18, 20, 22)  # powers of two
REPEATS = 7
TOLERANCE = {"double": 1e-6, "float": 1e-4}  # of the largest torque: files of robots have some 10 digits


def rows(robot: mi.Robot, header: Path | None) -> Iterator[dict[str, Any]]:
    """Rates of the peers that are here; header: GRiD's grid.cuh of the robot."""
    if importlib.util.find_spec("frax"):
        yield from frax_rows()
    if header is not None:
        yield from grid_rows(robot, header)
    if importlib.util.find_spec("mujoco") and importlib.util.find_spec("mujoco.mjx"):
        yield from mjx_rows(robot)


def versions(header: Path | None) -> list[str]:
    """Names and versions of the peers that are here."""
    names = {"frax": "frax", "mujoco": "mujoco-mjx"}
    found = [f"{p} {importlib.metadata.version(p)}" for name, p in names.items() if importlib.util.find_spec(name)]
    return [*found, *([f"GRiD {GRID_VERSION}"] if header is not None else [])]


def grid_header(robot: mi.Robot, generate: str, folder: Path) -> Path:
    """CUDA header that GRiD's generator, the command `generate`, writes for a robot."""
    mi.write_robot(robot, folder / "robot.urdf", force=True)
    wanted = ["--algorithm-list", ",".join(GRID_PROGRAMS), "--no-mujoco-kernels", "-o", str(folder / "grid.cuh")]
    subprocess.run([generate, str(folder / "robot.urdf"), *wanted], check=True)
    return folder / "grid.cuh"


def frax_rows() -> Iterator[dict[str, Any]]:
    """The recursion of frax under jit and vmap, with accelerations and gravity, on its own Panda."""
    import jax

    for wide in (True, False):
        jax.config.update("jax_enable_x64", wide)
        import jax.numpy as jnp
        from frax.robots.franka_panda import load_panda

        robot = load_panda()
        gravity = jnp.array([0.0, 0.0, 0.0, 0.0, 0.0, -9.81])
        run = jax.jit(jax.vmap(lambda q, v, a, r=robot, g=gravity: r.rnea(q, v, a, g, None)))
        yield _row("frax `rnea`, jit and vmap, best batch of 2^12 to 2^22", wide, _best_batch(run, 7, wide))


def mjx_rows(robot: mi.Robot) -> Iterator[dict[str, Any]]:
    """Inverse and forward dynamics of MJX under jit and vmap, without contacts, constraints and actuators."""
    import jax
    import mujoco
    from mujoco import mjx

    for wide in (True, False):
        jax.config.update("jax_enable_x64", wide)
        with tempfile.TemporaryDirectory() as name:
            mi.write_robot(robot.without_effects(["rotors", "friction"]), Path(name) / "robot.urdf", force=True)
            compiled = mujoco.MjModel.from_xml_path(str(Path(name) / "robot.urdf"))
        compiled.opt.disableflags = mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_CONTACT
        model = mjx.put_model(compiled)
        blank = mjx.make_data(model)

        def inverse(q: Any, v: Any, a: Any, m: Any = model, d: Any = blank) -> Any:
            return mjx.inverse(m, d.replace(qpos=q, qvel=v, qacc=a)).qfrc_inverse

        def forward(q: Any, v: Any, tau: Any, m: Any = model, d: Any = blank) -> Any:
            return mjx.forward(m, d.replace(qpos=q, qvel=v, qfrc_applied=tau)).qacc

        for name, call in (("inverse", inverse), ("forward", forward)):
            found = jax.jit(jax.vmap(call))
            if name == "inverse":
                _check_torques(robot, found, wide)
            rate = _best_batch(found, robot.n, wide, BATCHES[:-1])
            yield _row(f"MJX `{name}`, jit and vmap, best batch of 2^12 to 2^20", wide, rate)


def grid_rows(robot: mi.Robot, header: Path) -> Iterator[dict[str, Any]]:
    """Kernels of GRiD, compiled here for this device."""
    with tempfile.TemporaryDirectory() as name:
        program = Path(name) / "rates"
        compiler = ["nvcc", "-arch=native", "-std=c++17", "-O3", f"-I{header.parent.resolve()}"]
        subprocess.run([*compiler, str(GRID_SOURCE), "-o", str(program)], check=True)
        found = json.loads(subprocess.run([program], capture_output=True, text=True, check=True).stdout)
    for precision, part in found.items():
        state, qdd, torques = (np.reshape(part.pop(key), (8, -1)) for key in ("state", "qdd", "torques"))
        n = qdd.shape[1]
        _compare(robot, (state[:, :n], state[:, n : 2 * n], qdd), torques, precision)
        for title, rate in part.items():
            yield _row(f"GRiD {title}, a block a sample, best batch of 2^12 to 2^18", precision == "double", rate)


def _best_batch(run: Callable[..., Any], n: int, wide: bool, powers: tuple[int, ...] = BATCHES) -> float:
    """Samples in a second."""
    import jax
    import jax.numpy as jnp

    best = 0.0
    for power in powers:
        keys = jax.random.split(jax.random.PRNGKey(0), 3)
        states = [jax.random.normal(k, (2**power, n), jnp.float64 if wide else jnp.float32) for k in keys]
        run(*states).block_until_ready()
        times = []
        for _ in range(REPEATS):
            clock = perf_counter()
            run(*states).block_until_ready()
            times.append(perf_counter() - clock)
        best = max(best, 2**power / float(np.median(times)))
    return best


def _check_torques(robot: mi.Robot, run: Callable[..., Any], wide: bool) -> None:
    states = np.random.default_rng(0).uniform(-1, 1, (3, 8, robot.n))
    _compare(robot, tuple(states), np.asarray(run(*states)), "double" if wide else "float")


def _compare(robot: mi.Robot, states: tuple[np.ndarray, ...], torques: np.ndarray, precision: str) -> None:
    """Torques of a peer against ours: what is timed must be the same thing."""
    wanted = np.asarray(mi.inverse_dynamics(robot.without_effects(["rotors", "friction"]), *states))
    worst = float(np.abs(torques - wanted).max() / np.abs(wanted).max())
    assert worst < TOLERANCE[precision], f"a peer's torques differ by {worst:.1e} of the largest"


def _row(program: str, wide: bool, rate: float) -> dict[str, Any]:
    print(f"{program:70s} {'double' if wide else 'float':6s} {rate / 1e6:9.1f} M/s", flush=True)
    return {"program": program, "arrays": "", "precision": "double" if wide else "float", "rate": rate}

"""Planted logs of an arm with a wrist sensor, a sensor in a link or a force plate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from minertia.dynamics.model import torque_regressor
from minertia.robot.divided import with_sensor
from minertia.robot.inertia import from_com
from minertia.robot.robot import Robot

FV, FC = 3.0, 4.0  # of every joint [N m s/rad, N m]
BIAS = (4.0, -3.0, 9.0, 0.2, -0.1, 0.05)
RATE = 100.0
NOISE = {"q": 2e-5, "tau": 0.3, "f": 0.1, "m": 0.004}


@dataclass(frozen=True)
class Planted:
    """An arm with a sensor, its true standard parameters by name, and the load beyond the sensor."""

    robot: Robot
    chi: Mapping[str, float]


def planted(robot: Robot, place: str, mass: float = 2.5, seed: int = 0) -> Planted:
    """The robot with a sensor; near links as in the file, and a load beyond a sensor in the last link."""
    rng = np.random.default_rng(seed)
    if place == "plate" or place in [joint.name for joint in robot.joints]:
        robot = robot.with_payload(mass, (0.02, -0.03, 0.08), (0.02, 0, 0, 0.02, 0, 0.01))
    own = with_sensor(robot, place, "s")
    columns = own.columns(True, True)
    chi = dict(zip(columns, own.parameter_vector(True, True).tolist(), strict=True))
    far = own.n_joints + 1
    A = rng.normal(size=(3, 3)) * 0.03
    second = A @ A.T + 0.001 * np.eye(3)  # second moments of a body that can exist
    ten = from_com(mass, (0.02, -0.03, 0.08), mass * (np.trace(second) * np.eye(3) - second))
    symbols = ("XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M")
    chi |= {f"{s}{far}": v for s, v in zip(symbols, ten, strict=True)}
    chi |= {f"B{c}{a}{far}": v for (c, a), v in zip([(c, a) for c in "FM" for a in "XYZ"], BIAS, strict=True)}
    for j in range(own.n_joints):
        chi |= {f"FV{j + 1}": FV, f"FC{j + 1}": FC, f"IA{j + 1}": 0.5, f"OFF{j + 1}": 0.0}
    return Planted(own, chi)


def motion(n: int, seconds: float, seed: int, rate: float = RATE) -> tuple[np.ndarray, ...]:
    """A sum of sines per joint: t, q, qd, qdd."""
    rng = np.random.default_rng(seed)
    t = np.arange(int(seconds * rate)) / rate
    q, qd, qdd = np.zeros((3, len(t), n))
    for j in range(n):
        for w in 2 * np.pi * rng.uniform(0.08, 0.5, 4):
            a, p = rng.uniform(0.2, 0.5), rng.uniform(0, 2 * np.pi)
            q[:, j] += a * np.sin(w * t + p)
            qd[:, j] += a * w * np.cos(w * t + p)
            qdd[:, j] -= a * w * w * np.sin(w * t + p)
    return t, q, qd, qdd


def write_log(
    path: Path,
    plant: Planted,
    *,
    seconds: float = 20.0,
    seed: int = 0,
    gains: np.ndarray | None = None,
    efforts: bool = True,
    change=lambda wrench, q: wrench,
) -> Path:
    """A CSV log with joint positions, efforts (currents where gains are given) and the wrench on the sensor."""
    robot, rng = plant.robot, np.random.default_rng(seed + 1000)
    t, q, qd, qdd = motion(robot.n, seconds, seed)
    columns = robot.columns(True, True)
    tau = torque_regressor(robot, q, qd, qdd, columns=columns) @ np.array([plant.chi[c] for c in columns])
    joints = tau[:, : robot.n] + NOISE["tau"] * rng.normal(size=(len(t), robot.n))
    wrench = -tau[:, robot.n :] + np.array([NOISE["f"]] * 3 + [NOISE["m"]] * 3) * rng.normal(size=(len(t), 6))
    q = q + NOISE["q"] * rng.normal(size=q.shape)
    table = {"t": t} | {f"q{j + 1}": q[:, j] for j in range(robot.n)}
    if efforts and gains is None:
        table |= {f"tau{j + 1}": joints[:, j] for j in range(robot.n)}
    elif efforts:
        table |= {f"i{j + 1}": joints[:, j] / gains[j] for j in range(robot.n)}
    wrench = change(wrench, q)
    table |= {name: wrench[:, k] for k, name in enumerate(("fx", "fy", "fz", "tx", "ty", "tz"))}
    np.savetxt(path, np.column_stack(list(table.values())), delimiter=",", header=",".join(table), comments="")
    return path

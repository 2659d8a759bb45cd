"""A two-link arm with friction, heavier than its file says, and logs of it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from minertia.dynamics.model import inverse_dynamics
from minertia.robot.files import read_robot
from tests.identification.logs import table, write_csv

FRICTION = {"FV1": 0.6, "FC1": 0.4, "FV2": 0.3, "FC2": 0.2}
LOAD = 0.75
ARM = """<?xml version="1.0"?>
<robot name="{name}">
  <link name="ground"/>
  <link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
    <inertia ixx="0.005" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="ground"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" velocity="9" effort="50"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0.4 0 0"/>
    <axis xyz="0 1 0"/><limit lower="-3" upper="3" velocity="9" effort="20"/></joint>
</robot>
"""


def simulated(robot, phase: float, seconds: float = 12.0, rate: float = 200.0, noise: float = 0.02):
    """t, q, tau of a smooth motion of the true arm, with noise on the efforts."""
    t = np.arange(round(seconds * rate)) / rate
    q = qd = qdd = 0.0
    for k, (size, w) in enumerate(((0.5, 1.7), (0.35, 3.1), (0.2, 5.3))):
        angle = w * t[:, None] + phase + k + np.array([0.0, 1.3])
        q = q + size * np.sin(angle)
        qd = qd + size * w * np.cos(angle)
        qdd = qdd - size * w**2 * np.sin(angle)
    tau = inverse_dynamics(robot, q, qd, qdd)
    rng = np.random.default_rng(int(10 * phase))
    return {"t": t, "q": q, "tau": tau + noise * rng.normal(size=tau.shape)}


def recorded_arm(folder: Path, seconds: float = 12.0) -> Path:
    """The folder with arm.urdf, a.csv, b.csv, c.csv and loaded.csv in it."""
    for name, content in _recorded(seconds).items():
        (folder / name).write_bytes(content)
    return folder


@cache
def _recorded(seconds: float) -> dict[str, bytes]:
    """Name of each file -> its content, simulated once."""
    with TemporaryDirectory() as folder:
        return {path.name: path.read_bytes() for path in _simulated_arm(Path(folder), seconds).iterdir()}


def _simulated_arm(folder: Path, seconds: float) -> Path:
    (folder / "arm.urdf").write_text(ARM.format(name="arm"))
    robot = read_robot(folder / "arm.urdf")
    own = dict(zip(robot.columns(), robot.parameter_vector(), strict=True))
    heavier = {name: 1.4 * value for name, value in own.items() if name.endswith("2")}  # than its file says
    truth = robot.with_parameters({**own, **heavier, **FRICTION})
    names = {"q": "q", "tau": "tau"}
    for name, phase in (("a", 0.1), ("b", 2.0), ("c", 4.0)):
        write_csv(folder / f"{name}.csv", table(simulated(truth, phase, seconds), **names))
    loaded = truth.with_payload(LOAD, com=(0.25, 0.0, 0.0))
    write_csv(folder / "loaded.csv", table(simulated(loaded, 3.0, seconds), **names))
    return folder

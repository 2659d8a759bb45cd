"""Bundled robots as a simulation needs them: those whose file has no masses, or none that a body can have, get some."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

import minertia
from minertia import read_robot
from minertia.robot.inertia import from_com, impossible
from minertia.robot.robot import Robot

BUNDLED = tuple(sorted(path.stem for path in (Path(minertia.__file__).parent / "robot" / "library").glob("*.toml")))


def stated(name: str) -> Robot:
    """A bundled robot with masses, and with friction where its file has some or no masses either."""
    robot = read_robot(name).numeric
    if robot.has_parameters and all(ten is None or impossible(ten) is None for ten in robot.links):
        return robot
    rng = np.random.default_rng([*map(ord, name)])
    links = tuple(
        _ellipsoid(8.0 * 0.7**j + 0.4, 0.06 + 0.25 * 0.8**j * rng.random(3), rng) for j in range(robot.n_joints)
    )
    usual = [{"IA": 0.05 + 0.3 * 0.6**j, "FV": 0.4 + 0.6**j, "FC": 0.3 + 2 * 0.6**j} for j in range(robot.n_joints)]
    return replace(robot, links=links, effects=robot.effects if robot.has_parameters else tuple(usual))


def _ellipsoid(mass: float, size: np.ndarray, rng: np.random.Generator) -> tuple[float, ...]:
    """Ten parameters of a body of this size [m], its centre off the joint."""
    a, b, c = size**2 / 20
    return from_com(mass, 0.4 * size * rng.uniform(-1, 1, 3), mass * np.diag([b + c, a + c, a + b]))

"""What the tests of batch kernels share: every path, states, and robots of every kind."""

from __future__ import annotations

import numpy as np
import pytest

from minertia.codegen.kernels import build
from minertia.codegen.programs import BUILDERS, ON_TREES
from minertia.codegen.rollout.task import AT_JOINTS, LoopValues
from minertia.io.arrays import Array
from minertia.robot.files import bundled_robots, read_robot
from minertia.robot.robot import Robot
from tests.random_robots import random_robot

CAN = {"compiled": build.find_compiler() is not None, "interpreter": build.native() is not None, "numpy": True}
PATHS = [
    pytest.param("compiled", marks=pytest.mark.skipif(not CAN["compiled"], reason="no C compiler")),
    pytest.param("interpreter", marks=pytest.mark.skipif(not CAN["interpreter"], reason="no extension module")),
    "numpy",
]
WITH_CODE = tuple(name for name in bundled_robots() if name != "delta")  # whose loops have no closed form


def robots_of_every_kind() -> dict[str, Robot]:
    return {
        "puma560": read_robot("puma560"),
        "stanford": read_robot("stanford"),
        "tree": random_robot(2, tree=True, n=8),
        "floating": random_robot(3, floating=True, n=4),
        "follower": random_robot(4, mimic=True, n=5),
        "slider": random_robot(11, n=1),
    }


def with_inertias(name: str) -> Robot:
    """A bundled robot; where its file has no inertias, with random values."""
    robot = read_robot(name)
    if robot.has_parameters:
        return robot
    return robot.with_parameters(np.random.default_rng(0).uniform(0.1, 1.0, len(robot.columns(True, True))))


def states(robot: Robot, count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(count, robot.n_position))
    if robot.is_floating:
        q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    qd, qdd = rng.normal(size=(2, count, robot.n_velocity))
    return q, qd, qdd


def relative(found: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.abs(found - wanted).max(initial=0.0) / max(np.abs(wanted).max(initial=0.0), 1e-300))


def programs_of(robot: Robot) -> tuple[str, ...]:
    """Names of the programs that a robot can have."""
    is_tree = not robot.is_floating and not robot.open_cuts
    return tuple(name for name in BUILDERS if is_tree or name not in ON_TREES)


def at_rest(n: int, links: Array | None = None) -> LoopValues:
    """Nothing at n joints under their position loops."""
    given = dict.fromkeys(AT_JOINTS, np.zeros(n)) | {"limit": np.full(n, np.inf)}
    return LoopValues(**given, links=np.zeros(0) if links is None else links)

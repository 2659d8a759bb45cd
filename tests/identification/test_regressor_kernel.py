"""The ways to evaluate the regressor over many samples give the same columns."""

from __future__ import annotations

import numpy as np
import pytest

from minertia.codegen.kernels import build
from minertia.dynamics.model import torque_regressor
from minertia.identification.problem import regressor
from minertia.identification.problem.linear import linear_model
from minertia.identification.problem.regressor import COMPILED, MANY, regressor_columns
from minertia.robot.read import read_robot

ROBOTS = ("puma560", "panda", "tx40", "scara", "gantry", "cmu_dd_arm2")


def state(n: int, count: int = 70) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, count, n))
    return q, qd, qdd


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("samples", [None, MANY])
def test_same_columns(name: str, samples: int | None) -> None:
    robot = read_robot(name)
    model = linear_model(robot)
    own = [model.standard[k] for k in model.kept]
    q, qd, qdd = state(robot.n)
    wanted = torque_regressor(robot, q, qd, qdd, columns=own)
    found = regressor_columns(robot, own, (q, qd, qdd), samples)
    assert np.abs(found - wanted).max() <= 1e-12 * np.abs(wanted).max()


@pytest.mark.skipif(build.native() is None, reason="no extension module")
def test_kernels_only_where_they_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(build.PATH_VARIABLE, raising=False)
    robot = read_robot("puma560")
    columns = tuple(linear_model(robot).base.kept)
    assert regressor._kernel(robot, columns, MANY - 1, MANY - 1) is None
    assert regressor._kernel(robot, columns, 8 * 32, 32) is None
    kernel = regressor._kernel(robot, columns, MANY, MANY)
    assert kernel is not None and kernel.path == "interpreter"
    assert regressor._kernel(robot, columns, 12 * 32, 32) is kernel  # as many calls cost as much as many samples
    assert regressor._kernel(robot, columns, COMPILED - 1, 32) is kernel
    monkeypatch.setenv(build.PATH_VARIABLE, "numpy")
    assert regressor._kernel(robot, columns, COMPILED, MANY) is None


@pytest.mark.skipif(build.find_compiler() is None, reason="no C compiler")
def test_a_compiler_for_very_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(build.PATH_VARIABLE, raising=False)
    robot = read_robot("puma560")
    q, qd, qdd = state(robot.n)
    columns = list(linear_model(robot).base.kept)
    found = regressor_columns(robot, columns, (q, qd, qdd), COMPILED)
    assert regressor._made[0].kernel.path == "compiled"
    wanted = torque_regressor(robot, q, qd, qdd, columns=columns)
    assert np.abs(found - wanted).max() <= 1e-12 * np.abs(wanted).max()


def test_kernels_are_forgotten_with_their_robots() -> None:
    for _ in range(2 * regressor.REMEMBERED):
        robot = read_robot("puma560")
        regressor_columns(robot, ["XX1", "FV1"], state(robot.n, 3), MANY)
    assert len(regressor._made) <= regressor.REMEMBERED

"""The ways to evaluate the regressor over many samples give the same columns."""

from __future__ import annotations

import numpy as np
import pytest

from minertia.base.numeric import random_states
from minertia.codegen.kernels import build
from minertia.codegen.kernels.kernel import momentum_program, power_program, regressor_program
from minertia.dynamics.model import momentum_regressor, power_regressor, torque_regressor
from minertia.identification.problem import regressor
from minertia.identification.problem.linear import linear_model
from minertia.identification.problem.regressor import (
    COMPILED,
    MANY,
    momentum_columns,
    power_columns,
    regressor_columns,
)
from minertia.robot.files import read_robot
from tests.random_robots import random_robot

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


@pytest.mark.parametrize("samples", [None, MANY])
@pytest.mark.parametrize(
    "robot", [read_robot("puma560"), random_robot(4, tree=True, mimic=True, floating=True)], ids=str
)
def test_same_columns_without_accelerations(robot, samples: int | None) -> None:
    names = robot.columns(rotors=True, friction=True)
    q, qd, _ = random_states(robot, 70, 1)
    for plain, columns in ((momentum_regressor, momentum_columns), (power_regressor, power_columns)):
        pairs = zip(columns(robot, names, q, qd, samples), plain(robot, q, qd, columns=names), strict=True)
        for found, wanted in pairs:
            assert found.shape == wanted.shape
            assert np.abs(found - wanted).max() <= 1e-12 * np.abs(wanted).max()


@pytest.mark.skipif(build.native() is None, reason="no extension module")
def test_kernels_only_where_they_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(build.PATH_VARIABLE, raising=False)
    robot = read_robot("puma560")
    columns = tuple(linear_model(robot).base.kept)
    assert regressor._kernel(regressor_program, robot, columns, MANY - 1, MANY - 1) is None
    assert regressor._kernel(regressor_program, robot, columns, 4 * 32, 32) is None
    kernel = regressor._kernel(regressor_program, robot, columns, MANY, MANY)
    assert kernel is not None and kernel.path == "interpreter"
    assert (
        regressor._kernel(regressor_program, robot, columns, 12 * 32, 32) is kernel
    )  # as many calls cost as much as many samples
    assert regressor._kernel(regressor_program, robot, columns, COMPILED - 1, 32) is kernel
    for make in (momentum_program, power_program):
        own = regressor._kernel(make, robot, columns, MANY, MANY)
        assert own is not None and own is not kernel and own is regressor._kernel(make, robot, columns, MANY, MANY)
    monkeypatch.setenv(build.PATH_VARIABLE, "numpy")
    assert regressor._kernel(regressor_program, robot, columns, COMPILED, MANY) is None


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

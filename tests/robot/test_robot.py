"""The robot as a value: immutable, named, and able to travel."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from minertia.dynamics.model import inverse_dynamics
from minertia.io.errors import UnknownName
from tests.random_robots import random_robot


def test_it_cannot_be_changed():
    robot = random_robot(4)
    with pytest.raises(FrozenInstanceError):
        robot.name = "other"
    with pytest.raises(TypeError):
        robot.effects[0]["IA"] = 1.0
    with pytest.raises(TypeError):
        robot.symbols["d3"] = 1.0


def test_it_travels_between_processes():
    robot = random_robot(4, tree=True, floating=True)
    for twin in (pickle.loads(pickle.dumps(robot)), copy.deepcopy(robot)):
        assert twin == robot
        assert np.array_equal(twin.parameter_vector(True, True), robot.parameter_vector(True, True))


def test_columns_are_in_the_documented_order():
    robot = random_robot(1, n=2)
    assert robot.columns()[:10] == ("XX1", "XY1", "XZ1", "YY1", "YZ1", "ZZ1", "MX1", "MY1", "MZ1", "M1")
    assert robot.columns(True, True)[10:15] == ("IA1", "FV1", "FC1", "OFF1", "XX2")
    assert random_robot(5, n=2, floating=True).columns()[:2] == ("XX0", "XY0")


def test_parameters_are_replaced_by_name():
    robot = random_robot(1, n=2)
    assert robot.with_parameters({"M2": 3.5, "FV1": 0.7}).parameters()[1]["M"] == 3.5
    with pytest.raises(UnknownName, match="XX3"):
        robot.with_parameters({"XX3": 1.0})


def test_a_coupled_wrist_has_motor_columns():
    """tau = G' effect(G q): a motor that turns with two joints acts on both."""
    robot = random_robot(8, n=3)
    coupled = replace(
        robot,
        coupling=((50.0, 0, 0), (0, 40.0, 0), (0, 32.0, 32.0)),
        motor_effects=({}, {}, {"IAM": 1e-4, "FVM": 2e-3, "FCM": 0.1, "OFFM": 0.02}),
    )
    assert coupled.columns(rotors=True)[-2:] == ("IA3", "IAM3")
    q, qd, qdd = np.array([0.1, 0.2, 0.3]), np.array([0.4, -1.5, 0.6]), np.array([0.7, 0.8, 0.9])
    extra = inverse_dynamics(coupled, q, qd, qdd) - inverse_dynamics(robot, q, qd, qdd)
    rate, acceleration = 32 * (-1.5 + 0.6), 32 * (0.8 + 0.9)
    motor = 1e-4 * acceleration + 2e-3 * rate + 0.1 * np.sign(rate) + 0.02
    assert np.allclose(extra, [0, 32 * motor, 32 * motor])

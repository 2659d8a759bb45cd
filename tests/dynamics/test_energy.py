"""Kinetic energy counts what the mass matrix counts: links and rotors, on every bundled robot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import minertia as mi
from minertia.dynamics.loops.closing import closing_of
from minertia.robot.files import bundled_robots
from minertia.robot.robot import Robot
from tests.random_robots import random_ten

ROTORS = {"IA": 0.7, "FV": 0.4, "FC": 0.3, "OFF": 0.1}


def with_masses_and_drives(name: str) -> Robot:
    """A bundled robot, with links drawn where its file has none, and with rotors and friction at every motor."""
    robot = mi.read_robot(name)
    rng = np.random.default_rng(1)
    if not robot.has_parameters:
        ten = [value for _ in robot.joints for value in random_ten(rng)]
        robot = robot.with_parameters(dict(zip(robot.columns(), ten, strict=True)))
    drives = [{} if joint.is_passive and not joint.has_motor else ROTORS for joint in robot.joints]
    return replace(robot, effects=tuple(drives))


@pytest.mark.parametrize("name", bundled_robots())
def test_power_less_friction_is_the_rate_of_the_energy(name: str) -> None:
    """qd . (tau - friction) = d/dt (kinetic + potential energy), and qd . D qd / 2 is the kinetic energy."""
    robot = with_masses_and_drives(name)
    rng, h = np.random.default_rng(2), 1e-6
    q = rng.uniform(-1, 1, (4, robot.n))
    if robot.open_cuts:
        q = closing_of(robot.numeric).draw(q, rng)
    qd, qdd = rng.normal(size=(2, 4, robot.n))

    def energy(t: float) -> np.ndarray:
        at, speed = q + t * qd + 0.5 * t * t * qdd, qd + t * qdd
        return np.asarray(mi.dynamics.kinetic_energy(robot, at, speed) + mi.dynamics.potential_energy(robot, at))

    frictionless = robot.without_effects(["friction"])
    power = np.sum(qd * mi.inverse_dynamics(frictionless, q, qd, qdd), axis=1)
    if not robot.open_cuts and not any(joint.follows for joint in robot.joints):
        friction = ROTORS["FV"] * qd + ROTORS["FC"] * np.sign(qd) + ROTORS["OFF"]
        whole = np.sum(qd * (mi.inverse_dynamics(robot, q, qd, qdd) - friction), axis=1)
        assert np.allclose(whole, power, rtol=1e-9)
    assert np.allclose((energy(h) - energy(-h)) / (2 * h), power, atol=1e-6 * np.abs(power).max())
    by_matrix = 0.5 * np.einsum("ki,kij,kj->k", qd, mi.dynamics.mass_matrix(robot, q), qd)
    assert np.allclose(mi.dynamics.kinetic_energy(robot, q, qd), by_matrix, rtol=1e-9)
    without = 0.5 * np.einsum("ki,kij,kj->k", qd, mi.dynamics.mass_matrix(robot, q, rotors=False), qd)
    assert np.allclose(mi.dynamics.kinetic_energy(robot, q, qd, rotors=False), without, rtol=1e-9)

"""A robot that has every effect of the table on some joint."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from minertia.dynamics.presliding import next_displacement
from minertia.robot.effect import Effect
from minertia.robot.effects import EFFECTS
from minertia.robot.robot import Robot
from tests.random_robots import random_robot


def plain_constants(effect: Effect) -> dict[str, float]:
    """Constants of a row: usual ones, 0.7 where there are none."""
    return {name: 0.7 if usual is None else usual for name, usual in effect.constants.items()}


GAS = {"outer": 0.8, "inner": 0.2, "closed": 0.6, "angle": 1.66, "energy": 15_600, "volume": 0.00096, "area": 0.00167}
VALUES = {
    "FS1": 0.7, "FP1": 0.5, "FCL1": 0.05, "KS1": 1.5, "FVT1": 0.4,
    "FCT2": 0.6, "FVC2": 0.02, "FCQ2": -0.2, "GAS2": 0.01, "FCK2": -0.01, "FSL1": 0.05,
    "FCP3": 0.4, "FCN3": 0.6, "FLD3": 0.08, "FLB3": 0.04,
}  # fmt: skip
CONSTANTS = {"FS1": {"velocity": 0.3}, "FP1": {"displacement": 0.2}, "KS1": {"rest": 0.2}, "FCT2": {"width": 0.1},
             "GAS2": GAS, "FCQ2": {"middle": 0.3}, "FCK2": {"reference": 30.0}, "FSL1": {"velocity": 0.4}}  # fmt: skip
STATED = {name.rstrip("0123456789") for name in VALUES}
OTHERS = [effect for effect in EFFECTS if effect.name not in STATED and not effect.is_standard]  # nothing stated here
VALUES |= {f"{effect.name}1": 0.1 for effect in OTHERS}
CONSTANTS |= {f"{effect.name}1": plain_constants(effect) for effect in OTHERS if effect.constants}


def robot_with_every_effect(seed: int = 9) -> Robot:
    """Three joints, one of them sliding; joint 3 has no plain Coulomb friction beside the two-sided one."""
    robot = random_robot(seed, n=3).with_parameters(VALUES | {"FC3": 0.0}, CONSTANTS)
    found = {name.rstrip("0123456789") for name in robot.effect_values}
    assert found == {effect.name for effect in EFFECTS}
    return robot


def coupled_robot() -> Robot:
    """Two motors that turn with both joints, with every effect a motor can have."""
    robot = replace(random_robot(5, n=2), coupling=((1.0, 0.5), (-0.3, 2.0)))
    twins = {f"{e.name}M{j}": 0.1 * j for e in EFFECTS if e.has_twin for j in (1, 2)}
    constants = {f"{e.name}M{j}": plain_constants(e) for e in EFFECTS if e.has_twin and e.constants for j in (1, 2)}
    return robot.with_parameters(twins, constants | {"FSM1": {"velocity": 0.3}, "FSM2": {"velocity": 0.2}})


def presliding_efforts(robot: Robot, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """What the efforts of FP along a path have more than those of steady sliding (N, n)."""
    largest, z, more = robot.effect_constants(0, "FP")["displacement"], 0.0, np.zeros_like(q)
    for k, step in enumerate(np.diff(q[:, 0], prepend=q[0, 0])):
        z = next_displacement(z, float(step), largest)
        more[k, 0] = robot.effect_values["FP1"] * (z / largest - np.sign(qd[k, 0]))
    return more


def temperatures(samples: int, n: int = 3) -> np.ndarray:
    """Joints that warm up."""
    return 22 + np.linspace(0, 30, samples)[:, None] * np.linspace(0.5, 1, n)

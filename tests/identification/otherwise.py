"""Campaigns like those of `simulated`, of other robots, with friction and noise of other kinds, and other faults.

Friction has memory (Dahl), follows a power law, warms up, depends on position or load; noise has heavy tails and is in
positions, too.  Robots whose files have no masses get rods.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy import signal

from minertia.identification.logs.recording import Recording
from minertia.robot.files import read_robot
from minertia.robot.inertia import from_com
from minertia.robot.robot import Robot
from minertia.robot.variants import locked
from tests.identification.simulated import (
    ALWAYS,
    FAULTS,
    Case,
    Fault,
    Plant,
    Scene,
    _bare,
    _matters,
    case_of,
    drawn_scene,
    shaped,
)
from tests.random_robots import random_robot
from tests.shared import SHARED

Array = Any
RODS = {"gantry": (40.0, 25.0, 12.0), "scara": (12.0, 8.0, 3.0, 1.5), "iiwa14": (5.0, 5.0, 4.0, 3.5, 2.5, 1.5, 0.7)}
TREES = ((211, 6), (224, 4), (236, 5), (249, 3))
# files and the first and last coordinate that moves, the others locked at zero
PARTS = {
    "ur5e.mjcf.xml": (0, 6),
    "cartpole.urdf": (0, 2),
    "tiago_no_hand.urdf": (2, 10),
    "solo12.urdf": (0, 6),
    "allegro_right_hand.urdf": (0, 4),
}
FRICTIONS = 5


def other_robots() -> list[Robot]:
    """None of those of `simulated`."""
    found = [_of_rods(read_robot(name), masses) for name, masses in RODS.items()]
    found += [random_robot(seed, tree=True, n=n) for seed, n in TREES]
    for name, (first, last) in PARTS.items():
        if (SHARED / "robots" / name).is_file():
            robot = read_robot(SHARED / "robots" / name)
            still = [c for k, c in enumerate(robot.coordinate_names) if not first <= k < last]
            found.append(locked(robot, dict.fromkeys(still, 0.0)) if still else robot)
    return [_bare(shaped(robot)) for robot in found]


def _of_rods(robot: Robot, masses: tuple[float, ...], length: float = 0.35) -> Robot:
    rng = np.random.default_rng(5)
    shapes = [(rng.uniform(-0.25, 0.25, 3) * length, np.diag(rng.uniform(0.5, 1, 3))) for _ in masses]
    links = [
        from_com(m, c, m * (length**2 / 12 * thick + 1e-3 * np.eye(3)))
        for m, (c, thick) in zip(masses, shapes, strict=True)
    ]
    return replace(robot, links=tuple(links))


@dataclass(frozen=True)
class OtherScene(Scene):
    """kind: of friction.  heavy: tails of the noise, which is forgotten in a time [s].  blur: noise of positions."""

    kind: int = 0
    heavy: bool = False
    time: float = 0.1
    blur: float = 0.0

    def logs(self) -> list[Recording]:
        found = []
        for k, motion in enumerate(self.motions):
            plant = self.plant if k < self.train or self.unseen_plant is None else self.unseen_plant
            t = np.arange(round(self.seconds * self.rate)) / self.rate
            q, then = motion.at(t)[0], motion.at(t - self.delay)
            tau = self._efforts(plant, t, *then)
            size = np.sqrt(np.mean(tau**2, axis=0))
            noise = 0.8 * self._forgotten(tau.shape) + 0.6 * self.rng.normal(size=tau.shape)
            tau = tau + np.maximum(size, 0.01 * size.max()) * self.noise * noise
            q = q + self.blur * self.rng.normal(size=q.shape)
            q, tau = self.change(np.round(q / self.step) * self.step, tau)
            found.append(Recording(t * self.clock, q, tau, source=f"log{k + 1}.csv"))
        return found

    def _efforts(self, plant: Plant, t: Array, q: Array, qd: Array, qdd: Array) -> Array:
        rigid, f = plant.rigid(q, qd, qdd), plant.friction
        v, c, warm = qd / f["speed"], f["coulomb"], (1 + 0.3 * np.exp(-t / 10))[:, None]
        kinds: tuple[Callable[[], Array], ...] = (
            lambda: c * _dahl(v, 30 / self.rate) + f["viscous"] * qd,
            lambda: c * np.tanh(v / 0.05) + f["viscous"] * f["speed"] * np.sign(v) * np.abs(v) ** 0.6,
            lambda: c * np.tanh(v / 0.1) * (1 + 0.2 * np.sin(2 * q)) + f["viscous"] * qd * warm,
            lambda: (c + 0.05 * np.abs(rigid)) * np.tanh(v / 0.03) + f["viscous"] * qd,
            lambda: c * (np.tanh(v / 0.02) + 0.1 * np.sin(20 * q)) + f["viscous"] * qd,
        )  # fmt: skip
        return rigid + plant.rotor * qdd + f["offset"] + kinds[self.kind]()

    def _forgotten(self, shape: tuple[int, ...]) -> Array:
        stays = np.exp(-1 / (self.rate * self.time))
        drive = self.rng.standard_t(3, size=shape) / np.sqrt(3) if self.heavy else self.rng.normal(size=shape)
        drive[1:] *= np.sqrt(1 - stays**2)
        return signal.lfilter([1.0], [1.0, -stays], drive, axis=0)


def _dahl(v: Array, stiffness: float) -> Array:
    """Friction that builds up over a way, as a part of its level."""
    z = np.zeros_like(v)
    for k in range(1, len(z)):
        z[k] = np.clip(z[k - 1] + stiffness * (v[k - 1] - np.abs(v[k - 1]) * z[k - 1]), -1, 1)
    return z


def other_scene(robot: Robot, rng: np.random.Generator, *, validate: bool) -> OtherScene:
    scene = drawn_scene(robot, rng, validate=validate)
    seconds, noise, rate = rng.uniform(10, 30), rng.uniform(0.005, 0.05), rng.choice([60, 120, 240])
    scene = replace(scene, rate=float(rate), noise=float(noise), seconds=float(seconds))
    return OtherScene(
        **{f.name: getattr(scene, f.name) for f in fields(scene)},
        kind=int(rng.integers(FRICTIONS)),
        heavy=bool(rng.random() < 0.5),
        time=float(rng.choice([0.05, 0.5, 2])),
        blur=float(rng.choice([0, 2e-5, 1e-4])),
    )


def _in_turn(scene: Scene, count: int, *, efforts_alone: bool = False) -> Scene:
    order, some = np.arange(scene.robot.n), scene.rng.choice(scene.robot.n, min(count, scene.robot.n), replace=False)
    order[some] = np.roll(some, 1)
    return replace(scene, change=lambda q, tau: (q if efforts_alone else q[:, order], tau[:, order]))


def _small_gain(scene: Scene) -> Scene:
    gain = scene.rng.uniform(2.5, 4) ** scene.rng.choice([-1, 1])
    factors = np.where(np.arange(scene.robot.n) == scene.rng.integers(scene.robot.n), gain, 1.0)
    return replace(scene, change=lambda q, tau: (q, tau * factors))


def _partly(scene: Scene) -> Scene:
    gravity = tuple(0.3 * np.array(scene.robot.gravity))
    return replace(scene, plant=replace(scene.plant, robot=scene.plant.robot.with_gravity(gravity)))


def _all_signs(scene: Scene) -> Scene:
    return replace(scene, change=lambda q, tau: (q, -tau))


ORDER = ("exchanged", "order")
OTHER_FAULTS: dict[str, tuple[Fault, tuple[str, ...]]] = {
    **{name: (make, words) for name, (make, _, words) in FAULTS.items()},
    "three joints in turn": (lambda scene: _in_turn(scene, 3), ORDER),
    "efforts exchanged": (lambda scene: _in_turn(scene, 2, efforts_alone=True), ORDER),
    "a small gain": (_small_gain, ("gains",)),
    "gravity partly compensated": (_partly, ("gravity",)),
    "all efforts turned": (_all_signs, ("sign",)),
}


def other_right(robot: Robot, seed: int) -> Case:
    return case_of(other_scene(robot, np.random.default_rng([31, seed]), validate=bool(seed % 2)), None)


def other_wrong(robot: Robot, fault: str, seed: int) -> Case | None:
    """None where no draw matters, or where nothing can tell: rotors hide the clock of a robot of slides alone."""
    make, words = OTHER_FAULTS[fault]
    if fault == "clock scaled" and all(joint.kind == "prismatic" for joint in robot.joints):
        return None
    validated = FAULTS[fault][1] if fault in FAULTS else (True, False)
    for attempt in range(10):
        rng = np.random.default_rng([32, seed, attempt])
        scene = other_scene(robot, rng, validate=validated[seed % len(validated)])
        changed = make(scene)
        if fault in ALWAYS or _matters(scene, changed):
            return replace(case_of(changed, fault), words=words)
    return None

"""Simulated campaigns to judge verdicts by: right ones and ones with a known fault, moved by MuJoCo.

The robot file is nominal: each link of the true robot is up to 30 % lighter or heavier, and its rotors are not in the
file.  Friction is of other kinds than those fitted, encoders are quantised, efforts are noisy.  Everything is drawn by
seed, and nothing of our own dynamics takes part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.logs.recording import Recording
from minertia.robot.files import read_robot
from minertia.robot.inertia import from_com, nearest_possible, to_com
from minertia.robot.joint import Limits
from minertia.robot.robot import Robot
from tests.oracles import MujocoOracle
from tests.random_robots import random_robot
from tests.shared import SHARED

Array = Any
MASSES = 0.3  # largest relative error of the file's links
MATTERS = 0.15  # part of the effort that a fault must change to be one
BUNDLED = ("puma560_physical", "stanford", "puma260")
TREES = ((3, 4), (7, 5), (13, 4), (18, 3), (22, 5))  # seed and joints
FILES = (
    "ur10e.urdf",
    "kuka_lwr4.urdf",
    "kinova_gen3.urdf",
    "xmate7_XM7p.urdf",
    "airbot_play.urdf",
    "double_pendulum.urdf",
)


@dataclass(frozen=True)
class Case:
    """A campaign, the fault in it (None: it is right), and words of which one must stand in the cause."""

    name: str
    campaign: Campaign
    fault: str | None = None
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sines:
    """A motion of sums of sines: centre (n,), amplitude, frequency [Hz] and phase (n, k)."""

    centre: Array
    amplitude: Array
    frequency: Array
    phase: Array

    def at(self, t: Array) -> tuple[Array, Array, Array]:
        w = 2 * np.pi * self.frequency
        angle = t[:, None, None] * w + self.phase
        s, c = np.sin(angle), np.cos(angle)
        q = self.centre + (self.amplitude * s).sum(axis=2)
        return q, (self.amplitude * w * c).sum(axis=2), -(self.amplitude * w**2 * s).sum(axis=2)


@dataclass(frozen=True)
class Plant:
    """The true robot: links, rotors and friction of each joint."""

    robot: Robot
    rotor: Array
    friction: dict[str, Array]

    def rigid(self, q: Array, qd: Array, qdd: Array) -> Array:
        return np.asarray(MujocoOracle(self.robot).inverse_dynamics_rows(q, qd, qdd))

    def gravity_torques(self, q: Array) -> Array:
        return self.rigid(q, 0 * q, 0 * q)

    def efforts(self, q: Array, qd: Array, qdd: Array) -> Array:
        rigid = self.rigid(q, qd, qdd) + self.rotor * qdd
        f = self.friction
        stribeck = 1 + f["stribeck"] * np.exp(-((qd / f["slow"]) ** 2))
        level = f["coulomb"] * stribeck * np.where(qd > 0, 1 + f["asymmetry"], 1 - f["asymmetry"]) + f["load"] * abs(
            rigid
        )
        return rigid + f["viscous"] * qd + level * np.tanh(qd / (0.02 * f["speed"])) + f["offset"]


def shaped(robot: Robot) -> Robot:
    """A nominal file with gravity, at most its joints of one kind of coordinate."""
    return robot if np.linalg.norm(robot.gravity) > 1 else robot.with_gravity((0.0, 0.0, -9.81))


def small_robots() -> list[Robot]:
    """Small ones that are always there."""
    return [_bare(shaped(random_robot(seed, tree=True, n=n))) for seed, n in TREES]


def nominal_robots() -> list[Robot]:
    """All robots there are here."""
    found = [read_robot(name) for name in BUNDLED]
    found += [shaped(random_robot(seed, tree=True, n=n)) for seed, n in TREES]
    found += [read_robot(SHARED / "robots" / name) for name in FILES if (SHARED / "robots" / name).is_file()]
    return [_bare(robot) for robot in found]


def _bare(robot: Robot) -> Robot:
    """The links alone, each one that MuJoCo takes for a body."""
    links = tuple(nearest_possible(ten, 0.02) for ten in robot.numeric.links)
    return replace(robot, links=links, effects=tuple({} for _ in robot.joints))


def true_robot(robot: Robot, rng: np.random.Generator) -> Robot:
    """Every link's mass and inertia off by up to 30 %, its centre of mass by some per cent of its own distance."""
    links = []
    for ten in robot.links:
        mass, com, inertia = to_com(ten)
        scale = 1 + rng.uniform(-MASSES, MASSES)
        links.append(from_com(mass * scale, com * (1 + rng.uniform(-0.05, 0.05)), inertia * scale))
    return replace(robot, links=tuple(links))


def _range(limits: Limits) -> tuple[float, float]:
    if limits.lower is None or limits.upper is None or limits.upper - limits.lower < 0.1:
        return -2.0, 2.0
    return max(limits.lower, -2.5), min(limits.upper, 2.5)


def drawn_motion(robot: Robot, rng: np.random.Generator) -> Sines:
    """A rich motion within the limits."""
    n, k = robot.n, int(rng.integers(3, 6))
    low, high = np.array([_range(j.limits) for j in robot.joints]).T
    slide = np.array([j.kind == "prismatic" for j in robot.joints])
    half = np.where(slide, np.minimum((high - low) / 2, 0.3), (high - low) / 2)
    travel = half * rng.uniform(0.5, 0.9, n)
    centre = (low + high) / 2 + (half - travel) * rng.uniform(-1, 1, n)
    frequency = rng.uniform(0.08, 0.45, (n, k)) * rng.uniform(0.8, 1.8)
    parts = rng.uniform(0.4, 1.0, (n, k))
    return Sines(
        centre, travel[:, None] * parts / parts.sum(axis=1, keepdims=True), frequency, rng.uniform(0, 6.28, (n, k))
    )


def drawn_plant(robot: Robot, rng: np.random.Generator, motion: Sines) -> Plant:
    """A true robot whose friction is 5 to 30 % of its efforts and of kinds that are not fitted."""
    true, n = true_robot(robot, rng), robot.n
    q, qd, qdd = motion.at(np.linspace(0, 20, 400))
    rigid = Plant(true, np.zeros(n), {}).rigid(q, qd, qdd)
    size, speed, fast = (
        np.sqrt(np.mean(rigid**2, axis=0)),
        np.sqrt(np.mean(qd**2, axis=0)),
        np.sqrt(np.mean(qdd**2, axis=0)),
    )
    size = np.maximum(size, 0.02 * size.max())
    friction = {
        "coulomb": size * rng.uniform(0.03, 0.2, n),
        "viscous": size / speed * rng.uniform(0.03, 0.2, n),
        "stribeck": rng.uniform(0, 0.5, n) * (rng.random() < 0.5),
        "slow": 0.1 * speed,
        "asymmetry": rng.uniform(-0.2, 0.2, n) * (rng.random() < 0.5),
        "load": rng.uniform(0, 0.08, n) * (rng.random() < 0.5),
        "speed": speed,
        "offset": size * rng.uniform(-0.05, 0.05, n),
    }
    return Plant(true, size / fast * rng.uniform(0.0, 0.3, n), friction)


@dataclass(frozen=True)
class Scene:
    """What a campaign is made of, before its fault: the file, the plants of each log, how they are logged."""

    rng: np.random.Generator = field(repr=False)
    robot: Robot
    plant: Plant
    motions: tuple[Sines, ...]
    train: int
    rate: float
    seconds: float
    noise: float
    step: float
    unseen_plant: Plant | None = None
    delay: float = 0.0
    clock: float = 1.0
    change: Callable[[Array, Array], tuple[Array, Array]] = lambda q, tau: (q, tau)

    def logs(self) -> list[Recording]:
        found = []
        for k, motion in enumerate(self.motions):
            plant = self.plant if k < self.train or self.unseen_plant is None else self.unseen_plant
            t = np.arange(round(self.seconds * self.rate)) / self.rate
            q = motion.at(t)[0]
            tau = plant.efforts(*motion.at(t - self.delay))
            size = np.sqrt(np.mean(tau**2, axis=0))
            noise = self.rng.normal(size=tau.shape) + 0.3 * _slow(self.rng, tau.shape, self.rate)
            tau = tau + np.maximum(size, 0.01 * size.max()) * self.noise * noise
            q, tau = self.change(np.round(q / self.step) * self.step, tau)
            found.append(Recording(t * self.clock, q, tau, source=f"log{k + 1}.csv"))
        return found

    def difference(self, changed: Scene) -> float:
        """Part of the rigid efforts that a fault changes, as the true robot sees the reported motion."""
        motion = self.motions[0]
        t = np.linspace(0, self.seconds, 300)
        q, qd, qdd = motion.at(t)
        then = motion.at(t - changed.delay)
        tau = changed.plant.rigid(*then)
        shown, tau = changed.change(q, tau)
        fast, slow = changed.change(qd, tau)[0] - changed.change(0 * qd, tau)[0], changed.clock
        faster = changed.change(qdd, tau)[0] - changed.change(0 * qdd, tau)[0]
        expected = self.plant.rigid(shown, fast / slow, faster / slow**2)
        return float(np.linalg.norm(expected - tau) / max(np.linalg.norm(tau), 1e-12))


def _slow(rng: np.random.Generator, shape: tuple[int, int], rate: float) -> Array:
    """Noise that changes over tenths of seconds."""
    knots = rng.normal(size=(max(int(shape[0] / rate / 0.2), 4), shape[1]))
    x = np.linspace(0, len(knots) - 1, shape[0])
    return np.column_stack([np.interp(x, np.arange(len(knots)), k) for k in knots.T])


def drawn_scene(robot: Robot, rng: np.random.Generator, *, validate: bool) -> Scene:
    train = int(rng.integers(1, 3))
    motions = tuple(drawn_motion(robot, rng) for _ in range(train + int(validate)))
    rate = float(rng.choice([100, 125, 200, 250, 500, 1000], p=[0.3, 0.2, 0.2, 0.15, 0.1, 0.05]))
    seconds = float(rng.uniform(14, 24))
    return Scene(
        rng, robot, drawn_plant(robot, rng, motions[0]), motions, train, rate, seconds, float(rng.uniform(0.005, 0.04)),
        float(10 ** rng.uniform(-5, -3.7)),
    )  # fmt: skip


Fault = Callable[[Scene], Scene]


def _joint(scene: Scene, *, moving: bool = True) -> int:
    return int(scene.rng.integers(scene.robot.n))


def _flip(n: int, j: int) -> Array:
    return np.where(np.arange(n) == j, -1.0, 1.0)


def scaled(scene: Scene, scale: Array) -> Scene:
    return replace(scene, change=lambda q, tau: (q, tau * scale))


def millinewtonmetres(scene: Scene) -> Scene:
    return scaled(scene, 1000.0)


def motor_side(scene: Scene) -> Scene:
    return scaled(scene, 1 / scene.rng.uniform(50, 160, scene.robot.n))


def currents(scene: Scene) -> Scene:
    return scaled(scene, 1 / scene.rng.uniform(4, 20, scene.robot.n))


def missing_gain(scene: Scene) -> Scene:
    gain = scene.rng.uniform(3, 20) ** scene.rng.choice([-1, 1])
    return scaled(scene, np.where(np.arange(scene.robot.n) == _joint(scene), 1 / gain, 1.0))


def unseen_load(scene: Scene) -> Scene:
    robot, rng = scene.plant.robot, scene.rng
    mass, com, inertia = to_com(robot.links[-1])
    added = rng.uniform(0.15, 0.5) * sum(to_com(ten)[0] for ten in robot.links[-3:])
    at = com + rng.uniform(-0.08, 0.08, 3)
    middle = (mass * com + added * at) / (mass + added)
    arms = [(mass, com - middle), (added, at - middle)]
    inertia = inertia + sum(m * (d @ d * np.eye(3) - np.outer(d, d)) for m, d in arms)
    links = (*robot.links[:-1], from_com(mass + added, middle, inertia))
    return replace(scene, unseen_plant=replace(scene.plant, robot=replace(robot, links=links)))


def exchanged(scene: Scene) -> Scene:
    n = scene.robot.n
    order = np.arange(n)
    a, b = scene.rng.choice(n, 2, replace=False)
    order[[a, b]] = order[[b, a]]
    return replace(scene, change=lambda q, tau: (q[:, order], tau[:, order]))


def mounted(scene: Scene) -> Scene:
    g = np.array(scene.robot.gravity)
    axis = np.cross(g, scene.rng.normal(size=3))
    axis /= np.linalg.norm(axis)
    angle = scene.rng.uniform(0.7, np.pi)
    turned = g * np.cos(angle) + np.cross(axis, g) * np.sin(angle)
    return replace(scene, plant=replace(scene.plant, robot=scene.plant.robot.with_gravity(tuple(turned))))


def reversed_gravity(scene: Scene) -> Scene:
    turned = tuple(-np.array(scene.robot.gravity))
    return replace(scene, plant=replace(scene.plant, robot=scene.plant.robot.with_gravity(turned)))


def compensated(scene: Scene) -> Scene:
    return replace(scene, plant=replace(scene.plant, robot=scene.plant.robot.with_gravity((0.0, 0.0, 0.0))))


def clock(scene: Scene) -> Scene:
    return replace(scene, clock=float(scene.rng.uniform(1.4, 2.5) ** scene.rng.choice([-1, 1])))


def turned_sign(scene: Scene) -> Scene:
    sign = _flip(scene.robot.n, _joint(scene))
    return replace(scene, change=lambda q, tau: (q * sign, tau * sign))


def zero_off(scene: Scene) -> Scene:
    j = _joint(scene)
    size = scene.rng.uniform(0.5, 1.6) if scene.robot.joints[j].kind == "revolute" else scene.rng.uniform(0.2, 0.5)
    size = np.pi / 2 if scene.robot.joints[j].kind == "revolute" and scene.rng.random() < 0.5 else size
    off = np.where(np.arange(scene.robot.n) == j, size * scene.rng.choice([-1, 1]), 0.0)
    return replace(scene, change=lambda q, tau: (q + off, tau))


def shifted_efforts(scene: Scene) -> Scene:
    return replace(scene, delay=float(scene.rng.uniform(0.05, 0.2) * scene.rng.choice([-1, 1])))


def one_sine(scene: Scene) -> Scene:
    frequency, in_phase = scene.rng.uniform(0.15, 0.4), scene.robot.n < 4 or scene.rng.random() < 0.5

    def single(motion: Sines) -> Sines:
        size = motion.amplitude.sum(axis=1, keepdims=True)
        phase = np.zeros_like(size) if in_phase else scene.rng.uniform(0, 2 * np.pi, size.shape)
        return Sines(motion.centre, size, np.full_like(size, frequency), phase)

    own = single(scene.motions[0])  # the same posture and amplitudes in every log
    return replace(scene, motions=tuple(own for _ in scene.motions))


def overlapping(scene: Scene) -> Scene:
    return scene  # made of the logs, below


EITHER, SEEN, UNSEEN = (True, False), (False,), (True,)
# fault: how, with or without validation logs, words of which one must be in a reason of the verdict
FAULTS: dict[str, tuple[Fault, tuple[bool, ...], tuple[str, ...]]] = {
    "efforts in mN m": (millinewtonmetres, EITHER, ("gains", "effort_unit")),
    "efforts on the motor side": (motor_side, EITHER, ("gains", "ratios")),
    "currents as efforts": (currents, EITHER, ("gains",)),
    "a gain missing": (missing_gain, EITHER, ("gains",)),
    "load in the unseen log": (unseen_load, UNSEEN, ("load",)),
    "joints exchanged": (exchanged, EITHER, ("exchanged", "order")),
    "mounted another way": (mounted, EITHER, ("gravity",)),
    "gravity reversed": (reversed_gravity, EITHER, ("gravity",)),
    "gravity compensated": (compensated, EITHER, ("gravity",)),
    "clock scaled": (clock, EITHER, ("clock", "time_unit")),
    "sign turned": (turned_sign, EITHER, ("sign",)),
    "zero off": (zero_off, EITHER, ("offsets", "zero")),
    "efforts early or late": (shifted_efforts, EITHER, ("delay",)),
    "all joints on one sine": (one_sine, SEEN, ("motion",)),
    "training log as unseen": (overlapping, UNSEEN, ("rows",)),
}
ALWAYS = ("load in the unseen log", "all joints on one sine", "training log as unseen", "efforts in mN m")


def case_of(scene: Scene, fault: str | None, **choices: Any) -> Case:
    """The campaign of a scene."""
    logs = scene.logs()
    train, unseen = logs[: scene.train], logs[scene.train :]
    if fault == "training log as unseen":
        first = int(scene.rng.integers(3, len(train[0]) // 2))
        unseen = [replace(train[0].select(slice(first, None)), source="cut.csv")]
    name = f"{scene.robot.name}, {fault or 'right'}{', validated' if unseen else ''}"
    words = FAULTS[fault][2] if fault in FAULTS else ()
    return Case(name, Campaign(scene.robot, train, unseen, **choices), fault, words)


def right_case(robot: Robot, seed: int) -> Case:
    rng = np.random.default_rng([1, seed])
    return case_of(drawn_scene(robot, rng, validate=bool(seed % 2)), None)


def wrong_case(robot: Robot, fault: str, seed: int) -> Case | None:
    """A campaign with a fault that changes the efforts; None where none of ten draws does."""
    make, validated, _ = FAULTS[fault]
    for attempt in range(10):
        rng = np.random.default_rng([2, seed, attempt])
        scene = drawn_scene(robot, rng, validate=validated[seed % len(validated)])
        if fault == "joints exchanged" and robot.n < 2:
            return None
        changed = make(scene)
        if fault in ALWAYS or _matters(scene, changed):
            return case_of(changed, fault)
    return None


def _matters(scene: Scene, changed: Scene) -> bool:
    return scene.difference(changed) > MATTERS


def right_cases(robots: Sequence[Robot], count: int, first: int = 0) -> list[Case]:
    return [right_case(robots[k % len(robots)], first + k) for k in range(count)]


def wrong_cases(robots: Sequence[Robot], count: int, first: int = 0) -> list[Case]:
    """Every fault in turn, each on another robot."""
    names, found, k = list(FAULTS), [], first
    while len(found) < count:
        robot = robots[(k + k // len(names)) % len(robots)]
        case = wrong_case(robot, names[k % len(names)], k)
        found += [case] if case is not None else []
        k += 1
    return found

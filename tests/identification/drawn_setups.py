"""Set-ups drawn by seed to judge verdicts by: right campaigns of many kinds, and campaigns with one fault each.

Efforts come from inverse dynamics of a true robot that is not the one in the file, with friction, rotors and noise; a
fault changes what happens (loads, a base that moves, saturation) or what is logged (columns, units, clocks).  A fault
counts only where it matters: `matters` holds what is logged against what the true robot would need for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import signal

from minertia.dynamics.model import inverse_dynamics
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.identify import Identification, identify
from minertia.identification.logs.recording import Recording
from minertia.identification.signals.options import Filter
from minertia.robot.files import read_robot
from minertia.robot.inertia import from_com, to_com
from minertia.robot.joint import Joint
from minertia.robot.robot import Robot
from tests.identification.otherwise import RODS, _dahl, _of_rods
from tests.identification.simulated import Sines, _bare, drawn_motion, shaped
from tests.random_robots import random_robot
from tests.shared import SHARED

Array = Any
USUAL = ("rotor", "viscous", "coulomb", "offset")
BUNDLED = ("puma560_physical", "stanford", "puma260")
TREES = ((3, 4), (7, 5), (18, 3), (211, 6), (236, 5))
FILES = ("ur10e.urdf", "kuka_lwr4.urdf", "kinova_gen3.urdf", "xmate7_XM7p.urdf", "airbot_play.urdf", "irb120.urdf",
         "panda_nohand.mjcf.xml", "ur5e.mjcf.xml", "double_pendulum.urdf", "cartpole.urdf")  # fmt: skip
CHAINS = ((301, 7), (308, 3))
FARTHEST = 2.0  # m from its joint: a centre of mass that is farther in a file lies where a point slipped
OVERALL, AT_JOINT = 0.08, 0.25  # of all efforts, or of those of one joint: what a fault must change to be one
UNMODELLED = 0.15  # of a joint's effort, of friction that no effect has, from which a limit on it is true
WEAK = 0.1  # noise over effort from which a limit on a joint of a right campaign is true


@dataclass(frozen=True)
class Base:
    """How the base stands over time: gravity and acceleration that the robot feels (N, 3) [m/s2]."""

    tilt: float = 0.0  # rad
    pace: float = 0.3  # Hz
    shake: float = 0.0  # m/s2

    def felt(self, gravity: Array, t: Array) -> Array:
        g = np.tile(np.asarray(gravity, float), (len(t), 1))
        angle = self.tilt * np.sin(2 * np.pi * self.pace * t)
        across = np.roll(np.asarray(gravity, float), 1)
        g = g * np.cos(angle)[:, None] + across * np.sin(angle)[:, None]
        return g + self.shake * np.sin(2 * np.pi * self.pace * t)[:, None] * np.array([1.0, 0.6, 0.0])


@dataclass(frozen=True)
class World:
    """All that a campaign comes from; `logged` and `forced` are where faults act, by the number of the log."""

    rng: np.random.Generator = field(repr=False)
    robot: Robot
    truth: Robot
    rotor: Array
    friction: dict[str, Array]
    motions: tuple[Sines, ...]
    train: int
    rate: float
    seconds: float
    noise: float  # of each joint's effort
    floor: float  # noise of every joint, of the largest effort
    step: float  # of encoders
    slow: float = 0.3  # part of the noise that lasts tenths of a second
    base: Base = Base()
    links: Callable[[int], Robot] | None = None
    forced: Callable[[int, Array, tuple[Array, ...], Array], Array] | None = None
    logged: Callable[[int, Array, Array, Array], tuple[Array, Array, Array]] | None = None
    late: Array | None = None  # s of each joint's effort
    drift: float = 0.0  # seconds by which efforts are late, for each second
    effects: tuple[str, ...] | None = USUAL
    unseen: Callable[[list[Recording]], list[Recording]] | None = None
    uneven: Array | None = None  # factor of each joint's noise
    limited: tuple[str, ...] = ()  # joints that have a limit whatever their noise
    blur: float = 0.0  # noise of positions
    is_chosen: bool = False  # effects, cut-off and estimator by the software
    choices: dict[str, Any] = field(default_factory=dict)

    def rigid(self, k: int, t: Array, state: tuple[Array, ...]) -> Array:
        robot = self.truth if self.links is None else self.links(k)
        if not (self.base.tilt or self.base.shake):
            return np.asarray(inverse_dynamics(robot, *state))
        still = np.zeros_like(state[0])
        tau = np.asarray(inverse_dynamics(robot, *state, gravity=(0, 0, 0)))
        felt = self.base.felt(robot.gravity, t)
        for axis, unit in enumerate(np.eye(3)):
            tau = tau + felt[:, [axis]] * inverse_dynamics(robot, state[0], still, still, gravity=tuple(unit))
        return np.asarray(tau)

    def efforts(self, k: int, t: Array, state: tuple[Array, ...]) -> Array:
        rigid, (q, qd, qdd), f = self.rigid(k, t, state), state, self.friction
        v = qd / f["speed"]
        level = f["coulomb"] * (1 + f["stribeck"] * np.exp(-((v / 0.1) ** 2))) * np.where(
            qd > 0, 1 + f["asymmetry"], 1 - f["asymmetry"]
        ) + f["load"] * np.abs(rigid)
        warm = 1 + f["warm"] * np.minimum(t / self.seconds, 1)[:, None]
        tau = rigid + self.rotor * qdd + warm * (f["viscous"] * qd + level * np.tanh(v / 0.03)) + f["offset"]
        tau = tau + f["ripple"] * np.sin(25 * q)
        return tau if self.forced is None else self.forced(k, t, state, tau)

    def clean(self, k: int, rate: float | None = None) -> tuple[Array, Array, Array]:
        """A log without noise: stamps, positions, efforts."""
        rate = self.rate if rate is None else rate
        t, motion = np.arange(round(self.seconds * rate)) / rate, self.motions[k]
        then = t * (1 - self.drift)
        tau = self.efforts(k, then, motion.at(then))
        if self.late is not None:
            for j in np.flatnonzero(self.late):
                tau[:, j] = self.efforts(k, then - self.late[j], motion.at(then - self.late[j]))[:, j]
        return t, motion.at(t)[0], tau

    def log(self, k: int) -> Recording:
        t, q, tau = self.clean(k)
        tau = tau + self.levels(tau) * (
            self.rng.normal(size=tau.shape) + self.slow * _slow(self.rng, tau.shape, self.rate)
        )
        q = np.round((q + self.blur * self.rng.normal(size=q.shape)) / self.step) * self.step
        if self.logged is not None:
            t, q, tau = self.logged(k, t, q, tau)
        return Recording(t, q, tau, source=f"log{k + 1}.csv")

    def levels(self, tau: Array) -> Array:
        """Noise of each joint."""
        size = np.sqrt(np.mean(tau**2, axis=0))
        level = np.maximum(size * self.noise, size.max() * self.floor)
        return level if self.uneven is None else level * self.uneven

    def campaign(self) -> Campaign:
        logs = [self.log(k) for k in range(len(self.motions))]
        train, unseen = logs[: self.train], logs[self.train :]
        unseen = self.unseen(logs) if self.unseen is not None else unseen
        if self.is_chosen:
            return Campaign(self.robot, train, unseen)
        return Campaign(self.robot, train, unseen, effects=self.effects, estimator="wls", **self.choices)

    def weak(self) -> list[str]:
        """Joints whose noise is a noticeable part of their effort."""
        found = set(self.limited)
        for k in range(len(self.motions)):
            tau = self.clean(k, 50.0)[2]
            part = self.levels(tau) / np.sqrt(np.mean(tau**2, axis=0))
            found |= {self.robot.coordinate_names[j] for j in np.flatnonzero(part > WEAK)}
        return sorted(found)


def _slow(rng: np.random.Generator, shape: tuple[int, int], rate: float) -> Array:
    knots = rng.normal(size=(max(int(shape[0] / rate / 0.2), 4), shape[1]))
    x = np.linspace(0, len(knots) - 1, shape[0])
    return np.column_stack([np.interp(x, np.arange(len(knots)), k) for k in knots.T])


def small_robots() -> list[Robot]:
    """Small ones that are always there."""
    return [_bare(shaped(random_robot(seed, tree=True, n=n))) for seed, n in ((3, 4), (18, 3), (249, 3))]


def drawn_robots() -> list[Robot]:
    """Those that are here, nominal, with links that can be."""
    found = [read_robot(name) for name in BUNDLED]
    found += [_of_rods(read_robot(name), masses) for name, masses in RODS.items()]
    found += [random_robot(seed, tree=True, n=n) for seed, n in TREES]
    found += [read_robot(SHARED / "robots" / name) for name in FILES if (SHARED / "robots" / name).is_file()]
    found += [random_robot(seed, n=n) for seed, n in CHAINS] + [platform()]
    return [_bare(shaped(_with_near_centres(robot))) for robot in found]


def _with_near_centres(robot: Robot) -> Robot:
    """One file has 500 m for a centre of mass; the wrist behind it would be nothing beside that."""
    links = []
    for ten in robot.numeric.links:
        mass, com, inertia = to_com(ten)
        links.append(from_com(mass, np.where(np.abs(com) > FARTHEST, 0.0, com), inertia))
    return replace(robot, links=tuple(links))


def platform() -> Robot:
    """A mobile base that drives in a plane and turns, with a lift and a head that nods."""
    same, turned = ((1, 0, 0), (0, 1, 0), (0, 0, 1)), ((0, 0, 1), (1, 0, 0), (0, 1, 0))  # z to x, x to y, y to z
    joints = (
        Joint("x", "prismatic", None, turned, (0, 0, 0), "rail"),
        Joint("y", "prismatic", 0, turned, (0, 0, 0), "cart"),
        Joint("yaw", "revolute", 1, turned, (0, 0, 0), "body"),
        Joint("lift", "prismatic", 2, same, (0.15, 0, 0.4), "mast"),
        Joint("nod", "revolute", 3, turned, (0.1, 0, 0.3), "head"),
    )
    shapes = ((4.0, 0.0), (6.0, 0.0), (35.0, 0.08), (9.0, 0.05), (3.0, 0.12))
    links = [from_com(m, np.array([d, 0.3 * d, 0.0]), m * 0.03 * np.diag([1.0, 0.9, 0.8])) for m, d in shapes]
    return Robot("platform", joints, (0.0, 0.0, -9.81), links=tuple(links))


def true_robot(robot: Robot, rng: np.random.Generator, masses: float = 0.15, centres: float = 0.005) -> Robot:
    """Every link's mass and inertia off by a part, its centre of mass by some metres."""
    links = []
    for ten in robot.links:
        mass, com, inertia = to_com(ten)
        scale = 1 + rng.uniform(-masses, masses)
        size = min(centres, 0.5 * float(np.sqrt(np.trace(inertia) / max(mass, 1e-9))))
        links.append(from_com(mass * scale, com + size * rng.uniform(-1, 1, 3), inertia * scale))
    return replace(robot, links=tuple(links))


def drawn_world(robot: Robot, rng: np.random.Generator, *, validate: bool = True) -> World:
    train = int(rng.integers(1, 3))
    motions = tuple(drawn_motion(robot, rng) for _ in range(train + validate))
    truth, n = true_robot(robot, rng), robot.n
    q, qd, qdd = motions[0].at(np.linspace(0, 20, 300))
    rigid = np.asarray(inverse_dynamics(truth, q, qd, qdd))
    size, speed, fast = (np.sqrt(np.mean(x**2, axis=0)) for x in (rigid, qd, qdd))
    size = np.maximum(size, 0.02 * size.max())
    friction = {
        "coulomb": size * rng.uniform(0.03, 0.2, n),
        "viscous": size / speed * rng.uniform(0.03, 0.2, n),
        "offset": size * rng.uniform(-0.05, 0.05, n),
        "speed": speed,
        **{key: np.zeros(n) for key in ("stribeck", "asymmetry", "load", "warm", "ripple")},
    }
    rate = float(rng.choice([100, 125, 200, 250, 500], p=[0.35, 0.25, 0.2, 0.15, 0.05]))
    return World(
        rng, robot, truth, size / fast * rng.uniform(0.0, 0.3, n), friction, motions, train, rate,
        float(rng.uniform(10, 18)), float(rng.uniform(0.005, 0.03)), float(rng.uniform(0, 0.003)),
        float(10 ** rng.uniform(-5, -3.7)),
    )  # fmt: skip


Change = Callable[[World], World]


def _some(world: World, first: int = 0) -> int:
    return int(world.rng.integers(min(first, world.robot.n - 1), world.robot.n))


def _one(world: World, j: int, value: float, others: float = 1.0) -> Array:
    return np.where(np.arange(world.robot.n) == j, value, others)


def _either(world: World, low: float, high: float) -> float:
    """A factor away from 1, either way."""
    return float(world.rng.uniform(low, high) ** world.rng.choice([-1, 1]))


def _signed(world: World, low: float, high: float) -> float:
    return float(world.rng.uniform(low, high) * world.rng.choice([-1, 1]))


def _with(world: World, **friction: Any) -> World:
    return replace(world, friction=world.friction | friction)


def _columns(world: World, change: Callable[[Array, Array], tuple[Array, Array]]) -> World:
    return replace(world, logged=lambda k, t, q, tau: (t, *change(q, tau)))


# right ones --------------------------------------------------------------------------------------------------------


def plain(world: World) -> World:
    return world


def noisy(world: World) -> World:
    return replace(world, noise=float(world.rng.uniform(0.08, 0.2)))


def light_wrist(world: World) -> World:
    return replace(world, floor=float(world.rng.uniform(0.005, 0.015)))


def masses_off(world: World) -> World:
    return replace(world, truth=true_robot(world.robot, world.rng, 0.3, 0.0))


def centre_off(world: World) -> World:
    """One of the last three links, 1 to 2 cm."""
    j, links = _some(world, world.robot.n - 3), list(world.truth.links)
    mass, com, inertia = to_com(links[j])
    way = world.rng.normal(size=3)
    links[j] = from_com(mass, com + world.rng.uniform(0.01, 0.02) * way / np.linalg.norm(way), inertia)
    return replace(world, truth=replace(world.truth, links=tuple(links)))


def centres_off(world: World) -> World:
    return replace(world, truth=true_robot(world.robot, world.rng, 0.2, 0.03))


def stribeck(world: World) -> World:
    n = world.robot.n
    return _with(world, stribeck=world.rng.uniform(0.2, 0.6, n), asymmetry=world.rng.uniform(-0.2, 0.2, n))


def load_friction(world: World) -> World:
    return _with(world, load=world.rng.uniform(0.03, 0.08, world.robot.n))


def warming(world: World) -> World:
    return _with(world, warm=world.rng.uniform(-0.25, -0.1, world.robot.n))


def rippled(world: World) -> World:
    return _with(world, ripple=0.3 * world.friction["coulomb"])


def short(world: World) -> World:
    return replace(world, seconds=float(world.rng.uniform(6, 8)))


def slow(world: World) -> World:
    return replace(world, motions=tuple(replace(m, frequency=0.4 * m.frequency) for m in world.motions), seconds=25.0)


def low_rate(world: World) -> World:
    return replace(world, rate=float(world.rng.choice([40, 50])))


def repeated(world: World) -> World:
    """The unseen log is the motion of the training, run again."""
    return replace(world, motions=(*world.motions[: world.train], world.motions[0]))


def without_masses(world: World) -> World:
    return replace(world, robot=replace(world.robot, links=tuple(None for _ in world.robot.links)))


def tool(world: World) -> World:
    """Carried in all logs, and not in the file: the identified last link has it."""
    added = world.rng.uniform(0.05, 0.2) * sum(to_com(ten)[0] for ten in world.truth.links[-3:])
    return replace(world, truth=loaded(world, float(added), 0.05))


def rounded(world: World) -> World:
    """Efforts in steps of a twentieth of each joint's."""

    def change(q: Array, tau: Array) -> tuple[Array, Array]:
        step = 0.05 * np.sqrt(np.mean(tau**2, axis=0))
        return q, np.round(tau / step) * step

    return _columns(world, change)


def uneven_noise(world: World) -> World:
    """Some joints with hardly any noise, others with ten times as much."""
    return replace(world, uneven=10 ** world.rng.uniform(-0.8, 0.9, world.robot.n))


def quiet(world: World) -> World:
    """Hardly any noise, and most of it slow."""
    return replace(world, noise=3e-4, floor=1e-4, slow=2.0)


def slow_noise(world: World) -> World:
    return replace(world, slow=1.5)


def position_noise(world: World) -> World:
    return replace(world, blur=float(10 ** world.rng.uniform(-4.7, -4)))


def much_friction(world: World) -> World:
    return _with(world, **{key: 3 * world.friction[key] for key in ("coulomb", "viscous")})


def presliding(world: World) -> World:
    """Friction that builds up over a way, which no effect that is fitted does: joints of which it leaves much."""
    f = world.friction

    def forced(k: int, t: Array, state: tuple[Array, ...], tau: Array) -> Array:
        v = state[1] / f["speed"]
        return tau + f["coulomb"] * (_dahl(v, 20 * float(t[1] - t[0])) - np.tanh(v / 0.03))

    limited, t = set(), np.arange(round(world.seconds * 50)) / 50
    for k, motion in enumerate(world.motions):
        state = motion.at(t)
        plain = world.efforts(k, t, state)
        for j, rest in enumerate((forced(k, t, state, plain) - plain).T):
            v = state[1][:, j]
            fitted = np.column_stack([np.ones_like(v), v, np.tanh(v / f["speed"][j] / 0.03)])
            left = np.std(rest - fitted @ np.linalg.lstsq(fitted, rest, rcond=None)[0])
            limited |= {world.robot.coordinate_names[j]} if left > UNMODELLED * np.std(plain[:, j]) else set()
    return replace(world, forced=forced, limited=tuple(sorted(limited)))


def hardly_moved(world: World) -> World:
    """One joint, in the fitted logs or in all: what is said of it and of those that carry it is limited."""
    j, still = _some(world), world.train if world.rng.random() < 0.5 else len(world.motions)
    size = _one(world, j, 0.06)[:, None]
    motions = [replace(m, amplitude=size * m.amplitude) if k < still else m for k, m in enumerate(world.motions)]
    carrying, names = [j], world.robot.coordinate_names
    while (parent := world.robot.joints[carrying[-1]].parent) is not None:
        carrying.append(parent)
    return replace(world, motions=tuple(motions), limited=tuple(names[k] for k in carrying))


def loaded(world: World, added: float, reach: float) -> Robot:
    robot = world.truth
    mass, com, inertia = to_com(robot.links[-1])
    at = com + world.rng.uniform(-reach, reach, 3)
    middle = (mass * com + added * at) / (mass + added)
    arms = [(mass, com - middle), (added, at - middle)]
    inertia = inertia + sum(m * (d @ d * np.eye(3) - np.outer(d, d)) for m, d in arms)
    return replace(robot, links=(*robot.links[:-1], from_com(mass + added, middle, inertia)))


RIGHT: dict[str, Change] = {
    "plain": plain, "noisy": noisy, "light wrist": light_wrist, "masses off": masses_off, "centre off": centre_off,
    "centres off": centres_off, "stribeck": stribeck, "load friction": load_friction, "warming": warming,
    "rippled": rippled, "short": short, "slow": slow, "low rate": low_rate, "repeated": repeated,
    "without masses": without_masses, "tool": tool, "rounded": rounded, "uneven noise": uneven_noise, "quiet": quiet,
    "slow noise": slow_noise, "position noise": position_noise, "much friction": much_friction,
    "presliding": presliding, "hardly moved": hardly_moved,
}  # fmt: skip

# wrong ones --------------------------------------------------------------------------------------------------------


def exchanged(world: World) -> World:
    order = np.arange(world.robot.n)
    a, b = world.rng.choice(world.robot.n, 2, replace=False)
    order[[a, b]] = order[[b, a]]
    return _columns(world, lambda q, tau: (q[:, order], tau[:, order]))


def efforts_exchanged(world: World) -> World:
    order = np.arange(world.robot.n)
    a, b = world.rng.choice(world.robot.n, 2, replace=False)
    order[[a, b]] = order[[b, a]]
    return _columns(world, lambda q, tau: (q, tau[:, order]))


def sign(world: World) -> World:
    s = _one(world, _some(world), -1.0)
    return _columns(world, lambda q, tau: (q * s, tau * s))


def effort_sign(world: World) -> World:
    s = _one(world, _some(world), -1.0)
    return _columns(world, lambda q, tau: (q, tau * s))


def position_sign(world: World) -> World:
    s = _one(world, _some(world), -1.0)
    return _columns(world, lambda q, tau: (q * s, tau))


def degrees(world: World) -> World:
    s = _one(world, _some(world), 180 / np.pi)
    return _columns(world, lambda q, tau: (q * s, tau))


def millinewtons(world: World) -> World:
    return _columns(world, lambda q, tau: (q, 1000 * tau))


def currents(world: World) -> World:
    gains = world.rng.uniform(4, 20, world.robot.n)
    return _columns(world, lambda q, tau: (q, tau / gains))


def scale_of_one(world: World) -> World:
    s = _one(world, _some(world), _either(world, 1.3, 2.0))
    return _columns(world, lambda q, tau: (q, tau * s))


def ratio_of_one(world: World) -> World:
    s = _one(world, _some(world), _either(world, 1.15, 1.5))
    return _columns(world, lambda q, tau: (q * s, tau / s))


def position_scale(world: World) -> World:
    s = _one(world, _some(world), _either(world, 1.15, 1.5))
    return _columns(world, lambda q, tau: (q * s, tau))


def unseen_load(world: World) -> World:
    added = world.rng.uniform(0.15, 0.5) * sum(to_com(ten)[0] for ten in world.truth.links[-3:])
    robot = loaded(world, float(added), 0.08)
    return replace(world, links=lambda k: robot if k >= world.train else world.truth)


def load_in_one(world: World) -> World:
    """Of two fitted logs."""
    if world.train < 2:
        world = replace(world, train=2, motions=(drawn_motion(world.robot, world.rng), *world.motions))
    added = world.rng.uniform(0.2, 0.6) * sum(to_com(ten)[0] for ten in world.truth.links[-3:])
    robot = loaded(world, float(added), 0.08)
    return replace(world, links=lambda k: robot if k == 1 else world.truth)


def saturated(world: World) -> World:
    some = world.rng.random(world.robot.n) < 0.6
    part = float(world.rng.uniform(0.3, 0.6))

    def clipped(k: int, t: Array, state: tuple[Array, ...], tau: Array) -> Array:
        most = np.where(some, part * np.abs(tau).max(axis=0), np.inf)
        return np.clip(tau, -most, most)

    return replace(world, forced=clipped)


def coupled(world: World) -> World:
    """Positions and efforts of two neighbours as their motors have them."""
    a = _some(world, world.robot.n - 3) if world.robot.n > 2 else 0
    b = a + 1 if a + 1 < world.robot.n else a - 1
    c = _signed(world, 0.4, 1.0)
    G = np.eye(world.robot.n)
    G[b, a] = c  # q of motors = G q, efforts of motors = G^-T tau
    H = np.linalg.inv(G).T
    return _columns(world, lambda q, tau: (q @ G.T, tau @ H.T))


def tilting_base(world: World) -> World:
    return replace(world, base=Base(tilt=float(world.rng.uniform(0.2, 0.5)), pace=float(world.rng.uniform(0.1, 0.8))))


def shaking_base(world: World) -> World:
    return replace(world, base=Base(shake=float(world.rng.uniform(1.5, 4)), pace=float(world.rng.uniform(0.3, 1.0))))


def tilted(world: World) -> World:
    g = np.array(world.robot.gravity)
    axis = np.cross(g, world.rng.normal(size=3))
    axis /= np.linalg.norm(axis)
    angle = world.rng.uniform(0.4, 1.4)
    turned = g * np.cos(angle) + np.cross(axis, g) * np.sin(angle)
    return replace(world, truth=world.truth.with_gravity(tuple(turned)))


def upside_down(world: World) -> World:
    return replace(world, truth=world.truth.with_gravity(tuple(-np.array(world.robot.gravity))))


def compensated(world: World) -> World:
    return replace(world, truth=world.truth.with_gravity((0.0, 0.0, 0.0)))


def clock(world: World) -> World:
    factor = _either(world, 1.4, 2.2)
    return replace(
        world, logged=lambda k, t, q, tau: (t * factor, q, tau), choices={"filter": Filter(cutoff_hz=8 / factor)}
    )


def clocks_apart(world: World) -> World:
    return replace(world, drift=_signed(world, 0.01, 0.03))


def delayed(world: World) -> World:
    return replace(world, late=np.full(world.robot.n, _signed(world, 0.05, 0.2)))


def one_delayed(world: World) -> World:
    return replace(world, late=_one(world, _some(world), _signed(world, 0.08, 0.3), 0.0))


def zero_off(world: World) -> World:
    j = _some(world)
    turning = world.robot.joints[j].kind == "revolute"
    off = _one(world, j, _signed(world, 0.4, 1.6) if turning else _signed(world, 0.2, 0.5), 0.0)
    return _columns(world, lambda q, tau: (q + off, tau))


def other_geometry(world: World) -> World:
    """The file of another size of the family: every length of it."""
    factor = _either(world, 1.2, 1.5)
    joints = tuple(replace(j, p=tuple(factor * float(v) for v in j.p)) for j in world.robot.numeric.joints)
    return replace(world, truth=replace(world.truth, joints=joints))


def filtered_efforts(world: World) -> World:
    time = float(world.rng.uniform(0.1, 0.3))

    def change(q: Array, tau: Array) -> tuple[Array, Array]:
        a = np.exp(-1 / (world.rate * time))
        first = signal.lfilter_zi([1 - a], [1, -a])[:, None] * tau[:1]
        return q, signal.lfilter([1 - a], [1, -a], tau, axis=0, zi=first)[0]

    return _columns(world, change)


def no_friction(world: World) -> World:
    friction = {key: 3 * world.friction[key] for key in ("coulomb", "viscous")}
    return replace(_with(world, **friction), effects=("rotor",))


def colder(world: World) -> World:
    """Friction of the unseen log several times as large."""
    extra = float(world.rng.uniform(2, 4))

    def forced(k: int, t: Array, state: tuple[Array, ...], tau: Array) -> Array:
        f = world.friction
        more = f["viscous"] * state[1] + f["coulomb"] * np.tanh(state[1] / f["speed"] / 0.03)
        return tau + (extra * more if k >= world.train else 0.0)

    return replace(world, forced=forced)


def slipping(world: World) -> World:
    """Rows are lost, and the stamps say nothing of it."""

    def logged(k: int, t: Array, q: Array, tau: Array) -> tuple[Array, Array, Array]:
        keep = np.ones(len(t), bool)
        for start in np.linspace(0.1, 0.9, 8):
            first = int(start * len(t))
            keep[first : first + len(t) // 25] = False
        return t[: keep.sum()], q[keep], tau[keep]

    return replace(world, logged=logged)


def other_rows(world: World) -> World:
    """Efforts of a joint that stay at a value for half of the time."""
    j = _some(world)

    def change(q: Array, tau: Array) -> tuple[Array, Array]:
        tau = tau.copy()
        half = len(tau) // 2
        tau[half // 2 : half // 2 + half, j] = tau[half // 2, j]
        return q, tau

    return _columns(world, change)


def backlash(world: World) -> World:
    """Positions of a motor before play."""
    j = _some(world)
    play = 0.25 * float(np.abs(world.motions[0].amplitude[j]).sum())

    def change(q: Array, tau: Array) -> tuple[Array, Array]:
        q, x = q.copy(), q[0, j]
        for i in range(len(q)):
            x = min(max(x, q[i, j] - play), q[i, j] + play)
            q[i, j] = x
        return q, tau

    return _columns(world, change)


def copied(world: World) -> World:
    def unseen(logs: list[Recording]) -> list[Recording]:
        log, first = logs[0], int(world.rng.integers(3, len(logs[0]) // 3))
        digits = int(world.rng.integers(2, 5))
        assert log.tau is not None
        q, tau = np.round(log.q[first:], digits + 1), np.round(log.tau[first:], digits)
        return [Recording(log.t[first:] - log.t[first] + 0.37, q, tau, source="other.csv")]

    return replace(world, unseen=unseen)


def copied_thinly(world: World) -> World:
    def unseen(logs: list[Recording]) -> list[Recording]:
        log, first = logs[0], int(world.rng.integers(3, len(logs[0]) // 3))
        assert log.tau is not None
        level = 0.1 * world.levels(log.tau)
        q, tau = log.q[first::2], log.tau[first::2]
        tau = tau + level * world.rng.normal(size=tau.shape)
        return [Recording(log.t[first::2] - log.t[first], q, tau, source="other.csv")]

    return replace(world, unseen=unseen)


def one_sine(world: World) -> World:
    pace = float(world.rng.uniform(0.15, 0.4))

    def single(motion: Sines) -> Sines:
        size = motion.amplitude.sum(axis=1, keepdims=True)
        return Sines(motion.centre, size, np.full_like(size, pace), np.zeros_like(size))

    own = single(world.motions[0])
    return replace(world, motions=tuple(own for _ in world.motions))


def three_exchanged(world: World) -> World:
    order, some = np.arange(world.robot.n), world.rng.choice(world.robot.n, min(3, world.robot.n), replace=False)
    order[some] = np.roll(some, 1)
    return _columns(world, lambda q, tau: (q[:, order], tau[:, order]))


def side_of_one(world: World) -> World:
    s = _one(world, _some(world), 1 / float(world.rng.uniform(30, 160)))
    return _columns(world, lambda q, tau: (q, tau * s))


def unsigned(world: World) -> World:
    """The effort of a joint without its sign."""
    j = np.arange(world.robot.n) == _some(world)
    return _columns(world, lambda q, tau: (q, np.where(j, np.abs(tau), tau)))


def kilograms(world: World) -> World:
    """Efforts in kgf m."""
    return _columns(world, lambda q, tau: (q, tau / 9.81))


def one_length(world: World) -> World:
    """A link of another length than in the file."""
    joints = list(world.robot.numeric.joints)
    long = [j for j in range(1, len(joints)) if np.linalg.norm(np.array(joints[j].p, float)) > 0.1]
    j = int(world.rng.choice(long)) if long else 0
    factor = _either(world, 1.3, 1.6)
    joints[j] = replace(joints[j], p=tuple(factor * float(v) for v in joints[j].p))
    return replace(world, truth=replace(world.truth, joints=tuple(joints)))


def saturated_one(world: World) -> World:
    j, part = _some(world), float(world.rng.uniform(0.3, 0.6))

    def clipped(k: int, t: Array, state: tuple[Array, ...], tau: Array) -> Array:
        most = np.where(np.arange(tau.shape[1]) == j, part * np.abs(tau).max(axis=0), np.inf)
        return np.clip(tau, -most, most)

    return replace(world, forced=clipped)


def touching(world: World) -> World:
    """Something presses on the last link for a third of each log."""
    push = float(world.rng.uniform(0.3, 0.8))

    def forced(k: int, t: Array, state: tuple[Array, ...], tau: Array) -> Array:
        pressed = (np.sin(2 * np.pi * t / world.seconds * 2 + k) > 0.5)[:, None]
        still = np.zeros_like(state[0])
        pull = inverse_dynamics(world.truth, state[0], still, still, gravity=(4.0, -6.0, 5.0))
        pull = pull - inverse_dynamics(world.truth, state[0], still, still, gravity=(0, 0, 0))
        return tau + push * pressed * pull

    return replace(world, forced=forced)


def tilted_between(world: World) -> World:
    """The unseen logs on another mounting."""
    other = tilted(world).truth
    return replace(world, links=lambda k: other if k >= world.train else world.truth)


def unseen_delayed(world: World) -> World:
    """Efforts of the unseen log late."""
    time = _signed(world, 0.08, 0.2)

    def logged(k: int, t: Array, q: Array, tau: Array) -> tuple[Array, Array, Array]:
        rows = round(abs(time) * world.rate)
        if k < world.train or not rows:
            return t, q, tau
        return (t[:-rows], q[rows:], tau[:-rows]) if time > 0 else (t[:-rows], q[:-rows], tau[rows:])

    return replace(world, logged=logged)


def commanded(world: World) -> World:
    """Positions that the controller asked for, which the robot follows late."""
    time = float(world.rng.uniform(0.1, 0.25))

    def logged(k: int, t: Array, q: Array, tau: Array) -> tuple[Array, Array, Array]:
        state = world.motions[k].at(t)
        return t, q + time * state[1] + time**2 / 2 * state[2], tau

    return replace(world, logged=logged)


def slight_clock(world: World) -> World:
    """100 rows a second that were 120."""
    factor = _either(world, 1.12, 1.3)
    return replace(world, logged=lambda k, t, q, tau: (t * factor, q, tau))


def held(world: World) -> World:
    """Efforts that are told some times a second, and stay between."""
    rows = max(round(float(world.rng.uniform(0.2, 0.4)) * world.rate), 2)
    return _columns(world, lambda q, tau: (q, tau[(np.arange(len(tau)) // rows) * rows]))


# fault: how, and words of which one must be in a limit for "usable" to be right; else the joints that it changes
WRONG: dict[str, tuple[Change, tuple[str, ...]]] = {
    "exchanged": (exchanged, ("exchanged", "order")),
    "efforts exchanged": (efforts_exchanged, ("exchanged", "order")),
    "sign": (sign, ("sign",)),
    "effort sign": (effort_sign, ("sign",)),
    "position sign": (position_sign, ("sign",)),
    "degrees": (degrees, ("degrees",)),
    "millinewtons": (millinewtons, ("effort_unit",)),
    "currents": (currents, ("gains",)),
    "scale of one": (scale_of_one, ("gains",)),
    "ratio of one": (ratio_of_one, ("ratio",)),
    "position scale": (position_scale, ("ratio",)),
    "unseen load": (unseen_load, ("load",)),
    "load in one": (load_in_one, ("load",)),
    "saturated": (saturated, ("saturat",)),
    "coupled": (coupled, ("coupl",)),
    "tilting base": (tilting_base, ("base",)),
    "shaking base": (shaking_base, ("base",)),
    "tilted": (tilted, ("gravity",)),
    "upside down": (upside_down, ("gravity",)),
    "compensated": (compensated, ("gravity",)),
    "clock": (clock, ("clock",)),
    "clocks apart": (clocks_apart, ("drift",)),
    "delayed": (delayed, ("delay",)),
    "one delayed": (one_delayed, ("delay", "lag", "lead")),
    "zero off": (zero_off, ("zero",)),
    "other geometry": (other_geometry, ("lengths",)),
    "filtered efforts": (filtered_efforts, ("lag",)),
    "no friction": (no_friction, ("friction",)),
    "colder": (colder, ("friction",)),
    "slipping": (slipping, ("rows",)),
    "other rows": (other_rows, ("rows",)),
    "backlash": (backlash, ("play",)),
    "copied": (copied, ("rows", "copied")),
    "copied thinly": (copied_thinly, ("rows", "copied")),
    "one sine": (one_sine, ("motion",)),
    "three exchanged": (three_exchanged, ("exchanged", "order")),
    "side of one": (side_of_one, ("gains",)),
    "unsigned": (unsigned, ("sign",)),
    "kilograms": (kilograms, ("effort_unit",)),
    "one length": (one_length, ("lengths",)),
    "saturated one": (saturated_one, ("saturat",)),
    "touching": (touching, ("contact",)),
    "tilted between": (tilted_between, ("gravity",)),
    "unseen delayed": (unseen_delayed, ("delay",)),
    "commanded": (commanded, ("delay", "lag", "lead")),
    "held": (held, ("delay", "lag", "rows")),
    "slight clock": (slight_clock, ("clock",)),
}
ALWAYS = ("copied", "copied thinly", "one sine", "no friction")
UNVALIDATED = ("one sine",)
VALIDATED = ("unseen load", "colder", "copied", "copied thinly", "tilted between", "unseen delayed")
STATED = ("no friction",)  # faults of what is stated


@dataclass(frozen=True)
class Drawn:
    """A campaign, its fault (None: it is right), and joints and words that a limit may name.

    changes: what the fault changes of the efforts, of all and of the joint that sees most of it.
    """

    name: str
    campaign: Campaign
    fault: str | None
    joints: tuple[str, ...]
    words: tuple[str, ...] = ()
    changes: tuple[float, float] = (0.0, 0.0)


def right_setup(robots: Sequence[Robot], kind: str, seed: int) -> Drawn:
    robot = robots[seed % len(robots)]
    rng = np.random.default_rng([71, seed, list(RIGHT).index(kind)])
    world = RIGHT[kind](drawn_world(robot, rng, validate=kind == "repeated" or bool(rng.random() < 0.75)))
    world = replace(world, is_chosen=is_chosen(RIGHT, kind, seed))
    return Drawn(f"{robot.name}, {kind}, {seed}", world.campaign(), None, tuple(world.weak()))


def is_chosen(kinds: Mapping[str, object], kind: str, seed: int) -> bool:
    """Whether the software chooses effects, cut-off and estimator: in a third of the set-ups."""
    return (list(kinds).index(kind) + seed) % 3 == 0 and kind not in STATED


def wrong_setup(robots: Sequence[Robot], kind: str, seed: int) -> Drawn | None:
    """None where no draw matters."""
    robot, (make, words) = robots[seed % len(robots)], WRONG[kind]
    if robot.n < 2 and "exchanged" in kind:
        return None
    for attempt in range(12):
        rng = np.random.default_rng([72, seed, list(WRONG).index(kind), attempt])
        validate = kind in VALIDATED or (kind not in UNVALIDATED and bool(rng.random() < 0.75))
        world = drawn_world(robot, rng, validate=validate)
        changed = make(world)
        found = matters(world, changed)
        if kind in ALWAYS or found[0] > OVERALL or found[1].max() > AT_JOINT:
            joints = [name for name, part in zip(robot.coordinate_names, found[1], strict=True) if part > 0.1]
            own = (found[0], float(found[1].max()))
            changed = replace(changed, is_chosen=is_chosen(WRONG, kind, seed))
            return Drawn(f"{robot.name}, {kind}, {seed}", changed.campaign(), kind, tuple(joints), words, own)
    return None


def matters(world: World, changed: World) -> tuple[float, Array]:
    """Part of the efforts, of all and of each joint, that the true robot as fitted would not have on what is logged."""
    rest, size = 0.0, 0.0
    for k in range(len(changed.motions)):
        t, q, tau = changed.clean(k)
        if changed.logged is not None:
            t, q, tau = changed.logged(k, t, q, tau)
        motion = q, np.gradient(q, t, axis=0), np.gradient(np.gradient(q, t, axis=0), t, axis=0)
        plain = replace(world, motions=changed.motions)
        inner = slice(len(t) // 20, -(len(t) // 20))
        off = (plain.efforts(k, t, motion) - tau)[inner]
        off = off - off.mean(axis=0)
        rest = rest + np.sum(off**2, axis=0)
        size = size + np.sum(tau[inner] ** 2, axis=0)
    return float(np.sqrt(np.sum(rest) / np.sum(size))), np.sqrt(rest / np.maximum(size, 1e-300))


def judged(drawn: Drawn) -> Identification:
    """Quickly where effects are stated: with the filter, too, unless the clock is the fault."""
    campaign = drawn.campaign
    if campaign.effects is None:
        return identify(campaign)
    if "filter" not in campaign.__dict__ or campaign.filter.cutoff_hz is None:
        campaign = replace(campaign, filter=Filter(cutoff_hz=8.0))
    return identify(campaign)


def is_judged_right(drawn: Drawn, result: Identification) -> bool:
    """Right: good, or usable with limits on joints that have them; wrong: not good, or usable where that is named."""
    verdict = result.verdict
    if verdict.grade == "good" or verdict.grade == "not good":
        return verdict.is_good == (drawn.fault is None)
    named = {limit.joint for limit in verdict.limits}
    if drawn.fault is None:
        return named <= set(drawn.joints)
    told = " ".join(limit.sentence for limit in verdict.limits)
    return bool(named & set(drawn.joints)) or any(word in told for word in drawn.words)

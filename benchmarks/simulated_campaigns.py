"""Campaigns drawn from stated ranges: robots, friction, drives, noise and motions that no rule was made for.

Robot k of the even numbers serves to choose rules by, that of the odd ones to report them (`is_reported`).  Everything
is drawn by the numbers of robot and campaign.  Friction is of other kinds than those that are fitted: Coulomb friction
of any width, viscous friction that grows ever slower, Stribeck's excess, friction that grows with the load and changes
with the position, cogging.  Sensors and files have the faults of real ones: encoders on the motor side of elastic
gears, quantised positions and efforts, efforts that come late, correlated noise, wrong masses.  Half of the logs last
less than 9 s.  The unseen motions are of other kinds than the fitted ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import signal

from minertia.algebra.polynomial import turn
from minertia.algebra.vec3 import compose, shift, turn_x
from minertia.dynamics.model import inverse_dynamics
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.logs.recording import Recording
from minertia.identification.problem.terms import EffectSpec, at_joints
from minertia.identification.signals.options import Evaluation
from minertia.robot.files import read_robot
from minertia.robot.inertia import from_pseudo_inertia, pseudo_inertia
from minertia.robot.joint import Joint
from minertia.robot.robot import Robot

Array = Any
SEED = 34
# bundled ones by name, and chains of drawn axes by their number of joints
ROBOTS = ("planar2r", "puma560_physical", "scara", "stanford", "gantry", "panda", 2, "ur10e", "iiwa14", "puma260",
          "tx40", "rx90", 3, 2, 4, 1, 5, 6, 3, 4)  # fmt: skip
TWISTS = (0.0, np.pi / 2, -np.pi / 2, np.pi / 2, -np.pi / 2, 0.4)
GRAVITY = (0.0, 0.0, -9.81)

RATES = (100.0, 200.0, 500.0, 1000.0)  # Hz
DURATION = (2.0, 40.0)  # s, of a fitted log
PERIODS = 0.8  # of the lowest drawn frequency in a log, at least: short logs are of fast motion
UNSEEN, MOTIONS_UNSEEN = 12.0, 12  # s, and logs: the best of a thousand models for few motions is luck
LOGS = ((1, 0.5), (2, 0.3), (3, 0.2))  # fitted ones, and how often
REACH = {"revolute": (0.4, 1.5), "prismatic": (0.1, 0.4)}  # rad or m, on each side
SPEED = (0.4, 2.5)  # rad/s at an amplitude of 1
MASSLESS = 0.15  # part of the files that have no masses
FILE_ERROR = (0.03, 0.5)  # relative, of the file's links
MASS_ERROR, MISWEIGHED = (0.05, 0.3), 0.3  # relative, of a mass; and part of the links that have it
BEHIND_GEARS = 0.3  # part of the robots with torque sensors there: no rotors, a tenth of the friction
NOISE = (0.003, 0.1)  # of an effort's size, white at the rate of the log
SLOW_NOISE = (0.001, 0.02)  # of an effort's size, correlated over
SLOW = (0.05, 1.0)  # s
STEPS = (3e-6, 5e-4)  # rad or m of the encoder
DELAY = (-1e-3, 2e-3)  # s of the efforts
EFFORT_STEPS = (1e-4, 2e-2)  # of an effort's size
ELASTIC, DEFLECTION = 0.4, (1e-4, 3e-3)  # part of the robots, and deflection [rad or m] of a joint at its effort's size
EVALUATION = (4.0, 20.0)  # Hz
FRICTION = {  # of the size of an effort, at the highest speed
    "coulomb": (0.03, 0.5),
    "viscous": (0.02, 0.4),
    "offset": (-0.1, 0.1),
    "cogging": (0.0, 0.05),
    "rotor": (0.05, 0.6),
}
WIDTH = (0.002, 0.15)  # of the highest speed
STRIBECK = (0.0, 0.4)  # of Coulomb friction
LOAD = (0.02, 0.15)  # friction per effort carried
SPRING = (0.05, 0.4)  # of the size of an effort, at the end of the reach
PLACED = (0.0, 0.15)  # change of Coulomb friction with the position
BENT = 0.1  # of the highest speed: velocity of the nearest effect to viscous friction that grows ever slower


def is_reported(robot: int) -> bool:
    """Whether a robot is of the half on which rules are reported and not chosen."""
    return robot % 2 == 1


def draw_campaign(robot: int, number: int) -> Campaign:
    """A campaign of a robot: fitted logs and some of other kinds of motion, with a stated evaluation."""
    return CampaignDraw(robot, number).campaign()


class CampaignDraw:
    """One robot with its friction and sensors, in one campaign."""

    def __init__(self, robot: int, number: int) -> None:
        self.rng = np.random.default_rng([SEED, robot])  # what belongs to the robot
        nominal = drawn_robot(robot)
        self.is_behind = self.rng.random() < BEHIND_GEARS
        self.has = {name: self.rng.random() < part for name, part in
                    {"stribeck": 0.4, "load": 0.4, "spring": 0.35, "curved": 0.5}.items()}  # fmt: skip
        self.true = _perturbed(nominal, self.rng, self.uniform(FILE_ERROR))
        self.reach = np.array([self.uniform(REACH[j.kind]) for j in nominal.joints])
        self.friction = _Friction.drawn(self, nominal.n)
        self.deflection = np.array([self.log(DEFLECTION) for _ in nominal.joints]) * (self.rng.random() < ELASTIC)
        self.rng = np.random.default_rng([SEED, robot, number])  # and to the campaign
        self.file = nominal
        if self.rng.random() < MASSLESS:
            self.file = replace(nominal, links=(None,) * nominal.n_joints)
        self.rate = float(self.rng.choice(RATES))
        self.centre = self.rng.uniform(-1, 1, nominal.n) * self.reach
        self.speed, self.size = self.log(SPEED), self.uniform((0.5, 1.0))
        self.step, self.noise, self.effort_step = self.log(STEPS), self.log(NOISE), self.log(EFFORT_STEPS)
        self.slow_noise, self.slow, self.delay = self.log(SLOW_NOISE), self.log(SLOW), self.uniform(DELAY)
        self.efforts: Array = None

    def campaign(self) -> Campaign:
        """Fitted logs and some of other kinds of motion, with a stated evaluation."""
        kinds = list(MOTIONS)
        self.rng.shuffle(kinds)
        count = self.rng.choice([k for k, _ in LOGS], p=[p for _, p in LOGS])
        duration = self.log(DURATION)
        self.speed = max(self.speed, 2 * np.pi * PERIODS / duration)
        fitted = [self.record(kinds[0] if k < 2 else kinds[1], duration, 1.0, k) for k in range(count)]
        unseen = [self.record(kinds[2], UNSEEN, self.uniform((0.8, 1.2)), "unseen")]
        cutoff = min(self.log(EVALUATION), 0.15 * self.rate)
        evaluation = Evaluation(cutoff, min(5 * cutoff, self.rate), 0.3)
        for k in range(1, MOTIONS_UNSEEN):
            unseen.append(self.record(kinds[2 + k % 2], UNSEEN, self.uniform((0.8, 1.2)), f"unseen {k}"))
        return Campaign(self.file, fitted, unseen, evaluation=evaluation)

    def told(self) -> Campaign:
        """The same with the kinds of effects that act at each joint, and their constants, stated."""
        campaign = self.campaign()
        joints = range(self.file.n_joints)
        return replace(campaign, effects=tuple(one for j in joints for one in self._effects(j)))

    def _effects(self, j: int) -> list[EffectSpec]:
        f, fastest = self.friction, float(self.efforts[1][j])
        acting = {"rotor": not self.is_behind, "viscous": True, "offset": True, "smooth_coulomb": True,
                  "load_coulomb": f.load[j] > 0, "spring": f.spring[j] > 0, "stribeck": f.stribeck[j] > 0,
                  "shear_thinning": f.power[j] < 1, "position_coulomb": f.placed[j] > 0}  # fmt: skip
        constants = {"smooth_coulomb": {"width": f.width[j] * fastest}, "stribeck": {"velocity": f.slow[j] * fastest},
                     "shear_thinning": {"velocity": BENT * fastest},
                     "position_coulomb": {"middle": self.centre[j]}}  # fmt: skip
        return [at_joints(self.file, word, [j], constants.get(word, {})) for word, acts in acting.items() if acts]

    def uniform(self, limits: tuple[float, float]) -> float:
        return float(self.rng.uniform(*limits))

    def log(self, limits: tuple[float, float]) -> float:
        return float(np.exp(self.rng.uniform(*np.log(limits))))

    def record(self, kind: str, duration: float, times: float, what: object) -> Recording:
        """A log of a kind of motion."""
        t, q, qd, qdd = self.motion(kind, duration, times)
        rigid = np.asarray(inverse_dynamics(self.true, q, qd, qdd))
        if self.efforts is None:
            own = np.sqrt(np.mean(rigid**2, axis=0))
            self.efforts = np.maximum(own, 0.05 * own.max()), np.abs(qd).max(axis=0), np.abs(qdd).max(axis=0)
        tau = rigid + self.friction.efforts(q - self.centre, qd, qdd, rigid, self.efforts, self.reach)
        later = np.column_stack([np.interp(t - self.delay, t, x) for x in tau.T])
        size = self.efforts[0]
        noise = self.effort_noise(size, q.shape)
        turned = q + self.deflection * tau / size  # of the motors
        measured = self.step * np.round(turned / self.step + self.rng.uniform(-0.5, 0.5, q.shape))
        least = self.effort_step * size
        return Recording(t, measured, least * np.round((later + noise) / least), source=f"{kind} {what}")

    def motion(self, kind: str, duration: float, times: float) -> tuple[Array, Array, Array, Array]:
        """Times (N,), and q, qd, qdd (N, n) of a kind of motion; times: factor of its amplitude."""
        t = np.arange(round(duration * self.rate)) / self.rate
        q, qd, qdd = MOTIONS[kind](self.rng, t, times * self.size * self.reach, self.speed)
        return t, q + self.centre, qd, qdd

    def effort_noise(self, size: Array, shape: tuple[int, ...]) -> Array:
        """Noise of efforts of some size: white, and correlated."""
        return self.noise * size * self.rng.normal(size=shape) + self.slow_noise * size * self._slow(shape)

    def _slow(self, shape: tuple[int, ...]) -> Array:
        memory = np.exp(-1 / (self.rate * self.slow))
        drive = self.rng.normal(size=shape) * np.sqrt(1 - memory**2)
        return signal.lfilter([1.0], [1.0, -memory], drive, axis=0)


@dataclass(frozen=True)
class _Friction:
    """Friction of each joint, in parts of its effort at the highest speed."""

    parts: dict[str, Array]
    width: Array
    stribeck: Array
    slow: Array
    power: Array
    load: Array
    spring: Array
    placed: Array
    phase: Array
    teeth: Array
    scale: float

    @classmethod
    def drawn(cls, own: CampaignDraw, n: int) -> _Friction:
        rng, has = own.rng, own.has
        parts = {name: rng.uniform(*limits, n) for name, limits in FRICTION.items()}
        if own.is_behind:
            parts["rotor"] = np.zeros(n)
        return cls(
            parts,
            np.exp(rng.uniform(*np.log(WIDTH), n)),
            rng.uniform(*STRIBECK, n) * has["stribeck"],
            np.exp(rng.uniform(np.log(0.01), np.log(0.1), n)),
            rng.uniform(0.5, 1.0, n) if has["curved"] else np.ones(n),
            rng.uniform(*LOAD, n) * has["load"],
            rng.uniform(*SPRING, n) * (rng.random(n) < 0.4) * has["spring"],
            rng.uniform(*PLACED, n),
            rng.uniform(0, 2 * np.pi, (2, n)),
            rng.integers(10, 80, n),
            0.1 if own.is_behind else 1.0,
        )

    def efforts(self, q: Array, qd: Array, qdd: Array, rigid: Array, sizes: Array, reach: Array) -> Array:
        size, fastest, sharpest = sizes
        v, p = qd / fastest, self.parts
        slide = np.tanh(v / self.width)
        dry = p["coulomb"] * (1 + self.stribeck * np.exp(-((v / self.slow) ** 2)))
        dry = dry * (1 + self.placed * np.sin(2 * q + self.phase[0])) * slide
        viscous = p["viscous"] * np.sign(v) * np.abs(v) ** self.power
        cogging = p["cogging"] * np.sin(self.teeth * q + self.phase[1])
        friction = size * self.scale * (dry + viscous + cogging) + self.scale * self.load * np.abs(rigid) * slide
        rest = p["offset"] + self.spring * q / reach + p["rotor"] * qdd / sharpest
        return np.asarray(friction + size * rest)


def drawn_robot(k: int) -> Robot:
    """Robot k: bundled, or a chain of drawn axes; all with masses."""
    rng = np.random.default_rng([SEED, 1000, k])
    which = ROBOTS[k]
    if isinstance(which, str):
        robot = read_robot(which)
        links = tuple(_body(rng) if ten is None or ten[9] <= 0 else ten for ten in robot.links)
        return replace(robot, links=links, effects=tuple({} for _ in robot.joints))
    joints = []
    for j in range(which):
        R, p = compose(turn_x(turn(float(rng.choice(TWISTS)))), shift(x=float(rng.uniform(-0.5, 0.5))),
                       shift(z=float(rng.uniform(-0.4, 0.4))))  # fmt: skip
        kind = "revolute" if rng.random() < 0.8 else "prismatic"
        joints.append(Joint(f"j{j + 1}", kind, None if j == 0 else j - 1, R, p, f"link{j + 1}"))
    links = tuple(_body(rng) for _ in joints)
    return Robot(name=f"chain {k}", joints=tuple(joints), gravity=GRAVITY, links=links, effects=({},) * len(joints))


def _body(rng: np.random.Generator) -> tuple[float, ...]:
    A = rng.normal(size=(4, 4)) * np.array([0.15, 0.15, 0.15, 1.0])[:, None]
    return tuple(from_pseudo_inertia(A @ A.T + 1e-3 * np.eye(4)))


def _perturbed(robot: Robot, rng: np.random.Generator, error: float) -> Robot:
    """Links that differ from the file's by about this part of it, and can exist."""
    links = []
    for ten in robot.links:
        change = np.eye(4) + error / 2 * rng.normal(size=(4, 4))
        if rng.random() < MISWEIGHED:
            change *= np.sqrt(1 + rng.choice([-1, 1]) * rng.uniform(*MASS_ERROR))
        values, axes = np.linalg.eigh(pseudo_inertia([float(x) for x in ten]))
        root = axes * np.sqrt(np.maximum(values, 0.0)) @ change  # in parts of the link's own size
        links.append(tuple(from_pseudo_inertia(root @ root.T)))
    return replace(robot, links=tuple(links))


# ---------------------------------------------------------------------- motions: q, qd, qdd of (N, n) around zero


def _fourier(rng: np.random.Generator, t: Array, amplitude: Array, speed: float) -> tuple[Array, Array, Array]:
    n = len(amplitude)
    base = max(speed / (2 * np.pi) / 2.5, 1.5 / t[-1])  # one and a half periods at least
    w = 2 * np.pi * base * np.arange(1, 6)
    a = rng.normal(size=(n, 5)) / np.arange(1, 6) ** 0.5
    a *= amplitude[:, None] / np.abs(a).sum(axis=1, keepdims=True) * 1.3
    angle = t[:, None, None] * w + rng.uniform(0, 2 * np.pi, (n, 5))
    return _sum(a, w, angle)


def _sum(a: Array, w: Array, angle: Array) -> tuple[Array, Array, Array]:
    s, c = np.sin(angle), np.cos(angle)
    return (a * s).sum(axis=2), (a * w * c).sum(axis=2), -(a * w**2 * s).sum(axis=2)


def _sines(rng: np.random.Generator, t: Array, amplitude: Array, speed: float) -> tuple[Array, Array, Array]:
    """Two sines for each joint: weak excitation."""
    n = len(amplitude)
    w = speed * np.concatenate([rng.uniform(0.4, 0.8, (n, 1)), rng.uniform(0.9, 1.4, (n, 1))], axis=1)
    part = rng.uniform(0.3, 0.7, (n, 1))
    a = amplitude[:, None] * np.concatenate([part, 1 - part], axis=1)
    return _sum(a, w, t[:, None, None] * w + rng.uniform(0, 2 * np.pi, (n, 2)))


def _chirp(rng: np.random.Generator, t: Array, amplitude: Array, speed: float) -> tuple[Array, Array, Array]:
    n = len(amplitude)
    low, high = 0.3 * speed, 1.4 * speed * rng.uniform(0.8, 1.2, n)
    rise = (high - low) / t[-1]
    phase = low * t[:, None] + 0.5 * rise * t[:, None] ** 2 + rng.uniform(0, 2 * np.pi, n)
    w = low + rise * t[:, None]
    a = amplitude * 0.8
    return a * np.sin(phase), a * w * np.cos(phase), a * (rise * np.cos(phase) - w**2 * np.sin(phase))


def _waypoints(rng: np.random.Generator, t: Array, amplitude: Array, speed: float) -> tuple[Array, Array, Array]:
    """Moves from posture to posture, with a rest now and then."""
    n = len(amplitude)
    q, qd, qdd = np.zeros((3, len(t), n))
    start, here = 0.0, rng.uniform(-1, 1, n) * amplitude
    while start < t[-1]:
        there = rng.uniform(-1, 1, n) * amplitude
        T = max(0.4, 1.9 * float(np.max(np.abs(there - here) / amplitude)) / speed)
        rest = rng.uniform(0, 0.5) if rng.random() < 0.4 else 0.0
        rows = (t >= start) & (t < start + T + rest)
        x = np.clip((t[rows, None] - start) / T, 0, 1)
        go = there - here
        q[rows] = here + go * x**3 * (10 - 15 * x + 6 * x**2)
        qd[rows] = go / T * 30 * x**2 * (1 - x) ** 2
        qdd[rows] = go / T**2 * 60 * x * (1 - 3 * x + 2 * x**2)
        start, here = start + T + rest, there
    return q, qd, qdd


MOTIONS = {"fourier": _fourier, "sines": _sines, "chirp": _chirp, "waypoints": _waypoints}

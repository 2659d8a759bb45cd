"""Kinds of noise on efforts, and fits of many draws of them on columns that are made once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import numpy as np
from scipy import signal

import minertia
import minertia.dynamics.model as dynamics
from minertia.identification.closed_loop.law import observation_of
from minertia.identification.evidence.intervals import NORMAL, Spread, spread
from minertia.identification.evidence.significance import wald
from minertia.identification.problem.diagnosis import excitation
from minertia.identification.problem.linear import linear_model
from minertia.identification.problem.observation import Observation, observe
from minertia.identification.problem.solve import inverse, weighted_solution
from minertia.robot.robot import Robot
from tests.identification.coverage import forgotten
from tests.identification.motions import Motion
from tests.random_robots import random_robot, random_ten

Noise = Callable[[np.random.Generator, Motion, float], np.ndarray]  # of deviation 1 or so, (N, n); rate [Hz]
LEVEL = 0.03  # of each effort's size
SIZES = (1, 2, 4, 8)  # values that an F test looks at together


def _memory(time: float) -> Noise:
    return lambda rng, m, rate: forgotten(rng, m.tau.shape, time, rate)


def _shared(signs: float, time: float | None = None) -> Noise:
    """One source in all efforts, with equal (1) or alternating (-1) signs, and a third of it in each alone."""

    def noise(rng: np.random.Generator, m: Motion, rate: float) -> np.ndarray:
        shape = (len(m.t), 1)
        source = rng.normal(size=shape) if time is None else forgotten(rng, shape, time, rate)
        return source * signs ** np.arange(m.tau.shape[1]) + 0.3 * rng.normal(size=m.tau.shape)

    return noise


def _clock(rng: np.random.Generator, m: Motion, rate: float) -> np.ndarray:
    """Stamps that are off: every effort errs by its slope, with a sign that changes along the log."""
    slope = np.gradient(m.tau, axis=0)
    slope = slope / np.sqrt(np.mean(slope**2, axis=0))
    return forgotten(rng, (len(m.t), 1), 0.1, rate) * slope + 0.3 * rng.normal(size=m.tau.shape)


def _with_speed(rng: np.random.Generator, m: Motion, rate: float) -> np.ndarray:
    return rng.normal(size=m.tau.shape) * (0.2 + np.abs(m.qd) / np.sqrt(np.mean(m.qd**2, axis=0)))


def _along_the_log(rng: np.random.Generator, m: Motion, rate: float) -> np.ndarray:
    return forgotten(rng, m.tau.shape, 0.1, rate) * (0.2 + 2 * np.linspace(0, 1, len(m.t)))[:, None]


def _quantised(rng: np.random.Generator, m: Motion, rate: float) -> np.ndarray:
    """Efforts in steps of twice the deviation of their noise."""
    size = _sizes(m) * LEVEL
    step = 2 * size
    return (np.round((m.tau + size * rng.normal(size=m.tau.shape)) / step) * step - m.tau) / size


def _drift(rng: np.random.Generator, m: Motion, rate: float) -> np.ndarray:
    """A random walk to a deviation of 2 at the end of the log, beside white noise."""
    walk = np.cumsum(rng.normal(size=m.tau.shape), axis=0) * 2 / np.sqrt(len(m.t))
    return walk + 0.3 * rng.normal(size=m.tau.shape)


def _each_its_own(rng: np.random.Generator, m: Motion, rate: float) -> np.ndarray:
    """Efforts whose noise has other correlation times."""
    times = (3.0, 0.02, 0.3)
    return np.hstack([forgotten(rng, (len(m.t), 1), times[j % 3], rate) for j in range(m.tau.shape[1])])


def _low_passed(rng: np.random.Generator, m: Motion, rate: float) -> np.ndarray:
    return np.asarray(signal.sosfiltfilt(signal.butter(4, 0.3, output="sos"), rng.normal(size=m.tau.shape), axis=0))


NOISES: Mapping[str, Noise] = {
    "white": lambda rng, m, rate: rng.normal(size=m.tau.shape),
    "heavy-tailed": lambda rng, m, rate: rng.standard_t(3, size=m.tau.shape) / np.sqrt(3),  # three degrees of freedom
    "0.02 s": _memory(0.02),
    "0.1 s": _memory(0.1),
    "0.3 s": _memory(0.3),
    "1 s": _memory(1.0),
    "3 s": _memory(3.0),
    "each its own": _each_its_own,
    "low-passed": _low_passed,
    "with speed": _with_speed,
    "along the log": _along_the_log,
    "quantised": _quantised,
    "drift": _drift,
    "shared, equal signs": _shared(1.0),
    "shared, alternating signs": _shared(-1.0),
    "shared, alternating signs, 0.3 s": _shared(-1.0, 0.3),
    "clock": _clock,
}


def _sizes(motion: Motion) -> np.ndarray:
    return np.maximum(np.sqrt(np.mean(motion.tau**2, axis=0)), 1e-3)


def periodic_motion(robot: Robot, duration: float, rate: float, period: float, seed: int) -> Motion:
    """Five harmonics of a period, repeated."""
    rng, n = np.random.default_rng(seed), robot.n
    t = np.arange(int(duration * rate)) / rate
    q, qd, qdd = np.zeros((3, len(t), n))
    for k in range(1, 6):
        w = 2 * np.pi * k / period
        a, b = rng.normal(size=(2, n)) / k * 0.7
        s, c = np.sin(w * t)[:, None], np.cos(w * t)[:, None]
        q, qd, qdd = q + a * s + b * c, qd + w * (a * c - b * s), qdd - w * w * (a * s + b * c)
    q = q + rng.normal(size=n) * 0.5
    return Motion(t, q, qd, qdd, dynamics.inverse_dynamics(robot, q, qd, qdd))


@dataclass(frozen=True)
class Fixed:
    """A motion of a robot, whose noise alone changes from draw to draw: all values of its fits should be zero."""

    motion: Motion
    problem: Observation
    rate: float
    Y: np.ndarray = field(repr=False)

    @classmethod
    def of(cls, robot: Robot, duration: float, rate: float, period: float, seed: int = 1) -> Fixed:
        motion = periodic_motion(robot, duration, rate, period, seed)
        problem = observe(linear_model(robot), [motion])
        problem = problem.reduced(excitation(problem).independent)
        return cls(motion, problem, rate, np.concatenate([rows.Y for rows in problem.stream()]))

    def noise(self, kind: str, rng: np.random.Generator) -> np.ndarray:
        return NOISES[kind](rng, self.motion, self.rate) * _sizes(self.motion) * LEVEL

    def fits(self, kind: str, count: int, seed: int = 0) -> Iterator[tuple[np.ndarray, Spread]]:
        """Values and their deviations."""
        rng, model = np.random.default_rng(seed), SimpleNamespace(linear=self.problem.model)
        for _ in range(count):
            rows = [(self.Y, self.noise(kind, rng))]
            part = observation_of(model, self.problem.names, ["log"], rows)  # type: ignore[arg-type]
            beta, _, sigma = weighted_solution(part)
            yield beta, spread(part, beta, sigma)

    def scatter(self, kind: str, count: int = 200) -> np.ndarray:
        """True deviations of the values, with the weights of one draw."""
        rng = np.random.default_rng(99)
        first = self.noise(kind, rng)
        model = SimpleNamespace(linear=self.problem.model)
        part = observation_of(model, self.problem.names, ["log"], [(self.Y, first)])  # type: ignore[arg-type]
        _, R, sigma = weighted_solution(part)
        inv = inverse(R[:-1, :-1])
        gain = (self.Y / sigma[:, None] ** 2).reshape(-1, self.Y.shape[2]) @ (inv @ inv.T)
        values = np.array([self.noise(kind, rng).ravel() @ gain for _ in range(count)])
        return np.sqrt(np.mean(values**2, axis=0))


def bundled(name: str, seed: int) -> Robot:
    """The geometry of a bundled robot with links of random mass."""
    robot, rng = minertia.read_robot(name), np.random.default_rng(seed)
    effects = tuple({"IA": 0.1, "FV": 0.3, "FC": 0.2, "OFF": 0.05} for _ in robot.joints)
    return replace(robot, links=tuple(random_ten(rng) for _ in robot.joints), effects=effects)


def twelve() -> list[Fixed]:
    """Robots of two to six joints, logs of 12 to 40 s, motions of one to five periods."""
    arms = [(5, 4, 30.0, 25.0, 30.0), (1, 3, 12.0, 50.0, 12.0), (3, 3, 40.0, 20.0, 40.0), (11, 2, 16.0, 50.0, 8.0)]
    arms += [(13, 5, 24.0, 30.0, 8.0), (17, 3, 20.0, 40.0, 5.0), (21, 4, 15.0, 50.0, 7.5), (22, 3, 40.0, 20.0, 10.0)]
    found = [Fixed.of(random_robot(s, n=n), duration, rate, period) for s, n, duration, rate, period in arms]
    found += [Fixed.of(bundled("planar2r", 1), 20.0, 40.0, 10.0), Fixed.of(bundled("scara", 2), 30.0, 25.0, 10.0)]
    return [
        *found,
        Fixed.of(bundled("stanford", 3), 25.0, 30.0, 12.5),
        Fixed.of(bundled("cmu_dd_arm2", 4), 15.0, 50.0, 5.0),
    ]


@dataclass(frozen=True)
class Coverage:
    """Part of the intervals that hold the truth, of all values and of each one; stated over true deviations.

    rejected: part of the F tests at 5 % that object to zeros, by how many values are tested together; tests: of each.
    """

    held: float
    each: np.ndarray = field(repr=False)
    draws: int
    width: float
    rejected: Mapping[int, float]
    tests: int

    @property
    def lowest(self) -> float:
        """Of the value that is held least often in these draws."""
        return float(self.each.min())

    @property
    def lowest_true(self) -> float:
        """The same without the scatter of the draws, of which the least of many values has most (James and Stein)."""
        mean, seen = float(self.each.mean()), float(self.each.var())
        true = max(seen - mean * (1 - mean) / self.draws, 0.0)
        return mean + (self.lowest - mean) * np.sqrt(true / max(seen, 1e-12))

    def __str__(self) -> str:
        tests = ", ".join(f"{100 * part:.1f} % of {size}" for size, part in self.rejected.items())
        return (
            f"held {self.held:.4f}, lowest {self.lowest:.2f} (without scatter {self.lowest_true:.3f}) of "
            f"{len(self.each)}, width {self.width:.2f}, F {tests}"
        )


def covered(cases: list[Fixed], kind: str, draws: int) -> Coverage:
    held, each, width = [], [], []
    rejected: dict[int, list[bool]] = {size: [] for size in SIZES}
    for k, case in enumerate(cases):
        rng, inside, stated = np.random.default_rng(k), [], []
        for beta, widths in case.fits(kind, draws, seed=k):
            deviation = np.sqrt(np.diag(widths.stated))
            inside.append(np.abs(beta) < NORMAL * deviation)
            stated.append(deviation)
            for size in SIZES:
                which = np.sort(rng.permutation(len(beta))[:size]).tolist()
                rejected[size].append(wald(widths, beta[which], which) < 0.05)
        held.append(np.mean(inside))
        each.append(np.mean(inside, axis=0))
        width.append(np.mean(np.mean(stated, axis=0) / case.scatter(kind)))
    return Coverage(
        float(np.mean(held)),
        np.concatenate(each),
        draws,
        float(np.mean(width)),
        {size: float(np.mean(own)) for size, own in rejected.items()},
        len(rejected[1]),
    )

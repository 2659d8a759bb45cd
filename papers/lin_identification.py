"""Identification of the Stanford arm from link 6 to link 1 in simulation (section IV of Lin 1995)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from minertia.base.mlc import link_of
from minertia.excitation.excite import excite
from minertia.excitation.fourier import Fourier, FourierSeries
from minertia.excitation.limits import MotionLimits, motion_limits
from minertia.excitation.options import MotionSearch, Optimality
from minertia.excitation.space import Workspace
from minertia.identification.estimators import named_estimator
from minertia.identification.problem.linear import LinearModel, linear_model
from minertia.identification.problem.observation import observe
from minertia.io.files import edit_file
from minertia.robot.files import read_robot
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
SAMPLES = 400
DURATION = 8.0  # s
EFFORT_NOISE = 0.01  # of each joint's own size
MOTION_NOISE = {"q": 1e-4, "qd": 1e-3, "qdd": 1e-2}  # rad or m, per s, per s2
DRAWS = 20  # of the noise
RANDOM = tuple((seed, harmonics) for harmonics in (1, 2, 3, 5) for seed in (1, 2))
SEARCHED = ("logdet", "condition")
FOUND = Path(__file__).with_name("lin_motions.json")
PARTS = ("offset", "sine", "cosine")


@dataclass(frozen=True)
class Samples:
    """A recording: times (N,), positions, velocities, accelerations and efforts (N, n)."""

    t: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    keep: tuple[int, int, int] = (0, 0, 1)


@dataclass(frozen=True)
class Trial:
    """One motion: condition numbers of A_1 to A_n, errors of all values without and with noise, and per link."""

    name: str
    conditions: Array
    exact: float
    noisy: float
    by_link: Array


def arm() -> Robot:
    """The Stanford arm without the inertias of its drives, which Lin's model has not."""
    return replace(read_robot("stanford"), effects=())


@cache
def model() -> LinearModel:
    """The linear model in minimal linear combinations."""
    return linear_model(arm(), [], method="mlc")


def motions() -> Iterator[tuple[str, FourierSeries]]:
    """Random series of few to many frequencies, and motions from a search, all inside the arm's limits."""
    limits = motion_limits(arm())
    for seed, harmonics in RANDOM:
        yield f"random {seed}, {harmonics} frequenc{'y' if harmonics == 1 else 'ies'}", _random(limits, seed, harmonics)
    for criterion in SEARCHED:
        yield f"searched, {criterion}", replayed(criterion)


def search(criterion: str) -> FourierSeries:
    """The motion that a search ends with on this machine; in the paper nothing stands around the arm."""
    limits = motion_limits(arm(), workspace=Workspace(floor=None, self_collision=False))
    found = excite(
        arm(),
        Fourier(DURATION),
        limits=limits,
        start="any",
        optimality=Optimality(criterion, rotors=False, friction=False),
        search=MotionSearch(starts=1),
    )
    assert isinstance(found.motion, FourierSeries)
    return found.motion


def replayed(criterion: str) -> FourierSeries:
    """The motion of the search that was kept.

    Where a search ends hangs on the last bits of its numbers, and with it every figure that follows.
    """
    kept = json.loads(FOUND.read_text(encoding="utf-8"))[criterion]
    return FourierSeries(DURATION, 1 / DURATION, *(np.array(kept[part]) for part in PARTS))


def keep_searches() -> None:
    """Search anew and keep what is found: `python -m papers.lin_identification`."""
    found = {criterion: search(criterion) for criterion in SEARCHED}
    kept = {name: {part: getattr(m, part).round(6).tolist() for part in PARTS} for name, m in found.items()}
    lines = ",\n".join(f' "{name}": {json.dumps(parts)}' for name, parts in kept.items())
    edit_file(FOUND, f"{{\n{lines}\n}}\n")


def _random(limits: MotionLimits, seed: int, harmonics: int) -> FourierSeries:
    """A random series, scaled joint by joint until it touches a limit."""
    rng = np.random.default_rng(seed)
    n = len(limits.lower)
    sine, cosine = rng.normal(size=(2, n, harmonics))
    middle = (limits.lower + limits.upper) / 2
    q, qd, qdd = FourierSeries(DURATION, 1 / DURATION, np.zeros(n), sine, cosine).at(_times())
    used = np.max(
        [
            np.abs(q).max(axis=0) / (limits.upper - middle),
            np.abs(qd).max(axis=0) / limits.velocity,
            np.abs(qdd).max(axis=0) / limits.acceleration,
        ],
        axis=0,
    )
    return FourierSeries(DURATION, 1 / DURATION, middle, sine / used[:, None], cosine / used[:, None])


def _times() -> Array:
    return np.arange(SAMPLES) * DURATION / SAMPLES


def recorded(motion: FourierSeries) -> Samples:
    """The motion and the efforts it needs, exactly."""
    q, qd, qdd = motion.at(_times())
    tau = model().columns(q, qd, qdd) @ model().nominal()
    return Samples(_times(), q, qd, qdd, tau)


def noisy(samples: Samples, seed: int) -> Samples:
    """The same with noise on everything that is measured."""
    rng = np.random.default_rng(seed)
    level = EFFORT_NOISE * np.sqrt(np.mean(samples.tau**2, axis=0))
    moved = {key: getattr(samples, key) + size * rng.normal(size=samples.q.shape) for key, size in MOTION_NOISE.items()}
    return replace(samples, tau=samples.tau + level * rng.normal(size=samples.tau.shape), **moved)


def fitted(samples: Samples) -> Array:
    """Values found by the small problems of joints n to 1."""
    return named_estimator("sequential").fit(observe(model(), [samples])).beta


def conditions(samples: Samples) -> Array:
    """Condition number of A_i (the columns of body i in the effort of joint i), i = 1 to n."""
    Y = model().columns(samples.q, samples.qd, samples.qdd)
    links = np.array([link_of(name) for name in model().names])
    return np.array([np.linalg.cond(Y[:, i, links == i + 1]) for i in range(Y.shape[1])])


def trial(name: str, motion: FourierSeries) -> Trial:
    """One motion, fitted without noise and with several draws of it."""
    samples, truth = recorded(motion), model().nominal()
    links = np.array([link_of(unknown) for unknown in model().names])
    errors = np.array([fitted(noisy(samples, seed)) - truth for seed in range(DRAWS)])
    by_link = [_relative(errors[:, links == i], truth[links == i]) for i in range(1, links.max() + 1)]
    return Trial(
        name,
        conditions(samples),
        _relative(fitted(samples) - truth, truth),
        _relative(errors, truth),
        np.array(by_link),
    )


def _relative(errors: Array, truth: Array) -> float:
    """Root mean square length of errors (draws, values) over that of the true values."""
    return float(np.sqrt(np.mean(np.sum(np.atleast_2d(errors) ** 2, axis=1))) / np.linalg.norm(truth))


@cache
def trials() -> tuple[Trial, ...]:
    """All motions, the best conditioned first."""
    return tuple(sorted((trial(*each) for each in motions()), key=lambda t: float(t.conditions.max())))


if __name__ == "__main__":
    keep_searches()

"""How often stated intervals hold the truth, over draws of noise that is correlated in time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import signal

from minertia.identification.evidence.intervals import NORMAL, spread
from minertia.identification.evidence.significance import FTest, eliminate, one_percent
from minertia.identification.loads.gains import drive_gains
from minertia.identification.loads.load import Load
from minertia.identification.loads.payload import KnownRobot, Payload, payload_beside, payload_on
from minertia.identification.problem.linear import LinearModel, linear_model
from minertia.identification.problem.observation import Observation, observe
from minertia.identification.problem.solve import inverse, weighted_solution
from minertia.robot.robot import Robot
from tests.identification.motions import Motion, fourier_motion

MASS, COM, INERTIA = 2.0, (0.02, -0.03, 0.1), (0.010, 0.001, 0.0, 0.012, 0.0, 0.008)
GAIN = 10.0
TIMES = (0.03, 0.3, 3.0)  # s


def forgotten(rng: np.random.Generator, shape: tuple[int, ...], time: float, rate: float) -> np.ndarray:
    """Noise of deviation 1 that is forgotten to 1/e in a time [s], from a first sample of the same kind."""
    stays = np.exp(-1 / (rate * time))
    drive = rng.normal(size=shape) * np.sqrt(1 - stays**2)
    drive[0] /= np.sqrt(1 - stays**2)
    return np.asarray(signal.lfilter([1.0], [1.0, -stays], drive, axis=0))


@dataclass(frozen=True)
class Trial:
    """A robot that moves with and without a load, and noise on its efforts: a part of each one's size, some white."""

    robot: Robot
    duration: float = 30.0
    rate: float = 50.0
    level: float = 0.03
    seed: int = 1

    @cached_property
    def model(self) -> LinearModel:
        return linear_model(self.robot)

    @cached_property
    def motions(self) -> tuple[Motion, Motion]:
        samples, loaded = int(self.duration * self.rate), self.robot.with_payload(MASS, COM, INERTIA)
        return tuple(
            fourier_motion(robot, samples, self.seed + k, duration=self.duration)
            for k, robot in enumerate((self.robot, loaded))
        )  # type: ignore[return-value]

    def draws(self, time: float, count: int, seed: int = 0) -> Iterator[tuple[Motion, Motion]]:
        """The two motions under noise."""
        rng = np.random.default_rng(seed)
        for _ in range(count):
            yield tuple(self._noisy(motion, rng, time) for motion in self.motions)  # type: ignore[misc]

    def as_if_white(self, pair: tuple[Motion, Motion]) -> tuple[np.ndarray, np.ndarray]:
        """Values of the fit without the load, and their deviations for white residuals."""
        beta, R, _ = weighted_solution(observe(self.model, [pair[0]]))
        return beta, np.linalg.norm(inverse(R[:-1, :-1]), axis=1)

    def _noisy(self, motion: Motion, rng: np.random.Generator, time: float) -> Motion:
        size = np.maximum(np.sqrt(np.mean(motion.tau**2, axis=0)), 1e-3) * self.level
        noise = forgotten(rng, motion.tau.shape, time, self.rate) + 0.3 * rng.normal(size=motion.tau.shape)
        return replace(motion, tau=motion.tau + size * noise)


def held(values: np.ndarray, truth: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """Whether the 95 % intervals hold the truth."""
    return np.abs(np.asarray(values) - truth) < NORMAL * np.asarray(deviations)


@dataclass(frozen=True)
class Draw:
    """The two motions under one draw of noise; what several kinds of intervals begin with is made once."""

    trial: Trial
    empty: Motion
    loaded: Motion

    @cached_property
    def problem(self) -> Observation:
        return observe(self.trial.model, [self.empty])

    @cached_property
    def fitted(self) -> tuple[np.ndarray, np.ndarray]:
        """Values without the load, and their covariance."""
        beta, _, sigma = weighted_solution(self.problem)
        return beta, spread(self.problem, beta, sigma).stated


def fit(draw: Draw) -> np.ndarray:
    beta, covariance = draw.fitted
    return held(beta, draw.trial.model.nominal(), np.sqrt(np.diag(covariance)))


def payload_logs(draw: Draw) -> np.ndarray:
    return load_held(payload_beside(draw.trial.model, [draw.empty], [draw.loaded], physical=False))


def payload_model(draw: Draw) -> np.ndarray:
    return load_held(payload_on(KnownRobot(draw.trial.model, *draw.fitted), [draw.loaded], physical=False))


def load_held(found: Payload) -> np.ndarray:
    """Mass, centre and inertia, unless something of the load does not show."""
    assert not found.not_excited
    values = np.array([found.mass, *found.com, *found.inertia])
    deviations = np.array([found.mass_deviation, *found.com_deviation, *found.inertia_deviation])
    return held(values, np.array([MASS, *COM, *INERTIA]), deviations)


def gains(draw: Draw) -> np.ndarray:
    currents = [replace(motion, tau=motion.tau / GAIN) for motion in (draw.empty, draw.loaded)]
    found = drive_gains(draw.trial.model, currents[:1], currents[1:], Load(MASS, COM, INERTIA))
    return held(found.gains, np.full(len(found.gains), GAIN), found.deviations)


def contributing(draw: Draw) -> np.ndarray:
    return _essential(draw.trial, one_percent(draw.problem))


def eliminated(draw: Draw) -> np.ndarray:
    return _essential(draw.trial, eliminate(draw.problem, counts=False))


def _essential(trial: Trial, found) -> np.ndarray:
    truth = dict(zip(trial.model.names, trial.model.nominal(), strict=True))
    return held(found.beta, np.array([truth[n] for n in found.essential]), np.sqrt(np.diag(found.covariance)))


def zeros(draw: Draw) -> np.ndarray:
    """Whether the test at 5 % leaves some values that are zero alone (their share is taken off the efforts first)."""
    problem = draw.problem
    names = [k for k, n in enumerate(problem.names) if n.startswith(("OFF", "FV", "FC"))]
    known = np.zeros(problem.count)
    known[names] = draw.trial.model.nominal()[names]
    problem = problem.reduced(range(problem.count), known)
    beta, R, sigma = weighted_solution(problem)
    test = FTest(problem, R, spread(problem, beta, sigma), 0.05)
    return np.array([not test.objects([k for k in range(problem.count) if k not in names])])


KINDS = {
    "fit": fit,
    "payload from logs": payload_logs,
    "payload from a model": payload_model,
    "gains": gains,
    "contributing values": contributing,
    "values after elimination": eliminated,
    "test of zeros": zeros,
}


def coverages(trial: Trial, kinds: Sequence[str], time: float, count: int, seed: int = 0) -> dict[str, float]:
    """Part of all intervals of each kind that hold the truth, on the same draws."""
    found: dict[str, list[np.ndarray]] = {kind: [] for kind in kinds}
    for pair in trial.draws(time, count, seed):
        draw = Draw(trial, *pair)
        for kind, own in found.items():
            own.append(KINDS[kind](draw))
    return {kind: float(np.mean(np.concatenate(own))) for kind, own in found.items()}

"""Robots planted from the prior of samples: a file, a truth drawn around it, and logs with correlated noise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import signal

import minertia as mi
from minertia.identification.bands import predict_bands, summary
from minertia.identification.logs.recording import Recording
from minertia.identification.physical.consistency import physical_space
from minertia.identification.posterior.space import robot_space
from minertia.identification.problem.linear import linear_model
from minertia.identification.result import Identification
from minertia.identification.samples import Samples
from minertia.robot.robot import Robot
from tests.identification.motions import fourier_motion
from tests.identification.noises import bundled

EFFECTS = ("rotor", "viscous", "coulomb")
LEVEL, STAYS = 0.03, 0.9  # noise over the size of the efforts, and its correlation between rows
RATE = 100.0


def drawn_truth(file: Robot, rng: np.random.Generator) -> Robot:
    """A robot drawn from the default prior around its file."""
    linear = linear_model(file, EFFECTS)
    bodies = physical_space(linear, None, None, np.ones(file.n))
    joints = [(k, 0.7) for k in bodies.effects]
    space = robot_space(linear.standard, bodies.x0, list(bodies.links.values()), joints, [], link_width=0.3)
    values = space.values(rng.normal(size=(1, space.size)))[0]
    return file.with_parameters(dict(zip(linear.standard, values.tolist(), strict=True)))


@dataclass(frozen=True)
class Planted:
    """One planted case: the file of a robot, another one that moves, a log of 20 s to fit and one of 10 s unseen."""

    file: Robot
    seed: int

    @cached_property
    def truth(self) -> Robot:
        return drawn_truth(self.file, np.random.default_rng([self.seed, 0]))

    def log(self, which: int, *, noise: float = 1.0, duration: float = 20.0) -> Recording:
        """The motion of this number with the efforts of the truth; noise: as a multiple of its usual size."""
        rng = np.random.default_rng([self.seed, 1, which])
        size = LEVEL * np.sqrt(np.mean(fourier_motion(self.truth, 400, 10 * self.seed, duration=20.0).tau ** 2, axis=0))
        motion = fourier_motion(self.truth, int(RATE * duration), 10 * self.seed + which, duration=duration)
        drive = rng.normal(size=motion.tau.shape) * np.sqrt(1 - STAYS**2)
        drive[0] /= np.sqrt(1 - STAYS**2)
        process = signal.lfilter([1.0], [1.0, -STAYS], drive, axis=0)
        return Recording(t=motion.t, q=motion.q, tau=motion.tau + noise * size * process)

    @cached_property
    def result(self) -> Identification:
        return mi.identify(mi.Campaign(self.file, [self.log(0)], effects=list(EFFECTS)))

    def samples(self, n: int) -> Samples:
        return self.result.sample(n, seed=self.seed)

    def covered(self, n: int) -> dict[str, float]:
        """Share of true values, of noise-free and of measured efforts of an unseen motion that the 95 % bands hold."""
        samples = self.samples(n)
        own = dict(zip(self.truth.columns(True, True), self.truth.parameter_vector(True, True).tolist(), strict=True))
        truth = np.array([own[name] for name in samples.names])
        lower, upper = np.quantile(samples.x, [0.025, 0.975], axis=0)
        clean = summary(predict_bands(samples, [self.log(1, noise=0.0, duration=10.0)]))
        noisy = summary(predict_bands(samples, [self.log(1, duration=10.0)]))
        return {
            "parameters": float(np.mean((truth >= lower) & (truth <= upper))),
            "values": clean["values"]["covered"],
            "prediction": noisy["prediction"]["covered"],
            "measured in values": noisy["values"]["covered"],
            "width": noisy["prediction"]["width"] / (2 * 1.96 * float(np.mean(samples.noise.deviation))),  # type: ignore[union-attr]
            "effective": samples.drawn["effective"],
        }


def planted(name: str, count: int) -> Iterator[Planted]:
    """Cases of a bundled robot."""
    file = bundled(name, 1)
    file = replace(file, effects=tuple({"IA": 0.1, "FV": 0.3, "FC": 0.2} for _ in file.joints))
    return (Planted(file, seed) for seed in range(1, count + 1))

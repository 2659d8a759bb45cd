"""Synthetic recordings: Fourier motions of a robot with known parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import signal

import minertia.dynamics.model as dynamics
from minertia.robot.robot import Robot


@dataclass(frozen=True)
class Motion:
    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray
    keep: tuple[int, int, int] = (0, 0, 1)
    channels: Mapping[str, np.ndarray] = field(default_factory=dict)


def fourier_motion(
    robot: Robot, samples: int = 400, seed: int = 0, *, duration: float = 8.0, joints=None, size: float = 0.7
) -> Motion:
    """A smooth motion of some joints (all by default) and the efforts it needs."""
    rng = np.random.default_rng(seed)
    t = np.arange(samples) * duration / samples
    n = robot.n
    moving = np.isin(np.arange(n), range(n) if joints is None else joints)
    q, qd, qdd = np.zeros((3, samples, n))
    for k in range(1, 6):
        w = 2 * np.pi * k / duration
        a, b = rng.normal(size=(2, n)) / k * size * moving
        s, c = np.sin(w * t)[:, None], np.cos(w * t)[:, None]
        q, qd, qdd = q + a * s + b * c, qd + w * (a * c - b * s), qdd - w * w * (a * s + b * c)
    q = q + rng.normal(size=n) * 0.5
    return Motion(t, q, qd, qdd, dynamics.inverse_dynamics(robot, q, qd, qdd))


def noisy(motion: Motion, rng: np.random.Generator, level=0.01, cutoff: float | None = None) -> Motion:
    """The same motion with noise on the efforts, a part of each one's size; low-passed at a part of the rate."""
    size = np.sqrt(np.mean(motion.tau**2, axis=0))
    noise = rng.normal(size=motion.tau.shape) * np.maximum(size, 1e-3) * level
    if cutoff is not None:
        noise = signal.sosfiltfilt(signal.butter(4, cutoff, output="sos"), noise, axis=0)
    return replace(motion, tau=motion.tau + noise)


def part(motion: Motion, rows) -> Motion:
    """Some samples of a motion."""
    return Motion(motion.t[rows], motion.q[rows], motion.qd[rows], motion.qdd[rows], motion.tau[rows])

"""Motions of a simulated arm whose efforts have coloured residuals, for tests of the on-line watch."""

from __future__ import annotations

import numpy as np
from scipy.signal import lfilter

from minertia.dynamics.model import inverse_dynamics
from minertia.identification.online.levels import WatchLevels, learned_levels
from minertia.identification.online.options import WatchOptions
from minertia.identification.online.samples import WatchedRobot, blocks_of_log
from minertia.robot.files import read_robot

RATE = 100.0
ARM = read_robot("puma560_physical")
WATCHED = WatchedRobot(ARM)


def states(seconds, seed, speed=1.0):
    """t (N,), q, qd, qdd (N, 6) of sines of random frequencies and phases."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, seconds, 1 / RATE)[:, None]
    q, qd, qdd = np.zeros((3, len(t), 6))
    for _ in range(5):
        w = speed * rng.uniform(0.4, 4.5)
        angle = w * t + rng.uniform(0.0, 6.0, 6)
        size = 0.5 * speed
        q, qd, qdd = q + size / w * np.sin(angle), qd + size * np.cos(angle), qdd - size * w * np.sin(angle)
    return t[:, 0], q + [0.0, 1.5, -1.5, 0.0, 0.0, 0.0], qd, qdd


def forgotten(x, seconds):
    """Noise of deviation 1 that is forgotten to 1/e after some seconds, from white noise x."""
    a = np.exp(-1 / RATE / seconds)
    return np.sqrt(1 - a * a) * lfilter([1.0], [1.0, -a], x, axis=0)


def coloured(kind, q, qd, rng):
    """Residuals of deviation about 1: noise of some kind, or what a model leaves out."""
    white = rng.normal(size=q.shape)
    if kind == "tails":
        return forgotten(rng.standard_t(3, size=q.shape) / np.sqrt(3), 0.2)
    if kind == "model":
        left_out = 0.6 * np.sin(3 * q) + 0.5 * np.tanh(qd / 0.3) * np.sin(q) + 0.3 * np.sin(17 * q)
        return 0.7 * forgotten(white, 0.1) + left_out
    if kind == "two":
        return 0.7 * forgotten(white, 0.1) + 0.7 * forgotten(rng.normal(size=q.shape), 2.0)
    return forgotten(white, {"short": 0.05, "half": 0.5, "long": 3.0}[kind])


def logged(kind, seconds, seed, arm=ARM, speed=1.0):
    """t, q, tau of one log; the residual is 3 % of the empty arm's efforts."""
    t, q, qd, qdd = states(seconds, seed, speed)
    rng = np.random.default_rng(seed + 7)
    size = 0.03 * inverse_dynamics(ARM, q, qd, qdd).std(axis=0)
    tau = inverse_dynamics(arm, q, qd, qdd) + size * coloured(kind, q, qd, rng)
    return t, q + 2e-5 * rng.normal(size=q.shape), tau


def levels_of(kind, seconds=120.0, **options):
    """Levels learned from four motions of an arm without a fault."""
    n = ARM.n
    base = WatchLevels(ARM.coordinate_names, RATE, (1.0,) * n, (0.0,) * n, (0.05,) * n, 0.0, WatchOptions(**options))
    return learned_levels([blocks_of_log(WATCHED, base, *logged(kind, seconds / 4, s)) for s in range(4)], base)

"""Programs of simulated robots: sums of the columns of a motion that is repeated, and of noise with them.

A program picks and places; its stretches come back with every cycle, so their sums are made once and kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import matmul_toeplitz

from minertia.dynamics.model import inverse_dynamics
from minertia.fleet.evidence import EvidenceLayout
from minertia.identification.problem.linear import LinearModel, linear_model
from minertia.io.resources import one_thread
from minertia.robot.files import read_robot

Array = NDArray[np.float64]
ROBOT = "puma560_physical"
RATE, STRETCH, PHASES, STRETCHES = 20.0, 15.0, 4, 64  # Hz, s; a program has four stretches and is repeated
MEMORY, SHARED = 0.5, 0.3  # of the noise: s, part of the variance that joints share
NOISE = 0.03  # of the usual effort
SPEEDS = (0.01, 0.02, 0.04, 0.08, 0.15, 0.3)
BINS = 33
POINTS = 9  # that a program goes to in turn
# own columns: symbol, place among the columns of the motion, power of the temperature
MOTION = ("v", "s", "1", "|v|", "v|v|", *(f"s{k}" for k in range(len(SPEEDS))), "load", "q")
OWN = (
    ("FV", 0, 0), ("FC", 1, 0), ("OFF", 2, 0), ("FVA", 3, 0), ("FVQ", 4, 0),
    *((f"FS@{v:g}", 5 + k, 0) for k, v in enumerate(SPEEDS)),
    ("FCL", 11, 0), ("FVK", 0, 1), ("FCK", 1, 1), ("FVKK", 0, 2), ("KS", 12, 0),
)  # fmt: skip
HIDDEN = 3  # columns of the truth alone: Stribeck, ripple, backlash


@dataclass(frozen=True)
class Program:
    """Sums of a program: Gram (phases, joints, k, k) of [inertial | motion | hidden] and roots of the noise's."""

    gram: tuple[Array, ...]  # of each joint, (phases, k, k)
    own_root: tuple[Array, ...]  # of each joint, (phases, k, k)
    shared_root: tuple[Array, ...]  # of each phase, (all columns, any)
    sigma: Array  # (joints,)
    histograms: Array  # (2 joints, BINS)


@cache
def simulated_model() -> LinearModel:
    """Inertial unknowns with rotors."""
    return linear_model(read_robot(ROBOT), ("IA",))


@cache
def seen_inertial() -> tuple[tuple[int, ...], ...]:
    """Inertial unknowns that each effort sees."""
    model = simulated_model()
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.uniform(-1, 1, (3, 50, model.robot.n))
    Y = model.columns(q, qd, qdd)
    return tuple(tuple(np.flatnonzero(np.abs(Y[:, j]).max(axis=0) > 1e-12).tolist()) for j in range(model.robot.n))


@cache
def simulated_layout() -> EvidenceLayout:
    """The own columns of each joint, then the inertial ones."""
    model = simulated_model()
    n = model.robot.n
    own = [column_name(symbol, j) for j in range(n) for symbol, _, _ in OWN]
    width = len(OWN)
    seen = tuple((*range(j * width, (j + 1) * width), *(len(own) + k for k in seen_inertial()[j])) for j in range(n))
    return EvidenceLayout((*own, *model.names), tuple(model.row_names), seen)


def column_name(symbol: str, joint: int) -> str:
    head, at, tail = symbol.partition("@")
    return f"{head}{joint + 1}{at}{tail}"


@cache
def nominal_values() -> Array:
    """Inertial values of the robot without a load."""
    return simulated_model().nominal()


@cache
def load_direction() -> Array:
    """What 1 kg at the flange, 0.1 m in front of it, adds to the inertial unknowns."""
    model = simulated_model()
    loaded = linear_model(model.robot.with_payload(1.0, (0.0, 0.0, 0.1)), ("IA",))
    return np.asarray(loaded.nominal() - nominal_values())


def _motion(rng: np.random.Generator, n: int) -> tuple[Array, Array, Array]:
    """Pick and place: from point to point with a polynomial of degree 5 and short stops."""
    count = int(RATE * STRETCH * PHASES)
    t = np.arange(count) / RATE
    q, qd, qdd = np.zeros((3, count, n))
    cell = rng.uniform(-0.8, 0.8, n)  # where the program works
    points = cell + rng.uniform(-0.8, 0.8, (POINTS, n)) * np.where(rng.random((POINTS, n)) < 0.85, 1, 0.2)
    at, here, number = 0.0, points[0], 0
    while at < t[-1]:
        move, number = rng.uniform(0.8, 2.2), number + 1
        there = points[0 if at + move > STRETCH * PHASES - 2.5 else number % POINTS]
        x = np.clip((t - at) / move, 0, 1)[:, None]
        inside = (t >= at) & (t < at + move + 0.3)
        s = x**3 * (10 - 15 * x + 6 * x**2)
        q[inside] = (here + (there - here) * s)[inside]
        qd[inside] = ((there - here) * 30 * x**2 * (1 - x) ** 2 / move)[inside]
        qdd[inside] = ((there - here) * 60 * x * (1 - x) * (1 - 2 * x) / move**2)[inside]
        at, here = at + move + 0.3, there
    return q, qd, qdd


@cache
def simulated_program(seed: int, is_twin: bool = False) -> Program:
    """The sums of one program; its twin has the same motion of each joint, at another time: the same histograms."""
    model, rng = simulated_model(), np.random.default_rng([7, seed])
    n = model.robot.n
    q, qd, qdd = _motion(rng, n)
    if is_twin:
        q, qd, qdd = (np.stack([np.roll(x[:, j], 37 * j) for j in range(n)], axis=1) for x in (q, qd, qdd))
    with one_thread():
        Y = model.columns(q, qd, qdd)
        load = Y @ model.nominal()
        usual = np.sqrt(np.mean(inverse_dynamics(model.robot, q, qd, qdd) ** 2, axis=0))
        columns = [
            _columns(Y[:, j, list(seen_inertial()[j])], q[:, j], qd[:, j], qdd[:, j], load[:, j], rng) for j in range(n)
        ]
        count = len(q) // PHASES
        memory = np.exp(-np.arange(count) / (RATE * MEMORY))
        parts = [[W[p * count : (p + 1) * count] for W in columns] for p in range(PHASES)]
        gram = tuple(np.stack([W.T @ W for W in (parts[p][j] for p in range(PHASES))]) for j in range(n))
        own = tuple(np.stack([_root(parts[p][j], memory) for p in range(PHASES)]) for j in range(n))
        shared = tuple(_root(np.concatenate(parts[p], axis=1), memory) for p in range(PHASES))
    ranges = [*((-1.6, 1.6),) * n, *((-3.0, 3.0),) * n]
    signals = [*q.T, *qd.T]
    histograms = np.array([np.histogram(x, BINS, r)[0] / len(x) for x, r in zip(signals, ranges, strict=True)])
    return Program(gram, own, shared, NOISE * usual, histograms)


def _columns(Y: Array, q: Array, v: Array, a: Array, load: Array, rng: np.random.Generator) -> Array:
    s = np.sign(v)
    slow = [s * np.exp(-((v / speed) ** 2)) for speed in SPEEDS]
    hidden = [
        s * np.exp(-((v / 0.055) ** 2)),
        np.sin(40 * q + rng.uniform(0, 6)) * (v != 0),
        np.sign(a) * np.exp(-((a / 0.5) ** 2)),
    ]
    motion = [v, s, np.ones_like(v), np.abs(v), v * np.abs(v), *slow, np.abs(load) * s, q]
    return np.column_stack([Y, *motion, *hidden])


def _root(W: Array, memory: Array) -> Array:
    """A root of the covariance of W'e for noise e of variance 1."""
    S = W.T @ matmul_toeplitz(memory, W)
    w, V = np.linalg.eigh((S + S.T) / 2)
    return np.asarray(V * np.sqrt(np.maximum(w, 0.0)))

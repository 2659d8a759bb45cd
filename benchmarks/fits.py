"""Least squares over 1e6 samples: regressor, sums and solution, against Pinocchio's matrix and numpy.linalg.lstsq."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import peers
from benchmarks.batches import ARMS, path, paths
from benchmarks.measure import Row, compare, median_time
from minertia.codegen.kernels import least_squares
from minertia.codegen.kernels.least_squares import LeastSquaresKernel
from minertia.dynamics.model import inverse_dynamics
from minertia.identification.estimators import named_estimator
from minertia.identification.problem.linear import linear_model
from minertia.identification.problem.observation import observe

N, N_PEER = 1_000_000, 20_000
GOALS = 110.0, 60.0  # with sums alone, with a triangle


def motion(name: str, count: int) -> tuple[np.ndarray, ...]:
    """Sums of five harmonics at 1 kHz."""
    rng = np.random.default_rng(0)
    n = peers.arm(name).n
    w = 2 * np.pi * 0.1 * np.arange(1, 6)
    a, b = rng.normal(size=(2, n, 5)) / np.arange(1, 6)
    q, qd, qdd = (np.empty((count, n)) for _ in range(3))
    for start in range(0, count, 65_536):
        part = slice(start, start + 65_536)
        t = np.arange(start, min(count, start + 65_536))[:, None] * 1e-3
        s, c = np.sin(w * t), np.cos(w * t)
        q[part], qd[part] = s @ a.T - c @ b.T, (c * w) @ a.T + (s * w) @ b.T
        qdd[part] = (c * w * w) @ b.T - (s * w * w) @ a.T
    return q, qd, qdd


def rows() -> Iterator[Row]:
    yield physical_row()
    for name in ARMS:
        state = motion(name, N)
        kept = peers.base(name).kept
        tau = np.random.default_rng(1).normal(size=(N, peers.arm(name).n))
        peer = plain_fit(name, state, tau), N_PEER
        for which in paths():
            with path(which):
                kernel = LeastSquaresKernel.of(peers.arm(name), kept)
            count, rounds = (N, 7) if which != "numpy" else (N_PEER, 2)
            arrays, efforts = [s[:count] for s in state], tau[:count]
            goals = GOALS if which.startswith("compiled") else (None, None)
            for label, switch, goal in (
                ("condition below 1e5", np.inf, goals[0]), ("any condition: with a triangle", 0.0, goals[1])
            ):  # fmt: skip
                subject = f"least squares, {label}, {name}, {which}"
                note = f"ours on {count:.0e} samples, peer on {N_PEER:.0e}"
                with switched_at(switch), threadpool_limits(1):
                    ours = partial(kernel.solve, *arrays, tau=efforts), count
                    yield compare(subject, ours, peer, "Pinocchio matrix + numpy lstsq", goal, note, rounds)


@contextmanager
def switched_at(condition: float) -> Iterator[None]:
    """Least squares that take a triangle from this condition number on."""
    usual, least_squares.SWITCH = least_squares.SWITCH, condition
    yield
    least_squares.SWITCH = usual


def physical_row(name: str = "panda", samples: int = 4000, rounds: int = 7) -> Row:
    """The physically consistent fit of an arm with seven links, once the triangle of its log is there."""
    robot, state = peers.arm(name), motion(name, samples)
    tau, rng = inverse_dynamics(robot, *state), np.random.default_rng(1)
    tau = tau + 0.02 * np.abs(tau).max(axis=0) * rng.normal(size=tau.shape)
    model = linear_model(robot)
    with threadpool_limits(1):
        observed = observe(model, [Log(np.arange(samples) * 1e-3, *state, tau)])
        ours = median_time(lambda: named_estimator("physical").fit(observed), rounds)
    return Row(f"physical fit from the triangle, {name}, {model.count} unknowns", ours, note="goal below 50 ms")


class Log(NamedTuple):
    """A recording without noise in its motion."""

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray


def plain_fit(name: str, state: tuple[np.ndarray, ...], tau: np.ndarray, extra: int = 0) -> Callable[[], None]:
    """A fit of the first samples; the matrix and the solution both grow with their number.

    extra: columns that stand for as many effects of the joints; they are there from the start and cost nothing to make.
    """
    oracle = peers.oracle(name)
    pin, model, data = oracle.pin, oracle.model, oracle.data
    base = peers.base(name)
    theirs = [4, 5, 7, 6, 8, 9, 1, 2, 3, 0]
    columns = [10 * (c // 10) + theirs[c % 10] for c in base.kept_indices]
    n = peers.arm(name).n
    effects = np.random.default_rng(2).normal(size=(N_PEER * n, extra))

    def fit() -> None:
        W = np.empty((N_PEER * n, len(columns) + extra))
        W[:, len(columns) :] = effects
        for k in range(N_PEER):
            Y = pin.computeJointTorqueRegressor(model, data, state[0][k], state[1][k], state[2][k])
            W[k * n : (k + 1) * n, : len(columns)] = Y[:, columns]
        np.linalg.lstsq(W, tau[:N_PEER].ravel(), rcond=None)

    return fit

"""Khosla's experiment in MuJoCo: the arm moves joint by joint under computed torque and is identified from that."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from minertia.base.grouping import file_to_joint
from minertia.dynamics.model import inverse_dynamics, torque_regressor
from minertia.excitation.fourier import Fourier
from minertia.excitation.trajectory import Trajectory
from minertia.identification.estimators.recursive import OnlineState
from minertia.identification.identify import Identification, identify
from minertia.identification.signals.filtering import DERIVATIVES
from minertia.identification.signals.options import Filter
from minertia.io.resources import one_thread
from minertia.robot.robot import Robot
from minertia.simulation.control_model import ControlModel, control_model
from minertia.simulation.measured import Moving
from minertia.simulation.plant import Controller, ControlSample, Imperfections, Plant
from minertia.simulation.tracking import Gains, computed_torque

Array = np.ndarray[Any, Any]
PERIOD = 2e-3  # s, section 5.1 of the paper
EDGE = 2  # samples at the end without two neighbours on both sides
SETTLE = 150  # samples before a motion begins
# ours: the paper does not state the accuracy of its sensors
RESOLUTION = 2 * np.pi / 2**16  # rad
TACHOMETER = 1e-3  # rad/s
TORQUE = 2e-3  # of a joint's largest torque: what the drives make of a command
TRUST = 0.1  # weight of the initial values against one sample at its noise level; much less drowns in rounding
SPEED = 3.0  # rad/s, largest of a motion
GAINS = Gains(80.0)


@contextmanager
def setting(**values: Any) -> Iterator[None]:
    """Other sensors or gains for a while: RESOLUTION, TACHOMETER, TORQUE, GAINS as above."""
    before = {name: globals()[name] for name in values}
    globals().update(values)
    try:
        yield
    finally:
        globals().update(before)


def joint_motion(n: int, j: int, posture: Array, seed: int, duration: float) -> Trajectory:
    """Joint j alone moves along a Fourier series, at rest at both ends, after a time in which the arm settles."""
    family = Fourier(duration, 4)
    free = np.zeros((n, family.free))
    free[j] = np.random.default_rng(seed).normal(size=family.free)
    fastest = np.abs(family.from_free(posture, free).sample(200).qd).max()
    motion = family.from_free(posture, free * SPEED / fastest).sample(round(duration / PERIOD) + 1)
    before = np.repeat(motion.q[:1], SETTLE, axis=0)
    rest = np.zeros_like(before)
    t = np.arange(SETTLE + len(motion.t)) * PERIOD
    state = ((before, motion.q), (rest, motion.qd), (rest, motion.qdd))
    return Trajectory(t, *(np.concatenate(parts) for parts in state))


def off_line_motions(n: int, seed: int, postures: int, duration: float) -> list[Trajectory]:
    """A trajectory of the off-line method: every joint moves alone, the last first, from some postures."""
    rng = np.random.default_rng(seed)
    return [
        joint_motion(n, j, rng.uniform(-1.2, 1.2, n), seed + 10 * j + k, duration)
        for j in reversed(range(n))
        for k in range(postures)
    ]


class Sensors:
    """Encoders and tachometers between the arm and its controller, and the record of what they showed."""

    def __init__(self, controller: Controller, seed: int) -> None:
        self.controller, self.rng = controller, np.random.default_rng(seed)
        self.q, self.qd = list[Array](), list[Array]()

    def __call__(self, sample: ControlSample) -> Array:
        """The controller's torque for measured instead of true positions and velocities."""
        # rounding drawn and not computed, so that a run does not depend on the last bits (`Imperfections.is_dithered`)
        self.q.append(sample.q + RESOLUTION * self.rng.uniform(-0.5, 0.5, len(sample.q)))
        self.qd.append(sample.qd + TACHOMETER * self.rng.normal(size=len(sample.qd)))
        return self.controller(sample._replace(q=self.q[-1], qd=self.qd[-1]))


def record(true: Robot, model: ControlModel, motion: Trajectory, seed: int, size: Array) -> Moving:
    """A run under computed torque with a model that is not the arm's; size: largest torque of each joint.

    Accelerations are the five-point derivative of measured velocities; a torque is the mean of those held before and
    after a sample.
    """
    plant = Plant(true, period=PERIOD, imperfections=Imperfections(torque_noise=TORQUE * size), seed=seed)
    sensors = Sensors(computed_torque(model, GAINS), seed)
    log = plant.run(sensors, motion)
    q, qd = np.array(sensors.q), np.array(sensors.qd)
    qdd = DERIVATIVES["parabola"](qd, PERIOD, Filter())
    tau = 0.5 * (log.tau[1:] + log.tau[:-1])
    rows = slice(SETTLE, -EDGE)
    return Moving(log.t[rows], q[rows], qd[rows], qdd[rows], tau[SETTLE - 1 : -EDGE], 1.0)


@dataclass(frozen=True)
class Experiment:
    """One off-line identification: which trajectory, which initial values, the runs and what they gave."""

    trajectory: str
    initial: str
    runs: list[Moving]
    result: Identification

    def relative_errors(self, true: Robot) -> Array:
        """(estimate - true) / true of the base parameters."""
        exact = np.asarray(self.result.linear.values(named(true)))
        return np.asarray((self.result.beta - exact) / exact)


def named(robot: Robot) -> dict[str, float]:
    """The standard parameters by name."""
    return dict(zip(robot.columns(), robot.parameter_vector().tolist(), strict=True))


def experiments(
    true: Robot,
    models: dict[str, Robot],
    seeds: dict[str, int],
    *,
    postures: int = 1,
    duration: float = 4.0,
) -> list[Experiment]:
    """Every trajectory with every set of initial values."""
    found = []
    for trajectory, seed in seeds.items():
        motions = off_line_motions(true.n, seed, postures, duration)
        size = largest_torques(true, motions)
        for initial, model in models.items():
            known = control_model(model)
            runs = [record(true, known, m, seed + k, size) for k, m in enumerate(motions)]
            result = identify(true, runs, effects=(), estimator="offline")
            found.append(Experiment(trajectory, initial, runs, result))
    return found


def largest_torques(robot: Robot, motions: list[Trajectory]) -> Array:
    """Largest torque of each joint over motions [N m]."""
    return np.max([np.abs(inverse_dynamics(robot, m.q, m.qd, m.qdd)).max(axis=0) for m in motions], axis=0)


@dataclass(frozen=True)
class Started:
    """Parameters in the paper's frames, estimated from initial values: names, and ten of each link about its origin."""

    names: tuple[str, ...]
    links: Array  # (n, 10)


def from_initial(true: Robot, experiment: Experiment, start: Array, every: int = 5) -> Started:
    """Recursive estimate from initial values (n, 10) of all parameters that appear in the torques.

    What the data cannot tell apart stays as near to the initial values as the data allow.
    """
    classes = experiment.result.linear.base.classes("file")
    names = tuple(name for name, kind in classes.items() if kind != "none")
    columns = true.columns()
    chosen = [columns.index(name) for name in names]
    mixing = file_to_joint(true, columns)[:, chosen]
    scale = np.concatenate([sizes(ten) for ten in start])[chosen]
    prior = start.ravel()[chosen] / scale
    state = OnlineState(len(names), experiment.result.estimate.sigma, prior=prior, trust=TRUST)
    with one_thread():
        for run in experiment.runs:
            Y = torque_regressor(true, run.q[::every], run.qd[::every], run.qdd[::every]) @ mixing * scale
            for rows, tau in zip(Y, run.tau[::every], strict=True):
                state.update(rows, tau)
    links = np.zeros(start.size)
    links[chosen] = state.beta * scale
    return Started(names, links.reshape(start.shape))


def sizes(ten: Array) -> Array:
    """What counts as the size of each of ten parameters of a link."""
    return np.array([np.abs(ten[:6]).max()] * 6 + [np.abs(ten[6:9]).max()] * 3 + [ten[9]])

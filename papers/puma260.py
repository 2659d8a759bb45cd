"""The campaign of Izaguirre, Hashimoto, Paul and Hayward 1992 on the bundled PUMA 260, moved in MuJoCo."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline

from minertia.codegen.kernels.build import CompilerMissing
from minertia.dynamics.model import inverse_dynamics
from minertia.excitation.trajectory import Trajectory
from minertia.identification.evidence.parameters import over_recordings
from minertia.identification.evidence.significance import Significance, one_percent
from minertia.identification.identify import Identification, identify
from minertia.identification.problem.observation import Observation
from minertia.identification.problem.solve import weighted_solution
from minertia.robot.files import read_robot
from minertia.robot.robot import Robot
from minertia.simulation.compiled import compiled_model
from minertia.simulation.control_model import ControlModel, control_model
from minertia.simulation.measured import Moving
from minertia.simulation.plant import Controller, ControlSample, Imperfections, Plant, PlantLog
from minertia.simulation.tracking import Gains, computed_torque

Array = np.ndarray[Any, Any]
EFFECTS = ("IA", "FV", "FC")
# ours, as the tables with the paper's values are lost
DRIVES = {
    "IA": (0.3, 0.3, 0.15, 0.01, 0.01, 0.005),
    "FV": (0.6, 0.8, 0.4, 0.05, 0.04, 0.03),
    "FC": (0.9, 1.2, 0.7, 0.1, 0.1, 0.08),
}
# published, section 7: sampling, samples dropped at each end, six predetermined and four random trajectories
SAMPLING, DROPPED, PREDETERMINED, RANDOM = 0.028, 15, 6, 4
SERVO = 0.004  # s: ours, between two torques; seven of them make one sample
KNOTS, RANGE, FASTEST = 8, 1.4, np.pi  # points of a trajectory, rad from the middle of each joint, rad/s
COUPLING = 0.5  # turns of motors 5 and 6 per turn of joints 4 and 5, in `coupled`
ROUGH = 0.9  # what the servos know, over what is true
RESOLUTION, NOISE = 2 * np.pi / 2**16, 0.005  # rad; part of a joint's largest torque


@cache
def puma() -> Robot:
    """The arm with drives."""
    values = {f"{symbol}{j + 1}": v for symbol, row in DRIVES.items() for j, v in enumerate(row)}
    return read_robot("puma260").numeric.with_parameters(values)


def points_of(number: int, knots: int = KNOTS) -> Array:
    """Points of a trajectory, (knots, 6): those of the first ones on a lattice over the ranges, the others random."""
    if number < PREDETERMINED:
        cube = np.outer(np.arange(knots) + knots * number, np.sqrt((2, 3, 5, 7, 11, 17))) % 1
    else:
        cube = np.random.default_rng(number).uniform(size=(knots, 6))
    return np.asarray(RANGE * (2 * cube - 1))


def trajectory(number: int, knots: int = KNOTS) -> Trajectory:
    """Cubic polynomials through points, at rest at both ends, as fast as the fastest joint may go."""
    points = points_of(number, knots)
    duration = float(np.abs(_spline(points, 1.0)(np.linspace(0, 1, 400), 1)).max() / FASTEST)
    t = np.arange(round(duration / SERVO) + 1) * SERVO
    spline = _spline(points, t[-1])
    return Trajectory(t, spline(t), spline(t, 1), spline(t, 2))


def _spline(points: Array, duration: float) -> CubicSpline:
    return CubicSpline(np.linspace(0, duration, len(points)), points, bc_type="clamped")


def sampled(log: PlantLog) -> Moving:
    """Every 28 ms: positions, the torque around each sample, and central differences twice (section 7)."""
    step = round(SAMPLING / SERVO)
    tau = np.concatenate([log.tau[:1], 0.5 * (log.tau[1:] + log.tau[:-1])])[::step]
    t, q = log.t[::step], log.q[::step]
    qd = (q[2:] - q[:-2]) / (2 * SAMPLING)
    qdd = (qd[2:] - qd[:-2]) / (2 * SAMPLING)
    inside = slice(DROPPED, -DROPPED)
    return Moving(t[2:-2][inside], q[2:-2][inside], qd[1:-1][inside], qdd[inside], tau[2:-2][inside], 1.0)


def coupled() -> Robot:
    """The arm with motors 5 and 6 that turn with the joint before theirs too, their effects on the motor side."""
    G = np.eye(6)
    G[4, 3] = G[5, 4] = COUPLING
    arm = puma()
    motors = [{f"{s}M": v for s, v in effects.items()} if j > 3 else {} for j, effects in enumerate(arm.effects)]
    effects = tuple({} if j > 3 else dict(e) for j, e in enumerate(arm.effects))
    rows = tuple(tuple(row) for row in G.tolist())
    return replace(arm, coupling=rows, motor_effects=tuple(motors), effects=effects)


@cache
def run(number: int, is_coupled: bool = False) -> Moving:
    """One trajectory of the campaign, driven by computed torque with a rough model."""
    motion = trajectory(number)
    largest = np.abs(inverse_dynamics(puma(), motion.q, motion.qd, motion.qdd)).max(axis=0)
    flaws = Imperfections(RESOLUTION, NOISE * largest, velocity_cutoff=20.0, is_dithered=True)
    true = coupled() if is_coupled else puma()
    plant = Plant(true, period=SERVO, substeps=2, imperfections=flaws, seed=number)
    return sampled(plant.run(computed_torque(control_model(rough()), Gains(30.0)), motion))


def rough() -> Robot:
    """What the servos know before the campaign: every value too low."""
    return puma().with_parameters(ROUGH * puma().parameter_vector(True, True))


@dataclass(frozen=True)
class Statistics:
    """Mean, deviation, largest and smallest of a parameter over the trajectories."""

    name: str
    mean: float
    deviation: float
    largest: float
    smallest: float


@dataclass(frozen=True)
class Campaign:
    """Everything found: the fit of all columns, the rule of 1 %, and the fit of what it leaves."""

    result: Identification
    significance: Significance

    @property
    def observation(self) -> Observation:
        """The linear problem of all trajectories."""
        assert self.result.observation is not None
        return self.result.observation

    @property
    def significant(self) -> Observation:
        """The linear problem of the significant parameters."""
        return self.observation.reduced([self.observation.names.index(n) for n in self.significance.essential])

    def beta(self, significant: bool) -> Array:
        """Values of all unknowns, those not significant zero."""
        if not significant:
            return self.result.beta
        return self.significant.expand(self.significance.beta)

    def statistics(self, significant: bool) -> list[Statistics]:
        """Over fits of each trajectory alone."""
        problem = self.significant if significant else self.observation
        found = over_recordings(problem, weighted_solution(problem)[2])
        return [Statistics(n, v["mean"], v["deviation"], v["max"], v["min"]) for n, v in found.items()]

    def singular_values(self, significant: bool) -> tuple[float, float]:
        """Smallest and largest of the weighted matrix of all trajectories, as the paper gives them."""
        problem = self.significant if significant else self.observation
        R = problem.triangle(weighted_solution(self.observation)[2] / np.median(self.result.estimate.sigma))
        s = np.linalg.svd(R[:-1, :-1], compute_uv=False)
        return float(s[-1]), float(s[0])

    def robot(self, significant: bool) -> Robot:
        """The arm with the identified values."""
        return puma().with_parameters(self.result.linear.standard_values(self.beta(significant)))


@cache
def campaign(count: int = PREDETERMINED + RANDOM) -> Campaign:
    """Identify from the first trajectories; one more, which is not fitted, judges."""
    runs = [run(k) for k in range(count)]
    result = identify(puma(), runs, validate=run(PREDETERMINED + RANDOM), effects=EFFECTS, estimator="wls")
    return Campaign(result, one_percent(result.observation))


def control(robot: Robot) -> tuple[ControlModel, str]:
    """The model as a controller has it: generated C where there is a compiler, and how it runs in words."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            return compiled_model(robot, folder), "the generated C (compiled)"
    except CompilerMissing:
        return control_model(robot), "the expression graphs behind the generated C (there is no compiler here)"


def some_open(open_law: Controller, closed: Controller, moving: Sequence[int]) -> Controller:
    """Open loop for the joints that move; the others are held."""
    chosen = np.isin(np.arange(6), moving)

    def law(sample: ControlSample) -> Array:
        return np.where(chosen, open_law(sample), closed(sample))

    return law

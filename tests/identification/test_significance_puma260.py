"""The setting of Izaguirre, Hashimoto, Paul, Hayward 1992 on a simulated PUMA 260.

78 columns, 52 independent; ten trajectories of polynomials at rest at both ends, 28 ms, central differences twice, the
first and last 15 samples dropped, weighted fit, then the 1 % rule.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import minertia.dynamics.model as dynamics
from minertia.identification.evidence.significance import one_percent
from minertia.identification.problem.diagnosis import excitation
from minertia.identification.problem.linear import linear_model
from minertia.robot.files import read_robot
from tests.identification.fits import fitted
from tests.identification.motions import Motion

PERIOD = 0.028
DRIVES = {
    "IA": (0.3, 0.3, 0.15, 0.01, 0.01, 0.005),
    "FV": (0.6, 0.8, 0.4, 0.05, 0.04, 0.03),
    "FC": (0.9, 1.2, 0.7, 0.1, 0.1, 0.08),
}


def trajectory(robot, seed):
    """Logged positions and efforts, with the accuracy of encoders and current loops, and what is computed from them."""
    rng = np.random.default_rng(seed)
    knots = np.linspace(0, 9.8, 8)
    spline = CubicSpline(knots, rng.uniform(-1.4, 1.4, (8, 6)), bc_type="clamped")
    t = np.arange(0, 9.8, PERIOD)
    tau = dynamics.inverse_dynamics(robot, spline(t), spline(t, 1), spline(t, 2))
    q = spline(t) + 2e-5 * rng.normal(size=(len(t), 6))
    tau = tau + 0.005 * np.abs(tau).max(axis=0) * rng.normal(size=tau.shape)
    qd = (q[2:] - q[:-2]) / (2 * PERIOD)
    qdd = (qd[2:] - qd[:-2]) / (2 * PERIOD)
    inside = slice(15, -15)
    return Motion(t[2:-2][inside], q[2:-2][inside], qd[1:-1][inside], qdd[inside], tau[2:-2][inside])


@pytest.fixture(scope="module")
def result():
    robot = read_robot("puma260")
    robot = robot.with_parameters({f"{s}{j + 1}": v for s, row in DRIVES.items() for j, v in enumerate(row)})
    runs = [trajectory(robot, seed) for seed in range(11)]
    return fitted(robot, runs[:10], effects=["IA", "FV", "FC"], validate=runs[10:])


@pytest.mark.slow
def test_columns_and_statistics(result):
    model = linear_model(result.robot, ["IA", "FV", "FC"])
    assert (len(model.standard), model.count) == (78, 52)
    assert result.estimate.rank == 52
    every = [p for p in result.parameters if p.over_recordings is not None]
    assert len(every) == 52
    assert all(p.over_recordings["recordings"] == 10 for p in every)
    friction = {p.name: p.value for p in result.parameters}
    assert [friction[f"FC{j}"] for j in (1, 2, 3)] == pytest.approx(DRIVES["FC"][:3], rel=0.05)
    assert result.verdict.is_good


@pytest.mark.slow
def test_one_percent_rule(result):
    found = one_percent(result.observation)
    assert 15 <= len(found.essential) <= 35  # 23 of 52 in the paper
    assert found.condition_before == pytest.approx(result.estimate.condition) and found.gain > 1.2
    whole, sigma = result.observation, result.estimate.sigma
    part = whole.reduced([whole.names.index(name) for name in found.essential])
    weighted = [excitation(problem, sigma).condition for problem in (whole, part)]
    assert weighted[0] / weighted[1] > 1.5  # weighted by joint: 60 in the paper, whose trajectories excited less
    assert found.residual_after < 1.3 * found.residual_before

"""Many sets of efforts on one motion: what single calls find, from one regressor."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import minertia as mi
from minertia.io.errors import MinertiaError
from minertia.options import Filter
from tests.arm import ARM, simulated

FILTERS = (Filter(cutoff_hz=8.0), Filter(cutoff_hz=8.0, on="signals"), Filter(cutoff_hz=8.0, equations="momentum"))


@pytest.fixture(scope="module")
def robot(tmp_path_factory: pytest.TempPathFactory) -> mi.Robot:
    path = tmp_path_factory.mktemp("arm") / "arm.urdf"
    path.write_text(ARM.format(name="arm"))
    return mi.read_robot(path)


def recording(robot: mi.Robot, tau: np.ndarray | None = None) -> mi.Recording:
    found = simulated(robot, 0.3, 6.0)
    return mi.Recording(found["t"], found["q"], found["tau"] if tau is None else tau)


@pytest.mark.parametrize("plan", FILTERS, ids=lambda plan: f"{plan.on} {plan.equations}")
@pytest.mark.parametrize("estimator", ["wls", "ols"])
def test_many_efforts_give_what_single_calls_give(robot: mi.Robot, plan: Filter, estimator: str) -> None:
    log = recording(robot)
    campaign = mi.Campaign(robot, log, effects=["viscous", "coulomb"], filter=plan, fix={"FC2": 0.1})
    problem = mi.build_problem(campaign)
    kept = problem.logs[0].recording
    rng = np.random.default_rng(3)
    efforts = kept.tau * rng.uniform(0.8, 1.2, (4, 1, 2)) + 0.3 * rng.normal(size=(4, *kept.tau.shape))
    found = mi.solve_many(problem, efforts, estimator)
    assert len(found) == 4 and found.names == problem.names
    for k, tau in enumerate(efforts):
        one = replace(campaign, train=replace(kept, tau=tau))
        alone = mi.solve(mi.build_problem(one), estimator)
        np.testing.assert_allclose(found.beta[k], alone.beta, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found.sigma[k], alone.sigma, rtol=1e-9)
        np.testing.assert_allclose(found.covariance[k], alone.covariance, rtol=1e-7, atol=1e-12)


def test_regression_matrix_and_measured_vector_are_those_of_the_fit(robot: mi.Robot) -> None:
    problem = mi.build_problem(mi.Campaign(robot, recording(robot), effects=["viscous"]))
    W, y = problem.W, problem.y
    assert W.shape == (len(y), len(problem.names))
    beta = mi.solve(problem, "ols").beta
    np.testing.assert_allclose(np.linalg.lstsq(W, y)[0], beta, rtol=1e-8, atol=1e-10)


def test_wrong_shapes_and_estimators_are_refused(robot: mi.Robot) -> None:
    problem = mi.build_problem(mi.Campaign(robot, recording(robot), effects=["viscous"]))
    with pytest.raises(MinertiaError, match=r"needs finite numbers in the shape \(K, 1200, 2\)"):
        mi.solve_many(problem, np.zeros((3, 10, 2)))
    with pytest.raises(MinertiaError, match="call solve for 'robust'"):
        mi.solve_many(problem, np.zeros((1, 1200, 2)), "robust")

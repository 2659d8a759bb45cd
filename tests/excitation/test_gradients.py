"""Exact derivatives against finite differences, and the smooth sign against the sign."""

from __future__ import annotations

import numpy as np
import pytest

from minertia import read_robot
from minertia.base.derive import base_parameters
from minertia.codegen.kernels.build import native
from minertia.excitation import criteria
from minertia.excitation.effort import EffortModel
from minertia.excitation.excite import mixing
from minertia.excitation.fourier import Fourier
from minertia.excitation.limits import Box, motion_limits
from minertia.excitation.model import PointModel, RegressorModel
from minertia.excitation.newton import _updated
from minertia.excitation.objective import MotionProblem, Objective
from minertia.excitation.options import Workspace
from tests.random_robots import random_robot

STEP = 1e-6


@pytest.fixture(autouse=True)
def without_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Derivatives are those of the program, whatever runs it; kernels that are compiled have tests of their own."""
    if native() is not None:
        monkeypatch.setenv("MINERTIA_KERNELS", "interpreter")


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(s, marks=pytest.mark.slow) for s in (2, 3))])
def test_regressor_is_that_of_the_base(seed):
    robot = random_robot(seed, tree=True, mimic=seed % 2 == 1, n=4)
    base = base_parameters(robot, rotors=True, friction=True)
    q, qd, qdd = np.random.default_rng(seed).normal(size=(3, 7, robot.n))
    W = RegressorModel(robot, base.kept, mixing(base)).value(q, qd, qdd)
    expected = base.regressor(q, qd, qdd).reshape(-1, base.count)
    np.testing.assert_allclose(W, expected, atol=1e-12)


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(s, marks=pytest.mark.slow) for s in (2, 3))])
def test_regressor_vjp(seed):
    robot = random_robot(seed, tree=True, n=4)
    base = base_parameters(robot, rotors=True, friction=True)
    model = RegressorModel(robot, base.kept, mixing(base), smooth=0.3)
    rng = np.random.default_rng(seed)
    state, direction = rng.normal(size=(3, 5, robot.n)), rng.normal(size=(3, 5, robot.n))
    weights = rng.normal(size=model.value(*state).shape)

    scale, seen = rng.uniform(0.5, 2, robot.n), []

    M = mixing(base)

    def weigh(G, blocks, out):
        seen.append(M.T @ G @ M)
        for j, (columns, own) in enumerate(zip(model.columns, out, strict=True)):
            own[:] = (weights @ M.T).reshape(5, robot.n, -1)[:, j, columns]
        return True

    model.state(5)[:] = state
    slopes = model.vjp(weigh, scale)
    W = model.value(*state).reshape(5, robot.n, -1) * scale[:, None]
    np.testing.assert_allclose(seen[0], np.einsum("knp,knq->pq", W, W), rtol=1e-10, atol=1e-10)
    ahead, behind = (model.value(*(state + s * STEP * direction)) for s in (1, -1))
    expected = float((weights * (ahead - behind)).sum()) / (2 * STEP)
    assert sum(float((s * d).sum()) for s, d in zip(slopes, direction, strict=True)) == pytest.approx(
        expected, rel=1e-6
    )


def test_points():
    robot = read_robot("puma560")
    model = PointModel(robot, ["j6", "j3"])
    q, direction = np.random.default_rng(0).normal(size=(2, 4, 6))
    weights = np.random.default_rng(1).normal(size=(4, 6))
    ahead, behind = (model.value(q + s * STEP * direction) for s in (1, -1))
    expected = float((weights * (ahead - behind)).sum()) / (2 * STEP)
    assert float((model.vjp(q, weights) * direction).sum()) == pytest.approx(expected, rel=1e-6)


CRITERIA = {
    "logdet": (criteria.log_det, 0.0),
    "condition": (criteria.log_condition, 6.0),
    "scaled": (criteria.log_scaled_condition, 6.0),
    "deviation": (criteria.LargestDeviation(np.linspace(1, 3, 6)), 6.0),
}


@pytest.mark.parametrize("name", CRITERIA)
def test_criteria(name):
    criterion, sharpness = CRITERIA[name]
    rng = np.random.default_rng(3)
    W, direction = rng.normal(size=(2, 40, 6)) * np.linspace(1, 4, 6)
    _, S = criterion(W.T @ W, sharpness)
    values = [criterion((W + s * STEP * direction).T @ (W + s * STEP * direction), sharpness)[0] for s in (1, -1)]
    assert float((2 * W @ S * direction).sum()) == pytest.approx((values[0] - values[1]) / (2 * STEP), rel=1e-6)


def test_soft_condition_tends_to_the_condition_number():
    W = np.random.default_rng(0).normal(size=(60, 8)) * np.linspace(1, 9, 8)
    value, _ = criteria.log_condition(W.T @ W, 1e4)
    assert np.exp(value) == pytest.approx(criteria.condition_number(W), rel=1e-3)
    value, _ = criteria.log_scaled_condition(W.T @ W, 1e4)
    assert np.exp(value) == pytest.approx(criteria.scaled_condition_number(W), rel=1e-3)


def test_predicted_deviations_are_those_of_least_squares():
    W = np.random.default_rng(0).normal(size=(60, 5)) * [1, 10, 0.1, 3, 1]
    expected = np.sqrt(np.diag(np.linalg.inv(W.T @ W)))
    np.testing.assert_allclose(criteria.predicted_deviations(W), expected, rtol=1e-10)
    more = criteria.predicted_deviations(W, W.T @ W)
    np.testing.assert_allclose(more, expected / np.sqrt(2), rtol=1e-10)


BENT = {"KS2": 5.0, "FVC1": 2.0, "FCT3": 1.0, "FCL2": 0.05, "FLD3": 0.1, "FLB3": 0.05, "FS1": 2.0}


def bent_puma():
    """With a spring, cubic, smooth, load-dependent and Stribeck friction."""
    return read_robot("puma560_physical").with_parameters(BENT, {"KS2": {"rest": 1.0}, "FS1": {"velocity": 0.1}})


@pytest.mark.parametrize("name", ["logdet", "condition", "scaled"])
def test_whole_objective_with_every_wall(name):
    robot = bent_puma()
    base = base_parameters(robot, rotors=True, friction=True)
    limits = motion_limits(
        robot,
        velocity=1.5,
        acceleration=4.0,
        effort=True,
        workspace=Workspace(boxes=[Box("j6", (-2, -2, -2), (2, 2, 2))]),
    )
    family = Fourier(10.0, 5)
    problem = MotionProblem(
        family=family,
        offset=np.array([0.0, 1.4, -1.4, 0.3, 0.2, 0.0]),
        limits=limits,
        model=RegressorModel(robot, base.kept, mixing(base), smooth=0.1),
        n_samples=60,
        effort=EffortModel(base),
        points=PointModel(robot, ["j6"]),
        row_scale=np.linspace(1, 2, 6),
        previous=0.1 * np.eye(base.count),
    )
    objective = Objective(problem)
    criterion, sharpness = CRITERIA[name]
    rng = np.random.default_rng(0)
    y, direction = 0.03 * rng.normal(size=(2, 6 * family.free))
    value, gradient = objective(y, criterion, 0.1, sharpness)
    assert np.isfinite(value)
    ahead, behind = (objective(y + s * STEP * direction, criterion, 0.1, sharpness)[0] for s in (1, -1))
    assert float(gradient @ direction) == pytest.approx((ahead - behind) / (2 * STEP), rel=1e-4)


def test_efforts_are_those_of_inverse_dynamics():
    from minertia.dynamics.model import inverse_dynamics

    robot = read_robot("puma560_physical")
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 9, 6))
    for rotors, friction in ((False, False), (True, False), (True, True)):
        base = base_parameters(robot, rotors=rotors, friction=friction)
        effort = EffortModel(base)
        W = base.regressor(q, qd, qdd).reshape(-1, base.count)
        tau = effort.efforts(W, q, qd, qdd)
        sliding = np.array([robot.effects[j]["FC"] for j in range(6)])
        np.testing.assert_allclose(tau + np.sign(qd) * sliding, inverse_dynamics(robot, q, qd, qdd), atol=1e-9)
        np.testing.assert_allclose(effort.coulomb, sliding)


def test_limits_of_effort_count_every_effect():
    """What the effort model says is used is never less than the true efforts, and little more."""
    from minertia.dynamics.model import inverse_dynamics

    robot = bent_puma()
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 400, 6))
    base = base_parameters(robot, rotors=True, friction=True)
    effort = EffortModel(base)
    tau = effort.efforts(base.regressor(q, qd, qdd).reshape(-1, base.count), q, qd, qdd)
    true = np.abs(inverse_dynamics(robot, q, qd, qdd)).max(axis=0)
    assert np.all(effort.largest(tau) >= true) and np.all(effort.largest(tau) < 1.25 * true)
    plain = EffortModel(base_parameters(robot.without_effects(robot.other_effects), rotors=True, friction=True))
    assert plain.others is None and np.all(plain.gain == 1)


@pytest.mark.parametrize("size", [0.0, 1e-170])
def test_a_step_too_small_to_tell_anything_changes_no_curvature(size: float):
    B, step = np.diag([2.0, 3.0]), np.array([size, 0.0])
    assert np.array_equal(_updated(B, step, np.zeros(2)), B)
    assert np.isfinite(_updated(None, step, np.zeros(2))).all()


def test_the_benchmark_measures_the_gradient_of_the_criterion():
    from benchmarks.excitation import cost_and_gradient, setting

    robot, _, _, problem = setting("planar2r")
    objective = Objective(problem)
    y = np.random.default_rng(0).normal(size=robot.n * problem.family.free)
    y *= 0.7 / objective.use(y)
    value, gradient = cost_and_gradient(objective, y)
    direction = np.random.default_rng(1).normal(size=len(y))
    ahead, behind = (cost_and_gradient(objective, y + s * STEP * direction)[0] for s in (1, -1))
    assert np.isfinite(value)
    np.testing.assert_allclose((ahead - behind) / (2 * STEP), gradient @ direction, rtol=1e-5, atol=1e-5)

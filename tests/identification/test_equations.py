"""Rows of momentum and of power: no accelerations, the same parameters, judged in torques."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from minertia import Campaign, Recording, identify, identify_payload
from minertia.dynamics.model import inverse_dynamics
from minertia.identification.campaigns.read import read_campaign
from minertia.identification.identify import build_problem
from minertia.identification.problem.rows import RowMaker
from minertia.identification.signals.filtering import Motion, half_length, prepared
from minertia.io.errors import FilterError, MinertiaError
from minertia.io.schema import OptionError, option_of
from minertia.options import Filter
from tests.identification.logs import motion, table, write_csv
from tests.identification.motions import fourier_motion
from tests.random_robots import random_robot

RATE, SECONDS = 500.0, 8.0
EQUATIONS = option_of(Filter, "equations").names


def _robot(seed):
    """A random tree with rotors and viscous friction: no jump that a filter would smear over the motion."""
    robot = random_robot(seed, n=3, tree=seed % 2 == 0)
    return replace(robot, effects=tuple({"IA": 0.3, "FV": 0.8} for _ in robot.effects))


def _recording(robot, seed=0, noise=0.0):
    m = fourier_motion(robot, round(RATE * SECONDS), seed, duration=SECONDS, size=0.4)
    rng = np.random.default_rng(seed)
    size = np.sqrt(np.mean(m.tau**2, axis=0))
    return Recording(m.t, m.q, m.tau + noise * size * rng.normal(size=m.tau.shape), source=f"motion {seed}")


def _plan(equations):
    return Filter(cutoff_hz=20.0, derivative="central5", equations=equations)


def _exact(robot, seed, equations):
    """A motion that no filter on positions has touched, through the parallel filter of the equation."""
    m = fourier_motion(robot, round(RATE * SECONDS), seed, duration=SECONDS, size=0.4)
    plan = replace(_plan(equations), rate_hz=100.0, parallel_hz=40.0)
    half = half_length(plan, RATE)
    return Motion(m.t, m.q, m.qd, m.qdd, m.tau, RATE, plan, (half + 2, len(m.t) - half - 2, 5))


def _found(robot, equations, noise=0.0, **more):
    logs = [_recording(robot, k, noise) for k in (1, 2)]
    campaign = Campaign(
        robot, logs, _recording(robot, 3, noise), filter=_plan(equations), effects=("rotor", "viscous"), **more
    )
    return identify(campaign)


@pytest.mark.parametrize("equations", EQUATIONS)
@pytest.mark.parametrize("seed", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_exact_data_give_exact_parameters(seed, equations):
    """Positions and velocities as they are; what is differentiated is momentum or energy."""
    robot = _robot(seed)
    first, second = _exact(robot, 1, equations), _exact(robot, 2, equations)
    found = identify(Campaign(robot, first, second, effects=("rotor", "viscous"), estimator="wls"))
    true = found.linear.nominal()
    assert np.abs(found.estimate.beta - true).max() < 1e-5 * np.abs(true).max()
    assert found.validation[0].relative < 1e-6 and len(found.validation[0].joint_rmse) == robot.n


@pytest.mark.parametrize("equations", EQUATIONS)
def test_noise_leaves_values_within_their_deviations(equations):
    """Weights, intervals and verdict work for every kind; the residual is that of efforts."""
    robot = _robot(3)
    found = _found(robot, equations, 0.02, estimator="wls")
    true, names = found.linear.nominal(), found.linear.names
    off = [abs(p.value - true[names.index(p.name)]) / p.deviation for p in found.parameters]
    assert np.mean(np.array(off) <= 3) >= 0.95 and max(off) < 5
    assert found.estimate.sigma.shape == (1 if equations == "power" else robot.n,)
    assert found.training.joint_rmse and len(found.training.joint_rmse) == robot.n
    assert 1e-3 < found.validation[0].relative < 0.02  # behind the filter that efforts are compared through
    assert found.verdict.is_good
    model = found.model()
    assert model.is_physical and set(model.evidence["noise"]) == (
        {"power"} if equations == "power" else set(robot.coordinate_names)
    )
    assert model.campaign["filter"].get("equations", "torque") == equations


@pytest.mark.parametrize("equations", ["momentum", "power"])
def test_accelerations_are_not_used(equations):
    """Rows are the same whatever the accelerations of the motion are."""
    robot = _robot(2)
    moved = prepared(_recording(robot), _plan(equations))
    model = build_problem(Campaign(robot, _recording(robot), filter=_plan(equations), effects=("rotor",))).linear
    changed = replace(moved, qdd=np.full_like(moved.qdd, 7.0))
    for (Y, tau), (Z, other) in zip(RowMaker(model).rows(moved), RowMaker(model).rows(changed), strict=True):
        np.testing.assert_array_equal(Y, Z)
        np.testing.assert_array_equal(tau, other)
        assert Y.shape[1] == (1 if equations == "power" else robot.n)


@pytest.mark.parametrize("equations", EQUATIONS)
def test_pieces_of_a_long_motion_are_seamless(equations, monkeypatch):
    """Rows do not depend on how a motion is cut: each piece has what its derivative and filter need around it."""
    robot = _robot(3)
    moved = prepared(_recording(robot), _plan(equations))
    model = build_problem(Campaign(robot, _recording(robot), filter=_plan(equations), effects=("rotor",))).linear
    whole = np.concatenate([Y for Y, _ in RowMaker(model).rows(moved)])
    monkeypatch.setattr("minertia.identification.problem.rows.PIECE", 64)
    cut = np.concatenate([Y for Y, _ in RowMaker(model).rows(moved)])
    np.testing.assert_allclose(cut, whole, rtol=0, atol=1e-9 * np.abs(whole).max())


NAMES = ("ols", "robust", "ridge", "recursive", "physical", "auto")
# each estimator with one kind, each kind with two estimators; the other pairs in make test-all
PAIRS = [
    pytest.param(name, equations, marks=() if k % len(EQUATIONS) == m else pytest.mark.slow)
    for k, name in enumerate(NAMES)
    for m, equations in enumerate(EQUATIONS)
]


@pytest.mark.parametrize(("name", "equations"), PAIRS)
def test_estimators_take_every_kind(name, equations):
    robot = _robot(3)
    found = _found(
        robot, equations, 0.01, estimator=name, **({"prior": "robot"} if name in ("ridge", "physical") else {})
    )
    assert found.validation[0].relative < 0.03


def test_simulated_instruments_refuse_power():
    with pytest.raises(MinertiaError, match="momentum or torque"):
        _found(_robot(3), "power", 0.01, estimator="iv")


@pytest.mark.slow
def test_simulated_instruments_take_momentum():
    assert _found(_robot(3), "momentum", 0.01, estimator="iv").validation[0].relative < 0.03


def test_left_out_folds_are_judged_in_torques():
    """Without an unseen log the verdict is that of folds: by torque, momentum and power nearly the same."""
    robot = _robot(3)
    found = {}
    for equations in EQUATIONS:
        log = _recording(robot, 1, 0.02)
        result = identify(Campaign(robot, log, filter=_plan(equations), effects=("rotor", "viscous"), estimator="wls"))
        assert len(result.evidence.left_out.rest) == robot.n and result.verdict.is_good
        found[equations] = result.evidence.left_out.relative
    assert found["momentum"] == pytest.approx(found["torque"], rel=0.01)
    assert found["torque"] < found["power"] < 2 * found["torque"]


def test_friction_is_chosen_and_a_motion_in_memory_is_judged_in_torques():
    robot = _robot(3)
    motions = [prepared(_recording(robot, k, 0.01), _plan("power")) for k in (1, 2)]
    found = identify(Campaign(robot, motions[0], motions[1]))
    assert len(found.training.joint_rmse) == len(found.validation[0].joint_rmse) == robot.n
    assert found.validation[0].relative < 0.05


def test_extra_effects_of_power_are_their_efforts_times_velocity():
    """Cubic friction is no standard parameter: its column comes from the table of effects."""
    robot = _robot(3)
    m = fourier_motion(robot, round(RATE * SECONDS), 1, duration=SECONDS, size=0.4)
    tau = np.asarray(inverse_dynamics(robot, m.q, m.qd, m.qdd)) + 0.7 * m.qd**3
    log = Recording(m.t, m.q, tau)
    for equations in EQUATIONS:
        effects = ("rotor", "viscous", "cubic")
        found = identify(Campaign(robot, log, filter=_plan(equations), effects=effects, estimator="wls"))
        values = {p.name: p.value for p in found.parameters if p.name.startswith("FVC")}
        assert len(values) == robot.n and all(v == pytest.approx(0.7, rel=1e-2) for v in values.values()), equations


@pytest.mark.slow
def test_a_load_is_weighed_with_a_model_of_power_rows():
    """The load shows in the efforts of each joint, whatever the model was fitted with."""
    robot = replace(random_robot(5, n=5), effects=({"IA": 0.3, "FV": 0.8},) * 5)
    model = _found(robot, "power", 0.001, estimator="wls").model()
    loaded = _recording(robot.with_payload(0.8, (0.1, 0.0, 0.05)), 4, 0.001)
    found = identify_payload(model, loaded)
    assert abs(found.mass - 0.8) < max(4 * found.mass_deviation, 0.04)


def test_refusals_and_files(tmp_path):
    with pytest.raises(OptionError, match='must be "torque", "momentum" or "power", not \'energy\''):
        Filter(equations="energy")
    with pytest.raises(FilterError, match="rate of the log"):
        prepared(_recording(_robot(3)), Filter(equations="momentum", on="signals"))
    robot = _robot(3)
    with pytest.raises(MinertiaError, match="efforts of all joints"):
        identify(Campaign(robot, _recording(robot), filter=_plan("power"), joints=1, effects=("rotor",)))
    log = write_csv(tmp_path / "log.csv", table(motion(2)))
    Campaign("planar2r", log, filter=Filter(equations="momentum")).save(tmp_path / "campaign.toml")
    assert read_campaign(tmp_path / "campaign.toml").filter.equations == "momentum"

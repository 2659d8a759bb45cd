"""The linear problem: streaming, blocks, filters, what a motion excites."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest

from minertia.identification.estimators import named_estimator
from minertia.identification.problem.diagnosis import excitation
from minertia.identification.problem.linear import linear_model
from minertia.identification.problem.observation import observe
from minertia.identification.problem.prediction import with_fixed
from minertia.identification.signals.filtering import Motion
from minertia.identification.signals.options import Filter
from minertia.io.errors import InputError, MinertiaError, ShapeError, UnknownName
from minertia.robot.effects import EFFECTS
from minertia.robot.files import read_robot
from tests.every_effect import GAS
from tests.identification.motions import fourier_motion, noisy, part
from tests.random_robots import random_robot


@pytest.fixture(scope="module")
def setting():
    robot = random_robot(3, n=4)
    return robot, linear_model(robot), noisy(fourier_motion(robot, 500, 1), np.random.default_rng(0), 0.01)


def test_triangles_are_the_stacked_rows_of_each_joint(setting):
    """A peer stacked rows in another order than efforts; here each joint's rows meet that joint's effort."""
    _, model, motion = setting
    motion = part(motion, slice(0, 480, 8))
    problem = observe(model, [motion])
    for j in range(4):
        W = np.array(
            [model.columns(motion.q[k : k + 1], motion.qd[k : k + 1], motion.qdd[k : k + 1])[0, j] for k in range(60)]
        )
        both = np.column_stack([W, motion.tau[:, j]])
        R = problem.totals[j]
        assert np.allclose(R.T @ R, both.T @ both, rtol=0, atol=1e-9 * np.abs(both.T @ both).max())
    beta = named_estimator("ols").fit(problem).beta
    W = model.columns(motion.q, motion.qd, motion.qdd).reshape(-1, model.count)
    assert np.allclose(beta, np.linalg.lstsq(W, motion.tau.ravel(), rcond=None)[0], rtol=1e-8, atol=1e-9)


def test_accumulation_does_not_depend_on_how_a_log_is_cut(setting):
    robot, model, motion = setting
    whole = observe(model, [motion])
    pieces = [part(motion, slice(k, k + 137)) for k in range(0, 500, 137)]
    cut = observe(model, [pieces])
    gram = observe(model, [motion], method="gram")
    two = observe(model, [part(motion, slice(0, 200))]).appended(observe(model, [part(motion, slice(200, 500))]))
    for other in (cut, gram, two):
        assert other.samples == 500
        assert np.allclose(
            named_estimator("wls").fit(other).beta, named_estimator("wls").fit(whole).beta, rtol=1e-8, atol=1e-10
        )
        rows = np.concatenate([c.tau for c in other.stream()])
        assert np.array_equal(rows, motion.tau)


def test_what_is_kept_does_not_grow_with_the_log():
    robot = random_robot(7, n=1)
    model = linear_model(robot)
    sizes = []
    for samples in (2_000, 20_000):
        sections = [part(fourier_motion(robot, samples, 1), slice(k, k + 500)) for k in range(0, samples, 500)]
        record = observe(model, [sections]).logs[0]
        assert record.samples == samples
        sizes.append(record.triangles.nbytes)
    assert sizes[1] <= 2 * sizes[0]


def test_both_sides_are_filtered_and_decimated_alike(monkeypatch):
    """Noise far above the motion goes, and the values stay exact: the equation is linear in the columns."""
    robot = random_robot(3, n=3)
    model = linear_model(robot)
    m = fourier_motion(robot, 3000, 1)
    rate = 1 / float(m.t[1] - m.t[0])
    plan = Filter(cutoff_hz=8.0, rate_hz=rate / 10, parallel_hz=0.025 * rate)
    motion = Motion(m.t, m.q, m.qd, m.qdd, m.tau, rate, plan, (180, 2820, 10))
    shrill = replace(motion, tau=m.tau + np.sin(0.8 * np.pi * np.arange(3000))[:, None])
    problem = observe(model, [shrill])
    assert problem.samples == motion.kept == 264
    truth = model.nominal()
    assert np.abs(named_estimator("wls").fit(observe(model, [motion])).beta - truth).max() < 1e-8
    assert np.abs(named_estimator("wls").fit(problem).beta - truth).max() < 1e-2
    monkeypatch.setattr("minertia.identification.problem.rows.PIECE", 500)
    pieces = observe(model, [shrill])
    assert np.allclose(pieces.triangle(), problem.triangle(), rtol=0, atol=1e-9 * np.abs(problem.triangle()).max())


def test_a_joint_that_stands_still_gets_a_sentence():
    robot = random_robot(3, n=3)
    rng = np.random.default_rng(0)
    motion = fourier_motion(robot, 400, 1, joints=[0, 1])
    shaken = replace(
        motion,
        q=motion.q + 1e-5 * rng.normal(size=motion.q.shape),
        qd=motion.qd + 1e-3 * rng.normal(size=motion.qd.shape),
    )
    found = excitation(observe(linear_model(robot), [shaken]))
    assert {"FV3", "FC3", "IA3"} <= found.not_excited.keys()
    assert found.not_excited["FC3"] == "FC3 was not excited: joint 'j3' did not move"
    assert found.rank == len(found.independent) < found.count


def test_parameters_that_act_together_are_named_together():
    robot = read_robot("puma560")
    motion = fourier_motion(robot, 300, 1, joints=[1])
    found = excitation(observe(linear_model(robot), [motion]))
    still = {name for name, why in found.not_excited.items() if "did not move" in why}
    for why in found.not_excited.values():
        assert still.isdisjoint(why.partition("in combination with ")[2].replace(" and", ",").split(", ")), why
    together = [s for s in found.not_excited.values() if "only in combination with" in s]
    assert together
    assert all(name in sentence for name, sentence in found.not_excited.items())


def test_a_subset_of_joints_takes_rows_and_columns(setting):
    """A peer kept all columns with some rows, and weights of the wrong joints."""
    robot, _, motion = setting
    model = linear_model(robot, joints=[4, 3])
    assert model.row_names == ("j3", "j4")
    assert all(model.link_of(k) >= 3 for k in range(model.count))
    truth = model.nominal()
    clean = fourier_motion(robot, 400, 1)
    exact = named_estimator("wls").fit(observe(model, [clean])).beta
    assert np.abs(exact - truth).max() < 1e-8
    rng = np.random.default_rng(0)
    level = np.array([0.5, 0.5, 0.001, 0.01])
    fit = named_estimator("wls").fit(observe(model, [noisy(clean, rng, level)]))
    assert np.allclose(fit.sigma, (level * np.sqrt(np.mean(clean.tau**2, axis=0)))[2:], rtol=0.2)
    with pytest.raises(UnknownName):
        linear_model(robot, joints=["elbow"])
    with pytest.raises(MinertiaError, match="no joint 9"):
        linear_model(robot, joints=[9])


def test_known_parameters_go_to_the_other_side():
    robot = random_robot(3, n=4)
    model, motion = linear_model(robot), fourier_motion(robot, 300, 1)
    own = dict(zip(robot.columns(True, True), robot.parameter_vector(True, True), strict=True))
    problem, fixed = with_fixed(observe(model, [motion]), {"FV2": own["FV2"], "M4": own["M4"]})
    assert "FV2" in fixed and "FV2" not in problem.names
    full = problem.expand(named_estimator("wls").fit(problem).beta)
    assert np.abs(full - model.nominal()).max() < 1e-8
    wrong, _ = with_fixed(observe(model, [motion]), {"FV2": own["FV2"] + 1.0})
    assert named_estimator("wls").fit(wrong).sigma[1] > 0.1
    with pytest.raises(UnknownName):
        with_fixed(observe(model, [motion]), {"FV9": 1.0})


@pytest.mark.parametrize("effect", [e for e in EFFECTS if "load" not in e.inputs], ids=lambda e: e.name)
def test_only_what_can_be_negative_is_fixed_so(effect):
    """As the table of effects says, row by row."""
    robot = random_robot(3, n=1)
    wanted = {"kind": effect.word, "joints": [1], **GAS, **dict.fromkeys(effect.constants, 0.5)}
    wanted = {key: GAS.get(key, value) for key, value in wanted.items() if key in ("kind", "joints", *effect.constants)}
    model = linear_model(robot, [effect.word if effect.is_standard else wanted])
    motion = replace(fourier_motion(robot, 60, 1), channels={"temperature": np.full((60, 1), 30.0)})
    problem = observe(model, [motion])
    refused = pytest.raises(InputError, match="never negative")
    with refused if effect.is_nonnegative else nullcontext():
        with_fixed(problem, {f"{effect.name}1": -1.0})


def test_last_joint_accelerates():
    """A peer lost the accelerations of the last joint."""
    robot = random_robot(8, n=3)
    motion = fourier_motion(robot, 300, 2, joints=[2])
    model = linear_model(robot, ["IA", "FV", "FC", "OFF"])
    problem = observe(model, [motion])
    column = problem.names.index("IA3") if "IA3" in problem.names else problem.names.index("ZZR3")
    assert problem.largest[2, column] == pytest.approx(np.abs(motion.qdd[:, 2]).max(), rel=1e-9)


def test_coulomb_friction_opposes_motion():
    """A peer had lost the sign of the Coulomb term."""
    robot = random_robot(3, n=2).with_parameters({"FC1": 2.0, "FC2": 3.0})
    model = linear_model(robot, ["FC"])
    motion = fourier_motion(robot, 200, 1)
    Y = model.columns(motion.q, motion.qd, motion.qdd)
    for j, name in enumerate(("FC1", "FC2")):
        assert np.all(Y[:, j, model.index(name)] * motion.qd[:, j] >= 0)
        assert np.array_equal(Y[:, j, model.index(name)], np.sign(motion.qd[:, j]))


def test_coupled_wrist():
    """Joint-side effects everywhere and IAM6, FVM6, FCM6 of the motor that turns with joints 5 and 6: 61 unknowns."""
    robot = read_robot("tx40")
    assert linear_model(robot, []).count == 36
    assert linear_model(robot, ["IA"]).count >= 40
    model = linear_model(robot)
    assert model.count == 61
    assert {"IAM6", "FVM6", "FCM6"} <= set(model.names)


def test_bad_motions_are_refused(setting):
    robot, model, motion = setting
    with pytest.raises(ShapeError, match="with one row per sample"):
        observe(model, [replace(motion, q=motion.q.T)])
    broken = motion.tau.copy()
    broken[7, 2] = np.nan
    with pytest.raises(MinertiaError, match="tau of joint 3 is not a number at sample 8"):
        observe(model, [replace(motion, tau=broken)])
    with pytest.raises(MinertiaError, match="no log"):
        observe(model, [])

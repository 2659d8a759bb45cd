"""Which values matter."""

from __future__ import annotations

import numpy as np
import pytest

from minertia.codegen.generate import count_programs
from minertia.codegen.options import CodeModel
from minertia.identification.evidence.intervals import spread
from minertia.identification.evidence.significance import FTest, contributions, eliminate, one_percent, operations
from minertia.identification.problem.linear import linear_model
from minertia.identification.problem.observation import observe
from minertia.identification.problem.solve import weighted_solution
from minertia.io.errors import MinertiaError
from minertia.robot.files import read_robot
from tests.identification.motions import fourier_motion, noisy
from tests.random_robots import random_robot


@pytest.fixture(scope="module")
def setting():
    robot = read_robot("puma560")
    model = linear_model(robot)
    rng = np.random.default_rng(0)
    runs = [noisy(fourier_motion(robot, 400, k), rng, 0.02) for k in range(3)]
    return model, observe(model, runs[:2]), observe(model, runs[2:]), runs


def test_contributions_are_the_largest_efforts(setting):
    model, problem, _, runs = setting
    beta = model.nominal()
    shares = contributions(problem, beta)
    Y = np.concatenate([model.columns(r.q, r.qd, r.qdd) for r in runs[:2]])
    tau = np.concatenate([r.tau for r in runs[:2]])
    direct = (np.abs(Y * beta).max(axis=0) / np.abs(tau).max(axis=0)[:, None]).T
    assert np.allclose(shares, direct, rtol=1e-12)


def test_operations_are_those_of_the_effects_that_stay():
    """A spring of the file that the model leaves out costs nothing; one that the model has does."""
    plain = read_robot("planar2r")
    sprung = plain.with_parameters({"KS1": 2.0})
    without = linear_model(plain, ["viscous"])
    least = operations(without, without.names)
    assert operations(linear_model(sprung, ["viscous"]), without.names) == least
    having = linear_model(plain, ["viscous", "KS1"])
    assert operations(having, without.names) == least
    assert operations(having, having.names)["multiplications"] > least["multiplications"]
    alone = linear_model(plain, ["KS1"])
    assert operations(alone, alone.names)["multiplications"] > operations(alone, alone.names[:-1])["multiplications"]


def test_operations_of_an_effect_alone():
    """At the end of an elimination no base parameter may be left."""
    model = linear_model(read_robot("planar2r"), ["two_sided_coulomb"])
    last = next(name for name in model.names if name.startswith("FCP"))
    assert operations(model, [last])["multiplications"] >= 1


def test_one_percent_rule_improves_the_condition(setting):
    _, problem, _, _ = setting
    found = one_percent(problem)
    assert len(found.essential) + len(found.dropped) == len(found.names)
    assert 10 < len(found.essential) < len(found.names)
    assert found.gain > 1
    assert found.residual_after < 1.2 * found.residual_before
    largest = dict(zip(found.names, found.contributions.max(axis=1), strict=True))
    assert max(largest[n] for n in found.dropped) < 0.01 <= min(largest[n] for n in found.essential)
    assert found.to_dict()["count"] == len(found.names)


@pytest.fixture(scope="module")
def eliminated(setting):
    _, problem, unseen, _ = setting
    return eliminate(problem, unseen=unseen)


def test_elimination_keeps_what_the_data_show(setting, eliminated):
    _, problem, _, _ = setting
    found = eliminated
    assert found.residual_after < 1.01 * found.residual_before
    assert len(found.essential) < len(found.names)
    counts = [point["count"] for point in found.curve]
    assert counts == sorted(counts, reverse=True) and counts[0] == len(found.names)
    errors = {point["count"]: point["left_out"] for point in found.curve}
    assert errors[len(found.essential)] < 1.1 * errors[len(found.names)]
    assert errors[1] > 5 * errors[len(found.essential)]
    alone = eliminate(problem, counts=False)
    assert alone.curve[0]["left_out"] is not None


def test_a_value_that_is_zero_goes():
    robot = random_robot(5, n=3).with_parameters({"FV2": 0.0, "OFF3": 0.0})
    rng = np.random.default_rng(1)
    problem = observe(linear_model(robot), [noisy(fourier_motion(robot, 800, 1), rng, 0.01)])
    assert {"FV2", "OFF3"} <= set(eliminate(problem, counts=False).dropped)
    assert {"FV2", "OFF3"} <= set(one_percent(problem).dropped)


@pytest.mark.parametrize("cutoff", [None, 0.2])
@pytest.mark.parametrize("repeats", [10, pytest.param(40, marks=pytest.mark.slow)])
def test_correlated_residuals_do_not_make_zeros_significant(cutoff, repeats):
    """The F test at 5 %: with low-passed noise, samples counted as independent would reject zeros in nine of ten."""
    zero = ["FV2", "OFF3", "FC1", "OFF1", "FV3", "OFF2"]
    robot = random_robot(5, n=3).with_parameters(dict.fromkeys(zero, 0.0))
    motion, model = fourier_motion(robot, 1200, 1, duration=12.0), linear_model(robot)
    rng = np.random.default_rng(0)
    objects, white = [], []
    for _ in range(repeats):
        problem = observe(model, [noisy(motion, rng, 0.05, cutoff=cutoff)])
        beta, R, sigma = weighted_solution(problem)
        keep = [k for k, name in enumerate(problem.names) if name not in zero]
        test = FTest(problem, R, spread(problem, beta, sigma), 0.05)
        objects.append(test.objects(keep))
        white.append(FTest(problem, R, None, 0.05).objects(keep))
        assert test.objects(keep[1:])  # what is there is missed
    assert np.mean(objects) <= 0.2
    assert np.mean(white) > 0.7 or cutoff is None


def test_operations_fall_along_the_curve(setting, eliminated):
    model, found = setting[0], eliminated
    counted = [point for point in found.curve if "multiplications" in point]
    assert 6 <= len(counted) <= 9
    assert {len(found.names), len(found.essential), 1} <= {point["count"] for point in counted}
    for key in ("multiplications", "additions"):
        falls = [point[key] for point in counted]
        assert falls == sorted(falls, reverse=True) and falls[-1] < 0.2 * falls[0]
    direct = count_programs(
        model.robot,
        ["inverse_dynamics"],
        model=CodeModel("base", rotors=True, friction=True, essential=found.essential),
    )
    own = next(point for point in counted if point["count"] == len(found.essential))
    assert own["multiplications"] == direct.counts["inverse_dynamics"]["multiplications"]


def test_nothing_moved():
    robot = random_robot(5, n=2)
    model = linear_model(robot, ["FV"], joints=[2])
    still = fourier_motion(robot.with_gravity((0, 0, 0)), 50, 1, joints=[])
    with pytest.raises(MinertiaError, match="no joint moves"):
        one_percent(observe(linear_model(robot.with_gravity((0, 0, 0)), ["FV"]), [still]))
    assert model.count

"""Physical consistency: always a robot that can exist, always a stated verdict."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from minertia import read_robot
from minertia.identification.estimators import named_estimator
from minertia.identification.physical.cones import dual_matrix
from minertia.identification.physical.consistency import feasibility, physical_space
from minertia.identification.physical.fit import nearest_with_base, physical_fit
from minertia.identification.problem.linear import linear_model
from minertia.identification.problem.observation import observe
from minertia.io.errors import UnknownName
from minertia.io.schema import OptionError
from minertia.robot.inertia import impossible, pseudo_inertia
from minertia.robot.parameters import LINK_SYMBOLS, full_name
from tests.identification.motions import fourier_motion, noisy
from tests.random_robots import random_robot


def tens(robot, standard):
    return [[standard[full_name(s, j + 1)] for s in LINK_SYMBOLS] for j in range(robot.n_joints)]


def problem_of(robot, level, seed=0, samples=300, **options):
    rng = np.random.default_rng(seed)
    return observe(linear_model(robot, **options), [noisy(fourier_motion(robot, samples, 1), rng, level)])


@pytest.mark.parametrize("kind", ["euclidean", "entropic"])
@pytest.mark.parametrize(
    ("seed", "shape", "level"),
    [(3, {"n": 4}, 0.3), (4, {"n": 5}, 1.0), (5, {"n": 3, "tree": True}, 0.1), (8, {"n": 3, "mimic": True}, 3.0)],
)
def test_the_result_is_always_a_robot_that_can_exist(seed, shape, level, kind):
    robot = random_robot(seed, **shape)
    fit = named_estimator("physical", kind=kind).fit(problem_of(robot, level, seed))
    for ten in tens(robot, fit.standard):
        assert impossible(ten) is None
        assert np.linalg.eigvalsh(pseudo_inertia(ten))[0] > 0
    effects = [v for name, v in fit.standard.items() if name[:2] in ("IA", "FV", "FC")]
    assert min(effects) >= 0
    assert fit.verdict["status"] in ("feasible", "at the boundary")
    assert fit.verdict["sentence"]


def test_a_robot_without_parameters_has_a_prior_too():
    robot = random_robot(3, n=3)
    bare = replace(robot, links=(None,) * 3, base_link=None)
    motion = noisy(fourier_motion(robot, 300, 1), np.random.default_rng(0), 0.05)
    fit = named_estimator("physical").fit(observe(linear_model(bare), [motion]))
    assert all(impossible(ten) is None for ten in tens(bare, fit.standard))


def test_the_prior_is_the_file_s_robot_where_that_can_exist():
    """Thin rods stay thin, and bodies that are told to have no mass get next to none (a Delta has both)."""
    model = linear_model(read_robot("delta"))
    true = model.nominal()
    np.testing.assert_allclose(model.K @ physical_space(model).x0, true, atol=1e-3 * np.abs(true).max())
    robot = random_robot(3, n=3)
    slight = replace(robot, links=(robot.links[0], (0.0,) * 9 + (2.0,), robot.links[2]))
    body = tens(slight, dict(zip(linear_model(slight).standard, physical_space(linear_model(slight)).x0, strict=True)))[
        1
    ]
    assert body[9] == 2.0 and 1e-4 < body[0] < 1e-2, "a point gets a size"


def test_base_values_come_from_the_standard_ones():
    robot = random_robot(3, n=4)
    problem = problem_of(robot, 0.3)
    for level in (1e-4, 0.3):
        problem = problem_of(robot, level)
        fit = named_estimator("physical").fit(problem)
        assert np.allclose(problem.model.values(fit.standard), fit.beta, rtol=1e-6, atol=1e-8)


def test_the_cost_is_the_smallest_of_physical_robots():
    """No step towards other physical robots lowers the cost."""
    robot = random_robot(4, n=3)
    problem = problem_of(robot, 1.0)
    space = physical_space(problem.model)
    sigma = named_estimator("wls").fit(problem).sigma
    R, rows = problem.triangle(sigma), problem.samples * 3
    answer = physical_fit(space, R, rows, weight=1e-7)

    def cost(x):
        near = 1e-7 * np.sum(((x - space.x0) / space.scales) ** 2)
        return float(np.sum((R @ np.append(-problem.model.K @ x, 1.0)) ** 2)) / rows + near

    rng = np.random.default_rng(0)
    best = cost(answer.x)
    for _ in range(30):
        other = space.x0 * np.exp(0.3 * rng.normal(size=len(space.x0)) * (np.abs(space.x0) > 0))
        if min(space.margins(other).values()) < 0:
            continue
        assert cost(answer.x + 1e-3 * (other - answer.x)) >= best * (1 - 1e-7)


def test_the_free_fit_stays_where_it_is_physical():
    robot = random_robot(3, n=3)
    problem = problem_of(robot, 1e-5)
    fit = named_estimator("physical").fit(problem)
    assert fit.verdict["status"] == "feasible" and fit.verdict["excess"] == 0
    assert np.allclose(fit.beta, named_estimator("wls").fit(problem).beta, rtol=1e-9, atol=1e-12)


def test_feasibility_of_base_parameters():
    robot = random_robot(3, n=4)
    model = linear_model(robot)
    space = physical_space(model)
    good = feasibility(space, model.nominal())
    assert good.is_feasible and good.slack == pytest.approx(1.0, abs=1e-6)
    beta = model.nominal()
    beta[model.index("ZZ4")] = -0.5
    bad = feasibility(space, beta)
    assert not bad.is_feasible and bad.slack < 0
    assert bad.is_witness_checked
    assert "not physically consistent" in bad.sentence


def test_a_witness_is_not_negative_on_any_robot_that_exists():
    robot = random_robot(3, n=3)
    model = linear_model(robot)
    beta = model.nominal()
    beta[model.index("FV2")] = -1.0
    certificate = feasibility(physical_space(model), beta)
    w = np.array([certificate.witness[name] for name in model.names])
    assert w @ beta < 0
    for seed in range(20):
        other = random_robot(100 + seed, n=3).links
        values = {full_name(s, j + 1): v for j, ten in enumerate(other) for s, v in zip(LINK_SYMBOLS, ten, strict=True)}
        values |= {f"{s}{j}": 1.0 for s in ("IA", "FV", "FC", "OFF") for j in (1, 2, 3)}
        assert w @ model.values(values) > -1e-6 * np.abs(w).max()


def test_nearest_robot_with_the_same_base_parameters():
    robot = random_robot(3, n=4)
    model = linear_model(robot)
    prior = {
        name: 1.2 * v for name, v in zip(robot.columns(True, True), robot.parameter_vector(True, True), strict=True)
    }
    x = nearest_with_base(physical_space(model, prior), model.nominal())
    assert np.allclose(model.K @ x, model.nominal(), rtol=1e-10, atol=1e-12)
    assert all(impossible(ten) is None for ten in tens(robot, dict(zip(model.standard, x, strict=True))))


def test_a_strong_prior_wins_and_a_weak_one_does_not():
    robot = random_robot(3, n=3)
    problem = problem_of(robot, 0.02)
    own = dict(zip(robot.columns(True, True), robot.parameter_vector(True, True), strict=True))
    prior = {name: 1.1 * v for name, v in own.items()}
    target = problem.model.values(prior)
    for kind in ("euclidean", "entropic"):
        strong = named_estimator("physical", prior=prior, weight=1e8, kind=kind).fit(problem)
        assert np.allclose(strong.beta, target, rtol=1e-3, atol=1e-3 * np.abs(target).max())
    weak = named_estimator("physical", prior=prior).fit(problem)
    assert weak.verdict["excess"] < 0.02 < strong.verdict["excess"]


def test_what_the_motion_does_not_show_comes_from_the_prior():
    robot = random_robot(3, n=3)
    motion = fourier_motion(robot, 300, 1, joints=[0, 1])
    fit = named_estimator("physical").fit(observe(linear_model(robot), [motion]))
    assert fit.standard["FV3"] == pytest.approx(0.3, rel=1e-3)


def test_fixed_parameters_stay_fixed():
    robot = random_robot(3, n=3)
    problem = problem_of(robot, 0.1)
    fit = named_estimator("physical", fixed={"M3": 4.0, "FV1": 0.5}).fit(problem)
    assert fit.standard["M3"] == 4.0 and fit.standard["FV1"] == 0.5
    assert all(impossible(ten) is None for ten in tens(robot, fit.standard))
    with pytest.raises(UnknownName):
        named_estimator("physical", fixed={"M9": 4.0}).fit(problem)
    with pytest.raises(OptionError, match='"euclidean" or "entropic"'):
        named_estimator("physical", kind="magic").fit(problem_of(robot, 1.0))


def test_dual_matrices():
    rng = np.random.default_rng(0)
    g, ten = rng.normal(size=(2, 10))
    assert np.sum(dual_matrix(g) * pseudo_inertia(ten)) == pytest.approx(g @ ten)

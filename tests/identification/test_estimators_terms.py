"""Effects beyond the robot's own: every row of the table can be identified."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from minertia.identification.estimators import named_estimator
from minertia.identification.problem.linear import linear_model
from minertia.identification.problem.observation import observe
from minertia.identification.problem.path import presliding_of
from minertia.identification.problem.terms import Term, chosen_effects
from minertia.identification.signals.filtering import Motion
from minertia.io.errors import MinertiaError, UnknownName
from minertia.robot.effects import EFFECTS
from tests.every_effect import plain_constants
from tests.identification.fits import fitted
from tests.identification.motions import fourier_motion, noisy
from tests.random_robots import random_robot

GAS = {"kind": "gas_spring", "joints": [2], "outer": 0.8, "inner": 0.2, "closed": 0.6, "angle": 1.66, "energy": 15_600,
       "volume": 0.00096, "area": 0.00167}  # fmt: skip
TABLES = {
    "FCP": ["FV", {"kind": "two_sided_coulomb"}],
    "FCN": ["FV", "two_sided_coulomb"],
    "FCT": ["FV", "OFF", {"kind": "FCT", "width": 0.1}],
    "FS": ["FV", "FC", "OFF", {"kind": "FS", "velocity": 0.2}],
    "FCL": ["FV", "FC", "OFF", "FCL2"],
    "FCQ": ["FV", "FC", "OFF", {"kind": "FCQ", "middle": 0.2}],
    "FLD": ["FV", "FC", "OFF", "load_quadrants"],
    "FLB": ["FV", "FC", "OFF", "load_quadrants"],
    "FVC": ["FV", "FC", "OFF", "FVC1"],
    "FVT": ["FV", "FC", "OFF", "thermal_viscous"],
    "FCK": ["FV", "FC", "OFF", {"kind": "FCK", "reference": 20.0}],
    "KS": ["FV", "FC", "OFF", "KS2"],
    "GAS": ["FV", "FC", "OFF", GAS],
}
TABLES |= {
    e.name: ["FV", "FC", "OFF", {"kind": e.name, **plain_constants(e)}]
    for e in EFFECTS
    if not e.is_standard and e.name not in TABLES
}


@pytest.mark.parametrize("symbol", TABLES)
def test_recovery(symbol):
    robot = random_robot(3, n=2)
    model = linear_model(robot, TABLES[symbol])
    rng = np.random.default_rng(0)
    motion = fourier_motion(robot, 500, 1)
    load = lambda q, qd, qdd: 3 + np.cos(q)  # noqa: E731
    beta = rng.uniform(0.5, 2.0, model.count)
    asked = load(motion.q, motion.qd, motion.qdd) if model.choice.needs_load else None
    warmth = 30 + 10 * rng.random(motion.q.shape) if model.choice.needs("temperature") else None
    slid = presliding_of(model, Motion.of(motion))
    tau = model.columns(motion.q, motion.qd, motion.qdd, asked, temperature=warmth, presliding=slid) @ beta
    motion = replace(motion, tau=tau, channels={} if warmth is None else {"temperature": warmth})
    problem = observe(model, [motion], load=load if model.choice.needs_load else None)
    assert np.allclose(named_estimator("wls").fit(problem).beta, beta, rtol=1e-7)
    assert any(name.startswith(symbol) for name in model.names)


def test_two_sided_coulomb_with_an_offset_is_one_too_many():
    robot = random_robot(3, n=1)
    names = linear_model(robot, ["FV", "OFF", "two_sided_coulomb"]).names
    assert len(names) == len(linear_model(robot, ["FV", "OFF", "FC"]).names)


def test_stribeck_velocity_is_scanned():
    robot = random_robot(3, n=2)
    given = linear_model(robot, ["FV", "FC", "OFF", {"kind": "stribeck", "velocity": 0.15}])
    motion = fourier_motion(robot, 1500, 1)
    beta = given.nominal()
    beta[[given.index("FS1"), given.index("FS2")]] = 0.8
    tau = given.columns(motion.q, motion.qd, motion.qdd) @ beta
    result = fitted(robot, [replace(motion, tau=tau)], effects=["FV", "FC", "OFF", "stribeck"])
    assert {"FS1@0.15", "FS2@0.15"} <= set(result.estimate.names)
    assert result.estimate.value("FS2@0.15") == pytest.approx(0.8, rel=1e-6)


def test_load_dependent_friction_in_two_passes():
    robot = random_robot(3, n=2)
    plain = linear_model(robot, ["FV", "FC", "OFF"])
    motion = fourier_motion(robot, 800, 1)
    links = plain.nominal() * [not plain.is_friction(k) for k in range(plain.count)]
    asked = plain.columns(motion.q, motion.qd, motion.qdd) @ links
    tau = plain.columns(motion.q, motion.qd, motion.qdd) @ plain.nominal() + 0.05 * np.abs(asked) * np.sign(motion.qd)
    with_it = fitted(robot, [replace(motion, tau=tau)], effects=["FV", "FC", "OFF", "FCL"])
    without = fitted(robot, [replace(motion, tau=tau)], effects=["FV", "FC", "OFF"])
    assert with_it.estimate.value("FCL1") == pytest.approx(0.05, rel=0.1)
    assert with_it.training.relative < 0.1 * without.training.relative


def test_a_stated_counterbalance_is_not_fitted():
    robot = random_robot(3, n=2)
    free = linear_model(robot, ["FV", "FC", "OFF", GAS])
    motion = fourier_motion(robot, 500, 1)
    beta = free.nominal()
    beta[free.index("GAS2")] = 1.0
    motion = replace(motion, tau=free.columns(motion.q, motion.qd, motion.qdd) @ beta)
    result = fitted(robot, [motion], effects=["FV", "FC", "OFF", GAS | {"known": True}])
    assert result.estimate.fixed == ("GAS2",)
    assert result.training.relative < 1e-9
    assert next(p for p in result.parameters if p.name == "GAS2").kind == "fixed"


def test_unknown_effects_and_missing_constants():
    robot = random_robot(3, n=2)
    with pytest.raises(UnknownName):
        chosen_effects(robot, ["magic"])
    with pytest.raises(MinertiaError, match="needs outer"):
        chosen_effects(robot, [{"kind": "gas_spring", "joints": [1]}])
    with pytest.raises(MinertiaError, match="twice"):
        chosen_effects(robot, ["FV", "FV1"])
    with pytest.raises(MinertiaError, match="joint 7"):
        chosen_effects(robot, ["KS7"])
    assert Term("KS", 1).name == "KS2"


def test_noise_does_not_confuse_the_words_of_campaigns():
    robot = random_robot(3, n=2)
    motion = noisy(fourier_motion(robot, 300, 1), np.random.default_rng(0), 0.01)
    words = fitted(robot, [motion], effects=["rotor", "viscous", "coulomb", "offset"])
    symbols = fitted(robot, [motion])
    assert np.array_equal(words.beta, symbols.beta)


def test_smooth_coulomb_in_place_of_a_robots_own_has_its_nominal_value():
    robot = random_robot(3, n=2)
    own = dict(zip(robot.columns(True, True), robot.parameter_vector(True, True).tolist(), strict=True))
    smooth = linear_model(robot, ["FV", "OFF", "FC1", {"kind": "FCT", "width": 0.1, "joints": [2]}])
    names = dict(zip(smooth.names, smooth.nominal().tolist(), strict=True))
    assert own["FC2"] > 0 and names["FCT2"] == own["FC2"] and names["FC1"] == own["FC1"] and "FC2" not in names

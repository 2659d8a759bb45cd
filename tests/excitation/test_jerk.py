"""Limits of jerk: held between the samples, or refused with the joint that cannot keep them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from minertia.base.derive import base_parameters
from minertia.codegen.kernels.build import native
from minertia.excitation.check import Checker
from minertia.excitation.claims import claims
from minertia.excitation.excite import excite
from minertia.excitation.fourier import Fourier
from minertia.excitation.limits import motion_limits
from minertia.excitation.limits_file import LimitsTable, limits_from_tables
from minertia.excitation.options import MotionSearch, Optimality
from minertia.excitation.spline import Spline
from minertia.excitation.sweep import sweeps
from minertia.excitation.trajectory import ContinuousMotion
from minertia.io.errors import Infeasible, ShapeError
from minertia.robot.files import bundled_robots, read_robot
from tests.excitation.draws import DRAWS, Outcome, draws_of, files, lacks_values, outcome
from tests.shared import SHARED, needs_shared

QUICK = MotionSearch(starts=1, n_samples=60, patience=0.1)
PLAIN = Optimality(rotors=False, friction=False)
TREES = [name for name in bundled_robots() if not read_robot(name).cuts]
NAMED = re.compile(
    r"give values for|joint '|frame '|' is [\d.e-]+ m (above|below) the floor|' cannot rise above the floor"
    r"|symbols without a value \(|' and '.+' (are|overlap by) [\d.e-]+ m"
)


@pytest.fixture(autouse=True)
def without_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    """These searches are too short for compiled code to pay."""
    if native() is not None:
        monkeypatch.setenv("MINERTIA_KERNELS", "interpreter")


def largest_jerk(motion: ContinuousMotion, count: int) -> np.ndarray:
    """From differences of accelerations, not from the motion's own third derivative."""
    t = np.linspace(0, motion.duration, count)
    return np.abs(np.diff(motion.at(t)[2], axis=0) / np.diff(t)[:, None]).max(axis=0)


@pytest.mark.parametrize("family", [Fourier(4.0, 4), Spline(4.0, 8), Spline(4.0, 8, degree=3)], ids=repr)
def test_the_third_derivative_is_that_of_the_motion(family):
    x = np.random.default_rng(0).normal(size=(2, family.free))
    motion = family.from_free(np.array([0.3, -0.2]), x)
    t = np.linspace(0.013, 3.981, 37)  # between the knots
    differences = (motion.at(t + 1e-5)[2] - motion.at(t - 1e-5)[2]) / 2e-5
    np.testing.assert_allclose(motion.jerk(t), differences, rtol=1e-5, atol=1e-5 * np.abs(differences).max())


@pytest.mark.parametrize("family", [Fourier(6.0, 4), Spline(6.0, 8)], ids=lambda f: type(f).__name__)
def test_a_motion_keeps_its_jerk(family):
    robot = read_robot("planar2r")
    limits = motion_limits(robot)
    free = excite(robot, family, limits=limits, optimality=PLAIN, search=QUICK)
    asked = 0.2 * largest_jerk(free.motion, 5001)
    found = excite(robot, family, limits=limits.with_jerk(asked), optimality=PLAIN, search=QUICK)
    used = largest_jerk(found.motion, 601) / asked
    assert used.max() <= 1 + 1e-9 and used.max() > 0.5
    assert found.margins.jerk is not None and max(found.margins.jerk) <= 1 + 1e-9
    assert "jerk" in found.claims.checked[0] and "jerk" in found.to_dict()["margins"]


def test_what_limits_a_motion_that_cannot_be_is_named():
    robot = read_robot("planar2r")
    limits = motion_limits(robot).with_jerk([1e-8, 50.0])
    with pytest.raises(Infeasible, match="under its jerk limit"):
        excite(robot, Fourier(6.0, 3), limits=limits, optimality=PLAIN, search=QUICK)


def test_motions_without_limits_of_jerk_do_not_claim_them():
    limits = motion_limits(read_robot("planar2r"))
    assert "limits of jerk (none given)" in claims(limits).unchecked
    assert not any("jerk" in phrase for phrase in claims(limits.with_jerk(10)).unchecked)


def test_sampled_motions_are_held_against_it_too():
    robot = read_robot("planar2r")
    base = base_parameters(robot, rotors=True, friction=True)
    found = excite(robot, Fourier(6.0, 3), optimality=PLAIN, search=QUICK)
    asked = largest_jerk(found.motion, len(found.trajectory.t))
    for factor, is_kept in ((1.001, True), (0.9, False)):
        checker = Checker(found.limits.with_jerk(factor * asked), base, None)
        margins = checker.trajectory(found.trajectory)
        assert margins.is_feasible is is_kept
    assert "times its jerk limit" in checker.explain(margins)


def test_sweeps_keep_it():
    robot = read_robot("planar2r")
    limits = motion_limits(robot)
    free = [float(largest_jerk(s.motion, 2001).max()) for s in sweeps(robot, limits=limits)]
    kept = sweeps(robot, limits=limits.with_jerk(0.3 * min(free)))
    assert all(largest_jerk(s.motion, 2001).max() <= 0.3 * min(free) * (1 + 1e-9) for s in kept)


def test_tables_give_it():
    robot = read_robot("planar2r")
    found = limits_from_tables(robot, [LimitsTable({"jerk": [30.0, 40]})])
    np.testing.assert_array_equal(found.jerk, [30, 40])
    with pytest.raises(Infeasible, match="'jerk' must be a number above 0"):
        limits_from_tables(robot, [LimitsTable({"jerk": 0})])
    with pytest.raises(ShapeError, match="limits of jerk"):
        motion_limits(robot).with_jerk([1, 2, 3])
    assert replace(found, jerk=None).jerk is None


# ---------------------------------------------------------------------- drawn limits


def held(name: str, seeds: range) -> Counter[str]:
    """What came of some draws; each must be a motion without a fault, or a refusal that names what is in the way."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        found: Outcome = outcome(name, seed, jerk=True)
        assert not found.faults, (seed, found.faults)
        assert found.motion is not None or NAMED.search(found.refusal), (seed, found.refusal)
        seen["motions" if found.motion is not None else "refusals"] += 1
    return seen


@pytest.mark.parametrize("name", ["puma560_physical", "scara"])
def test_a_sample_of_draws(name):
    pytest.importorskip("mujoco")
    assert held(name, range(2))["motions"]


@pytest.mark.slow
@pytest.mark.parametrize("name", TREES)
def test_draws(name):
    pytest.importorskip("mujoco")
    assert held(name, range(200, 200 + DRAWS))["motions"] >= (0 if lacks_values(name) else 0.5 * DRAWS)


@pytest.mark.slow
@needs_shared
@pytest.mark.parametrize("name", files(), ids=lambda name: Path(name).name)
def test_draws_of_files(name):
    pytest.importorskip("mujoco")
    count = draws_of(name)
    assert held(name, range(200, 200 + count))["motions"] >= (0 if lacks_values(name) else 0.4 * count)


def test_draws_are_many():
    """At least two hundred over the bundled robots and the files."""
    counted = sum(draws_of(name) for name in [*TREES, *files()])
    assert counted >= (200 if SHARED.is_dir() else 100)

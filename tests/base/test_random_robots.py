"""Base parameters of two thousand random chains and trees: the count is the rank, and every method agrees."""

from __future__ import annotations

import numpy as np
import pytest

from minertia.base.derive import base_parameters
from minertia.base.grouping import matrix_of
from minertia.base.numeric import random_states, rank_and_gap, triangle
from minertia.dynamics.model import inverse_dynamics
from tests.base.derived import Derived
from tests.oracles import PinocchioOracle
from tests.random_robots import random_robot

CHUNK = 50


def chunks(count: int) -> list[object]:
    """Where chunks of seeds start; all but the first run in make test-all only."""
    return [pytest.param(s, marks=pytest.mark.slow if s else ()) for s in range(0, count, CHUNK)]


def make(seed):
    return random_robot(seed, tree=seed % 3 == 1, floating=seed % 11 == 5, mimic=seed % 7 == 3)


@pytest.mark.parametrize("start", chunks(2000))
def test_every_method_finds_the_rank_and_the_same_space(start):
    for seed in range(start, start + CHUNK):
        robot, rotors = make(seed), seed % 2 == 1
        derived = Derived(robot, rotors=rotors)
        closed, lin = derived.by("closed-form"), derived.by("mlc")
        assert (closed.method, lin.method) == ("closed-form", "mlc"), seed
        assert closed.count == lin.count == closed.certificate.rank, seed
        assert max(closed.certificate.error, lin.certificate.error) < 1e-9, seed
        assert closed.certificate.is_clear, seed
        T = closed.conversion_to(lin)
        assert np.abs(lin.K - T @ closed.K).max(initial=0.0) < 1e-9 * max(1.0, np.abs(lin.K).max(initial=0.0)), seed
        if closed.count:
            assert np.linalg.cond(T) < 1e9, seed


@pytest.mark.parametrize("start", chunks(200))
def test_the_rank_agrees_with_an_independent_regressor(start):
    for seed in range(start, start + CHUNK):
        robot = random_robot(seed, tree=seed % 3 == 1, floating=seed % 11 == 5)
        oracle = PinocchioOracle(robot)
        states = zip(*random_states(robot, 80, seed + 1), strict=True)
        Y = np.vstack([oracle.regressor(*state) for state in states])
        rank, gap = rank_and_gap(triangle(Y))
        closed = base_parameters(robot)
        assert closed.count == rank, seed
        assert np.abs(Y - Y[:, closed.kept_indices] @ closed.K).max() < 1e-9 * np.abs(Y).max(), seed


@pytest.mark.parametrize("start", chunks(300))
def test_numeric_method_and_regrouped_torques(start):
    for seed in range(start, start + CHUNK):
        robot = make(seed)
        found = base_parameters(robot, "numeric", rotors=True, friction=True)
        assert found.count == found.certificate.rank
        assert found.certificate.error < 1e-9
        q, qd, qdd = random_states(robot, 5, seed)
        tau = inverse_dynamics(robot, q, qd, qdd)
        by_base = found.regressor(q, qd, qdd) @ found.values()
        assert np.abs(by_base - tau).max() < 1e-9 * max(np.abs(tau).max(), 1e-9), seed


@pytest.mark.slow
def test_papers_rules_suffice_under_gravity():
    """With gravity and no dependent joints the letters alone reach the rank: nothing is left to the numbers."""
    for seed in range(400):
        if seed % 4 != 3:
            robot = random_robot(seed, tree=seed % 3 == 1, floating=seed % 11 == 5)
            assert not any(base_parameters(robot).is_numeric), seed


def test_zero_gravity_needs_the_completion():
    """The rules keep too many where gravity is zero and axes meet; the completion says so and gets it right."""
    marked = 0
    for seed in range(3, 400, 4):
        found = base_parameters(random_robot(seed))
        assert found.count == found.certificate.rank
        written = matrix_of(found.relations, found.columns, found.robot.symbol_values)
        assert np.allclose(written, found.K, rtol=1e-9, atol=1e-9), seed
        marked += any(found.is_numeric)
    assert marked > 5

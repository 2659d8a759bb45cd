"""Presliding friction: the stop operator, and a joint with a Maxwell-slip model that is identified."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minertia as mi
from minertia.dynamics.presliding import displacements, displacements_in_time, next_displacement
from minertia.identification.problem.path import presliding_of, with_path
from minertia.identification.signals.filtering import Motion

PATHS = st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=200).map(lambda steps: np.cumsum(steps))
LARGEST = st.floats(0.01, 3.0)


@settings(max_examples=50, deadline=None)
@given(q=PATHS, largest=LARGEST, start=st.floats(-1.0, 1.0))
def test_a_batch_is_the_steps_one_by_one(q: np.ndarray, largest: float, start: float) -> None:
    z, wanted = start * largest, []
    for step in np.diff(q, prepend=q[0]):
        z = next_displacement(z, float(step), largest)
        wanted.append(z)
    np.testing.assert_allclose(displacements(q, largest, start * largest), wanted, atol=1e-12)


@settings(max_examples=50, deadline=None)
@given(q=PATHS, largest=LARGEST, between=st.integers(2, 5))
def test_only_the_path_counts_not_the_time(q: np.ndarray, largest: float, between: int) -> None:
    """Samples between two positions, however many, change nothing at the positions themselves."""
    dense = np.interp(np.arange(between * (len(q) - 1) + 1) / between, np.arange(len(q)), q)
    np.testing.assert_allclose(displacements(dense, largest)[::between], displacements(q, largest), atol=1e-12)


@settings(max_examples=50, deadline=None)
@given(q=PATHS, largest=LARGEST)
def test_a_closed_loop_costs_work(q: np.ndarray, largest: float) -> None:
    """After one round the loop repeats itself, and the work of a round is never negative; small rounds are elastic."""
    rounds = np.concatenate([q, q[-2::-1], q[1:], q[-2::-1]])
    z = displacements(rounds, largest)
    last = slice(len(rounds) // 2, None)
    work = float(np.sum(0.5 * (z[last][1:] + z[last][:-1]) * np.diff(rounds[last])))
    assert work >= -1e-9
    np.testing.assert_allclose(z[-1], z[len(rounds) // 2], atol=1e-12)
    if np.ptp(q) <= largest:
        assert work == pytest.approx(0.0, abs=1e-9)


def test_after_a_gap_the_path_is_unknown() -> None:
    t = np.concatenate([np.arange(5.0), 20 + np.arange(5.0)])
    np.testing.assert_array_equal(displacements_in_time(t, t, 2.0), [0, 1, 2, 2, 2, 0, 1, 2, 2, 2])


ROBOT = mi.read_robot("planar2r").with_gravity((9.81, 0, 0)).with_parameters(
    {"M1": 2.0, "MX1": 0.4, "ZZ1": 0.12, "M2": 1.0, "MX2": 0.15, "ZZ2": 0.04}
)  # fmt: skip
PLANTED = {"FC1": 0.4, "FV1": 0.5, "FP1": 0.9, "FC2": 0.2, "FV2": 0.3, "FP2": 0.5}
DISPLACEMENTS = {"FP1": {"displacement": 0.03}, "FP2": {"displacement": 0.01}}


def recorded(seed: int) -> mi.Recording:
    """Slow motion with small turns, and the efforts that planted elements need, step by step."""
    t = np.arange(0.0, 20.0, 0.005)
    q, qd, qdd = np.zeros((3, len(t), 2))
    for size, w in ((0.4, 0.9), (0.1, 2.9), (0.03, 7.1)):
        angle = w * t[:, None] + seed + np.array([0.0, 1.3]) * w
        q, qd, qdd = q + size * np.sin(angle), qd + size * w * np.cos(angle), qdd - size * w**2 * np.sin(angle)
    smooth = {name: value for name, value in PLANTED.items() if not name.startswith("FP")}
    tau = mi.inverse_dynamics(ROBOT.with_parameters(smooth), q, qd, qdd)
    for j in range(2):
        largest, z = DISPLACEMENTS[f"FP{j + 1}"]["displacement"], 0.0
        for k, step in enumerate(np.diff(q[:, j], prepend=q[0, j])):
            z = next_displacement(z, float(step), largest)
            tau[k, j] += PLANTED[f"FP{j + 1}"] * z / largest
    return mi.Recording(t, q, tau + 0.01 * np.random.default_rng(seed).normal(size=tau.shape))


def test_planted_elements_are_found(tmp_path) -> None:
    """Friction, displacement, the written model, its prediction of another log, and what its code says of it."""
    effects = ["rotor", "viscous", "coulomb", "offset", "presliding"]
    found = mi.identify(ROBOT, recorded(1), validate=recorded(2), effects=effects)
    values = dict(zip(found.estimate.names, found.estimate.beta, strict=True))
    for name in ("FC1", "FC2"):
        assert values[name] == pytest.approx(PLANTED[name], rel=0.1)
    for j, constants in ((1, DISPLACEMENTS["FP1"]), (2, DISPLACEMENTS["FP2"])):
        assert values[f"FP{j}@{constants['displacement']:g}"] == pytest.approx(PLANTED[f"FP{j}"], rel=0.05)
    model = found.model(physical=False)
    mi.write_model(model, tmp_path / "model.toml")
    again = mi.read_model(tmp_path / "model.toml")
    (before,), (after,) = (mi.validate(one, recorded(2)) for one in (model, again))
    assert after.relative == pytest.approx(before.relative, rel=1e-9)
    assert after.relative < 0.02


def test_the_path_is_carried_from_block_to_block() -> None:
    problem = mi.build_problem(mi.Campaign(ROBOT, recorded(1), effects=[{"kind": "presliding", "displacement": 0.03}]))
    (whole,) = problem.logs[0]
    wanted = presliding_of(problem.linear, whole)
    parts = [_part(whole, slice(k, k + 700)) for k in range(0, len(whole), 600)]  # they overlap
    for part, k in zip(with_path(problem.linear, parts), range(0, len(whole), 600), strict=True):
        for name, values in presliding_of(problem.linear, part).items():
            np.testing.assert_allclose(values, wanted[name][k : k + 700], atol=1e-9)


def _part(motion: Motion, rows: slice) -> Motion:
    return replace(motion.select(rows), channels={})

"""The claims of docs/papers/izaguirre1992.md, with less effort than the page takes."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("mujoco")
from minertia.simulation.control_model import control_model
from minertia.simulation.moves import joint_move
from minertia.simulation.plant import Plant
from minertia.simulation.tracking import Gains, computed_torque, open_loop
from papers import izaguirre1992, izaguirre_coefficients, izaguirre_control, izaguirre_model, puma260

TRAJECTORIES = 4


@pytest.fixture(scope="module")
def campaign():
    return puma260.campaign(TRAJECTORIES)


def test_fifty_two_independent_columns():
    columns, kept, above, below = izaguirre1992.independent(puma260.puma())
    assert (len(columns), len(kept)) == (78, 52)
    assert sum(n[:2] not in ("IA", "FV", "FC") for n in kept) == 34
    assert all(f"IA{j}" in kept for j in range(1, 7)) and "ZZ1" not in kept and "ZZ2" not in kept
    assert below < 1e-12 < 1e-3 < above


def test_statistics_and_significance(campaign):
    every, few = campaign.statistics(False), campaign.statistics(True)
    assert len(every) == 52 and 15 <= len(few) <= 35  # 23 published
    exact = dict(zip(campaign.result.linear.names, campaign.result.linear.nominal(), strict=True))
    for s in few:
        assert s.smallest <= s.mean <= s.largest
        if s.name in ("ZZR1", "ZZR2", "MXR2", "FC2", "FV3"):
            assert s.mean == pytest.approx(exact[s.name], rel=0.05)
    assert izaguirre1992.narrowed(campaign) < 1
    small, large = campaign.singular_values(False)
    fewer, smaller = campaign.singular_values(True)
    assert smaller / fewer < large / small


def test_torque_fit_with_all_and_with_significant(campaign):
    rows = izaguirre1992.fit_rows(campaign, 0)
    assert all(max(values[:3]) < 0.08 for _, values in rows)
    assert max(abs(a - b) for a, b in zip(rows[0][1], rows[1][1], strict=True)) < 0.02


def test_gravity_coefficients(campaign):
    found = izaguirre_model.gravity_coefficients(campaign, True)
    for name, (_, lloyd, _) in izaguirre_model.COEFFICIENTS.items():
        assert found[name] == pytest.approx(lloyd, rel=0.02)


def test_fewer_operations_than_published(campaign):
    names = izaguirre_model.inertial(campaign.significance.essential)
    for (program, payload), (m, a) in izaguirre_model.PUBLISHED_COUNTS.items():
        multiplications, additions, _ = izaguirre_model.counts(names, payload)[program]
        assert multiplications < m and additions < a


def test_open_loop(campaign):
    """Fast moves stay within 10 % of 90 degrees; slow ones are better with gravity at the measured posture."""
    model = control_model(campaign.robot(True))
    plant = Plant(puma260.puma(), period=4e-3, substeps=2)
    held = computed_torque(model, Gains(30.0))

    def error(speed, online, joints):
        motion = joint_move(izaguirre_control.POSTURE, joints, izaguirre_control.QUARTER, speed, plant.period)
        law = puma260.some_open(open_loop(model, gravity_online=online), held, joints)
        return max(izaguirre_control.largest_errors(plant.run(law, motion), joints))

    for joints in ((1,), (0, 1, 2)):
        assert error(izaguirre_control.FAST, False, joints) < 0.1
    slow = {online: error(izaguirre_control.SLOW, online, (0, 1, 2)) for online in (False, True)}
    assert slow[True] < 0.5 * slow[False]


def test_an_older_background_is_worse(campaign, monkeypatch):
    monkeypatch.setattr(izaguirre_control, "model_in_control", lambda: (control_model(campaign.robot(True)), ""))
    motion = joint_move(izaguirre_control.POSTURE, (0, 1, 2), 1.0, 2.0, izaguirre_control.PERIOD)
    _, table = izaguirre_control.update_rates(motion, (1, 10, 100))
    errors = list(table.values())
    assert np.all(np.diff(errors) > 0)


@pytest.mark.slow
def test_a_coupled_wrist_shows_in_the_wrist():
    out, inside = (np.array(values) for _, values in izaguirre1992.coupled_rows(2))
    assert (out[3:] > 1.5 * inside[3:]).any() and (out[:3] < 1.2 * inside[:3]).all()


@pytest.mark.parametrize("name", ["puma260", "puma560", "stanford"])
def test_coefficients_by_momentum_in_classic_frames(name):
    assert max(izaguirre_coefficients.momentum_errors(name)) < 1e-12


def test_christoffel_symbols_cost_more_than_the_recursion():
    assert izaguirre_coefficients.velocity_gap() < 1e-12
    counts = {way: [sum(izaguirre_coefficients.velocity_count(way, n)[:2]) for n in (4, 6, 8)] for way in
              ("christoffel", "recursion")}  # fmt: skip
    cubic, line = counts["christoffel"], counts["recursion"]
    assert line[2] - line[1] == line[1] - line[0]  # O(n)
    assert 2.4 < np.log(cubic[2] / cubic[1]) / np.log(8 / 6) < 3.6  # O(n^3)
    assert cubic[1] > 2 * line[1]


def test_counts_of_the_review():
    (m, a, _), (m0, a0, _) = izaguirre_coefficients.luh_count(), izaguirre_coefficients.standard_count()
    assert 500 < m < 900 and 400 < a < 800  # quoted: 800, 600
    assert m0 < 540 and a0 < 480


def test_the_set_with_rotors_first_is_the_same_space(campaign):
    names, S = izaguirre1992.rotors_first(campaign)
    assert names[:6] == [f"IA{j}" for j in range(1, 7)] and np.linalg.matrix_rank(S) == 52
    alone, together, true = izaguirre1992.in_their_set(campaign)
    assert alone.shape == (52, TRAJECTORIES)
    assert np.allclose(S @ together, campaign.result.beta) and true[0] > puma260.DRIVES["IA"][0]
    keep, every, few = izaguirre1992.their_significance(campaign)
    assert 15 <= keep.sum() <= 35 and every > few


def test_single_short_trajectories_have_the_published_condition_numbers(campaign):
    """25115 for all, 417 for 23, 60 times better: each inside what trajectories of three or four points give."""
    four, three = izaguirre1992.alone(campaign, 4, 1), izaguirre1992.alone(campaign, 3, 3)
    assert four.significant == 23 and four.few.min() < 417 < four.few.max()
    assert three.every.min() < 25115 < three.every.max() and three.gains.min() < 60 < three.gains.max()
    assert np.median(izaguirre1992.alone(campaign, 8, 1).gains) < 6


def test_accelerations_of_blended_segments_reach_five_times_as_far():
    q, qd, qdd = izaguirre_control.blended(puma260.points_of(0), 10.0)
    assert np.allclose(np.diff(q, axis=0) / puma260.SERVO, 0.5 * (qd[1:] + qd[:-1]), atol=0.07)
    assert np.abs(qd).max() <= puma260.FASTEST + 1e-9 and np.isclose(np.abs(qdd).max(), 10.0)
    for acceleration in izaguirre_control.BLENDS:
        widths = [izaguirre_control.blended_widths(acceleration, share) for share in (0.9, 0.95)]
        ratios = [np.median(w[:, 2] / w[:, 1]) for w in widths]
        assert 3 < ratios[0] < 5 < ratios[1] < 8  # published: about five
        assert np.median(widths[0][:, 1] / widths[0][:, 0]) < 2  # positions and velocities are alike

"""Tolerances of ranks and coefficients from both sides, what a certificate must say, which columns are preferred."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from minertia.algebra.linear import Linear
from minertia.algebra.polynomial import evaluate
from minertia.base import numeric, sets
from minertia.base.certificate import Certificate, Redrawn
from minertia.base.derive import Derivation, base_parameters
from minertia.base.islands import MOMENTS, eliminate_along
from minertia.base.mlc import link_of
from minertia.base.numeric import Sample, _scale
from minertia.base.sets import BaseSet, _expected_order, _tips_first
from minertia.io.errors import RankError
from minertia.robot.files import read_robot
from tests.random_robots import random_robot


def test_columns_are_scaled_unless_they_are_rounding():
    directions = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 5)))[0]
    unit, lengths = numeric.scaled(directions * [7.0, 7e-3, 7 * 4e-9, 7 * 2e-10, 0.0])
    np.testing.assert_allclose(lengths, [7.0, 7e-3, 7 * 4e-9, 0.0, 0.0])
    np.testing.assert_allclose(np.linalg.norm(unit, axis=0), [1, 1, 1, 0, 0])
    np.testing.assert_allclose(unit[:, :3], directions[:, :3])


@pytest.mark.parametrize(("angle", "rank"), [(1e-8, 2), (2e-10, 1)])
def test_the_rank_of_columns_at_a_small_angle(angle, rank):
    """Their singular values are as the root of two to the angle over that root."""
    R = np.array([[3.0, 5 * math.cos(angle)], [0.0, 5 * math.sin(angle)]])
    found, gap = numeric.rank_and_gap(R)
    assert found == rank
    assert gap == pytest.approx(2 / angle, rel=0.1) if rank == 1 else gap > 1e8
    np.testing.assert_allclose(numeric.singular_values(R)[0], math.sqrt(2))


@pytest.mark.parametrize(("small", "is_cleared"), [(4e-10, True), (4e-9, False)])
def test_coefficients_are_cleared_below_a_part_in_a_thousand_millions(small, is_cleared):
    found = numeric.cleared(np.array([[small, 1 + small, 0.5, -3 - small]]))
    assert np.array_equal(found, [[0.0, 1.0, 0.5, -3.0]]) == is_cleared
    assert is_cleared or found[0, 0] == small


def test_large_robots_need_fewer_states():
    """Four rows for each column at least, and a hundred states, or fifty where each gives many rows."""
    arm, hand = SimpleNamespace(n_velocity=6), SimpleNamespace(n_velocity=40)
    assert numeric.enough_states(arm, 60) == 100 and numeric.enough_states(arm, 190) == 127
    assert numeric.enough_states(hand, 200) == 100 and numeric.enough_states(hand, 400) == 50
    assert numeric.enough_states(hand, 4000) == 400


def test_states_reach_everywhere():
    robot = random_robot(2, n=6)
    kinds = [joint.kind for joint in robot.joints]
    assert len(set(kinds)) == 2
    q = numeric.random_states(robot, 3000, 0)[0]
    for column, kind in zip(q.T, kinds, strict=True):
        reach = math.pi if kind == "revolute" else 1.0
        assert 0.98 * reach < np.abs(column).max() <= reach and np.std(column) == pytest.approx(
            reach / 3**0.5, rel=0.05
        )
    q, qd, _ = numeric.random_states(random_robot(2, n=3, floating=True), 3000, 0)
    assert np.std(q[:, :3], axis=0) == pytest.approx([1.0] * 3, rel=0.1) and qd.shape[1] == 9
    assert np.abs(q[:, 3:7].mean(axis=0)).max() < 0.05


def certified(rank: int = 3, gap: float = 1e9, error: float = 1e-14, redrawn: Redrawn | None = None) -> bool:
    """Whether a certificate holds for a set of three parameters."""
    found = BaseSet((), (), np.zeros((3, 3)), (0, 1, 2), (False,) * 3)
    return Derivation._holds(None, found, Certificate(rank, gap, error, 100, 0, redrawn))  # type: ignore[arg-type]


def test_a_certificate_holds_where_everything_does():
    assert certified() and certified(gap=2e3) and certified(error=5e-10)
    assert not certified(rank=2) and not certified(rank=4)
    assert not certified(gap=500.0) and not certified(error=2e-9)


def test_a_second_draw_of_the_letters_must_agree():
    def again(count: int, rank: int, error: float) -> Redrawn:
        return Redrawn({}, count, rank, 1e9, error)

    assert certified(redrawn=again(3, 3, 1e-14)) and certified(redrawn=again(3, 3, 5e-10))
    assert not certified(redrawn=again(3, 3, 2e-9))  # the relations are not those of any letters
    assert not certified(redrawn=again(3, 2, 1e-14))  # nor are the parameters independent
    assert certified(redrawn=again(4, 3, 1e-14))  # this robot's own numbers allow fewer than most


@pytest.mark.parametrize(
    "u", [(0.6, 0.8, 0.0), (0.6, 0.0, 0.8), (0.48, 0.6, 0.64), (0.6, 0.8, 1e-5), (0.6, 0.8, 5e-4), (0.6, 0.8, 4e-3)]
)
def test_a_first_moment_along_the_turning_axis_never_shows(u):
    """What is left is the same with any part along the axis added; nothing was divided by next to nothing."""
    x = {name: Linear.unit(name) for name in MOMENTS}
    eliminate_along(x, u, {})
    gone = [name for name in MOMENTS if not isinstance(x[name], Linear)]
    assert gone == [MOMENTS[max(k for k in range(3) if u[k] > 1e-3)]]
    for name in set(MOMENTS) - set(gone):
        along = sum(float(v) * u[MOMENTS.index(str(s))] for s, v in x[name].terms.items())
        assert along == pytest.approx(0.0, abs=1e-12) and x[name].terms[name] == 1
        assert max(abs(float(v)) for v in x[name].terms.values()) < 1e3


@pytest.mark.parametrize(("small", "is_shown"), [(3e-12, True), (3e-13, False)])
def test_columns_are_shown_down_to_rounding(small, is_shown):
    """Of columns of the same unit; however many are asked for, only those that are shown are chosen."""
    sample = Sample.of_matrix(np.diag([1.0, 0.5, small]))
    assert sample.shown.tolist() == [True, True, is_shown]
    assert sample.rank_and_gap(range(3))[0] == sample.rank_and_gap([0, 1])[0] + is_shown
    assert sample.chosen(range(3), 9) == [0, 1, 2][: 2 + is_shown]


@pytest.mark.parametrize(("angle", "chosen"), [(2e-5, [0, 1]), (4e-6, [0, 2])])
def test_a_column_may_be_preferred_down_to_a_small_angle(angle, chosen):
    """A hundred thousandth of what is left of the best one must be left of it."""
    columns = np.array([[1.0, math.cos(angle), 0.0], [0.0, math.sin(angle), 1.0]])
    assert Sample.of_matrix(columns).chosen(range(3), 2) == chosen


@pytest.mark.parametrize("seed", [3, 7, 11, 15, 19])
def test_what_is_merged_by_the_rank_keeps_its_ones(seed):
    """Whole numbers stay whole in relations that are merged numerically."""
    found = base_parameters(random_robot(seed).with_gravity((0.0, 0.0, 0.0)))
    ones = [v for form in found.relations for v in form.terms.values() if isinstance(v, int | float) and abs(v) == 1]
    assert ones and all(type(v) is int for v in ones)


def test_columns_are_measured_by_the_longest_of_their_unit():
    names = ("XX1", "ZZ2", "MX1", "MZ2", "M1", "M2", "IA1", "IA2", "FV1")
    found = _scale(names, np.array([1.0, 5.0, 2.0, 0.5, 3.0, 30.0, 7.0, 4.0, 0.1]))
    np.testing.assert_array_equal(found, [5.0, 5.0, 2.0, 2.0, 30.0, 30.0, 7.0, 7.0, 0.1])


COLUMNS = ("YY1", "ZZ1", "FV1", "MX2", "M2", "ZZ2", "FV2", "YY2")


def test_columns_are_preferred_from_the_tips_and_by_what_the_rules_leave():
    def named(order: list[int]) -> list[str]:
        return [COLUMNS[c] for c in order]

    every = range(len(COLUMNS))
    assert named(_tips_first(COLUMNS, every, ())) == ["FV2", "ZZ2", "MX2", "M2", "YY2", "FV1", "ZZ1", "YY1"]
    assert named(_tips_first(COLUMNS, every, ("YY1",)))[:2] == ["YY1", "FV2"]
    turning = SimpleNamespace(n_joints=2, joints=[SimpleNamespace(kind="revolute")] * 2)
    sliding = SimpleNamespace(n_joints=2, joints=[SimpleNamespace(kind="revolute"), SimpleNamespace(kind="prismatic")])
    found = named(_expected_order(turning, COLUMNS, ()))  # type: ignore[arg-type]
    assert found == ["ZZ2", "MX2", "ZZ1", "FV2", "FV1", "M2", "YY2", "YY1"]
    found = named(_expected_order(sliding, COLUMNS, ("YY2",)))  # type: ignore[arg-type]
    assert found == ["YY2", "M2", "MX2", "ZZ1", "FV2", "FV1", "ZZ2", "YY1"]


def test_any_column_of_a_relation_can_stand_for_it():
    """Letters stay letters, and no coefficient grows: one divides by the largest there is."""
    robot = read_robot("puma560")
    plain = base_parameters(robot)
    for name, kind in plain.classes().items():
        if kind != "none" and name not in plain.kept:
            found = base_parameters(robot, keep=(name,))
            assert name in found.kept and not any(found.is_numeric) and found.certificate.error < 1e-11
            assert np.abs(found.K[:, found.columns.index(name)]).sum() == 1.0
            assert np.abs(found.K).max() < 60.0, name


def test_numbers_are_called_so_where_letters_stand_in_the_rules():
    robot = read_robot("puma560")
    letters = {name: float(value) for name, value in robot.symbol_values.items()}
    assert letters
    closed, numbers = base_parameters(robot), base_parameters(robot, "numeric")
    has_letters = {}
    for kept, form in zip(closed.kept, closed.relations, strict=True):
        has_letters[kept] = not all(isinstance(v, int) for v in form.terms.values())
    assert dict(zip(numbers.kept, numbers.is_numeric, strict=True)) == has_letters
    assert any(has_letters.values()) and not all(has_letters.values())


@pytest.mark.parametrize("size", [1e-3, 1e3])
@pytest.mark.parametrize("seed", [0, 2, 4])
def test_lengths_in_other_units_leave_the_set_as_it_is(seed, size):
    """Lengths and gravity in millimetres or kilometres: the same columns, or others of the same relations."""
    robot = random_robot(seed)
    joints = tuple(replace(joint, p=tuple(x if x == 0 else size * float(x) for x in joint.p)) for joint in robot.joints)
    scaled = replace(robot, joints=joints, gravity=tuple(size * g for g in robot.gravity))
    ours, theirs = base_parameters(robot), base_parameters(scaled)
    assert (ours.count, ours.kept) == (theirs.count, theirs.kept)
    assert theirs.certificate.is_clear and theirs.certificate.error < 1e-9


def at_own_values(relations):
    """A method whose relations hold at the robot's own lengths only, and for no other letters."""

    def numbers(robot, columns, axes=None):
        values = robot.symbol_values
        return {
            name: Linear({c: float(evaluate(v, values)) for c, v in form.terms.items()})
            for name, form in relations(robot, columns, axes).items()
        }

    return numbers


def test_combinations_that_hold_at_the_robots_own_letters_only_are_not_certified(monkeypatch):
    robot = read_robot("puma560")
    found = base_parameters(robot, "mlc")
    assert found.method == "mlc" and found.certificate.redrawn.error < 1e-12
    assert found.certificate.redrawn.count == found.certificate.redrawn.rank == 36
    monkeypatch.setattr(sets, "minimal_combinations", at_own_values(sets.minimal_combinations))
    assert base_parameters(robot, "mlc").method == "numeric"


def test_rules_that_hold_at_the_robots_own_letters_only_are_an_error(monkeypatch):
    monkeypatch.setattr(sets, "closed_form", at_own_values(sets.closed_form))
    with pytest.raises(
        RankError, match="at other values of its symbols the relations are wrong by .*; derive numeric relations"
    ):
        base_parameters(read_robot("puma560"))


def test_rounding_in_a_matrix_leaves_whole_numbers_whole():
    rng = np.random.default_rng(0)
    kept, K = rng.normal(size=(30, 3)), np.array([[1.0, 0, 0, 2.0, 0.25], [0, 1, 0, 0, -1], [0, 0, 1, 1, 0]])
    exact = kept @ K
    noisy = Sample.of_matrix(exact + 1e-13 * rng.normal(size=exact.shape)).express([0, 1, 2])
    assert np.array_equal(np.delete(noisy, 4, axis=1), np.delete(K, 4, axis=1))
    assert noisy[0, 4] == pytest.approx(0.25, abs=1e-11) and noisy[2, 4] == 0.0
    off = Sample.of_matrix(exact + 1e-6 * rng.normal(size=exact.shape)).express([0, 1, 2])
    assert off[0, 3] != 2.0 and off[0, 3] == pytest.approx(2.0, abs=1e-4)


def test_names_of_combinations_tell_their_link():
    found = base_parameters(read_robot("puma560"), "mlc", rotors=True, friction=True)
    assert {link_of(name) for name in found.names} == set(range(1, 7))
    assert [link_of(name) for name in ("U11mU22_3", "KA_12", "MH_0", "FV4", "IA11")] == [3, 12, 0, 4, 11]

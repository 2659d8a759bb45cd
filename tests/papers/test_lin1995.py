"""Combinations, counts and identification of Lin 1995, as the page claims them."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from papers.page import FOLDER
from scipy.spatial.transform import Rotation

from minertia.base.derive import base_parameters
from minertia.robot.files import read_robot
from minertia.robot.inertia import transport
from minertia.robot.parameters import LINK_SYMBOLS
from papers import lin1995, lin_by_hand, lin_combinations, lin_counts, lin_formulation
from papers import lin_identification as identification
from tests.codegen import robots

COMMITTED = (FOLDER / "lin1995.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def lin():
    return base_parameters(read_robot("stanford"), "mlc")


def test_theorem_2(lin):
    assert lin_combinations.theorem_2(lin.robot) == list(lin.names)
    assert lin.count == 33 == lin.certificate.rank
    assert lin_combinations.recursion_error(lin) < 1e-12


def test_the_two_sets_differ_by_a_square_matrix(lin):
    closed = base_parameters(lin.robot)
    T = closed.conversion_to(lin)
    assert np.linalg.matrix_rank(T) == 33
    assert np.allclose(T @ closed.K, lin.K, atol=1e-12)
    assert lin_combinations.converted(closed, lin)["K2_2"] == "MY2 - MZR3"


def test_table_ii_adds_up_to_the_printed_total():
    assert lin_counts.lost_entry() == lin_counts.pair(lin_counts.TABLE_II["r < i < s, T"][9])
    (_, m0), (_, a0) = lin_counts.TABLE_III[-1][1]
    assert lin_counts.constant_of_table_ii() == (m0, a0)


@pytest.mark.parametrize("column", lin_counts.OURS_BY_COLUMN)
def test_one_more_joint_costs_less_than_in_table_ii(column):
    m, a, _ = lin_counts.more(*lin_counts.OURS_BY_COLUMN[column])
    theirs = lin_counts.whole_column(column)
    assert m <= theirs[0] and a <= theirs[1]


def test_table_iii_ours_is_below_every_published_count():
    slope_m, slope_a, _, _, fits = lin_counts.general_formula()
    assert fits
    ours = [lin_counts.count(robots.stanford()), lin_counts.count(robots.stanford_usual())]
    for _, (m, a), *arms in lin_counts.TABLE_III:
        assert all(slope_m[0] * n + slope_m[1] < m[0] * n + m[1] for n in lin_counts.SIZES)
        assert all(slope_a[0] * n + slope_a[1] < a[0] * n + a[1] for n in lin_counts.SIZES)
        for (m1, a1), theirs in zip(ours, arms, strict=True):
            assert theirs is None or (m1 < theirs[0] and a1 < theirs[1])


@pytest.mark.slow
def test_the_committed_page_holds_what_is_computed(lin):
    for name, text in lin.relation_texts().items():
        assert re.search(rf"^{name} += {re.escape(text)}$", COMMITTED, flags=re.M), name
    for cells in lin1995._our_rows():
        assert "| " + " | ".join(cells) + " |" in COMMITTED


def test_identification_of_the_committed_page():
    """Two of its motions, within what rounding may do on another machine."""
    for name, motion in islice(identification.motions(), 2):
        found = identification.trial(name, motion)
        assert found.exact < 1e-12
        cells = next(line for line in COMMITTED.splitlines() if line.startswith(f"| {name} |")).split("|")[2:-1]
        assert np.allclose([float(c) for c in cells[:6]], found.conditions[::-1], rtol=0.01)
        assert float(cells[7].strip(" %")) == pytest.approx(100 * found.noisy, rel=0.06)


def test_the_small_problems_hold_the_unknowns_of_one_body_each():
    Y = identification.model().columns(*np.random.default_rng(0).normal(size=(3, 50, 6)))
    links = np.array([identification.link_of(name) for name in identification.model().names])
    for i in range(6):
        assert np.abs(Y[:, i, links < i + 1]).max(initial=0.0) < 1e-12


def test_composite_bodies_are_counted_as_they_are():
    """The recursion that is counted is that of the product, with a rotation of two turns."""
    rng = np.random.default_rng(0)
    link, behind = (dict(zip(LINK_SYMBOLS, rng.normal(size=10), strict=True)) for _ in range(2))
    found = lin_counts.composite_body(link, behind, 0.6)
    turn = Rotation.from_euler("x", lin_counts.TWIST) * Rotation.from_euler("z", lin_counts.ANGLE)
    p = np.array([lin_counts.DISTANCE, 0, 0]) + turn.apply([0, 0, 0.6])
    there = transport(behind, (turn.as_matrix().tolist(), p.tolist()))
    assert found == pytest.approx({s: link[s] + there[s] for s in LINK_SYMBOLS})
    (m, a), (m6, a6) = lin_counts.composite()
    assert m + m6 < 8 + 50 and a + a6 < 7 + 40  # Lin's, section III


def test_counts_with_gravity_anywhere_are_below_the_papers():
    """Lin 1995, table III: (89n-82)M (77n-71)A, Stanford arm 231M 219A, usual symmetric links 139M 101A."""
    (m, m0), (a, a0), (turns, _), saved, fits = lin_counts.general_formula(lin_counts.tilted)
    assert fits and m <= 87 and a <= 75 and m0 <= -116 and a0 <= -109 and turns == 2 and saved >= 1
    for name, arm, limit in (
        ("stanford_tilted", robots.stanford(), (228, 212)),
        ("stanford_usual_tilted", robots.stanford_usual(), (139, 100)),
    ):
        for found in (lin_counts.searched(name, lin_counts.tilted(arm)), lin_counts.count(lin_counts.tilted(arm))):
            assert found[0] <= limit[0] and found[1] <= limit[1]


def test_his_formulation_is_counted_below_his_counts_but_for_the_slides_first_moment():
    emitted = lin_counts.general_formula(lin_counts.tilted, "mlc")
    assert emitted.fits and emitted.M <= (87, -116) and emitted.A <= (75, -109)
    m, a = lin_counts.count(lin_counts.tilted(robots.stanford()), "mlc")
    assert m <= 231 and a <= 219
    usual = replace(robots.stanford_usual(), gravity=lin_by_hand.ALONG_X)
    assert lin_by_hand.whole(lin_by_hand.written_out(usual, lin_by_hand.SLIDES_MOMENT)) == (139, 101)  # as printed
    whole = lin_by_hand.whole(lin_by_hand.written_out(replace(robots.stanford(), gravity=lin_by_hand.ALONG_X)))
    assert whole[0] == 231 and whole[1] <= 219


def test_counts_by_hand():
    along, anywhere = lin_by_hand.constants((92, 81))
    assert along[0] == -127 and abs(along[1] + 117) <= 1 and anywhere[0] == along[0] + 6
    sums = [lin_counts.total([part[k] for part in lin_by_hand.COMPOSITE_PARTS]) for k in (1, 2)]
    assert sums == [(8, 7), (11, 9)]
    for robot in (robots.puma560(), robots.rx90()):
        once, each = lin_by_hand.both_turns(robot)
        assert once[0] < each[0] and once[1] < each[1] and once[2] == each[2] + 2


def test_table_i_in_letters():
    assert all(same for *_, same in lin_by_hand.table_i())


def test_the_bundled_arm_is_counted_from_good_columns():
    found = lin_counts.counted(read_robot("stanford"), parameters="base")
    assert found[0] <= 232 and found[1] <= 214


# ---------------------------------------------------------------------- section III


def test_the_formulation_and_every_quantity_on_its_way():
    assert max(gap for _, gap in lin_formulation.effort_errors().values()) < 1e-12
    gaps = lin_formulation.quantity_errors()
    assert set(gaps) == set(lin_formulation.QUANTITIES) and 0 < max(gaps.values()) < 1e-12


def test_identical_to_khalil_and_kleinfinger_without_slides_only():
    turning, sliding = (
        lin_formulation.khalil_kleinfinger_errors(lin_formulation.geometry(kinds, (), False, 7))
        for kinds in ("RRRRRR", "RRTRRR")
    )
    assert max(turning.values()) < 1e-12
    assert min(sliding.values()) > 1e-3


@pytest.mark.parametrize("kinds", ["RRRRR", "RRTRR"])
def test_atkesons_technique_is_exact_for_the_regrouped_set_alone(kinds):
    regrouped, put, lost = lin_formulation.technique_errors(lin_formulation.geometry(kinds, (), False, 2))
    assert regrouped < 1e-12 and put > 0.01
    assert ("K1_2" in lost) == ("T" in kinds)  # his reason; the entries of U fail without a slide, too
    assert "U33_2" in lost


@pytest.mark.parametrize("chain", [("TTRR", (), False, 0), ("RTTRR", (3,), False, 4)], ids=lambda c: c[0])
def test_slides_before_r_and_between_r_and_s(chain):
    robot = lin_formulation.geometry(*chain)
    errors, columns = lin_formulation.procedure(robot)
    assert max(map(abs, errors.values())) < 1e-9
    printed = lin_formulation.printed_columns(robot)
    assert printed and all(np.allclose(columns[i], theirs, atol=1e-12) for i, theirs in printed.items())


def test_rows_of_table_ii_are_named_from_their_equations():
    legible, right = lin_counts.printed_entries()
    assert legible == right == 66 and lin_counts.entry(9, "i ≥ s, R") == lin_counts.lost_entry()

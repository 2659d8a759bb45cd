"""The example, the general relations and the bound of Gautier and Khalil 1990, as the page claims them."""

from __future__ import annotations

import pytest
from papers.letters import polynomial, read

from minertia.base.derive import base_parameters
from minertia.robot.files import read_robot
from papers import gautier_khalil1990 as paper
from papers import gautier_khalil_claims as claims
from papers import gautier_khalil_published as published
from papers import gautier_khalil_relations as relations


@pytest.fixture(scope="module")
def puma():
    return base_parameters(read_robot("puma560"))


def test_the_three_lists_are_the_published_ones(puma):
    none, gone, kept = paper.sets(puma)
    assert set(none) == set(published.WITHOUT_EFFECT)
    assert set(gone) == set(published.REGROUPED)
    assert set(kept) == set(published.KEPT)
    assert len(kept) == published.COUNT == puma.certificate.rank
    assert len(none) + len(gone) + len(kept) == 60


def test_every_relation_equals_the_published_one_in_letters(puma):
    gaps = paper.puma_differences(puma)
    assert len(gaps) == published.COUNT
    assert all(gap == 0 for gap in gaps.values())


def test_every_step_equals_the_published_one(puma):
    gaps = relations.step_differences(puma.robot)
    assert sum(len(step) for step in gaps.values()) == 28
    assert all(gap == 0 for step in gaps.values() for gap in step.values())


def test_the_comparison_sees_a_wrong_sign_and_a_wrong_length(puma):
    ours = dict(zip(puma.names, puma.relations, strict=True))
    right = paper.published_relations()["XYR3"]
    assert polynomial(ours["XYR3"]) - read(right) == 0
    assert polynomial(ours["XYR3"]) - read(right.replace("- D4*MZ4", "+ D4*MZ4")) != 0
    assert polynomial(ours["XYR3"]) - read(right.replace("R4", "R3")) != 0


def test_the_general_relations_but_for_the_factor_the_scan_lost():
    different = [
        (number, name)
        for number, ours, texts in paper.general_relations()
        for name, gap in relations.differences(ours, texts).items()
        if gap != 0
    ]
    assert different == [("(16)", "YYi")]
    whole = published.EQUATION_16["YYi"].replace("2*sin(t)*cos(a)*XZj", "2*sin(t)*cos(a)*sin(a)*XZj")
    assert relations.differences(relations.regrouped("prismatic"), {"YYi": whole}) == {"YYi": 0}


@pytest.mark.parametrize("name", paper.trees())
def test_no_bundled_robot_is_above_the_bound(name):
    _, _, _, bound, across, ours, rank, *_ = paper.bound_row(name)
    assert rank == ours <= across <= bound


def test_the_bound_is_reached():
    assert paper.bound_row("puma560")[3:6] == (38, 38, 36)
    assert paper.bound_row("stanford")[3:6] == (35, 35, 33)


def test_the_appendix():
    assert paper.lambda_matches() == (100, 100)
    assert relations.energy_error("revolute") < 1e-13
    assert relations.energy_error("prismatic") < 1e-13


@pytest.mark.parametrize("text", ["__import__('os')", "D3/2", "x.y", "D3**R3"])
def test_only_sums_and_products_are_read(text):
    with pytest.raises(ValueError, match="not an expression"):
        read(text)


def test_rule_4_holds_in_its_first_sentence_alone():
    found = claims.rule_4([claims.MEETING])
    assert (found.first, found.against_first) == (2, 0)
    assert (found.second, found.against_second, found.masses, found.missing) == (1, 1, 1, ("M",))
    drawn = claims.rule_4(claims.random_chains(40))
    assert drawn.first > 40 and drawn.against_first == 0
    assert drawn.second > drawn.against_second > 0


def test_potential_energy_by_the_recursion_of_the_appendix():
    same, gap = claims.potential_errors()
    assert same == 40 and gap < 1e-12


def test_side_claims_of_19_and_20():
    assert all(classes == "none, none" for *_, classes in claims.side_claims())


def test_minimum_parameters_make_newton_euler_cheaper():
    for _, standard, before, minimum, after in claims.newton_euler_rows():
        assert minimum < standard and after[0] < before[0] and after[1] < before[1]


def test_a_tree_and_a_parallelogram():
    tree = base_parameters(claims.two_arms())
    assert tree.count == tree.certificate.rank == 19
    opened, closed = claims.parallelogram()
    assert (opened.count, closed.count) == (opened.certificate.rank, closed.certificate.rank) == (50, 39)

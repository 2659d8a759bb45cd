"""Table 1, equation (6) and the six rules of Khalil, Bennis and Gautier, as the page claims them."""

from __future__ import annotations

import pytest
from papers.letters import read
from papers.printed_rules import RULES, printed_rules

from minertia.base.derive import base_parameters
from papers import first_links as robots
from papers import khalil_bennis_gautier as paper

NAMES = [chain.name for chain in robots.ROBOTS]


@pytest.mark.parametrize("column", robots.TABLE_1, ids=lambda c: c.condition)
def test_table_1(column):
    assert robots.unseen(column.chain, 2) < 1e-12  # equation (4)
    assert robots.off_table_1(column.chain) < 1e-12
    gone = [s for s in ("MX2", "MY2", "MZ2") if s not in robots.base_of(column.chain).kept]
    assert gone == {"az ≠ 0": ["MZ2"], "az = 0, ay = 0": ["MX2"]}.get(column.condition, ["MY2"])


@pytest.mark.parametrize(
    ("chain", "link", "relations"),
    [(robots.PARALLEL, 2, paper.PARALLEL_RELATIONS), (robots.OBLIQUE, 3, paper.OBLIQUE_RELATIONS)],
    ids=["parallel", "oblique"],
)
def test_equation_6_in_letters(chain, link, relations):
    for kept, text in relations.items():
        ours = paper.added(chain, kept, link)
        assert ours != 0 and ours - read(text) == 0
    assert robots.base_of(chain).classes()[f"MZ{link}"] == "none"


@pytest.mark.parametrize("chain", robots.ROBOTS, ids=NAMES)
def test_the_printed_rules_leave_the_rank_and_give_our_relations(chain):
    left, ours, rank, gap = robots.compared(chain)
    assert left == ours == rank
    assert gap < 1e-9


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_is_exercised_and_needed(rule):
    used = [chain for chain in robots.ROBOTS if printed_rules(chain, robots.VALUES).removed[rule]]
    assert used
    for chain in used:
        without = printed_rules(chain, robots.VALUES, without=rule)
        assert len(without.kept) > len(printed_rules(chain, robots.VALUES).kept)


def test_rule_5_to_the_letter_removes_too_many():
    literal = printed_rules(robots.LINED_UP, robots.VALUES, literal=True)
    left, ours, rank, _ = robots.compared(robots.LINED_UP)
    assert len(literal.kept) < rank == ours == left


def test_without_gravity_the_rules_leave_too_many():
    ours = base_parameters(robots.WEIGHTLESS.robot({}))
    assert len(printed_rules(robots.WEIGHTLESS, {}).kept) > ours.certificate.rank == ours.count


def test_random_chains():
    assert paper.random_counts(40) == (40, 40)


def test_relation_5():
    assert robots.relation_5_error(robots.PARALLEL, 2, 1) < 1e-12
    assert robots.relation_5_error(robots.OBLIQUE, 3, 1) < 1e-12
    assert robots.relation_5_error(robots.TABLE_1[0].chain, 2, 1) > 0.1  # a slide that is not parallel to r1


@pytest.mark.parametrize("chain", robots.ROBOTS, ids=NAMES)
def test_the_parameters_can_be_used_in_newton_euler(chain):
    assert robots.newton_euler_error(chain) < 1e-12


def test_trees_reach_the_rank_with_the_rules_of_slides():
    found = base_parameters(robots.branched())
    assert found.count == found.certificate.rank < robots.general_rules_alone(robots.branched())
    assert "tan(A2)*MZ4" in found.relation_texts()["MYR4"] and not any(found.is_numeric)

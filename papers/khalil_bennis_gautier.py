"""The page of the comment of Khalil, Bennis and Gautier."""

from __future__ import annotations

import re

from minertia.algebra.show import text as written
from minertia.base.derive import base_parameters
from papers import first_links as robots
from papers.letters import Chain, Value, read
from papers.page import Page
from papers.printed_rules import RULES, printed_rules

CHAINS = 150  # random ones
EXACT = 1e-9

# equation (6) on the two chains: what MX and MY of the parallel slide add, link numbers put in
PARALLEL_RELATIONS = {
    "MX1": "cos(T2)*MX2 - sin(T2)*MY2",
    "MY1": "sin(T2)*MX2 + cos(T2)*MY2",
    "ZZ1": "2*D2*cos(T2)*MX2 - 2*D2*sin(T2)*MY2",
}
OBLIQUE_RELATIONS = {
    "MX2": "cos(T3)*MX3 - sin(T3)*MY3",
    "ZZ1": "2*D3*cos(T3)*MX3 - 2*D3*sin(T3)*MY3",
}


def page() -> Page:
    """Table 1, the parallel case, the six rules."""
    result = Page(
        "khalil_bennis_gautier",
        "Khalil, Bennis and Gautier: translational links between the first axes",
        "W. Khalil, F. Bennis, M. Gautier: comment on Gautier and Khalil 1990, direct calculation of minimum set of "
        "inertial parameters of serial robots (a correspondence of the same journal; the copy at hand names neither "
        "volume nor year, so this documentation states none).",
    )
    result.text(
        "r1 is the first rotational joint, r2 the first rotational one that is not parallel to it. The robots of this "
        "page are short chains of rotational (R) and translational (T) joints; A, T and D are twists, turns and "
        "lengths as letters."
    )
    _table_1(result)
    _parallel(result)
    _rules(result)
    _needed(result)
    _literal(result)
    _weightless(result)
    _random(result)
    _newton_euler(result)
    _trees(result)
    return result


# ---------------------------------------------------------------------- table 1


def _table_1(page: Page) -> None:
    page.heading("Table 1: a slide that is not parallel to r1")
    page.text("One robot R T R for each column; link 2 slides. The axis of r1 in its frame, in letters:")
    rows = []
    for column in robots.TABLE_1:
        a = ", ".join(written(s) for s in robots.axis_in_letters(column.chain, 2))
        off = robots.unseen(column.chain, 2)
        rows.append((column.condition, f"`({a})`", _below(off, 1e-12)))
    page.table(("column", "axis of r1 in frame 2", "equation (4): effect of the moment along it, of all"), rows)
    page.text(
        "Table 1 as printed, the same in letters for these robots (times the component that the table divides by), and "
        "what `base_parameters` gives."
    )
    page.table(
        ("column", "published", "in letters", "ours", "difference", "left", "rank"),
        [_column(c) for c in robots.TABLE_1],
    )


def _column(column: robots.Column) -> tuple[object, ...]:
    found = robots.base_of(column.chain)
    forms = robots.table_1_in_letters(column.chain)
    letters = [f"{written(form.terms[kept])} {kept[:2]}R2 = {written(form)}" for kept, form in forms.items()]
    texts = found.relation_texts()
    ours = [
        f"{name} = {rounded(texts[name])}"
        for name, kept in zip(found.names, found.kept, strict=True)
        if _is_moment(kept)
    ]
    gone = [f"{s}2" for s in ("MX", "MY", "MZ") if f"{s}2" not in found.kept]
    return (
        column.condition,
        "; ".join(column.says),
        "; ".join(f"`{line}`" for line in letters) or "nothing to regroup",
        "; ".join(f"`{line}`" for line in ours) + f"; {' '.join(gone)} is gone",
        _below(robots.off_table_1(column.chain), 1e-12),
        found.count,
        found.certificate.rank,
    )


def _is_moment(name: str) -> bool:
    return name in ("MX2", "MY2", "MZ2")


def rounded(text: str) -> str:
    """A relation with its numbers shown to six digits."""
    return re.sub(r"\d+\.\d+(e-?\d+)?", lambda match: f"{float(match[0]):.6g}", text)


# ---------------------------------------------------------------------- the parallel case


def _parallel(page: Page) -> None:
    page.heading("Equation (6): a slide parallel to r1")
    page.text(
        "Two robots: a slide right after r1, and one that stands on an oblique slide. What MX and MY of the parallel "
        "link add to the parameters before it, ours and equation (6) with the letters of the robot put in."
    )
    rows = []
    for chain, link, relations in ((robots.PARALLEL, 2, PARALLEL_RELATIONS), (robots.OBLIQUE, 3, OBLIQUE_RELATIONS)):
        for kept, text in relations.items():
            ours = added(chain, kept, link)
            rows.append((chain.name, kept, f"`{written(ours)}`", f"`{text}`", _yes(ours - read(text) == 0)))
    page.table(("robot", "added to", "ours, expanded", "equation (6)", "equal in letters"), rows)
    classes = [robots.base_of(c).classes()[f"MZ{k}"] for c, k in ((robots.PARALLEL, 2), (robots.OBLIQUE, 3))]
    _relation_5(page)
    page.text(
        f"MZ of the parallel link has no effect on either robot: {_yes(classes == ['none', 'none'])}. On the second "
        "robot MY2 and MZ2 then go through the first column of table 1, whose quotient stays in letters; the "
        "comparison of all coefficients is in the table of the rules below."
    )
    page.code(_shown(robots.PARALLEL))
    page.code(_shown(robots.OBLIQUE))


def _relation_5(page: Page) -> None:
    """What (6) follows from."""
    page.text(
        "(6) follows from (5): h of the first moments of the parallel link j is that of link j - 1, turned into frame "
        "j, less 2 P times h of ZZ of the nearest rotational joint i, P = (-d cos(theta), d sin(theta)). h is the "
        "energy, kinetic and potential, per unit of a parameter. Its components x and y, computed from the energies at "
        "20 random states: how far the two sides differ by more than a constant, which has no effect by (3)."
    )
    rows = [
        (chain.name, j, i, _below(robots.relation_5_error(chain, j, i), 1e-12))
        for chain, j, i in ((robots.PARALLEL, 2, 1), (robots.OBLIQUE, 3, 1))
    ]
    page.table(("robot", "j", "i", "change of the difference"), rows)


def added(chain: Chain, kept: str, link: int) -> Value:
    """What MX and MY of a link add to a kept parameter, as a polynomial."""
    found = robots.base_of(chain)
    form = dict(zip(found.kept, found.relations, strict=True))[kept]
    total: Value = 0
    for name in (f"MX{link}", f"MY{link}"):
        total = total + read(name) * form.terms.get(name, 0)
    return total


def _shown(chain: Chain) -> str:
    found = robots.base_of(chain)
    width = max(len(name) for name in found.names)
    lines = [f"{name:<{width}} = {rounded(text)}" for name, text in found.relation_texts().items()]
    return "\n".join([chain.name, *lines])


# ---------------------------------------------------------------------- the rules


def _rules(page: Page) -> None:
    page.heading("Rules 1 to 6")
    page.text(
        "The printed rules, carried out with numbers by a separate program from the printed equations alone "
        "(`papers/printed_rules.py`): how many parameters each rule removes, how many are left, our count, the rank "
        "of the regressor at random states, and the largest difference between a coefficient of theirs and of ours."
    )
    head = ("robot", *(f"rule {rule}" for rule in RULES), "left", "ours", "rank", "difference")
    page.table(head, [_robot_row(chain) for chain in robots.ROBOTS])
    page.text("By name, for each robot and the rules beyond the first:")
    lines = []
    for chain in robots.ROBOTS:
        removed = printed_rules(chain, robots.VALUES).removed
        lines += [f"{chain.name}: rule {rule}: {' '.join(removed[rule])}" for rule in RULES[1:] if removed[rule]]
    page.code("\n".join(lines))


def _robot_row(chain: Chain) -> tuple[object, ...]:
    removed = printed_rules(chain, robots.VALUES).removed
    left, ours, rank, gap = robots.compared(chain)
    return (chain.name, *(len(removed[rule]) for rule in RULES), left, ours, rank, _below(gap, EXACT))


def _needed(page: Page) -> None:
    page.heading("Every rule is needed")
    page.text(
        "The same program with one rule left out: how many parameters more than the rank are left, on the robot where "
        "most are."
    )
    ranks = [robots.base_of(chain).certificate.rank for chain in robots.ROBOTS]
    rows = []
    for rule in RULES:
        over = [
            len(printed_rules(c, robots.VALUES, without=rule).kept) - r
            for c, r in zip(robots.ROBOTS, ranks, strict=True)
        ]
        rows.append((rule, robots.ROBOTS[over.index(max(over))].name, max(over)))
    page.table(("without rule", "robot", "left above the rank"), rows)


def _literal(page: Page) -> None:
    page.heading("Rule 5 read to the letter")
    left, ours, rank, _ = robots.compared(robots.LINED_UP)
    literal = printed_rules(robots.LINED_UP, robots.VALUES, literal=True)
    page.text(
        "Rule 5 asks that the axis of j be along that of r1. If that is judged at the zero position alone, a third "
        "parallel axis that happens to stand over the first there would lose its first moments, though it moves away "
        "when the second joint turns. We ask that it lie on the line of every rotational axis before it."
    )
    page.table(
        ("robot", "left, to the letter", "left, every axis before", "ours", "rank"),
        [(robots.LINED_UP.name, len(literal.kept), left, ours, rank)],
    )


def _weightless(page: Page) -> None:
    page.heading("Where no rule reaches: no gravity and axes that meet")
    chain = robots.WEIGHTLESS
    printed, ours = printed_rules(chain, {}), base_parameters(chain.robot({}))
    more = [name for name in printed.kept if name not in ours.kept]
    page.table(
        ("robot", "left by the rules", "rank", "ours", "found by the rank alone"),
        [
            (
                chain.name,
                len(printed.kept),
                ours.certificate.rank,
                ours.count,
                " ".join(more),
            )
        ],
    )
    page.text(
        "The paper does not claim this case. Ours ends with the rank of the regressor itself, so what the rules leave "
        "and the rank does not allow is merged and marked."
    )


def _random(page: Page) -> None:
    page.heading("Random chains")
    right, same = random_counts()
    page.text(
        f"Of {CHAINS} random chains of one to five joints, with gravity in three directions, the printed rules leave "
        f"as many parameters as the rank in {right}, and their relations are ours to {EXACT:g} in {same}."
    )


def random_counts(chains: int = CHAINS) -> tuple[int, int]:
    """Random chains on which the printed rules leave the rank, and on which they give our relations."""
    found = [robots.compared(robots.random_chain(seed), {}) for seed in range(chains)]
    return sum(left == rank for left, _, rank, _ in found), sum(gap < EXACT for *_, gap in found)


def _newton_euler(page: Page) -> None:
    page.heading("The parameters in Newton-Euler")
    page.text(
        "The main advantage that the comment claims: the minimum parameters can be used directly in the classical "
        "Newton-Euler algorithm. The values that the printed rules leave, from random standard parameters, are put in "
        "the places of the standard ones that they are named after. All others are zero. The efforts at 20 random "
        "states, against those of all standard parameters, over the largest effort:"
    )
    rows = [
        (chain.name, 10 * len(chain.kinds), len(printed_rules(chain, robots.VALUES).kept), _below(gap, 1e-12))
        for chain, gap in ((chain, robots.newton_euler_error(chain)) for chain in robots.ROBOTS)
    ]
    page.table(("robot", "standard parameters", "put in", "largest difference"), rows)
    page.text(
        "It holds because each relation has the parameter that names it with the factor 1, and no other relation has "
        "it. Sets without this property need another recursion; that of "
        "[Lin 1995](lin1995.md#atkesons-technique-one-original-parameter-for-each-combination) is one."
    )


def _trees(page: Page) -> None:
    page.heading("Trees")
    tree = robots.branched()
    found = base_parameters(tree)
    page.text(
        "The comment says that its results complete the algorithm for trees of its reference [5], which is not at "
        "hand. A tree with both cases: a turning trunk (link 1) carries a slide parallel to its axis (link 2) and an "
        "oblique one (link 4), each with a turning joint behind it (links 3 and 5), with gravity along no axis."
    )
    page.code("\n".join(f"{name:<4} = {text}" for name, text in found.relation_texts().items()))
    page.text(
        f"(15) and (16) alone leave {robots.general_rules_alone(tree)} parameters; with rules 2 to 6, each read on the "
        f"way from the base to the link, {found.count} are left, which is the rank ({found.certificate.rank}). Rule 2 "
        "has put MX2 and MY2 into link 1 by (6), and table 1 has put MZ4 into MY4 with tan(A2), its first column. "
        "{} random trees of six joints, {} of them with slides: our set has as many parameters as the rank on {}, and "
        "on {} the rules reach it alone, without a relation from the rank.".format(*robots.random_trees())
    )


def _below(value: float, limit: float) -> str:
    return f"below {limit:g}" if value < limit else f"{value:.2g}"


def _yes(condition: bool) -> str:
    return "yes" if condition else "no"

"""The page of Lin 1995."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.ticker import NullLocator
from scipy.stats import spearmanr
from tests.codegen import robots

from minertia.base.derive import base_parameters
from minertia.base.grouping import BaseParameters
from minertia.base.mlc import link_of
from minertia.robot.files import read_robot
from minertia.robot.robot import Robot
from papers import lin_by_hand, lin_combinations, lin_counts, lin_formulation, lin_identification
from papers.lin_counts import Pair, counted, searched
from papers.page import Page, below_limit
from papers.page import operations as shown

FULL_RANK = 1e10  # condition numbers above this count as singular


def page() -> Page:
    """The combinations of the Stanford arm, operation counts, identification from link 6 to link 1."""
    result = Page(
        "lin1995",
        "Lin 1995: minimal linear combinations",
        "S.-K. Lin: Minimal linear combinations of the inertia parameters of a manipulator. IEEE Transactions on "
        "Robotics and Automation 11 (3), 1995, pages 360 to 373.",
    )
    robot = read_robot("stanford")
    closed, lin = base_parameters(robot), base_parameters(robot, "mlc")
    _combinations(result, lin)
    _two_sets(result, closed, lin)
    _technique(result)
    _formulation(result)
    _table_ii(result)
    _table_iii(result)
    _identification(result)
    _first_slides(result)
    return result


# ---------------------------------------------------------------------- theorem 2


def _combinations(page: Page, lin: BaseParameters) -> None:
    page.heading("Theorem 2 on the Stanford arm, in letters")
    names = lin_combinations.theorem_2(lin.robot)
    page.text(
        "`minertia base stanford --method mlc`. U is the constant part of the inertia of the composite body (the link "
        "and all beyond), K of its first moment, MH its mass; `U11mU22` is the difference of the two entries."
    )
    width = max(len(name) for name in lin.names)
    page.code("\n".join(f"{name:<{width}} = {text}" for name, text in lin.relation_texts().items()))
    error = lin_combinations.recursion_error(lin)
    page.table(
        ("", "the paper's rule", "ours"),
        [
            ("number of combinations by theorem 2", len(names), lin.count),
            ("names of theorem 2", "its items 1 to 4 for r = 1, s = 2", f"the same: {_yes(names == list(lin.names))}"),
            ("rank of the regressor at random states", "", lin.certificate.rank),
            (
                "values by equations (10), (12), (14) on random parameters",
                "recursion on numbers",
                below_limit(error, 1e-12),
            ),
        ],
    )
    page.text(
        "The paper prints no list for the Stanford arm, so the letters stand against its recursion, carried out on "
        "numbers by a separate program (`papers/lin_combinations.py`)."
    )


def _two_sets(page: Page, closed: BaseParameters, lin: BaseParameters) -> None:
    page.heading("Table I: against the parameters of Gautier and Khalil")
    page.text(
        "The body of table I is lost in the scan: it compared mass and first moment of link i - 1 before a "
        "translational joint i, all joints beyond turning, in the two sets. **Table I, derived anew**, in letters "
        "(A, B, T: alpha, d and theta of the slide; link i - 1 is 0, i is 1):"
    )
    rows = [(f"{name}_0", f"`{text}`", f"`{other}`", _yes(same)) for name, text, other, same in lin_by_hand.table_i()]
    page.table(("Lin", "in regrouped parameters", "Gautier and Khalil's counterpart", "both ours in letters"), rows)
    page.text(
        "So all that lies beyond the slide is in Lin's mass and first moment, and nothing of it in the other set's; of "
        "link i itself the two sets agree. The whole Stanford arm: every combination that is not simply one regrouped "
        "parameter (numbers are "
        + ", ".join(f"{name} = {value:g}" for name, value in closed.robot.symbol_values.items())
        + " m put in)."
    )
    ours = closed.relation_texts()
    rows = []
    for name, text in lin_combinations.converted(closed, lin).items():
        if text not in closed.names:
            rows.append((name, f"`{text}`", f"`{lin.relation_texts()[name]}`"))
    page.table(("combination", "in regrouped parameters", "in standard parameters"), rows)
    T = closed.conversion_to(lin)
    gap = float(np.abs(T @ closed.K - lin.K).max())
    page.text(
        "Before the translational joint: K1_2 and K2_2 hold the first moment of link 3, MX2 and MY2 of the other set "
        f"do not (`MX2 = {ours['MX2']}`, `MY2 = {ours['MY2']}`), which is what the paper says of the two. The sets "
        f"differ by a constant square matrix of rank {np.linalg.matrix_rank(T)}; with it the relations of one are "
        f"those of the other, {below_limit(gap, 1e-12)}."
    )
    _only_turning(page)


def _only_turning(page: Page) -> None:
    """Remark 2 on robots of turning joints."""
    page.text(
        "Remark 2 says more: for robots of turning joints the two sets are almost the same, only the U differ "
        "slightly. The same comparison there: how many combinations are one regrouped parameter, and which are not."
    )
    rows = []
    for name in ("puma560", "ur10e", "iiwa14"):
        robot = lin_formulation.upright(name)
        closed, lin = base_parameters(robot), base_parameters(robot, "mlc")
        texts = lin_combinations.converted(closed, lin)
        other = [combination for combination, text in texts.items() if text not in closed.names]
        moments = sum(combination.startswith("K") for combination in other)
        rows.append((name, lin.count, lin.count - len(other), moments, " ".join(other), f"`{texts[other[-1]]}`"))
    head = ("robot", "combinations", "one regrouped parameter", "others in k", "others, all in U", "the last of these")
    page.table(head, rows)
    page.text(
        "So the remark holds as it is worded: every first moment agrees, and U differs. It is not slight in effect, "
        "though: U33 of each later joint enters the entries of the joints before it, and a value of one set put in "
        "place of the other gives wrong torques (next section)."
    )


def _technique(page: Page) -> None:
    page.heading("Atkeson's technique: one original parameter for each combination")
    page.text(
        "Section III: a combination keeps its value if one of its original parameters takes that value and the others "
        "are zero, so any Newton-Euler program can be fed with it. Lin says that this fails for his set where a slide "
        "follows a turning joint. Tested on random links and states: the values of the set are put into the original "
        "parameters (U11mU22 into XX, U33 into ZZ, K1 into MX, MH into M, and so on), and the torques compared."
    )
    chains = {
        "R R R R R, general": lin_formulation.geometry("RRRRR", (), False, 2),
        "R R T R R, general": lin_formulation.geometry("RRTRR", (), False, 2),
    }
    arms = {name: lin_formulation.upright(name) for name in ("puma560", "stanford")}
    rows = []
    for name, robot in {**arms, **chains}.items():
        regrouped, put, lost = lin_formulation.technique_errors(robot)
        rows.append((name, below_limit(regrouped, 1e-12), f"{100 * put:.2g} %", len(lost), " ".join(lost)))
    head = ("robot", "error, regrouped set", "error, Lin's set", "values not kept", "which")
    page.table(head, rows)
    page.text(
        "For the regrouped set of Gautier and Khalil the technique is exact: the original parameter that takes the "
        "value stands in that relation alone, with the factor 1. For Lin's set it fails, as he says: K1 and K2 of the "
        "turning joint before a slide hold the first moment of the slide, which cannot be zero. But his reason is not "
        "the only one. It fails for robots of turning joints alone as well, where ZZ of a later link stands in U of "
        "the links before it. His own recursion takes this out again, by D of (42) in place of U. With D in place of U "
        "the technique is exact for turning joints, which is the identity of the next section."
    )


def _formulation(page: Page) -> None:
    page.heading("The formulation (57) to (93), executed")
    page.text(
        "Newton-Euler in which composite bodies take the place of links, and minimal combinations are the only "
        "parameters: `minertia.base.composite_dynamics`, and `--formulation mlc` of `generate` and `count`. Of (60) "
        "to (75) and (82) to (90) the copy at hand holds fragments only; these were derived anew. Efforts from random "
        f"parameters at {lin_formulation.STATES} random states, against inverse dynamics of the links, over the "
        "largest effort (all bundled robots but `delta` and `five_bar`, whose loops leave joints without drives):"
    )
    rows = [(name, n, below_limit(gap, 1e-12)) for name, (n, gap) in lin_formulation.effort_errors().items()]
    page.table(("robot", "combinations", "largest difference"), rows)
    page.text(
        "Every quantity on the way, on the chains "
        + ", ".join(chain[0] for chain in lin_formulation.CHAINS)
        + " (slides before the first turning joint, between the first two directions, and beyond) and a random tree. "
        "Full forces and moments of the links, which the formulation never forms, are rebuilt from its sums by lemmas "
        "3 and 4."
    )
    gaps = lin_formulation.quantity_errors()
    rows = [(name, *texts, below_limit(gaps[name], 1e-12)) for name, texts in lin_formulation.QUANTITIES.items()]
    page.table(("quantity", "equations", "in the scan", "compared with", "largest difference"), rows)
    page.text(
        "With turning joints only the formulation is said to be identical to that of Khalil and Kleinfinger. Their "
        "recursion on regrouped links, term by term (joints before the second direction: what their efforts need):"
    )
    rows = []
    for kinds, parallel in (("RRRRRR", ()), ("RRRRRR", (1,)), ("RRTRRR", ())):
        found = lin_formulation.khalil_kleinfinger_errors(lin_formulation.geometry(kinds, parallel, False, 7))
        name = f"{kinds}, first two axes parallel" if parallel else kinds
        rows.append((name, *("the same" if gap < 1e-12 else "another" for gap in found.values())))
    page.table(("chain", *lin_formulation.TERMS), rows)
    page.text(
        "The claim is true: where all joints turn, every term is the same number, to 1e-12. With a slide no term is: "
        "the two recursions then carry different sums to the same efforts."
    )


# ---------------------------------------------------------------------- operation counts


def _table_ii(page: Page) -> None:
    page.heading("Table II: operations per joint")
    page.text(
        "The scan has lost the names of the twelve rows (one per variable of the algorithm), the column before joint "
        "r, and some entries of the others. Each row is named from its equations, and each entry made of the parts of "
        f"these; a vector through the rotation matrix of a joint takes {shown(lin_counts.TURN)}. A star marks what is "
        "derived anew and not printed:"
    )
    names = [name for name, *_ in lin_counts.ROW_NAMES]
    rows = [(f"{k + 1}: {names[k]}", *(_entry(k, column) for column in lin_counts.TABLE_II)) for k in range(12)]
    rows.append(("sum", *(shown(lin_counts.whole_column(column)) for column in lin_counts.TABLE_II)))
    page.table(("", *lin_counts.TABLE_II), rows)
    legible, right = lin_counts.printed_entries()
    page.text(f"The parts give {right} of the {legible} entries that can be read. They are:")
    page.table(
        ("row", "equations", "parts"),
        [
            (f"{k + 1}: {name}", equations, lin_counts.ROW_PARTS[k])
            for k, (name, equations, _) in enumerate(lin_counts.ROW_NAMES)
        ],
    )
    lost, constant = lin_counts.lost_entry(), lin_counts.constant_of_table_ii()
    (_, m0), (_, a0) = lin_counts.TABLE_III[-1][1]
    page.text(
        f"Two checks of what is derived. The printed slope of the total leaves {shown(lost)} for row 10 of joints "
        "i ≥ s, which is what its parts are. And the column i = r = 1 with the footnote for joint s - 1 "
        f"({lin_counts.FOOTNOTE}) and the cheaper rows of the last link gives the constants {constant[0]} and "
        f"{constant[1]} of the total; printed are {m0} and {a0}. Three remarks. Row 6 of a slide has the part before h "
        "is added, whose three additions are in no row. Nor is (91), which gives D of a turning joint six products "
        "and sums more for each slide behind it. Row 9 counts all six entries of D; where all joints turn its entry "
        "22 is zero by (42), which would save 3M 3A per joint of the printed slope."
    )
    page.text(
        "Emitted code shares operations between the variables, so single rows cannot be counted in it. In their "
        "place: what one more joint of each kind adds to six general rotational joints, against the sum of the "
        "column. Ours is the product's inverse dynamics, and then his formulation, both as C code; S are sines and "
        "cosines, of which he counts one pair for each turning joint apart."
    )
    rows = []
    for name, (kinds, fewer, parallel) in lin_counts.OURS_BY_COLUMN.items():
        emitted = [lin_counts.more(kinds, fewer, parallel, way) for way in ("newton-euler", "mlc")]
        theirs = (*lin_counts.whole_column(name), 2 * name.endswith("R"))
        rows.append((name, f"{fewer} to {kinds}", shown(theirs), *(shown(found) for found in emitted)))
    page.table(("column", "chain", "Lin", "ours", "his formulation, emitted"), rows)
    page.text(
        f"Lin does not count the {lin_counts.MATRIX} multiplications per rotational joint that make its rotation "
        "matrix; ours are all operations in the C code of the function but those that are computed once from the "
        "parameters. Of a slide beyond joint s his formulation takes more than the column has: it holds what no row "
        "has, (91) and the additions of h."
    )


def _entry(k: int, column: str) -> str:
    printed = lin_counts.TABLE_II[column][k]
    if printed != lin_counts.LOST:
        return printed
    m, a = lin_counts.entry(k, column)
    return f"{f'{m}M' * bool(m)}{f'{a}A' * bool(a)}*" if m or a else "0*"


def _table_iii(page: Page) -> None:
    page.heading("Table III: inverse dynamics")
    page.text(
        "The heads of the columns are lost. By the text the first is a general robot of n rotational joints and the "
        "second the Stanford arm; the third is taken for the Stanford arm with links of the usual symmetry. Ours "
        "there has the zeros of such links and no luck from equal numbers. Lin says that his counts would be lower "
        "with gravity along joint 1, so ours are first given with gravity along no axis, and below that with gravity "
        "along joint 1, as most robots stand. S are sines and cosines, which the papers leave out: n pairs."
    )
    rows = [_published_row(*row) for row in lin_counts.TABLE_III]
    (slope, constant), additions = lin_counts.TABLE_III[-1][1]
    matrices = ((slope + lin_counts.MATRIX, constant), additions)
    rows += [_published_row("Lin, rotation matrices counted as ours are", matrices, None, None), *_our_rows()]
    page.table(("", "general, n joints", "n = 6", "Stanford arm", "usual symmetric links"), rows)
    theirs, ours = lin_counts.right_angles()
    page.text(
        "The search is one of 45 s per program with seed 0, made once and replayed here. Against Lin with gravity "
        "anywhere ours is lower in both numbers for the general robot and the Stanford arm without a search, and for "
        "the symmetric links equal in multiplications and lower by one addition. The last two rows are his own "
        "formulation (`minertia count --formulation mlc`), counted on its C code without a search: below his counts in "
        "the first two columns, rotation matrices included, and above them on the symmetric links; why is below. "
        "Which zeros these links have is lost, too: ours have a centre of mass in a plane of symmetry and principal "
        "axes along the frame there. Axes at right angles save "
        f"{shown(theirs)} on six joints by the paper's formula, 5 (n - 1) (4M + 2A) + 2M + 1A; ours save "
        f"{shown(ours)}. The bundled arm has a wrist beside the axis of its slide (a3, which the arm of the table has "
        f"not): {shown(counted(read_robot('stanford'), parameters='base'))} with all its inertias as parameters."
    )
    _gravity_of_others(page)
    _as_written(page)
    _sums_of_angles(page)
    _composite(page)


def _gravity_of_others(page: Page) -> None:
    slope = tuple(line[0] for line in lin_counts.TABLE_III[1][1])
    printed = tuple(line[1] for line in lin_counts.TABLE_III[1][1])
    along, anywhere = lin_by_hand.constants((slope[0], slope[1]))
    page.text(
        "**Which gravity Gautier and Khalil's counts have** decides what they are compared with. Their constants "
        f"({printed[0]} and {printed[1]} beside {slope[0]}n and {slope[1]}n) are one general joint less for joint 1, "
        "and what the ends of the arm save. By hand, from the recursion of Khalil and Kleinfinger with frames 0 and n "
        "chosen freely (α1 = d1 = r1 = rn = 0); minus is what joint 1 costs:"
    )
    rows = [(text, *map(shown, pairs)) for text, *pairs in lin_by_hand.SAVED_BY_ENDS]
    rows.append(("constants of the total", *(f"{m} and {a}" for m, a in (along, anywhere))))
    page.table(("saved", "gravity along joint 1", "gravity anywhere"), rows)
    page.text(
        f"Printed are {printed[0]} and {printed[1]}: with gravity along joint 1 the multiplications come out to the "
        "last one and the additions but for one; with gravity anywhere six of each would be missing, which is what "
        "the two rows of ours differ by, too. So their 142M 99A and 232M 218A stand against ours along joint 1, which "
        "are lower in both numbers; 99 additions with gravity anywhere are not a count of theirs. Their recursion "
        "written out for the bundled Stanford arm, gravity along joint 1, takes 232M 218A to the last operation "
        "([their page](gautier_khalil1990.md#customised-newton-euler-with-minimum-parameters)). Lin's column "
        "i = r = 1 of table II has 3M for the acceleration of frame 1, which is gravity along z of frame 0 and joint 1 "
        "oblique to it; and his joint 2 is counted like any other, which is most of what his constants are above "
        "theirs."
    )


def _as_written(page: Page) -> None:
    arm, usual = (replace(robot, gravity=lin_by_hand.ALONG_X) for robot in (robots.stanford(), robots.stanford_usual()))
    every, few = lin_by_hand.written_out(arm), lin_by_hand.written_out(usual)
    fewer = lin_by_hand.written_out(usual, lin_by_hand.SLIDES_MOMENT)
    page.text(
        "**His equations as they are written**, quantity by quantity, doubling free, x of frame 0 turned to gravity "
        "(which any arm's may be). The Stanford arm with symmetric links:"
    )
    rows = [(row, *("-" if pair == (0, 0) else shown(pair) for pair in joints)) for row, joints in few.items()]
    page.table(("", *(f"joint {j + 1}" for j in range(6))), rows)
    theirs = lin_counts.TABLE_III[-1]
    page.table(
        ("arm", "Lin", "as written"),
        [
            ("all inertias", shown(theirs[2]), shown(lin_by_hand.whole(every))),
            ("usual symmetric links", shown(theirs[3]), shown(lin_by_hand.whole(few))),
            ("the same, no first moment along the slide", shown(theirs[3]), shown(lin_by_hand.whole(fewer))),
        ],
    )
    extra = np.subtract(lin_by_hand.whole(few), lin_by_hand.whole(fewer))
    page.text(
        "So his multiplications of the whole arm come out to the last one, with two additions fewer. On the symmetric "
        f"links {extra[0]}M {extra[1]}A are more, and these are exactly what the first moment along the slide takes: "
        "K3_3, and K2_2, which his set has because of it (MY2 of these links is zero, and so is its regrouped value). "
        "Without it his printed count comes out to the last operation. Either his links have none there, or his count "
        "leaves it out; the boom of a Stanford arm has one. Regrouped parameters need no K2_2, so ours reaches his "
        "count with it."
    )


def _sums_of_angles(page: Page) -> None:
    rows = []
    for name, robot in (
        ("PUMA 560, 36 parameters", robots.puma560(True)),
        ("PUMA 560, diagonal inertias", robots.puma560()),
        ("RX90, 36 parameters", robots.rx90()),
    ):
        rows.append((name, *map(shown, lin_by_hand.both_turns(robot))))
    page.text(
        "**Sines and cosines.** Code takes one pair for each turning joint but the first, where gravity lies along it. "
        "With parallel joints it takes one pair more: vectors pass joints 2 and 3 of a PUMA by one turn with the sum "
        "of the angles, whose sine and cosine save more multiplications and additions than they would cost as "
        "products of the others (4M 2A). Both ways:"
    )
    page.table(("arm", "one turn with the sum of the angles", "one turn a joint"), rows)


def _composite(page: Page) -> None:
    mlc, base = (counted(robots.stanford(), "mass_matrix", parameters=p) for p in ("mlc", "base"))
    page.text(
        "**Composite bodies.** For forward dynamics the paper counts first moment and inertia of one composite body, "
        "given those of the one behind a translational joint of general geometry (section III). The same quantities "
        "in our recursion, no sines (the joint's angles are constant):"
    )
    ours = {"ours": lin_counts.composite(), "ours, forces in units of the mass behind": lin_counts.composite(1)}
    table = {**lin_counts.PUBLISHED_COMPOSITE, **ours}
    rows = [(name, *map(shown, (*pairs, lin_counts.total(pairs)))) for name, pairs in table.items()]
    page.table(("", "first moment", "inertia", "both"), rows)
    page.text("The first moment by hand, from (10), (11) and from (14) to (16) of the other paper:")
    parts = lin_by_hand.COMPOSITE_PARTS
    rows = [(text, *map(shown, pairs)) for text, *pairs in parts]
    sums = [lin_counts.total([pairs[k] for _, *pairs in parts]) for k in (0, 1)]
    page.table(("part", "Lin", "Gautier and Khalil"), [*rows, ("sum, as printed", *map(shown, sums))])
    page.text(
        "So the printed 8M 7A leave out the slide: m d along its axis, which the printed 11M 9A of the other set have "
        f"with 3M 2A. Without it the first moment does not know where the slide stands; at d = {lin_counts.SHOWN_AT:g} "
        f"m it is wrong by {100 * lin_counts.without_the_slide():.0f} % on random links. Added before the turn it "
        "takes 1M 1A, which makes our 9M 8A: the same operations with nothing left out. (15) needs m d as well, so it "
        "may stand in his 50M 40A; both quantities together take ours less."
    )
    page.text(
        f"The whole mass matrix of the Stanford arm, which the paper does not count, takes ours {shown(mlc)} in "
        f"minimal combinations and {shown(base)} in regrouped parameters: the set is turned into the cheapest one "
        "once, outside the function, so it does not matter which is given."
    )


def _published_row(method: str, general: tuple[Pair, Pair], *arms: Pair | None) -> tuple[str, ...]:
    (m, m0), (a, a0) = general
    formula = f"({lin_counts.line((m, m0))})M ({lin_counts.line((a, a0))})A"
    return (method, formula, shown((6 * m + m0, 6 * a + a0)), *("-" if arm is None else shown(arm) for arm in arms))


def _our_rows() -> list[tuple[str, ...]]:
    rows = []
    arms = {"general6": robots.general(6), "stanford": robots.stanford(), "stanford_usual": robots.stanford_usual()}
    for where, change, suffix in (("gravity anywhere", lin_counts.tilted, "_tilted"), ("along joint 1", _upright, "")):
        plain = [shown(counted(change(arm))) for arm in arms.values()]
        found = [shown(searched(name + suffix, change(arm))) for name, arm in arms.items()]
        formula = _formula(lin_counts.general_formula(change))
        rows += [(f"ours, {where}", formula, *plain), (f"ours, {where}, after a search", "-", *found)]
    for where, change in (("gravity anywhere", lin_counts.tilted), ("along joint 1", _upright)):
        plain = [shown(counted(change(arm), formulation="mlc")) for arm in arms.values()]
        formula = _formula(lin_counts.general_formula(change, "mlc"))
        rows.append((f"his formulation, emitted, {where}", formula, *plain))
    return rows


def _formula(found: lin_counts.Formula) -> str:
    assert found.fits, "the counts of general chains are no longer linear in n"
    return str(found)


def _upright(robot: Robot) -> Robot:
    return robot


# ---------------------------------------------------------------------- identification


def _identification(page: Page) -> None:
    page.heading("Identification from link 6 to link 1")
    trials = lin_identification.trials()
    page.text(
        "The paper reports simulations on the Stanford arm that matched the true values closely, with the figures in "
        "a report that is not at hand; so these are ours. The bundled arm, without its drives, moves along random "
        f"Fourier series and along motions from our search ({lin_identification.DURATION:g} s, "
        f"{lin_identification.SAMPLES} samples, inside its limits; the search was made once and is replayed here, as "
        "another processor ends it elsewhere). The set is that of `minertia identify --parameters mlc`, which any "
        "estimator fits; `sequential` solves one small "
        "problem per joint, from the last to the first. Errors are lengths of the difference of all "
        f"{lin_identification.model().count} values over the length of the true ones; with noise: root mean square "
        f"over {lin_identification.DRAWS} draws of {100 * lin_identification.EFFORT_NOISE:g} % of each effort's size, "
        "and "
        + ", ".join(f"{size:g} on {name}" for name, size in lin_identification.MOTION_NOISE.items())
        + " (SI units)."
    )
    rows = [
        (t.name, *(f"{c:.3g}" for c in t.conditions[::-1]), below_limit(t.exact, 1e-12), f"{100 * t.noisy:.2g} %")
        for t in trials
    ]
    page.table(("motion", *(f"cond A{i}" for i in range(6, 0, -1)), "error, no noise", "error, noise"), rows)
    worst = np.array([t.conditions.max() for t in trials])
    errors = np.array([t.noisy for t in trials])
    rho = float(spearmanr(worst, errors).statistic)
    slope = float(np.polyfit(np.log(worst), np.log(errors), 1)[0])
    full = sum(t.conditions.max() < FULL_RANK for t in trials)
    page.text(
        f"All A_i have full rank, that is the motion is persistently exciting in the sense of definition 2, on {full} "
        f"of the {len(trials)} motions; without noise the largest error is "
        f"{below_limit(max(t.exact for t in trials), 1e-12)}. With noise the error follows the largest condition "
        f"number: rank correlation {rho:.2f}, and in logarithms a slope of {slope:.2f}, where the paper expects about "
        "1."
    )
    page.figure(
        "error", "Error of the identified values against the condition number, and link by link", _draw, (7.5, 3.2)
    )


def _first_slides(page: Page) -> None:
    page.heading("Slides before joint r, and between r and s")
    page.text(
        "Two parts of the procedure that the Stanford arm has no joint for. Step 4, equation (106): a slide before the "
        "first turning joint r has one unknown, the mass of its composite body, and one column, a - g along it. "
        "Equations (101) to (105): a slide between r and s has three, the mass and the two numbers of (87). The "
        "procedure, carried out with the sums of the formulation on 60 exact samples of random states:"
    )
    rows = []
    for kinds, parallel, seed in (("TTRR", (), 0), ("RTTRR", (3,), 4), ("TRTRR", (), 1)):
        robot = lin_formulation.geometry(kinds, parallel, False, seed)
        errors, columns = lin_formulation.procedure(robot)
        for i, theirs in lin_formulation.printed_columns(robot).items():
            unknowns = [name for name in errors if link_of(name) == i + 1]
            worst = max(abs(errors[name]) for name in unknowns)
            gap = float(np.abs(columns[i] - theirs).max())
            rows.append((kinds, i + 1, " ".join(unknowns), below_limit(gap, 1e-12), below_limit(worst, 1e-9)))
        rows.append((kinds, "all", len(errors), "", below_limit(max(map(abs, errors.values())), 1e-9)))
    head = ("chain", "joint", "unknowns (their number)", "columns less those printed", "largest error")
    page.table(head, rows)
    page.text(
        "KA and KB are κ2 and κ1 of (87). Their columns are minus the square of the speed about joint r, and the "
        "acceleration about it (103); a turning joint there has U33, k1 and k2, with its acceleration and two "
        "components of a - g (104), and its D grows by 2 κ2 d with each slide beyond it, (105)."
    )


def _draw(figure: Any) -> None:
    left, right = figure.subplots(1, 2)
    trials = lin_identification.trials()
    worst, errors = ([t.conditions.max() for t in trials], [100 * t.noisy for t in trials])
    ends = np.array([worst[0], worst[-1]])
    middle = np.exp(np.mean(np.log(np.array(errors) / worst)))
    left.loglog(ends, middle * ends, "k--", linewidth=0.8, label="proportional")
    for kind, marker in (("random", "o"), ("searched", "D")):
        chosen = [k for k, t in enumerate(trials) if t.name.startswith(kind)]
        left.loglog([worst[k] for k in chosen], [errors[k] for k in chosen], marker, label=kind)
    _ticks(left.xaxis, (50, 100, 200, 500, 1000))
    _ticks(left.yaxis, (1, 2, 5, 10, 20, 50))
    left.set(xlabel="largest condition number of A1 to A6", ylabel="error with noise [%]", xlim=(40, 1100))
    left.legend(fontsize=7)
    for t in (trials[0], trials[len(trials) // 2], trials[-1]):
        right.semilogy(range(6, 0, -1), 100 * t.by_link[::-1], ".-", label=t.name)
    right.set(xlabel="link, in the order of identification", ylabel="error of its values [%]")
    _ticks(right.yaxis, (0.5, 1, 2, 5, 10, 20, 50, 100))
    right.invert_xaxis()
    right.legend(fontsize=7)


def _ticks(axis: Any, places: tuple[float, ...]) -> None:
    """Plain numbers at these places of a logarithmic axis, and nothing between."""
    axis.set_ticks(places, [f"{place:g}" for place in places])
    axis.set_minor_locator(NullLocator())


def _yes(condition: bool) -> str:
    return "yes" if condition else "no"

"""The page of Lin 1995."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.ticker import NullLocator
from scipy.stats import spearmanr
from tests.codegen import robots

from minertia.base.derive import base_parameters
from minertia.base.grouping import BaseParameters
from minertia.base.mlc import link_of
from minertia.robot.read import read_robot
from minertia.robot.robot import Robot
from papers import lin_combinations, lin_counts, lin_formulation, lin_identification
from papers.lin_counts import Pair, count, searched, shown
from papers.page import Page, below_limit

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
        "The body of table I is lost in the scan: it compared mass and first moment before a translational joint in "
        "the two sets. Our table for the whole arm in its place: every combination that is not simply one regrouped "
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
        "The scan has lost the names of the twelve rows (one per variable of the algorithm), most of the columns "
        "before r < i < s, and one entry of the last two. What it holds, with the names that follow from the "
        "equations (below):"
    )
    columns = lin_counts.TABLE_II
    names = [name for name, *_ in lin_counts.ROW_NAMES]
    rows = [(f"{k + 1}: {names[k]}", *(entries[k] for entries in columns.values())) for k in range(12)]
    sums = {name: lin_counts.column_sum(entries) for name, entries in columns.items()}
    rows.append(("sum of what is legible", *(shown(s) for s in sums.values())))
    page.table(("", *columns), rows)
    _row_names(page)
    lost, constant = lin_counts.lost_entry(), lin_counts.constant_of_table_ii()
    (_, m0), (_, a0) = lin_counts.TABLE_III[-1][1]
    page.text(
        f"The printed slope of the total gives the lost entry: {shown(lost)}, the value that stands beside it in the "
        "columns before. Check: with it, the legible entries of the column i = r = 1 "
        f"({', '.join(lin_counts.FIRST_COLUMN)}, the last from the footnote) and the cheaper rows of the last link, "
        f"the constants of the total come out as {constant[0]} and {constant[1]}; printed are {m0} and {a0}."
    )
    page.text(
        "Emitted code shares operations between the variables, so single rows cannot be counted in it. In their "
        "place: what one more joint of each kind adds to six general rotational joints, against the sum of the column "
        "(the lost entry put in). Ours is the product's inverse dynamics, and then his formulation, both as C code."
    )
    rows = []
    for name, (kinds, fewer, parallel) in lin_counts.OURS_BY_COLUMN.items():
        whole = (
            sums[name] if lin_counts.LOST not in columns[name] else (sums[name][0] + lost[0], sums[name][1] + lost[1])
        )
        emitted = [lin_counts.more(kinds, fewer, parallel, way) for way in ("newton-euler", "mlc")]
        rows.append((name, f"{fewer} to {kinds}", shown(whole), *(shown(found) for found in emitted)))
    page.table(("column", "chain", "Lin", "ours", "his formulation, emitted"), rows)
    page.text(
        f"Lin does not count the {lin_counts.MATRIX} multiplications per rotational joint that make its rotation "
        "matrix; ours are all operations in the C code of the function, only sines and cosines left out, and what is "
        "computed once from the parameters."
    )


def _row_names(page: Page) -> None:
    page.text(
        "Each row named from its equations: operations of the parts it is made of, for joints i ≥ s. A vector through "
        f"the rotation matrix of a joint takes {shown(lin_counts.TURN)}."
    )
    rows, lost = [], lin_counts.lost_entry()
    for k, (name, equations, *kinds) in enumerate(lin_counts.ROW_NAMES):
        made = [lin_counts.total(parts) for parts in kinds]
        printed = [lin_counts.TABLE_II[column][k] for column in ("i ≥ s, R", "i ≥ s, T")]
        known = [lost if text == lin_counts.LOST else lin_counts.pair(text) for text in printed]
        rows.append(
            (f"{k + 1}: {name}", equations, *map(shown, made), *printed, _yes(made == known), lin_counts.ROW_PARTS[k])
        )
    head = ("row", "equations", "R, by its parts", "T, by its parts", "R, printed", "T, printed", "agrees", "parts")
    page.table(head, rows)
    page.text(
        "The lost entries of row 10 are taken from the printed slope (below). Three remarks. Row 6 of a slide agrees "
        "with the part before h is added, whose three additions are in no row. Nor is (91), which gives D of a turning "
        "joint six products and sums more for each slide behind it. Row 9 counts all six entries of D; where all "
        "joints turn its entry 22 is zero by (42), which would save 3M 3A per joint of the printed slope."
    )


def _table_iii(page: Page) -> None:
    page.heading("Table III: inverse dynamics")
    page.text(
        "The heads of the columns are lost. By the text the first is a general robot of n rotational joints and the "
        "second the Stanford arm; the third is taken for the Stanford arm with links of the usual symmetry. Ours "
        "there has the zeros of such links and no luck from equal numbers. Gravity of the paper's counts has any "
        "direction (with gravity along joint 1 they would be lower, as it says), so ours are first given with "
        "gravity along no axis, and below that with gravity along joint 1, as most robots stand."
    )
    rows = [_published_row(*row) for row in lin_counts.TABLE_III]
    (slope, constant), additions = lin_counts.TABLE_III[-1][1]
    counted = ((slope + lin_counts.MATRIX, constant), additions)
    rows += [_published_row("Lin, rotation matrices counted as ours are", counted, None, None), *_our_rows()]
    page.table(("", "general, n joints", "n = 6", "Stanford arm", "usual symmetric links"), rows)
    theirs, ours = lin_counts.right_angles()
    page.text(
        "The last two rows are his own formulation (`minertia count --formulation mlc`), counted on its C code without "
        "a search: below his formula for general robots, rotation matrices included, and one multiplication above his "
        "231 on the Stanford arm with four additions fewer. On the symmetric links it stays 8M 7A above his. The "
        "search is one of 45 s per program with seed 0, made once and replayed here. Against Lin with gravity "
        "anywhere ours is lower in both numbers for the general robot and the Stanford arm, and for the symmetric "
        "links equal in multiplications and lower by one addition; the additions of Gautier and Khalil there (99) are "
        "not reached. Which zeros these links have is lost, too: ours have a centre of mass in a plane of symmetry "
        "and principal axes along the frame there. Axes at right angles save "
        f"{shown(theirs)} on six joints by the paper's formula, 5 (n - 1) (4M + 2A) + 2M + 1A; ours save "
        f"{shown(ours)}. The bundled arm has a wrist beside the axis of its slide (a3, which the arm of the table has "
        f"not): {shown(count(read_robot('stanford'), parameters='base'))} with all its inertias as parameters."
    )
    _composite(page)


def _composite(page: Page) -> None:
    mlc, base = (count(robots.stanford(), "mass_matrix", parameters=p) for p in ("mlc", "base"))
    page.text(
        "For forward dynamics the paper counts first moment and inertia of one composite body, given those of the one "
        "behind a translational joint of general geometry (section III). The same quantities in our recursion:"
    )
    ours = {"ours": lin_counts.composite()}
    rows = [(name, shown(k), shown(j)) for name, (k, j) in {**lin_counts.PUBLISHED_COMPOSITE, **ours}.items()]
    page.table(("", "first moment", "inertia"), rows)
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
        (m, m0), (a, a0), fits = lin_counts.general_formula(change)
        assert fits, "the counts of general chains are no longer linear in n"
        formula = f"({lin_counts.line((m, m0))})M ({lin_counts.line((a, a0))})A"
        plain = [shown(count(change(arm))) for arm in arms.values()]
        found = [shown(searched(name + suffix, change(arm))) for name, arm in arms.items()]
        rows += [(f"ours, {where}", formula, *plain), (f"ours, {where}, after a search", "-", *found)]
    for where, change in (("gravity anywhere", lin_counts.tilted), ("along joint 1", _upright)):
        (m, m0), (a, a0), fits = lin_counts.general_formula(change, "mlc")
        assert fits, "the counts of general chains are no longer linear in n"
        formula = f"({lin_counts.line((m, m0))})M ({lin_counts.line((a, a0))})A"
        plain = [shown(count(change(arm), formulation="mlc")) for arm in arms.values()]
        rows.append((f"his formulation, emitted, {where}", formula, *plain))
    return rows


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

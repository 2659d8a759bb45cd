"""The page of Lin 1995."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.ticker import NullLocator
from scipy.stats import spearmanr
from tests.codegen import robots

from minertia.base.derive import base_parameters
from minertia.base.grouping import BaseParameters
from minertia.robot.read import read_robot
from minertia.robot.robot import Robot
from papers import lin_combinations, lin_counts, lin_identification
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
    _table_ii(result)
    _table_iii(result)
    _identification(result)
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


# ---------------------------------------------------------------------- operation counts


def _table_ii(page: Page) -> None:
    page.heading("Table II: operations per joint")
    page.text(
        "The scan has lost the names of the twelve rows (one per variable of the algorithm), most of the columns "
        "before r < i < s, and one entry of the last two. What it holds:"
    )
    columns = lin_counts.TABLE_II
    rows = [(f"row {k + 1}", *(entries[k] for entries in columns.values())) for k in range(12)]
    sums = {name: lin_counts.column_sum(entries) for name, entries in columns.items()}
    rows.append(("sum of what is legible", *(shown(s) for s in sums.values())))
    page.table(("", *columns), rows)
    lost, constant = lin_counts.lost_entry(), lin_counts.constant_of_table_ii()
    (_, m0), (_, a0) = lin_counts.TABLE_III[-1][1]
    page.text(
        f"The printed slope of the total gives the lost entry: {shown(lost)}, the value that stands beside it in the "
        "columns before. Check: with it, the legible entries of the column i = r = 1 "
        f"({', '.join(lin_counts.FIRST_COLUMN)}, the last from the footnote) and the cheaper rows of the last link, "
        f"the constants of the total come out as {constant[0]} and {constant[1]}; printed are {m0} and {a0}."
    )
    page.text(
        "Ours has other variables, so the rows cannot be matched. In their place: what one more joint of each kind "
        "adds to our inverse dynamics of six general rotational joints, against the sum of the column (the lost entry "
        "put in)."
    )
    rows = []
    for name, (kinds, fewer, parallel) in lin_counts.OURS_BY_COLUMN.items():
        whole = (
            sums[name] if lin_counts.LOST not in columns[name] else (sums[name][0] + lost[0], sums[name][1] + lost[1])
        )
        rows.append((name, f"{fewer} to {kinds}", shown(whole), shown(lin_counts.more(kinds, fewer, parallel))))
    page.table(("column", "chain", "Lin", "ours"), rows)
    page.text(
        f"Lin does not count the {lin_counts.MATRIX} multiplications per rotational joint that make its rotation "
        "matrix; ours are all operations in the C code of the function, only sines and cosines left out, and what is "
        "computed once from the parameters."
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
        "The search is one of 45 s per program with seed 0, made once and replayed here. Against Lin with gravity "
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

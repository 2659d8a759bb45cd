"""The page of Gautier and Khalil 1990."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from minertia.algebra.linear import Linear
from minertia.algebra.polynomial import evaluate
from minertia.algebra.show import text as written
from minertia.base.derive import base_parameters
from minertia.base.grouping import BaseParameters
from minertia.robot.files import bundled_robots, read_robot
from minertia.robot.formats.dh.write import khalil_row
from minertia.robot.robot import Robot
from papers import gautier_khalil_claims as claims
from papers import gautier_khalil_published as published
from papers import gautier_khalil_relations as relations
from papers.letters import Chain, Value, polynomial, read
from papers.page import Page, below_limit, operations


def page() -> Page:
    """The PUMA 560 example, the general relations, the bound of equation (18), the appendix."""
    found = base_parameters(read_robot("puma560"))
    result = Page(
        "gautier_khalil1990",
        "Gautier and Khalil 1990: regrouping in closed form",
        "M. Gautier, W. Khalil: Direct calculation of minimum set of inertial parameters of serial robots. IEEE "
        "Transactions on Robotics and Automation 6 (3), 1990, pages 368 to 373.",
    )
    result.text(
        "Two relations are called equal where their difference, expanded with every length, sine, cosine and "
        "parameter as a letter (sin² replaced by 1 - cos²), is the polynomial 0."
    )
    _geometry(result, found.robot)
    _puma_sets(result, found)
    _puma_relations(result, found)
    _puma_steps(result, found.robot)
    _general(result)
    _bound(result)
    _rule_2(result)
    _rule_4(result)
    _appendix(result)
    _cost(result)
    _trees(result)
    return result


# ---------------------------------------------------------------------- the example


def _geometry(page: Page, robot: Robot) -> None:
    page.heading("Table I: geometry of the PUMA 560")
    rows = []
    for j, (joint, (alpha, d, r)) in enumerate(zip(robot.joints, published.TABLE_I, strict=True), 1):
        ours = khalil_row((joint.R, joint.p))
        assert ours is not None
        degrees, offset = (round(math.degrees(evaluate(ours[key], {}))) for key in ("alpha", "theta"))
        same = degrees == alpha and ours["d"] == read(d) and ours["r"] == read(r)
        own = f"{degrees}, {written(ours['d'])}, {written(ours['r'])}"
        rows.append((j, f"{alpha}, {d}, {r}", own, offset, _yes(same)))
    page.table(
        ("joint", "published: alpha [deg], d, r", "bundled `puma560`", "offset of theta [deg]", "same alpha, d, r"),
        rows,
    )
    plain = base_parameters(table_i().robot(dict(robot.symbol_values)))
    same = plain.relation_texts() == base_parameters(robot).relation_texts()
    page.text(
        "The scan prints two columns under one head (sigma, alpha); all joints are rotational. The bundled robot "
        "counts its first two angles from another zero, as a later publication does. The relations of the table as "
        f"printed and those of the bundled robot are the same text: {_yes(same)}."
    )


def table_i() -> Chain:
    """The robot of table I without offsets."""
    return Chain("PUMA 560", "R" * 6, [(alpha, d, 0, r) for alpha, d, r in published.TABLE_I])


def _puma_sets(page: Page, found: BaseParameters) -> None:
    page.heading("Parameters without effect, regrouped, kept")
    none, gone, kept = sets(found)
    rows = [
        (title, len(theirs), len(ours), " ".join(ours), _yes(set(ours) == set(theirs)))
        for title, theirs, ours in (
            ("without effect", published.WITHOUT_EFFECT, none),
            ("eliminated by regrouping", published.REGROUPED, gone),
            ("kept", published.KEPT, kept),
        )
    ]
    page.table(("", "published", "ours", "ours, by name", "same names"), rows)
    page.text(
        f"The paper counts {published.COUNT} minimum parameters of {len(found.columns)}; ours are {found.count}, and "
        f"the regressor at {found.certificate.states} random states has rank {found.certificate.rank}. The scan runs "
        "the first two lists of the summary into one and loses the third; the three lists here are put together from "
        "steps a and b, where each stands in full."
    )


def sets(found: BaseParameters) -> tuple[list[str], list[str], list[str]]:
    """Names without effect, names eliminated by regrouping, base parameters."""
    classes = found.classes()
    none = [name for name in found.columns if classes[name] == "none"]
    gone = [name for name in found.columns if classes[name] != "none" and name not in found.kept]
    return none, gone, list(found.names)


def published_relations() -> dict[str, str]:
    """The last relation the paper writes for each regrouped parameter."""
    last: dict[str, str] = {}
    for step in published.STEPS.values():
        last |= step
    regrouped = {f"{name[:-1]}R{name[-1]}": text for name, text in last.items()}
    return {name: regrouped.get(name, name) for name in published.KEPT}


def puma_differences(found: BaseParameters) -> dict[str, Value]:
    """Ours minus published for each of the 36 parameters."""
    ours = dict(zip(found.names, found.relations, strict=True))
    known = {"YYR3": read(published.STEPS[4]["YY3"])}
    return {name: polynomial(ours[name]) - read(text, known) for name, text in published_relations().items()}


def _puma_relations(page: Page, found: BaseParameters) -> None:
    page.heading("The relations in letters")
    ours, theirs, gaps = found.relation_texts(), published_relations(), puma_differences(found)
    rows = [(name, f"`{ours[name]}`", f"`{theirs[name]}`", _yes(gaps[name] == 0)) for name in found.names]
    page.table(("parameter", "ours", "published", "equal"), rows)
    page.text("`YYR3` in the published `ZZR1` is that of the step for link 4 below.")


def _puma_steps(page: Page, robot: Robot) -> None:
    page.heading("Step b, link by link")
    page.text("Every relation that the paper writes down on its way, against the same stage of ours.")
    ours, gaps = relations.steps(robot), relations.step_differences(robot)
    rows = []
    for j, step in published.STEPS.items():
        for name, text in step.items():
            own = written(in_order(ours[j][name], name, robot.columns()))
            rows.append((f"link {j}", f"{name[:-1]}R{name[-1]}", f"`{own}`", f"`{text}`", _yes(gaps[j][name] == 0)))
    page.table(("after", "", "ours", "published", "equal"), rows)


def in_order(form: relations.Form, own: str, columns: Sequence[str]) -> Linear:
    """A relation with its own parameter first and the others in the order of the columns."""
    assert isinstance(form, Linear)
    names = sorted(form.terms, key=lambda name: (name != own, columns.index(str(name))))
    return Linear({name: form.terms[name] for name in names})


# ---------------------------------------------------------------------- general relations


def _general(page: Page) -> None:
    page.heading("Equations (15), (16), (19) and (20)")
    page.text(
        "The general relations, i for j - 1, a and t for alpha and theta of joint j. Ours come from the one change of "
        "frame of the ten parameters of a body, with all four numbers of the row as letters."
    )
    rows = []
    for number, ours, texts in general_relations():
        gaps = relations.differences(ours, texts)
        for name, text in texts.items():
            verdict = "yes" if gaps[name] == 0 else f"no, ours minus published is `{written(gaps[name])}`"
            rows.append((number, name, f"`{written(ours[name])}`", f"`{text}`", verdict))
    page.table(("equation", "", "ours", "published", "equal"), rows)
    gap = polynomial(relations.regrouped("prismatic")["YYi"]) - _matrix_equation()
    page.text(
        "The scan has lost a factor sin(alpha) in one term of (16). The paper gives the same relations once more as a "
        "matrix equation, (17), which the scan holds whole; its entry YY, expanded in letters, equals ours: "
        f"{_yes(gap == 0)}. In the first line of (15) the scan has j - 1 where only j makes sense. (19) and (20) are "
        "checked on chains R T R and R T T R, for the part that comes from the first moments of the sliding link; "
        "(20) writes it into YY of link j - 1, and (16) moves it on to ZZ of the rotational link, where ours stands "
        "at once."
    )
    page.text(
        "Both come with a side claim: for (19) that mZ of link j - 1 has no effect, for (20) that its mY has none; and "
        "before both, that mZ of the sliding link j has none. Ours on the same chains:"
    )
    page.table(("equation", "chain", "said to have no effect", "ours"), claims.side_claims())


def general_relations() -> list[tuple[str, Mapping[str, relations.Form], Mapping[str, str]]]:
    """(equation, ours, published) of the general relations."""
    return [
        ("(15)", relations.regrouped("revolute"), published.EQUATION_15),
        ("(16)", relations.regrouped("prismatic"), published.EQUATION_16),
        ("(19)", relations.equation_19(), published.EQUATION_19),
        ("(20)", relations.equation_20(), published.EQUATION_20),
    ]


def _matrix_equation() -> Value:
    """Entry YY of (17): J of link i plus A J A' of link j."""
    R, _ = relations.GENERAL
    J = [[read(f"{name}j") for name in r] for r in (("XX", "XY", "XZ"), ("XY", "YY", "YZ"), ("XZ", "YZ", "ZZ"))]
    total = read("YYi")
    for a, b in product(range(3), repeat=2):
        total = total + R[1][a] * R[1][b] * J[a][b]
    return total


# ---------------------------------------------------------------------- the bound


def trees() -> list[str]:
    """The bundled robots without closed loops, of which the bound does not speak."""
    return [name for name in bundled_robots() if not read_robot(name).cuts]


def _bound(page: Page) -> None:
    page.heading("The bound of equation (18)")
    page.text(
        "At most 7 n_r + 4 n_t - 3 - s parameters, s = 1 where the first joint is rotational and 0 where it slides. A "
        "robot stays below where gravity along the first axis hides first moments, and where axes before the first "
        "rotational one that is not parallel to the first hide more than the general relations do (rules 2 to 6). The "
        "two parts are told apart by a count with gravity along no axis."
    )
    rows = [bound_row(name) for name in trees()]
    head = ("robot", "n_r", "n_t", "bound", "gravity across", "ours", "rank", "hidden by gravity", "by the first axes")
    page.table(head, rows)
    above = [row[0] for row in rows if row[4] > row[3]]
    reached = [str(row[0]) for row in rows if row[4] == row[3]]
    page.text(
        f"Robots above the bound: {', '.join(above) or 'none'}. With gravity across it is reached by "
        f"{', '.join(reached)}."
    )


def rule_2() -> list[tuple[str, str, str, str]]:
    """Classes of the first moments and the mass of link 1 of the PUMA 560 (r1 = 1), for three directions of gravity."""
    robot = read_robot("puma560")
    ways = {"along axis 1": robot.gravity, "across axis 1": relations.ACROSS, "none": (0.0, 0.0, 0.0)}
    found = {title: base_parameters(robot, gravity=gravity).classes() for title, gravity in ways.items()}
    return [(title, classes["MX1"], classes["MY1"], classes["M1"]) for title, classes in found.items()]


def _rule_2(page: Page) -> None:
    page.heading('Rule 2: "or if r1 = 1"')
    page.text(
        "Rule 2 (section III-B) says that the horizontal first moments of link r1 have no effect if axis r1 is "
        "parallel to gravity and the axes before it are parallel to r1, *or if r1 = 1*. Read as an alternative of its "
        "own, the last words would take MX1 and MY1 from every robot whose first joint is rotational, also where "
        "gravity turns it. They do have an effect there (PUMA 560, r1 = 1):"
    )
    page.table(("gravity", "MX1", "MY1", "M1"), rule_2())
    page.text(
        "So the words belong to the second condition alone: where r1 = 1 there are no axes before it that could be "
        "otherwise, and gravity must still be along the axis. That the mass of link 1 has no effect for r1 = 1 holds "
        "for any gravity, as the last column says. Ours is read in this way."
    )


def _rule_4(page: Page) -> None:
    page.heading("Rule 4: all parameters of the links beyond")
    example = claims.MEETING.robot({}).numeric
    absent = [name for name in example.columns() if name not in claims.appearing(example)]
    page.text(
        "Rule 4 has two sentences. Of links j ≥ r2 all parameters of the inertia tensor have an effect. *Therefore*, "
        "if mX, mY and mZ of a link k appear in the model, all parameters of links j > k appear. A parameter appears "
        "where its column of the regressor is not zero at 30 random states."
    )
    rows = []
    for title, chains in (
        ("three axes through one point, oblique gravity", [claims.MEETING]),
        ("100 random chains of two to five joints", claims.random_chains()),
    ):
        found = claims.rule_4(chains)
        kinds = " ".join(found.missing) or "none"
        sentences = (found.first, found.against_first, found.second, found.against_second, found.masses)
        rows.append((title, *sentences, kinds))
    head = ("links j ≥ r2", "against sentence 1", "links k of sentence 2", "against it", "by masses", "absent")
    page.table(("robots", *head), rows)
    page.text(
        "The first sentence holds. The second is false where axes meet. On the robot of the first row, with three "
        "rotational joints whose axes meet in one fixed point, oblique gravity makes mX, mY and mZ of link 2 appear. "
        "The mass of link 3 does not: the origin of its frame never moves. Without effect there are "
        f"{' '.join(absent)}. The random chains (axes parallel, at right angles or oblique, two lengths of three zero, "
        "gravity in three directions) contradict it as often as the table says. In half of these cases a mass is "
        "absent because axes meet. In the others link k is a slide oblique to r1 before r2, where one direction of "
        "rotation makes all three first moments appear and not all of the tensor beyond. Ours does not use the "
        "sentence: what has no effect is found from the regrouped relations and checked by the rank."
    )


def bound_row(name: str) -> tuple[Any, ...]:
    """Bound and counts of one bundled robot, inertial parameters only."""
    robot = read_robot(name)
    turning = sum(joint.kind == "revolute" for joint in robot.joints)
    sliding = robot.n_joints - turning
    bound = 7 * turning + 4 * sliding - 3 - int(robot.joints[0].kind == "revolute")
    across, own = base_parameters(robot, gravity=relations.ACROSS), base_parameters(robot)
    rank = own.certificate.rank
    return (
        name,
        turning,
        sliding,
        bound,
        across.count,
        own.count,
        rank,
        across.count - own.count,
        bound - across.count,
    )


# ---------------------------------------------------------------------- the appendix


def _appendix(page: Page) -> None:
    page.heading("Appendix: the recursion of the energy")
    equal, total = lambda_matches()
    page.text(
        f"Of the {total} entries of lambda ((A2) to (A7), all angles and lengths as letters) {equal} equal those of "
        "our change of frame. The vectors f of (A8) and (A9) are checked with numbers: the largest difference between "
        "the energy of a link per unit of its parameters and lambda times that of the link before plus the joint's "
        "velocity times f, over random velocities of order 1:"
    )
    rows = [
        (title, "below 1e-13" if relations.energy_error(kind) < 1e-13 else f"{relations.energy_error(kind):.1e}")
        for kind, title in (("revolute", "rotational, (A8)"), ("prismatic", "translational, (A9)"))
    ]
    page.table(("joint", "largest difference"), rows)
    page.text(
        "In the scan of (A8) the seventh and eighth entry have run together; read as V2 and -V1 the equation holds. "
        "The paper has no table of operation counts."
    )
    same, gap = claims.potential_errors()
    page.text(
        "Potential energy, (A11) with the start (A12): its matrix is lambda with the first six columns zero, and of "
        f"the remaining 40 entries {same} equal ours in letters, as (13) says. Carried along a chain R T R R at random "
        "positions, with gravity along no axis, it gives the potential energy per unit of every parameter of every "
        f"link; the largest difference to that of the product is {below_limit(gap, 1e-12)}."
    )


def _cost(page: Page) -> None:
    page.heading("Customised Newton-Euler with minimum parameters")
    page.text(
        "Section VI: the minimum parameters in a customised Newton-Euler algorithm reduce its cost. The same recursion "
        "written out for a robot, products with 0 and 1 gone and equal terms shared, with every link parameter a "
        "variable: once with all standard parameters, once with the minimum ones in their places and the others zero."
    )
    rows = [
        (name, standard, operations(before), minimum, operations(after))
        for name, standard, before, minimum, after in claims.newton_euler_rows()
    ]
    page.table(("robot", "standard parameters", "operations", "minimum parameters", "operations"), rows)
    page.text(
        "So the claim holds, and the regrouped values go into the recursion as they are. S are sines and cosines, one "
        "pair for each turning joint but the first, along which gravity lies. The Stanford arm's 232M 218A are, to the "
        "last operation, what Lin's table III quotes of this paper. `minertia count` goes further "
        "by the choice of columns and of formulation; its counts beside published ones are on the page of "
        "[Lin 1995](lin1995.md#table-iii-inverse-dynamics)."
    )


def _trees(page: Page) -> None:
    page.heading("Trees and parallelograms")
    tree = base_parameters(claims.two_arms())
    page.text(
        "The conclusion points to two more papers, [22] for trees and [23] for robots with parallelograms; neither is "
        "at hand. The product has both. In a tree (15) and (16) regroup link j on the link that carries it, whatever "
        "its number. A trunk (link 1) that carries an arm (link 2) and a turning joint with a slide (links 3 and 4):"
    )
    page.code(_relation_lines(tree))
    page.text(
        f"Left are {tree.count} of {len(tree.columns)} parameters; the rank of the regressor at random states is "
        f"{tree.certificate.rank}. YY, MZ and M of links 2 and 3 both go to link 1, and all of the tensor of link 4 to "
        "link 3."
    )
    opened, closed = claims.parallelogram()
    page.text(
        "A parallelogram turns two of its links like two others. The bundled `parallelogram_arm` (joints 7 and 8, "
        "crank and rod, close a parallelogram with 2 and 3), opened and closed:"
    )
    rows = [
        (title, found.robot.n, len(found.columns), found.count, found.certificate.rank)
        for title, found in (("opened: a tree", opened), ("closed", closed))
    ]
    page.table(("", "coordinates", "standard parameters", "minimum parameters", "rank"), rows)
    before, after = opened.relation_texts(), closed.relation_texts()
    kept = set(closed.kept)
    gone = [name for name in opened.kept if name not in kept]
    page.text(f"Closing it takes {' '.join(gone)} from the set. The relations that it changes:")
    known = dict(zip(opened.kept, before.values(), strict=True))
    lines = [
        f"{name} = {text}"
        for column, (name, text) in zip(closed.kept, after.items(), strict=True)
        if known.get(column) != text
    ]
    page.code("\n".join(lines))
    page.text(
        "The rod (link 8) turns like the arm (link 2), so its tensor is added to that of the arm, and the crank (link "
        "7) turns like the forearm (link 3). MX8 is shared by two links in the ratio of the lengths."
    )


def _relation_lines(found: BaseParameters) -> str:
    width = max(len(name) for name in found.names)
    return "\n".join(f"{name:<{width}} = {text}" for name, text in found.relation_texts().items())


def lambda_matches() -> tuple[int, int]:
    """Entries of lambda that are equal, and all."""
    pairs = [
        (a, b)
        for ours, theirs in zip(relations.our_lambda(), relations.their_lambda(), strict=True)
        for a, b in zip(ours, theirs, strict=True)
    ]
    return sum(a - b == 0 for a, b in pairs), len(pairs)


def _yes(condition: bool) -> str:
    return "yes" if condition else "no"

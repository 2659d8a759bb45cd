"""Tables 2 to 4 of Khosla 1987: single values of the six-joint arm beside ours, from two starts."""

from __future__ import annotations

from typing import Any

import numpy as np

from minertia.base.grouping import file_to_joint
from minertia.robot.parameters import LINK_SYMBOLS
from papers import khosla_runs
from papers.khosla_arm import ESTIMATED, INITIAL, WRIST, arm, bodies
from papers.khosla_experiments import LOW
from papers.khosla_runs import Experiment, from_initial
from papers.page import Page, shown

Array = np.ndarray[Any, Any]


def left_over(experiment: Experiment, beta: Array) -> float:
    """Part of the efforts that values of the base parameters leave."""
    observation = experiment.result.observation
    assert observation is not None
    return float(np.linalg.norm(observation.residuals(beta)) / np.linalg.norm(observation.totals[:, :, -1]))


def add_tables(page: Page, found: tuple[Experiment, ...]) -> None:
    """Tables 2 to 4 beside ours; found: the experiments with all six joints."""
    start = np.array([b.ten for b in bodies(INITIAL, 6)])
    ours = [from_initial(arm(ESTIMATED, 6), found[0], factor * start).links for factor in (1.0, LOW)]
    classes = found[0].result.linear.base.classes("file")
    page.text(
        "The single values of the tables are not all determined by the data: only those of the class *alone* are. "
        "The others stay as near to the initial values as the data allow. Below, for trajectory A, a recursive "
        "estimate that starts from the printed initial values (first) and one that starts from the second set. "
        "Published inertias are about the centre of mass; the arm and ours are about the frame's origin, in which "
        "the torques are linear (equation 10 of the paper) [kg m², kg m, kg]. Published numbers stand as printed. "
        "Link 2 stands in the frame of the six-joint arm, which is turned: the printed ZZ2 is YY2 there, and the "
        "printed MY2 is -MZ2. Lengths are not printed and so ours; no length enters the columns before ours."
    )
    simulated = np.array([b.possible for b in bodies(ESTIMATED, 6)])
    head = (
        "parameter",
        "published initial",
        "published estimate",
        "simulated arm",
        "ours, first",
        "ours, second",
        "class",
    )
    for title, links in (("Table 2 (links 6 and 5)", (6, 5)), ("Table 3 (links 4 and 3)", (4, 3)), ("Table 4", (2, 1))):
        page.text(f"**{title}**")
        rows = []
        for link in links:
            for k, symbol in enumerate(LINK_SYMBOLS):
                if classes[f"{symbol}{link}"] != "none":
                    published = [_printed_cell(link, column, k) for column in (INITIAL, ESTIMATED)]
                    got = [shown(table[link - 1, k]) for table in (simulated, *ours)]
                    rows.append((f"{symbol}{link}", *published, *got, classes[f"{symbol}{link}"]))
        page.table(head, rows)
    page.text(_table_verdict(found[0], simulated, ours, classes))


def _printed_cell(link: int, column: str, k: int) -> str:
    if link in WRIST:
        value = WRIST[link][column][k]
        return "lost" if value is None else f"{value:.6f}"
    body = bodies(column, 6)[link - 1]
    value = (*body.inertia, *body.moments, body.mass)[k]
    return f"{-value:.6f} (MY2)" if (link, LINK_SYMBOLS[k]) == (2, "MZ") else f"{value:.6f}"


def _table_verdict(experiment: Experiment, simulated: Array, ours: list[Array], classes: dict[str, str]) -> str:
    """How far the two starts lie apart, for what the data determine and for what they do not."""
    base = experiment.result.linear.base
    to_base = base.K @ file_to_joint(experiment.result.robot, base.columns)
    left = [f"{100 * left_over(experiment, to_base @ links.ravel()):.2f}" for links in ours]
    size = np.array([khosla_runs.sizes(ten) for ten in simulated])
    apart, off = np.abs(ours[0] - ours[1]) / size, np.abs(ours[0] - simulated) / size

    def largest(table: Array, kind: str) -> str:
        values = [table[int(n[-1]) - 1, LINK_SYMBOLS.index(n[:-1])] for n, c in classes.items() if c == kind]
        return f"{100 * max(values):.2g} %" if max(values) > 1e-5 else "less than 0.001 %"

    return (
        "In parts of the largest value of the same kind in a link: values of the class *alone* differ between the "
        f"two starts by {largest(apart, 'alone')} and from the arm by at most {largest(off, 'alone')}; those in "
        f"combinations by up to {largest(apart, 'combination')} and {largest(off, 'combination')}, though they leave "
        f"alike {left[0]} % and {left[1]} % of the efforts. So single values within 5 % of one another, as published, "
        "need initial values that are near to one another; the combinations do not."
    )

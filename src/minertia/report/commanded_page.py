"""The page of an identification without efforts: verdict, scale, position loops, residuals, what cannot be seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from minertia.identification.closed_loop.identify import scale
from minertia.identification.closed_loop.judge import hidden_sentences, steps_of
from minertia.identification.closed_loop.simulate import simulated, with_start
from minertia.report.charts import STYLE as CHART_STYLE
from minertia.report.charts import effort_chart, legend
from minertia.report.html import bullets, escape, facts, markup_table, number, page, paragraph, section, text_table
from minertia.report.identification_page import (
    FORMAT,
    SHOWN,
    VERDICT_STYLE,
    audit_section,
    head,
    not_excited_section,
    parameter_section,
    sentence,
    words,
)
from minertia.report.identification_tables import percent, residual_rows, result_rows, short
from minertia.version import __version__

if TYPE_CHECKING:
    from minertia.identification.closed_loop.logs import LoopLog
    from minertia.identification.closed_loop.model import ServoModel
    from minertia.identification.closed_loop.outcome import ReadLog
    from minertia.identification.commanded import LoopIdentification
    from minertia.identification.evidence.residuals import Residuals
    from minertia.identification.model import IdentifiedModel

Array = NDArray[np.float64]
STEP = 1e-3  # s with which the curves are simulated
AWAY = "With these values the motion runs away; there is nothing to draw."


def commanded_page(result: LoopIdentification, model: IdentifiedModel) -> str:
    """One self-contained HTML page of an identification from commands and positions."""
    title = f"Identification of {result.outcome.campaign.name} from commands"
    body = "".join(
        (
            head(result, title),
            section("Scale", paragraph(sentence(scale(result.fit.model)))),
            section("Position loops", _loops(result)),
            section("Ratios to kp", _ratios(result)),
            section("Residuals of positions", _residuals(result)),
            _curves(result),
            section("Parameters", parameter_section(result, model)),
            _unseen(result),
            not_excited_section(result),
            audit_section(result),
            section("How this was made", _made(result)),
        )
    )
    return page(title, body, kind="identification", format_version=FORMAT, style=VERDICT_STYLE + CHART_STYLE)


def _loops(result: LoopIdentification) -> str:
    loop = result.loop
    columns = [key for key in ("kp", "kd", "ki", "limit", "zeros") if key in loop]
    rows = [
        [escape(joint), *(number(float(loop[key][j]), 4) for key in columns)] for j, joint in enumerate(loop["joints"])
    ]
    late = f"the {loop['delay_of']} is late by {1e3 * loop['delay']:.3g} ms"
    held = "each command is held until the next" if loop["hold"] == "zero" else "commands are joined linearly"
    lead = f"Law: {loop['law']}; {late}; {held}."
    one = [joint for joint, is_one in zip(loop["joints"], loop["damping_is_one"], strict=True) if is_one]
    told = paragraph(f"kd holds viscous friction, too: {', '.join(one)}.") if one else ""
    units = "Joint side, in N m and rad, N and m where a joint slides, and s."
    table = markup_table(["joint", *columns], rows, tuple(range(1, len(columns) + 1)))
    return paragraph(lead) + told + table + paragraph(units)


def _ratios(result: LoopIdentification) -> str:
    found = result.to_dict()["ratios"]
    rows = [
        [escape(r["joint"]), escape(r["ratio"]), number(r["value"], 4), number(r["deviation"], 2), escape(r["unit"])]
        for r in found
    ]
    lead = (
        "They are what a simulated servo needs, and hold whatever fixes the scale: dead zone, sag and damping over kp."
    )
    return paragraph(lead) + markup_table(["joint", "ratio", "value", "deviation", "unit"], rows, (2, 3))


def _residuals(result: LoopIdentification) -> str:
    lead = (
        "Norm of measured less simulated positions over norm of how far the joints are from their commands, in open "
        "simulation of each log from its start; 100 % is a joint that follows its command at once."
    )
    judged = {"training": result.training, **{short(r.log): r for r in result.validation}}
    rows = [[escape(name), *(number(1e3 * e, 3) for e in r.joint_rmse)] for name, r in judged.items()]
    right = tuple(range(1, len(result.training.joints) + 1))
    rmse = markup_table(["", *result.training.joints], rows, right)
    about = paragraph("Root mean square of the residual [mrad or mm]:")
    return paragraph(lead) + text_table(residual_rows(result_rows(result, short))) + about + rmse


def _curves(result: LoopIdentification) -> str:
    """How far the joints are from their commands, measured and simulated; logs never fitted first."""
    outcome = result.outcome
    logs = [(read, "not fitted") for read in outcome.unseen] + [(read, "fitted") for read in outcome.logs]
    judged = {r.log: r for r in (*result.evidence.logs, *result.validation)}
    parts = [
        section(f"{read.loop.name} ({kind})", legend(), *_charts(result, read, judged.get(read.loop.name)))
        for read, kind in logs[:SHOWN]
    ]
    left = ", ".join(read.loop.name for read, _ in logs[SHOWN:])
    return "".join(parts) + (paragraph(f"Not drawn: {left}.") if left else "")


def _charts(result: LoopIdentification, read: ReadLog, found: Residuals | None) -> list[str]:
    model = result.fit.model
    found_lags = lags(model, result.fit.theta, read.loop)
    if found_lags is None:
        return [paragraph(AWAY)]
    t, measured, predicted = found_lags
    charts = []
    for j, joint in enumerate(model.output_names):
        left = "" if found is None else f", residual {percent(found.joint_relative[j])} of it"
        remark = f"distance from the command [mrad or mm]{left}"
        charts.append(effort_chart(joint, remark, t, measured[:, j], predicted[:, j], ""))
    return charts


def lags(model: ServoModel, theta: Array, log: LoopLog, step: float = STEP) -> tuple[Array, Array, Array] | None:
    """Times [s] and how far outputs are from commands [mrad or mm], measured and simulated; None: it runs away."""
    steps = steps_of(log, step)
    motion = simulated(model, theta, with_start(model, theta, log, steps), steps, slopes=False)
    if motion is None:
        return None
    t, rows = np.asarray(log.period * np.arange(len(log.q))[log.rows], float), log.rows
    return t, 1e3 * log.lag[rows], 1e3 * (motion.q - log.told)[rows]


def _unseen(result: LoopIdentification) -> str:
    told = hidden_sentences(result.fit)
    if not told:
        return ""
    return section("What this motion does not tell apart", bullets([sentence(text) for text in told]))


def _made(result: LoopIdentification) -> str:
    campaign, names = result.outcome.campaign, [read.loop.name for read in result.outcome.logs]
    pairs: dict[str, object] = {
        "minertia": __version__,
        "robot": result.robot.source or result.robot.name,
        "fitted": ", ".join(log.name for log in campaign.train),
        "validated on": ", ".join(log.name for log in campaign.validate) or "nothing",
        "method": result.estimate.estimator,
        "links": "of the robot's file" if result.fit.model.keeps_links else "fitted",
        "steps of the simulation between rows": words(dict(zip(names, result.fit.steps, strict=True))),
    }
    return facts(pairs)

"""The page of an identification without efforts: verdict, scale, position loops, residuals, what cannot be seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from minertia.identification.closed_loop.identify import scale
from minertia.identification.closed_loop.judge import hidden_sentences, steps_of
from minertia.identification.closed_loop.simulate import simulated, with_start
from minertia.report.blocks import (
    Block,
    BlockPage,
    Cell,
    CellTable,
    Chart,
    Listed,
    NameCell,
    Part,
    Words,
    cells,
    figures,
)
from minertia.report.fit_views import FIT_FORMAT, SHOWN, audit_lines, words
from minertia.report.identification_tables import DEVIATIONS, percent, residual_rows, result_rows, short
from minertia.report.words import CLASS_WORDS
from minertia.version import __version__

if TYPE_CHECKING:
    from minertia.identification.closed_loop.logs import LoopLog
    from minertia.identification.closed_loop.model import ServoModel
    from minertia.identification.closed_loop.outcome import ReadLog
    from minertia.identification.commanded import LoopIdentification
    from minertia.identification.evidence.parameters import ParameterEvidence
    from minertia.identification.evidence.residuals import Residuals
    from minertia.identification.model import IdentifiedModel

Array = NDArray[np.float64]
STEP = 1e-3  # s with which the curves are simulated
AWAY = "With these values the motion runs away; there is nothing to draw."
LEAD = "Found by simulating the joints' position loops: positions follow from commands, no effort was measured."
RELATIVE = (
    "Norm of measured less simulated positions over norm of how far the joints are from their commands, in open "
    "simulation of each log from its start; 100 % is a joint that follows its command at once."
)
RATIOS = "They are what a simulated servo needs, and hold whatever fixes the scale: dead zone, sag and damping over kp."
UNITS = "Joint side, in N m and rad, N and m where a joint slides, and s."


def commanded_page(result: LoopIdentification, model: IdentifiedModel) -> BlockPage:
    """The page of an identification from commands and positions."""
    hidden, audits = [sentence(text) for text in hidden_sentences(result.fit)], audit_lines(result)
    unexcited = list(dict.fromkeys(result.estimate.not_excited.values()))
    parts = [
        Part("Scale", [Words(sentence(scale(result.fit.model)))]),
        Part("Position loops", _loops(result)),
        Part("Ratios to kp", _ratios(result)),
        Part("Residuals of positions", _residuals(result)),
        *_curves(result),
        Part("Parameters", _parameters(result, model)),
        *([Part("What this motion does not tell apart", [Listed(hidden)])] if hidden else []),
        Part("What was not excited", _unexcited(unexcited)),
        *([Part("What was said about the logs", [Listed(audits)])] if audits else []),
        Part("How this was made", [_made(result)]),
    ]
    title = f"Identification of {result.outcome.campaign.name} from commands"
    verdict = result.to_dict()["verdict"]
    return BlockPage(title, "identification", FIT_FORMAT, LEAD, _facts(result), parts, verdict=verdict)


def sentence(text: str) -> str:
    """A line as a sentence."""
    return f"{text[:1].upper()}{text[1:]}."


def _facts(result: LoopIdentification) -> dict[str, object]:
    unseen = [r.relative for r in result.validation]
    return {
        "residual, training": percent(result.training.relative),
        **({"residual, unseen logs": percent(float(np.mean(unseen)))} if unseen else {}),
        "parameters": len(result.estimate.names),
        "estimator": result.estimate.estimator,
        "condition number": f"{result.estimate.condition:.3g}",
    }


def _loops(result: LoopIdentification) -> list[Block]:
    loop = result.loop
    columns = [key for key in ("kp", "kd", "ki", "limit", "zeros") if key in loop]
    rows = [[joint, *(figures(float(loop[key][j]), 4) for key in columns)] for j, joint in enumerate(loop["joints"])]
    late = f"the {loop['delay_of']} is late by {1e3 * loop['delay']:.3g} ms"
    held = "each command is held until the next" if loop["hold"] == "zero" else "commands are joined linearly"
    one = [joint for joint, is_one in zip(loop["joints"], loop["damping_is_one"], strict=True) if is_one]
    told = [Words(f"kd holds viscous friction, too: {', '.join(one)}.")] if one else []
    table = CellTable(["joint", *columns], rows, tuple(range(1, len(columns) + 1)))
    return [Words(f"Law: {loop['law']}; {late}; {held}."), *told, table, Words(UNITS)]


def _ratios(result: LoopIdentification) -> list[Block]:
    rows = [
        [r["joint"], r["ratio"], figures(r["value"], 4), figures(r["deviation"], 2), r["unit"]]
        for r in result.to_dict()["ratios"]
    ]
    return [Words(RATIOS), CellTable(["joint", "ratio", "value", "deviation", "unit"], rows, (2, 3))]


def _residuals(result: LoopIdentification) -> list[Block]:
    judged = {"training": result.training, **{short(r.log): r for r in result.validation}}
    rows = [[name, *(figures(1e3 * float(e), 3) for e in r.joint_rmse)] for name, r in judged.items()]
    joints = result.training.joints
    rmse = CellTable(["", *joints], rows, tuple(range(1, len(joints) + 1)))
    about = Words("Root mean square of the residual [mrad or mm]:")
    return [Words(RELATIVE), cells(residual_rows(result_rows(result, short))), about, rmse]


def _curves(result: LoopIdentification) -> list[Part]:
    """How far the joints are from their commands, measured and simulated; logs never fitted first."""
    outcome = result.outcome
    logs = [(read, "not fitted") for read in outcome.unseen] + [(read, "fitted") for read in outcome.logs]
    judged = {r.log: r for r in (*result.evidence.logs, *result.validation)}
    parts = [
        Part(f"{read.loop.name} ({kind})", _charts(result, read, judged.get(read.loop.name)))
        for read, kind in logs[:SHOWN]
    ]
    left = ", ".join(read.loop.name for read, _ in logs[SHOWN:])
    return parts + ([Part("Not drawn", [Words(left)])] if left else [])


def _charts(result: LoopIdentification, read: ReadLog, found: Residuals | None) -> list[Block]:
    model = result.fit.model
    found_lags = lags(model, result.fit.theta, read.loop)
    if found_lags is None:
        return [Words(AWAY)]
    t, measured, predicted = found_lags
    charts: list[Block] = [Words("Distance from the command, measured and simulated.")]
    for j, joint in enumerate(model.output_names):
        left = "" if found is None else f", residual {percent(float(found.joint_relative[j]))} of it"
        lines = {"measured": measured[:, j], "simulated": predicted[:, j]}
        charts.append(Chart(f"{joint}{left}", "mrad or mm", t, lines))
    return charts


def lags(model: ServoModel, theta: Array, log: LoopLog, step: float = STEP) -> tuple[Array, Array, Array] | None:
    """Times [s] and how far outputs are from commands [mrad or mm], measured and simulated; None: it runs away."""
    steps = steps_of(log, step)
    motion = simulated(model, theta, with_start(model, theta, log, steps), steps, slopes=False)
    if motion is None:
        return None
    t, rows = np.asarray(log.period * np.arange(len(log.q))[log.rows], float), log.rows
    return t, 1e3 * log.lag[rows], 1e3 * (motion.q - log.told)[rows]


def _parameters(result: LoopIdentification, model: IdentifiedModel) -> list[Block]:
    """All values with deviations, intervals and classes."""
    relations = {str(p["name"]): str(p["relation"]) for p in model.parameters}
    headers = ["parameter", "value", "deviation", "relative", "95 % interval", "class", "relation"]
    rows = [_row(p, relations.get(p.name, "")) for p in result.parameters]
    classes = "; ".join(f"{kind}: {text}" for kind, text in CLASS_WORDS.items() if kind != "none")
    lead = f"{sentence(DEVIATIONS)} Classes: {classes}; fixed: given, not fitted."
    return [Words(lead), CellTable(headers, rows, (1, 2, 3, 4))]


def _row(p: ParameterEvidence, relation: str) -> list[Cell]:
    is_fixed, (low, high) = p.kind == "fixed", p.interval
    return [
        NameCell(p.name),
        figures(p.value),
        "" if is_fixed else figures(p.deviation, 2),
        "" if is_fixed else percent(p.relative_deviation),
        "" if is_fixed else f"{figures(low, 4)} to {figures(high, 4)}",
        p.kind,
        "" if relation == p.name else relation,
    ]


def _unexcited(missing: list[str]) -> list[Block]:
    if not missing:
        return [Words("Everything that this robot can show was excited.")]
    return [Words("These logs say nothing about the following; no number is given for them."), Listed(missing)]


def _made(result: LoopIdentification) -> CellTable:
    campaign, names = result.outcome.campaign, [read.loop.name for read in result.outcome.logs]
    pairs = {
        "minertia": __version__,
        "robot": result.robot.source or result.robot.name,
        "fitted": ", ".join(log.name for log in campaign.train),
        "validated on": ", ".join(log.name for log in campaign.validate) or "nothing",
        "method": result.estimate.estimator,
        "links": "of the robot's file" if result.fit.model.keeps_links else "fitted",
        "steps of the simulation between rows": words(dict(zip(names, result.fit.steps, strict=True))),
    }
    return CellTable(["choice", "value"], [[key, value] for key, value in pairs.items()])

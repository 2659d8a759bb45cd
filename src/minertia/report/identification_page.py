"""The page of an identification: verdict, curves, residuals, parameters, and how it was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from minertia.identification.campaigns.record import campaign_record
from minertia.identification.evidence.residuals import Residuals, pooled
from minertia.identification.judge import residuals_on
from minertia.identification.logs.recording import SI
from minertia.identification.loss import urdf_loss
from minertia.report.charts import STYLE as CHART_STYLE
from minertia.report.charts import effort_chart, legend
from minertia.report.html import (
    bullets,
    escape,
    facts,
    markup_table,
    number,
    page,
    paragraph,
    parameter_name,
    relation,
    section,
    text_table,
)
from minertia.report.identification_tables import (
    DEVIATIONS,
    percent,
    physical_sentence,
    residual_rows,
    result_rows,
    short,
)
from minertia.report.words import CLASS_WORDS, PRIOR_WORDS
from minertia.version import __version__

if TYPE_CHECKING:
    from minertia.identification.campaigns.prepare import PreparedLog
    from minertia.identification.evidence.parameters import ParameterEvidence
    from minertia.identification.identify import Identification
    from minertia.identification.model import IdentifiedModel

FORMAT = 1
COLOURS = {"good": "good", "usable": "fair", "not good": "bad"}
SHOWN = 4  # logs whose curves are drawn, at most
POOR = 0.3  # relative deviation that is marked
UNITS = {"Nm": "N m"}


def identification_page(result: Identification, model: IdentifiedModel) -> str:
    """One self-contained HTML page of an identification and the logs it was made from."""
    name = result.problem.campaign.name
    title = f"Identification of {name}"
    body = "".join(
        (
            head(result, title),
            section("Residuals", _residuals(result)),
            _curves(result),
            section("Parameters", parameter_section(result, model)),
            not_excited_section(result),
            _physical(result, model),
            audit_section(result),
            section("How this was made", _made(result)),
        )
    )
    return page(title, body, kind="identification", format_version=FORMAT, style=VERDICT_STYLE + CHART_STYLE)


def head(result: Identification, title: str) -> str:
    """Title, verdict with its reasons, and the main figures."""
    e, verdict = result.estimate, result.verdict
    pairs: dict[str, object] = {
        "residual, training": percent(result.training.relative),
        **({"residual, unseen logs": _unseen(result)} if result.validation else {}),
        "parameters": len(e.names),
        "estimator": e.estimator,
        "condition number": f"{e.condition:.3g}",
    }
    word = verdict.word.capitalize()
    lead = f"{word}: {verdict.reasons[0]}" if verdict.reasons else word
    box = f'<p class="verdict {COLOURS[verdict.grade]}"><b>{word}</b></p>\n'
    box += "".join(paragraph(sentence(line)) for line in verdict.lines)
    return (
        f"<header>\n<h1>{escape(title)}</h1>\n{box}{bullets(_reasons(result))}{facts(pairs)}</header>\n"
        if len(verdict.reasons) > 1
        else f'<header>\n<h1>{escape(title)}</h1>\n{box}<p class="lead">{escape(lead)}</p>\n{facts(pairs)}</header>\n'
    )


def sentence(text: str) -> str:
    """A line as a sentence."""
    return f"{text[:1].upper()}{text[1:]}."


def _reasons(result: Identification) -> list[str]:
    """The reasons without what has a section of its own below."""
    own = set(result.estimate.not_excited.values())
    reasons = [reason for reason in result.verdict.reasons if reason not in own]
    hidden = len(result.estimate.not_excited)
    return reasons + ([f"{hidden} parameters were not excited; they are listed below"] if hidden else [])


def _unseen(result: Identification) -> str:
    return percent(float(np.mean([r.relative for r in result.validation])))


def _residuals(result: Identification) -> str:
    rows = result_rows(result, short)
    nominal = _nominal_on_training(result)
    if nominal is not None:
        rows = {"training": rows.pop("training"), "nominal model, training": nominal, **rows}
    lead = (
        "Norm of the residual over norm of the effort, prediction and measurement through the same evaluation filter. "
        "Logs named here were not fitted; the nominal model has the robot file's own parameters."
    )
    return paragraph(lead) + text_table(residual_rows(rows)) + _rmse(result, _units(result))


def _rmse(result: Identification, unit: str) -> str:
    judged = {"training": result.training, **{short(r.log): r for r in result.validation}}
    rows = [[escape(name), *(number(e, 3) for e in r.joint_rmse)] for name, r in judged.items()]
    right = tuple(range(1, len(result.training.joints) + 1))
    table = markup_table(["", *result.training.joints], rows, right)
    return paragraph(f"Root mean square of the residual [{unit}]:") + table


def _units(result: Identification) -> str:
    """Units of the efforts that are judged."""
    unit = _unit(result.problem.logs[0])
    kinds = [joint.kind for joint in result.robot.joints]
    return f"{unit}; N where a joint slides" if unit == "N m" and "prismatic" in kinds else unit


def _nominal_on_training(result: Identification) -> Residuals | None:
    if not result.robot.has_parameters:
        return None
    beta = result.linear.nominal()
    return pooled("nominal", [residuals_on(result.linear, beta, log) for log in result.problem.logs])


def _curves(result: Identification) -> str:
    """Curves of the logs, those never fitted first."""
    logs = [(log, "not fitted") for log in result.problem.unseen] + [(log, "fitted") for log in result.problem.logs]
    parts = []
    judged = {r.log: r for r in (*result.evidence.logs, *result.validation)}
    for log, kind in logs[:SHOWN]:
        parts.append(section(f"{log.name} ({kind})", legend(), *_log_charts(result, log, judged.get(log.name))))
    if len(logs) > SHOWN:
        left = ", ".join(log.name for log, _ in logs[SHOWN:])
        parts.append(paragraph(f"Not drawn: {left}."))
    return "".join(parts)


def _log_charts(result: Identification, log: PreparedLog, found: Residuals | None) -> list[str]:
    if log.judged is None:
        return [paragraph("This log was given as a motion; there are no measured curves to draw.")]
    part = next(log.judged.parts())  # of a log read in blocks, the first
    measured, predicted = part.compared(result.predict(part))
    unit = _unit(log)
    charts = []
    for j, joint in enumerate(result.linear.row_names):
        remark = f"[{unit}]"
        if found is not None:
            remark += f", residual {percent(found.joint_relative[j])} of the effort"
        charts.append(effort_chart(joint, remark, part.times, measured[:, j], predicted[:, j], ""))
    return charts


def _unit(log: PreparedLog) -> str:
    unit = SI if log.judged is None else log.judged.unit
    return UNITS.get(unit, unit)


def parameter_section(result: Identification, model: IdentifiedModel) -> str:
    """All values with deviations, intervals and classes."""
    relations = {str(p["name"]): str(p["relation"]) for p in model.parameters}
    many = any(p.over_recordings for p in result.parameters)
    headers = ["parameter", "value", "deviation", "relative", "95 % interval", "class", "relation"]
    if many:
        headers.insert(5, "over the logs: min to max")
    rows = [_parameter_row(p, relations.get(p.name, ""), many) for p in result.parameters]
    styles = {len(headers) - 1: "relation", len(headers) - 2: "unit"}
    lead = f"{DEVIATIONS[0].upper()}{DEVIATIONS[1:]}; values known to no better than {percent(POOR)} are marked."
    words = {kind: text for kind, text in CLASS_WORDS.items() if kind != "none"}
    classes = "; ".join(f"{kind}: {text}" for kind, text in words.items())
    table = markup_table(headers, rows, right=tuple(range(1, 6 if many else 5)), styles=styles)
    return paragraph(lead) + paragraph(f"Classes: {classes}; prior: {PRIOR_WORDS}; fixed: given, not fitted.") + table


def _parameter_row(p: ParameterEvidence, written: str, many: bool) -> list[str]:
    fixed = p.kind == "fixed"
    poor = not fixed and not p.relative_deviation <= POOR
    relative = "" if fixed else escape(percent(p.relative_deviation))
    low, high = p.interval
    row = [
        parameter_name(p.name),
        number(p.value),
        "" if fixed else number(p.deviation, 2),
        f'<span class="poor">{relative}</span>' if poor else relative,
        "" if fixed else f"{number(low, 4)} to {number(high, 4)}",
    ]
    if many:
        over = p.over_recordings
        row.append("" if over is None else f"{number(over['min'], 4)} to {number(over['max'], 4)}")
    return [*row, escape(p.kind), "" if written == p.name else relation(written)]


def not_excited_section(result: Identification) -> str:
    """What the logs say nothing about."""
    missing = result.estimate.not_excited
    if not missing:
        return section("What was not excited", paragraph("Everything that this robot can show was excited."))
    return section(
        "What was not excited",
        paragraph("These logs say nothing about the following; no number is given for them."),
        bullets(list(dict.fromkeys(missing.values()))),
    )


def _physical(result: Identification, model: IdentifiedModel) -> str:
    return section("Can such a robot exist?", bullets(physical_sentences(result, model)))


def physical_sentences(result: Identification, model: IdentifiedModel) -> list[str]:
    """Whether a robot can have these values, what that costs, and what the estimator noted."""
    verdict, sentences = result.estimate.verdict, []
    own = physical_sentence(verdict)
    if own:
        sentences.append(own)
    excess = float(model.evidence.get("standard_excess", 0.0))
    if not verdict and model.is_physical:
        cost = (
            f"a robot that can exist fits best with a sum of squares higher by {100 * excess:.2g} %"
            if excess > 0
            else "a robot that can exist has exactly these efforts"
        )
        sentences.append(f"{cost}; its masses and inertias stand in model.toml")
    if not model.is_physical:
        sentences.append("no robot that can exist was found with these efforts; identify with --physical")
    lost = urdf_loss(result, model) if str(result.robot.source).lower().endswith(".urdf") else None
    if lost is not None:
        sentences.append(f"robot.urdf: {lost}; robot.mjcf has it for MuJoCo")
    return [*sentences, *result.estimate.notes]


def audit_section(result: Identification) -> str:
    """What the readers assumed and the audits found."""
    lines = audit_lines(result)
    return section("What was said about the logs", bullets(lines)) if lines else ""


def audit_lines(result: Identification) -> list[str]:
    """What was assumed about each log, and what its audit found."""
    lines = []
    for log in (*result.problem.logs, *result.problem.unseen):
        lines += [f"{log.name}: {note}" for note in (log.recording.notes if log.recording is not None else ())]
        for f in log.findings:
            if f.level != "info":
                where = ", ".join(p for p in (f.channel, "" if f.row is None else f"row {f.row}") if p)
                lines.append(f"{log.name}: {f.level}: {where + ': ' if where else ''}{f.text}")
    return lines


def _made(result: Identification) -> str:
    return facts(made_facts(result))


def made_facts(result: Identification) -> dict[str, object]:
    """How an identification was made."""
    record = campaign_record(result.problem.campaign)
    gravity = ", ".join(f"{g:g}" for g in result.robot.gravity)
    pairs: dict[str, object] = {
        "minertia": __version__,
        "robot": result.robot.source or result.robot.name,
        "gravity [m/s\u00b2]": f"({gravity})",
        "fitted": ", ".join(record["train"]),
        "validated on": ", ".join(record["validate"]) or "nothing",
        "estimator": words(record["estimator"]),
        "effects": _effects(record["effects"]),
        "filter of the fit": words(record["filter"]),
        "evaluation filter": words(record["evaluation"] or {}),
        "columns": words(record["columns"]) or "recognised",
        "drive": words(record["drive"]) or "joint side",
    }
    if record["fix"]:
        pairs["fixed"] = words(record["fix"])
    if record["prior"]:
        pairs["prior"] = record["prior"]
    spread = result.evidence.spread
    if spread is not None:
        pairs["autocorrelation time of the residuals"] = (
            f"{spread.length} samples, of which the logs have {spread.blocks}"
        )
    return pairs


def _effects(effects: Sequence[Any] | None) -> str:
    if effects is None:
        return "chosen"
    return ", ".join(str(e["kind"]) if isinstance(e, Mapping) else str(e) for e in effects) or "none"


def words(table: Mapping[str, Any]) -> str:
    """A table in one line."""
    return ", ".join(f"{key} {_value(value)}" for key, value in table.items())


def _value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.5g}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    return str(value)


VERDICT_STYLE = """
.verdict{margin:.4rem 0}.verdict b{display:inline-block;border-radius:.4rem;padding:.15rem .8rem;font-size:1.05rem}
.good b{background:#1a7f37;color:#fff}.fair b{background:#8a5a00;color:#fff}.bad b{background:#a40e26;color:#fff}
.poor{color:var(--warn);font-weight:600}
"""

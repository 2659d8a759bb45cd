"""Logs and identifications as plain data for the page: curves, patterns of residuals, parameters, verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from scipy.signal import welch

from minertia.identification.audits.findings import Finding
from minertia.identification.campaigns.record import campaign_record
from minertia.identification.closed_loop.carrying import is_weightless
from minertia.identification.evidence.measure import Measure
from minertia.identification.evidence.residuals import Residuals
from minertia.identification.identify import Identification
from minertia.identification.kind import Curves, ErrorArrows, PredictedLog, Section
from minertia.identification.kinds import kind_of_model
from minertia.identification.logs.recording import Recording
from minertia.identification.model import Model
from minertia.io.arrays import POINTS, Array, thinned
from minertia.report.bundle import finite, rounded
from minertia.report.export_tables import export_sentences
from minertia.report.identification_tables import physical_sentence
from minertia.report.robot_views import drawn_robot, robot_data
from minertia.report.tables import unit_of
from minertia.robot.robot import Robot
from minertia.version import __version__

# ----------------------------------------------------------------------------------------------------- predicted logs


SAMPLES = 400  # points of a log in which residuals are drawn against speed and position
ARROWS = 400  # position errors of a log that are drawn
SEGMENT, FEWEST = 256, 64  # samples of a part whose spectrum is taken, and of a log that has one


def judged_view(
    log: PredictedLog, measure: Measure, title: str, *, is_fitted: bool, points: int = POINTS
) -> dict[str, Any]:
    """Measured, predicted and nominal outputs of a log, joint by joint; points: limit for one curve.

    Only the first block of a log that is read in blocks.  Lists are by joint; null represents non-finite values.
    """
    curves, before = log.curves(), log.nominal()
    view: dict[str, Any] = {
        "log": title,
        "is_fitted": is_fitted,
        "residual": residual_data(log.residuals),
        "nominal_residual": None if before is None else residual_data(before),
        "units": [],
        "t": [],
        "curves": {},
        "samples": None,
        "spectrum": None,
        "arrows": _arrows(log.arrows()),
    }
    if curves is None:  # the motion runs away
        return view
    lines = {"measured": curves.measured, "predicted": curves.predicted}
    lines |= {} if curves.nominal is None else {"nominal": curves.nominal}
    keep = thinned(curves.t, curves.measured, points)
    return view | {
        "units": list(curves.units),
        "over": curves.over,
        "t": rounded(curves.t[keep], 5),
        "curves": {name: by_joint(values[keep]) for name, values in lines.items()},
        "samples": _samples(curves),
        "spectrum": _spectrum(curves, measure),
    }


def _arrows(found: ErrorArrows | None) -> dict[str, Any] | None:
    """At most `ARROWS` position errors as plain data, with the postures at which they occur."""
    if found is None or not len(found.at):
        return None
    at = np.unique(np.linspace(0, len(found.at) - 1, ARROWS).astype(int))
    postures, number = np.unique(found.posture[at], return_inverse=True)
    lists = {"at": found.at, "before": found.before, "after": found.after}
    return {
        "q": [rounded(q, 5) for q in found.q[postures]],
        "numbers": (postures + 1).tolist(),
        "posture": number.tolist(),
        **{name: [rounded(v, 7) for v in values[at]] for name, values in lists.items()},
    }


def residual_data(found: Residuals) -> dict[str, Any]:
    """Residuals without the name of their log; null where the effort is zero."""
    return {**found.to_dict(with_log=False), "relative": finite(found.relative)}


def by_joint(values: Array) -> list[list[float | None]]:
    """Columns of an array (N, joints), rounded to five significant digits."""
    return [rounded(values[:, j], figures=5) for j in range(values.shape[1])]


def _samples(curves: Curves) -> dict[str, Any] | None:
    """Values at uniformly spaced times: positions, velocities, residuals, measured and modelled friction.

    Measured friction is the effort minus all other terms of the model.  Null where the model has no friction.
    """
    if curves.patterns is None:
        return None
    at = np.unique(np.linspace(0, len(curves.t) - 1, SAMPLES).astype(int))
    q, qd = (_moved(values[at]) for values in curves.patterns)
    friction, model = (None, None) if curves.friction is None else (by_joint(f[at]) for f in curves.friction)
    rest = by_joint((curves.measured - curves.predicted)[at])
    times = rounded(curves.t[at], 4)
    return {"t": times, "q": q, "qd": qd, "residual": rest, "friction": friction, "model": model}


def _moved(values: Array) -> list[list[float | None] | None]:
    """Columns of an array; null for a column that contains NaN, such as an effort that belongs to no joint."""
    return [None if np.isnan(column).any() else rounded(column, 4) for column in values.T]


def _spectrum(curves: Curves, measure: Measure) -> dict[str, Any] | None:
    """Amplitude densities [unit/sqrt(Hz)] of output and residual by Welch's method; None for a short log."""
    times = curves.t
    if len(times) < FEWEST or curves.over != Curves.over:
        return None
    rate = (len(times) - 1) / float(times[-1] - times[0])
    length = min(SEGMENT, len(times) // 2)
    found = {}
    for name, values in (("effort", curves.measured), ("residual", curves.measured - curves.predicted)):
        hz, power = welch(values, rate, nperseg=length, axis=0, detrend="constant")
        found[name] = by_joint(np.sqrt(power[1:]))
    return {"hz": rounded(hz[1:], 4), "word": measure.word, **found}


# ---------------------------------------------------------------------------------------------------- identifications


FIT_FORMAT = 1  # of the page
SHOWN = 4  # logs whose curves are drawn, at most


def log_view(name: str, recording: Recording, findings: Sequence[Finding]) -> dict[str, Any]:
    """Log as plain data: its size, assumptions and findings, and its curves."""
    keep = thinned(recording.t, recording.q if recording.tau is None else recording.tau)
    signals = {"q": recording.q, "qd": recording.qd, "effort": recording.tau}
    if recording.tau is None:
        signals["command"] = recording.channels.get("command")
    return {
        "log": name,
        "joints": list(recording.joints),
        "samples": len(recording),
        "seconds": finite(recording.duration),
        "rate_hz": finite(recording.rate_hz),
        "effort_unit": recording.effort_unit,
        "notes": list(recording.notes),
        "findings": [asdict(finding) for finding in findings],
        "t": rounded(recording.t[keep], 5),
        "signals": {
            key: [rounded(np.asarray(values)[keep, j]) for j in range(recording.n)]
            for key, values in signals.items()
            if values is not None
        },
    }


def fit_view(result: Identification, names: Mapping[str, str], *, points: int = POINTS) -> dict[str, Any]:
    """Identification of any kind as plain data: its JSON, relations, correlations and curves.

    names: titles of logs by file name.  points: limit for one curve.
    """
    measure, logs = result.problem.measure, result.predictions()
    count = len(result.validation)
    ordered = [(log, True) for log in logs[count:]] + [(log, False) for log in logs[:count]]
    views = [
        judged_view(log, measure, names.get(log.source_name, log.name), is_fitted=is_fitted, points=points)
        for log, is_fitted in ordered
    ]
    return {
        "result": result.to_dict(),
        **_judged(measure, views, [log for log, _ in ordered]),
        **_drawn(result.robot, views),
        "parameters": _parameters(result.robot, result.problem.file_values(), result.entries()),
        "correlations": correlations(result.estimate.names, result.covariance),
        "sections": sections_view(result.problem.sections(result.estimate)),
        "names": dict(names),
    }


def _judged(measure: Measure, views: Sequence[dict[str, Any]], logs: Sequence[PredictedLog]) -> dict[str, Any]:
    """Common data of fits and validations on their logs."""
    return {
        "measure": measure_view(measure),
        "joints": list(logs[0].outputs) if logs else [],
        "logs": list(views),
        "findings": findings_view(logs),
    }


def measure_view(measure: Measure) -> dict[str, str]:
    """What residuals are compared with, in words."""
    return {"word": measure.word, "curves": measure.curves, "about": measure.about}


def _drawn(robot: Robot, views: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The robot in three dimensions, where errors are drawn on it."""
    return {"drawn": drawn_view(robot)} if any(view["arrows"] for view in views) else {}


def drawn_view(robot: Robot) -> dict[str, Any]:
    """Robot and its shapes as plain data."""
    return {"robot": robot_data(robot), "drawing": drawn_robot(robot)}


def sections_view(sections: Sequence[Section]) -> list[dict[str, Any]]:
    """Report sections specific to the kind of problem, as plain data."""
    return [
        {
            "title": s.title,
            "sentences": list(s.sentences),
            "headers": list(s.headers),
            "rows": [list(r) for r in s.rows],
        }
        for s in sections
    ]


def titled(view: Any, names: Mapping[str, str]) -> Any:
    """Plain data with file names replaced by their titles everywhere, for uploads."""
    if isinstance(view, Mapping):
        return {key: titled(value, names) for key, value in view.items()}
    if isinstance(view, list):
        return view if view and isinstance(view[0], float) else [titled(value, names) for value in view]
    if isinstance(view, str):
        for name, title in names.items():
            view = view.replace(name, title)
    return view


def validation_view(model: Model, logs: Sequence[PredictedLog], *, points: int = POINTS) -> dict[str, Any]:
    """Validation of a model on other logs: `fit_view` with the fit data in the model's file."""
    kind, evidence = kind_of_model(model), model.evidence
    kept = {key: evidence.get(key) for key in ("estimator", "count", "condition", "training", "verdict", "physical")}
    views = [judged_view(log, kind.measure, log.name, is_fitted=False, points=points) for log in logs]
    return {
        "result": {
            **kept,
            "robot": model.nominal.name,
            "effects": list(model.effect_names),
            "not_excited": list(model.not_excited),
            "validation": [{**log.residuals.to_dict(), "relative": finite(log.residuals.relative)} for log in logs],
        },
        **_judged(kind.measure, views, logs),
        **_drawn(model.nominal, views),
        "parameters": _parameters(model.nominal, model.file_values(), model.parameters),
        "correlations": correlations(model.names, model.covariance),
        "sections": sections_view(kind.known_sections(model)),
        "names": {},
    }


def correlations(names: Sequence[str], covariance: Array) -> dict[str, Any]:
    """Correlation matrix of the parameters that have a standard deviation: [-1, 1], two digits."""
    deviation = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    known = np.flatnonzero((deviation > 0) & np.isfinite(deviation))
    size = deviation[known]
    matrix = np.clip(covariance[np.ix_(known, known)] / np.outer(size, size), -1.0, 1.0)
    return {"names": [names[int(k)] for k in known], "values": [rounded(row, 2) for row in matrix]}


def _parameters(robot: Robot, known: Mapping[str, float], entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Estimates as in a model file, with the nominal values of the robot file where known."""
    return [
        {
            "name": p["name"],
            "value": float(p["value"]),
            "deviation": finite(p["deviation"]),
            "relative": finite(p["relative_deviation"]) if "relative_deviation" in p else _relative(p),
            "interval": [finite(v) for v in p["interval"]],
            "class": p["class"],
            "relation": p["relation"],
            "unit": p.get("unit") or unit_of(robot, p["name"]),
            "nominal": known.get(str(p["name"])),
        }
        for p in entries
    ]


def _relative(p: Mapping[str, Any]) -> float | None:
    """Standard deviation relative to the absolute value of the estimate; None for an estimate of 0."""
    return finite(p["deviation"] / abs(p["value"])) if p["value"] else None


def findings_view(logs: Sequence[PredictedLog]) -> list[dict[str, Any]]:
    """Errors and warnings of the log audits."""
    return [{"log": log.name, **asdict(f)} for log in logs for f in log.findings if f.level != "info"]


# ---------------------------------------------------------------------- what a page says beside its figures


def physical_sentences(result: Identification, model: Model) -> list[str]:
    """Messages on physical consistency, its cost, and the notes of the estimator."""
    verdict, sentences = result.estimate.verdict, []
    own = physical_sentence(verdict)
    if own:
        sentences.append(own)
    excess = float(model.evidence.get("standard_excess", 0.0))
    if not verdict and model.is_physical and not model.without_efforts:
        cost = (
            f"the best physically consistent fit has a sum of squares higher by {100 * excess:.2g} %"
            if excess > 0
            else "physically consistent parameters give exactly these efforts"
        )
        sentences.append(f"{cost}; its masses and inertias are in model.toml")
    if is_weightless(model.nominal):
        sentences.append("the servo has no links of its own: loads are those of the logs")
    elif not model.is_physical:
        sentences.append("no physically consistent parameters with these efforts were found; identify with --physical")
    return [*sentences, *result.problem.losses(model), *export_sentences(model), *result.estimate.notes]


def audit_lines(result: Identification) -> list[str]:
    """Assumptions on each log, and its audit findings."""
    lines = []
    for log in (*result.problem.logs, *result.problem.unseen):
        lines += [f"{log.name}: {note}" for note in (log.recording.notes if log.recording is not None else ())]
        for f in log.findings:
            if f.level != "info":
                where = ", ".join(p for p in (f.channel, "" if f.row is None else f"row {f.row}") if p)
                lines.append(f"{log.name}: {f.level}: {where + ': ' if where else ''}{f.text}")
    return lines


OF_EFFORTS = ("estimator", "effects", "filter of the fit", "evaluation filter", "drive")  # settings of efforts alone


def made_facts(result: Identification, model: Model) -> dict[str, object]:
    """Settings and key figures of an identification."""
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
    if model.without_efforts:
        pairs = {name: text for name, text in pairs.items() if name not in OF_EFFORTS}
    pairs = {name: text for name, text in pairs.items() if text != ""} | result.problem.made(result.estimate)
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
    """Table as one line of text."""
    return ", ".join(f"{key} {_value(value)}" for key, value in table.items())


def _value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.5g}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    return str(value)

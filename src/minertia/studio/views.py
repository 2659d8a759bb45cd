"""Results as plain data for the page: robots, logs, fits and motions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.base.derive import base_parameters
from minertia.base.grouping import BaseParameters
from minertia.errors import MinertiaError
from minertia.excitation.result import Excitation
from minertia.identification.audits.findings import Finding
from minertia.identification.campaigns.prepare import PreparedLog
from minertia.identification.identify import Identification
from minertia.identification.judge import residuals_on
from minertia.identification.logs.recording import Recording
from minertia.identification.problem.prediction import predict
from minertia.report.excite_page import preview_data
from minertia.report.robot_data import robot_data
from minertia.report.tables import class_counts, unit_of
from minertia.report.words import CLASS_WORDS, certificate_sentences
from minertia.robot.check import check_robot
from minertia.robot.parameters import split_name
from minertia.robot.robot import Note, Robot
from minertia.studio.shapes import drawn_robot

Array = NDArray[np.float64]
POINTS = 4000  # of one curve; parts keep their extremes
FRAMES = 240  # pictures of a motion


# ---------------------------------------------------------------------- robots


def robot_view(robot: Robot, *, rotors: bool, friction: bool) -> dict[str, Any]:
    """Structure, drawing, what is odd in the file, and base parameters where they can be derived."""
    return {
        "robot": robot_data(robot),
        "drawing": drawn_robot(robot),
        "notes": [_note(robot, note) for note in check_robot(robot)],
        "base": _base(robot, rotors, friction),
    }


def _note(robot: Robot, note: Note) -> dict[str, Any]:
    """A note with the joint (from 0) whose link it names, if it names one."""
    words = note.where.replace("'", " ").split()
    named = [j for j, joint in enumerate(robot.joints) if {joint.name, joint.link or joint.name} & set(words)]
    return {**asdict(note), "joint": named[0] if named else None}


def _base(robot: Robot, rotors: bool, friction: bool) -> dict[str, Any]:
    try:
        return base_view(base_parameters(robot, rotors=rotors, friction=friction))
    except MinertiaError as err:
        return {"error": str(err)}


def base_view(base: BaseParameters) -> dict[str, Any]:
    """Each base parameter with its relation, the links (from 1) in it, its unit and its nominal value."""
    values = base.values().tolist() if base.robot.has_parameters else [None] * base.count
    texts, latex = base.relation_texts(), base.relation_latex()
    parameters = [
        {
            "name": name,
            "text": texts[name],
            "latex": latex[name],
            "links": sorted({split_name(base.columns[c])[1] for c in np.flatnonzero(base.K[k])}),
            "columns": [base.columns[c] for c in np.flatnonzero(base.K[k])],
            "unit": unit_of(base.robot, name),
            "nominal": values[k],
            "is_numeric": bool(base.is_numeric[k]),
        }
        for k, name in enumerate(base.names)
    ]
    return {
        "count": base.count,
        "method": base.method,
        "parameters": parameters,
        "columns": list(base.columns),
        "classes": base.classes(),
        "class_words": dict(CLASS_WORDS),
        "class_counts": dict(class_counts(base, "joint")),
        "certificate": list(certificate_sentences(base)),
    }


# ---------------------------------------------------------------------- logs


def log_view(name: str, recording: Recording, findings: Sequence[Finding]) -> dict[str, Any]:
    """A log: its size, what was assumed and found, and its curves."""
    keep = thinned(recording.t, recording.q if recording.tau is None else recording.tau)
    signals = {"q": recording.q, "qd": recording.qd, "effort": recording.tau}
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


def thinned(t: Array, rows: Array) -> NDArray[np.intp]:
    """Indices of at most about `POINTS` samples: in each part the extremes of one column stay, of each in turn."""
    n = len(t)
    if n <= POINTS:
        return np.arange(n)
    kept: list[int] = [0, n - 1]
    for k, part in enumerate(np.array_split(np.arange(n), POINTS // 2)):
        column = np.nan_to_num(np.asarray(rows)[part, k % rows.shape[1]])
        kept += [int(part[column.argmin()]), int(part[column.argmax()])]
    return np.unique(kept)


# ---------------------------------------------------------------------- identifications


def fit_view(result: Identification, names: dict[str, str]) -> dict[str, Any]:
    """An identification: its JSON, relations and curves; names: titles of logs by file name."""
    nominal = result.linear.nominal() if result.robot.has_parameters else None
    fitted = [(log, True) for log in result.problem.logs] + [(log, False) for log in result.problem.unseen]
    curves = [_curves(result, log, is_fitted, nominal, names) for log, is_fitted in fitted if log.judged is not None]
    return {
        "result": result.to_dict(),
        "parameters": _parameters(result, nominal),
        "joints": list(result.linear.row_names),
        "logs": curves,
        "findings": _findings((*result.problem.logs, *result.problem.unseen)),
        "symbols": sorted({split_name(p.name)[0] for p in result.parameters}),
        "names": names,
    }


def _parameters(result: Identification, nominal: Array | None) -> list[dict[str, Any]]:
    """Values with intervals, relations and what the robot's file says."""
    relations = result.linear.base.relation_texts()
    before = [None] * len(result.parameters) if nominal is None else nominal.tolist()
    return [
        {
            "name": p.name,
            "value": p.value,
            "deviation": finite(p.deviation),
            "relative": finite(p.relative_deviation),
            "interval": [finite(v) for v in p.interval],
            "class": p.kind,
            "relation": relations.get(p.name, p.name),
            "unit": unit_of(result.robot, p.name),
            "nominal": value,
        }
        for p, value in zip(result.parameters, before, strict=True)
    ]


def _curves(
    result: Identification, log: PreparedLog, is_fitted: bool, nominal: Array | None, names: dict[str, str]
) -> dict[str, Any]:
    """Measured, predicted and nominal efforts of a log through the evaluation filter, joint by joint."""
    assert log.judged is not None
    part = next(log.judged.parts())  # of a log read in blocks, the first
    measured, predicted = part.compared(result.predict(part))
    keep = thinned(part.times, measured)
    curves = {"measured": measured, "predicted": predicted}
    before = None
    if nominal is not None:
        curves["nominal"] = part.compared(predict(result.linear, nominal, part))[1]
        before = residuals_on(result.linear, nominal, log)[0].to_dict(with_log=False)
    own = residuals_on(result.linear, result.beta, log)[0]
    return {
        "log": names.get(log.name.partition(" [")[0], log.name),
        "is_fitted": is_fitted,
        "unit": part.unit,
        "residual": own.to_dict(with_log=False),
        "nominal_residual": before,
        "t": rounded(part.times[keep], 5),
        "curves": {name: [rounded(values[keep, j]) for j in range(values.shape[1])] for name, values in curves.items()},
    }


def _findings(logs: Sequence[PreparedLog]) -> list[dict[str, Any]]:
    return [{"log": log.name, **asdict(f)} for log in logs for f in log.findings if f.level != "info"]


# ---------------------------------------------------------------------- motions


def motion_view(found: Excitation) -> dict[str, Any]:
    """A motion: what it promises, its curves, and the robot's postures to play."""
    robot, t = found.base.robot, np.linspace(0.0, found.motion.duration, FRAMES + 1)
    q = found.motion.at(t)[0]
    path, limits = found.trajectory, found.limits
    keep = thinned(path.t, path.q)
    surroundings = preview_data(robot, limits, t[:1], q[:1])
    return {
        "result": found.to_dict(),
        "headline": found.headline,
        "sentences": [*found.claim_lines(), *found.space_lines(), *found.notes],
        "joints": list(limits.names),
        "t": rounded(path.t[keep], 4),
        "curves": {
            key: [rounded(values[keep, j]) for j in range(values.shape[1])]
            for key, values in (("q", path.q), ("qd", path.qd), ("qdd", path.qdd))
        },
        "limits": {
            "lower": [finite(v) for v in limits.lower],
            "upper": [finite(v) for v in limits.upper],
            "velocity": [finite(v) for v in limits.velocity],
            "acceleration": [finite(v) for v in limits.acceleration],
        },
        "postures": {"t": rounded(t, 4), "q": np.round(q, 5).tolist()},
        "drawing": drawn_robot(robot),
        "robot": robot_data(robot),
        "floor": surroundings["floor"],
        "boxes": surroundings["boxes"],
        "rooms": surroundings["rooms"],
    }


# ---------------------------------------------------------------------- numbers


def rounded(values: Any, digits: int | None = None) -> list[float | None]:
    """Numbers for JSON: six figures unless told, null for what is none."""
    array = np.asarray(values, float)
    if digits is not None:
        return [None if not math.isfinite(v) else v for v in np.round(array, digits).tolist()]
    return [None if not math.isfinite(v) else float(f"{v:.6g}") for v in array.tolist()]


def finite(value: Any) -> float | None:
    """A number, null for what is none."""
    number = float(value)
    return number if math.isfinite(number) else None

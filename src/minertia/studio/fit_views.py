"""Logs and identifications as plain data for the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.identification.audits.findings import Finding
from minertia.identification.campaigns.prepare import PreparedLog
from minertia.identification.identify import Identification
from minertia.identification.judge import residuals_on
from minertia.identification.logs.recording import Recording
from minertia.identification.problem.prediction import predict
from minertia.report.tables import unit_of
from minertia.robot.parameters import split_name
from minertia.studio.numbers import finite, rounded, thinned

Array = NDArray[np.float64]


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

"""An identification from commands as plain data for the page, in the form of every other one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from minertia.identification.commanded import LoopIdentification
from minertia.report.commanded_page import lags
from minertia.report.fit_views import correlations, findings_view, fit_view
from minertia.report.log_views import by_joint, residual_data
from minertia.report.numbers import POINTS, finite, rounded, thinned
from minertia.report.tables import unit_of

if TYPE_CHECKING:
    from minertia.identification.closed_loop.outcome import ReadLog
    from minertia.identification.evidence.parameters import ParameterEvidence
    from minertia.identification.evidence.residuals import Residuals
    from minertia.identification.result import Identification
    from minertia.robot.robot import Robot

UNIT = "mrad or mm"  # of distances from commands
# units of what a position loop adds, where a joint turns and where it slides
UNITS = {
    "KP": ("N m/rad", "N/m"),
    "KI": ("N m/(rad s)", "N/(m s)"),
    "KD": ("N m s/rad", "N s/m"),
    "KJ": ("N m/rad", "N/m"),
    "DJ": ("N m s/rad", "N s/m"),
    "RJ": ("rad", "m"),
    "delay": ("s", "s"),
}


def result_view(result: Identification, names: Mapping[str, str]) -> dict[str, Any]:
    """An identification of efforts or of commands; names: titles of logs by file name."""
    return loop_view(result, names) if isinstance(result, LoopIdentification) else fit_view(result, names)


def loop_view(result: LoopIdentification, names: Mapping[str, str]) -> dict[str, Any]:
    """The same shape as `fit_view`: curves are distances of the joints from their commands."""
    outcome, fit = result.outcome, result.fit
    judged = {r.log: r for r in (*result.evidence.logs, *result.validation)}
    reads = [(read, True) for read in outcome.logs] + [(read, False) for read in outcome.unseen]
    return {
        "result": result.to_dict(),
        "is_commanded": True,
        "parameters": [_value(result, p) for p in result.parameters],
        "correlations": correlations(fit.model.names, fit.covariance),
        "joints": list(fit.model.output_names),
        "logs": [
            _log_view(result, read, judged[read.loop.name], names, is_fitted)
            for read, is_fitted in reads
            if read.loop.name in judged
        ],
        "findings": findings_view((*result.problem.logs, *result.problem.unseen)),
        "names": dict(names),
    }


def _value(result: LoopIdentification, p: ParameterEvidence) -> dict[str, Any]:
    return {
        "name": p.name,
        "value": p.value,
        "deviation": finite(p.deviation),
        "relative": finite(p.relative_deviation),
        "interval": [finite(v) for v in p.interval],
        "class": p.kind,
        "relation": p.name,
        "unit": _unit(result.robot, p.name),
        "nominal": None,
    }


def _unit(robot: Robot, name: str) -> str:
    """Unit of a value of a loop or of a robot; "" where none is known."""
    kind = next((kind for kind in UNITS if name.startswith(kind)), None)
    number = re.search(r"\d+", name)
    joints = [robot.joints[j].kind for j in robot.independent]
    if kind is not None:
        own = {joints[int(number[0]) - 1]} if number and 0 < int(number[0]) <= len(joints) else set(joints)
        return UNITS[kind][own == {"prismatic"}]
    try:
        return unit_of(robot, name)
    except (KeyError, ValueError, IndexError):
        return ""


def _log_view(
    result: LoopIdentification, read: ReadLog, found: Residuals, names: Mapping[str, str], is_fitted: bool
) -> dict[str, Any]:
    curves = lags(result.fit.model, result.fit.theta, read.loop)
    t, measured, predicted = (np.zeros(0), np.zeros((0, 0)), np.zeros((0, 0))) if curves is None else curves
    keep = thinned(t, measured, POINTS) if len(t) else np.arange(0)
    return {
        "log": names.get(read.loop.name.partition(" [")[0], read.loop.name),
        "is_fitted": is_fitted,
        "unit": UNIT,
        "residual": residual_data(found),
        "nominal_residual": None,
        "t": rounded(t[keep], 5),
        "curves": {"measured": by_joint(measured[keep]), "predicted": by_joint(predicted[keep])},
    }

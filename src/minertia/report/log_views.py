"""What a model makes of one log, as plain data: curves over time, and the patterns in what is left over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import welch

from minertia.identification.campaigns.judged import JudgedMotion
from minertia.identification.campaigns.prepare import PreparedLog
from minertia.identification.evidence.residuals import Residuals
from minertia.identification.judge import residuals_on
from minertia.identification.problem.linear import LinearModel, symbol_of
from minertia.identification.problem.prediction import predict
from minertia.report.numbers import POINTS, finite, rounded, thinned
from minertia.robot.effects import BY_SYMBOL

Array = NDArray[np.float64]
SAMPLES = 400  # points of a log in which residuals are drawn against speed and position
SEGMENT, FEWEST = 256, 64  # samples of a part whose spectrum is taken, and of a log that has one


@dataclass(frozen=True)
class KnownModel:
    """A model with its values, and those of the robot's own file where it has any; points: of one curve."""

    linear: LinearModel
    beta: Array
    nominal: Array | None
    points: int = POINTS

    @property
    def friction(self) -> Array:
        """The values of what depends on a joint's velocity alone, with its offset; 0 for all others."""
        return np.array([v if _is_friction(n) else 0.0 for n, v in zip(self.linear.names, self.beta, strict=True)])


def judged_view(model: KnownModel, log: PreparedLog, title: str, *, is_fitted: bool) -> dict[str, Any]:
    """Measured, predicted and nominal efforts of a log through the evaluation filter, joint by joint.

    Of a log read in blocks, the first.  Lists are by joint; null stands for what is no number.
    """
    assert log.judged is not None
    part = next(log.judged.parts())
    measured, predicted = part.compared(predict(model.linear, model.beta, part))
    curves = {"measured": measured, "predicted": predicted}
    before = None
    if model.nominal is not None:
        curves["nominal"] = part.compared(predict(model.linear, model.nominal, part))[1]
        before = residual_data(residuals_on(model.linear, model.nominal, log)[0])
    keep = thinned(part.times, measured, model.points)
    return {
        "log": title,
        "is_fitted": is_fitted,
        "unit": part.unit,
        "slides": [_slides(model.linear, row) for row in range(measured.shape[1])],
        "residual": residual_data(residuals_on(model.linear, model.beta, log)[0]),
        "nominal_residual": before,
        "t": rounded(part.times[keep], 5),
        "curves": {name: by_joint(values[keep]) for name, values in curves.items()},
        "samples": _samples(model, part, measured, predicted),
        "spectrum": _spectrum(part.times, measured, measured - predicted),
    }


def residual_data(found: Residuals) -> dict[str, Any]:
    """Residuals without the name of their log; null where there was no effort."""
    return {**found.to_dict(with_log=False), "relative": finite(found.relative)}


def by_joint(values: Array) -> list[list[float | None]]:
    """The columns of an array (N, joints), five figures each."""
    return [rounded(values[:, j], figures=5) for j in range(values.shape[1])]


def _samples(model: KnownModel, part: JudgedMotion, measured: Array, predicted: Array) -> dict[str, Any]:
    """Instants spread evenly: positions, velocities, residuals, and friction as measured and as modelled.

    Friction as measured is what the rest of the model leaves of the effort.  Null where there is none in the model.
    """
    at = np.unique(np.linspace(0, len(part.times) - 1, SAMPLES).astype(int))
    moved = [_moved(model.linear, part, row, at) for row in range(measured.shape[1])]
    found: dict[str, Any] = {
        "q": [None if m is None else rounded(m[0], 4) for m in moved],
        "qd": [None if m is None else rounded(m[1], 4) for m in moved],
        "residual": by_joint((measured - predicted)[at]),
        "friction": None,
        "model": None,
    }
    friction = model.friction
    if np.any(friction):
        rest = part.compared(predict(model.linear, model.beta - friction, part))[1]
        found |= {"friction": by_joint((measured - rest)[at]), "model": by_joint((predicted - rest)[at])}
    return found


def _moved(linear: LinearModel, part: JudgedMotion, row: int, at: NDArray[np.intp]) -> tuple[Array, Array] | None:
    """Position and velocity of the joint of an effort at some instants; None for efforts of a floating base."""
    names = linear.robot.coordinate_names
    if linear.row_names[row] not in names:
        return None
    j, times = names.index(linear.row_names[row]), part.times[at]
    return np.interp(times, part.t, part.q[:, j]), np.interp(times, part.t, part.qd[:, j])


def _slides(linear: LinearModel, row: int) -> bool:
    """Whether an effort is a force."""
    name = linear.row_names[row]
    return any(joint.name == name and joint.kind == "prismatic" for joint in linear.robot.joints)


def _spectrum(times: Array, measured: Array, residual: Array) -> dict[str, Any] | None:
    """Amplitude densities [unit/sqrt(Hz)] of effort and residual by Welch's method; None for a log that is short."""
    if len(times) < FEWEST:
        return None
    rate = (len(times) - 1) / float(times[-1] - times[0])
    length = min(SEGMENT, len(times) // 2)
    found = {}
    for name, values in (("effort", measured), ("residual", residual)):
        hz, power = welch(values, rate, nperseg=length, axis=0, detrend="constant")
        found[name] = by_joint(np.sqrt(power[1:]))
    return {"hz": rounded(hz[1:], 4), **found}


def _is_friction(name: str) -> bool:
    effect = BY_SYMBOL.get(symbol_of(name))
    return effect is not None and set(effect.inputs) <= {"qd"}

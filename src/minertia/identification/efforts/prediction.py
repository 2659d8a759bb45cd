"""Predicted efforts of a log after the evaluation filter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from minertia.identification.campaigns.prepared import EffortLog
from minertia.identification.efforts.judge import residuals_on
from minertia.identification.evidence.residuals import Residuals
from minertia.identification.kind import Curves, PredictedLog
from minertia.identification.logs.recording import SI
from minertia.identification.problem.linear import LinearModel, symbol_of
from minertia.identification.problem.prediction import predict
from minertia.identification.signals.filtering import Motion
from minertia.robot.effects import BY_SYMBOL

Array = NDArray[np.float64]
OWN_UNIT = {"revolute": "N m", "prismatic": "N"}


@dataclass(frozen=True)
class PredictedEfforts(PredictedLog):
    """Log with the model and parameter values that predict it, and residuals; curves show the first block only."""

    log: EffortLog
    linear: LinearModel
    beta: Array
    residuals: Residuals

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the efforts."""
        return self.linear.row_names

    def nominal(self) -> Residuals | None:
        """Residuals of the robot file's nominal parameters."""
        if not self.linear.robot.has_parameters:
            return None
        return residuals_on(self.linear, self.linear.nominal(), self.log)[0]

    def curves(self) -> Curves:
        """Measured and predicted efforts after the evaluation filter; a log given as a motion is not filtered."""
        model, log = self.linear, self.log
        part = next(iter(log.judged))
        if part.instants is None:
            predicted = predict(model, self.beta, part, samples=log.states)
            return Curves(part.t, part.tau[:, list(model.rows)], predicted, self._units())
        measured, predicted = self._compared(part, self.beta)
        nominal = self._compared(part, model.nominal())[1] if model.robot.has_parameters else None
        friction = np.array([v if _is_friction(n) else 0.0 for n, v in zip(model.names, self.beta, strict=True)])
        curves = None
        if np.any(friction):
            rest = self._compared(part, self.beta - friction)[1]
            curves = measured - rest, predicted - rest
        patterns = _at_outputs(model, part, part.q, part.instants), _at_outputs(model, part, part.qd, part.instants)
        return Curves(part.instants, measured, predicted, self._units(), nominal, patterns, curves)

    def _compared(self, part: Motion, beta: Array) -> tuple[Array, Array]:
        return self.log.compared(part, predict(self.linear, beta, part, samples=self.log.states))

    def _units(self) -> tuple[str, ...]:
        unit = self.log.unit or SI
        kinds = {joint.name: joint.kind for joint in self.linear.robot.joints}
        names = self.linear.row_names
        return tuple(OWN_UNIT.get(kinds.get(name, ""), "N or N m") if unit == SI else unit for name in names)


def _at_outputs(model: LinearModel, part: Motion, values: Array, times: Array) -> Array:
    """Positions or velocities of the joints of the efforts at these times [s]; NaN for a floating base."""
    names: Sequence[str] = model.robot.coordinate_names
    found = np.full((len(times), len(model.row_names)), np.nan)
    for row, name in enumerate(model.row_names):
        if name in names:
            found[:, row] = np.interp(times, part.t, values[:, names.index(name)])
    return found


def _is_friction(name: str) -> bool:
    effect = BY_SYMBOL.get(symbol_of(name))
    return effect is not None and set(effect.inputs) <= {"qd", "presliding"}

"""`ChosenServo`: estimate of a servo, with the friction models that were compared and its simulated runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.identification.closed_loop.askew import Angles
from minertia.identification.closed_loop.judge import loop_parameters
from minertia.identification.closed_loop.record import loop_record
from minertia.identification.closed_loop.servo_models import MODELS, ServoFit
from minertia.identification.closed_loop.solve import ServoEstimate
from minertia.identification.kind import Section
from minertia.identification.servo_runs import Run
from minertia.io.arrays import Array


@dataclass(frozen=True)
class PredictedRun:
    """Positions of a run at the rows of its log: measured, simulated, and whether they were read rightly."""

    run: Run
    t: Array
    q: Array
    simulated: Array
    counted: NDArray[np.bool_]

    @property
    def error(self) -> float:
        """Mean absolute error [rad], without misread rows."""
        return float(np.mean(np.abs(self.q - self.simulated)[self.counted]))


@dataclass(frozen=True, repr=False)
class ChosenServo(ServoEstimate):
    """Estimate of a servo.  best: the friction model that was chosen, with its last fit.  compared: all fits.

    fitted, validated: runs simulated.  angles: of the known loads about the encoder's zero.
    """

    best: ServoFit = field(kw_only=True)
    compared: tuple[ServoFit, ...] = field(kw_only=True)
    fitted: tuple[PredictedRun, ...] = field(kw_only=True)
    validated: tuple[PredictedRun, ...] = field(kw_only=True)
    angles: Angles = field(kw_only=True)

    @property
    def values(self) -> dict[str, dict[str, float]]:
        """Value and 95 % interval of each unknown that the runs show."""
        return {
            one.name: {"value": one.value, "low": one.interval[0], "high": one.interval[1]}
            for one in loop_parameters(self.servo)
        }

    @property
    def loop(self) -> dict[str, Any]:
        """Record of the position servo."""
        return loop_record(self.servo.model, self.servo.theta)

    def of(self, name: str) -> ServoFit:
        """Fit of one of the models that were compared."""
        return next(fit for fit in self.compared if fit.name == name)

    def to_dict(self) -> dict[str, Any]:
        """Plain data of the choice and of the simulated runs."""
        score = {"fitted": _score(self.fitted)} | ({"validation": _score(self.validated)} if self.validated else {})
        has_stribeck = "stribeck" in MODELS[self.best.name].words
        return {
            "score": score,
            "by_motion": self._by_motion(),
            "model": self.best.name,
            "left_out": {fit.name: float(np.mean(fit.left_out)) for fit in self.compared},
            "values": self.values,
            "stribeck_velocity": self.best.velocity if has_stribeck else None,
            "notes": list(self.servo.notes),
        }

    def _by_motion(self) -> dict[str, float]:
        """Mean error of the runs of each motion [rad], of those that were not fitted if there are any."""
        scored = self.validated or self.fitted
        motions = dict.fromkeys(one.run.motion for one in scored)
        return {m: _score([one for one in scored if one.run.motion == m]) for m in motions if m}

    def sections(self) -> tuple[Section, ...]:
        """Report sections: friction models that were compared, and errors of the runs from their first row on."""
        models = tuple((fit.name, 1e3 * float(np.mean(fit.left_out))) for fit in self.compared)
        data = self.to_dict()
        runs = tuple((name, 1e3 * error) for name, error in (*data["score"].items(), *data["by_motion"].items()))
        how = (
            "Each run is predicted by fits without the runs of its load, then of its gain; the simplest model within a "
            f"standard error of the best is taken: {self.best.name}"
        )
        mean = "Mean absolute error of the simulated position, from the first row of each run on"
        return (
            Section("Friction models", (how,), ("model", "error of runs left out [mrad]"), models),
            Section("Runs", (mean,), ("runs", "error [mrad]"), runs),
        )


def _score(runs: Sequence[PredictedRun]) -> float:
    return float(np.mean([one.error for one in runs]))

"""`Identification`: the result of an identification."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.identification.campaigns.prepare import Tell, silent
from minertia.identification.campaigns.record import campaign_record
from minertia.identification.estimators.estimate import Estimate
from minertia.identification.evidence.evidence import Evidence
from minertia.identification.evidence.parameters import ParameterEvidence
from minertia.identification.evidence.residuals import Residuals
from minertia.identification.evidence.verdict import Verdict
from minertia.identification.figure import log_figure
from minertia.identification.kind import ModelFacts, PredictedLog, Problem
from minertia.identification.model import Model, parameter_frame, parameter_table
from minertia.identification.posterior.options import SampleOptions
from minertia.identification.posterior.shown import POSTERIOR
from minertia.identification.problem.diagnosis import ExcitationDiagnosis
from minertia.identification.problem.linear import LinearModel
from minertia.identification.problem.observation import Observation
from minertia.identification.problem.prediction import predict
from minertia.identification.problem.rows import MotionLike
from minertia.identification.samples import Samples
from minertia.identification.sampling import sample_model
from minertia.io.notebook import clipped, plural
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
RESULT_FORMAT = 1  # of the JSON


@dataclass(frozen=True, repr=False)
class Identification:
    """Result of an identification: the problem, its estimate, the evidence for it, and the verdict."""

    problem: Problem
    estimate: Estimate
    evidence: Evidence
    verdict: Verdict

    @property
    def robot(self) -> Robot:
        """Robot as described before identification."""
        return self.problem.campaign.robot

    @property
    def linear(self) -> LinearModel:
        """Linear model: the unknowns and their regressor columns."""
        return self.problem.linear

    @property
    def observation(self) -> Observation:
        """Linear problem of all unknowns as R factors; a nonlinear one is linearised at the estimate."""
        return self.problem.rows(self.estimate)

    @property
    def excitation(self) -> ExcitationDiagnosis:
        """Excitation diagnosis: which unknowns the motion distinguishes."""
        return self.problem.excited(self.estimate)

    @property
    def beta(self) -> Array:
        """Estimates of the unknowns."""
        return self.estimate.beta

    @property
    def covariance(self) -> Array:
        """Covariance of the estimates, valid under correlated residuals."""
        return self.problem.covariance(self.estimate, self.evidence)

    @property
    def parameters(self) -> tuple[ParameterEvidence, ...]:
        """Each estimate with its standard deviation and interval."""
        return self.evidence.parameters

    @property
    def training(self) -> Residuals:
        """Residuals of all fitted logs together."""
        return self.evidence.training

    @property
    def validation(self) -> tuple[Residuals, ...]:
        """Residuals of the validation logs."""
        return self.evidence.unseen

    @property
    def loop(self) -> dict[str, Any]:
        """Gains, delay and limits of the joints' position servos, as plain data, where these were fitted."""
        record = self.problem.record(self.estimate, self.evidence)
        if "loop" not in record:
            raise self.problem.refused("position servos", "identify from logs of commands without efforts")
        return dict(record["loop"])

    def predict(self, motion: MotionLike) -> Array:
        """Predicted efforts (N, joints) of a motion."""
        return predict(self.linear, self.problem.linear_values(self.estimate), motion)

    def model(self, *, physical: bool = True, exports: bool = False, tell: Tell = silent) -> Model:
        """Model to save, simulate and generate code from; physical: with physically consistent parameters.

        exports: also fit, to the same logs, the best robot that each export format (URDF, MJCF) can represent;
        `write_robot` and `minertia convert` then write it.  tell: progress callback.
        """
        record, estimate = self.to_dict(), self.estimate
        kept = ("estimator", "count", "condition", "training", "validation", "verdict", "physical")
        evidence = {key: record[key] for key in kept} | {
            "measure": self.problem.measure.word,
            "recordings": [r.to_dict() for r in self.evidence.logs],
            "noise": dict(zip(self.problem.outputs, estimate.sigma.tolist(), strict=True)),
        }
        if posterior := self.problem.posterior(estimate, self.evidence, tell):
            evidence[POSTERIOR] = posterior
        facts = ModelFacts(tuple(self.entries()), evidence, campaign_record(self.problem.campaign))
        model = self.problem.model(estimate, self.evidence, facts, physical=physical)
        return model.with_exports(self.problem.exports(estimate)) if exports else model

    def sample(self, n: int = 4096, **options: Any) -> Samples:
        """Draw n physically consistent robots from the posterior; options: those of `SampleOptions`."""
        return sample_model(self.model(), SampleOptions(n=n, **options))

    def entries(self) -> list[dict[str, Any]]:
        """Estimates as in a model's file: with interval and relation."""
        return [self.problem.entry(p) for p in self.parameters]

    def predictions(self) -> tuple[PredictedLog, ...]:
        """Predictions of all logs, validation logs first, with residuals and curves."""
        logs = (*self.problem.unseen, *self.problem.logs)
        judged = (*self.validation, *self.evidence.logs)
        return tuple(self.problem.predicted(self.estimate, *pair) for pair in zip(logs, judged, strict=True))

    def to_frame(self) -> Any:
        """Return estimates as a pandas DataFrame: value, standard deviations, 95 % interval, class and relation."""
        return parameter_frame(self.entries(), robot=self.robot.name)

    def plot(self, log: str | None = None) -> Any:
        """A matplotlib Figure of measured and predicted efforts (or positions) and their difference.

        log: name of a log; by default the first validation log, else the first fitted one.
        """
        return log_figure(self.predictions(), len(self.validation), self.problem.measure.word, log)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, for JSON."""
        condition = self.estimate.condition
        return {
            "format": RESULT_FORMAT,
            "robot": self.robot.name,
            "estimator": self.estimate.estimator,
            "count": len(self.estimate.names),
            "condition": condition if np.isfinite(condition) else None,
            "parameters": [p.to_dict() for p in self.parameters],
            "not_excited": list(self.estimate.not_excited),
            "ladder": None if self.problem.ladder is None else self.problem.ladder.to_dict(),
            "training": self.training.to_dict(with_log=False),
            "validation": [r.to_dict() for r in self.validation],
            "physical": dict(self.estimate.verdict),
            "verdict": self.verdict.to_dict(),
            **self.problem.record(self.estimate, self.evidence),
        }

    def to_json(self) -> str:
        """JSON text of `to_dict`."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    def __repr__(self) -> str:
        name, estimator = clipped(self.robot.name, 30), clipped(self.estimate.estimator, 30)
        unseen = f", {self._unseen()} of validation logs" if self.validation else ""
        part = f"residual {100 * self.training.relative:.3g} % of the {self.evidence.measure.word}{unseen}"
        return (
            f"<Identification of '{name}' by {estimator}: {plural(len(self.parameters), 'value')}, {part}; "
            f"{self.verdict.word}>"
        )

    def _unseen(self) -> str:
        """Relative residuals of the first three validation logs, as text [%]."""
        parts = [f"{100 * r.relative:.3g}" for r in self.validation[:3]]
        return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1]))) + " %"

    def _repr_html_(self) -> str:
        unseen = f", {self._unseen()} of validation logs" if self.validation else ""
        title = (
            f"{self.robot.name} by {self.estimate.estimator}: residual {100 * self.training.relative:.3g} % of the "
            f"{self.evidence.measure.word}{unseen}; {self.verdict.word}"
        )
        return parameter_table(title, self.entries(), self.verdict.reasons)

    def __str__(self) -> str:
        e = self.estimate
        width = max((len(p.name) for p in self.parameters), default=4)
        lines = [
            f"{self.robot.name}, {e.estimator}: rank {e.rank}, condition number {e.condition:.3g}",
            f"{'name':<{width}}  {'value':>12}  {'deviation':>10}  relative",
        ]
        for p in self.parameters:
            mark = "fixed" if p.kind == "fixed" else f"{100 * p.relative_deviation:6.2f} %"
            lines.append(f"{p.name:<{width}}  {p.value:>12.5g}  {p.deviation:>10.2g}  {mark}")
        return "\n".join(
            [*lines, *e.notes, f"{self.verdict.word}:", *(f"- {reason}" for reason in self.verdict.reasons)]
        )


class _OfCommands(type):
    """Metaclass for `isinstance` checks against the deprecated `LoopIdentification`."""

    def __instancecheck__(cls, value: object) -> bool:
        text = (
            "LoopIdentification has been replaced by Identification with problem.kind 'commands'; the old "
            "name will be removed in 1.0.0"
        )
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return isinstance(value, Identification) and value.problem.kind == "commands"


class LoopIdentification(Identification, metaclass=_OfCommands):
    """Deprecated name of an `Identification` fitted to commands."""

"""`EffortProblem`: identification from measured efforts, linear in the unknowns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from minertia.identification.campaigns.campaign import Campaign, LogLike
from minertia.identification.campaigns.prepare import PreparedCampaign, Tell
from minertia.identification.campaigns.prepared import EffortLog
from minertia.identification.efforts.build import EffortRows, build_rows
from minertia.identification.efforts.delay import DELAY
from minertia.identification.efforts.entrants import entrant_of
from minertia.identification.efforts.exports import exported
from minertia.identification.efforts.files import robot_files, write_robot_files
from minertia.identification.efforts.judge import correlated_covariance, effort_evidence, scored_evidence
from minertia.identification.efforts.many import solve_many_efforts
from minertia.identification.efforts.model import standard_parameters
from minertia.identification.efforts.prediction import PredictedEfforts
from minertia.identification.efforts.shown import is_plain, noise_of_efforts, shown_by_efforts
from minertia.identification.efforts.solve import solve_efforts
from minertia.identification.efforts.validate import drawn_efforts, predicted_efforts
from minertia.identification.estimators.estimate import Estimate, EstimateSet
from minertia.identification.estimators.estimator import Estimator
from minertia.identification.evidence.evidence import Evidence, ScoredEvidence
from minertia.identification.evidence.extrapolation import fitted_reach
from minertia.identification.evidence.measure import EFFORT, Measure
from minertia.identification.evidence.residuals import Residuals
from minertia.identification.kind import (
    DrawnOutputs,
    LogReading,
    ModelFacts,
    ModelParts,
    Problem,
    Section,
    choices_record,
    choices_section,
)
from minertia.identification.model import IdentifiedModel, Model, with_efforts
from minertia.identification.problem.diagnosis import ExcitationDiagnosis
from minertia.identification.problem.observation import Observation
from minertia.robot.divided import whole_links
from minertia.robot.robot import Note, Robot

Array = NDArray[np.float64]
GAINS = (
    "Gain: relative reduction of the error. For the cut-off it is the residual of short fits, over that of the initial "
    "cut-off; for the delay the error of predictions of left-out parts, over that without it; for effects the error of "
    "predictions that the marginal likelihood implies, over that without the effect; for estimators the "
    "residual on held-out blocks, over that of the selected one"
)


@dataclass(frozen=True, repr=False)
class EffortProblem(EffortRows, Problem):
    """The linear problem of a campaign; its fields are those of `EffortRows`."""

    kind: ClassVar[str] = "efforts"
    measure: ClassVar[Measure] = EFFORT
    all_given: ClassVar[str] = "no choice was automatic: cut-off, effects and estimator were given"

    @classmethod
    def build(cls, campaign: Campaign | PreparedCampaign, tell: Tell) -> EffortProblem:
        """Read, audit, repair and filter the logs of a campaign, and build its linear regression equations."""
        rows = build_rows(campaign, tell)
        return cls(**{field.name: getattr(rows, field.name) for field in fields(rows)})

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the equations of one sample: one for each effort, or one for their total power."""
        return self.observation.row_names

    def linear_rows(self) -> tuple[Observation, Observation | None]:
        """Regression equations of the free unknowns, for the fitted logs and for the validation logs."""
        return self.free, self.unseen_observation()

    @property
    def W(self) -> Array:
        """Regression matrix (samples * joints, unknowns) of the filtered equations, sample by sample."""
        Y = np.concatenate([rows.Y for rows in self.observation.stream()])
        return Y.reshape(-1, Y.shape[2])

    @property
    def y(self) -> Array:
        """Filtered efforts (samples * joints,), in the order of the rows of `W`."""
        return np.concatenate([rows.tau for rows in self.observation.stream()]).ravel()

    def solve_many(self, efforts: Array | Sequence[Array], estimator: str) -> EstimateSet:
        """Estimates from many sets of efforts on the motion of the fitted logs."""
        return solve_many_efforts(self, efforts, estimator)

    def solve(self, estimator: str | Estimator | None, tell: Tell) -> Estimate:
        """Estimate the unknowns by the campaign's estimator, or by another one."""
        return solve_efforts(self, estimator)

    def evidence(self, estimate: Estimate, tell: Tell) -> Evidence:
        """Evidence: residuals, standard deviations, cross-validation, reference models and set-up diagnosis."""
        return effort_evidence(self, estimate)

    def scored(self, entry: Model | Robot | str | Path) -> ScoredEvidence:
        """Evidence for a model, a robot or tables of predicted efforts that anybody made."""
        is_chosen = any(one.choice == DELAY and one.is_selected for one in self.tried)
        late = (self.campaign.map.drive.delay or 0.0) if is_chosen else 0.0
        return scored_evidence(self, entrant_of(entry, self.linear, self.unseen or self.logs, late))

    def rows(self, estimate: Estimate) -> Observation:
        """R factors of all unknowns, independent of the estimate."""
        return self.observation

    def excited(self, estimate: Estimate) -> ExcitationDiagnosis:
        """Excitation diagnosis: which unknowns the motion distinguishes, independent of the estimate."""
        return self.excitation

    def predicted(self, estimate: Estimate, log: EffortLog, residuals: Residuals) -> PredictedEfforts:
        """Prediction of one of the logs by an estimate."""
        return PredictedEfforts(log, self.linear, estimate.beta, residuals)

    def linear_values(self, estimate: Estimate) -> Array:
        """Values of the unknowns of `linear`: the estimate itself."""
        return estimate.beta

    def covariance(self, estimate: Estimate, evidence: Evidence) -> Array:
        """Covariance of the estimate, with the standard deviations of the evidence."""
        return correlated_covariance(estimate, evidence.parameters, evidence.spread)

    def model(self, estimate: Estimate, evidence: Evidence, facts: ModelFacts, *, physical: bool) -> IdentifiedModel:
        """Identified model of an estimate; physical: search for physically consistent standard parameters."""
        standard, is_physical, excess = standard_parameters(self.observation, estimate, physical=physical)
        standard = whole_links(self.linear.robot, standard)
        further = {
            "standard_excess": excess,
            "rivals": {name: [r.to_dict() for r in rs] for name, rs in evidence.rivals.items()},
            "reach": fitted_reach(self.observation).to_dict(),
        }
        covariance = self.covariance(estimate, evidence)
        parts = ModelParts(self.linear, estimate.beta, covariance, standard, is_physical, further)
        return parts.model(estimate, facts)

    def exports(self, estimate: Estimate) -> dict[str, dict[str, Any]]:
        """Physically consistent robot for each export format, fitted to the same logs."""
        return exported(self, estimate)

    def sections(self, estimate: Estimate) -> tuple[Section, ...]:
        """Automatic choices: every option that was tried, with its gain; none where all options were given."""
        return choices_section((*self.tried, *estimate.tried), GAINS)

    def record(self, estimate: Estimate, evidence: Evidence) -> dict[str, Any]:
        """Automatic choices as plain data, where there were any."""
        return choices_record((*self.tried, *estimate.tried))

    def posterior(self, estimate: Estimate, evidence: Evidence, tell: Tell) -> dict[str, Any]:
        """Identifiable combinations of the unknowns without a prior, and statistics of the effort residuals.

        The combinations are omitted if the values and the covariance of the model contain the same information.
        """
        covariance = self.covariance(estimate, evidence)
        shown = shown_by_efforts(self, estimate, covariance)
        found: dict[str, Any] = {"residual": noise_of_efforts(self, estimate, shown).to_dict()}
        if not is_plain(self, estimate):
            found["shown"] = shown.to_dict()
        return found

    @classmethod
    def remembers(cls, model: Model) -> bool:
        """Return True: models that no other kind of problem recognises were fitted to efforts."""
        return True

    @classmethod
    def predict_logs(
        cls, model: Model, logs: LogLike | Sequence[LogLike], reading: LogReading
    ) -> tuple[PredictedEfforts, ...]:
        """Predict logs with a model, with warnings where they extrapolate from the fitted ones."""
        return predicted_efforts(with_efforts(model), logs, reading)

    @classmethod
    def predict_draws(
        cls, model: Model, values: Array, logs: LogLike | Sequence[LogLike], reading: LogReading
    ) -> Iterator[DrawnOutputs]:
        """Predicted efforts of logs for each row of `values`, a sample of the unknowns."""
        return drawn_efforts(with_efforts(model), values, logs, reading)

    @classmethod
    def file_names(cls, campaign: Campaign) -> tuple[str, ...]:
        """Names of the robot files to be written: the robot's own file, and for a URDF also an MJCF."""
        return robot_files(campaign.robot)

    def write_files(self, model: Model, draft: Path, out: Path) -> tuple[Note, ...]:
        """Write the robot's own file with the new parameters."""
        return write_robot_files(with_efforts(model), draft, out)

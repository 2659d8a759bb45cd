"""`Problem`: equations, unknowns, predictions and residual measure of a kind of identification problem.

A kind of problem is a folder with a class derived from `Problem`, and one row in `kinds.KINDS`.  Every
function (`build_problem`, `solve`, `judge`, `validate`, ...) and every report uses only that class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from minertia.identification.audits.findings import Finding
from minertia.identification.campaigns.campaign import Campaign, Log, LogLike
from minertia.identification.campaigns.prepare import PreparedCampaign, Tell
from minertia.identification.estimators.estimate import Estimate, EstimateSet
from minertia.identification.estimators.estimator import Estimator
from minertia.identification.evidence.evidence import Evidence, ScoredEvidence
from minertia.identification.evidence.measure import Measure
from minertia.identification.evidence.parameters import ParameterEvidence
from minertia.identification.evidence.residuals import Residuals
from minertia.identification.logs.options import ColumnMap
from minertia.identification.logs.recording import Recording
from minertia.identification.model import IdentifiedModel, Model
from minertia.identification.problem.diagnosis import ExcitationDiagnosis
from minertia.identification.problem.ladder import Ladder
from minertia.identification.problem.linear import LinearModel
from minertia.identification.problem.observation import Observation
from minertia.identification.problem.tried import Tried, closest_options
from minertia.identification.remembered import parameter_entry
from minertia.io.errors import InputError
from minertia.robot.robot import Note, Robot

Array = NDArray[np.float64]
EFFORTS_INSTEAD = "identify the robot of its model (result.model().robot) from logs of efforts"


@dataclass(frozen=True)
class Curves:
    """Measured and predicted outputs of a log (N, outputs) at times t [s] or another abscissa, with units.

    Values are NaN where nothing was measured.

    nominal: prediction by the robot file, None if it has no masses.  patterns: joint positions and velocities
    (N, outputs) at these times, NaN for an output that does not belong to a joint.  friction: measured and
    modelled friction part of the effort, None if the model has no friction.  over: label of the abscissa.
    """

    t: Array
    measured: Array
    predicted: Array
    units: tuple[str, ...]
    nominal: Array | None = None
    patterns: tuple[Array, Array] | None = None
    friction: tuple[Array, Array] | None = None
    over: str = "time [s]"


@dataclass(frozen=True)
class ErrorArrows:
    """Position errors of M readings at N postures, in the axes of the robot's base.

    q (N, robot.n): coordinates [rad, m].  posture (M,): index of each reading's posture.  at (M, 3): predicted position
    [m].  before, after (M, 3): measured less predicted position [m] without and with the estimated corrections.
    """

    q: Array
    posture: NDArray[np.intp]
    at: Array
    before: Array
    after: Array


class PredictedLog(ABC):
    """Prediction of a log without a fit: residuals, and curves on demand."""

    log: Any  # a `PreparedLog`
    residuals: Residuals

    @property
    def name(self) -> str:
        """Name of the log."""
        return str(self.log.name)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Audit findings of the log."""
        found: tuple[Finding, ...] = self.log.findings
        return found

    @property
    def source_name(self) -> str:
        """Name of the log, or of the log it is a part of."""
        return self.name.partition(" [")[0]

    @property
    @abstractmethod
    def outputs(self) -> tuple[str, ...]:
        """Names of the predicted outputs."""

    @abstractmethod
    def curves(self) -> Curves | None:
        """Measured and predicted outputs; None if there is nothing to draw."""

    def arrows(self) -> ErrorArrows | None:
        """Position errors to draw as arrows on the robot; None if readings are not positions."""
        return None

    def nominal(self) -> Residuals | None:
        """Residuals of the robot file's nominal parameters; None if it has no masses."""
        return None


@dataclass(frozen=True)
class DrawnOutputs:
    """Outputs of one log, measured (N, outputs) at times t [s], and predicted for posterior samples.

    predicted (draws, N, outputs): prediction for each sample of the unknowns.  best: prediction for the most
    probable values.  NaN where a simulation diverged.  remarks: warnings on the log.  touching: rows (N,) in which the
    most probable robot touches the ground; None without one.
    """

    log: str
    outputs: tuple[str, ...]
    t: Array
    measured: Array
    best: Array
    predicted: Array
    remarks: tuple[str, ...] = ()
    touching: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Section:
    """Report section that a kind of problem adds: sentences, and tables of headers and rows.

    is_detail: it is printed on request only (`identify --explain`); pages always show it.
    """

    title: str
    sentences: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    rows: tuple[tuple[str | float, ...], ...] = ()
    is_detail: bool = False


def choices_section(tried: Sequence[Tried], gains: str) -> tuple[Section, ...]:
    """Section on automatic choices: every option that was tried; none without any.  gains: what their gain is."""
    rows = tuple((one.choice, one.option, one.percent, one.result) for one in tried)
    headers = ("choice", "option", "gain", "result")
    sentences = (gains, *closest_options(tried))
    return (Section("Automatic choices", sentences, headers, rows, is_detail=True),) if tried else ()


def choices_record(tried: Sequence[Tried]) -> dict[str, Any]:
    """Automatic choices as plain data, where there were any."""
    return {"choices": [one.to_dict() for one in tried]} if tried else {}


@dataclass(frozen=True)
class ModelFacts:
    """Contents of models of every kind: the parameters, their evidence, and the settings for reading logs."""

    parameters: tuple[Mapping[str, Any], ...]
    evidence: Mapping[str, Any]
    campaign: Mapping[str, Any]


@dataclass(frozen=True)
class ModelParts:
    """Components of a model of efforts.

    linear, beta, covariance: the linear model, with the values of its unknowns and their covariance.  standard:
    all standard parameters; is_physical: whether these are physically consistent.  further: additional evidence
    to be stored.
    """

    linear: LinearModel
    beta: Array
    covariance: Array
    standard: Mapping[str, float]
    is_physical: bool
    further: Mapping[str, Any]

    def model(self, estimate: Estimate, facts: ModelFacts) -> IdentifiedModel:
        """Identified model with these components."""
        return IdentifiedModel(
            self.linear,
            self.beta,
            self.covariance,
            facts.parameters,
            dict(estimate.not_excited),
            self.standard,
            self.is_physical,
            {**facts.evidence, **self.further},
            facts.campaign,
        )


class Problem(ABC):
    """Identification problem of a campaign: its logs, already read, and its unknowns, without a fit.

    kind: its key in `KINDS`.  measure: reference quantity of residuals, with the thresholds of a good model.
    has_efforts: whether its logs must have efforts.  title: title of its reports.  band_draws: number of
    posterior samples whose predictions form a band.  all_given: sentence where no automatic choice is
    listed.  campaign: with all log-dependent options determined.  logs, unseen: fitted logs, and validation
    logs.  ladder: selection of effects, None if they were specified.
    """

    kind: ClassVar[str]
    measure: ClassVar[Measure]
    has_efforts: ClassVar[bool] = True
    title: ClassVar[str] = "Identification"
    band_draws: ClassVar[int] = 400
    all_given: ClassVar[str] = "no choice was automatic, besides those below"
    campaign: Campaign
    logs: tuple[Any, ...]  # `PreparedLog`s
    unseen: tuple[Any, ...]
    ladder: Ladder | None

    # ------------------------------------------------------------------ what it is

    @classmethod
    @abstractmethod
    def build(cls, campaign: Campaign | PreparedCampaign, tell: Tell) -> Problem:
        """Read, audit and repair the logs of a campaign, and determine its unknowns."""

    @property
    def linear(self) -> LinearModel:
        """Linear model of the robot's unknowns; raises an error for kinds without effort equations."""
        raise self.refused("columns of efforts", EFFORTS_INSTEAD)

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Names of the unknowns."""

    @property
    @abstractmethod
    def outputs(self) -> tuple[str, ...]:
        """Names of the measured and predicted outputs, one per row of a sample."""

    def linear_rows(self) -> tuple[Observation, Observation | None]:
        """Linear regression equations of fitted and of validation logs; raises an error if the kind has none."""
        raise self.refused(
            "effort equations, from which contributions of parameters are computed",
            "check the standard deviations in result.parameters, or fix a value and compare the residuals of "
            "validation logs",
        )

    @property
    def W(self) -> Array:
        """Regression matrix (rows, unknowns); raises an error if the kind has none."""
        raise self.refused("a regression matrix", "fit it with solve, which linearises it")

    @property
    def y(self) -> Array:
        """Measured vector (rows,) of W beta = y; raises an error if the kind has none."""
        raise self.refused("a regression matrix", "fit it with solve, which linearises it")

    def solve_many(self, efforts: Array | Sequence[Array], estimator: str) -> EstimateSet:
        """Estimates from many sets of efforts on one motion; raises an error if the kind has no efforts."""
        raise self.refused("efforts on one motion", "call solve for each set of logs")

    def entry(self, value: ParameterEvidence) -> dict[str, Any]:
        """Entry of a parameter in a model file: value, interval, class, relation, and unit if it has one."""
        return parameter_entry(self.linear, value)

    def file_values(self) -> dict[str, float]:
        """Values of the unknowns in the robot file; empty if it has none."""
        return self.linear.file_values()

    @classmethod
    def recording(cls, campaign: Campaign, log: Log) -> Recording:
        """Recording of a log without repairs, for audits and plots over time."""
        return campaign.as_logged(log, effort=cls.has_efforts)

    # ------------------------------------------------------------------ what the verbs ask

    @abstractmethod
    def solve(self, estimator: str | Estimator | None, tell: Tell) -> Estimate:
        """Estimate the unknowns."""

    def settled(self, estimate: Estimate) -> Problem:
        """Problem with the choices made during its fit."""
        return self

    @abstractmethod
    def evidence(self, estimate: Estimate, tell: Tell) -> Evidence:
        """Evidence on an estimate."""

    def scored(self, entry: Model | Robot | str | Path) -> ScoredEvidence:
        """Evidence for a model that anybody made, on the logs of the problem; raises an error without efforts."""
        raise self.refused("efforts that a score compares", "compare models on its logs with validate")

    def rows(self, estimate: Estimate) -> Observation:
        """Linear problem at an estimate: regressor rows, or derivatives of the residuals."""
        raise self.refused("rows of efforts", EFFORTS_INSTEAD)

    def excited(self, estimate: Estimate) -> ExcitationDiagnosis:
        """Excitation diagnosis: which unknowns the data distinguish; default: all that the estimate contains."""
        count = len(estimate.names)
        shown = tuple(range(count))
        return ExcitationDiagnosis(count, estimate.rank, estimate.condition, estimate.scaled_condition, shown, {})

    @abstractmethod
    def predicted(self, estimate: Estimate, log: Any, residuals: Residuals) -> PredictedLog:
        """Prediction of one of the logs by an estimate."""

    def linear_values(self, estimate: Estimate) -> Array:
        """Values of the unknowns of `linear`."""
        raise self.refused("columns of efforts", EFFORTS_INSTEAD)

    def covariance(self, estimate: Estimate, evidence: Evidence) -> Array:
        """Covariance of the unknowns under correlated residuals; default: that of the estimate."""
        return estimate.covariance

    @abstractmethod
    def model(self, estimate: Estimate, evidence: Evidence, facts: ModelFacts, *, physical: bool) -> Model:
        """Model to save, simulate and generate code from; physical: with physically consistent links."""

    def record(self, estimate: Estimate, evidence: Evidence) -> dict[str, Any]:
        """Further entries of the result as plain data, which replace those of the same name."""
        return {}

    def sections(self, estimate: Estimate) -> tuple[Section, ...]:
        """Additional sections of the report."""
        return ()

    def losses(self, model: Model) -> tuple[str, ...]:
        """Messages on results that robot files cannot represent."""
        return ()

    def exports(self, estimate: Estimate) -> dict[str, dict[str, Any]]:
        """Robots for files of other programs, by export target, if they differ from the model's robot."""
        return {}

    def posterior(self, estimate: Estimate, evidence: Evidence, tell: Tell) -> dict[str, Any]:
        """Posterior data stored in a model, from which robots are sampled; {} if the kind has none.

        Contents: `Shown` and `ResidualNoise` as plain data.  Without an entry "shown", the posterior is given by
        the values and the covariance of the model.
        """
        return {}

    def made(self, estimate: Estimate) -> dict[str, object]:
        """Additional facts on how the result was computed."""
        return {}

    # ------------------------------------------------------------------ models that were saved, and files

    @classmethod
    @abstractmethod
    def remembers(cls, model: Model) -> bool:
        """Whether a model was identified from this kind of problem."""

    @classmethod
    @abstractmethod
    def predict_logs(
        cls, model: Model, logs: LogLike | Sequence[LogLike], reading: LogReading
    ) -> tuple[PredictedLog, ...]:
        """Predict logs with a model; they are read with the settings of its campaign."""

    @classmethod
    def predict_draws(
        cls, model: Model, values: Array, logs: LogLike | Sequence[LogLike], reading: LogReading
    ) -> Iterator[DrawnOutputs]:
        """Predict logs for each row of `values`, a sample of the unknowns, the most probable one first.

        Raises an error if the kind of problem has no posterior.
        """
        raise cls.refused("posterior of robots", EFFORTS_INSTEAD)

    @classmethod
    def known_sections(cls, model: Model) -> tuple[Section, ...]:
        """Additional sections of a model's validation report."""
        return ()

    @classmethod
    @abstractmethod
    def file_names(cls, campaign: Campaign) -> tuple[str, ...]:
        """Names of the files written in addition to model, result and report."""

    @abstractmethod
    def write_files(self, model: Model, draft: Path, out: Path) -> tuple[Note, ...]:
        """Write the additional files to a folder `draft` that becomes `out`; returns notes on omitted content."""

    @classmethod
    def refused(cls, what: str, instead: str) -> InputError:
        """Error for an operation that this kind of problem does not support."""
        return InputError(f"a fit of {cls.kind} has no {what}: {instead}")


@dataclass(frozen=True)
class LogReading:
    """Settings for reading logs to predict: column map, whether to drop malformed rows, progress callback."""

    columns: ColumnMap | str | Path | None
    drop_torn: bool
    tell: Tell

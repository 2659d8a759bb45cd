"""`CommandProblem`: identification from commands and positions of servo-controlled joints, by simulation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from minertia.identification.campaigns.campaign import Campaign, LogLike
from minertia.identification.campaigns.prepare import STANDSTILL, PreparedCampaign, Tell, refuse_copies, refuse_twins
from minertia.identification.campaigns.recorded import recorded_log
from minertia.identification.closed_loop.build import loop_model
from minertia.identification.closed_loop.carrying import refuse_loads, with_loads
from minertia.identification.closed_loop.files import LOOP_FILES, write_loop_files
from minertia.identification.closed_loop.judge import command_evidence, hidden_sentences, ratios, scale
from minertia.identification.closed_loop.logs import LoopLog, commanded_log, with_encoder, with_supply
from minertia.identification.closed_loop.model import ServoModel
from minertia.identification.closed_loop.predict import DRAWN_STEP, SimulatedLog, simulate_logs
from minertia.identification.closed_loop.record import LOOP, command_parts, loop_record, loop_section
from minertia.identification.closed_loop.shown import drawn_positions, noise_of_positions, shown_by_commands
from minertia.identification.closed_loop.solve import FITTED, ServoEstimate, asked_method, solve_commands
from minertia.identification.estimators.estimate import Estimate
from minertia.identification.estimators.estimator import Estimator
from minertia.identification.evidence.evidence import Evidence
from minertia.identification.evidence.measure import LAG, Measure
from minertia.identification.evidence.parameters import ParameterEvidence
from minertia.identification.evidence.residuals import Residuals
from minertia.identification.kind import (
    DrawnOutputs,
    LogReading,
    ModelFacts,
    Problem,
    Section,
    choices_record,
    choices_section,
)
from minertia.identification.model import IdentifiedModel, Model, with_efforts
from minertia.identification.problem.diagnosis import ExcitationDiagnosis
from minertia.identification.problem.linear import LinearModel
from minertia.identification.problem.observation import Observation
from minertia.io.errors import MinertiaError, expected
from minertia.io.notebook import clipped, plural
from minertia.io.steps import within
from minertia.robot.robot import Note

Array = NDArray[np.float64]
GAINS = (
    "Gain: relative reduction of the residual on the first rows of the logs, on which choices are made; for "
    "position-dependent friction that of a held-out part"
)


@dataclass(frozen=True)
class CommandProblem(Problem):
    """Logs of commands and positions, and the unknowns of robot and servos.

    servos: the unknowns, and the parameters of the simulation.
    """

    kind: ClassVar[str] = "commands"
    measure: ClassVar[Measure] = LAG
    has_efforts: ClassVar[bool] = False
    band_draws: ClassVar[int] = 120
    ladder = None
    campaign: Campaign
    logs: tuple[LoopLog, ...]
    unseen: tuple[LoopLog, ...]
    servos: ServoModel = field(repr=False)

    @classmethod
    def build(cls, campaign: Campaign | PreparedCampaign, tell: Tell) -> CommandProblem:
        """Read and audit the logs, and determine the unknowns."""
        assert isinstance(campaign, Campaign)  # see `KINDS`
        tell = within(tell, 0.0, 0.0)  # reading takes next to nothing of the time of the fit
        tell("the logs contain commands and no efforts: fitting a model of the position servos")
        refuse_twins(campaign)
        refuse_loads(campaign)
        asked_method(campaign, None)
        named = (*campaign.train, *campaign.validate)
        read = []
        for log in named:
            tell(f"reading {log.name}")
            read.append(recorded_log(campaign, log, simulated=True))
        refuse_copies(read, len(campaign.train))
        campaign = with_encoder(campaign, [log.beginning for log in read])
        logs = [commanded_log(campaign, log) for log in read]
        count = len(campaign.train)
        if max(np.ptp(log.q, axis=0).max() for log in logs[:count]) <= STANDSTILL:
            raise MinertiaError("no joint moves in these logs, so nothing is identifiable; record motion")
        campaign = with_supply(campaign, logs[:count])
        tell("deriving the servo model")
        servos = loop_model(campaign, min(log.period for log in logs[:count]))
        logs = with_loads(servos, logs, named)
        return cls(campaign, tuple(logs[:count]), tuple(logs[count:]), servos)

    @property
    def linear(self) -> LinearModel:
        """Linear model of the robot's own unknowns, without those of the servos."""
        return self.servos.linear

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the unknowns."""
        return self.servos.names

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the measured positions."""
        return self.servos.output_names

    def entry(self, value: ParameterEvidence) -> dict[str, Any]:
        """Entry of a parameter in a model file; KP of a servo with its duty is the effort of a volt."""
        by_volt = self.campaign.command.law == "servo" and value.name.startswith("KP")
        return super().entry(value) | ({"unit": "N m/V"} if by_volt else {})

    def solve(self, estimator: str | Estimator | None, tell: Tell) -> ServoEstimate:
        """Estimate the unknowns by the campaign's method, or by the given one: output-error, law or didim."""
        method = asked_method(self.campaign, estimator)
        return solve_commands(self.campaign, self.servos, list(self.logs), method, tell)

    def settled(self, estimate: Estimate) -> CommandProblem:
        """Problem with the unknowns of the final fit."""
        expected(estimate, ServoEstimate, "the estimate of a fit of commands", "solve")
        fit, campaign = _servo(estimate).servo, _servo(estimate).campaign
        return replace(self, campaign=campaign, servos=fit.model)

    def evidence(self, estimate: Estimate, tell: Tell) -> Evidence:
        """Free-run simulation residuals of the fit, of reference models and of a held-out part."""
        return command_evidence(_servo(estimate).servo, self.logs, self.unseen, within(tell, FITTED, 1.0))

    def rows(self, estimate: Estimate) -> Observation:
        """Derivatives of the positions with respect to the unknowns, then to the initial states of the logs."""
        return _servo(estimate).servo.part

    def excited(self, estimate: Estimate) -> ExcitationDiagnosis:
        """Excitation diagnosis: which unknowns the motion distinguishes at the estimate."""
        e, fit = estimate, _servo(estimate).servo
        own = tuple(k for k in fit.kept if k < fit.model.count)
        return ExcitationDiagnosis(len(e.names), e.rank, e.condition, e.scaled_condition, own, dict(e.not_excited))

    def predicted(self, estimate: Estimate, log: LoopLog, residuals: Residuals) -> SimulatedLog:
        """Free-run simulation of one of the logs."""
        fit = _servo(estimate).servo
        return SimulatedLog(log, fit.model, fit.theta, residuals, DRAWN_STEP)

    def linear_values(self, estimate: Estimate) -> Array:
        """Values of the robot's own unknowns."""
        fit = _servo(estimate).servo
        return fit.model.linear.values(fit.model.standard(fit.theta))

    def covariance(self, estimate: Estimate, evidence: Evidence) -> Array:
        """Covariance of all unknowns under correlated residuals; zero for unidentifiable ones."""
        return _servo(estimate).servo.covariance

    def model(self, estimate: Estimate, evidence: Evidence, facts: ModelFacts, *, physical: bool) -> IdentifiedModel:
        """Identified model, whose evidence contains the position servos; physically consistent if possible."""
        return command_parts(_servo(estimate).servo).model(estimate, facts)

    def record(self, estimate: Estimate, evidence: Evidence) -> dict[str, Any]:
        """Record of the position servos, of the ratios that do not depend on the scale, and of automatic choices."""
        fit = _servo(estimate).servo
        choices = choices_record(estimate.tried)
        return {LOOP: loop_record(fit.model, fit.theta), "ratios": ratios(fit), **choices}

    def sections(self, estimate: Estimate) -> tuple[Section, ...]:
        """Report sections: scale, servos, ratios, what this motion does not distinguish, and automatic choices."""
        fit = _servo(estimate).servo
        hidden = tuple(hidden_sentences(fit))
        keys = ("joint", "ratio", "value", "deviation", "unit")
        fitted = [r for r in ratios(fit) if r["value"] or r["deviation"]]  # others are not in the model
        rows = tuple(tuple(r[key] or "" for key in keys) for r in fitted)
        lead = (
            "They are what a simulated servo needs, and do not depend on the reference of the scale: dead zone, "
            "sag, damping over kp"
        )
        return (
            Section("Scale", (scale(fit.model),)),
            loop_section(loop_record(fit.model, fit.theta)),
            Section("Ratios to kp", (lead,), keys, rows),
            *([Section("Combinations that are not distinguishable in this motion", hidden)] if hidden else []),
            *choices_section(estimate.tried, GAINS),
        )

    def made(self, estimate: Estimate) -> dict[str, object]:
        """Origin of the link parameters, and simulation steps per row of each log."""
        fit = _servo(estimate).servo
        steps = ", ".join(f"{log.name} {count}" for log, count in zip(self.logs, fit.steps, strict=True))
        links = "of the robot's file" if fit.model.keeps_links else "fitted"
        return {"links": links, "steps of the simulation between rows": steps}

    def posterior(self, estimate: Estimate, evidence: Evidence, tell: Tell) -> dict[str, Any]:
        """Identifiable unknowns of robot and servos with covariance, and statistics of position residuals."""
        fit = _servo(estimate).servo
        noise = noise_of_positions(fit, self.logs, self.unseen, tell)
        return {"shown": shown_by_commands(fit, self.campaign, self.logs).to_dict(), "residual": noise.to_dict()}

    @classmethod
    def remembers(cls, model: Model) -> bool:
        """Whether a saved model contains position servos, and so was fitted to commands."""
        return LOOP in model.evidence

    @classmethod
    def predict_logs(
        cls, model: Model, logs: LogLike | Sequence[LogLike], reading: LogReading
    ) -> tuple[SimulatedLog, ...]:
        """Free-run simulation of logs of commands."""
        return simulate_logs(with_efforts(model), logs, reading)

    @classmethod
    def predict_draws(
        cls, model: Model, values: Array, logs: LogLike | Sequence[LogLike], reading: LogReading
    ) -> Iterator[DrawnOutputs]:
        """Free-run simulation of logs of commands for each row of `values`, a sample of the unknowns."""
        return drawn_positions(with_efforts(model), values, logs, reading)

    @classmethod
    def known_sections(cls, model: Model) -> tuple[Section, ...]:
        """Report section of the position servos."""
        return (loop_section(model.evidence[LOOP]),)

    @classmethod
    def file_names(cls, campaign: Campaign) -> tuple[str, ...]:
        """Names of the files of servo parameters for simulators."""
        return LOOP_FILES

    def write_files(self, model: Model, draft: Path, out: Path) -> tuple[Note, ...]:
        """Write the servo parameters for simulators, where the scale is known."""
        return write_loop_files(with_efforts(model), draft)

    def __repr__(self) -> str:
        samples = sum(log.samples for log in self.logs)
        return (
            f"<CommandProblem of '{clipped(self.campaign.robot.name, 40)}': {plural(samples, 'sample')} of "
            f"{plural(len(self.outputs), 'position')} from {plural(len(self.logs), 'log')}, "
            f"{plural(len(self.names), 'unknown')}>"
        )


def _servo(estimate: Estimate) -> ServoEstimate:
    assert isinstance(estimate, ServoEstimate)  # `settled` refuses others
    return estimate

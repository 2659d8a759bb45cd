"""`ServoProblem`: runs of one servo with known loads; its friction model is chosen by runs left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from minertia.identification.audits.values import without_misread
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.options import Command
from minertia.identification.campaigns.prepare import Tell
from minertia.identification.closed_loop.askew import Angles, mounted, without_angles
from minertia.identification.closed_loop.found import LoopFit
from minertia.identification.closed_loop.judge import evidence_beside, finest_step, position_residuals
from minertia.identification.closed_loop.logs import LoopLog
from minertia.identification.closed_loop.model import ServoModel
from minertia.identification.closed_loop.problem import CommandProblem
from minertia.identification.closed_loop.servo_choice import ChosenServo, PredictedRun
from minertia.identification.closed_loop.servo_models import (
    IRREGULAR,
    MODELS,
    STEP,
    ServoFit,
    ServoRuns,
    chosen_model,
    finished,
    fit_models,
    left_out_values,
    steps_of,
)
from minertia.identification.closed_loop.simulate import simulated
from minertia.identification.closed_loop.solve import servo_estimate
from minertia.identification.estimators.estimate import Estimate
from minertia.identification.estimators.estimator import Estimator
from minertia.identification.evidence.evidence import Evidence
from minertia.identification.evidence.residuals import Residuals, pooled
from minertia.identification.kind import Section
from minertia.identification.logs.options import ColumnMap
from minertia.identification.logs.recording import Recording
from minertia.identification.model import Model
from minertia.identification.servo_files import FILES, write_servo
from minertia.identification.servo_options import ServoOptions
from minertia.identification.servo_runs import PENDULUM, Run
from minertia.io.arrays import Array
from minertia.io.schema import UNKNOWN
from minertia.robot.robot import Note

STATED = 0.05  # part of the voltage by which a stated one may differ from the logged one
PLAIN = next(iter(MODELS))


@dataclass(frozen=True)
class ServoProblem(CommandProblem):
    """Runs of one servo with known loads.

    own, others: rows of the indices of fitted runs and of those that are only predicted.  options: what is compared
    and known.  found: the estimate, once it is judged, where the loads of the logs are at their angles; stated: these
    logs with loads as stated.
    """

    own: tuple[Run, ...] = ()
    others: tuple[Run, ...] = ()
    options: ServoOptions = field(default_factory=ServoOptions)
    found: ChosenServo | None = field(default=None, repr=False)
    stated: tuple[LoopLog, ...] = field(default=(), repr=False)

    @classmethod
    def of(
        cls,
        own: Sequence[Run],
        others: Sequence[Run],
        options: ServoOptions,
        tell: Tell,
        columns: ColumnMap | None = None,
        *,
        drop_torn: bool = False,
    ) -> ServoProblem:
        """Read the logs of runs."""
        campaign = servo_campaign(own, others, options, columns).reading(ColumnMap(drop_torn=drop_torn))
        read = CommandProblem.build(campaign, tell)
        return cls(read.campaign, read.logs, read.unseen, read.servos, tuple(own), tuple(others), options)

    @property
    def runs(self) -> ServoRuns:
        """Fitted runs, and the groups of them that are left out together."""
        return ServoRuns(self.campaign, self.logs, _folds(self.own))

    def solve(self, estimator: str | Estimator | None, tell: Tell) -> ChosenServo:
        """Fit the friction models, choose one by runs left out, and simulate all runs with it."""
        runs, models = self.runs, self.options.models
        compared = tuple(fit_models(runs, models, tell))
        best = chosen_model([fit for fit in compared if fit.name in models] or compared)
        fit, angles = without_angles(finished(runs, best, tell))
        own, unseen = (mounted(fit.model, logs, angles) for logs in (self.logs, self.unseen))
        fitted, validated = (
            tuple(_predicted(fit.model, fit.theta, self.campaign, *pair) for pair in zip(rows, logs, strict=True))
            for rows, logs in ((self.own, own), (self.others, unseen))
        )
        notes = (
            *_notes(self.own, self.logs, (*fitted, *validated)),
            *_choice(compared, best),
            _askew(angles),
            *fit.notes,
        )
        last, campaign = replace(best, fit=replace(fit, notes=notes)), runs.campaign_with(best.name, best.velocity)
        return servo_estimate(
            ChosenServo, last.fit, campaign, "output-error",
            best=last, compared=compared, fitted=fitted, validated=validated, angles=angles,
        )  # fmt: skip

    def settled(self, estimate: Estimate) -> ServoProblem:
        """Problem with the friction model that was chosen, and loads at their angles."""
        own, found = super().settled(estimate), chosen(estimate)
        assert isinstance(own, ServoProblem)
        logs, unseen = (mounted(found.servo.model, logs, found.angles) for logs in (self.logs, self.unseen))
        return replace(own, found=found, logs=logs, unseen=unseen, stated=self.logs)

    def evidence(self, estimate: Estimate, tell: Tell) -> Evidence:
        """Free-run simulation residuals of the fit, of Coulomb friction alone, and of runs left out.

        Nothing is fitted again: the reference model was compared, and runs are left out as for the choice.
        """
        found = chosen(estimate)
        plain, rivals = found.of(PLAIN), {}
        h = (1 + IRREGULAR) * finest_step(found.servo, self.logs)
        if self.unseen and found.best.name != PLAIN:
            rivals["Coulomb friction alone"] = tuple(
                position_residuals(plain.fit.model, plain.fit.theta, log, h) for log in self.unseen
            )
        left = None if self.unseen else self._left_out(found.servo, h)
        return evidence_beside(found.servo, self.logs, self.unseen, left, rivals)

    def _left_out(self, fit: LoopFit, h: float) -> Residuals:
        """Residuals of all runs, each by fits without the runs of its load, then of its gain; angles are as stated."""
        each = [
            (position_residuals(fit.model, x, self.stated[k], h), self.stated[k].samples)
            for k, x in left_out_values(self.runs, fit)
        ]
        return pooled("runs left out", each)

    def record(self, estimate: Estimate, evidence: Evidence) -> dict[str, Any]:
        """Record of the servo, of the models that were compared, and of the simulated runs."""
        return super().record(estimate, evidence) | chosen(estimate).to_dict()

    def sections(self, estimate: Estimate) -> tuple[Section, ...]:
        """Report sections of fits of commands, of the friction models and of the runs."""
        return (*chosen(estimate).sections(), *super().sections(estimate))

    @classmethod
    def file_names(cls, campaign: Campaign) -> tuple[str, ...]:
        """Names of the files of a servo."""
        return FILES

    def write_files(self, model: Model, draft: Path, out: Path) -> tuple[Note, ...]:
        """Write values, simulated runs and files for simulators."""
        assert self.found is not None  # the problem of a result is settled
        return write_servo(draft, self.found)


def chosen(estimate: Estimate) -> ChosenServo:
    """Estimate of a servo problem."""
    assert isinstance(estimate, ChosenServo)  # `solve` gives no other
    return estimate


def servo_campaign(
    own: Sequence[Run], others: Sequence[Run], options: ServoOptions, columns: ColumnMap | None = None
) -> Campaign:
    """Campaign of the runs of a servo; columns: default: as in the file beside the first log, if there is one."""
    command = Command(
        law="servo", error_gain=options.error_gain, duty_limit=options.duty_limit, target_speed=UNKNOWN,
        target_lapse=UNKNOWN, startup_duty=UNKNOWN, supply_sag=UNKNOWN, zeros=UNKNOWN, loss="huber",
        leave_out_contact=False,
    )  # fmt: skip
    effects = ("rotor", "viscous", "coulomb")
    logs = [run.log for run in own]
    unseen = [run.log for run in others]
    return Campaign(PENDULUM, logs, unseen, columns=columns, effects=effects, links="robot", command=command)


def _folds(runs: Sequence[Run]) -> tuple[tuple[int, ...], ...]:
    """Runs that are left out together: those of each load, then of each gain; else those of each pair of both.

    Of two loads one alone would be left, which does not tell what depends on the load.
    """
    loads: list[Any] = [(run.inertia, run.moment) for run in runs]
    gains: list[Any] = [run.register for run in runs]
    ways = [keys for keys in (loads, gains) if len(set(keys)) > 2] or [list(zip(loads, gains, strict=True))]
    return tuple(tuple(k for k, own in enumerate(keys) if own == key) for keys in ways for key in dict.fromkeys(keys))


def _predicted(model: ServoModel, theta: Array, campaign: Campaign, run: Run, log: LoopLog) -> PredictedRun:
    """Simulated run, from its first row on, at the rows of its log."""
    raw: Recording = campaign.as_logged(run.log, effort=False)
    motion = simulated(model, theta, log, steps_of([log], STEP)[0], slopes=False)
    t = log.recording.t[0] + log.period * np.arange(len(log.q))
    found = np.full(len(raw), np.inf) if motion is None else np.interp(raw.t, t, motion.q[:, 0])
    counted = np.isin(raw.t, without_misread(raw).t)
    return PredictedRun(run, np.asarray(raw.t), np.asarray(raw.q[:, 0]), found, counted)


def _notes(runs: Sequence[Run], logs: Sequence[LoopLog], predicted: Sequence[PredictedRun]) -> list[str]:
    """Messages on misread rows, and on stated voltages that differ from the logged ones."""
    bad = sum(int(np.sum(~one.counted)) for one in predicted)
    found = [f"{bad} rows jump farther than a joint can and back: left out"] if bad else []
    for run, log in zip(runs, logs, strict=True):
        logged = log.recording.channels.get("volts")
        if run.volts is not None and logged is not None:
            usual = float(np.median(logged))
            if abs(usual - run.volts) > STATED * usual:
                found.append(f"{run.volts:g} V is stated, the log says {usual:.3g} V: the log is used")
    return list(dict.fromkeys(found))


def _askew(angles: Angles) -> str:
    """Message on the angles at which loads are mounted."""
    told = ", ".join(f"{1e3 * angle:.2g}" for angle in angles.values())
    return f"angles of the loads about their mean, in the order of the index [mrad]: {told}"


def _choice(compared: Sequence[ServoFit], best: ServoFit) -> list[str]:
    """Messages on the choice of the model, and on the speed of the target."""
    told = ", ".join(f"{fit.name} {1e3 * np.mean(fit.left_out):.3g}" for fit in compared)
    found = [f"mean error of runs left out, by load and by gain [mrad]: {told}; {best.name} was chosen"]
    if "SPEED1" in best.values:
        found.append(f"the target follows the command at {best.values['SPEED1']:.3g} rad/s at most")
    return found

"""`identify`: recordings in, a model with its evidence out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.errors import MinertiaError, UnknownName
from minertia.identification import evidence
from minertia.identification.estimate import Estimate, Fit
from minertia.identification.estimators import ESTIMATORS, estimator
from minertia.identification.estimators.automatic import Automatic, Choice
from minertia.identification.estimators.estimator import Estimator, weighted_solution
from minertia.identification.evidence import ParameterEvidence, Residuals
from minertia.identification.intervals import Spread, spread
from minertia.identification.plausibility import implausible
from minertia.identification.problem.diagnosis import Excitation, excitation
from minertia.identification.problem.linear import LinearModel, linear_model
from minertia.identification.problem.observation import Observation, observe
from minertia.identification.problem.prediction import Judge, load_efforts, pinned, predict
from minertia.identification.problem.rows import MotionLike, RowFilter, Source, sections, states
from minertia.identification.problem.scan import best_terms
from minertia.identification.problem.terms import DEFAULT_EFFECTS, Wanted
from minertia.identification.verdict import Verdict, verdict
from minertia.robot.robot import Robot
from minertia.threads import one_thread

Array = NDArray[np.float64]
ALIASES = {"weighted": "wls", "ordinary": "ols", "total": "tls", "instrumental": "iv", "sdp": "physical"}
RESULT_FORMAT = 1  # of the JSON


@dataclass(frozen=True)
class Identification:
    """Everything one identification found."""

    model: LinearModel
    estimate: Estimate
    excitation: Excitation
    parameters: tuple[ParameterEvidence, ...]
    training: Residuals
    validation: tuple[Residuals, ...]
    rivals: Mapping[str, tuple[Residuals, ...]]
    verdict: Verdict
    spread: Spread | None = None
    recordings: tuple[Residuals, ...] = ()
    observation: Observation | None = field(default=None, repr=False)

    @property
    def robot(self) -> Robot:
        """The robot that was identified."""
        return self.model.robot

    @property
    def beta(self) -> Array:
        """Values of the model's unknowns."""
        return self.estimate.beta

    def predict(self, motion: MotionLike) -> Array:
        """Efforts (N, joints) of a motion."""
        return predict(self.model, self.estimate.beta, motion)

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data, for JSON."""
        condition = self.estimate.condition
        return {
            "format": RESULT_FORMAT,
            "robot": self.robot.name,
            "estimator": self.estimate.estimator,
            "count": len(self.estimate.names),
            "condition": condition if np.isfinite(condition) else None,
            "parameters": [p.to_dict() for p in self.parameters],
            "not_excited": list(self.estimate.not_excited),
            "training": self.training.to_dict(with_log=False),
            "validation": [r.to_dict() for r in self.validation],
            "physical": dict(self.estimate.verdict),
            "verdict": self.verdict.to_dict(),
        }

    def to_json(self) -> str:
        """`to_dict` as text."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

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
        verdict = f"{'good' if self.verdict.is_good else 'not good'}:"
        return "\n".join([*lines, *e.notes, verdict, *(f"- {reason}" for reason in self.verdict.reasons)])


def identify(
    robot: Robot,
    motions: Sequence[Source],
    *,
    effects: Sequence[Wanted] = DEFAULT_EFFECTS,
    estimator: str | Estimator = "wls",
    options: Mapping[str, Any] | None = None,
    validation: Sequence[Source] = (),
    names: Sequence[str] | None = None,
    validation_names: Sequence[str] | None = None,
    fix: Mapping[str, float] | None = None,
    joints: Sequence[str | int] | None = None,
    prior: Mapping[str, float] | Robot | None = None,
    gravity: Sequence[float] | None = None,
    rows: RowFilter | None = None,
    judge: Judge | None = None,
    judged_motions: Sequence[Source] | None = None,
    accumulate: str = "qr",
) -> Identification:
    """Identify a robot from prepared recordings.

    effects: see `chosen_effects`.  estimator: a name of the table with its options, or an object.  validation:
    recordings that are only predicted.  fix: parameters whose values are known.  joints: those whose efforts are used.
    prior: standard parameters (or a robot) that ridge and physical are drawn to.  gravity [m/s2] instead of the
    robot's.  rows: filter of both sides of the equation.  judge: how measured and predicted efforts are compared (by
    default as fitted); judged_motions: the training recordings to judge on, where they differ.
    """
    robot.require_values("an identification")
    robot = robot if gravity is None else robot.with_gravity(gravity)
    model = linear_model(robot, effects, joints=joints)
    with one_thread():
        observation = _observed(model, motions, names, rows, accumulate)
        observation = best_terms(observation)
        model = observation.model
        problem, fixed = pinned(observation, {**model.choice.pinned, **(fix or {})})
        found = excitation(problem)
        if problem.count and found.rank == 0:
            raise MinertiaError("nothing moved in these recordings, so nothing can be identified")
        choice = _settled(_estimator(estimator, options or {}, model, prior, fix or {}), _name(estimator), problem)
        chosen = choice.estimator
        part = problem if chosen.fills_gaps else problem.reduced(found.independent)
        fit = chosen.fit(part)
        widths = _spread(part, fit.beta, fit.sigma, found)
        estimate = _estimate(model, part, fit, found, choice, fixed)
        doubt = None if fit.standard else implausible(observation, problem, estimate.beta, fit.sigma, fix or {})
        alone = evidence.data_alone(problem, found.independent) if chosen.fills_gaps else None
        return _judged(
            Identification(model, estimate, found, (), evidence.training_residuals(observation, estimate.beta), (), {},
                           Verdict(False, ()), widths, observation=observation),
            part, fit, motions if judged_motions is None else judged_motions, validation,
            validation_names, rows, judge, doubt, alone,
        )  # fmt: skip


def _estimate(
    model: LinearModel, part: Observation, fit: Fit, found: Excitation, choice: Choice, fixed: tuple[str, ...]
) -> Estimate:
    """The values of a fit with what is known about them."""
    return Estimate(
        names=model.names,
        classes=model.classes,
        beta=part.expand(fit.beta),
        covariance=part.expand_covariance(fit.covariance),
        sigma=fit.sigma,
        estimator=choice.name,
        rank=found.rank,
        condition=found.condition,
        scaled_condition=found.scaled_condition,
        fixed=fixed,
        not_excited=found.not_excited,
        standard=fit.standard,
        verdict=fit.verdict,
        notes=(*choice.notes, *fit.notes),
    )


def _observed(
    model: LinearModel, motions: Sequence[Source], names: Sequence[str] | None, rows: RowFilter | None, method: str
) -> Observation:
    """One pass, or two where friction depends on the load: first without it, to know the load."""
    if not model.choice.needs_load:
        return observe(model, motions, names=names, rows=rows, method=method)
    zero = lambda q, qd, qdd: np.zeros((len(q), model.robot.n_velocity))  # noqa: E731
    first = observe(model, motions, names=names, rows=rows, method=method, load=zero)
    part = first.reduced(excitation(first).independent)
    beta = part.expand(weighted_solution(part)[0])
    samples = sum(states(m) or 0 for m in motions) or None
    return observe(model, motions, names=names, rows=rows, method=method, load=load_efforts(model, beta, samples))


def _estimator(
    chosen: str | Estimator,
    options: Mapping[str, Any],
    model: LinearModel,
    prior: Mapping[str, float] | Robot | None,
    fix: Mapping[str, float],
) -> Estimator:
    """The estimator; ridge and physical are given the prior and what is known."""
    if isinstance(chosen, Estimator):
        return chosen
    name = ALIASES.get(chosen, chosen)
    if name not in ESTIMATORS:
        raise UnknownName("estimator", chosen, (*ESTIMATORS, *ALIASES))
    given = dict(options)
    values = _prior_values(prior)
    if name == "ridge":
        own = model.nominal() if values is None and model.robot.has_parameters else None
        given.setdefault("prior", own if values is None else model.values(values | model.choice.pinned))
    if name in ("physical", "auto"):
        given.setdefault("prior", values)
        given.setdefault("fixed", fix)
        if prior is not None and name == "physical":
            given.setdefault("weight", None)
    return estimator(name, **given)


def _settled(chosen: Estimator, name: str, problem: Observation) -> Choice:
    """The estimator to use, where that depends on the data."""
    return chosen.settled(problem) if isinstance(chosen, Automatic) else Choice(name, chosen)


def _prior_values(prior: Mapping[str, float] | Robot | None) -> dict[str, float] | None:
    if prior is None:
        return None
    if isinstance(prior, Robot):
        return dict(zip(prior.columns(True, True), prior.parameter_vector(True, True).tolist(), strict=True))
    return dict(prior)


def _name(chosen: str | Estimator) -> str:
    return ALIASES.get(chosen, chosen) if isinstance(chosen, str) else type(chosen).__name__


def _spread(part: Observation, beta: Array, sigma: Array, found: Excitation) -> Spread | None:
    """Widths under correlated residuals, where the data alone determine the fit."""
    if not part.count or found.rank < part.count or sum(len(r.counts) for r in part.records) < 4:
        return None
    return spread(part, beta, sigma)


def _judged(
    result: Identification,
    part: Observation,
    fit: Fit,
    motions: Sequence[Source],
    validation: Sequence[Source],
    validation_names: Sequence[str] | None,
    rows: RowFilter | None,
    judge: Judge | None,
    doubt: str | None,
    alone: evidence.DataAlone | None,
) -> Identification:
    """Add what the model predicts well and badly."""
    model, estimate, observation = result.model, result.estimate, result.observation
    assert observation is not None
    titles = tuple(validation_names or (f"validation {k + 1}" for k in range(len(validation))))
    logs = [r.name for r in observation.records]
    _refuse_twins(motions, validation, (*logs, *titles))
    nominal = model.nominal() if model.robot.has_parameters else None
    friction = evidence.friction_only(observation, nominal)
    rivals = {"friction only" if nominal is None else "nominal with fitted friction": friction}
    if nominal is not None:
        rivals["the nominal model"] = nominal

    def judged(beta: Array, sources: Sequence[Source], logs: Sequence[str]) -> tuple[Residuals, ...]:
        return tuple(_judge(model, beta, s, log, rows, judge)[0] for s, log in zip(sources, logs, strict=True))

    training, each = result.training, tuple(evidence.recording_residuals(observation, estimate.beta))
    if judge:
        counted = [_judge(model, estimate.beta, m, log, rows, judge) for m, log in zip(motions, logs, strict=True)]
        training, each = evidence.pooled("training", counted), tuple(r for r, _ in counted)
    unseen = judged(estimate.beta, validation, titles)
    theirs = {name: judged(beta, validation, titles) for name, beta in rivals.items()} if validation else {}
    repeated = evidence.over_recordings(part, fit.sigma)
    parameters = evidence.parameter_evidence(estimate, part, result.spread, repeated, alone)
    left_out = evidence.left_out_error(part, fit.sigma, fit.refit) if part.count else evidence.NOTHING_LEFT_OUT
    judgement = verdict(training, unseen, theirs, left_out, parameters, estimate.not_excited, doubt)
    return replace(
        result, parameters=parameters, training=training, validation=unseen, rivals=theirs, verdict=judgement,
        recordings=each,
    )  # fmt: skip


def _judge(
    model: LinearModel, beta: Array, source: Source, log: str, rows: RowFilter | None, judge: Judge | None
) -> tuple[Residuals, int]:
    """Residuals of one recording, as fitted or as a judge compares efforts, and over how many samples."""
    if judge is None:
        load = load_efforts(model, beta, states(source)) if model.choice.needs_load else None
        seen = observe(model, [source], names=[log], rows=rows, load=load)
        return evidence.training_residuals(seen, beta, log), seen.samples
    pairs = [judge(s, predict(model, beta, s, samples=states(source))) for s in sections(source)]
    measured, predicted = (np.concatenate(side) for side in zip(*pairs, strict=True))
    return evidence.residuals_of_arrays(log, model.row_names, measured, predicted), len(measured)


def _refuse_twins(motions: Sequence[Source], validation: Sequence[Source], titles: Sequence[str]) -> None:
    """A motion fitted twice weighs double; a model compared with what it was fitted on proves nothing."""
    for k, (source, title) in enumerate(zip((*motions, *validation), titles, strict=True)):
        for other, name in zip(motions[:k], titles, strict=False):
            if source is other or _same(source, other):
                if k < len(motions):
                    raise MinertiaError(f"{title} holds the same samples as {name}; fit a recording once")
                raise MinertiaError(
                    f"{title} was used to fit; a recording that judges the model must not be one of those"
                )


def _same(a: Source, b: Source) -> bool:
    x, y = next(sections(a)), next(sections(b))
    return x.tau.shape == y.tau.shape and bool(np.array_equal(x.q, y.q) and np.array_equal(x.tau, y.tau))

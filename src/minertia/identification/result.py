"""`Identification`: everything one identification found."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.errors import SolverFailed
from minertia.identification.build import Problem
from minertia.identification.campaigns.record import campaign_record
from minertia.identification.estimators.estimate import Estimate
from minertia.identification.evidence.evidence import Evidence
from minertia.identification.evidence.extrapolation import fitted_reach
from minertia.identification.evidence.intervals import Spread
from minertia.identification.evidence.parameters import ParameterEvidence
from minertia.identification.evidence.residuals import Residuals
from minertia.identification.evidence.verdict import Verdict
from minertia.identification.figure import efforts_figure
from minertia.identification.model import IdentifiedModel, parameter_frame, parameter_table
from minertia.identification.physical.consistency import GAPS_ONLY, PhysicalSpace, feasibility, physical_space
from minertia.identification.physical.fit import nearest_with_base, physical_fit
from minertia.identification.problem.diagnosis import ExcitationDiagnosis
from minertia.identification.problem.linear import LinearModel
from minertia.identification.problem.observation import Observation
from minertia.identification.problem.prediction import predict
from minertia.identification.problem.rows import MotionLike
from minertia.notebook import clipped, plural
from minertia.robot.inertia import impossible
from minertia.robot.parameters import LINK_SYMBOLS, full_name
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
RESULT_FORMAT = 1  # of the JSON


@dataclass(frozen=True, repr=False)
class Identification:
    """Everything one identification found: the problem, its estimate, the evidence for it, and the verdict."""

    problem: Problem
    estimate: Estimate
    evidence: Evidence
    verdict: Verdict

    @property
    def robot(self) -> Robot:
        """The robot that was identified, as it was described before."""
        return self.linear.robot

    @property
    def linear(self) -> LinearModel:
        """The unknowns and their columns."""
        return self.problem.linear

    @property
    def observation(self) -> Observation:
        """The triangles of all unknowns."""
        return self.problem.observation

    @property
    def excitation(self) -> ExcitationDiagnosis:
        """What the motion could tell apart."""
        return self.problem.excitation

    @property
    def beta(self) -> Array:
        """Values of the unknowns."""
        return self.estimate.beta

    @property
    def covariance(self) -> Array:
        """Covariance of the values, which holds under correlated residuals."""
        return correlated_covariance(self.estimate, self.evidence.parameters, self.evidence.spread)

    @property
    def parameters(self) -> tuple[ParameterEvidence, ...]:
        """Each value with its deviation and interval."""
        return self.evidence.parameters

    @property
    def training(self) -> Residuals:
        """Residuals of all fitted logs together."""
        return self.evidence.training

    @property
    def validation(self) -> tuple[Residuals, ...]:
        """Residuals of the logs that were only predicted."""
        return self.evidence.unseen

    def predict(self, motion: MotionLike) -> Array:
        """Efforts (N, joints) of a motion."""
        return predict(self.linear, self.estimate.beta, motion)

    def model(self, *, physical: bool = True) -> IdentifiedModel:
        """The model to save, simulate and generate code from; physical: with parameters that a robot can have."""
        return identified_model(self, physical=physical)

    def to_frame(self) -> Any:
        """The values as a pandas DataFrame: deviation, relative, 95 % interval, class and relation of each."""
        return parameter_frame([_entry(self.linear, p) for p in self.parameters], robot=self.robot.name)

    def plot(self, log: str | None = None) -> Any:
        """A matplotlib Figure of measured and predicted efforts and their difference.

        log: by name; by default the first that was not fitted, else the first one.
        """
        return efforts_figure(self.problem, self.estimate, log)

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
            "ladder": None if self.problem.ladder is None else self.problem.ladder.to_dict(),
            "training": self.training.to_dict(with_log=False),
            "validation": [r.to_dict() for r in self.validation],
            "physical": dict(self.estimate.verdict),
            "verdict": self.verdict.to_dict(),
        }

    def to_json(self) -> str:
        """`to_dict` as text."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    def __repr__(self) -> str:
        name, estimator = clipped(self.robot.name, 30), clipped(self.estimate.estimator, 30)
        unseen = f", {self._unseen()} of unseen" if self.validation else ""
        return (
            f"<Identification of '{name}' by {estimator}: {plural(len(self.parameters), 'value')}, "
            f"residual {100 * self.training.relative:.3g} % of the effort{unseen}; {self.verdict.word}>"
        )

    def _unseen(self) -> str:
        """Residuals of the first logs that were only predicted."""
        parts = [f"{100 * r.relative:.3g}" for r in self.validation[:3]]
        return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1]))) + " %"

    def _repr_html_(self) -> str:
        unseen = f", {self._unseen()} of unseen" if self.validation else ""
        title = (
            f"{self.robot.name} by {self.estimate.estimator}: residual {100 * self.training.relative:.3g} % of the "
            f"effort{unseen}; {self.verdict.word}"
        )
        return parameter_table(title, [_entry(self.linear, p) for p in self.parameters], self.verdict.reasons)

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


def identified_model(result: Identification, *, physical: bool = True) -> IdentifiedModel:
    """The model of an identification; physical: look for standard parameters that a robot can have."""
    standard, is_physical, excess = _standard(result, physical)
    estimate, evidence = result.estimate, result.evidence
    record = result.to_dict()
    kept = {key: record[key] for key in ("estimator", "count", "condition", "training", "validation", "verdict")}
    kept |= {
        "physical": record["physical"],
        "standard_excess": excess,
        "rivals": {name: [r.to_dict() for r in rs] for name, rs in evidence.rivals.items()},
        "recordings": [r.to_dict() for r in evidence.logs],
        "reach": fitted_reach(result.observation).to_dict(),
        "noise": dict(zip(result.observation.row_names, estimate.sigma.tolist(), strict=True)),
    }
    return IdentifiedModel(
        result.linear,
        estimate.beta,
        result.covariance,
        tuple(_entry(result.linear, p) for p in evidence.parameters),
        dict(estimate.not_excited),
        standard,
        is_physical,
        kept,
        campaign_record(result.problem.campaign),
    )


def _entry(linear: LinearModel, p: ParameterEvidence) -> dict[str, Any]:
    """A value in the model's file."""
    entry: dict[str, Any] = {
        "name": p.name,
        "value": p.value,
        "deviation": p.deviation,
        "interval": list(p.interval),
        "class": p.kind,
        "relation": relation_of(linear, p.name),
    }
    return entry | ({"over_recordings": dict(p.over_recordings)} if p.over_recordings else {})


def correlated_covariance(estimate: Estimate, parameters: Sequence[ParameterEvidence], widths: Spread | None) -> Array:
    """The covariance whose deviations are those of the evidence: they hold under correlated residuals."""
    covariance = np.array(estimate.covariance)
    if widths is not None and estimate.part is not None:
        own = [estimate.names.index(name) for name in estimate.part.names]
        covariance[np.ix_(own, own)] = widths.stated  # slow noise also ties values together otherwise than white noise
    wanted = {p.name: p.deviation for p in parameters}
    known = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    scale = np.array([wanted.get(n, d) / d if d > 0 else 1.0 for n, d in zip(estimate.names, known, strict=True)])
    return np.asarray(covariance * np.outer(scale, scale))


def _standard(result: Identification, physical: bool) -> tuple[dict[str, float], bool, float]:
    """All standard parameters, whether a robot can have them, and what that costs in the sum of squares.

    Those of the physical fit, else of the physical robot with the same efforts, else of the one that fits best.
    """
    model, beta, estimate = result.linear, np.array(result.estimate.beta), result.estimate
    if estimate.standard:
        return dict(estimate.standard), True, 0.0
    if physical:
        observation = result.observation
        space = physical_space(model, None, {n: estimate.value(n) for n in estimate.fixed}, observation.effort_rms)
        try:
            if feasibility(space, beta).slack > 0:
                x = _nearest(space, beta)
                if min(space.margins(x).values(), default=1.0) >= 0:
                    return dict(zip(model.standard, x.tolist(), strict=True)), True, 0.0
            R, rows = observation.triangle(estimate.sigma), observation.samples
            fit = physical_fit(space.free(), R, rows * len(observation.row_names), weight=GAPS_ONLY)
            return dict(zip(model.standard, fit.x.tolist(), strict=True)), True, fit.excess
        except SolverFailed:
            pass
    values = model.standard_values(beta)
    return values, is_possible(model.robot, values), 0.0


def _nearest(space: PhysicalSpace, beta: Array) -> Array:
    """The physical robot with these efforts, with centres of mass in their links where there is one."""
    try:
        return nearest_with_base(space, beta)
    except SolverFailed:
        return nearest_with_base(space.free(), beta)


def is_possible(robot: Robot, values: Mapping[str, float]) -> bool:
    """Whether links with these standard parameters can exist."""
    links = [[values.get(full_name(s, j + 1), 0.0) for s in LINK_SYMBOLS] for j in range(robot.n_joints)]
    return all(ten[9] > 0 and impossible(ten) is None for ten in links)


def relation_of(model: LinearModel, name: str) -> str:
    """An unknown as a sum of standard parameters: in letters where no effect or joint was left out of it."""
    row = model.K[model.index(name)]
    if name in model.base.names:
        whole = {c for c, v in zip(model.base.columns, model.base.K[model.base.names.index(name)], strict=True) if v}
        if whole == {model.standard[c] for c in np.flatnonzero(row)}:
            return model.base.relation_texts()[name]
    parts = [
        (row[c] < 0, model.standard[c] if abs(row[c]) == 1 else f"{abs(row[c]):.6g}*{model.standard[c]}")
        for c in np.flatnonzero(row)
    ]
    text = "".join(f" {'-' if minus else '+'} {part}" for minus, part in parts)
    return text.removeprefix(" + ").removeprefix(" ")

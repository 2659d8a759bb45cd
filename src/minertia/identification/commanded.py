"""`LoopIdentification`: what an identification without efforts found, told as every other one is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.codegen.rollout.effects import SIMULATED
from minertia.codegen.rollout.floor import FLOOR
from minertia.codegen.rollout.task import OF_SPRINGS
from minertia.errors import SolverFailed
from minertia.identification.build import Problem
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.command import UNKNOWN, Command
from minertia.identification.campaigns.floor import Floor
from minertia.identification.campaigns.prepare import PreparedLog
from minertia.identification.campaigns.record import campaign_record
from minertia.identification.closed_loop.build import loop_model
from minertia.identification.closed_loop.found import LoopFit
from minertia.identification.closed_loop.judge import loop_parameters, ratios
from minertia.identification.closed_loop.model import ServoModel
from minertia.identification.closed_loop.outcome import LoopOutcome, ReadLog
from minertia.identification.estimators.estimate import Estimate
from minertia.identification.evidence.evidence import Evidence
from minertia.identification.evidence.left_out import NOTHING_LEFT_OUT
from minertia.identification.model import IdentifiedModel, parameter_frame, parameter_table
from minertia.identification.physical.consistency import physical_space
from minertia.identification.physical.fit import nearest_with_base
from minertia.identification.problem.diagnosis import ExcitationDiagnosis
from minertia.identification.problem.ladder import START
from minertia.identification.problem.solve import inverse
from minertia.identification.result import Identification, is_possible
from minertia.notebook import clipped, plural
from minertia.robot.effects import BY_SYMBOL
from minertia.robot.joint import Elastic
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
LOOP = "loop"  # key of a model's evidence that holds its position loops


@dataclass(frozen=True, repr=False)
class LoopIdentification(Identification):
    """An identification from commands and positions.

    Residuals are those of simulated positions, relative to how far the joints are from their commands.  loop: gains,
    delay and limits of each joint [N m, N, rad, m, s].
    """

    outcome: LoopOutcome = field(kw_only=True)

    @property
    def fit(self) -> LoopFit:
        """The fit with its position loops."""
        return self.outcome.fit

    @property
    def loop(self) -> dict[str, Any]:
        """Gains, delay and limits of the joints, as plain data."""
        return loop_record(self.fit.model, self.fit.theta)

    @property
    def covariance(self) -> Array:
        """Covariance of the values, which holds under correlated residuals."""
        return self.fit.covariance

    def model(self, *, physical: bool = True) -> IdentifiedModel:
        """The model to save, simulate and generate code from; its evidence holds the position loops."""
        model, theta = self.fit.model, self.fit.theta
        slopes = model.standard_slopes()
        standard, is_physical = _standard(model, theta)
        record = self.to_dict()
        kept = {key: record[key] for key in ("estimator", "count", "condition", "training", "validation", "verdict")}
        kept |= {
            LOOP: self.loop,
            "ratios": ratios(self.fit),
            "physical": {},
            "standard_excess": 0.0,
            "recordings": [r.to_dict() for r in self.evidence.logs],
            "noise": dict(zip(model.output_names, self.fit.sigma.tolist(), strict=True)),
        }
        return IdentifiedModel(
            replace(model.linear, robot=_sprung(model, theta)),
            model.linear.values(standard),
            np.asarray(slopes @ self.fit.covariance @ slopes.T),
            tuple(self._entries()),
            dict(self.estimate.not_excited),
            standard,
            is_physical,
            kept,
            campaign_record(self.outcome.campaign),
        )

    def _entries(self) -> list[dict[str, Any]]:
        return [p.to_dict() | {"interval": list(p.interval), "relation": p.name} for p in self.parameters]

    def to_frame(self) -> Any:
        """The values as a pandas DataFrame."""
        return parameter_frame(self._entries(), robot=self.robot.name)

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data, for JSON."""
        return super().to_dict() | {"loop": self.loop, "ratios": ratios(self.fit)}

    def __repr__(self) -> str:
        name = clipped(self.robot.name, 30)
        unseen = f", {self._unseen()} of unseen" if self.validation else ""
        return (
            f"<LoopIdentification of '{name}' by {self.estimate.estimator}: {plural(len(self.parameters), 'value')}, "
            f"residual {100 * self.training.relative:.3g} % of the lag{unseen}; {self.verdict.word}>"
        )

    def _repr_html_(self) -> str:
        title = f"{self.robot.name} from commands: {self.verdict.word}"
        return parameter_table(title, self._entries(), self.verdict.reasons)


def _sprung(model: ServoModel, theta: Array) -> Robot:
    """The robot with the stiffness and damping that were found at its elastic joints."""
    robot, values = model.robot, model.atom_values(theta)
    joints = list(robot.joints)
    for j in model.layout.elastic:
        found = Elastic(1 / float(values[model.index("cj", j)]), float(values[model.index("dj", j)]))
        joints[robot.independent[j]] = replace(joints[robot.independent[j]], elastic=found)
    return replace(robot, joints=tuple(joints))


def _standard(model: ServoModel, theta: Array) -> tuple[dict[str, float], bool]:
    """All standard parameters, and whether a robot can have them; fitted links are bodies with these efforts."""
    standard = model.standard(theta)
    if not model.keeps_links:
        rotors = [f"IA{j + 1}" for j in model.layout.elastic]
        known = {name: standard[name] for name in rotors if name in standard}
        space = physical_space(model.linear, None, known, np.ones(model.robot.n)).free()
        try:
            x = nearest_with_base(space, model.linear.values(standard))
            standard = dict(zip(model.linear.standard, x.tolist(), strict=True))
        except SolverFailed:
            pass
    return standard, is_possible(model.robot, standard)


def recorded_loop(campaign: Campaign, model: IdentifiedModel, period: float) -> tuple[ServoModel, Array]:
    """The position loops of a model that was saved, with nothing left to fit but a delay that is known already."""
    loop = model.evidence[LOOP]
    given: dict[str, Any] = {key: loop[key] for key in ("law", "hold", "delay_of", "velocity_reference")}
    given |= {key: tuple(loop[key]) for key in ("kp", "kd", "ki", "limit", "zeros") if key in loop}
    if loop["law"] == "p":
        given["kd"] = 0.0
    if loop["law"] != "pid":
        given["ki"] = 0.0
    robot = model.robot
    campaign = replace(campaign, command=Command(**given, delay=UNKNOWN), floor=Floor(**loop.get("floor", {})))
    made = loop_model(replace(campaign, robot=robot, links="robot", effects=_own_effects(robot), fix={}), period)
    values = dict(robot.effect_values)
    values |= {"delay": float(loop["delay"]), **loop.get("elastic", {}).get("values", {})}
    return made, np.array([values.get(name, 0.0) for name in made.names])


def _own_effects(robot: Robot) -> tuple[Any, ...]:
    """The usual effects, and all others that a robot has and a loop simulates."""
    more = [
        {"kind": symbol, "joints": [j + 1], **robot.constants[j].get(symbol, {})}
        for j, own in enumerate(robot.effects)
        for symbol, value in own.items()
        if value and symbol in SIMULATED and not BY_SYMBOL[symbol].is_standard
    ]
    return (*START, *more)


def loop_record(model: ServoModel, theta: Array) -> dict[str, Any]:
    """The position loops of a robot, as plain data."""
    values, command = model.atom_values(theta), model.command
    n = model.robot.n
    limit = command.each("limit", n)
    found: dict[str, Any] = {
        "law": command.law,
        **{name: model.of_kind(name, values).tolist() for name in ("kp", "kd", "ki")},
        "delay": float(values[model.places["delay"][0]]),
        "delay_of": command.delay_of,
        "hold": command.hold,
        "zeros": model.of_kind("zero", values).tolist(),
        "velocity_reference": command.velocity_reference,
        "joints": list(model.robot.coordinate_names),
        "damping_is_one": [f"KD{j + 1}+FV{j + 1}" in model.names or "KD+FV" in model.names for j in range(n)],
        "gauges": [model.robot.coordinate_names[j] for j in model.gauges],
    }
    found |= {} if None in limit else {"limit": [float(v) for v in limit]}
    if model.floor.touches:
        below = dict(zip(FLOOR, model.of_kind("floor", values).tolist(), strict=True))
        found["floor"] = {"touches": list(model.floor.touches), **below}
    return found | ({"elastic": _elastic_record(model, values)} if model.layout.elastic else {})


def _elastic_record(model: ServoModel, values: Array) -> dict[str, Any]:
    """Elastic joints [N m/rad, N m s/rad; N/m, N s/m], and everything of them that a simulation reads, by name."""
    layout, names = model.layout, model.robot.coordinate_names
    numbers = {kind: [float(values[model.index(kind, j)]) for j in layout.elastic] for kind in (*OF_SPRINGS, "IA")}
    return {
        "joints": [names[j] for j in layout.elastic],
        "stiffness": [1 / c for c in numbers["cj"]],
        "damping": numbers["dj"],
        "rest": numbers["rj"],
        "encoder": layout.encoder,
        "feedback": layout.feedback,
        "values": {
            f"{kind.upper()}{j + 1}": own[k] for kind, own in numbers.items() for k, j in enumerate(layout.elastic)
        },
    }


def loop_identification(outcome: LoopOutcome) -> LoopIdentification:
    """The result of a fit of commands."""
    fit, found = outcome.fit, outcome.judged
    problem, estimate = _problem(outcome), _estimate(fit, outcome.campaign)
    evidence = Evidence(
        training=found.training,
        logs=found.logs,
        parameters=loop_parameters(fit),
        left_out=NOTHING_LEFT_OUT,
        unseen=found.unseen,
        rivals=found.rivals,
        not_excited=fit.hidden,
        spread=fit.widths,
    )
    return LoopIdentification(problem, estimate, evidence, found.verdict, outcome=outcome)


def _estimate(fit: LoopFit, campaign: Campaign) -> Estimate:
    own = [k for k in fit.kept if k < fit.model.count]
    R = fit.part.triangle(fit.sigma)[:-1, :-1]
    A = R[:, : len(own)]
    scaled = A / np.linalg.norm(A, axis=0)
    classes: Mapping[str, str] = {name: "combination" if "+" in name else "alone" for name in fit.model.names}
    white = inverse(R)
    covariance = np.zeros((fit.model.count, fit.model.count))
    covariance[np.ix_(own, own)] = (white @ white.T)[: len(own), : len(own)]
    return Estimate(
        names=fit.model.names,
        classes=tuple(classes.values()),
        beta=fit.theta,
        covariance=covariance,
        sigma=fit.sigma,
        estimator=campaign.command.method,
        rank=len(own),
        condition=float(np.linalg.cond(A)),
        scaled_condition=float(np.linalg.cond(scaled)),
        not_excited=fit.hidden,
        notes=("the logs hold commands and no efforts: fitted through the joints' position loops",),
        part=fit.part,
    )


def _problem(outcome: LoopOutcome) -> Problem:
    fit = outcome.fit
    own = tuple(k for k in fit.kept if k < fit.model.count)
    found = ExcitationDiagnosis(fit.model.count, len(own), 1.0, 1.0, own, dict(fit.hidden))
    logs, unseen = (tuple(_prepared(r) for r in reads) for reads in (outcome.logs, outcome.unseen))
    return Problem(outcome.campaign, logs, unseen, fit.part, fit.part, (), found)


def _prepared(read: ReadLog) -> PreparedLog:
    return PreparedLog(read.log, read.loop.recording, read.loop.recording, read.findings)  # type: ignore[arg-type]

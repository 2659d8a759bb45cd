"""The identified model as one file: the robot, its values, and the evidence for them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from numpy.typing import NDArray

from minertia.algebra.vec3 import Pose
from minertia.errors import DescriptionError, SolverFailed
from minertia.files import is_file, why_no_file, write_text_atomic
from minertia.identification.evidence import Residuals, residuals_of_arrays
from minertia.identification.extrapolation import fitted_reach
from minertia.identification.identify import Identification
from minertia.identification.physical.consistency import GAPS_ONLY, feasibility, physical_space
from minertia.identification.physical.fit import nearest_with_base, physical_fit
from minertia.identification.problem.linear import LinearModel, linear_model, link_number, symbol_of
from minertia.identification.problem.prediction import Judge, predict
from minertia.identification.problem.rows import MotionLike, Source, sections
from minertia.identification.problem.terms import Term
from minertia.robot.dh.write import toml_text
from minertia.robot.identified import FORMAT, check_format, identified_robot, nominal_robot
from minertia.robot.inertia import impossible
from minertia.robot.joint import numeric_pose
from minertia.robot.parameters import LINK_SYMBOLS, full_name
from minertia.robot.read import MODEL, ReadOptions, is_model_text, read_text
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
KIND = MODEL


@dataclass(frozen=True)
class IdentifiedModel:
    """A linear model with values.

    parameters: evidence of each value, as plain data.  standard: all standard parameters; where is_physical those of a
    robot that can exist, whose sum of squares is higher by the part evidence["standard_excess"].  evidence: residuals,
    verdict and how it was made.  campaign: how its logs were read, filtered and judged.
    """

    model: LinearModel
    beta: Array
    covariance: Array
    parameters: tuple[Mapping[str, Any], ...]
    not_excited: Mapping[str, str]
    standard: Mapping[str, float]
    is_physical: bool
    evidence: Mapping[str, Any] = field(default_factory=dict)
    campaign: Mapping[str, Any] = field(default_factory=dict)

    @property
    def robot(self) -> Robot:
        """The robot as it was described before, with its nominal parameters if it had any."""
        return self.model.robot

    @property
    def effect_names(self) -> tuple[str, ...]:
        """Full names of the effects that predictions include."""
        choice = self.model.choice
        return (*choice.own, *(t.name for t in choice.terms))

    def predict(self, motion: MotionLike) -> Array:
        """Efforts (N, joints) of a motion."""
        return predict(self.model, self.beta, motion)

    def validate(
        self, motions: Sequence[Source], names: Sequence[str] | None = None, judge: Judge | None = None
    ) -> tuple[Residuals, ...]:
        """Residuals on recordings, without fitting anything."""
        titles = names or [f"recording {k + 1}" for k in range(len(motions))]
        rows, found = list(self.model.rows), []
        for source, title in zip(motions, titles, strict=True):
            pairs = []
            for section in sections(source):
                predicted = self.predict(section)
                measured = np.asarray(section.tau, float)[:, rows]
                pairs.append((measured, predicted) if judge is None else judge(section, predicted))
            measured, predicted = (np.concatenate(side) for side in zip(*pairs, strict=True))
            found.append(residuals_of_arrays(title, self.model.row_names, measured, predicted))
        return tuple(found)

    def to_robot(self) -> Robot:
        """The robot with all that was identified, for simulation, description files and code."""
        return identified_robot(
            self.robot,
            self.standard,
            [_term_table(t) for t in self.model.choice.terms],
            is_physical=self.is_physical,
            excess=float(self.evidence.get("standard_excess", 0.0)),
        )


def identified_model(
    result: Identification, *, physical: bool = True, campaign: Mapping[str, Any] | None = None
) -> IdentifiedModel:
    """The model of an identification; physical: look for standard parameters that a robot can have.

    campaign: the record of how its logs were read (`campaign_record`), so that others can be read alike.
    """
    standard, is_physical, excess = _standard(result, physical)
    estimate = result.estimate
    parameters = tuple(
        {
            "name": p.name,
            "value": p.value,
            "deviation": p.deviation,
            "interval": list(p.interval),
            "class": p.kind,
            "relation": _relation(result.model, p.name),
            **({"over_recordings": dict(p.over_recordings)} if p.over_recordings else {}),
        }
        for p in result.parameters
    )
    record = result.to_dict()
    evidence = {key: record[key] for key in ("estimator", "count", "condition", "training", "validation", "verdict")}
    evidence |= {
        "physical": record["physical"],
        "standard_excess": excess,
        "rivals": {name: [r.to_dict() for r in rs] for name, rs in result.rivals.items()},
        "recordings": [r.to_dict() for r in result.recordings],
        **({} if result.observation is None else {"reach": fitted_reach(result.observation).to_dict()}),
        "noise": dict(zip(result.model.row_names, estimate.sigma.tolist(), strict=True)),
    }
    return IdentifiedModel(
        result.model,
        estimate.beta,
        correlated_covariance(result),
        parameters,
        dict(estimate.not_excited),
        standard,
        is_physical,
        evidence,
        campaign or {},
    )


def correlated_covariance(result: Identification) -> Array:
    """The covariance whose deviations are those of the evidence: they hold under correlated residuals."""
    estimate = result.estimate
    wanted = {p.name: p.deviation for p in result.parameters}
    scale = np.array(
        [wanted.get(n, d) / d if d > 0 else 1.0 for n, d in zip(estimate.names, estimate.deviation, strict=True)]
    )
    return np.asarray(estimate.covariance * np.outer(scale, scale))


def write_model(model: IdentifiedModel, path: str | Path) -> None:
    """Write a model; the file appears whole or not at all."""
    write_text_atomic(path, model_text(model))


def model_text(model: IdentifiedModel) -> str:
    """The TOML text of a model."""
    linear = model.model
    document = {
        "format": FORMAT,
        "kind": KIND,
        "physical": model.is_physical,
        "joints": list(linear.row_names),
        "effects": {"own": list(linear.choice.own), "terms": [_term_table(t) for t in linear.choice.terms]},
        "unknowns": {
            "names": list(linear.names),
            "values": model.beta.tolist(),
            "covariance": [model.covariance[k, : k + 1].tolist() for k in range(len(model.beta))],
        },
        "standard": dict(model.standard),
        "not_excited": dict(model.not_excited),
        "parameters": [dict(p) for p in model.parameters],
        "evidence": dict(model.evidence),
        "campaign": dict(model.campaign),
        "frames": _frames(linear.robot),
        "robot": tomllib.loads(toml_text(linear.robot)),
    }
    return tomli_w.dumps(_plain(document))


def is_model_file(path: str | Path) -> bool:
    """Whether a file is an identified model; its first lines say so."""
    file = Path(path)
    if file.suffix.lower() != ".toml" or not is_file(file):
        return False
    with open(file, encoding="utf-8", errors="replace") as text:
        return is_model_text(text.read(400))


def read_model(path: str | Path) -> IdentifiedModel:
    """A model from its file."""
    if not is_file(path):
        raise DescriptionError(f"{why_no_file(path)}; `minertia identify ... --out DIR` writes a model.toml", file=path)
    try:
        document = tomllib.loads(read_text(Path(path)))
    except (ValueError, RecursionError) as err:
        raise DescriptionError(f"this is not valid TOML: {str(err)[:160]}", file=path) from None
    if document.get("kind") != KIND:
        raise DescriptionError(f"this is not an {KIND}; it must say kind = '{KIND}'", file=path)
    check_format(document, str(path))
    try:
        return _read(document, path)
    except KeyError as err:
        raise DescriptionError(f"the model is not complete: {err} is missing", file=path) from None
    except (TypeError, ValueError, IndexError, AttributeError, OverflowError) as err:
        raise DescriptionError(f"the model is damaged: a value is not what it must be ({err})", file=path) from None


def _read(document: Mapping[str, Any], path: str | Path) -> IdentifiedModel:
    robot = nominal_robot(document, str(path), ReadOptions())
    effects = [*_without_twins(document["effects"]["own"]), *document["effects"]["terms"]]
    linear = linear_model(robot, effects, joints=document["joints"])
    unknowns = document["unknowns"]
    if list(linear.names) != list(unknowns["names"]):
        raise DescriptionError("the unknowns in the file are not those of its robot and effects", file=path)
    p = linear.count
    lower = np.zeros((p, p))
    for k, row in enumerate(unknowns["covariance"]):
        lower[k, : k + 1] = row
    return IdentifiedModel(
        linear,
        np.array(unknowns["values"], float),
        lower + np.tril(lower, -1).T,
        tuple(document["parameters"]),
        document["not_excited"],
        {name: float(v) for name, v in document["standard"].items()},
        bool(document["physical"]),
        document["evidence"],
        document.get("campaign", {}),
    )


def _frames(robot: Robot) -> dict[str, Any]:
    """The frames of the robot's own file, in which loads are given: TOML robots hold joint frames only."""

    def flat(pose: Pose) -> list[float]:
        R, p = numeric_pose(pose, robot.symbol_values)
        return [float(v) for v in (*(v for row in R for v in row), *p)]  # type: ignore[arg-type]

    return {
        "links": [flat(joint.file_frame) for joint in robot.joints],
        "named": [
            {"name": name, "joint": 0 if f.joint is None else f.joint + 1, "pose": flat(f.pose)}
            for name, f in robot.frames.items()
        ],
    }


def _without_twins(own: Sequence[str]) -> list[str]:
    """Names of effects without the motor-side ones that come with a joint's own."""
    twins = {f"{symbol_of(name)}M{link_number(name)}" for name in own}
    return [name for name in own if name not in twins]


def _standard(result: Identification, physical: bool) -> tuple[dict[str, float], bool, float]:
    """All standard parameters, whether a robot can have them, and what that costs in the sum of squares.

    Those of the physical fit, else of the physical robot with the same efforts, else of the one that fits best.
    """
    model, beta = result.model, np.array(result.estimate.beta)
    if result.estimate.standard:
        return dict(result.estimate.standard), True, 0.0
    if physical:
        sizes = None if result.observation is None else result.observation.effort_rms
        space = physical_space(model, None, {n: result.estimate.value(n) for n in result.estimate.fixed}, sizes)
        try:
            if feasibility(space, beta).slack > 0:
                x = nearest_with_base(space, beta)
                if min(space.margins(x).values(), default=1.0) >= 0:
                    return dict(zip(model.standard, x.tolist(), strict=True)), True, 0.0
            if result.observation is not None:
                R, rows = result.observation.triangle(result.estimate.sigma), result.observation.samples
                fit = physical_fit(space, R, rows * len(model.rows), weight=GAPS_ONLY)
                return dict(zip(model.standard, fit.x.tolist(), strict=True)), True, fit.excess
        except SolverFailed:
            pass
    values = model.standard_values(beta)
    return values, _is_possible(model.robot, values), 0.0


def _is_possible(robot: Robot, values: Mapping[str, float]) -> bool:
    links = [[values.get(full_name(s, j + 1), 0.0) for s in LINK_SYMBOLS] for j in range(robot.n_joints)]
    return all(ten[9] > 0 and impossible(ten) is None for ten in links)


def _relation(model: LinearModel, name: str) -> str:
    """An unknown as a sum of standard parameters."""
    row = model.K[model.index(name)]
    texts = model.base.relation_texts()
    if name in texts and np.count_nonzero(row) == texts[name].count(" ") // 2 + 1:
        return texts[name]
    parts = [
        (row[c] < 0, model.standard[c] if abs(row[c]) == 1 else f"{abs(row[c]):.6g}*{model.standard[c]}")
        for c in np.flatnonzero(row)
    ]
    text = "".join(f" {'-' if minus else '+'} {part}" for minus, part in parts)
    return text.removeprefix(" + ").removeprefix(" ")


def _term_table(term: Term) -> dict[str, Any]:
    table: dict[str, Any] = {"kind": term.symbol, "joints": [term.joint + 1], **term.settings}
    if term.tag:
        table["tag"] = term.tag
    return table | ({"known": True} if term.is_known else {})


def _plain(value: Any) -> Any:
    """Data that TOML can hold: nothing where a value is missing, numbers as they are."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items() if v is not None}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value if v is not None]
    if isinstance(value, np.generic):
        return value.item()
    return value

"""`IdentifiedModel`: a linear model with values, and the evidence for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from numpy.typing import NDArray

from minertia.algebra.vec3 import Pose
from minertia.identification.problem.linear import LinearModel
from minertia.identification.problem.prediction import predict
from minertia.identification.problem.rows import MotionLike
from minertia.identification.problem.terms import Term
from minertia.io.documents import toml_document
from minertia.io.files import write_file
from minertia.io.notebook import clipped, frame, html_table, plural
from minertia.io.provenance import MadeOf
from minertia.robot.dh.write import toml_text
from minertia.robot.identified import FORMAT, exported_robot, identified_robot
from minertia.robot.joint import numeric_pose
from minertia.robot.reading import MODEL
from minertia.robot.robot import Robot

Array = NDArray[np.float64]


@dataclass(frozen=True)
class IdentifiedModel:
    """A linear model with values.

    parameters: evidence of each value, as plain data.  standard: all standard parameters; where is_physical those of a
    robot that can exist, whose sum of squares is higher by the part evidence["standard_excess"].  evidence: residuals,
    verdict and how it was made.  campaign: how its logs were read, filtered and judged.  made_of: names and digests of
    the files that the command which wrote it has read.  exports: for targets of `robot.targets` by name, effects
    and standard parameters of the best robot that a file of theirs can hold, and what it leaves of the logs.
    """

    linear: LinearModel
    beta: Array
    covariance: Array
    parameters: tuple[Mapping[str, Any], ...]
    not_excited: Mapping[str, str]
    standard: Mapping[str, float]
    is_physical: bool
    evidence: Mapping[str, Any] = field(default_factory=dict)
    campaign: Mapping[str, Any] = field(default_factory=dict)
    made_of: tuple[MadeOf, ...] = ()
    exports: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def nominal(self) -> Robot:
        """The robot as it was described before, with its nominal parameters if it had any."""
        return self.linear.robot

    @cached_property
    def robot(self) -> Robot:
        """The robot with all that was identified, for simulation, description files and code."""
        return identified_robot(
            self.nominal,
            self.standard,
            [term_table(t) for t in self.linear.choice.terms],
            is_physical=self.is_physical,
            excess=float(self.evidence.get("standard_excess", 0.0)),
            loop=self.evidence.get("loop", {}),
        )

    @property
    def effect_names(self) -> tuple[str, ...]:
        """Full names of the effects that predictions include."""
        choice = self.linear.choice
        return (*choice.own, *(t.name for t in choice.terms))

    def predict(self, motion: MotionLike) -> Array:
        """Efforts (N, joints) of a motion."""
        return predict(self.linear, self.beta, motion)

    def to_robot(self, target: str = "") -> Robot:
        """`robot`; for a target ("urdf", "mjcf") the best robot that such a file can hold, where it is known."""
        return exported_robot(self.nominal, self.exports[target]) if target in self.exports else self.robot

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the model as a TOML file, whole or not at all; `read_model` and every command read it.

        force: replace a file that minertia did not write, or that was edited since.
        """
        write_file(path, model_text(self), force=force)

    def to_frame(self) -> Any:
        """The values as a pandas DataFrame: deviation, relative, 95 % interval, class and relation of each."""
        return parameter_frame(self.parameters, robot=self.nominal.name)

    def __repr__(self) -> str:
        parts = [f"{plural(len(self.parameters), 'value')} of {len(self.beta)} unknowns"]
        if "training" in self.evidence:
            word = self.evidence.get("measure", "effort")
            parts.append(f"residual {100 * self.evidence['training']['relative']:.3g} % of the {word}")
        parts.append("a possible robot" if self.is_physical else "no possible robot")
        return f"<IdentifiedModel of '{clipped(self.nominal.name, 40)}': {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        notes = self.evidence.get("verdict", {}).get("reasons", ())
        return parameter_table(f"Identified model of {self.nominal.name}", self.parameters, notes)


def parameter_frame(parameters: Sequence[Mapping[str, Any]], **facts: Any) -> Any:
    """A pandas DataFrame of identified values."""
    columns = {
        "name": [p["name"] for p in parameters],
        "value": [p["value"] for p in parameters],
        "deviation": [p["deviation"] for p in parameters],
        "relative_deviation": [_relative(p) for p in parameters],
        "low": [p["interval"][0] for p in parameters],
        "high": [p["interval"][1] for p in parameters],
        "class": [p["class"] for p in parameters],
        "relation": [p["relation"] for p in parameters],
    }
    return frame(columns, "name", **facts)


def parameter_table(title: str, parameters: Sequence[Mapping[str, Any]], notes: Sequence[str] = ()) -> str:
    """An HTML table of identified values."""
    rows = []
    for p in parameters:
        part = 100 * _relative(p)
        relative = "fixed" if p["class"] == "fixed" else f"{part:.3g} %" if part < 100 else "over 100 %"
        interval = f"{p['interval'][0]:.4g} to {p['interval'][1]:.4g}"
        rows.append((p["name"], f"{p['value']:.5g}", f"{p['deviation']:.2g}", relative, interval, p["relation"]))
    headers = ("parameter", "value", "deviation", "relative", "95 % interval", "relation")
    return html_table(title, headers, rows, right=(1, 2, 3, 4), notes=notes)


def _relative(p: Mapping[str, Any]) -> float:
    return float(p["deviation"] / abs(p["value"])) if p["value"] else float("inf")


def term_table(term: Term) -> dict[str, Any]:
    """An effect with its constants, as files state it."""
    table: dict[str, Any] = {"kind": term.symbol, "joints": [term.joint + 1], **term.settings}
    if term.tag:
        table["tag"] = term.tag
    return table | ({"known": True} if term.is_known else {})


def model_text(model: IdentifiedModel) -> str:
    """The TOML text of a model."""
    linear = model.linear
    document = {
        "format": FORMAT,
        "kind": MODEL,
        "physical": model.is_physical,
        "joints": list(linear.row_names),
        "method": linear.base.method,
        "effects": {"own": list(linear.choice.own), "terms": [term_table(t) for t in linear.choice.terms]},
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
        **({"made_of": [dict(file) for file in model.made_of]} if model.made_of else {}),
        **({"exports": dict(model.exports)} if model.exports else {}),
        "frames": _frames(linear.robot),
        "robot": toml_document(toml_text(linear.robot)),
    }
    return tomli_w.dumps(_plain(document))


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


def _plain(value: Any) -> Any:
    """Data that TOML can hold: nothing where a value is missing, numbers as they are."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items() if v is not None}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value if v is not None]
    if isinstance(value, np.generic):
        return value.item()
    return value

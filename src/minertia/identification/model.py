"""`Model`: saved result of a fit of any kind; `IdentifiedModel`: a linear model of efforts with values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import tomli_w
from numpy.typing import NDArray

from minertia.algebra.vec3 import Pose
from minertia.identification.problem.linear import LinearModel
from minertia.identification.problem.prediction import predict
from minertia.identification.problem.rows import MotionLike
from minertia.identification.problem.terms import Term
from minertia.io.documents import toml_document
from minertia.io.errors import InputError
from minertia.io.files import write_file
from minertia.io.notebook import clipped, frame, html_table, plural
from minertia.io.provenance import MadeOf, read_made_of
from minertia.robot.formats.dh.write import toml_text
from minertia.robot.formats.reading import MODEL
from minertia.robot.identified import (
    FORMAT,
    calibration_table,
    export_values,
    exported_robot,
    identified_robot,
)
from minertia.robot.joint import numeric_pose
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
ROUNDING = 1e-6  # of eigenvalues of correlations


class Model(ABC):
    """Fitted values and the evidence for them: the result that every kind of problem saves.

    beta, covariance: values of `names`, and their covariance.  parameters: evidence for each value, as plain
    data. evidence: residuals, verdict and how the model was computed.  campaign: how its logs were read,
    filtered and evaluated.  made_of: names and digests of the files read by the command that wrote the model.
    is_physical: whether masses and inertias are physically consistent.  without_efforts: message of a model
    that does not predict efforts: its content, and what to do instead.  exports: for targets of
    `robot.targets` by name, effects and standard parameters of the best robot that such a file can represent,
    and its residuals.
    """

    without_efforts: ClassVar[str] = ""
    beta: Array
    covariance: Array
    parameters: tuple[Mapping[str, Any], ...]
    evidence: Mapping[str, Any]
    campaign: Mapping[str, Any]
    made_of: tuple[MadeOf, ...]
    is_physical: bool
    not_excited: Mapping[str, str]
    exports: Mapping[str, Mapping[str, Any]] = MappingProxyType({})

    @property
    @abstractmethod
    def nominal(self) -> Robot:
        """Robot as described before identification."""

    @property
    @abstractmethod
    def robot(self) -> Robot:
        """Robot with all identified parameters, for simulation, description files and code."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Names of the fitted values."""

    @abstractmethod
    def tables(self) -> dict[str, Any]:
        """Entries of the model file that are specific to the kind of model."""

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of the efforts that the model predicts."""
        return ()

    @property
    def effect_names(self) -> tuple[str, ...]:
        """Full names of the effects that predictions include."""
        return ()

    def file_values(self) -> dict[str, float]:
        """Values of the unknowns in the robot file; empty if it has none."""
        return {}

    def made_from(self, files: tuple[MadeOf, ...]) -> Self:
        """Copy of the model that lists the files it was made from."""
        return replace(self, made_of=files)  # type: ignore[type-var]

    def with_exports(self, exports: Mapping[str, Mapping[str, Any]]) -> Self:
        """Copy of the model with robots for files of other programs, if there are any."""
        return replace(self, exports=exports) if exports else self  # type: ignore[type-var]

    def to_robot(self, target: str = "") -> Robot:
        """Robot with all identified parameters, same as `robot`; target: file format to be written."""
        return self.robot

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the model atomically as a TOML file; `read_model` and every command read it.

        force: replace a file that minertia did not write, or that was edited since.
        """
        write_file(path, model_text(self), force=force)

    def to_frame(self) -> Any:
        """Return estimates as a pandas DataFrame: value, standard deviations, 95 % interval, class and relation."""
        return parameter_frame(self.parameters, robot=self.nominal.name)

    def _repr_html_(self) -> str:
        notes = self.evidence.get("verdict", {}).get("reasons", ())
        return parameter_table(f"Identified model of {self.nominal.name}", self.parameters, notes)


@dataclass(frozen=True)
class IdentifiedModel(Model):
    """Linear model with parameter values.

    standard: all standard parameters; if is_physical, those of a physically consistent robot, which increases
    the sum of squares by the fraction evidence["standard_excess"].  The other fields are those of `Model`.
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
        """Robot before identification, with its nominal parameters if it had any."""
        return self.linear.robot

    @cached_property
    def robot(self) -> Robot:
        """Robot with all identified parameters, for simulation, description files and code."""
        return identified_robot(
            self.nominal,
            self.standard,
            [term_table(t) for t in self.linear.choice.terms],
            is_physical=self.is_physical,
            excess=float(self.evidence.get("standard_excess", 0.0)),
            loop=self.evidence.get("loop", {}),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the unknowns of the linear model."""
        return self.linear.names

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of the efforts that the model predicts."""
        return self.linear.row_names

    @property
    def effect_names(self) -> tuple[str, ...]:
        """Full names of the effects that predictions include."""
        choice = self.linear.choice
        return (*choice.own, *(t.name for t in choice.terms))

    def file_values(self) -> dict[str, float]:
        """Values of the unknowns in the robot file; empty if it has no masses."""
        return self.linear.file_values()

    def predict(self, motion: MotionLike) -> Array:
        """Predicted efforts (N, joints) of a motion."""
        return predict(self.linear, self.beta, motion)

    def to_robot(self, target: str = "") -> Robot:
        """Identified `robot`; for an export target ("urdf" ...), the best robot that it can represent."""
        export = export_values(self.exports, target)
        return self.robot if export is None else exported_robot(self.nominal, export)

    def tables(self) -> dict[str, Any]:
        """Entries of the model file: efforts, effects, unknowns and standard parameters."""
        linear = self.linear
        return {
            "physical": self.is_physical,
            "joints": list(linear.row_names),
            "method": linear.base.method,
            "effects": {"own": list(linear.choice.own), "terms": [term_table(t) for t in linear.choice.terms]},
            "unknowns": unknowns_table(self),
            "standard": dict(self.standard),
            "not_excited": dict(self.not_excited),
            **({"exports": dict(self.exports)} if self.exports else {}),
        }

    def __repr__(self) -> str:
        parts = [f"{plural(len(self.parameters), 'value')} of {len(self.beta)} unknowns"]
        if "training" in self.evidence:
            word = self.evidence.get("measure", "effort")
            parts.append(f"residual {100 * self.evidence['training']['relative']:.3g} % of the {word}")
        parts.append("a possible robot" if self.is_physical else "no possible robot")
        return f"<IdentifiedModel of '{clipped(self.nominal.name, 40)}': {', '.join(parts)}>"


def with_efforts(model: Model, verb: str = "this") -> IdentifiedModel:
    """Return the model if it predicts efforts; else raise an error that states what to do instead."""
    if isinstance(model, IdentifiedModel):
        return model
    raise InputError(f"{verb} needs a model of efforts, but {model.without_efforts}")


@dataclass(frozen=True)
class ModelWithoutEfforts(Model):
    """Model whose values are not parameters of the robot's efforts, together with the robot of the file.

    described: the robot of the file.  values: names of the entries of `beta` and `covariance`.  found: data for
    predictions by this kind of problem, as plain data, in the table `table` of its file.
    """

    table: ClassVar[str]
    described: Robot
    values: tuple[str, ...]
    beta: Array
    covariance: Array
    parameters: tuple[Mapping[str, Any], ...]
    found: Mapping[str, Any]
    evidence: Mapping[str, Any] = field(default_factory=dict)
    campaign: Mapping[str, Any] = field(default_factory=dict)
    made_of: tuple[MadeOf, ...] = ()
    not_excited: Mapping[str, str] = field(default_factory=dict)
    is_physical: bool = True

    @property
    def nominal(self) -> Robot:
        """Robot as described before identification."""
        return self.described

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the fitted values."""
        return self.values

    def tables(self) -> dict[str, Any]:
        """Entries of the model file: the values, and the table of this kind."""
        return {"unknowns": unknowns_table(self), self.table: dict(self.found)}

    @classmethod
    def read(cls, document: Mapping[str, Any], robot: Robot) -> Self:
        """Create a model from the document of its file."""
        values, covariance = read_unknowns(document["unknowns"])
        return cls(
            robot,
            tuple(document["unknowns"]["names"]),
            values,
            covariance,
            tuple(document["parameters"]),
            document[cls.table],
            document["evidence"],
            document.get("campaign", {}),
            read_made_of(document),
        )


def unknowns_table(model: Model) -> dict[str, Any]:
    """Table of the values with their covariance, as rows of its lower triangle."""
    return {
        "names": list(model.names),
        "values": model.beta.tolist(),
        "covariance": [model.covariance[k, : k + 1].tolist() for k in range(len(model.beta))],
    }


def read_unknowns(table: Mapping[str, Any]) -> tuple[Array, Array]:
    """Values and covariance from a table of unknowns; raises ValueError if they are not valid."""
    p = len(table["names"])
    lower = np.zeros((p, p))
    for k, row in enumerate(table["covariance"]):
        lower[k, : k + 1] = row
    values, covariance = np.array(table["values"], float), lower + np.tril(lower, -1).T
    if values.shape != (p,) or not np.isfinite(values).all():
        raise ValueError(f"the values of the unknowns must be {p} finite numbers")
    if not _is_covariance(covariance):
        raise ValueError(
            "the covariance of the unknowns is not positive definite: standard deviations and correlations "
            "contradict each other"
        )
    return values, covariance


def _is_covariance(C: Array) -> bool:
    """Whether a matrix is finite and positive semidefinite, up to rounding."""
    if not np.isfinite(C).all():
        return False
    deviations = np.sqrt(np.maximum(np.diag(C), 0.0))
    if np.any(C[deviations == 0]):
        return False  # what is known exactly varies with nothing else
    size = np.where(deviations > 0, deviations, 1.0)
    with np.errstate(over="ignore"):
        scaled = C / size[:, None] / size
    return bool(np.isfinite(scaled).all()) and float(np.linalg.eigvalsh(scaled).min(initial=0.0)) > -ROUNDING


def parameter_frame(parameters: Sequence[Mapping[str, Any]], **facts: Any) -> Any:
    """Return a pandas DataFrame of identified parameters."""
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
    """Return an HTML table of identified parameters."""
    rows = []
    for p in parameters:
        part = 100 * _relative(p)
        relative = "fixed" if p["class"] == "fixed" else f"{part:.3g} %" if part < 100 else "over 100 %"
        interval = f"{p['interval'][0]:.4g} to {p['interval'][1]:.4g}"
        rows.append((p["name"], f"{p['value']:.5g}", f"{p['deviation']:.2g}", relative, interval, p["relation"]))
    headers = ("parameter", "value", "deviation", "relative", "95 % interval", "relation")
    return html_table(title, headers, rows, right=(1, 2, 3, 4), notes=notes)


def _relative(p: Mapping[str, Any]) -> float:
    """Relative standard deviation of an entry, by the measure that its kind of problem and the verdict use."""
    if p.get("relative_deviation") is not None:
        return float(p["relative_deviation"])
    return float(p["deviation"] / abs(p["value"])) if p["value"] else float("inf")


def term_table(term: Term) -> dict[str, Any]:
    """Effect with its constants as a table of a model file."""
    table: dict[str, Any] = {"kind": term.symbol, "joints": [term.joint + 1], **term.settings}
    if term.tag:
        table["tag"] = term.tag
    return table | ({"known": True} if term.is_known else {})


def model_text(model: Model) -> str:
    """TOML text of a model."""
    document = {
        "format": FORMAT,
        "kind": MODEL,
        **model.tables(),
        "parameters": [dict(p) for p in model.parameters],
        "evidence": dict(model.evidence),
        "campaign": dict(model.campaign),
        **({"made_of": [dict(file) for file in model.made_of]} if model.made_of else {}),
        "frames": frames_table(model.nominal),
        **calibration_table(model.nominal),
        "robot": toml_document(toml_text(model.nominal)),
    }
    return tomli_w.dumps(_plain(document))


def frames_table(robot: Robot) -> dict[str, Any]:
    """Frames of the robot file in which payloads are given, as TOML robots contain joint frames only."""

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
    """Convert data to types that TOML can represent; missing values are omitted."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items() if v is not None}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value if v is not None]
    if isinstance(value, np.generic):
        return value.item()
    return value

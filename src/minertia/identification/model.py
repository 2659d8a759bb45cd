"""`IdentifiedModel`: a linear model with values, and the evidence for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.identification.campaigns.campaign import Campaign, LogLike
from minertia.identification.campaigns.record import recorded_campaign
from minertia.identification.evidence.parameters import ParameterEvidence
from minertia.identification.logs.columns import ColumnMap
from minertia.identification.problem.linear import LinearModel
from minertia.identification.problem.prediction import predict
from minertia.identification.problem.rows import MotionLike
from minertia.identification.problem.terms import Term
from minertia.notebook import clipped, frame, html_table, plural
from minertia.robot.identified import identified_robot
from minertia.robot.inertia import impossible
from minertia.robot.parameters import LINK_SYMBOLS, full_name
from minertia.robot.robot import Robot

Array = NDArray[np.float64]


@dataclass(frozen=True)
class IdentifiedModel:
    """A linear model with values.

    parameters: evidence of each value, as plain data.  standard: all standard parameters; where is_physical those of a
    robot that can exist, whose sum of squares is higher by the part evidence["standard_excess"].  evidence: residuals,
    verdict and how it was made.  campaign: how its logs were read, filtered and judged.
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

    def to_robot(self) -> Robot:
        """`robot`, asked as a question."""
        return self.robot

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the model as a TOML file, whole or not at all; `read_model` and every command read it.

        force: replace a file that minertia did not write, or that was edited since.
        """
        from minertia.identification.model_file import write_model  # which reads models back

        write_model(self, path, force=force)

    def to_frame(self) -> Any:
        """The values as a pandas DataFrame: deviation, relative, 95 % interval, class and relation of each."""
        return parameter_frame(self.parameters, robot=self.nominal.name)

    def __repr__(self) -> str:
        parts = [f"{plural(len(self.parameters), 'value')} of {len(self.beta)} unknowns"]
        if "training" in self.evidence:
            parts.append(f"residual {100 * self.evidence['training']['relative']:.3g} % of the effort")
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


def parameter_entry(linear: LinearModel, p: ParameterEvidence) -> dict[str, Any]:
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


def is_possible(robot: Robot, values: Mapping[str, float]) -> bool:
    """Whether links with these standard parameters can exist."""
    links = [[values.get(full_name(s, j + 1), 0.0) for s in LINK_SYMBOLS] for j in range(robot.n_joints)]
    return all(ten[9] > 0 and impossible(ten) is None for ten in links)


def relation_of(model: LinearModel, name: str) -> str:
    """An unknown as a sum of standard parameters: in letters where no effect or joint was left out of it.

    What is no unknown of the linear model, such as a gain of a servo, is told by its own name.
    """
    if name not in model.names:
        return name
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


def campaign_like(
    model: IdentifiedModel,
    logs: LogLike | Sequence[LogLike],
    columns: ColumnMap | str | Path | None = None,
    *,
    drop_torn: bool = False,
) -> Campaign:
    """A campaign that reads other logs as a model's own were read, to be predicted; drop_torn: without torn rows."""
    campaign = recorded_campaign(model.nominal, model.campaign)
    joints = tuple(name for name in model.linear.row_names if name in model.nominal.coordinate_names)
    changes = {} if columns is None else {"columns": columns}
    made = replace(campaign, joints=joints, validate=logs, **changes)  # type: ignore[arg-type]
    return made.without_torn_rows() if drop_torn else made


def fitted_before(model: IdentifiedModel, log: str) -> tuple[str, ...]:
    """A remark where the model was fitted to a log of this name, or to a part of it."""
    fitted = {Path(str(r["log"]).partition(" [")[0]).name for r in model.evidence.get("recordings", ())}
    if Path(log.partition(" [")[0]).name not in fitted:
        return ()
    return ("a log of this name was fitted, at least in part: its residual says little about other motion",)

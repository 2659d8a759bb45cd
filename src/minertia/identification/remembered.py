"""Identification data in a model's file: each parameter with its relation, and the settings for reading logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from minertia.identification.campaigns.campaign import PART, Campaign, LogLike
from minertia.identification.campaigns.read import recorded_campaign
from minertia.identification.evidence.parameters import ParameterEvidence
from minertia.identification.logs.options import ColumnMap, Drive
from minertia.identification.model import Model
from minertia.identification.problem.linear import LinearModel
from minertia.identification.servo_runs import indexed_logs
from minertia.robot.inertia import impossible
from minertia.robot.parameters import LINK_SYMBOLS, full_name
from minertia.robot.robot import Robot


def parameter_entry(linear: LinearModel, p: ParameterEvidence) -> dict[str, Any]:
    """Entry of a parameter in the model's file."""
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
    """Whether links with these standard parameters are physically consistent."""
    links = [[values.get(full_name(s, j + 1), 0.0) for s in LINK_SYMBOLS] for j in range(robot.n_joints)]
    return all(ten[9] > 0 and impossible(ten) is None for ten in links)


def relation_of(model: LinearModel, name: str) -> str:
    """Unknown as a linear combination of standard parameters; symbolic where no effect or joint was excluded.

    A parameter that is not an unknown of the linear model, such as a servo gain, is given by its own name.
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
    model: Model,
    logs: LogLike | Sequence[LogLike],
    columns: ColumnMap | str | Path | None = None,
    *,
    drop_torn: bool = False,
) -> Campaign:
    """Campaign that reads other logs with the settings of a model, to predict them.

    A folder of runs with an index.csv is read with the loads and gains that this states.  columns: if they state no
    delay of the efforts, that of the model holds, which may have been chosen from its logs.  drop_torn: drop
    malformed rows.
    """
    campaign = recorded_campaign(model.nominal, model.campaign)
    joints = tuple(name for name in model.row_names if name in model.nominal.coordinate_names)
    changes = {} if columns is None else {"columns": columns}
    made = replace(campaign, joints=joints, validate=indexed_logs(logs), **changes)  # type: ignore[arg-type]
    if made.map.drive.delay is None:
        made = made.reading(ColumnMap(drive=Drive(delay=campaign.map.drive.delay)))
    return made.reading(ColumnMap(drop_torn=drop_torn))


def fitted_before(model: Model, log: str) -> tuple[str, ...]:
    """Warning if the model was fitted to a log of this name, or to part of it; else empty."""
    file, window = _window(log)
    fitted = [_window(str(r["log"])) for r in model.evidence.get("recordings", ())]
    own = [(start, stop) for name, (start, stop) in fitted if name == file]
    if not own:
        return ()
    if all(stop <= window[0] or start >= window[1] for start, stop in own):
        return ("another part of this log was fitted: its residual says less than that of another motion",)
    return ("a log of this name was fitted, at least in part: its residual says little about other motion",)


def _window(log: str) -> tuple[str, tuple[float, float]]:
    """File name and time window [s] of a log's name, such as "run.csv [2:10]"."""
    found = PART.fullmatch(log)
    try:
        name, start, stop = (own.strip() for own in found.groups()) if found else (log, "", "")
        return Path(name).name, (float(start or "-inf"), float(stop or "inf"))
    except ValueError:  # not a window: a file may have any name
        return Path(log).name, (-float("inf"), float("inf"))

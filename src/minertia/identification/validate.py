"""`validate`: an identified model on other logs, nothing fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from minertia.errors import RecordingError
from minertia.identification.campaigns.campaign import Campaign, LogLike
from minertia.identification.campaigns.prepare import PreparedLog, Tell, prepare_campaign, silent
from minertia.identification.campaigns.record import recorded_campaign
from minertia.identification.closed_loop.judge import position_residuals
from minertia.identification.closed_loop.logs import LoopLog, loop_log
from minertia.identification.closed_loop.model import ServoModel
from minertia.identification.commanded import LOOP, recorded_loop
from minertia.identification.evidence.extrapolation import Reach, remarks
from minertia.identification.evidence.residuals import Residuals
from minertia.identification.judge import residuals_on
from minertia.identification.logs.options import ColumnMap
from minertia.identification.model import IdentifiedModel
from minertia.identification.model_file import read_model
from minertia.identification.problem.rows import blocks_of

VALIDATED_STEP = 2.5e-4  # s, with which commands are simulated


@dataclass(frozen=True)
class SimulatedLog:
    """A log of commands, the position loops that simulate it with their values, and what is left of its positions."""

    log: LoopLog
    model: ServoModel
    theta: NDArray[np.float64]
    residuals: Residuals


def validate(
    model: IdentifiedModel | str | Path,
    logs: LogLike | Sequence[LogLike],
    *,
    columns: ColumnMap | str | Path | None = None,
    drop_torn: bool = False,
    tell: Tell = silent,
) -> tuple[Residuals, ...]:
    """Residuals of a model, or of its file, on logs that are read, filtered and judged as its campaign's were."""
    known = model if isinstance(model, IdentifiedModel) else read_model(model)
    if LOOP in known.evidence:
        found = simulate_logs(known, logs, columns=columns, drop_torn=drop_torn, tell=tell)
        return tuple(one.residuals for one in found)
    ready = prepare_logs(known, logs, columns=columns, drop_torn=drop_torn, tell=tell)
    tell("predicting")
    return validate_prepared(known, ready)


def validate_prepared(model: IdentifiedModel, logs: Sequence[PreparedLog]) -> tuple[Residuals, ...]:
    """Residuals of a model on logs that `prepare_logs` has read, with remarks on how far they leave its own."""
    return tuple(_validated(model, log) for log in logs)


def simulate_logs(
    model: IdentifiedModel,
    logs: LogLike | Sequence[LogLike],
    *,
    columns: ColumnMap | str | Path | None = None,
    drop_torn: bool = False,
    tell: Tell = silent,
) -> tuple[SimulatedLog, ...]:
    """Logs of commands simulated by a model that was fitted to commands."""
    campaign = campaign_like(model, logs, columns)
    campaign = campaign.without_torn_rows() if drop_torn else campaign
    found = []
    for log in campaign.validate:
        if log.load is not None:
            raise RecordingError("a model of commands is validated on logs without a load", file=log.name)
        tell(f"simulating {log.name}")
        one = loop_log(campaign, log)
        made, theta = recorded_loop(campaign, model, one.period)
        residuals = position_residuals(made, theta, one, VALIDATED_STEP)
        found.append(SimulatedLog(one, made, theta, replace(residuals, remarks=_fitted_before(model, log.name))))
    return tuple(found)


def prepare_logs(
    model: IdentifiedModel,
    logs: LogLike | Sequence[LogLike],
    *,
    columns: ColumnMap | str | Path | None = None,
    drop_torn: bool = False,
    tell: Tell = silent,
) -> tuple[PreparedLog, ...]:
    """Logs read, repaired and filtered as the campaign of a model says; drop_torn: without torn rows."""
    campaign = campaign_like(model, logs, columns)
    return prepare_campaign(campaign.without_torn_rows() if drop_torn else campaign, tell).validate


def campaign_like(
    model: IdentifiedModel, logs: LogLike | Sequence[LogLike], columns: ColumnMap | str | Path | None = None
) -> Campaign:
    """A campaign that reads other logs as a model's own were read, to be predicted."""
    campaign = recorded_campaign(model.nominal, model.campaign)
    joints = tuple(name for name in model.linear.row_names if name in model.nominal.coordinate_names)
    changes = {} if columns is None else {"columns": columns}
    return replace(campaign, joints=joints, validate=logs, **changes)  # type: ignore[arg-type]


def _validated(model: IdentifiedModel, log: PreparedLog) -> Residuals:
    residuals = residuals_on(model.linear, model.beta, log)[0]
    told = _fitted_before(model, log.name)
    if "reach" in model.evidence:
        reach, training = Reach.from_dict(model.evidence["reach"]), float(model.evidence["training"]["relative"])
        blocks = list(blocks_of(log.motion) if log.judged is None else log.judged.parts())
        told += remarks(model.linear, model.beta, model.covariance, reach, training, blocks, seen=residuals.relative)
    return replace(residuals, remarks=told)


def _fitted_before(model: IdentifiedModel, log: str) -> tuple[str, ...]:
    """A remark where the model was fitted to a log of this name, or to a part of it."""
    fitted = {Path(str(r["log"]).partition(" [")[0]).name for r in model.evidence.get("recordings", ())}
    if Path(log.partition(" [")[0]).name not in fitted:
        return ()
    return ("a log of this name was fitted, at least in part: its residual says little about other motion",)

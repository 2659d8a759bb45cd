"""`validate`: evaluation of an identified model on other logs, without fitting."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from minertia.identification.campaigns.campaign import LogLike
from minertia.identification.campaigns.prepare import Tell, silent
from minertia.identification.evidence.residuals import Residuals
from minertia.identification.kind import LogReading, PredictedLog
from minertia.identification.kinds import kind_of_model
from minertia.identification.logs.options import ColumnMap
from minertia.identification.model import Model
from minertia.identification.model_file import read_model


def validate(
    model: Model | str | Path,
    logs: LogLike | Sequence[LogLike],
    *,
    columns: ColumnMap | str | Path | None = None,
    drop_torn: bool = False,
    tell: Tell = silent,
) -> tuple[Residuals, ...]:
    """Residuals of a model, or model file, on logs that are processed with the settings of its campaign."""
    known = model if isinstance(model, Model) else read_model(model)
    found = predict_logs(known, logs, columns=columns, drop_torn=drop_torn, tell=tell)
    return tuple(log.residuals for log in found)


def predict_logs(
    model: Model,
    logs: LogLike | Sequence[LogLike],
    *,
    columns: ColumnMap | str | Path | None = None,
    drop_torn: bool = False,
    tell: Tell = silent,
) -> tuple[PredictedLog, ...]:
    """Predict logs with a model: residuals, and curves on demand."""
    return kind_of_model(model).predict_logs(model, logs, LogReading(columns, drop_torn, tell))

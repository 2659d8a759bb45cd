"""Prediction of effort logs by a saved model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from minertia.identification.campaigns.campaign import LogLike
from minertia.identification.campaigns.prepare import prepare_campaign
from minertia.identification.campaigns.prepared import EffortLog
from minertia.identification.efforts.judge import residuals_on
from minertia.identification.efforts.prediction import PredictedEfforts
from minertia.identification.efforts.shown import predictions_of_values
from minertia.identification.evidence.extrapolation import Reach, remarks
from minertia.identification.evidence.residuals import Residuals
from minertia.identification.kind import DrawnOutputs, LogReading
from minertia.identification.model import IdentifiedModel
from minertia.identification.remembered import campaign_like, fitted_before
from minertia.io.arrays import Array


def predicted_efforts(
    model: IdentifiedModel, logs: LogLike | Sequence[LogLike], reading: LogReading
) -> tuple[PredictedEfforts, ...]:
    """Read, repair, filter and evaluate logs with the settings of a model's campaign, without fitting."""
    ready = prepare_campaign(campaign_like(model, logs, reading.columns, drop_torn=reading.drop_torn), reading.tell)
    reading.tell("predicting")
    return tuple(PredictedEfforts(log, model.linear, model.beta, _validated(model, log)) for log in ready.validate)


def drawn_efforts(
    model: IdentifiedModel, values: Array, logs: LogLike | Sequence[LogLike], reading: LogReading
) -> Iterator[DrawnOutputs]:
    """Predict the efforts of logs for each row of `values`; the first row has the most probable unknowns.

    Of a log that is read in blocks, only the first block is predicted.
    """
    ready = prepare_campaign(campaign_like(model, logs, reading.columns, drop_torn=reading.drop_torn), reading.tell)
    for log in ready.validate:
        reading.tell(f"predicting {log.name}")
        block = next(iter(log.judged))
        measured, predicted = predictions_of_values(model.linear, log, block, values)
        t = block.t if block.instants is None else block.instants
        size = float(np.linalg.norm(measured))
        relative = float(np.linalg.norm(measured - predicted[0])) / size if size else float("inf")
        told = _remarks(model, log, relative)
        yield DrawnOutputs(log.name, model.linear.row_names, t, measured, predicted[0], predicted[1:], told)


def _validated(model: IdentifiedModel, log: EffortLog) -> Residuals:
    residuals = residuals_on(model.linear, model.beta, log)[0]
    return replace(residuals, remarks=_remarks(model, log, residuals.relative))


def _remarks(model: IdentifiedModel, log: EffortLog, relative: float) -> tuple[str, ...]:
    """Warnings on a log: errors of its audit, such as positions in degrees, and motion beyond that of the fit.

    relative: residual of the model on the log, over the effort.
    """
    told = tuple(f"{f.channel}: {f.text}" if f.channel else f.text for f in log.findings if f.level == "error")
    told += fitted_before(model, log.name)
    if "reach" in model.evidence:
        reach, training = Reach.from_dict(model.evidence["reach"]), float(model.evidence["training"]["relative"])
        told += remarks(model.linear, model.beta, model.covariance, reach, training, log.judged, seen=relative)
    return told

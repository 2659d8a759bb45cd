"""Prediction of effort logs by a saved model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from minertia.identification.campaigns.campaign import LogLike
from minertia.identification.campaigns.prepare import prepare_campaign
from minertia.identification.campaigns.prepared import EffortLog
from minertia.identification.efforts.judge import residuals_on
from minertia.identification.efforts.prediction import PredictedEfforts
from minertia.identification.evidence.extrapolation import Reach, remarks
from minertia.identification.evidence.residuals import Residuals
from minertia.identification.kind import LogReading
from minertia.identification.model import IdentifiedModel
from minertia.identification.remembered import campaign_like, fitted_before


def predicted_efforts(
    model: IdentifiedModel, logs: LogLike | Sequence[LogLike], reading: LogReading
) -> tuple[PredictedEfforts, ...]:
    """Read, repair, filter and evaluate logs with the settings of a model's campaign, without fitting."""
    ready = prepare_campaign(campaign_like(model, logs, reading.columns, drop_torn=reading.drop_torn), reading.tell)
    reading.tell("predicting")
    return tuple(PredictedEfforts(log, model.linear, model.beta, _validated(model, log)) for log in ready.validate)


def _validated(model: IdentifiedModel, log: EffortLog) -> Residuals:
    residuals = residuals_on(model.linear, model.beta, log)[0]
    told = fitted_before(model, log.name)
    if "reach" in model.evidence:
        reach, training = Reach.from_dict(model.evidence["reach"]), float(model.evidence["training"]["relative"])
        told += remarks(
            model.linear, model.beta, model.covariance, reach, training, log.judged, seen=residuals.relative
        )
    return replace(residuals, remarks=told)

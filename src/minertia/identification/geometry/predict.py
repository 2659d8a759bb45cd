"""Prediction of readings by a calibrated model: residuals, and curves over the postures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from minertia.identification.audits.findings import Finding
from minertia.identification.campaigns.campaign import Campaign, Log, LogLike
from minertia.identification.campaigns.prepared import PreparedLog
from minertia.identification.evidence.residuals import Residuals
from minertia.identification.geometry.chain import Array, Chain
from minertia.identification.geometry.errors import (
    error_arrows,
    judged_measures,
    misses_of,
    output_names,
    reading_residuals,
)
from minertia.identification.geometry.measures import SHOWN
from minertia.identification.geometry.model import CalibratedModel, recorded_states
from minertia.identification.geometry.readings import Measurements, read_measurements
from minertia.identification.kind import Curves, ErrorArrows, LogReading, PredictedLog
from minertia.identification.remembered import campaign_like, fitted_before
from minertia.io.errors import InputError


@dataclass(frozen=True)
class MeasuredLog(PreparedLog):
    """Readings of one or more files as a log without motion; its findings are messages on excluded readings."""

    measurements: Measurements


def read_logs(
    campaign: Campaign, logs: Sequence[Log], chain: Chain, fixed: Mapping[str, Sequence[str]] | None = None
) -> MeasuredLog:
    """Read the measurements of several files; fixed: names of fixed points, planes and marks that were fitted."""
    for log in logs:
        if log.file is None:
            raise InputError(
                f"{log.name} is not a file: a calibration reads files of measurements, one row per posture"
            )
        if log.start is not None or log.stop is not None or log.load is not None:
            raise InputError(f"{log.name}: a file of measurements is used whole; remove the time range or the payload")
    files = [log.file for log in logs if log.file]
    found = read_measurements(files, chain, campaign.map, campaign.measures, fixed)
    findings = tuple(Finding("warning", "missing readings", note) for note in found.notes)
    return MeasuredLog(", ".join(log.name for log in logs), None, found, findings=findings)


@dataclass(frozen=True)
class PredictedReadings(PredictedLog):
    """Readings with their errors (N, outputs) under a calibrated model.

    left: errors after correction.  uncorrected: errors with base and tool alone.  drawn: the errors as arrows.
    """

    log: MeasuredLog
    residuals: Residuals
    left: Array
    uncorrected: Array
    drawn: ErrorArrows | None = None

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the error components of each target."""
        return output_names(self.log.measurements.postures.measures)

    def arrows(self) -> ErrorArrows | None:
        """Errors of positions, without and with corrections."""
        return self.drawn

    def curves(self) -> Curves:
        """Curves over the postures: errors with base and tool alone, and the part that corrections predict."""
        measures = judged_measures(self.log.measurements.postures.measures)
        name, factor = SHOWN[measures[0].unit]
        predicted = self.uncorrected - self.left
        t = np.arange(1.0, len(self.left) + 1)
        return Curves(t, factor * self.uncorrected, factor * predicted, (name,) * len(self.outputs), over="posture")


def predict_readings(
    model: CalibratedModel, logs: LogLike | Sequence[LogLike], reading: LogReading
) -> tuple[PredictedReadings, ...]:
    """Predict the readings of other files with a model, read with the settings of its campaign."""
    campaign, chain, found = campaign_like(model, logs, reading.columns), model.chain(), []
    for log in campaign.validate:
        reading.tell(f"reading {log.name}")
        own = read_logs(campaign, [log], chain, model.geometry["fixed"])
        layout, fitted, uncorrected = recorded_states(model, own.measurements)
        left, nominal = misses_of(layout, fitted), misses_of(layout, uncorrected)
        residuals = reading_residuals(own.name, own.measurements.postures.measures, left, nominal)
        told = replace(residuals, remarks=fitted_before(model, log.name))
        found.append(PredictedReadings(own, told, left, nominal, error_arrows(layout, fitted, nominal, left)))
    return tuple(found)

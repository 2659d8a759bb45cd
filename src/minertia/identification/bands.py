"""Prediction bands from posterior samples of a model, and their coverage of the measured outputs.

The band "values" contains the noise-free output of the model: its width is due to the uncertainty of the
parameters.  The band "prediction" contains the measured output: it adds the residuals of the fit, scaled
by the conformal factor that covered held-out logs (Vovk, Gammerman, Shafer 2005).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minertia.identification.campaigns.campaign import LogLike
from minertia.identification.campaigns.prepare import Tell, silent
from minertia.identification.kind import DrawnOutputs, LogReading
from minertia.identification.kinds import kind_of_model
from minertia.identification.logs.options import ColumnMap
from minertia.identification.posterior.options import FEWEST_FOR_BANDS
from minertia.identification.posterior.shown import ResidualNoise
from minertia.identification.samples import Samples
from minertia.identification.sampling import predicted_values
from minertia.io.arrays import Array
from minertia.io.errors import InputError

BANDS = ("values", "prediction")
LEVEL = 0.95


@dataclass(frozen=True)
class Band:
    """Lower and upper end (N, outputs) of a band over the rows of a log."""

    lower: Array
    upper: Array


@dataclass(frozen=True)
class LogBands:
    """Both bands of a log: times t [s], measured outputs (N, outputs), and the bands by name.

    draws: number of posterior samples that were simulated; fell_over: number of these simulations that
    diverged.  remarks: warnings on the log, such as positions in degrees or beyond those of the fit.
    """

    log: str
    outputs: tuple[str, ...]
    t: Array
    measured: Array
    bands: dict[str, Band]
    draws: int
    fell_over: int
    remarks: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return coverage and width as plain data."""
        found = {"log": self.log, "draws": self.draws, "fell_over": self.fell_over, "bands": summary([self])}
        return found | ({"remarks": list(self.remarks)} if self.remarks else {})


def summary(logs: Sequence[LogBands]) -> dict[str, Any]:
    """Coverage and mean width of each band over all logs, in total and of each output."""
    found: dict[str, Any] = {}
    for name in BANDS:
        own = [(log.measured, log.bands[name]) for log in logs if name in log.bands]
        if not own:
            continue
        inside = np.concatenate([(m >= band.lower) & (m <= band.upper) for m, band in own])
        width = np.concatenate([band.upper - band.lower for _, band in own])
        found[name] = {
            "covered": float(inside.mean()),
            "width": float(width.mean()),
            "per_joint": [
                {"joint": joint, "covered": float(inside[:, k].mean()), "width": float(width[:, k].mean())}
                for k, joint in enumerate(logs[0].outputs)
            ],
        }
    return found


def predict_bands(
    samples: Samples,
    logs: LogLike | Sequence[LogLike],
    *,
    level: float = LEVEL,
    columns: ColumnMap | str | Path | None = None,
    drop_torn: bool = False,
    tell: Tell = silent,
) -> tuple[LogBands, ...]:
    """Prediction bands for logs, read with the settings of the model's campaign; level: nominal coverage."""
    if not 0 < level < 1:
        raise InputError(f"the level of a band must be above 0 and below 1, not {level:g}")
    if len(samples) < FEWEST_FOR_BANDS:
        raise InputError(f"a band needs at least {FEWEST_FOR_BANDS} samples, not {len(samples)}; draw more with --n")
    kind = kind_of_model(samples.model)
    chosen = np.unique(np.linspace(0, len(samples) - 1, kind.band_draws).round().astype(int))
    values = np.concatenate([predicted_values(samples)[None], samples.unknown_values(chosen)])
    reading = LogReading(columns, drop_torn, tell)
    return tuple(_bands(samples, own, level) for own in kind.predict_draws(samples.model, values, logs, reading))


def _bands(samples: Samples, drawn: DrawnOutputs, level: float) -> LogBands:
    """Both bands of one log; the prediction band is omitted if the model does not contain its residuals."""
    finite = np.array([bool(np.isfinite(own).all()) for own in drawn.predicted])
    own = drawn.predicted[finite]
    if len(own) < FEWEST_FOR_BANDS // 2:
        raise InputError(
            f"{drawn.log}: {len(finite) - len(own)} of {len(finite)} simulations diverge, so no band can be computed"
        )
    ends = np.quantile(own, [(1 - level) / 2, (1 + level) / 2], axis=0)
    bands = {"values": Band(ends[0], ends[1])}
    if samples.noise is not None:
        deviation = np.sqrt(own.var(axis=0) + samples.noise.deviation**2)
        half = deviation * half_widths_of_rows(samples.noise, drawn, level)
        bands["prediction"] = Band(drawn.best - half, drawn.best + half)
    fell = int(np.sum(~finite))
    return LogBands(drawn.log, drawn.outputs, drawn.t, drawn.measured, bands, len(finite), fell, drawn.remarks)


def half_widths_of_rows(noise: ResidualNoise, drawn: DrawnOutputs, level: float) -> Array:
    """Half-widths of the prediction band over the deviation, (N, outputs) where the robot touches the ground or not."""
    own = noise.half_widths(level)
    if drawn.touching is None:
        return own
    return np.asarray(np.where(drawn.touching[:, None], noise.half_widths(level, touching=True), own))

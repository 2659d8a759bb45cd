"""Prediction bands from posterior samples of a model, and their coverage of the measured outputs.

The band "values" contains the noise-free output of the model: its width is due to the uncertainty of the
parameters.  The band "prediction" contains the measured output: it adds the residuals of the fit, scaled
by the conformal factor that covered held-out logs (Vovk, Gammerman, Shafer 2005).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from minertia.identification.sampling import with_kept_links
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
    reading, count = LogReading(columns, drop_torn, tell), min(len(samples), kind.band_draws)
    kept = with_kept_links(samples, count)
    every = (_predicted(own, count, logs, reading) for own in ((samples,) if kept is samples else (samples, kept)))
    return tuple(_bands(samples.noise, own[0], own[-1], level) for own in zip(*every, strict=True))


def _predicted(
    samples: Samples, count: int, logs: LogLike | Sequence[LogLike], reading: LogReading
) -> Iterator[DrawnOutputs]:
    """Outputs in logs of the most probable robot and of some samples."""
    chosen = np.unique(np.linspace(0, len(samples) - 1, count).round().astype(int))
    values = np.concatenate([(samples.best @ samples.unknowns.T)[None], samples.unknown_values(chosen)])
    return kind_of_model(samples.model).predict_draws(samples.model, values, logs, reading)


def _bands(noise: ResidualNoise | None, drawn: DrawnOutputs, kept: DrawnOutputs, level: float) -> LogBands:
    """Both bands of one log; the prediction band is omitted if the model does not contain its residuals.

    kept: outputs of robots with the links of the file, about which predictions lie where the fit kept these links.
    """
    own, of_kept = _finite(drawn), _finite(kept)
    ends = np.quantile(own, [(1 - level) / 2, (1 + level) / 2], axis=0)
    bands = {"values": Band(ends[0], ends[1])}
    if noise is not None:
        deviation = np.sqrt(of_kept.var(axis=0) + noise.deviation**2)
        half = deviation * half_widths_of_rows(noise, kept, level)
        bands["prediction"] = Band(kept.best - half, kept.best + half)
    count = len(drawn.predicted)
    fell = count - len(own)
    return LogBands(drawn.log, drawn.outputs, drawn.t, drawn.measured, bands, count, fell, drawn.remarks)


def _finite(drawn: DrawnOutputs) -> Array:
    """Outputs of the draws whose simulation does not diverge."""
    own = np.array([own for own in drawn.predicted if np.isfinite(own).all()])
    if len(own) < FEWEST_FOR_BANDS // 2:
        count = len(drawn.predicted)
        raise InputError(f"{drawn.log}: {count - len(own)} of {count} simulations diverge, so no band can be computed")
    return own


def half_widths_of_rows(noise: ResidualNoise, drawn: DrawnOutputs, level: float) -> Array:
    """Half-widths of the prediction band over the deviation, (N, outputs) where the robot touches the ground or not."""
    own = noise.half_widths(level)
    if drawn.touching is None:
        return own
    return np.asarray(np.where(drawn.touching[:, None], noise.half_widths(level, touching=True), own))

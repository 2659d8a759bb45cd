"""A log as it was predicted, as plain data: curves over time, and the patterns in what is left over."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.signal import welch

from minertia.identification.evidence.measure import Measure
from minertia.identification.evidence.residuals import Residuals
from minertia.identification.kind import Curves, PredictedLog
from minertia.io.arrays import Array
from minertia.report.numbers import POINTS, finite, rounded, thinned

SAMPLES = 400  # points of a log in which residuals are drawn against speed and position
SEGMENT, FEWEST = 256, 64  # samples of a part whose spectrum is taken, and of a log that has one


def judged_view(
    log: PredictedLog, measure: Measure, title: str, *, is_fitted: bool, points: int = POINTS
) -> dict[str, Any]:
    """Measured, predicted and nominal outputs of a log, joint by joint; points: of one curve.

    Of a log read in blocks, the first.  Lists are by joint; null stands for what is no number.
    """
    curves, before = log.curves(), log.nominal()
    view: dict[str, Any] = {
        "log": title,
        "is_fitted": is_fitted,
        "residual": residual_data(log.residuals),
        "nominal_residual": None if before is None else residual_data(before),
        "units": [],
        "t": [],
        "curves": {},
        "samples": None,
        "spectrum": None,
    }
    if curves is None:  # the motion runs away
        return view
    lines = {"measured": curves.measured, "predicted": curves.predicted}
    lines |= {} if curves.nominal is None else {"nominal": curves.nominal}
    keep = thinned(curves.t, curves.measured, points)
    return view | {
        "units": list(curves.units),
        "t": rounded(curves.t[keep], 5),
        "curves": {name: by_joint(values[keep]) for name, values in lines.items()},
        "samples": _samples(curves),
        "spectrum": _spectrum(curves, measure),
    }


def residual_data(found: Residuals) -> dict[str, Any]:
    """Residuals without the name of their log; null where there was no effort."""
    return {**found.to_dict(with_log=False), "relative": finite(found.relative)}


def by_joint(values: Array) -> list[list[float | None]]:
    """The columns of an array (N, joints), five figures each."""
    return [rounded(values[:, j], figures=5) for j in range(values.shape[1])]


def _samples(curves: Curves) -> dict[str, Any] | None:
    """Instants spread evenly: positions, velocities, residuals, and friction as measured and as modelled.

    Friction as measured is what the rest of the model leaves of the effort.  Null where there is none in the model.
    """
    if curves.patterns is None:
        return None
    at = np.unique(np.linspace(0, len(curves.t) - 1, SAMPLES).astype(int))
    q, qd = (_moved(values[at]) for values in curves.patterns)
    friction, model = (None, None) if curves.friction is None else (by_joint(f[at]) for f in curves.friction)
    rest = by_joint((curves.measured - curves.predicted)[at])
    return {"q": q, "qd": qd, "residual": rest, "friction": friction, "model": model}


def _moved(values: Array) -> list[list[float | None] | None]:
    """The columns of an array; null for efforts that are no joint's."""
    return [None if np.isnan(column).any() else rounded(column, 4) for column in values.T]


def _spectrum(curves: Curves, measure: Measure) -> dict[str, Any] | None:
    """Amplitude densities [unit/sqrt(Hz)] of output and residual by Welch's method; None for a log that is short."""
    times = curves.t
    if len(times) < FEWEST:
        return None
    rate = (len(times) - 1) / float(times[-1] - times[0])
    length = min(SEGMENT, len(times) // 2)
    found = {}
    for name, values in (("effort", curves.measured), ("residual", curves.measured - curves.predicted)):
        hz, power = welch(values, rate, nperseg=length, axis=0, detrend="constant")
        found[name] = by_joint(np.sqrt(power[1:]))
    return {"hz": rounded(hz[1:], 4), "word": measure.word, **found}

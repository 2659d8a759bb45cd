"""How residuals are judged: one fixed filter on predicted and measured effort, whatever filter a fit used."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from minertia.identification.signals.filtering import low_pass
from minertia.identification.signals.options import Evaluation
from minertia.io.errors import FilterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

ORDER = 4


def evaluated_at(times: Array, t: Array, effort: Array, evaluation: Evaluation) -> Array:
    """Evenly sampled efforts (N, n) through the evaluation filter at some instants."""
    if len(t) < 3:
        raise FilterError(f"{len(t)} samples are too few to judge")
    rate = (len(t) - 1) / float(t[-1] - t[0])
    smooth = low_pass(effort, evaluation.cutoff_hz, rate, ORDER)
    return np.column_stack([np.interp(times, t, column) for column in smooth.T])


def evaluation_times(t: Array, evaluation: Evaluation, span: tuple[float, float] | None = None) -> Array:
    """The instants at which efforts are compared."""
    first, last = (float(t[0]), float(t[-1])) if span is None else span
    start, stop = first + evaluation.trim_s, last - evaluation.trim_s
    count = int(np.floor((stop - start) * evaluation.rate_hz + 1e-6)) + 1
    times = start + np.arange(max(count, 0)) / evaluation.rate_hz
    times = times[(times >= t[0] - 1e-9) & (times <= t[-1] + 1e-9)]
    if len(times) < 2:
        raise FilterError(
            f"the log of {last - first:.3g} s is too short to judge without {evaluation.trim_s:g} s at each end"
        )
    return np.asarray(times)

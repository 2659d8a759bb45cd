"""`Filter` and `Evaluation`: filter settings for the linear problem, and for the evaluation of residuals."""

from __future__ import annotations

import math
from dataclasses import dataclass

from minertia.io.errors import FilterError
from minertia.io.schema import Declared, check, option

HERTZ = 1e-3, 1e7  # frequencies that a filter of a log can have
TIMES = 0.0, math.inf
DERIVATIVES = ("central", "central5", "parabola", "savgol", "logged")


@dataclass(frozen=True, slots=True, repr=False)
class Filter(Declared):
    """Filter settings from a recording to the linear problem."""

    cutoff_hz: float | None = option(
        None,
        "Cut-off of the zero-phase Butterworth low-pass on positions and logged velocities. The default has the "
        "smallest residual in short weighted fits, evaluated as in `[evaluation]`; the search starts at "
        "ten times the frequency below which 99 % of the velocity's power lies, unless noise would make up 1 % "
        "of the accelerations' power; never below ten cycles in the shortest log. The default is recommended.",
        unit="Hz",
        range=HERTZ,
        command="cutoff",
        otherwise="chosen by the smallest residual",
        label="cut-off",
    )
    order: int = option(
        4,
        "Order of the Butterworth filter, which runs forwards and backwards.",
        range=(1, 12),
        label="order of the filter",
    )
    derivative: str = option(
        "central",
        "Differentiation. `central`: differences over 3 points, twice; `central5`: over 5 points, for low rates and "
        "always beside force/torque sensors; "
        "`parabola`: least-squares parabola on five points (Khosla); `savgol`: Savitzky-Golay with `window` and "
        "`degree`; `logged`: the log's velocities, differentiated once.",
        choices=DERIVATIVES,
    )
    window: int = option(
        9, "Number of points of the Savitzky-Golay window; odd.", range=(3, 100_001), label="points of the window"
    )
    degree: int = option(
        3,
        "Degree of the Savitzky-Golay polynomial; below the number of points.",
        range=(1, 100),
        label="degree of the polynomial",
    )
    rate_hz: float | None = option(
        None,
        "Rate after decimation.",
        unit="Hz",
        range=HERTZ,
        command="fit-rate",
        otherwise="five times the cut-off, or 2.5 times `parallel_hz` if the cut-off is chosen",
        label="rate after decimation",
    )
    parallel_hz: float | None = option(
        None,
        "Cut-off of the parallel filter, which regressor and efforts both pass before decimation.",
        unit="Hz",
        range=HERTZ,
        otherwise="0.4 `rate_hz`, or that of `[evaluation]` if the cut-off is chosen",
        label="parallel filter",
    )
    on: str = option(
        "equation",
        "Signals that are decimated. `equation`: regressor and efforts; `signals`: positions and efforts, with "
        "the same low-pass, before the regressor is built (cheaper, for very long logs; Coulomb friction is "
        "underestimated at low cut-offs, because efforts pass the low-pass and signs of velocities do not).",
        choices=("equation", "signals"),
        label="decimated",
    )
    trim_s: float | None = option(
        None,
        "Time discarded at each end.",
        unit="s",
        range=TIMES,
        otherwise="1.5 periods of the cut-off",
        label="left out at both ends",
    )
    equations: str = option(
        "torque",
        "Rows of the linear problem: torque equations, or momentum or power equations, which need no accelerations.",
        choices=("torque", "momentum", "power"),
        command="equations",
    )

    band_hz: float | None = option(
        None,
        "Frequency below which 99 % of the velocity's power of the fitted logs lies. The cut-off of a validation log "
        "is scaled by the ratio of its own to this.",
        unit="Hz",
        range=HERTZ,
        otherwise="that of the fitted logs if the cut-off is chosen; else all logs have one cut-off",
        label="band of the fitted motion",
    )

    parallel_trim_s: float | None = option(
        None,
        "Time that the parallel filter discards at each end. Rows within 4.5 periods of an end average fewer samples; "
        "only torque equations have them.",
        unit="s",
        range=TIMES,
        otherwise="4.5 periods of its cut-off; 0 if the cut-off is chosen",
        label="left out by the parallel filter",
    )

    def __post_init__(self) -> None:
        check(self)
        if self.window % 2 == 0 or self.degree >= self.window:
            raise FilterError(
                f"a Savitzky-Golay window of {self.window} points and degree {self.degree} is not possible: the "
                "window must be odd and longer than the degree"
            )


@dataclass(frozen=True, slots=True, repr=False)
class Evaluation(Declared):
    """Evaluation filter for the comparison of predicted and measured efforts, independent of the fit's filter.

    Efforts pass a zero-phase 4th-order Butterworth low-pass and are resampled, without the ends of the log.
    """

    cutoff_hz: float = option(
        help="Cut-off of the zero-phase 4th-order Butterworth on predicted and measured efforts.",
        unit="Hz",
        range=HERTZ,
        otherwise="from the spectrum of the first log, whatever the fit uses",
        label="cut-off",
    )
    rate_hz: float = option(
        help="Rate at which efforts are compared; requires `cutoff_hz`.",
        unit="Hz",
        range=HERTZ,
        otherwise="five times that cut-off",
        label="rate",
    )
    trim_s: float = option(
        0.0, "Time excluded at both ends of a log.", unit="s", range=TIMES, label="left out at both ends"
    )
    log_unit: bool = option(
        False,
        "Evaluate residuals in the unit and on the side of the log (motor currents) instead of joint efforts.",
        label="in the unit of the log",
    )

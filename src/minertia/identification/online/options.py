"""Options of on-line monitoring."""

from __future__ import annotations

from dataclasses import dataclass, replace

from minertia.io.schema import Declared, option

LARGEST = 1e6


@dataclass(frozen=True, slots=True, repr=False)
class WatchOptions(Declared):
    """Options of on-line monitoring: filters, block length, false-alarm rate and largest payload."""

    cutoff_hz: float = option(
        10.0, "Cut-off of the low-pass on positions and efforts.", unit="Hz", above=0, range=(0, LARGEST)
    )
    gain: float = option(
        30.0, "Gain of the momentum filter, which needs no accelerations.", unit="1/s", above=0, range=(0, LARGEST)
    )
    block: float = option(0.2, "Time over which residuals are averaged.", unit="s", above=0, range=(0, LARGEST))
    per_hour: float = option(
        0.1,
        "False-alarm rate per hour over all joints.",
        above=0,
        range=(0, LARGEST),
        command="per-hour",
    )
    heaviest: float = option(20.0, "Largest expected payload.", unit="kg", above=0, range=(0, LARGEST))
    velocities: bool = option(False, "Use logged velocities; default: differentiated positions.", command="velocities")

    def for_rate(self, rate: float) -> WatchOptions:
        """Options with a cut-off and a gain that are feasible at this sampling rate [Hz]."""
        return replace(self, cutoff_hz=min(self.cutoff_hz, 0.2 * rate), gain=min(self.gain, 0.5 * rate))

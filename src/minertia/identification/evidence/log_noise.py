"""The noise of a log as its own efforts tell: what lies above all frequencies that a robot moves with.

A robot moves below some hertz; what a log has far above that is noise of sensors, drives and rounding.  Its power per
hertz, carried down to the frequencies at which efforts are compared, is what no model could explain there.  Slow noise
is not seen this way: what is taken off is never too much.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import fft

Array = NDArray[np.float64]
ABOVE = 1.5  # times the cut-off of the evaluation from which there is no motion
UPPER = (0.25, 0.48)  # of the rate: frequencies that are looked at
PASSED = 0.9  # of its cut-off: width of the noise that the evaluation filter lets pass
FEWEST = 16  # frequencies below which nothing is said


def white_noise(tau: Array, rate_hz: float, cutoff_hz: float) -> Array:
    """Noise of each column below a cut-off, root mean square; 0 where nothing tells."""
    density = white_density(tau, rate_hz, ABOVE * cutoff_hz)
    return np.zeros(tau.shape[1]) if density is None else np.asarray(np.sqrt(density * PASSED * cutoff_hz))


def white_density(tau: Array, rate_hz: float, above_hz: float) -> Array | None:
    """Power of each column per hertz, well above some frequency; None where the rate leaves no room for it.

    By the median over frequencies, so that neither a tone nor the foot of the motion counts.
    """
    n = len(tau)
    f = np.arange(n // 2 + 1) * rate_hz / n
    band = (f > max(above_hz, UPPER[0] * rate_hz)) & (f < UPPER[1] * rate_hz)
    if band.sum() < FEWEST:
        return None
    x = np.arange(n) - (n - 1) / 2
    slope = x @ tau / float(x @ x)
    window = np.hanning(n)[:, None]
    rest = (tau - tau.mean(axis=0) - np.outer(x, slope)) * window
    power = np.abs(fft.rfft(rest, axis=0)[band]) ** 2 * 2 / (rate_hz * float(np.sum(window**2)))
    return np.asarray(np.median(power, axis=0) / np.log(2))

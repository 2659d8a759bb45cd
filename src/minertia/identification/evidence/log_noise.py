"""Noise level of a log, estimated from its efforts above the bandwidth of the motion.

A robot moves below some hertz; the content far above that is noise of sensors, drives and quantisation.  Its power
spectral density, extrapolated to the frequencies at which efforts are compared, cannot be explained by any model.  Slow
noise is not detected this way, and single spikes are no noise: the estimate is a lower bound.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from minertia.identification.audits.values import without_spikes

Array = NDArray[np.float64]
ABOVE = 1.5  # times the cut-off of the evaluation from which there is no motion
UPPER = (0.25, 0.48)  # of the rate: frequencies that are looked at
PASSED = 0.9  # of its cut-off: width of the noise that the evaluation filter lets pass
FEWEST = 16  # frequencies below which nothing is said


def white_noise(tau: Array, rate_hz: float, cutoff_hz: float) -> Array:
    """Root mean square noise of each column below a cut-off, in its unit; 0 if it cannot be estimated."""
    density = white_density(tau, rate_hz, ABOVE * cutoff_hz)
    return np.zeros(tau.shape[1]) if density is None else np.asarray(np.sqrt(density * PASSED * cutoff_hz))


def white_density(tau: Array, rate_hz: float, above_hz: float) -> Array | None:
    """Power spectral density of each column, well above a frequency [Hz]; None if the rate is too low.

    It is the median over frequencies, robust to single tones and to the tail of the motion's spectrum.
    """
    n = len(tau)
    f = np.arange(n // 2 + 1) * rate_hz / n
    band = (f > max(above_hz, UPPER[0] * rate_hz)) & (f < UPPER[1] * rate_hz)
    if band.sum() < FEWEST:
        return None
    x = np.arange(n) - (n - 1) / 2
    tau = without_spikes(tau)
    slope = x @ tau / float(x @ x)
    window = np.hanning(n)[:, None]
    rest = (tau - tau.mean(axis=0) - np.outer(x, slope)) * window
    power = np.abs(fft.rfft(rest, axis=0)[band]) ** 2 * 2 / (rate_hz * float(np.sum(window**2)))
    return np.asarray(np.median(power, axis=0) / np.log(2))

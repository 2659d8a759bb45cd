"""Convergence of Markov chains: split R-hat and effective sample size (Gelman et al., Bayesian Data Analysis, 11)."""

from __future__ import annotations

import numpy as np

from minertia.io.arrays import Array


def split_rhat(states: Array) -> Array:
    """Split R-hat of each value of states (steps, chains, values), 1 for chains that cover the same distribution."""
    half = len(states) // 2
    parts = np.concatenate([states[:half], states[half : 2 * half]], axis=1)
    within = parts.var(axis=0, ddof=1).mean(axis=0)
    between = parts.mean(axis=0).var(axis=0, ddof=1)
    ratio = np.divide(between, within, out=np.where(between > 0, np.inf, 0.0), where=within > 0)
    return np.asarray(np.sqrt((half - 1) / half + ratio))


def effective_size(states: Array) -> Array:
    """Effective sample size of the mean of each value of states (steps, chains, values).

    From autocorrelations about the mean of all chains, summed until pairs of them are no longer positive (Geyer 1992).
    """
    steps, chains, _ = states.shape
    centred = states - states.mean(axis=(0, 1))
    power = np.fft.irfft(np.abs(np.fft.rfft(centred, 2 * steps, axis=0)) ** 2, 2 * steps, axis=0)[:steps]
    covariance = power.mean(axis=1) / np.arange(steps, 0, -1)[:, None]
    varies = covariance[0] > 0
    rho = np.divide(covariance, covariance[0], out=np.zeros_like(covariance), where=varies)
    even = 2 * (steps // 2)
    pairs = rho[0:even:2] + rho[1:even:2]
    kept = np.minimum.accumulate(np.where(np.cumprod(pairs > 0, axis=0), pairs, 0.0), axis=0)
    time = np.where(varies, 2 * kept.sum(axis=0) - 1, 1.0)
    return np.asarray(steps * chains / np.maximum(time, 1.0 / np.log10(max(steps * chains, 10))))

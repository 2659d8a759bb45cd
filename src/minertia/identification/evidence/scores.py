"""Parameter covariance from the scores of all efforts, sample by sample.

Each effort's residual is whitened with the spectrum of its noise.  What remains is heteroscedasticity along
the log and correlation between efforts (noise of positions, backlash, the clock).  Neither has to be modelled
if the scores of all efforts at one time are added before they are squared (White 1980, clustered by time).
Slow noise may be correlated differently from fast noise, so the white residuals are given the correlation of
each octave.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from minertia.identification.evidence.noise import Residue, Spectrum

Array = NDArray[np.float64]
SHARED = 2.0  # pairs of samples per effort, of which the correlation of the next higher octave counts as many
LEAST_SHARE = 1e-3  # smallest eigenvalue of a correlation between efforts
QUIET = 1e-9  # of the largest spectral density: what is below it is not made louder
NUMBERS = 4_000_000  # complex numbers in memory at a time


def score_covariance(residue: Residue, spectra: Sequence[Spectrum]) -> tuple[Array, Array, Array]:
    """Parameter covariance due to noise, the sum of the fourth powers of each parameter's scores, and correlations.

    The covariance is that of the scores of the residuals, as they are.  The correlations are those of the noise
    process: correlations of a sample are too large in some combinations, which then seem better known than they are.
    """
    density = np.array([own.density for own in spectra])
    whites = _whitened(residue, density)
    turns = _turns(residue, whites)
    count = len(residue.white)
    S, fourth, inside, every = np.zeros((count, count)), np.zeros(count), np.zeros(count), np.zeros(count)
    process = np.zeros((count, count))
    for (columns, _), white in zip(residue.segments, whites, strict=True):
        found = [_scores(residue, columns, white, np.sqrt(density), turns, part) for part in _parts(residue)]
        y = np.concatenate([own[0] for own in found])
        S += y @ y.T
        fourth += np.sum(y**4, axis=1)
        inside += np.concatenate([own[1] for own in found])
        every += np.concatenate([own[2] for own in found])
        process += found[0][3] if len(found) == 1 else y @ y.T  # those of a sample where memory is short
    # noise that began before a segment, or is told by what follows it, counts like that within
    wider = np.sqrt(np.divide(every, inside, out=np.ones(count), where=inside > 0))
    size = np.sqrt(np.maximum(np.diag(process), 1e-300))
    return S * np.outer(wider, wider), fourth * wider**4, process / np.outer(size, size)


def _parts(residue: Residue) -> list[NDArray[np.int64]]:
    """Batches of parameters whose influence functions fit into memory together."""
    numbers = len(residue.shown) * residue.kinds.memory.shape[1]
    return np.array_split(np.arange(len(residue.white)), -(-len(residue.white) * numbers // NUMBERS) or 1)


def _scores(
    residue: Residue,
    columns: Sequence[tuple[list[int], Array]],
    white: Array,
    gain: Array,
    turns: Array,
    part: NDArray[np.int64],
) -> tuple[Array, Array, Array, Array]:
    """Scores of some parameters (values, N); squared influence of white noise within the segment, and in total.

    The last result is their covariance under unit white noise (values, values).
    """
    size, samples = residue.kinds.size, white.shape[1]
    phi = np.empty((len(columns), len(part), size // 2 + 1), complex)
    for j, (own, filled) in enumerate(columns):
        seen = fft.rfft(filled, size)
        A = residue.white[part][:, own]
        phi[j].real, phi[j].imag = A @ np.array(seen.real), A @ np.array(seen.imag)
        phi[j] *= gain[j]
    for turn, octave in zip(turns, _octaves(np.arange(size // 2 + 1) / size, len(turns)), strict=True):
        phi[:, :, octave] = np.tensordot(turn.T, phi[:, :, octave], 1)
    influence = fft.irfft(phi, size)
    squares = np.einsum("jat,jat->at", influence, influence)
    y = np.einsum("jat,jt->at", influence[:, :, :samples], white)
    together = np.asarray(sum(own @ own.T for own in influence))
    return y, squares[:, :samples].sum(axis=1), squares.sum(axis=1), together


def _octaves(cycles: Array, count: int) -> list[slice]:
    """Frequencies [cycles per sample] of each octave, from the highest down; the last holds all lower ones."""
    ends = np.searchsorted(cycles, [0.5 ** (k + 1) for k in range(1, count)], side="right").tolist()
    return [slice(low, high) for low, high in zip([*ends, 0], [len(cycles), *ends], strict=True)]


def _whitened(residue: Residue, density: Array) -> list[Array]:
    """Whitened residuals of each segment (efforts, N), with unit power over all segments."""
    found = []
    given = np.arange(density.shape[1]) / residue.kinds.size
    floor = np.maximum(QUIET * density.max(axis=1), 1e-200)
    for _, e in residue.segments:
        samples = e.shape[1]
        line = e[:, :1] + (e[:, -1:] - e[:, :1]) * np.linspace(0.0, 1.0, samples)  # else its ends are a step
        cycles = np.arange(samples // 2 + 1) / samples
        own = np.array([np.interp(cycles, given, each) for each in density])
        found.append(fft.irfft(fft.rfft(e - line) / np.sqrt(np.maximum(own, floor[:, None])), samples))
    level = np.sqrt(sum(np.sum(u**2, axis=1) for u in found) / sum(u.shape[1] for u in found))
    return [u / np.maximum(level, 1e-150)[:, None] for u in found]


def _turns(residue: Residue, whites: Sequence[Array]) -> Array:
    """Matrices (octaves, efforts, efforts) that give white residuals the correlation of each octave.

    An octave with few pairs of samples, or in which the fit has absorbed most of the noise, is given the correlation of
    the next higher one.
    """
    efforts, longest = len(residue.shown), max(u.shape[1] for u in whites)
    count = max(int(np.log2(longest)), 1)
    cross, pairs = np.zeros((count, efforts, efforts)), np.zeros(count)
    left = np.maximum(1 - residue.taken[:, :, 0].mean(axis=0) / residue.whole[:, 0], 0.0)[residue.kinds.band]
    given = np.arange(len(left)) / residue.kinds.size
    for u in whites:
        cycles = np.arange(u.shape[1] // 2 + 1) / u.shape[1]
        seen, free = fft.rfft(u), np.interp(cycles, given, left)
        for k, octave in enumerate(_octaves(cycles, count)):
            cross[k] += (seen[:, octave] @ seen[:, octave].conj().T).real
            pairs[k] += free[octave].sum()
    shared = _correlation(np.asarray(sum(u @ u.T for u in whites)))
    back, turns = _power(shared, -0.5), []
    for own, known in zip(cross, pairs, strict=True):
        shared = (known * _correlation(own) + SHARED * efforts * shared) / (known + SHARED * efforts)
        turns.append(_power(shared, 0.5) @ back)
    return np.array(turns)


def _correlation(cross: Array) -> Array:
    size = np.sqrt(np.maximum(np.diag(cross), 1e-300))
    found = cross / np.outer(size, size)
    np.fill_diagonal(found, 1.0)
    return np.asarray(found)


def _power(K: Array, exponent: float) -> Array:
    values, vectors = np.linalg.eigh(K)
    return np.asarray((vectors * np.maximum(values, LEAST_SHARE) ** exponent) @ vectors.T)

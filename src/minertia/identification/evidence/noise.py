"""The spectrum of the noise that a fit leaves in its residuals, effort by effort.

A fit takes from the noise what its columns can imitate, mostly slow parts, and short logs smear spectra.  Both are
known: the mean power of the residuals in each band of frequencies is linear in the powers of some kinds of noise
(white, forgotten exponentially, confined to an octave), which are not negative.  So those powers are fitted to the
power seen in the bands (a debiased Whittle likelihood, Sykulski et al. 2019, less what the fit took off as in
restricted maximum likelihood).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import fft
from scipy.optimize import nnls

from minertia.identification.problem.triangles import triangle

Array = NDArray[np.float64]
SHORTEST, RATIO = 5.0, 10**0.5  # samples after which noise is forgotten to 1/e: the shortest, and from one to the next
SLOWEST_OCTAVE = 16.0  # periods in a stretch
WIDER = 0.35  # of its frequency: width of a band, of one period in a stretch at least
LEAST = 0.02  # part of a band's power that a fit leaves at least
FLOOR = 0.05  # of the mean power per frequency: errors below it are not worth a better fit
ROUNDS, AGREED = 15, 1e-3
FADED = 0.1  # autocorrelation below which samples count as independent


@dataclass(frozen=True)
class Kinds:
    """Kinds of noise and bands of frequencies, for stretches of at most `longest` samples.

    size: of the padded Fourier transform.  memory (kinds, size/2+1): autocorrelation at each lag; spectra: their
    transforms.  edges: first frequency of each band.  weights: of squared transforms in sums of squares.
    """

    size: int
    memory: Array
    spectra: Array
    edges: NDArray[np.int64]
    weights: Array

    @classmethod
    def of(cls, longest: int) -> Kinds:
        """White noise first, then exponentials up to the whole stretch, then octaves from the highest down."""
        size = 2 * int(fft.next_fast_len(longest, real=True))
        lags, cycles = np.arange(size // 2 + 1), np.arange(size // 2 + 1) / size
        memory = [np.where(lags == 0, 1.0, 0.0)]
        time = SHORTEST
        while time < longest:
            memory.append(np.exp(-lags / time))
            time *= RATIO
        centre = 0.5
        while centre > SLOWEST_OCTAVE / longest:
            hat = np.maximum(1 - np.abs(np.log2(np.maximum(cycles, 1e-9) / centre)), 0.0)
            found = fft.irfft(hat, size)[: len(lags)]
            memory.append(found / found[0])
            centre /= 2
        kept = np.array(memory)
        weights = np.full(len(lags), 2.0 / size)
        weights[[0, -1]] = 1.0 / size
        return cls(size, kept, _transformed(kept, size), _edges(size, longest), weights)

    def banded(self, power: Array) -> Array:
        """Sums over the bands of a function of frequency, along its last axis."""
        return np.asarray(np.add.reduceat(power * self.weights, self.edges, axis=-1))

    def expected(self, samples: int) -> Array:
        """Power in each band of so many samples of each kind of noise, (bands, kinds)."""
        seen = np.maximum(samples - np.arange(self.memory.shape[1]), 0)
        return self.banded(_transformed(self.memory * seen, self.size)).T


def _transformed(even: Array, size: int) -> Array:
    """Spectra of even sequences that are given at lags from 0 to half the size."""
    return np.asarray(fft.rfft(np.concatenate([even, even[:, -2:0:-1]], axis=1), size, axis=1).real)


def _edges(size: int, longest: int) -> NDArray[np.int64]:
    """Bands of one period per stretch, wider with their frequency; the first holds the mean."""
    step, found, position = size / longest, [0], 1.5
    while position * step < size / 2 + 1 - step:
        found.append(round(position * step))
        position += max(1.0, WIDER * position)
    return np.unique(found)


class Residue:
    """What stretches of a fit leave: power of residuals in bands, what the fit took, and the columns under each noise.

    inverse (unknowns, directions): with it the weighted columns of all rows are orthonormal, but for what `known` adds.
    known (directions, directions): part of each direction that is known beforehand, in the metric of the weighted rows.
    shown: unknowns that each effort sees.
    """

    def __init__(
        self, kinds: Kinds, inverse: Array, shown: Sequence[Sequence[int]], known: Array | None = None
    ) -> None:
        self.kinds, self.shown = kinds, [list(columns) for columns in shown]
        self.inverse, (count, bands) = inverse, (len(kinds.memory), len(kinds.edges))
        self.taking = None if known is None else _root(np.eye(len(known)) + known)
        self.knowing = None if known is None else _root(known)
        whole = inverse if self.taking is None else inverse @ self.taking
        self._takes = [_root_of(whole[own]) for own in self.shown]
        efforts = len(self.shown)
        self.power, self.added = np.zeros((efforts, bands)), np.zeros((efforts, bands))
        self.whole, self.taken = np.zeros((bands, count)), np.zeros((efforts, bands, count))
        self.gram = [np.zeros((count, len(own), len(own))) for own in self.shown]

    def add(self, X: Array, e: Array) -> None:
        """A stretch: weighted columns (N, efforts, unknowns) and residuals (N, efforts)."""
        kinds = self.kinds
        self.whole += kinds.expected(len(X))
        self.power += kinds.banded(np.abs(fft.rfft(e, kinds.size, axis=0).T) ** 2)
        for j, own in enumerate(self.shown):
            seen = fft.rfft(np.ascontiguousarray(X[:, j, own].T), kinds.size)  # (own, frequencies)
            self.taken[j] += kinds.banded(kinds.spectra * _squares(self._takes[j], seen)).T
            if self.knowing is not None:
                self.added[j] += kinds.banded(_squares(_root_of(self.inverse[own] @ self.knowing), seen))
            self._add_gram(j, seen)

    def _add_gram(self, j: int, seen: NDArray[np.complex128]) -> None:
        """Products of all pairs of columns, which every kind of noise weighs by its spectrum: made once for all."""
        weights, re, im = (self.kinds.weights * self.kinds.spectra).T, np.array(seen.real), np.array(seen.imag)
        for r in range(len(seen)):
            products = re[r:] * re[r] + im[r:] * im[r]
            found = (products @ weights).T
            self.gram[j][:, r, r:] += found
            self.gram[j][:, r + 1 :, r] += found[:, 1:]

    def powers(self, j: int) -> tuple[Array, Array]:
        """Power of each kind of noise in effort j, and the covariance of these powers."""
        whole, freedom = self.whole, self.whole[:, 0]
        left = np.maximum(freedom - self.taken[j, :, 0], FLOOR * freedom)  # degrees of freedom of each band
        B = np.maximum(whole - self.taken[j], LEAST * whole)
        return fitted_powers(B, np.maximum(self.power[j] - self.added[j], 0.0), left)


def fitted_powers(B: Array, power: Array, freedom: Array) -> tuple[Array, Array]:
    """Powers theta >= 0 of kinds of noise whose mean B theta suits the power seen in bands, and their covariance.

    Power with so many degrees of freedom has the variance 2 mean^2 / freedom: weights and powers are found in turns.
    """
    floor = FLOOR * power.sum() / freedom.sum() * freedom
    if not floor.any():
        return np.zeros(B.shape[1]), np.zeros((B.shape[1], B.shape[1]))
    mean = np.asarray(B[:, 0] * power.sum() / B[:, 0].sum())
    for _ in range(ROUNDS):
        weight = np.sqrt(freedom / 2) / (mean + floor)
        theta, _ = nnls(B * weight[:, None], power * weight)
        before, mean = mean, B @ theta
        if np.all(np.abs(mean - before) <= AGREED * (before + floor)):
            break
    active = np.flatnonzero(theta > 1e-9 * theta.sum())
    J = (B * weight[:, None])[:, active]
    covariance = np.zeros((B.shape[1], B.shape[1]))
    covariance[np.ix_(active, active)] = np.linalg.pinv(J.T @ J, rcond=1e-12, hermitian=True)
    return np.asarray(theta), covariance


def memory_length(kinds: Kinds, theta: Array) -> int:
    """Samples after which noise of these powers has forgotten itself, at least 1."""
    shape = theta @ kinds.memory
    faded = np.flatnonzero(shape < FADED * max(float(shape[0]), 1e-300))
    return max(1, int(faded[0]) if len(faded) else len(shape))


def _root_of(A: Array) -> Array:
    """A matrix L with L L' = A A' and no more columns than rows: lengths of rows x' A are those of x' L."""
    return triangle(A.T).T if A.shape[0] < A.shape[1] else A


def _squares(A: Array, seen: NDArray[np.complex128]) -> Array:
    """Squared lengths of the rows seen' A, one for each frequency."""
    parts = [A.T @ np.array(part) for part in (seen.real, seen.imag)]
    return np.asarray(sum(np.einsum("df,df->f", part, part) for part in parts))


def _root(known: Array) -> Array:
    values, vectors = np.linalg.eigh(known)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))

"""The spectrum of the noise that a fit leaves in its residuals, effort by effort, and how well it is known.

Noise is taken for white with a part that is forgotten exponentially: a grid of correlation times and ratios, each with
a prior probability.  A fit absorbs what of the noise its columns can imitate, mostly slow parts, and short logs smear
spectra.  Both are known, so that the mean power of the residuals in bands of frequencies is known for every point of
the grid, and the power seen there gives their posterior probabilities (a debiased Whittle likelihood, Sykulski et al.
2019, less what the fit absorbed as in restricted maximum likelihood).  Bands with many degrees of freedom correct the
mean spectrum by their own power.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from minertia.identification.problem.triangles import triangle

Array = NDArray[np.float64]
SHORTEST, RATIO = 0.5, 10**0.25  # correlation times [samples]: the shortest, and from one to the next
CONTRAST = 10**0.5  # spectral density of the slow part over that of the white one, from one ratio to the next
WHITE = 0.6  # prior probability of white noise
SLOWER = 0.15  # prior odds of a correlation time fall with this power of it: slow noise is rarer than fast
WIDER = 0.35  # of its frequency: width of a band, of one period in a segment at least
LEAST = 0.02  # part of a band's power that a fit leaves at least
FLOOR = 0.05  # part of a band's degrees of freedom that a fit leaves at least
TELLING = 15.0  # degrees of freedom of one band that count for the shape: shapes are ideal, so no band decides alone
ABSORBED = 0.95  # part of the degrees of freedom that a fit uses up, below the highest frequency that moves values
BEYOND = 2.0  # bands up to so many times that frequency tell the shape: what a filter cuts off above says nothing of it
FEWEST_BANDS = 8  # that tell the shape
DITHER = 0.02  # white noise of this part of the mean power is added: how deep a filter cuts says nothing of slow noise
OWN = 20.0  # degrees of freedom from which a band's own power counts more than that of the shapes
QUIETEST = 1e-9  # power of a band over that of the shapes, at least
DRAWS = 100  # spectra drawn from the posterior
SEED = 7  # of these draws
FADED = 0.1  # autocorrelation below which samples count as independent


@dataclass(frozen=True)
class Kinds:
    """Kinds of noise, their mixtures and bands of frequencies, for segments of at most `longest` samples.

    size: of the padded Fourier transform.  memory (kinds, size/2+1): autocorrelation at each lag, white noise first,
    then exponentials; spectra: their transforms.  mixtures (grid, kinds): parts of the kinds, with sum 1; prior: their
    probabilities.  edges: first frequency of each band.  weights: of squared transforms in sums of squares.
    """

    size: int
    memory: Array
    spectra: Array
    mixtures: Array
    prior: Array
    edges: NDArray[np.int64]
    weights: Array

    @classmethod
    def of(cls, longest: int) -> Kinds:
        """White noise and exponentials up to the whole segment."""
        return _kinds(longest)

    def banded(self, power: Array) -> Array:
        """Sums over the bands of a function of frequency, along its last axis."""
        return np.asarray(np.add.reduceat(power * self.weights, self.edges, axis=-1))

    def expected(self, samples: int) -> Array:
        """Power in each band of so many samples of each kind of noise, (bands, kinds)."""
        seen = np.maximum(samples - np.arange(self.memory.shape[1]), 0)
        return self.banded(_transformed(self.memory * seen, self.size)).T

    @property
    def band(self) -> NDArray[np.int64]:
        """The band of each frequency."""
        return np.searchsorted(self.edges, np.arange(self.memory.shape[1]), side="right") - 1


@lru_cache(maxsize=4)
def _kinds(longest: int) -> Kinds:
    size = 2 * int(fft.next_fast_len(longest, real=True))
    lags = np.arange(size // 2 + 1)
    times = [SHORTEST]
    while times[-1] * RATIO <= longest:
        times.append(times[-1] * RATIO)
    memory = np.array([np.where(lags == 0, 1.0, 0.0), *(np.exp(-lags / time) for time in times)])
    spectra = np.maximum(_transformed(memory, size), 0.0)
    mixtures, prior = _grid(spectra, np.array(times))
    weights = np.full(len(lags), 2.0 / size)
    weights[[0, -1]] = 1.0 / size
    return Kinds(size, memory, spectra, mixtures, prior, _edges(size, longest), weights)


def _grid(spectra: Array, times: Array) -> tuple[Array, Array]:
    """White noise, and each exponential alone and with white noise of a density between its highest and its lowest."""
    count = len(spectra)
    found, prior = [np.eye(count)[0]], [WHITE]
    odds = times**-SLOWER
    odds = (1 - WHITE) * odds / odds.sum()
    for k, own in enumerate(odds, 1):
        steps = np.log(spectra[k, 0] / max(spectra[k, -1], 1e-300)) / np.log(CONTRAST)
        densities = [0.0, *(spectra[k, 0] / CONTRAST ** np.arange(max(int(np.ceil(steps)), 1)))]
        for density in densities:
            found.append(np.eye(count)[k] + density * np.eye(count)[0])
            prior.append(own / len(densities))
    mixtures = np.array(found)
    return mixtures / mixtures.sum(axis=1, keepdims=True), np.array(prior)


def _transformed(even: Array, size: int) -> Array:
    """Spectra of even sequences that are given at lags from 0 to half the size."""
    return np.asarray(fft.rfft(np.concatenate([even, even[:, -2:0:-1]], axis=1), size, axis=1).real)


def _edges(size: int, longest: int) -> NDArray[np.int64]:
    """Bands of one period per segment, wider with their frequency; the first holds the mean."""
    step, found, position = size / longest, [0], 1.5
    while position * step < size / 2 + 1 - step:
        found.append(round(position * step))
        position += max(1.0, WIDER * position)
    return np.unique(found)


@dataclass(frozen=True)
class Spectrum:
    """Posterior of the spectrum of one effort's noise.

    powers (kinds): posterior mean of the power of each kind; drawn (DRAWS, kinds): draws of them.  density: mean
    spectral density at the padded frequencies, corrected by the power of bands with many degrees of freedom;
    uncertain: variance of the logarithm of a value's variance by that correction.
    """

    powers: Array
    drawn: Array
    density: Array
    uncertain: float = 0.0


class Residue:
    """What segments of a fit leave: power of residuals in bands, what the fit absorbed, and values under each noise.

    inverse (unknowns, directions): with it the weighted columns of all rows are orthonormal, but for what `known` adds.
    known (directions, directions): part of each direction that is known beforehand, in the metric of the weighted rows.
    shown: unknowns that each effort sees.  each (efforts, unknowns, kinds): variance of the values by noise of power 1
    in one effort.  segments: columns that each effort sees, (columns, N), and residuals (efforts, N).
    """

    def __init__(
        self, kinds: Kinds, inverse: Array, shown: Sequence[Sequence[int]], known: Array | None = None
    ) -> None:
        self.kinds, self.shown = kinds, [list(columns) for columns in shown]
        self.inverse, (count, bands) = inverse, (len(kinds.memory), len(kinds.edges))
        self.white = np.asarray(inverse @ inverse.T)
        self.taking = None if known is None else _root(np.eye(len(known)) + known)
        self.knowing = None if known is None else _root(known)
        whole = inverse if self.taking is None else inverse @ self.taking
        self._takes = [_root_of(whole[own]) for own in self.shown]
        efforts = len(self.shown)
        self.power, self.added = np.zeros((efforts, bands)), np.zeros((efforts, bands))
        self.whole, self.taken = np.zeros((bands, count)), np.zeros((efforts, bands, count))
        self.each = np.zeros((efforts, len(inverse), count))
        self.segments: list[tuple[list[Array], Array]] = []

    def add(self, X: Array, e: Array) -> None:
        """A segment: weighted columns (N, efforts, unknowns) and residuals (N, efforts)."""
        kinds = self.kinds
        columns = [np.ascontiguousarray(X[:, j, own].T) for j, own in enumerate(self.shown)]
        self.segments.append((columns, np.ascontiguousarray(e.T)))
        self.whole += kinds.expected(len(X))
        self.power += kinds.banded(np.abs(fft.rfft(e, kinds.size, axis=0).T) ** 2)
        weighted = (kinds.weights * kinds.spectra).T
        for j, own in enumerate(self.shown):
            seen = fft.rfft(columns[j], kinds.size)  # (own, frequencies)
            self.taken[j] += kinds.banded(kinds.spectra * _lengths(self._takes[j], seen)).T
            if self.knowing is not None:
                self.added[j] += kinds.banded(_lengths(_root_of(self.inverse[own] @ self.knowing), seen))
            self.each[j] += _squares(self.white[:, own], seen) @ weighted

    def _near(self, j: int) -> int:
        """Number of bands, from the lowest up, in which the noise of effort j moves values or tells what does."""
        absorbed = np.cumsum(self.taken[j, :, 0])
        edges = self.kinds.edges
        last = int(np.searchsorted(absorbed, ABSORBED * absorbed[-1]))
        end = edges[last + 1] if last + 1 < len(edges) else self.kinds.size
        return max(int(np.searchsorted(edges, BEYOND * end)), FEWEST_BANDS)

    def spectrum(self, j: int) -> Spectrum:
        """Posterior of the noise in effort j."""
        whole, freedom = self.whole, self.whole[:, 0]
        left = np.maximum(freedom - self.taken[j, :, 0], FLOOR * freedom)  # degrees of freedom of each band
        B = np.maximum(whole - self.taken[j], LEAST * whole)
        power = np.maximum(self.power[j] - self.added[j], 0.0)
        near = self._near(j)
        if not power[:near].any():
            count = len(self.kinds.memory)
            return Spectrum(np.zeros(count), np.zeros((DRAWS, count)), np.zeros(self.kinds.memory.shape[1]))
        odds, scales = posterior((B @ self.kinds.mixtures.T)[:near], power[:near], left[:near], self.kinds.prior)
        scaled = scales[:, None] * self.kinds.mixtures
        powers = odds @ scaled
        part = left / (left + OWN)
        own = np.maximum(power / (B @ powers), QUIETEST) ** part
        share = self.taken[j, :, 0] / max(float(self.taken[j, :, 0].sum()), 1e-300)
        drawn = scaled[_stratified(odds, np.random.default_rng([SEED, j]))]
        density = powers @ self.kinds.spectra * own[self.kinds.band]
        return Spectrum(powers, drawn, density, float(np.sum((share * part) ** 2 * 2 / left)))


def posterior(mean: Array, power: Array, freedom: Array, prior: Array) -> tuple[Array, Array]:
    """Probability of each shape whose mean power in bands is given but for a factor, (bands, shapes), and that factor.

    Power with d degrees of freedom about a mean m has the log likelihood -d/2 (log m + power / m).
    """
    d = np.minimum(freedom, TELLING)
    power = power + DITHER * power.sum() / freedom.sum() * freedom
    scales = (d * power) @ (1 / mean) / d.sum()
    likelihood = -0.5 * (d @ np.log(mean) + d.sum() * np.log(scales))
    odds = prior * np.exp(likelihood - likelihood.max())
    return odds / odds.sum(), scales


def _stratified(odds: Array, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draws of indices with these probabilities, as evenly as their number allows, in random order."""
    places = (rng.permutation(DRAWS) + 0.5) / DRAWS
    return np.minimum(np.searchsorted(np.cumsum(odds), places), len(odds) - 1)


def memory_length(kinds: Kinds, powers: Array) -> int:
    """Samples after which noise of these powers has forgotten itself, at least 1."""
    shape = powers @ kinds.memory
    faded = np.flatnonzero(shape < FADED * max(float(shape[0]), 1e-300))
    return max(1, int(faded[0]) if len(faded) else len(shape))


def _root_of(A: Array) -> Array:
    """A matrix L with L L' = A A' and no more columns than rows: lengths of rows x' A are those of x' L."""
    return triangle(A.T).T if A.shape[0] < A.shape[1] else A


def _squares(A: Array, seen: NDArray[np.complex128]) -> Array:
    """Squared sizes of A seen."""
    re, im = (A @ np.array(part) for part in (seen.real, seen.imag))
    return np.asarray(re * re + im * im)


def _lengths(A: Array, seen: NDArray[np.complex128]) -> Array:
    """Squared lengths of the rows seen' A, one for each frequency."""
    return np.asarray(_squares(A.T, seen).sum(axis=0))


def _root(known: Array) -> Array:
    values, vectors = np.linalg.eigh(known)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))

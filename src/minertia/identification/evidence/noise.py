"""Noise spectrum of the residuals of a fit, effort by effort, and its uncertainty.

Noise is modelled as white plus exponentially correlated noise: a grid of correlation times and ratios, each with a
prior probability.  Residuals are analysed by their cosine transform, in which noise as slow as the log itself has
independent ordinates (Mueller, Watson 2008).  A fit absorbs the noise in the column space of its regressor, mostly slow
parts.  This is computed, so that the mean power of the residuals in bands of frequencies is known for every point of
the grid, and the observed power gives their posterior probabilities (a debiased Whittle likelihood, Sykulski et al.
2019, less what the fit absorbed as in restricted maximum likelihood).  Efforts of one robot probably share the
correlation time of their noise; where they do, all efforts contribute to its estimate.  Bands with many degrees of
freedom correct the mean spectrum by their own power.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import fft

Array = NDArray[np.float64]
SHORTEST, RATIO = 0.5, 10**0.25  # correlation times [samples]: the shortest at least, and from one to the next
CONTRAST = 10**0.5  # spectral density of the slow part over that of the white one, from one ratio to the next
WHITE = 0.6  # prior probability of white noise
SLOWER = 0.15  # prior odds of a correlation time fall with this power of it: slow noise is rarer than fast
LONGEST = (
    2.0  # of the longest segment: slowest correlation time; slower noise is an offset, which no log tells from OFF
)
ALIKE = 0.5  # prior probability that the noise of all efforts has one correlation time
WIDER = 0.35  # of its frequency: width of a band, of one ordinate at least
LEAST = 0.02  # part of a band's power that a fit leaves at least
FLOOR = 0.05  # part of a band's degrees of freedom that a fit leaves at least
TELLING = 15.0  # degrees of freedom of one band that count for the shape: shapes are ideal, so no band decides alone
ABSORBED = 0.95  # part of the degrees of freedom that a fit uses up, below the highest frequency that moves values
BEYOND = 2.0  # bands up to so many times that frequency tell the shape: what a filter cuts off above says nothing of it
FEWEST_BANDS = 16  # that tell the shape
DITHER = 0.02  # white noise of this part of the mean power is added: how deep a filter cuts says nothing of slow noise
OWN = 20.0  # degrees of freedom from which a band's own power counts more than that of the shapes
QUIETEST = 1e-9  # power of a band over that of the shapes, at least
DRAWS = 100  # spectra drawn from the posterior
SEED = 7  # of these draws
FADED = 0.1  # autocorrelation below which samples count as independent


@dataclass(frozen=True)
class Kinds:
    """Noise models, their mixtures and frequency bands, for segments of at most `longest` samples.

    size: length of the padded Fourier transform.  memory (kinds, size/2+1): autocorrelation at each lag,
    white noise first, then exponentials; spectra: their transforms.  mixtures (grid, kinds): fractions of the
    kinds, with sum 1; prior: probabilities of the mixtures; slow: index of the exponential kind in each
    mixture, 0 for white noise, ascending.  edges: index of the first frequency of each band.  weights:
    weights of the squared transform in sums of squares.
    """

    size: int
    memory: Array
    spectra: Array
    mixtures: Array
    prior: Array
    slow: NDArray[np.int64]
    edges: NDArray[np.int64]
    weights: Array

    @classmethod
    def of(cls, longest: int) -> Kinds:
        """Noise models with white noise, and exponentials with correlation times up to twice the segment length."""
        return _kinds(longest)

    def bands(self, samples: int) -> list[tuple[int, slice]]:
        """Bands that contain ordinates of the cosine transform of `samples` samples, with their slices."""
        places = np.round(np.arange(samples) * (self.size / (2 * samples))).astype(int)
        ends = [*np.searchsorted(places, self.edges).tolist(), samples]
        return [(b, slice(ends[b], ends[b + 1])) for b in range(len(self.edges)) if ends[b] < ends[b + 1]]

    def banded(self, ordinates: Array) -> Array:
        """Sum a function of the ordinates of a cosine transform over each band, along its last axis."""
        found = np.zeros((*ordinates.shape[:-1], len(self.edges)))
        own = self.bands(ordinates.shape[-1])
        found[..., [b for b, _ in own]] = np.add.reduceat(ordinates, [part.start for _, part in own], axis=-1)
        return found

    @property
    def band(self) -> NDArray[np.int64]:
        """Index of the band of each frequency."""
        return np.searchsorted(self.edges, np.arange(self.memory.shape[1]), side="right") - 1


def cosines(rows: Array) -> Array:
    """Orthonormal cosine transform along the last axis."""
    return np.asarray(fft.dct(rows, type=2, norm="ortho", axis=-1))


def expected(kinds: Kinds, samples: int) -> Array:
    """Expected power of each ordinate for each kind of noise with `samples` samples, (kinds, samples).

    With the autocorrelation c_h at lag h and a = pi k / N, the expected power of ordinate k is
    c_0 + 2/N sum_h c_h ((N - h) cos(a h) - sin(a h) / sin(a)).
    """
    memory, lags = kinds.memory[:, :samples], np.arange(samples)
    found = fft.dct(np.pad((samples - lags) * memory, ((0, 0), (0, 1))), type=1)[:, :-1] / samples
    if samples > 1:
        rest = fft.dst(memory[:, 1:], type=1) / np.sin(np.pi * lags[1:] / samples)
        found[:, 1:] -= rest / samples
    return np.asarray(np.maximum(found, 0.0))


@lru_cache(maxsize=4)
def _kinds(longest: int) -> Kinds:
    size = 2 * int(fft.next_fast_len(longest, real=True))
    lags = np.arange(size // 2 + 1)
    steps = int(np.log(max(LONGEST * longest / SHORTEST, 1.0)) / np.log(RATIO))
    times = np.asarray(LONGEST * longest / RATIO ** np.arange(steps, -1, -1), np.float64)
    memory = np.array([np.where(lags == 0, 1.0, 0.0), *(np.exp(-lags / time) for time in times)])
    spectra = np.maximum(_transformed(memory, size), 0.0)
    mixtures, prior = _grid(spectra, times)
    slow = np.argmax(np.column_stack([np.full(len(mixtures), 1e-300), mixtures[:, 1:] > 0]), axis=1)
    weights = np.full(len(lags), 2.0 / size)
    weights[[0, -1]] = 1.0 / size
    return Kinds(size, memory, spectra, mixtures, prior, slow, _edges(size, longest), weights)


def _grid(spectra: Array, times: Array) -> tuple[Array, Array]:
    """Grid of normalised noise mixtures, and their prior probabilities.

    Mixtures: white noise; each exponential alone; and each exponential with white noise whose density lies
    between the smallest and the largest of the exponential's spectrum.
    """
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
    """Spectra of even sequences, given at lags from 0 to half the size."""
    return np.asarray(fft.rfft(np.concatenate([even, even[:, -2:0:-1]], axis=1), size, axis=1).real)


def _edges(size: int, longest: int) -> NDArray[np.int64]:
    """Edges of frequency bands of the cosine transform, wider at higher frequency; the first band is the mean."""
    step, found, position = size / longest, [0], 0.5
    while position * step < size / 2 + 1 - step:
        found.append(round(position * step))
        position += max(0.5, WIDER * position)
    return np.unique(found)


@dataclass(frozen=True)
class Spectrum:
    """Posterior of the spectrum of one effort's noise.

    powers (kinds): posterior mean of the power of each kind; drawn (DRAWS, kinds): draws of them.  density: mean
    spectral density at the padded frequencies, corrected by the power of bands with many degrees of freedom;
    uncertain: variance of the logarithm of a parameter's variance due to that correction.
    """

    powers: Array
    drawn: Array
    density: Array
    uncertain: float = 0.0


class Residue:
    """Residual statistics of a fit: power in bands, power absorbed by the fit, and parameter variances.

    inverse (unknowns, directions): transformation that makes the weighted columns of all rows orthonormal,
    except for the part of `known`.  known (directions, directions): information on each direction from prior
    knowledge, in the metric of the weighted rows; error: variance of the directions due to errors of that
    knowledge, equal to `known` if its weight is right.  shown: unknowns on which each effort depends.  power,
    added (efforts, bands): power of the residuals, and the part of it that is not noise.  whole (bands,
    kinds): power of noise; hat (efforts, bands, kinds): the same times the diagonal of the hat matrix.
    products (efforts, bands, directions, directions): Gram matrices of the columns in each band.  values: number of
    unknowns, the first ones, whose variance is wanted (default: all).  white (values, unknowns): covariance for white
    noise.  each (efforts, values, kinds): variance of the parameters due to noise of power 1 in one effort.
    segments: of each effort the unknowns whose columns are not zero there and these columns, (columns, N), and
    residuals (efforts, N).
    """

    def __init__(
        self,
        kinds: Kinds,
        inverse: Array,
        shown: Sequence[Sequence[int]],
        known: Array | None = None,
        error: Array | None = None,
        values: int | None = None,
    ) -> None:
        self.kinds, self.shown = kinds, [list(columns) for columns in shown]
        self.inverse, (count, bands) = inverse, (len(kinds.memory), len(kinds.edges))
        self.white = np.asarray(inverse[:values] @ inverse.T)
        efforts, directions = len(self.shown), inverse.shape[1]
        self.known = np.zeros((directions, directions)) if known is None else known
        self.error = self.known if error is None else error
        self._wrong = _root(self.error)
        self.power, self.added = np.zeros((efforts, bands)), np.zeros((efforts, bands))
        self.whole, self.hat = np.zeros((bands, count)), np.zeros((efforts, bands, count))
        self.products = np.zeros((efforts, bands, directions, directions))
        self.each = np.zeros((efforts, len(self.white), count))
        self.segments: list[tuple[list[tuple[list[int], Array]], Array]] = []

    def add(self, X: Array, e: Array) -> None:
        """Add a segment: weighted columns (N, efforts, unknowns) and residuals (N, efforts)."""
        kinds = self.kinds
        columns = [_filled(own, np.ascontiguousarray(X[:, j, own].T)) for j, own in enumerate(self.shown)]
        self.segments.append((columns, np.ascontiguousarray(e.T)))
        mean = expected(kinds, len(X))
        self.whole += kinds.banded(mean).T
        self.power += kinds.banded(cosines(e.T) ** 2)
        weighted = (kinds.weights * kinds.spectra).T
        for j, (own, filled) in enumerate(columns):
            z = self.inverse[own].T @ cosines(filled)  # (directions, ordinates)
            self.hat[j] += kinds.banded(mean * np.sum(z * z, axis=0)).T
            for b, part in kinds.bands(len(X)):
                self.products[j, b] += z[:, part] @ z[:, part].T
            if self.error.any():
                self.added[j] += kinds.banded(np.sum((self._wrong.T @ z) ** 2, axis=0))
            self.each[j] += _squares(self.white[:, own], fft.rfft(filled, kinds.size)) @ weighted

    def with_error(self, factor: float) -> Residue:
        """The same statistics with the variance of the prior's errors times a factor."""
        other = copy(self)
        other.error, other.added = factor * self.error, factor * self.added
        return other

    @cached_property
    def taken(self) -> Array:
        """Power of each kind of noise that the fit absorbed, (efforts, bands, kinds).

        With the hat matrix H and noise of covariance D in all efforts, residuals have covariance D - H D - D H + H D
        H.
        """
        bands = len(self.whole)
        mean = self.whole / self.whole[:, :1]  # of one ordinate
        total = self.products.sum(axis=0)
        shown = float(np.trace(total.sum(axis=0)))  # of all directions where every segment of the logs is looked at
        total *= (len(self.known) - float(np.trace(self.known))) / max(shown, 1e-300)
        back = [own.reshape(bands, -1) @ total.reshape(bands, -1).T @ mean for own in self.products]
        return np.asarray(2 * self.hat - np.array(back).reshape(self.hat.shape))

    def _near(self, j: int) -> int:
        """Number of low-frequency bands in which noise of effort j affects the parameters or can be estimated."""
        absorbed = np.cumsum(self.taken[j, :, 0])
        edges = self.kinds.edges
        last = int(np.searchsorted(absorbed, ABSORBED * absorbed[-1]))
        end = edges[last + 1] if last + 1 < len(edges) else self.kinds.size
        return max(int(np.searchsorted(edges, BEYOND * end)), FEWEST_BANDS)

    def spectra(self) -> list[Spectrum]:
        """Posterior of the noise in each effort."""
        kinds, whole, freedom = self.kinds, self.whole, self.whole[:, 0]
        power = np.maximum(self.power - self.added, 0.0)
        left = np.maximum(freedom - self.taken[:, :, 0], FLOOR * freedom)  # degrees of freedom of each band
        B = np.maximum(whole - self.taken, LEAST * whole)
        near = [self._near(j) for j in range(len(power))]
        loud = [j for j, end in enumerate(near) if power[j, :end].any()]
        shapes = {
            j: likelihood((B[j] @ kinds.mixtures.T)[: near[j]], power[j, : near[j]], left[j, : near[j]]) for j in loud
        }
        odds, drawn = posterior(kinds, [shapes[j][0] for j in loud])
        nothing = np.zeros(len(kinds.memory))
        found = [Spectrum(nothing, np.zeros((DRAWS, len(nothing))), np.zeros(kinds.memory.shape[1])) for _ in power]
        for j, own, indices in zip(loud, odds, drawn, strict=True):
            scaled = shapes[j][1][:, None] * kinds.mixtures
            powers, part = own @ scaled, left[j] / (left[j] + OWN)
            correction = np.maximum(power[j] / (B[j] @ powers), QUIETEST) ** part
            absorbed = float(self.taken[j, :, 0].sum())
            share = self.taken[j, :, 0] / absorbed if absorbed > 0 else np.zeros(len(left[j]))
            density = powers @ kinds.spectra * correction[kinds.band]
            found[j] = Spectrum(
                powers,
                scaled[indices] * _levels(j, left[j, : near[j]])[:, None],
                density,
                float(np.sum((share * part) ** 2 * 2 / left[j])),
            )
        return found


def _levels(j: int, freedom: Array) -> Array:
    """Draws of the noise power of effort j relative to its estimate, for these degrees of freedom."""
    from scipy.stats import chi2  # here: it takes a second to load

    d = float(np.minimum(freedom, TELLING).sum())
    return np.asarray(d / np.random.default_rng([SEED, j]).permutation(chi2.ppf((np.arange(DRAWS) + 0.5) / DRAWS, d)))


def likelihood(mean: Array, power: Array, freedom: Array) -> tuple[Array, Array]:
    """Log likelihood of each spectral shape (bands, shapes), known up to a factor per band, and that factor.

    Power with d degrees of freedom about a mean m has the log likelihood -d/2 (log m + power / m).
    """
    d = np.minimum(freedom, TELLING)
    power = power + DITHER * power.sum() / freedom.sum() * freedom
    scales = (d * power) @ (1 / mean) / d.sum()
    return -0.5 * (d @ np.log(mean) + d.sum() * np.log(scales)), scales


def posterior(kinds: Kinds, likelihoods: Sequence[Array]) -> tuple[Array, NDArray[np.int64]]:
    """Posterior probability of each spectral shape in each effort, (efforts, grid), and draws, (efforts, DRAWS).

    With a prior probability of ALIKE all efforts have a common correlation time, else each has its own; each
    effort has its own ratio of slow to white noise.
    """
    count = len(kinds.memory)
    prior = np.bincount(kinds.slow, kinds.prior, minlength=count)
    own = np.array([kinds.prior * np.exp(each - each.max()) for each in likelihoods]).reshape(-1, len(kinds.prior))
    times = np.array([np.bincount(kinds.slow, each, minlength=count) for each in own]).reshape(-1, count)
    together = np.sum(np.log(np.maximum(times / prior, 1e-300)), axis=0)
    common = prior * np.exp(together - together.max(initial=-np.inf))
    against = np.log(times.sum(axis=1)).sum() - together.max() - np.log(common.sum())
    alike = ALIKE / (ALIKE + (1 - ALIKE) * np.exp(min(float(against), 700.0)))
    common, alone = common / common.sum(), times / times.sum(axis=1, keepdims=True)
    time = alike * common + (1 - alike) * alone
    odds = own * (time / np.maximum(times, 1e-300))[:, kinds.slow]
    return odds / odds.sum(axis=1, keepdims=True), _drawn(kinds, own, times, common, alike)


def _drawn(kinds: Kinds, own: Array, times: Array, common: Array, alike: float) -> NDArray[np.int64]:
    """Draws of spectral shapes: first with a common correlation time of all efforts, then with individual ones."""
    rng, shared = np.random.default_rng(SEED), round(alike * DRAWS)
    time = _stratified(common, shared, rng)
    found = []
    for each, mass in zip(own, times, strict=True):
        before = (np.cumsum(mass) - mass)[time]
        places = np.searchsorted(np.cumsum(each), before + rng.random(shared) * mass[time], side="right")
        # rounding must not leave the correlation time
        first, last = (np.searchsorted(kinds.slow, time, side=side) for side in ("left", "right"))
        found.append(
            np.concatenate([np.clip(places, first, last - 1), _stratified(each / each.sum(), DRAWS - shared, rng)])
        )
    return np.array(found, dtype=np.int64).reshape(-1, DRAWS)


def _stratified(odds: Array, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Stratified draws of indices with these probabilities, in random order."""
    places = (rng.permutation(count) + 0.5) / max(count, 1)
    return np.minimum(np.searchsorted(np.cumsum(odds), places), len(odds) - 1)


def memory_length(kinds: Kinds, powers: Array) -> int:
    """Correlation length of noise with these powers [samples], at least 1."""
    shape = powers @ kinds.memory
    faded = np.flatnonzero(shape < FADED * max(float(shape[0]), 1e-300))
    return max(1, int(faded[0]) if len(faded) else len(shape))


def _filled(own: list[int], rows: Array) -> tuple[list[int], Array]:
    """Unknowns and their columns, given as rows, without those that are zero in this segment."""
    places = np.flatnonzero(rows.any(axis=1))
    return (own, rows) if len(places) == len(own) else ([own[k] for k in places], rows[places])


def _squares(A: Array, seen: NDArray[np.complex128]) -> Array:
    """Squared magnitudes of the entries of the product A seen."""
    re, im = (A @ np.array(part) for part in (seen.real, seen.imag))
    return np.asarray(re * re + im * im)


def _root(known: Array) -> Array:
    values, vectors = np.linalg.eigh(known)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))

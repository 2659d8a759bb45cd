"""Standard deviations and intervals for autocorrelated, cross-correlated and heteroscedastic residuals.

Filtered residuals are not white: neighbouring samples correlate, and the covariance for white residuals
is several times too small.  The noise of each effort is described by its spectrum (`noise`),
cross-correlation and changing variance by the scores of all efforts at a time (`scores`).  The spectrum
itself is uncertain: an interval contains 95 % of a normal distribution whose variance is drawn from the
posterior given the residuals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from minertia.identification.evidence.noise import Kinds, Residue, Spectrum, memory_length
from minertia.identification.evidence.scores import score_covariance
from minertia.identification.problem.observation import Observation
from minertia.identification.problem.solve import inverse
from minertia.identification.problem.triangles import triangle
from minertia.io.resources import one_thread

Array = NDArray[np.float64]
LEVEL = 0.95  # of intervals
NORMAL = float(ndtri(0.5 + LEVEL / 2))  # deviations in half an interval
FEWEST_FREEDOM = 2.0  # below it a deviation says nothing
LEAST_INFLATION = 0.1  # noise is hardly ever so kind to a value
STRETCH = 4096  # samples that are looked at together; noise is forgotten across their ends
UNSEEN = 1e-3  # part of a value's information that the stretches looked at must hold
STRETCHES = 12  # looked at, evenly over the logs, where there are more
KEPT = 16_000_000  # numbers of their rows in memory, of two stretches at least
GROUPS = 40  # of blocks, one of which is left out at a time
LARGEST_SHARE = 0.999  # of a direction's information that one group holds; what it holds alone cannot be compared
WIDEST = 60.0  # half of an interval over the root of its mean variance, at most


def normal_interval(value: float, deviation: float, least: float = -np.inf) -> tuple[float, float]:
    """95 % interval of a normal estimate; least: smallest value that there can be, at which it ends."""
    half = NORMAL * deviation
    return max(value - half, min(least, value)), value + half


@dataclass(frozen=True)
class Draws:
    """Uncertainty of the parameter covariance.

    ratios (values, draws): variances under posterior draws of the noise, relative to the stated variance.
    scores: effective number of independent samples of each variance, given the spectrum.  freedom: the same,
    including the uncertainty of the band powers.
    """

    ratios: Array
    scores: Array
    freedom: Array


@dataclass(frozen=True)
class Spread:
    """Standard deviations under correlated residuals, for the unknowns of a problem.

    inflation: stated standard deviation over that for white residuals.  A stated standard deviation is half of
    the 95 % interval over 1.96: if the noise level is uncertain, it differs from the root of the mean variance.
    freedom: degrees of freedom of each variance (Satterthwaite 1946).  length: autocorrelation time of the
    residuals of the middle effort, in samples; blocks: number of such lengths in the logs.  covariance: posterior
    mean covariance of all parameters; white: the covariance for white residuals.  draws: for joint tests, if the
    spectrum is known.  modelled: covariance with the correlations of the noise process, for posteriors.
    """

    inflation: Array
    freedom: Array
    length: int
    blocks: int
    covariance: Array
    white: Array
    draws: Draws | None = None
    modelled: Array | None = None

    def __repr__(self) -> str:
        typical = float(np.median(self.inflation)) if len(self.inflation) else 1.0
        return (
            f"<Spread: correlation length {self.length} samples, {self.blocks} blocks; deviations {typical:.3g} times "
            "those for white residuals (median)>"
        )

    @property
    def stated(self) -> Array:
        """Covariance with the stated standard deviations."""
        return self._with_stated(self.covariance)

    @property
    def joint(self) -> Array:
        """Covariance with the stated standard deviations, and correlations of the noise process if it is known."""
        return self._with_stated(self.covariance if self.modelled is None else self.modelled)

    def _with_stated(self, covariance: Array) -> Array:
        deviation = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
        scale = self.inflation * np.sqrt(np.diag(self.white)) / deviation
        return np.asarray(covariance * np.outer(scale, scale))

    def among(self, places: Sequence[int], count: int) -> Spread:
        """Spread of `count` unknowns: this one at the indices `places`, and zero covariance for the others."""
        inflation, freedom = np.ones(count), np.full(count, FEWEST_FREEDOM)
        covariance, white = np.zeros((2, count, count))
        own = list(places)
        inflation[own], freedom[own] = self.inflation, self.freedom
        covariance[np.ix_(own, own)], white[np.ix_(own, own)] = self.covariance, self.white
        modelled = None if self.modelled is None else np.zeros((count, count))
        if modelled is not None:
            modelled[np.ix_(own, own)] = self.modelled
        return Spread(inflation, freedom, self.length, self.blocks, covariance, white, modelled=modelled)

    def wider(self, more: Array) -> Spread:
        """Spread with this covariance in addition to the stated one."""
        modelled = None if self.modelled is None else self.joint + more
        covariance = self.stated + more
        inflation = np.sqrt(np.maximum(np.diag(covariance), 1e-300) / np.maximum(np.diag(self.white), 1e-300))
        return replace(self, inflation=inflation, covariance=covariance, modelled=modelled)

    def half_width(self, deviation: Array) -> Array:
        """Half the width of the 95 % interval of values with these stated standard deviations."""
        return np.asarray(NORMAL * deviation)


@dataclass(frozen=True, slots=True)
class Weighted:
    """Weighted rows of one log: columns (N, efforts, unknowns) and residuals (N, efforts) over the noise levels."""

    log: int
    X: Array
    e: Array


def spread(
    problem: Observation, beta: Array, sigma: Array, known: Array | None = None, values: int | None = None
) -> Spread:
    """Standard deviations under correlated residuals, relative to white noise (theory page, equation 27).

    The arguments are those of `residue_of`; errors of the prior knowledge are independent.
    """
    with one_thread():
        return spread_by(residue_of(problem, beta, sigma, known, values=values), problem.samples)


def residue_of(
    problem: Observation,
    beta: Array,
    sigma: Array,
    known: Array | None = None,
    error: Array | None = None,
    values: int | None = None,
) -> Residue:
    """Residual statistics of a fit, from which its standard deviations are computed.

    known (any, unknowns): rows of prior knowledge of the unknowns, as they entered the fit; error (any, any):
    covariance of their errors, default: the identity.  values: number of unknowns, the first ones, whose standard
    deviations are wanted (default: all).
    """
    with one_thread():
        R = problem.triangle(sigma)[:, :-1]
        prior = np.zeros((0, problem.count)) if known is None else known
        inv = inverse(triangle(np.concatenate([R, prior]))[: problem.count])
        shown = [np.flatnonzero(np.abs(total[:, :-1]).max(axis=0) > 0).tolist() for total in problem.totals]
        P = prior @ inv
        return residue_of_rows(
            _weighted(problem, beta, sigma),
            [log.samples for log in problem.logs],
            inv,
            shown,
            None if known is None else P.T @ P,
            None if error is None else P.T @ error @ P,
            values,
        )


def left_out_spread(problem: Observation, sigma: Array, prior: Array | None = None) -> Spread:
    """Standard deviations from the scores of groups of blocks of the logs, each about a fit that leaves it out.

    For equations whose noise has no stationary spectrum: rows that combine the efforts differently at each
    sample.  The covariance is unbiased under white noise (Bell and McCaffrey 2002), where a jackknife, which
    scales scores once more, is too wide with few equations per value; so are its degrees of freedom.  Fewer
    groups than values leave the joint covariance singular: it is the posterior mean under a Wishart prior with the
    correlations of white noise and as many degrees of freedom as values.  prior: equations of deviation 1 that are
    known beside those of the logs, the right-hand side last; their errors are independent.
    """
    with one_thread():
        rows = problem.blocks / np.asarray(sigma)[:, None, None]
        rows = rows.reshape(len(rows), -1, rows.shape[-1])
        known = np.zeros((0, rows.shape[-1])) if prior is None else prior
        size = np.hypot(np.linalg.norm(rows, axis=(0, 1)), np.linalg.norm(known, axis=0))
        size = np.maximum(size, 1e-300)
        each = (rows / size).transpose(0, 2, 1) @ (rows / size)
        groups = np.array([own.sum(axis=0) for own in np.array_split(each, min(len(each), GROUPS))])
        own = (known / size).T @ (known / size)
        whole = groups[:, :-1, :-1].sum(axis=0)
        L = _root_of_inverse(whole + own[:-1, :-1])
        scores, freedom = _group_scores(groups, L, own[:-1, -1])
        white, apart, K, p = L @ L.T, size[-1] * scores, len(groups), len(L)
        covariance = apart.T @ apart
        by_noise, by_prior = white, np.zeros_like(white)
        if len(known):
            by_noise, by_prior = white @ whole @ white, white @ own[:-1, :-1] @ white
        noise = np.maximum(np.diag(by_noise), UNSEEN**2 * np.diag(white))
        wider = np.sqrt(np.maximum(np.diag(covariance), 1e-300) / noise)
        covariance = (p * np.outer(wider, wider) * by_noise + (K - 1) * covariance) / (p + K - 1) + by_prior
        wider = wider * _student(freedom) / NORMAL
    inflation = np.sqrt((wider**2 * noise + np.diag(by_prior)) / np.diag(white))
    back = np.outer(1 / size[:-1], 1 / size[:-1])
    length = max(1, problem.samples // K)
    return Spread(inflation, freedom, length, K, covariance * back, white * back)


def _root_of_inverse(G: Array) -> Array:
    """Matrix L with L L' = G^-1; directions that rounding hides count as if rounding were their information."""
    values, vectors = np.linalg.eigh(G)
    return np.asarray(vectors / np.sqrt(np.maximum(values, np.finfo(float).eps * values[-1])))


def _group_scores(groups: Array, L: Array, known: Array) -> tuple[Array, Array]:
    """Change of the values due to the noise of each group (groups, values), and degrees of freedom of its squares.

    groups: products (groups, values + 1, values + 1) of the weighted rows of each group.  L L': inverse of their sum
    and of a prior's products; known: those of its rows and its right-hand side.
    """
    beta = L @ (L.T @ (groups[:, :-1, -1].sum(axis=0) + known))
    shares, V = np.linalg.eigh(L.T @ groups[:, :-1, :-1] @ L)
    shares = np.clip(shares, 0.0, LARGEST_SHARE)[:, None, :]
    turned = L @ V
    left = (groups[:, :-1, -1] - groups[:, :-1, :-1] @ beta)[:, None, :] @ turned
    scores = ((left / np.sqrt(1 - shares)) @ turned.transpose(0, 2, 1))[:, 0]
    own = np.sum(turned**2 * shares / (1 - shares), axis=2)  # variance of each group's score, but for the fit's part
    common = (turned * shares / np.sqrt(1 - shares)) @ V.transpose(0, 2, 1)
    among = -np.einsum("gvp,hvp->vgh", common, common, optimize=True)
    among[:, range(len(groups)), range(len(groups))] += own.T
    traces = np.trace(among, axis1=1, axis2=2)
    return scores, _at_least_few(traces**2 / np.maximum(np.sum(among**2, axis=(1, 2)), 1e-300))


def _weighted(problem: Observation, beta: Array, sigma: Array) -> Iterator[Weighted]:
    for rows in problem.stream():
        yield Weighted(rows.log, rows.Y / sigma[:, None], (rows.tau - rows.Y @ beta) / sigma)


def spread_of(
    rows: Iterable[Weighted], samples: Sequence[int], inverse: Array, shown: Sequence[Sequence[int]]
) -> Spread:
    """Spread for any rows without a prior; arguments as for `residue_of_rows`."""
    return spread_by(residue_of_rows(rows, samples, inverse, shown), sum(samples))


def residue_of_rows(
    rows: Iterable[Weighted],
    samples: Sequence[int],
    inverse: Array,
    shown: Sequence[Sequence[int]],
    known: Array | None = None,
    error: Array | None = None,
    values: int | None = None,
) -> Residue:
    """Residual statistics of any rows; samples: number of samples of each log; other arguments as for `Residue`."""
    lengths = [size for count in samples for size in _lengths(count)]
    fits = KEPT // max(max(lengths) * sum(len(own) for own in shown), 1)
    every = max(1, -(-len(lengths) // min(max(fits, 2), STRETCHES)))
    residue = Residue(Kinds.of(max(lengths)), inverse, shown, known, error, values)
    for k, (X, e) in enumerate(stretches(rows, samples)):
        if k % every == 0:
            residue.add(X, e)
    return residue


def _lengths(count: int) -> list[int]:
    """Lengths of equal segments of a log."""
    parts = max(1, -(-count // STRETCH))
    return [len(part) for part in np.array_split(np.arange(count), parts)]


def stretches(rows: Iterable[Weighted], samples: Sequence[int]) -> Iterator[tuple[Array, Array]]:
    """Divide the rows of logs, given in pieces of any length, into equal segments."""
    wanted = [_lengths(count) for count in samples]
    pieces: list[Weighted] = []
    log = 0
    for piece in rows:
        while piece is not None:
            if piece.log != log:
                log, pieces = piece.log, []
            missing = wanted[log][0] - sum(len(p.e) for p in pieces)
            pieces.append(Weighted(log, piece.X[:missing], piece.e[:missing]))
            rest = len(piece.e) - missing
            if rest < 0:
                break
            yield np.concatenate([p.X for p in pieces]), np.concatenate([p.e for p in pieces])
            pieces = []
            wanted[log] = wanted[log][1:]
            if not rest:
                break
            piece = Weighted(log, piece.X[missing:], piece.e[missing:])


def spread_by(residue: Residue, samples: int) -> Spread:
    """Parameter covariance due to noise (theory page, equation 27), plus that of the prior knowledge."""
    count = len(residue.white)
    inv, white = residue.inverse[:count], residue.white[:, :count]
    by_known = inv @ residue.known @ inv.T
    own_known = inv @ residue.error @ inv.T
    spectra = residue.spectra()
    noise, fourth, process = score_covariance(residue, spectra)
    alone = np.maximum(np.diag(white), 1e-300)
    whole, seen = np.maximum(alone - np.diag(by_known), 0.0), residue.each[:, :, 0].sum(axis=0)
    # 1 where all stretches are looked at
    scale = np.divide(whole, seen, out=np.zeros(count), where=seen > UNSEEN * whole)
    S = own_known + noise * np.sqrt(np.outer(scale, scale))
    variance = np.maximum(np.diag(S), LEAST_INFLATION**2 * alone)
    most = float(np.max(variance / alone, initial=1.0))
    variance = np.where((scale > 0) | (whole <= UNSEEN * alone), variance, most * alone)
    S = S + np.diag(variance - np.diag(S))
    own = np.sqrt(np.maximum(np.diag(noise) * scale, 0.0))
    modelled = own_known + process * np.outer(own, own)
    modelled += np.diag(variance - np.diag(modelled))
    scatter = fourth / 3 * (scale / variance) ** 2  # relative variance of a mean over samples, halved
    possible, by_bands = _possible(residue, spectra, np.diag(noise) * scale / variance)
    freedom = _at_least_few(2 / np.maximum(possible.var(axis=1) + 2 * scatter, 1e-6))
    scores, both = (_at_least_few(1 / np.maximum(part, 1e-6)) for part in (scatter, scatter + by_bands))
    wider = half_width_of(possible) / NORMAL * _student(both) / NORMAL
    lengths = [memory_length(residue.kinds, own.powers) for own in spectra]
    length = int(np.median(lengths)) if lengths else 1
    draws = Draws(possible / wider[:, None] ** 2, scores, both)
    return Spread(
        np.sqrt(variance / alone) * wider, freedom, length, max(1, samples // length), S, white, draws, modelled
    )


def _possible(residue: Residue, spectra: Sequence[Spectrum], by_noise: Array) -> tuple[Array, Array]:
    """Posterior draws of variances over their mean (values, draws); half their relative variance due to bands.

    by_noise: fraction of each parameter's variance that is due to noise rather than to prior knowledge.
    """
    drawn = np.asarray(sum(each @ own.drawn.T for each, own in zip(residue.each, spectra, strict=True)))
    means = np.array([each @ own.powers for each, own in zip(residue.each, spectra, strict=True)])
    mean = np.maximum(means.sum(axis=0), 1e-300)
    by_bands = np.array([own.uncertain for own in spectra]) @ (means / mean * by_noise) ** 2 / 2
    return 1 + by_noise[:, None] * (drawn / mean[:, None] - 1), by_bands


def _student(freedom: float | Array) -> Array:
    """Half-width of an interval over the standard deviation, for so many degrees of freedom."""
    from scipy.stats import t as student  # here: it takes a second to load

    return np.asarray(student.ppf(0.5 + LEVEL / 2, freedom))


def _at_least_few(freedom: Array) -> Array:
    return np.maximum(freedom, FEWEST_FREEDOM)


def half_width_of(variances: Array) -> Array:
    """Half the width of the 95 % interval of normal mixtures; each row has equally probable variances."""
    deviations = np.sqrt(np.maximum(variances, 1e-12))
    low, high = np.zeros(len(variances)), np.full(len(variances), WIDEST)
    for _ in range(30):
        middle = (low + high) / 2
        is_outside = 2 * ndtr(-middle[:, None] / deviations).mean(axis=1) > 1 - LEVEL
        low, high = np.where(is_outside, middle, low), np.where(is_outside, high, middle)
    return np.asarray(high)

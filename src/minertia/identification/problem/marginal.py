"""Prior deviations of the parameters by maximum marginal likelihood, and the fit they imply.

Parameters of one group (one link of the robot file, rotors, one kind of friction at all joints) have a Gaussian prior
whose deviations share one factor.  The factors maximise the marginal likelihood of the efforts (MacKay 1992; type II
maximum likelihood): the product of the predictions of every part of the logs from the parts before it.  An effect that
the logs do not show gets a factor near zero, a robot file that they contradict a large one.  Rows are not independent:
so many of them count as one (`memory`).  Everything is algebra on R factors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.special import ndtr

from minertia.identification.problem.diagnosis import excitation
from minertia.identification.problem.linear import is_nonnegative, link_number, symbol_of
from minertia.identification.problem.observation import Observation
from minertia.identification.problem.solve import weighted_solution
from minertia.io.arrays import Array
from minertia.robot.effects import BY_SYMBOL
from minertia.robot.parameters import LINK_SYMBOLS

START = 0.1  # factor of effects: part of the effort
USUAL_ERROR = 0.25  # relative error of masses and inertias of a file
BELIEF = 4.0  # directions that the data would have to determine to be believed as much
SMALLEST, LARGEST = 1e-4, 1.0  # factors: no effect is larger than the effort
WIDE = 100.0  # times the size at which a parameter alone explains all efforts: deviation of links without a prior
ITERATIONS, CLOSE = 40, 0.02  # of the factors, and their relative change at the end
PIVOTS = 60
JITTER = 1e-12
FILE_JITTER = 1e-6
FIRST = 0.01  # part of an effort's mean square that noise makes up at the start, at most
EXACT = 1e-10  # part of an effort's sum of squares below which nothing is told apart
LASTS = 2.0  # autocorrelation times that count as one: errors of the model last as long as the motion that shows them
LONGEST = 20_000  # rows of a log whose residuals are looked at
LINKS, FREE = "link", "free"  # with its number, as each link of a file has its own error


@dataclass(frozen=True)
class Groups:
    """Prior of the standard parameters: values and units [of each], and the group of each.

    The deviation of a parameter is its unit times the factor of its group; that of the group `FREE` is 1.
    """

    values: Array
    units: Array
    members: Mapping[str, Array]


@dataclass(frozen=True)
class Marginal:
    """Posterior of the unknowns of a problem at the most likely prior deviations.

    factors: of each group.  beta: posterior mode of the columns in use, zero elsewhere.  sigma: noise level of each
    effort.  likelihood: logarithm of the marginal likelihood.
    """

    factors: Mapping[str, float]
    beta: Array
    sigma: Array
    likelihood: float


@dataclass(frozen=True)
class PriorDeviations:
    """Prior of a fit: standard deviations of parameters by name, and noise levels of the efforts.

    memory: number of rows that count as one.
    """

    deviations: Mapping[str, float]
    memory: float
    levels: tuple[float, ...]


class MarginalLikelihood:
    """Marginal likelihood of a linear problem over the deviations of its parameters and over its columns."""

    def __init__(self, problem: Observation, groups: Groups, memory: float) -> None:
        self.rows, self.memory, self.groups = float(problem.samples), max(memory, 1.0), groups
        self.last: tuple[object, Array, Array] | None = None
        R = problem.totals
        self.normal = np.einsum("eki,ekj->eij", R, R)
        self.K = problem.model.K[list(problem.keep)]
        self.target = self.K @ groups.values - problem.shift[list(problem.keep)]
        self.parts = {name: self._part(where) for name, where in groups.members.items()}
        own = set(problem.model.standard)  # a combination may have any sign
        self.signed = np.array([name in own and is_nonnegative(symbol_of(name)) for name in problem.names])
        self.efforts = np.maximum(np.einsum("ekk->ek", self.normal)[:, -1], 1e-300)
        columns = np.einsum("ekk->ek", self.normal)[:, :-1] / self.efforts[:, None]
        self.live = columns.max(axis=0, initial=0.0) > 1e-14
        # from the levels of least squares on: from larger ones a wrong prior would be kept, and its error called noise
        _, _, levels = weighted_solution(problem.reduced(excitation(problem).independent))
        self.first = np.clip(levels**2 * self.rows / self.efforts, EXACT, FIRST) * self.efforts / self.rows

    def _part(self, where: Array) -> Array:
        root = self.K[:, where] * self.groups.units[where]
        return np.asarray(root @ root.T)

    def maximised(self, use: Array, start: Marginal | None = None, iterations: int = ITERATIONS) -> Marginal:
        """Posterior with the columns `use` (mask) at the most likely factors and noise levels."""
        factors = {name: USUAL_ERROR if name.startswith(LINKS) else START for name in self.parts if name != FREE}
        sigma2 = self.first
        if start is not None:
            factors, sigma2 = dict(start.factors), start.sigma**2
        for step in range(iterations):
            found = self._posterior(use, factors, sigma2)
            updated = {name: self._factor(name, value, found) for name, value in factors.items()}
            sigma2 = self._levels(found, sigma2)
            change = max((abs(np.log(updated[name] / value)) for name, value in factors.items()), default=0.0)
            factors = updated
            if change < CLOSE and step > 2:
                break
        return self._posterior(use, factors, sigma2).found

    def likelihood(self, use: Array, at: Marginal) -> float:
        """Logarithm of the marginal likelihood with other columns, at the factors and noise levels of a posterior."""
        return self._posterior(use, at.factors, at.sigma**2, is_full=False).found.likelihood

    def addition(self, use: Array, at: Marginal) -> Addition:
        """What another column would change in a posterior with the columns `use`."""
        own = np.flatnonzero(use & self.live)
        H = np.tensordot(1 / (at.sigma**2 * self.memory), self.normal, 1)
        P, _ = _inverse(self._prior(at.factors)[np.ix_(own, own)], FILE_JITTER)
        C, _ = _inverse(H[np.ix_(own, own)] + P, JITTER)
        units = np.sqrt(np.diag(sum(part for name, part in self.parts.items() if name in at.factors)))
        return Addition(own.tolist(), H, C, at.beta, units, self.signed)

    def _prior(self, factors: Mapping[str, float]) -> Array:
        """Prior covariance of all columns."""
        return np.asarray(sum(part * factors.get(name, 1.0) ** 2 for name, part in self.parts.items()))

    def undetermined(self, found: Marginal) -> float:
        """Largest variance of an unknown by the data alone over its prior variance.

        The prior variance of effects that the data do not show is that of a tenth of the effort.
        """
        H = np.tensordot(1 / (found.sigma**2 * self.memory), self.normal, 1)[:-1, :-1]
        V = np.zeros(len(H))
        for name, part in self.parts.items():
            V += np.diag(part) * max(found.factors.get(name, 1.0), START) ** 2
        unit = np.sqrt(np.maximum(np.diag(H), 1e-300))
        try:
            C, _ = _inverse(H / np.outer(unit, unit), 0.0)
        except np.linalg.LinAlgError:
            return float("inf")
        return float(np.max(np.diag(C) / unit**2 / np.maximum(V, 1e-300), initial=0.0))

    def _posterior(self, use: Array, factors: Mapping[str, float], sigma2: Array, *, is_full: bool = True) -> _Iterate:
        """Posterior with the columns `use`; is_full: whether more than its likelihood is wanted."""
        own = np.flatnonzero(use & self.live)
        H, V = self._weights(factors, sigma2)
        P, _ = _inverse(V[np.ix_(own, own)], FILE_JITTER)
        target = self.target[own]
        A, b = H[np.ix_(own, own)] + P, H[own, -1] + P @ target
        x, free = _bounded(A, b, self.signed[own])
        f = own[free]
        if not free.all():
            P, _ = _inverse(V[np.ix_(f, f)], FILE_JITTER)
            A, target = H[np.ix_(f, f)] + P, self.target[f]
        C, half = _inverse(A, JITTER, is_wanted=is_full)
        _, prior_half = _inverse(P, JITTER, is_wanted=False)
        beta = np.zeros(len(use))
        beta[own] = x
        rest = self._rest(beta)
        off = beta[f] - target
        likelihood = (
            -0.5 * self.rows / self.memory * float(np.sum(np.log(sigma2)))
            - 0.5 * float(np.sum(rest / sigma2)) / self.memory
            - 0.5 * float(off @ P @ off) - half + prior_half
        )  # fmt: skip
        found = Marginal(dict(factors), beta, np.sqrt(sigma2), likelihood)
        return _Iterate(found, f, P, C, off, rest)

    def _weights(self, factors: Mapping[str, float], sigma2: Array) -> tuple[Array, Array]:
        """Normal matrix of all columns and the effort, and prior covariance of the columns; the last ones are kept."""
        key = (tuple(factors.items()), sigma2.tobytes())
        if self.last is None or self.last[0] != key:
            H = np.tensordot(1 / (sigma2 * self.memory), self.normal, 1)
            self.last = key, H, self._prior(factors)
        return self.last[1:]

    def _rest(self, beta: Array) -> Array:
        """Sum of squares of the residual of each effort."""
        v = np.append(-beta, 1.0)
        return np.asarray(np.maximum(np.einsum("i,eij,j->e", v, self.normal, v), EXACT * self.efforts))

    def _factor(self, name: str, value: float, step: _Iterate) -> float:
        """Next factor of a group (MacKay's fixed point)."""
        part = self.parts[name][np.ix_(step.columns, step.columns)] * value**2
        if not np.any(part):
            return max(0.5 * value, SMALLEST)  # all its columns are held at zero
        square, freedom = value**2 * float(step.pull @ part @ step.pull), float(np.sum(step.known * part))
        if name.startswith(LINKS):
            square, freedom = square + BELIEF * USUAL_ERROR**2, freedom + BELIEF
        largest = WIDE if name.startswith(LINKS) else LARGEST
        return float(np.clip(np.sqrt(max(square, 0.0) / max(freedom, 1e-12)), SMALLEST, largest))

    def _levels(self, step: _Iterate, sigma2: Array) -> Array:
        """Next noise variances: residuals over the rows that the parameters leave."""
        at = np.ix_(step.columns, step.columns)
        used = np.array([np.sum(step.C * F[at]) for F in self.normal]) / sigma2
        return np.asarray(step.rest / np.maximum(self.rows - used, 0.1 * self.rows))


@dataclass(frozen=True)
class Addition:
    """Columns that may be added to a posterior.  own: its columns.  H: products of all columns and the efforts over
    the noise.  C: covariance of its own.  beta: its mode.  units: of each column.  signed: which cannot be negative.
    """

    own: Sequence[int]
    H: Array
    C: Array
    beta: Array
    units: Array
    signed: Array

    def second_moment(self, k: int, factors: Sequence[float]) -> tuple[float, Array]:
        """Mean square of the coefficient of column k, and the change of the own ones for a coefficient of 1.

        Its prior: zero, or with one of these factors, as probable; the marginal likelihood weighs them.
        """
        h = self.H[k, self.own]
        change = -self.C @ h
        precision = max(float(self.H[k, k] + h @ change), 1e-300)
        slope = float(self.H[k, -1] - self.H[k, :-1] @ self.beta)
        likely, squares = [0.0], [0.0]
        for factor in factors:
            whole = precision + 1 / (factor * self.units[k]) ** 2
            mean, variance = slope / whole, 1 / whole
            gain = 0.5 * slope * mean - 0.5 * np.log(whole * (factor * self.units[k]) ** 2)
            square = mean**2 + variance
            if self.signed[k]:
                z = mean / np.sqrt(variance)
                share = float(ndtr(z))
                gain += np.log(max(2 * share, 1e-300))
                square = variance + mean**2 + mean * np.sqrt(variance) * _density(z) / max(share, 1e-300)
            likely.append(gain - np.log(len(factors)))
            squares.append(square)
        weight = np.exp(np.array(likely) - max(likely))
        return float(weight / weight.sum() @ np.maximum(squares, 0.0)), change


def _density(z: float) -> float:
    return float(np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi))


@dataclass(frozen=True)
class _Iterate:
    """Posterior with what the update of the factors needs: free columns, prior precision, distance to the prior."""

    found: Marginal
    columns: Array
    P: Array
    C: Array
    off: Array
    rest: Array

    @cached_property
    def pull(self) -> Array:
        """Gradient of the prior at the posterior mode."""
        return np.asarray(self.P @ self.off)

    @cached_property
    def known(self) -> Array:
        """Precision of the prior times the part of each direction that the data determine."""
        return np.asarray(self.P - self.P @ self.C @ self.P)


def grouped(problem: Observation, values: Array, scales: Array, told: Sequence[int]) -> Groups:
    """Groups of the standard parameters of a problem.

    values, scales: of a prior, such as the robot file, and their typical magnitudes, for each standard parameter.
    told: indices of the parameters of links that the prior knows.  The unit of other parameters is the value at which
    one alone would make up all of the effort in which it acts most.
    """
    model = problem.model
    K, R = model.K[list(problem.keep)], problem.totals
    sizes = np.linalg.norm(R[:, :, :-1] @ K, axis=1) / np.maximum(np.linalg.norm(R[:, :, -1], axis=1), 1e-300)[:, None]
    natural = 1 / np.maximum(sizes.max(axis=0, initial=0.0), 1e-12)
    names: dict[str, list[int]] = {}
    units, at, known = np.array(natural), np.array(values, float), set(told)
    for k, name in enumerate(model.standard):
        symbol = symbol_of(name)
        if k in known:
            units[k] = scales[k]
            names.setdefault(f"{LINKS} {link_number(name)}", []).append(k)
        elif symbol in LINK_SYMBOLS or symbol not in BY_SYMBOL:
            units[k], at[k] = WIDE * units[k], 0.0
            names.setdefault(FREE, []).append(k)
        else:
            names.setdefault(group_of(symbol), []).append(k)
    return Groups(at, units, {name: np.array(own) for name, own in names.items()})


def memory_of(problem: Observation, times: float = LASTS) -> float:
    """Number of rows that count as one: so many mean autocorrelation times of a weighted fit's residuals."""
    part = problem.reduced(excitation(problem).independent)
    beta, _, _ = weighted_solution(part)
    whole: dict[int, list[Array]] = {}
    for log, rest in problem.rest(part.expand(beta)):
        whole.setdefault(log, []).append(rest)
    found, weights = [], []
    for parts in whole.values():
        e = np.concatenate(parts)
        e = e.reshape(len(e), -1)[:LONGEST]
        found.append(float(np.mean([autocorrelation_time(x) for x in e.T])))
        weights.append(len(e))
    return times * float(np.average(found, weights=weights))


def autocorrelation_time(x: Array) -> float:
    """Integrated autocorrelation time of a signal, in samples, over lags up to the first negative correlation."""
    x = x - x.mean()
    size = 1 << (2 * len(x) - 1).bit_length()
    power = np.abs(np.fft.rfft(x, size)) ** 2
    r = np.fft.irfft(power, size)[: max(len(x) // 4, 1)]
    if not r[0] > 0:
        return 1.0
    r = r / r[0]
    negative = np.flatnonzero(r < 0)
    end = int(negative[0]) if len(negative) else len(r)
    return float(1 + 2 * r[1:end].sum())


def group_of(symbol: str) -> str:
    """Group of an effect: smooth and plain Coulomb friction are one kind."""
    name = BY_SYMBOL[symbol].name  # that of the joint for the motor's twin
    return "FC" if name == "FCT" else name


def _inverse(A: Array, jitter: float, *, is_wanted: bool = True) -> tuple[Array, float]:
    """Inverse of a positive definite matrix where it is wanted, and half the logarithm of its determinant."""
    if not len(A):
        return np.zeros((0, 0)), 0.0
    unit = np.sqrt(np.maximum(np.diag(A), 1e-300))
    units = np.outer(unit, unit)
    scaled = A / units
    scaled.flat[:: len(A) + 1] += jitter
    L, failed = dpotrf(scaled.T, lower=1, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError("matrix is not positive definite")
    logarithm = float(np.sum(np.log(np.diag(L) * unit)))
    if not is_wanted:
        return A, logarithm
    half, _ = dpotri(L, lower=1)
    inverse = np.tril(half) + np.tril(half, -1).T
    return np.asarray(inverse / units), logarithm


def _bounded(A: Array, b: Array, signed: Array) -> tuple[Array, Array]:
    """Minimum of x'Ax / 2 - b'x with x >= 0 where `signed`, and which entries are not held at zero.

    Block principal pivoting (Portugal, Judice, Vicente 1994).
    """
    n = len(b)
    unit = np.sqrt(np.maximum(np.diag(A), 1e-300))
    A, b = A / np.outer(unit, unit) + JITTER * np.eye(n), b / unit
    free, x = np.ones(n, bool), np.zeros(n)
    fewest, left = n + 1, 3
    for _ in range(PIVOTS):
        f = np.flatnonzero(free)
        x = np.zeros(n)
        x[f] = np.linalg.solve(A[np.ix_(f, f)], b[f])
        slope = A @ x - b
        wrong = (free & signed & (x < -1e-12)) | (~free & (slope < -1e-10))
        count = int(wrong.sum())
        if not count:
            break
        if count < fewest:
            fewest, left = count, 3
        elif left:
            left -= 1
        else:
            wrong = np.arange(n) == np.flatnonzero(wrong)[-1]  # one at a time cannot cycle
        free ^= wrong
    x[signed] = np.maximum(x[signed], 0.0)
    return x / unit, free

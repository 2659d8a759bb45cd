"""Prior deviations of the parameters by maximum marginal likelihood, and the fit they imply.

Parameters of one group (one link of the robot file, rotors, one kind of friction at all joints: those where the file
has a value, and the others) have a Gaussian prior whose deviations share one factor.  The factors maximise the marginal
likelihood of the efforts (MacKay 1992; type II maximum likelihood): the product of the predictions of every part of the
logs from the parts before it.  An effect that the logs do not show gets a factor near zero, a robot file that they
contradict a large one; factors of a file's values have a prior of their own, without which a file that happens to fit
would be held exact, and so have those of viscous and Coulomb friction, which every joint has.  Rows are not
independent: so many of them count as one (`memory`).  Everything is algebra on R factors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv, dpotrf, dpotri
from scipy.special import ndtr

from minertia.identification.problem.linear import is_nonnegative, link_number, symbol_of
from minertia.identification.problem.observation import Observation
from minertia.identification.problem.solve import excited_fit
from minertia.io.arrays import Array
from minertia.robot.effects import BY_SYMBOL
from minertia.robot.parameters import LINK_SYMBOLS

Places = NDArray[np.intp]
Mask = NDArray[np.bool_]
START = 0.1  # factor of effects: part of the effort
USUAL_ERROR = 0.25  # relative error of masses, inertias, rotors and springs of a file
USUAL_FRICTION_ERROR = 0.7  # the same of its friction and offsets, which change with wear and temperature
BELIEF = 4.0  # directions that the data would have to determine to be believed as much
# joints have both kinds of friction: without this prior the most likely factor of a kind that the logs hardly show is 0
ALWAYS_THERE, USUAL_PART, PART_BELIEF = ("FV", "FC"), 0.3, 0.1  # kinds, part of the effort, and directions as above
SMALLEST, LARGEST = 1e-4, 1.0  # factors: no effect is larger than the effort
SIZES = (0.003, 0.01, 0.03, 0.1)  # factors that an effect may have whose most likely one is near zero
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
BUILT, RUBBING = "built", "rubbing"  # with its kind: effects with a value in the file, rotors and springs, and others
USUAL_ERRORS = {LINKS: USUAL_ERROR, BUILT: USUAL_ERROR, RUBBING: USUAL_FRICTION_ERROR}


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

    memory: number of rows that count as one.  errors: of the prior by name, where they are larger than its deviations:
    of effects that the most likely deviation holds near zero.
    """

    deviations: Mapping[str, float]
    memory: float
    levels: tuple[float, ...]
    errors: Mapping[str, float] = field(default_factory=dict)


class MarginalLikelihood:
    """Marginal likelihood of a linear problem over the deviations of its parameters and over its columns."""

    def __init__(self, problem: Observation, groups: Groups, memory: float) -> None:
        self.rows, self.memory, self.groups = float(problem.samples), max(memory, 1.0), groups
        self.last: tuple[object, Array, Array] | None = None
        self.mixed: tuple[bytes, Array, float] | None = None
        R = problem.totals
        self.normal = np.einsum("eki,ekj->eij", R, R)
        self.K = problem.model.K[list(problem.keep)]
        self.target = self.K @ groups.values - problem.shift[list(problem.keep)]
        self.root = self.K * groups.units
        self.names = list(groups.members)
        self.group = np.full(self.K.shape[1], len(self.names))
        for n, where in enumerate(groups.members.values()):
            self.group[where] = n
        acts = (self.root != 0).astype(float)
        shared = acts @ acts.T  # number of parameters that two columns share
        self.single = shared.sum(axis=1) == np.diag(shared)
        self.held = np.zeros(problem.count, bool)  # columns that the last posterior holds at zero
        own = set(problem.model.standard)  # a combination may have any sign
        self.signed = np.array([name in own and is_nonnegative(symbol_of(name)) for name in problem.names])
        self.efforts = np.maximum(np.einsum("ekk->ek", self.normal)[:, -1], 1e-300)
        columns = np.einsum("ekk->ek", self.normal)[:, :-1] / self.efforts[:, None]
        self.live = columns.max(axis=0, initial=0.0) > 1e-14
        # from the levels of least squares on: from larger ones a wrong prior would be kept, and its error called noise
        levels = excited_fit(problem).sigma
        self.first = np.clip(levels**2 * self.rows / self.efforts, EXACT, FIRST) * self.efforts / self.rows

    def maximised(self, use: Array, start: Marginal | None = None, iterations: int = ITERATIONS) -> Marginal:
        """Posterior with the columns `use` (mask) at the most likely factors and noise levels."""
        factors = {name: _usual_error(name) or START for name in self.names if name != FREE}
        sigma2 = self.first
        if start is not None:
            factors, sigma2 = dict(start.factors), start.sigma**2
        for step in range(iterations):
            found = self._posterior(use, factors, sigma2)
            updated = self._factors(factors, found)
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
        H, V = self._weights(at.factors, at.sigma**2)
        prior = self._prior(V, own)
        C, _ = _inverse(prior.added_to(H[np.ix_(own, own)]), JITTER)
        units = np.sqrt(self._squares(dict.fromkeys(at.factors, 1.0)))
        return Addition(own.tolist(), H, C, at.beta, units, self.signed)

    def _deviations(self, factors: Mapping[str, float], other: float) -> Array:
        """Factor of each standard parameter; other: that of groups without one."""
        each = [factors.get(name, other) for name in self.names]
        return np.asarray(np.array([*each, 0.0])[self.group])

    def _squares(self, factors: Mapping[str, float]) -> Array:
        """Prior variance of each column; zero for groups without a factor."""
        return np.asarray(self.root**2 @ self._deviations(factors, 0.0) ** 2)

    def errors(self, found: Marginal) -> dict[int, float]:
        """Root mean square difference of effects from a prior of zero, by standard parameter.

        The most likely factor of a kind of effect may be near zero by chance, where larger ones are hardly less likely:
        then the estimate is zero, and its error is not that factor.  So each effect alone may have a factor of `SIZES`,
        weighed by the marginal likelihood.  Factors of effects with a value in the robot file have a prior instead.
        """
        errors: dict[int, float] = {}
        use = np.ones(len(self.live), bool)
        for name in self.names:
            if name == FREE or _usual_error(name) is not None:
                continue
            for k, column in self._alone(self.groups.members[name]).items():
                if self.live[column]:
                    use[column] = False
                    errors[k] = float(np.sqrt(self.addition(use, found).second_moment(column, SIZES, acts=True)[0]))
                    use[column] = True
        return errors

    def _alone(self, parameters: Array) -> dict[int, int]:
        """Column of each parameter that is alone in it and in no other."""
        acts = self.root != 0
        places = {int(k): np.flatnonzero(acts[:, k]) for k in parameters}
        return {k: int(c[0]) for k, c in places.items() if len(c) == 1 and acts[c[0]].sum() == 1}

    def undetermined(self, found: Marginal) -> float:
        """Largest variance of an unknown by the data alone over its prior variance.

        The prior variance of effects that the data do not show is that of a tenth of the effort.
        """
        H = np.tensordot(1 / (found.sigma**2 * self.memory), self.normal, 1)[:-1, :-1]
        V = self._squares({name: max(found.factors.get(name, 1.0), START) for name in self.names})
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
        prior, target = self._prior(V, own), self.target[own]
        A, b = prior.added_to(H[np.ix_(own, own)]), H[own, -1] + prior.times(target)
        x, free = _bounded(A, b, self.signed[own], ~self.held[own])
        self.held[own] = np.logical_not(free)
        f = own[free]
        if not free.all():
            prior, target = self._prior(V, f), self.target[f]
            A = prior.added_to(H[np.ix_(f, f)])
        C, half = _inverse(A, JITTER, is_wanted=is_full)
        beta = np.zeros(len(use))
        beta[own] = x
        rest = self._rest(beta)
        off = beta[f] - target
        pull = prior.times(off)
        likelihood = (
            -0.5 * self.rows / self.memory * float(np.sum(np.log(sigma2)))
            - 0.5 * float(np.sum(rest / sigma2)) / self.memory
            - 0.5 * float(off @ pull) - half + prior.half
        )  # fmt: skip
        found = Marginal(dict(factors), beta, np.sqrt(sigma2), likelihood)
        return _Iterate(found, f, prior, C, pull, rest)

    def _weights(self, factors: Mapping[str, float], sigma2: Array) -> tuple[Array, Array]:
        """Normal matrix of all columns and the effort, and prior covariance of the columns; the last ones are kept."""
        key = (tuple(factors.items()), sigma2.tobytes())
        if self.last is None or self.last[0] != key:
            root = self.root * self._deviations(factors, 1.0)
            self.mixed = None
            self.last = key, np.tensordot(1 / (sigma2 * self.memory), self.normal, 1), root @ root.T
        return self.last[1:]

    def _prior(self, V: Array, columns: Places) -> _PriorPrecision:
        """Precision of the prior of some columns, from the covariance of all; the matrix of the last ones is kept."""
        single = self.single[columns]
        alone, mixed = np.flatnonzero(single), np.flatnonzero(~single)
        key = columns[mixed].tobytes()
        if self.mixed is None or self.mixed[0] != key:
            matrix, _ = _inverse(V[np.ix_(columns[mixed], columns[mixed])], FILE_JITTER)
            self.mixed = key, matrix, _inverse(matrix, JITTER, is_wanted=False)[1]
        numbers = 1 / (V[columns[alone], columns[alone]] * (1 + FILE_JITTER))
        half = self.mixed[2] + 0.5 * float(np.sum(np.log(numbers * (1 + JITTER))))
        return _PriorPrecision(alone, mixed, numbers, self.mixed[1], half)

    def _rest(self, beta: Array) -> Array:
        """Sum of squares of the residual of each effort."""
        v = np.append(-beta, 1.0)
        return np.asarray(np.maximum(self.normal @ v @ v, EXACT * self.efforts))

    def _factors(self, factors: Mapping[str, float], step: _Iterate) -> dict[str, float]:
        """Next factor of each group (MacKay's fixed point)."""
        root, count = self.root[step.columns], len(self.names) + 1
        squares = np.bincount(self.group, (step.pull @ root) ** 2, count)
        freedoms = np.bincount(self.group, step.prior.known(step.C, root), count)
        acts = np.bincount(self.group, root.any(axis=0), count) > 0
        return {
            name: self._factor(name, value, squares[n], freedoms[n]) if acts[n] else max(0.5 * value, SMALLEST)
            for n, name in enumerate(self.names)
            if (value := factors.get(name)) is not None
        }

    def _factor(self, name: str, value: float, square: float, freedom: float) -> float:
        """Next factor of a group some of whose columns are not held at zero."""
        square, freedom, usual = value**4 * float(square), value**2 * float(freedom), _usual_error(name)
        if usual is not None:
            square, freedom = square + BELIEF * usual**2, freedom + BELIEF
        elif name in ALWAYS_THERE:
            square, freedom = square + PART_BELIEF * USUAL_PART**2, freedom + PART_BELIEF
        largest = LARGEST if usual is None else WIDE
        return float(np.clip(np.sqrt(max(square, 0.0) / max(freedom, 1e-12)), SMALLEST, largest))

    def _levels(self, step: _Iterate, sigma2: Array) -> Array:
        """Next noise variances: residuals over the rows that the parameters leave."""
        C = np.zeros(self.normal.shape[1:])
        C[np.ix_(step.columns, step.columns)] = step.C
        used = self.normal.reshape(len(self.normal), -1) @ C.ravel() / sigma2
        return np.asarray(step.rest / np.maximum(self.rows - used, 0.1 * self.rows))


@dataclass(frozen=True)
class _PriorPrecision:
    """Precision of the prior of some columns: a number for those that share no parameter, a matrix for the others.

    single, mixed: these columns, among them.  half: half the logarithm of its determinant.
    """

    single: Places
    mixed: Places
    numbers: Array
    matrix: Array
    half: float

    def added_to(self, A: Array) -> Array:
        """A plus this precision, in place."""
        A[self.single, self.single] += self.numbers
        A[np.ix_(self.mixed, self.mixed)] += self.matrix
        return A

    def times(self, x: Array) -> Array:
        """Precision times a vector."""
        found = np.empty(len(x))
        found[self.single] = self.numbers * x[self.single]
        found[self.mixed] = self.matrix @ x[self.mixed]
        return found

    def known(self, C: Array, root: Array) -> Array:
        """Directions of each parameter that the data determine, over its variance; C: covariance of the posterior.

        root: columns of unit parameters.
        """
        P = self.matrix
        within = P - P @ C[np.ix_(self.mixed, self.mixed)] @ P
        alone = self.numbers - self.numbers**2 * C[self.single, self.single]
        mixed = root[self.mixed]
        return np.asarray(alone @ root[self.single] ** 2 + np.sum(mixed * (within @ mixed), axis=0))


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

    def second_moment(self, k: int, factors: Sequence[float], *, acts: bool = False) -> tuple[float, Array]:
        """Mean square of the coefficient of column k, and the change of the own ones for a coefficient of 1.

        Its prior: with one of these factors, or zero, as probable unless it acts; the marginal likelihood weighs them.
        """
        h = self.H[k, self.own]
        change = -self.C @ h
        precision = max(float(self.H[k, k] + h @ change), 1e-300)
        slope = float(self.H[k, -1] - self.H[k, :-1] @ self.beta)
        likely, squares = ([], []) if acts else ([0.0], [0.0])
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
    """Posterior with what the update of the factors needs: free columns, prior, covariance, gradient of the prior."""

    found: Marginal
    columns: Places
    prior: _PriorPrecision
    C: Array
    pull: Array
    rest: Array


def grouped(problem: Observation, values: Array, scales: Array, told: Sequence[int]) -> Groups:
    """Groups of the standard parameters of a problem.

    values, scales: of a prior, such as the robot file, and their typical magnitudes, for each standard parameter.
    told: indices of the parameters of links that the prior knows.  The unit of other parameters is the value at which
    one alone would make up all of the effort in which it acts most; of effects that the prior has a value for, this
    value and a tenth of that.
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
        elif at[k]:
            units[k] = np.hypot(at[k], START * natural[k])  # a file's value may be a tiny stand-in
            of_file = BUILT if BY_SYMBOL[symbol].inputs in (("q",), ("qdd",)) else RUBBING
            names.setdefault(f"{of_file} {group_of(symbol)}", []).append(k)
        else:
            names.setdefault(group_of(symbol), []).append(k)
    return Groups(at, units, {name: np.array(own) for name, own in names.items()})


def _usual_error(name: str) -> float | None:
    """Usual relative error of the values of a group in a robot file; None of groups without them."""
    return USUAL_ERRORS.get(name.split()[0])


def memory_of(problem: Observation, times: float = LASTS) -> float:
    """Number of rows that count as one: so many mean autocorrelation times of a weighted fit's residuals."""
    fit = excited_fit(problem)
    whole: dict[int, list[Array]] = {}
    for log, rest in problem.rest(fit.part.expand(fit.beta)):
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


def _bounded(A: Array, b: Array, signed: Mask, first: Mask) -> tuple[Array, Mask]:
    """Minimum of x'Ax / 2 - b'x with x >= 0 where `signed`, and which entries are not held at zero.

    Block principal pivoting (Portugal, Judice, Vicente 1994).  first: entries that are not held at first.
    """
    n = len(b)
    unit = np.sqrt(np.maximum(np.diag(A), 1e-300))
    A, b = A / np.outer(unit, unit) + JITTER * np.eye(n), b / unit
    free, x = np.where(signed, first, True), np.zeros(n)
    fewest, left = n + 1, 3
    for _ in range(PIVOTS):
        f = np.flatnonzero(free)
        x = np.zeros(n)
        x[f] = _solved(A[np.ix_(f, f)], b[f])
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


def _solved(A: Array, b: Array) -> Array:
    """Solution of A x = b for a matrix that is positive definite up to rounding errors."""
    _, x, failed = dposv(A.T, b, lower=1)
    return np.asarray(np.linalg.solve(A, b) if failed else x).reshape(b.shape)

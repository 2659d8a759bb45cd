"""Identifiable combinations of unknowns from logs, and statistics of the residuals of predictions.

A model stores both in its evidence, so that robots can be sampled and prediction bands computed without
the logs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from minertia.identification.posterior.between import new_log_quantiles
from minertia.io.arrays import Array
from minertia.io.errors import InputError

POSTERIOR = "posterior"  # table of a model's evidence
LEVELS = (0.5, 0.8, 0.9, 0.95, 0.98, 0.99)  # of bands, at which the scatter of held-out residuals is kept
ROUNDING = 1e-10  # of the eigenvalues of correlations
LARGEST = 1e60  # number of a model file: squares of larger ones overflow
UNKNOWN = 1e-8  # singular value over the largest one, of scaled columns, at least: of what logs do not determine
STILL = 1e-6  # deviation of an output over the largest one, at most, of a joint that stands in all fitted logs
STANDS = 0.01  # residuals over their expected deviation, at most, of a joint that stands in the held-out log
QUIETEST = 1e-12  # deviation of an output over the largest one, at least
FADED = float(np.exp(-1))  # autocorrelation that ends the correlation time
FEWEST_ROWS = 25  # of a log that tells of ground contact: half a second at the slowest rates of servos
FEWEST_LOGS = 2  # that tell how much logs differ
OWN_SIZE = 1.5  # of residuals in ground contact over others: less is what logs differ by anyway
UNDETERMINED = 2.0  # deviations of all logs' fit, beyond which the fit of the others predicts something else: of equal
# logs each has at most half of what is known, which is 1.4; twice that is known from the held-out log itself


@dataclass(frozen=True)
class Shown:
    """Identifiable linear combinations of unknowns: rows @ unknowns = values, with a covariance.

    names: the unknowns.  covariance: under correlated residuals, without prior knowledge.  own: estimates of
    unknowns that are not parameters of the robot, such as gains and delays of its servos.  positive: those of
    `own` that cannot be negative.  keeps_links: whether the fit took the link parameters from the robot file.
    file_links: values in the file of these parameters, where they are the last unknowns of the equations; empty: the
    file is exact.
    """

    names: tuple[str, ...]
    rows: Array
    values: Array
    covariance: Array
    own: Mapping[str, float] = field(default_factory=dict)
    positive: tuple[str, ...] = ()
    keeps_links: bool = False
    file_links: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return as plain data: the covariance as rows of its lower triangle."""
        return {
            "names": list(self.names),
            "rows": self.rows.tolist(),
            "values": self.values.tolist(),
            "covariance": [row[: k + 1].tolist() for k, row in enumerate(self.covariance)],
            "own": dict(self.own),
            "positive": list(self.positive),
            "keeps_links": self.keeps_links,
            **({"file_links": dict(self.file_links)} if self.file_links else {}),
        }

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Shown:
        """Create from the data of `to_dict`."""
        values = np.array(table["values"], float)
        lower = np.zeros((len(values), len(values)))
        for k, row in enumerate(table["covariance"]):
            lower[k, : k + 1] = row
        rows = np.array(table["rows"], float).reshape(len(values), len(table["names"]))
        if not all((np.abs(own) < LARGEST).all() for own in (rows, values, lower)) or np.any(np.diag(lower) < 0):
            raise ValueError("a number is not finite or too large, or a variance is negative")
        return cls(
            tuple(table["names"]),
            rows,
            values,
            lower + np.tril(lower, -1).T,
            {name: float(value) for name, value in table["own"].items()},
            tuple(table["positive"]),
            bool(table["keeps_links"]),
            {name: float(value) for name, value in table.get("file_links", {}).items()},
        )

    def with_file_links(self) -> Shown:
        """Equations of the other unknowns if the links that the fit kept are exactly those of the file."""
        count, rows = len(self.names) - len(self.file_links), len(self.values) - len(self.file_links)
        values = self.values - self.rows[:, count:] @ np.array(list(self.file_links.values()))
        return replace(
            self, names=self.names[:count], rows=self.rows[:rows, :count], values=values[:rows],
            covariance=self.covariance[:rows, :rows], file_links={},
        )  # fmt: skip

    def whitened(self) -> tuple[Array, Array]:
        """Rows and values whitened by the covariance: uncorrelated, with unit variance."""
        size = np.sqrt(np.maximum(np.diag(self.covariance), 1e-300))
        correlation = self.covariance / np.outer(size, size)
        eigenvalues, axes = np.linalg.eigh(correlation)
        W = axes.T / size / np.sqrt(np.maximum(eigenvalues, ROUNDING))[:, None]
        return np.asarray(W @ self.rows), np.asarray(W @ self.values)


@dataclass(frozen=True)
class ResidualNoise:
    """Statistics of the residuals of each output, in the fitted logs and in held-out data.

    deviation: root mean square, in the unit of the predictions.  correlation: time after which the
    autocorrelation has fallen to 1/e [s].  quantiles (outputs, LEVELS): quantiles of the absolute held-out
    residuals, divided by the root of the variance of residuals and of predictions, since held-out residuals contain
    both. held_out: description of the held-out data.  unknown: outputs of which no held-out data tell anything.
    touching: quantiles of rows in which the simulated robot touches the ground, if these have their own.
    """

    outputs: tuple[str, ...]
    deviation: Array
    correlation: Array
    quantiles: Array
    held_out: str
    unknown: tuple[str, ...] = ()
    touching: Array | None = None

    def half_widths(self, level: float, *, touching: bool = False) -> Array:
        """Half-width of each output's band, relative to the standard deviation of its predictions and residuals.

        touching: of rows in which the simulated robot touches the ground.
        """
        quantiles = self.touching if touching and self.touching is not None else self.quantiles
        normal = [float(ndtri(0.5 + own / 2)) for own in LEVELS]
        place = float(ndtri(0.5 + level / 2))
        if place > normal[-1]:
            return np.asarray(quantiles[:, -1] * place / normal[-1])
        first = np.column_stack([np.zeros(len(quantiles)), quantiles])
        return np.array([np.interp(place, [0.0, *normal], own) for own in first])

    def factors(self, level: float, *, touching: bool = False) -> Array:
        """Conformal factor of each output: half-width of its band relative to that of normal residuals."""
        return np.asarray(self.half_widths(level, touching=touching) / ndtri(0.5 + level / 2))

    @property
    def told(self) -> str | None:
        """Message on outputs of which no held-out data tell anything; None if there are none."""
        if not self.unknown:
            return None
        return (
            f"no log could be held out that determines {', '.join(self.unknown)} in the fit of the others; the factors "
            "there are those of the other joints, or of all logs where no joint has any"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return as plain data."""
        return {
            "outputs": list(self.outputs),
            "deviation": self.deviation.tolist(),
            "correlation": self.correlation.tolist(),
            "levels": list(LEVELS),
            "quantiles": self.quantiles.tolist(),
            "held_out": self.held_out,
            **({"unknown": list(self.unknown)} if self.unknown else {}),
            **({} if self.touching is None else {"touching": self.touching.tolist()}),
        }

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> ResidualNoise:
        """Create from the data of `to_dict`."""
        deviation, correlation, quantiles = (
            np.array(table[key], float) for key in ("deviation", "correlation", "quantiles")
        )
        outputs, unknown = tuple(table["outputs"]), tuple(table.get("unknown", ()))
        touching = np.array(table["touching"], float) if "touching" in table else None
        return cls(outputs, deviation, correlation, quantiles, str(table["held_out"]), unknown, touching)


P = TypeVar("P", Shown, ResidualNoise)


def posterior_part(evidence: Mapping[str, Any], name: str, part: type[P]) -> P | None:
    """Part of the posterior in a model's evidence; None without it, and an error if it is damaged."""
    table = evidence.get(POSTERIOR, {})
    if name not in table:
        return None
    try:
        return part.from_dict(table[name])
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as err:
        why = str(err).splitlines()[0]
        raise InputError(
            f"the model is damaged: the table evidence.{POSTERIOR}.{name} of its file is invalid ({why}); "
            "identify it again"
        ) from None


def value_variance(totals: Array, samples: int, covariance: Array) -> Array:
    """Mean variance of each output's predictions over the fitted rows, due to the covariance of the unknowns.

    totals (outputs, k, k + 1): R factors of each output's rows.
    """
    size = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    eigenvalues, axes = np.linalg.eigh(
        covariance / np.outer(np.where(size > 0, size, 1.0), np.where(size > 0, size, 1.0))
    )
    root = size[:, None] * axes * np.sqrt(np.maximum(eigenvalues, 0.0))
    return np.array([np.sum((R[:, : len(root)] @ root) ** 2) for R in totals]) / max(samples, 1)


def white_covariance(R: Array, columns: Sequence[int]) -> Array:
    """Covariance of some unknowns for white residuals from an R factor; very large where they are not determined."""
    size = np.linalg.norm(R[:, :-1], axis=0)
    size = np.where(size > 0, size, 1.0)
    _, singular, axes = np.linalg.svd(R[:, :-1] / size, full_matrices=False)
    least = UNKNOWN * singular.max(initial=0.0) or UNKNOWN
    half = (axes.T / np.maximum(singular, least) / size[:, None])[list(columns)]
    return np.asarray(half @ half.T)


@dataclass(frozen=True)
class HeldOut:
    """Residuals (N, outputs) of a log, or a segment of one, that a fit of the others predicts.

    by_all, by_others: variance of its predictions due to that of the unknowns, of the fit of all logs and of the
    others; rows (N, outputs), or the mean of each output.  touching: rows (N,) in which the simulated robot touches the
    ground; None without one.
    """

    residuals: Array
    by_all: Array
    by_others: Array
    touching: NDArray[np.bool_] | None = None

    def counts(self, deviation: Array) -> NDArray[np.bool_]:
        """Whether the others determine each output so well that its residuals tell of a fit of all logs.

        Those of a joint that stands, here or in all fitted logs, tell nothing of how logs of motion differ.
        """
        own, others = (np.mean(deviation**2 + np.atleast_2d(v), axis=0) for v in (self.by_all, self.by_others))
        scores = self.scores(deviation)
        size = np.sqrt(np.sum(scores**2, axis=0) / max(len(scores), 1))
        return np.asarray((others <= UNDETERMINED**2 * own) & (deviation > STILL * deviation.max()) & (size > STANDS))

    def scores(self, deviation: Array, *, touching: bool | None = None) -> Array:
        """Absolute residuals over the standard deviation of residuals and predictions; diverged rows left out.

        touching: only rows in which the robot touches the ground, or only others; None: all.
        """
        every = np.abs(self.residuals) / np.sqrt(deviation**2 + self.by_all)
        rows: NDArray[np.bool_] = np.asarray(np.isfinite(every).all(axis=1))
        if touching is not None:
            own = np.zeros(len(every), np.bool_) if self.touching is None else self.touching
            rows &= own == touching
        return np.asarray(every[rows])


def noise_between_logs(
    outputs: Sequence[str],
    fitted: Sequence[tuple[Array, float]],
    held: Sequence[HeldOut],
    held_out: str,
) -> ResidualNoise:
    """Residual statistics of fitted logs, and of a new log as the differences between held-out ones suggest.

    Outputs that the fit of the other logs does not determine do not count: a joint that only the held-out log moves.
    Rows in which the robot touches the ground have their own quantiles where their residuals are larger: friction,
    shape and give of the ground are known less well than the robot.
    """
    deviation, correlation = _levels(fitted)
    counts = np.array([own.counts(deviation) for own in held])
    told = np.asarray(counts.any(axis=0)).tolist()
    unknown = tuple(name for name, is_told in zip(outputs, told, strict=True) if not is_told)
    touching, others = None, None
    if _size_on_ground(held, counts, deviation) >= OWN_SIZE:
        touching, others = (
            _quantiles([own.scores(deviation, touching=on) for own in held], counts) for on in (True, False)
        )
    if touching is None or others is None:  # as large elsewhere, or too few rows of either kind: together
        touching, others = None, _quantiles([own.scores(deviation) for own in held], counts, rows=1, logs=1)
    assert others is not None
    return ResidualNoise(tuple(outputs), deviation, correlation, others, held_out, unknown, touching)


def _size_on_ground(held: Sequence[HeldOut], counts: NDArray[np.bool_], deviation: Array) -> float:
    """Size of residuals where the robot touches the ground over that elsewhere in the same logs; 1 of too few logs."""
    found = []
    for own, told in zip(held, counts, strict=True):
        on, off = (own.scores(deviation, touching=touching)[:, told] for touching in (True, False))
        if told.any() and min(len(on), len(off)) >= FEWEST_ROWS:
            squares = [np.log(np.maximum(np.mean(x**2, axis=0), QUIETEST)) for x in (on, off)]
            found.append(float(np.mean(squares[0] - squares[1])) / 2)
    return float(np.exp(np.mean(found))) if len(found) >= FEWEST_LOGS else 1.0


def _quantiles(
    scores: Sequence[Array],
    counts: NDArray[np.bool_],
    rows: int = FEWEST_ROWS,
    logs: int = FEWEST_LOGS,
) -> Array | None:
    """Quantiles (outputs, LEVELS) of the scores of held-out logs with enough rows; None if these are too few logs."""
    kept = [k for k, own in enumerate(scores) if len(own) >= rows]
    if len(kept) < logs:
        return None
    own = counts[kept]
    if not own.any():  # nothing is determined without any of the logs: all count, too much rather than nothing
        own = np.ones(own.shape, bool)
    return new_log_quantiles([scores[k] for k in kept], own, LEVELS)


def _levels(fitted: Sequence[tuple[Array, float]]) -> tuple[Array, Array]:
    """Root mean square of the residuals of fitted logs by output, and their mean correlation time [s]."""
    every = np.concatenate([e for e, _ in fitted])
    deviation = np.sqrt(np.nanmean(np.where(np.isfinite(every), every, np.nan) ** 2, axis=0))
    deviation = np.maximum(deviation, QUIETEST * max(float(deviation.max(initial=0.0)), 1e-300))
    times = np.array([[_correlation_time(own, period) for own in e.T] for e, period in fitted])
    return deviation, np.asarray(np.mean(times, axis=0))


def _correlation_time(e: Array, period: float) -> float:
    """Time [s] after which the autocorrelation of a residual has fallen to 1/e."""
    own = e[np.isfinite(e)]
    size = 2 * len(own)
    power = np.fft.irfft(np.abs(np.fft.rfft(own, size)) ** 2)[: len(own)]
    faded = np.flatnonzero(power < FADED * max(float(power[0]), 1e-300))
    return period * float(faded[0] if len(faded) else len(own))

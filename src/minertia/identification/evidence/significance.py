"""Significance: essential parameters, and the smallest set that predicts as well.

Methods: the 1 % rule of Izaguirre, Hashimoto, Paul, Hayward 1992; backward elimination by relative
standard deviation with an F test; the held-out error as a function of the number of parameters, with the
operations that a controller saves.  All use R factors: no log is read again.  Residuals of filtered data
are correlated, so that standard deviations and the F test use the effective number of independent samples
(see `intervals`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.codegen.generate import count_programs
from minertia.codegen.options import CodeModel
from minertia.identification.evidence.intervals import NORMAL, Spread, spread
from minertia.identification.problem.diagnosis import excitation
from minertia.identification.problem.linear import LinearModel, symbol_of
from minertia.identification.problem.observation import Observation
from minertia.identification.problem.solve import block_folds, inverse, solution, weighted_solution
from minertia.identification.problem.triangles import triangle
from minertia.io.errors import MinertiaError
from minertia.io.notebook import clipped
from minertia.io.resources import one_thread
from minertia.robot.effects import BY_SYMBOL, ROTOR_SYMBOLS

Array = NDArray[np.float64]
SHARE = 0.01  # of a joint's largest effort
MAX_RELATIVE = 0.3  # relative deviation from which a value is a candidate to go
LEVEL = 0.05  # of the F test
COUNTED = 7  # points of the curve whose operations are counted: each takes a tenth of a second


@dataclass(frozen=True)
class Significance:
    """Contributions, the essential parameters, their new estimates, and the effect of the reduction.

    contributions (unknowns, efforts): largest effort of each parameter over the joint's largest measured effort.
    covariance: of the new estimates, under correlated residuals, including the bias due to the omitted
    parameters; noise: without that bias. curve: number of parameters, relative residual on training and on
    held-out data, parameter dropped at that step; at some points multiplications and additions of the inverse
    dynamics with the remaining parameters.
    """

    names: tuple[str, ...]
    contributions: Array
    essential: tuple[str, ...]
    dropped: tuple[str, ...]
    beta: Array
    covariance: Array
    noise: Array
    condition_before: float
    condition_after: float
    residual_before: float
    residual_after: float
    rule: str
    curve: tuple[dict[str, Any], ...] = ()

    def __repr__(self) -> str:
        return (
            f"<Significance by {clipped(self.rule, 60)}: {len(self.essential)} of {len(self.names)} values stay; "
            f"residual {100 * self.residual_before:.3g} to {100 * self.residual_after:.3g} % of the effort>"
        )

    @property
    def gain(self) -> float:
        """Reduction of the condition number: value before over value after."""
        return self.condition_before / self.condition_after

    def to_dict(self) -> dict[str, Any]:
        """Return as a dict of plain data."""
        deviations = np.sqrt(np.diag(self.covariance))
        return {
            "rule": self.rule,
            "count": len(self.names),
            "essential": [
                {"name": n, "value": float(b), "deviation": float(d)}
                for n, b, d in zip(self.essential, self.beta, deviations, strict=True)
            ],
            "dropped": list(self.dropped),
            "condition_before": self.condition_before,
            "condition_after": self.condition_after,
            "relative_before": self.residual_before,
            "relative_after": self.residual_after,
            "contributions": {n: row.tolist() for n, row in zip(self.names, self.contributions, strict=True)},
            "curve": [dict(point) for point in self.curve],
        }


def contributions(problem: Observation, beta: Array) -> Array:
    """Largest effort of each parameter over the joint's largest measured effort, (unknowns, efforts)."""
    largest = np.maximum(problem.largest[:, -1], 1e-300)
    return np.asarray((problem.largest[:, :-1] * np.abs(beta) / largest[:, None]).T)


def one_percent(problem: Observation, share: float = SHARE) -> Significance:
    """Drop parameters whose peak contribution is below `share` of the peak effort of every joint, and refit."""
    with one_thread():
        problem = _complete(problem)
        whole = _Whole.of(problem)
        shares = contributions(problem, whole.beta)
        keep = [k for k in range(problem.count) if shares[k].max() >= share]
        return _result(problem, whole, shares, keep, f"contribution of at least {100 * share:g} %")


def eliminate(
    problem: Observation,
    *,
    max_relative: float = MAX_RELATIVE,
    level: float = LEVEL,
    unseen: Observation | None = None,
    counts: bool = True,
) -> Significance:
    """Backward elimination: drop the parameter of largest relative standard deviation until an F test rejects.

    unseen: validation logs for the error on other motion; without them, cross-validation folds of the training
    logs. counts: count the operations of generated code along the curve, which takes longer than the elimination
    itself.
    """
    with one_thread():
        problem = _complete(problem)
        whole = _Whole.of(problem)
        test = FTest(problem, whole.R, whole.widths, level)
        keep = list(range(problem.count))
        path = _Path(problem, unseen, whole.sigma)
        path.add(keep, None)
        stays: list[int] | None = None
        while len(keep) > 1:
            relative = test.relative(keep)
            worst = int(np.argmax(relative))
            if relative[worst] < max_relative and stays is None:
                stays = list(keep)
            smaller = [k for m, k in enumerate(keep) if m != worst]
            if stays is None and test.objects(smaller):
                stays = list(keep)
            path.add(smaller, problem.names[keep[worst]])
            keep = smaller
        stays = stays or keep
        if counts:
            path.count_operations(len(stays))
        shares = contributions(problem, whole.beta)
        rule = f"relative standard deviation below {100 * max_relative:g} %, F test at {100 * level:g} %"
        return _result(problem, whole, shares, stays, rule, tuple(path.points))


class FTest:
    """Relative standard deviations and F test for omitting parameters, both under correlated residuals."""

    def __init__(self, problem: Observation, R: Array, widths: Spread | None, level: float) -> None:
        self.R, self.widths, self.level = R, widths, level
        self.rows = problem.samples * len(problem.row_names)
        self.full = float(R[-1, -1] ** 2)

    def relative(self, keep: Sequence[int]) -> Array:
        """Relative standard deviation of each parameter in a fit of the columns `keep`."""
        T = triangle(self.R[:, [*keep, self.R.shape[1] - 1]])
        deviation = np.linalg.norm(inverse(T[:-1, :-1]), axis=1)
        if self.widths is not None:
            deviation = deviation * self.widths.inflation[list(keep)]
        return np.asarray(deviation / np.maximum(np.abs(solution(T)), 1e-300))

    def objects(self, keep: Sequence[int]) -> bool:
        """Whether a fit of the columns `keep` alone is significantly worse than that of all columns."""
        count = self.R.shape[1] - 1
        gone = [k for k in range(count) if k not in keep]
        if self.widths is not None:
            return wald(self.widths, solution(self.R)[gone], gone) < self.level
        freedom = float(max(self.rows - count, 1))
        rest = float(triangle(self.R[:, [*keep, count]])[-1, -1] ** 2)
        F = (rest - self.full) / len(gone) / max(self.full / freedom, 1e-300)
        return _exceeded(F, len(gone), freedom) < self.level


def wald(widths: Spread, values: Array, which: Sequence[int]) -> float:
    """P-value of the Wald test that some parameters are zero: b' S^-1 b under posterior draws of the noise.

    Each draw scales the covariance S; its degrees of freedom are those of the scores (Hotelling 1931).
    """
    m, draws = len(which), widths.draws
    assert draws is not None
    square = float(values @ np.linalg.solve(widths.stated[np.ix_(which, which)], values))
    scores, freedom = (max(float(np.median(own[which])), m + 1.0) for own in (draws.scores, draws.freedom))
    F = square / m * (scores - m + 1) / scores / np.maximum(draws.ratios[which].mean(axis=0), 1e-12)
    return _exceeded(F, m, freedom - m + 1)


def _exceeded(F: float | Array, count: int, freedom: float) -> float:
    """Mean probability that a variable of Fisher's distribution is above F."""
    from scipy.stats import f as fisher  # here: it takes a second to load

    return float(np.mean(fisher.sf(F, count, freedom)))


def _spread(problem: Observation, beta: Array, sigma: Array) -> Spread | None:
    """Interval widths under correlated residuals; None where there are too few blocks to estimate them."""
    enough = sum(len(r.counts) for r in problem.logs) >= 4 and problem.count
    return spread(problem, beta, sigma) if enough else None


def _complete(problem: Observation) -> Observation:
    found = excitation(problem)
    if found.rank == 0:
        raise MinertiaError("no joint moves in these logs, so no value is significant")
    return problem if found.is_complete else problem.reduced(found.independent)


@dataclass(frozen=True)
class _Whole:
    """Fit of all parameters: estimate, R factor, noise levels, and interval widths under correlated residuals."""

    beta: Array
    R: Array
    sigma: Array
    widths: Spread | None

    @classmethod
    def of(cls, problem: Observation) -> _Whole:
        beta, R, sigma = weighted_solution(problem)
        return cls(beta, R, sigma, _spread(problem, beta, sigma))


def _result(
    problem: Observation,
    whole: _Whole,
    shares: Array,
    keep: Sequence[int],
    rule: str,
    curve: tuple[Any, ...] = (),
) -> Significance:
    """Refit the remaining parameters and assemble the result."""
    keep = sorted(keep)
    part = problem.reduced(keep)
    beta, R, levels = weighted_solution(part)
    noise = _stated(_spread(part, beta, levels), R)
    every = np.sqrt(np.diag(_stated(whole.widths, whole.R)))[keep]
    own = np.maximum(np.sqrt(np.diag(noise)), 1e-300)
    wider = shifted(beta - whole.beta[keep], every) / own
    effort = float(np.linalg.norm(problem.totals[:, :, -1]))
    kept = {problem.names[k] for k in keep}
    return Significance(
        names=problem.names,
        contributions=shares,
        essential=part.names,
        dropped=tuple(n for n in problem.names if n not in kept),
        beta=beta,
        covariance=noise * np.outer(wider, wider),
        noise=noise,
        condition_before=excitation(problem).condition,  # of the rows as they are, as identify states it
        condition_after=excitation(part).condition,
        residual_before=float(np.linalg.norm(problem.residuals(whole.beta))) / effort,
        residual_after=float(np.linalg.norm(part.residuals(beta))) / effort,
        rule=rule,
        curve=curve,
    )


def _stated(widths: Spread | None, R: Array) -> Array:
    """Covariance due to noise with the stated standard deviations."""
    if widths is not None:
        return widths.stated
    inv = inverse(R[:-1, :-1])
    return np.asarray(inv @ inv.T)


def shifted(shift: Array, deviation: Array) -> Array:
    """Standard deviations of parameters, including the bias caused by omitting others.

    shift: difference from the fit of all parameters; deviation: standard deviations of that fit, which is
    assumed unbiased.  1.96 times the result is the half-width of an interval about the shifted value that
    contains the true value with a probability of 95 %.
    """
    from scipy.stats import ncx2 as noncentral  # here: it takes a second to load

    size = np.maximum(deviation, 1e-300)
    return np.asarray(size * np.sqrt(noncentral.ppf(0.95, 1, np.minimum((shift / size) ** 2, 1e6))) / NORMAL)


class _Path:
    """Errors along an elimination path: on training and on held-out data."""

    def __init__(self, problem: Observation, unseen: Observation | None, sigma: Array) -> None:
        self.problem, self.sigma, self.points = problem, sigma, list[dict[str, Any]]()
        self.kept: list[tuple[int, ...]] = []
        self.R = problem.triangle(sigma)
        if unseen is not None:
            self.folds = [(self.R, unseen.reduced(_positions(problem, unseen)).totals)]
        else:
            self.folds = [(fold.fitted, fold.left_out) for fold in block_folds(problem, sigma)]

    def add(self, keep: Sequence[int], dropped: str | None) -> None:
        columns = [*keep, self.problem.count]
        own = self._relative([(self.R, self.problem.totals)], columns)
        left = self._relative(self.folds, columns)
        self.kept.append(tuple(keep))
        self.points.append({"count": len(keep), "training": own, "left_out": left, "dropped": dropped})

    def count_operations(self, chosen: int) -> None:
        """Add the operations of the inverse dynamics with the remaining parameters, at some points of the path.

        chosen: number of parameters of a point that is always included.
        """
        steps = np.unique(np.linspace(0, len(self.points) - 1, min(COUNTED, len(self.points))).round().astype(int))
        wanted = {*steps.tolist(), len(self.points) - chosen}
        for k in sorted(wanted):
            self.points[k] |= operations(self.problem.model, [self.problem.names[c] for c in self.kept[k]])

    def _relative(self, pairs: Sequence[tuple[Array, Array]], columns: Sequence[int]) -> float | None:
        rest = effort = 0.0
        for R, totals in pairs:
            beta = np.linalg.lstsq(R[:, columns[:-1]], R[:, -1], rcond=None)[0]
            rest += float(np.sum((totals[:, :, columns] @ np.append(-beta, 1.0)) ** 2))
            effort += float(np.sum(totals[:, :, -1] ** 2))
        return float(np.sqrt(rest / effort)) if effort > 0 else None


def _positions(problem: Observation, unseen: Observation) -> list[int]:
    return [unseen.names.index(name) for name in problem.names]


def operations(model: LinearModel, names: Sequence[str]) -> dict[str, int]:
    """Multiplications and additions of generated inverse dynamics in which the other base parameters are zero.

    Parameters are run-time inputs.  Other effects (springs ...) are counted if they remain in the model.  Without
    counts for robots with force/torque sensors, whose parameters are not those of the code.
    """
    if model.robot.sensors:
        return {}
    base = model.base
    terms = {f"{t.symbol}{t.joint + 1}": t.settings for t in model.choice.terms if t.is_known or t.name in names}
    values = dict.fromkeys(model.robot.other_effects, 0.0) | dict.fromkeys(terms, 1.0)
    effects = {symbol_of(name) for name in (*base.columns, *terms)} & set(BY_SYMBOL)
    code = CodeModel(
        "base",
        rotors=bool(effects & set(ROTOR_SYMBOLS)),
        friction=bool(effects - set(ROTOR_SYMBOLS)),
        essential=[name for name in base.names if name in names],
    )
    found = count_programs(model.robot.with_parameters(values, terms), ("inverse_dynamics",), model=code)
    n = found.counts["inverse_dynamics"]
    return {"multiplications": n["multiplications"], "additions": n["additions"]}

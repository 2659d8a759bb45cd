"""Significance: which values matter, and how few of them predict as well.

The 1 % rule of Izaguirre, Hashimoto, Paul, Hayward 1992; backward elimination by relative deviation with an F test; the
error on motion that was left out against the number of values, and what a controller saves with fewer.  All on
triangles: nothing is read again.  Residuals of filtered data are correlated, so deviations and the F test count only as
many samples as are independent (see `intervals`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import f as fisher
from scipy.stats import ncx2 as noncentral

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
    """Contributions, the set that stays, its new values, and what that did.

    contributions (unknowns, efforts): largest effort of each value over the joint's largest measured effort.
    covariance: of the new values, under correlated residuals, with what leaving out the others may have shifted them
    by; noise: without that.
    curve: number of values, relative residual on the training and on what was left out, value dropped at that step; at
    some points multiplications and additions of the inverse dynamics with the values that stay.
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
        """Condition number before over after."""
        return self.condition_before / self.condition_after

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
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
    """Largest effort of each value at each joint over that joint's largest measured effort, (unknowns, efforts)."""
    largest = np.maximum(problem.largest[:, -1], 1e-300)
    return np.asarray((problem.largest[:, :-1] * np.abs(beta) / largest[:, None]).T)


def one_percent(problem: Observation, share: float = SHARE) -> Significance:
    """Drop every value whose largest contribution to any effort stays under a share of it, and fit the rest again."""
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
    """Drop the value with the largest relative deviation, one at a time, as long as an F test does not object.

    unseen: logs for the error on motion not used; without them, cross-validation folds of the training.  counts: count
    the operations of generated code along the curve, which takes longer than the rest.
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
        rule = f"relative deviation below {100 * max_relative:g} %, F test at {100 * level:g} %"
        return _result(problem, whole, shares, stays, rule, tuple(path.points))


class FTest:
    """Relative deviations and the F test of leaving values out, both under correlated residuals."""

    def __init__(self, problem: Observation, R: Array, widths: Spread | None, level: float) -> None:
        self.R, self.widths, self.level = R, widths, level
        self.rows = problem.samples * len(problem.row_names)
        self.full = float(R[-1, -1] ** 2)

    def relative(self, keep: Sequence[int]) -> Array:
        """Relative deviation of each value in a fit of some columns."""
        T = triangle(self.R[:, [*keep, self.R.shape[1] - 1]])
        deviation = np.linalg.norm(inverse(T[:-1, :-1]), axis=1)
        if self.widths is not None:
            deviation = deviation * self.widths.inflation[list(keep)]
        return np.asarray(deviation / np.maximum(np.abs(solution(T)), 1e-300))

    def objects(self, keep: Sequence[int]) -> bool:
        """Whether a fit of some columns is worse than noise explains."""
        count = self.R.shape[1] - 1
        gone = [k for k in range(count) if k not in keep]
        if self.widths is not None:
            return wald(self.widths, solution(self.R)[gone], gone) < self.level
        freedom = float(max(self.rows - count, 1))
        rest = float(triangle(self.R[:, [*keep, count]])[-1, -1] ** 2)
        F = (rest - self.full) / len(gone) / max(self.full / freedom, 1e-300)
        return bool(fisher.sf(F, len(gone), freedom) < self.level)


def wald(widths: Spread, values: Array, which: Sequence[int]) -> float:
    """P value of some values that could be zero: of b' S^-1 b under draws from the posterior of the noise.

    Each draw multiplies the covariance S; the scores that tell S have so many degrees of freedom (Hotelling 1931).
    """
    m, draws = len(which), widths.draws
    assert draws is not None
    square = float(values @ np.linalg.solve(widths.stated[np.ix_(which, which)], values))
    scores, freedom = (max(float(np.median(own[which])), m + 1.0) for own in (draws.scores, draws.freedom))
    F = square / m * (scores - m + 1) / scores / np.maximum(draws.ratios[which].mean(axis=0), 1e-12)
    return float(np.mean(fisher.sf(F, m, freedom - m + 1)))


def _spread(problem: Observation, beta: Array, sigma: Array) -> Spread | None:
    """Widths under correlated residuals, where there are blocks enough to tell."""
    enough = sum(len(r.counts) for r in problem.logs) >= 4 and problem.count
    return spread(problem, beta, sigma) if enough else None


def _complete(problem: Observation) -> Observation:
    found = excitation(problem)
    if found.rank == 0:
        raise MinertiaError("nothing moved in these logs, so no value is significant")
    return problem if found.is_complete else problem.reduced(found.independent)


@dataclass(frozen=True)
class _Whole:
    """The fit of all values: their triangle, noise levels, and widths under correlated residuals."""

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
    """Fit the values that stay again."""
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
    """Covariance of noise with the deviations that are stated."""
    if widths is not None:
        return widths.stated
    inv = inverse(R[:-1, :-1])
    return np.asarray(inv @ inv.T)


def shifted(shift: Array, deviation: Array) -> Array:
    """Deviations of values beside which others were left out, whatever those others are.

    shift: from the fit of all values, with its deviations.  The truth lies about that fit; half of an interval about
    the shifted value that holds it in 95 % of cases is 1.96 of these deviations.
    """
    size = np.maximum(deviation, 1e-300)
    return np.asarray(size * np.sqrt(noncentral.ppf(0.95, 1, np.minimum((shift / size) ** 2, 1e6))) / NORMAL)


class _Path:
    """Errors along an elimination: on the training, and on what was left out."""

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
        """Add multiplications and additions of the inverse dynamics of the values that stay, at some points.

        chosen: number of values of a point that must be among them.
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
    """Multiplications and additions of generated inverse dynamics whose other base parameters are zero.

    Parameters enter at run time.  Of the other effects (springs ...) those of the model that stay are counted.
    """
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

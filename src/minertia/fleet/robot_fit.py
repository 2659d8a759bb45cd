"""Estimates of one robot over its days, with standard deviations under day effects, or from one day's time blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from scipy.special import stdtrit

from minertia.fleet.day_memory import FEWEST_DAYS, DayMemory
from minertia.fleet.evidence import LEFT_OUT, FleetEvidence
from minertia.fleet.fit_result import RobotFit
from minertia.fleet.levels import Levels, RobotSums, RobotValues
from minertia.identification.evidence.intervals import FEWEST_FREEDOM, LEVEL, NORMAL
from minertia.identification.problem.solve import solution
from minertia.io.arrays import Array
from minertia.io.notebook import plural


def robot_fit(robot: str, values: RobotValues, sums: RobotSums, memory: DayMemory, half_life: float | None) -> RobotFit:
    """Mean values of a robot over its days, with standard deviations under autocorrelated day effects.

    The standard deviations of the values that are constant over the days are cluster-robust, with days as
    clusters.
    """
    count = len(sums.days)
    age = sums.days[-1] - np.array(sums.days)
    weight = (np.ones(count) if half_life is None else 0.5 ** (age / half_life))[:, None] * np.isfinite(values.days)
    total = weight.sum(axis=0)
    shown = total > 0
    part = weight / np.where(shown, total, 1.0)
    known = np.nan_to_num(values.days)
    mean = np.where(shown, np.sum(part * known, axis=0), np.nan)
    spread = np.sum(part * (known - np.nan_to_num(mean)) ** 2, axis=0)
    square = np.sum(part**2, axis=0)
    number = np.where(shown, 1 / np.where(shown, square, 1.0), 0.0)  # days that the weights stand for
    counts, which = np.unique(np.rint(number).astype(int), return_inverse=True)
    of_mean = np.array([memory.of_mean(int(n)) for n in counts])[which]
    variance = spread * of_mean / np.maximum(1 - of_mean, 1e-3)  # the sample's own spread misses the mean's
    freedom = np.maximum(1 / np.maximum(of_mean, 1e-3) - 1, FEWEST_FREEDOM)
    deviation = np.sqrt(variance + _from_own(sums, values.day_names))
    own_deviation = np.sqrt(np.maximum(np.diag(values.covariance), 0.0))
    own_freedom = np.full(len(own_deviation), max(count - 1.0, FEWEST_FREEDOM))
    names = (*values.day_names, *values.own)
    all_values = np.concatenate([mean, np.array(list(values.own.values()))])
    all_freedom = np.concatenate([freedom, own_freedom])
    wider = stdtrit(all_freedom, 0.5 + LEVEL / 2) / NORMAL
    stated = np.concatenate([deviation, own_deviation]) * wider
    hidden = {n: f"{n} was not excited on any day" for n, ok in zip(values.day_names, shown, strict=True) if not ok}
    hidden |= {n: f"{n} was not excited" for n, s in zip(values.own, own_deviation, strict=True) if s == 0}
    remarks: tuple[str, ...] = ()
    if count < FEWEST_DAYS:
        stated = np.full(len(names), np.nan)
        remarks = (f"{plural(count, 'day')} of logs are too few to estimate the variation between days",)
    return RobotFit(
        robot, (sums.days[0], sums.days[-1]), count, names, all_values, stated, all_freedom, hidden, remarks
    )


def _from_own(sums: RobotSums, names: Sequence[str]) -> Array:
    """Variance of the means over days that is due to the uncertainty of the robot's constant values.

    This error is common to all days, so that averaging over days does not reduce it.
    """
    found, place = dict.fromkeys(names, 0.0), {name: k for k, name in enumerate(sums.names)}
    for own, J, rest in sums.day_head.mean_slopes():
        columns = [k for k, name in enumerate(rest) if name in place]
        places = [place[rest[k]] for k in columns]
        J = J[:, columns]
        found |= dict(zip(own, np.sum(J @ sums.covariance[np.ix_(places, places)] * J, axis=1).tolist(), strict=True))
    return np.array([found[name] for name in names])


def from_stretches(
    own: RobotFit,
    levels: Levels,
    sigma: Array,
    shared: Mapping[str, float],
    one_day: Callable[[str], FleetEvidence | None],
) -> RobotFit:
    """Estimates and standard deviations of a robot with few days, from the time blocks of one of them."""
    if own.count >= FEWEST_DAYS:
        return own
    evidence = one_day(own.robot)
    if evidence is None or evidence.stretches is None:
        return own
    wanted = [n for n in (*levels.day, *levels.robot) if n not in own.not_shown]
    part = evidence.columns((*wanted, *levels.type)).fixed({n: shared[n] for n in levels.type}).weighted(sigma)
    spread, beta = part.spread(), solution(part.total)
    white = np.sqrt(np.diag(spread.white))
    remarks = ["standard deviations are those within a day and do not include the variation between days"]
    if evidence.stretches.triangles is None and part.unexplained(beta) > LEFT_OUT:
        remarks.append("omitted columns explain much of this day, so its standard deviations are unreliable")
    return RobotFit(
        own.robot, own.days, own.count, tuple(wanted), beta, spread.inflation * white, spread.freedom,
        own.not_shown, tuple(remarks),
    )  # fmt: skip

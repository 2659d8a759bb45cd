"""Delay of the logged efforts behind the positions, from what a fit leaves of them.

Efforts that are logged d too late are tau(t) = tau_model(t - d), so a fit leaves -d dtau_model/dt.  d is the same for
all joints, as stamps and filters are; other errors of a model resemble a delay at some joints or in parts of a log.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.prepared import EffortLog
from minertia.identification.problem.linear import LinearModel
from minertia.identification.problem.path import with_path
from minertia.identification.problem.prediction import load_efforts, predict
from minertia.identification.problem.rows import RowMaker
from minertia.identification.problem.solve import normal_products, normal_solution
from minertia.identification.problem.tried import Tried
from minertia.identification.signals.filtering import Motion, evaluated_at
from minertia.io.arrays import Array

DELAY = "delay"  # name of the choice
PARTS = 8  # of all logs together, at least
FEWEST = 2  # parts of a log
SURE = 4.0  # deviations between parts of the logs, below which it may be chance
# deviation of the joints' delays over their mean, above which it is another error: friction of gears that yield lags
# encoders at motors by another time at each joint
DIFFERENT = 0.4
# other errors can look like a delay of all joints, too: it is corrected if predictions of left-out parts gain much
# (relative reduction of squares), or where it is beyond all doubt (deviations)
GAIN, DOUBTLESS = 0.15, 8.0
WORSE = 0.1  # growth of the squares that a log leaves, above which the delay is not its own
LONGEST = 0.03  # s, found at once: filters and stamps are not later; the verdict names the fault in the set-up instead
MOST = 30_000_000  # numbers of the regressors of all logs that are looked at, about: 240 MB
OVERSAMPLED = 8  # samples of the regressor in a period of the evaluation's cut-off
STEPS = 4  # of the unknowns and the delay
HARDLY = 1e-5  # singular value over the largest one below which a direction makes up for nothing


@dataclass(frozen=True)
class Delay:
    """Time by which efforts lag the positions [s].

    gain: relative reduction of the error of predictions of left-out parts.  reason: why it is not corrected, if not.
    """

    seconds: float
    gain: float
    reason: str = ""

    @property
    def tried(self) -> Tried:
        """Record of the choice."""
        return Tried(DELAY, f"{1e3 * self.seconds:.3g} ms", self.gain, not self.reason, self.reason)

    @property
    def sentence(self) -> str:
        """Message on a corrected delay."""
        word = "lag" if self.seconds > 0 else "lead"
        return (
            f"the efforts {word} the positions by about {1e3 * abs(self.seconds):.3g} ms and are shifted by that in "
            f"all logs: error of predictions {-100 * self.gain:+.2g} % (delay of [drive] sets another, 0 none)"
        )


def effort_delay(model: LinearModel, beta: Array, logs: Sequence[EffortLog]) -> Delay | None:
    """Delay that the residuals of a fit show in its logs; None where they cannot."""
    sides = [_sides(model, beta, log, MOST // len(logs)) for log in logs]
    each = _sums(sides, max(FEWEST, -(-PARTS // len(logs))))
    sums = [part for own in each for part in own]
    if len(sums) < PARTS:
        return None
    of_log = np.repeat(np.arange(len(each)), [len(own) for own in each])
    parts = np.array(sums)  # (parts, 3, joints)
    whole = parts.sum(axis=0)
    shown = (whole[1] > 0) & (whole[2] > 0)
    if not shown.any():
        return None
    parts = parts[:, :, shown] / whole[2, shown]  # each joint counts by the squares that it leaves
    late, left = _without_each(parts.sum(axis=2))
    seconds, deviation = _jackknife(late)
    (_, _, before), after = parts.sum(axis=(0, 2)), left.sum()
    gain = 1 - np.sqrt(after / before)
    worst = max(_growth(parts[of_log == k].sum(axis=(0, 2)), seconds) for k in set(of_log))
    reason = ""
    if abs(seconds) > LONGEST:
        reason = "longer than that of a log whose signals belong together"
    elif abs(seconds) < SURE * deviation:
        reason = "it differs between parts of the logs"
    elif worst > WORSE:
        reason = "it differs between logs"
    elif _spread(parts.sum(axis=0), seconds) > DIFFERENT * abs(seconds):
        reason = "it differs between joints"
    elif after > (1 - GAIN) * before and abs(seconds) < DOUBTLESS * deviation:
        reason = "predictions are hardly better"
    return Delay(float(seconds), float(gain), reason)


@dataclass(frozen=True)
class _Sides:
    """Predicted efforts, what a fit leaves of the measured ones (N, joints), and regressor (N, joints, unknowns).

    rate_hz: of the rows.
    """

    predicted: Array
    rest: Array
    columns: Array
    rate_hz: float

    def slope(self, change: Array) -> Array:
        """Change of the efforts (N, joints) by a delay [1/s], where the unknowns change, too.

        Differences of neighbours lose a quarter of the slope at the cut-off of the evaluation, splines 2 %.
        """
        from scipy.interpolate import CubicSpline  # loaded where it is used

        efforts = self.predicted + self.columns @ change
        t = np.arange(len(efforts)) / self.rate_hz
        return -np.asarray(CubicSpline(t, efforts)(t, 1))


def _sides(model: LinearModel, beta: Array, log: EffortLog, most: int) -> _Sides | None:
    """Both sides of a log through the evaluation filter; None of a log that is not evaluated.

    most: numbers of its regressor, beyond which the rest of the log is not read.
    """
    if log.evaluation is None:
        return None
    sides, columns = list[tuple[Array, Array]](), list[Array]()
    for block in with_path(model, log.judged):
        sides.append(log.compared(block, predict(model, beta, block, samples=log.states)))
        columns.append(_columns(model, beta, log, block))
        if sum(own.size for own in columns) > most:
            break
    measured, predicted = (np.concatenate(side) for side in zip(*sides, strict=True))
    return _Sides(predicted, measured - predicted, np.concatenate(columns), log.evaluation.rate_hz)


def _columns(model: LinearModel, beta: Array, log: EffortLog, block: Motion) -> Array:
    """Regressor (N, joints, unknowns) of a block through the evaluation filter, from as few samples as that needs."""
    assert log.evaluation is not None and block.instants is not None
    load = load_efforts(model, beta, log.states) if model.choice.needs_load else None
    few = _thinned(block, int(block.rate_hz / (OVERSAMPLED * log.evaluation.cutoff_hz)))
    Y = np.concatenate([own for own, _ in RowMaker(model, load, samples=log.states).rows(few)])
    unit = log.in_unit(np.eye(np.asarray(block.tau).shape[1]))[np.ix_(model.rows, model.rows)]
    flat = np.einsum("jr,njk->nrk", unit, Y).reshape(len(Y), -1)
    shown = np.flatnonzero(flat.any(axis=0))
    found = np.zeros((len(block.instants), flat.shape[1]))
    found[:, shown] = evaluated_at(block.instants, few.t, np.ascontiguousarray(flat[:, shown]), log.evaluation)
    return found.reshape(-1, *Y.shape[1:])


def _thinned(block: Motion, step: int) -> Motion:
    """Every step-th sample of a block, not filtered."""
    own = slice(None, None, max(step, 1))
    return Motion(
        *(block.t[own], block.q[own], block.qd[own], block.qdd[own], block.tau[own]),
        block.rate_hz / max(step, 1),
        source=block.source,
        channels={name: values[own] for name, values in block.channels.items()},
        projection=None if block.projection is None else block.projection[own],
        noise=block.noise,
    )


def _sums(logs: Sequence[_Sides | None], count: int) -> list[list[Array]]:
    """Sums (3, joints) of each part of each log: products of what is left and the slope, squares of either.

    The fit makes up for part of a delay: as in every regression, only what its columns cannot hold of the slope tells.
    The whole slope would show a delay too short, and by another part of it at each joint.  As the fit itself is changed
    by the delay, its unknowns and the delay are found in turn (Gauss and Newton).
    """
    used = [log for log in logs if log is not None and len(log.rest) >= 3 * count]
    if not used:
        return []
    size = np.sqrt(sum(np.sum(log.rest**2, axis=0) for log in used) / sum(len(log.rest) for log in used))
    weight = np.divide(1.0, size, out=np.zeros(len(size)), where=size > 0)
    change = np.zeros(used[0].columns.shape[2])
    for _ in range(STEPS):
        slopes = [log.slope(change) for log in used]
        sides = [np.stack([slope, log.rest], axis=2) * weight[:, None] for log, slope in zip(used, slopes, strict=True)]
        each = [normal_products(log.columns * weight[:, None], own) for log, own in zip(used, sides, strict=True)]
        held, left = normal_solution(np.sum(each, axis=0), HARDLY).T
        own = [slope - log.columns @ held for log, slope in zip(used, slopes, strict=True)]
        shown = sum(_products(x * weight, log.rest * weight).sum(axis=1) for log, x in zip(used, own, strict=True))
        change = left - float(shown[0] / max(shown[1], 1e-300)) * held
    parts = [np.array_split(np.arange(len(log.rest)), count) for log in used]
    return [
        [_products(x[part], log.rest[part]) for part in rows] for log, x, rows in zip(used, own, parts, strict=True)
    ]


def _products(x: Array, y: Array) -> Array:
    return np.stack([np.sum(x * y, axis=0), np.sum(x * x, axis=0), np.sum(y * y, axis=0)])


def _without_each(sums: Array) -> tuple[Array, Array]:
    """Delays from all but each of the sums (parts, 3), and the squares that these leave of it."""
    others = sums.sum(axis=0) - sums
    late = others[:, 0] / np.maximum(others[:, 1], 1e-300)
    return late, sums[:, 2] - 2 * late * sums[:, 0] + late**2 * sums[:, 1]


def _spread(sums: Array, late: float) -> float:
    """Deviation of the delays of joints (3, joints) from one [s], each counted by what it tells."""
    return float(np.sqrt(np.average((sums[0] / sums[1] - late) ** 2, weights=sums[1])))


def _growth(sums: Array, late: float) -> float:
    """Relative growth of the squares of sums (3,) by a delay."""
    return float((late**2 * sums[1] - 2 * late * sums[0]) / max(sums[2], 1e-300))


def _jackknife(values: Array) -> tuple[float, float]:
    """Mean of estimates from all but each part, and its standard deviation."""
    mean, count = float(np.mean(values)), len(values)
    return mean, float(np.sqrt((count - 1) / count * np.sum((values - mean) ** 2)))


def corrected(campaign: Campaign, seconds: float) -> Campaign:
    """Campaign that takes a delay [s] from its efforts, in addition to that of its drive."""
    drive = replace(campaign.map.drive, delay=(campaign.map.drive.delay or 0.0) + seconds)
    return replace(campaign, columns=replace(campaign.map, drive=drive))

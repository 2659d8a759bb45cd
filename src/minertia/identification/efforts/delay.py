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
from minertia.identification.problem.prediction import predict
from minertia.identification.problem.tried import Tried
from minertia.io.arrays import Array

DELAY = "delay"  # name of the choice
PARTS = 8  # of all logs together, at least
FEWEST = 2  # parts of a log
SURE, AGREED = 4.0, 2.0  # deviations, between parts of the logs and between joints, below which it may be chance
# other errors of the model can look like a delay of all joints in all parts of a short log: so it is corrected if
# predictions of left-out parts gain much (relative reduction of squares), or where it is beyond all doubt (deviations)
GAIN, DOUBTLESS = 0.1, 8.0
LONGEST = 0.03  # s, found at once: filters and stamps are not later; the verdict names the fault in the set-up instead
MOST = 500_000  # rows of a log that are looked at


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
    each = [_sums(model, beta, log, max(FEWEST, -(-PARTS // len(logs)))) for log in logs]
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
    elif worst > GAIN:
        reason = "it differs between logs"
    elif shown.sum() > 2 and abs(seconds) < AGREED * _jackknife(_without_each(parts.sum(axis=0).T)[0])[1]:
        reason = "it differs between joints"
    elif after > (1 - GAIN) * before and abs(seconds) < DOUBTLESS * deviation:
        reason = "predictions are hardly better"
    return Delay(float(seconds), float(gain), reason)


def _sums(model: LinearModel, beta: Array, log: EffortLog, count: int) -> list[Array]:
    """Products of what is left and the slope of the efforts, squares of the slope and of what is left (3, joints)."""
    found, rows = list[Array](), 0
    if log.evaluation is None:
        return found
    sides = list[tuple[Array, Array]]()
    for block in with_path(model, log.judged):
        sides.append(log.compared(block, predict(model, beta, block, samples=log.states)))
        rows += len(sides[-1][0])
        if rows > MOST:
            break
    measured, predicted = (np.concatenate(side) for side in zip(*sides, strict=True))
    if len(measured) < 3 * count:
        return found
    slope = -np.gradient(predicted, 1 / log.evaluation.rate_hz, axis=0)
    rest = measured - predicted
    for part in np.array_split(np.arange(len(rest)), count):
        x, y = slope[part], rest[part]
        found.append(np.stack([np.sum(x * y, axis=0), np.sum(x * x, axis=0), np.sum(y * y, axis=0)]))
    return found


def _without_each(sums: Array) -> tuple[Array, Array]:
    """Delays from all but each of the sums (parts, 3), and the squares that these leave of it."""
    others = sums.sum(axis=0) - sums
    late = others[:, 0] / np.maximum(others[:, 1], 1e-300)
    return late, sums[:, 2] - 2 * late * sums[:, 0] + late**2 * sums[:, 1]


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

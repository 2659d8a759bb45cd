"""Selection of further effects, besides the daily friction, for the fit of a fleet."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from minertia.fleet.columns import DAY, ROBOT
from minertia.fleet.day_elimination import without_days
from minertia.fleet.day_stack import DayStack
from minertia.fleet.levels import Levels
from minertia.fleet.packed_stack import PackedStack
from minertia.identification.problem.linear import symbol_of
from minertia.identification.problem.triangles import upright
from minertia.io.arrays import Array

CORRELATION = 20.0  # samples that count as one in the choice of effects, where the records do not say


def chosen_symbols(
    stacks: Sequence[DayStack | PackedStack], sigma: Array, correlation: float = CORRELATION
) -> tuple[str, ...]:
    """Select the effects of the fit: FV, FC, OFF, and further effects that clearly improve it (BIC)."""
    levels = Levels.of(stacks[0].layout)
    present = [s for s in ROBOT if any(symbol_of(n) == s for n in levels.robot)]
    gain = dict.fromkeys(present, 0.0)
    for stack in stacks:
        left = without_days(stack.weighted(sigma), levels.day, (*levels.robot, *levels.type)).evidence
        for R, own, samples in zip(left.triangles, left.layout.seen, left.samples, strict=True):
            count = max(float(samples) / correlation, 2.0)
            for symbol in present:
                gone = [k for k, c in enumerate(own) if symbol_of(left.layout.names[c]) == symbol]
                gain[symbol] += _gain(R, gone, count)
    return (*DAY, *(s for s in present if gain[s] > 0))


def _gain(R: Array, gone: Sequence[int], count: float) -> float:
    """Improvement of the Bayesian information criterion by the columns `gone`, for `count` rows."""
    shown = [k for k in gone if np.linalg.norm(R[:, k]) > 0]
    if not shown:
        return 0.0
    kept = [k for k in range(R.shape[1]) if k not in shown]
    full, without = R[-1, -1] ** 2, upright(R[:, kept])[-1, -1] ** 2
    if full <= 0:
        return float("inf") if without > 0 else 0.0
    return float(count * np.log(without / full) - len(shown) * np.log(count))

"""How well the learnt viscous friction is known, to which the sizes of its changes are relative.

What no column describes, such as gear ripple, returns with every cycle of a program: it biases the viscous friction of
a robot in a way that none of its days shows, and scales all relative changes.  The other robots of its type show it:
their levels scatter by more than robots differ.  The level of a robot is a compromise between its own and that of its
type.  Dry friction needs none: its bias is a small part of it.

The rule was chosen on simulated robots of one fleet (`python -m benchmarks.fleet_days`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from minertia.fleet.streams import RobotStreams
from minertia.io.arrays import Array

FEWEST = 10  # robots of a type from which on their scatter is estimated
NORMAL = 1.4826  # standard deviation of a normal variable over its median absolute deviation
VISCOUS = "FV"
Level = tuple[str, str]  # robot and joint


@dataclass(frozen=True)
class LevelScale:
    """factor: learnt level of a robot over its estimate from all robots.  deviation: of the estimate, relative."""

    factor: float = 1.0
    deviation: float = 0.0


def level_scales(robots: Iterable[RobotStreams]) -> dict[Level, LevelScale]:
    """Scale of the viscous friction of each joint of the robots of one type; none for types of few robots.

    Robots are taken to differ as much as in the levels that scatter least (lower quartile over joints, viscous and
    Coulomb friction); the rest of the scatter is bias.  A level far outside has as much bias as that takes.
    """
    known: dict[tuple[str, str], dict[str, float]] = {}
    for own in robots:
        for key, level in own.levels.items():
            known.setdefault(key, {})[own.robot] = level
    ratios = {key: _ratios(levels) for key, levels in known.items() if len(levels) >= FEWEST}
    if not ratios:
        return {}
    scatter = {key: NORMAL * float(np.median(np.abs(own - 1.0))) for key, own in ratios.items()}
    usual = float(np.quantile(list(scatter.values()), 0.25))
    return {
        (robot, key[1]): _scale(float(ratio), min(usual, scatter[key]) ** 2, scatter[key] ** 2)
        for key, own in ratios.items()
        if key[0] == VISCOUS
        for robot, ratio in zip(known[key], own, strict=True)
    }


def _ratios(levels: dict[str, float]) -> Array:
    """Levels over their median; all 1 where that is 0."""
    values = np.array(list(levels.values()))
    middle = float(np.median(values))
    return values / middle if middle else np.ones(len(values))


def _scale(ratio: float, between: float, total: float) -> LevelScale:
    """Scale of one level, given the variance of true levels between robots and the total variance."""
    bias = max(total, (ratio - 1.0) ** 2) - between
    if bias <= 0 or between <= 0:
        return LevelScale()
    weight = between / (between + bias)
    level = 1.0 + weight * (ratio - 1.0)
    return LevelScale(ratio / level, float(np.sqrt(weight * bias)) / abs(level))

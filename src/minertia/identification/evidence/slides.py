"""Weight on a prismatic joint: a constant effort that a fitted offset absorbs, and with it a wrong gain or mounting.

On a revolute joint the gravity torque varies with the motion and is distinguishable from an offset.  Along a prismatic
joint it is constant, so that only the file's masses distinguish it from an offset, and only as well as they are known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from minertia.identification.evidence import thresholds as at

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Slide:
    """Prismatic joint along which gravity is constant; all values in N.

    weight: weight of the links that it moves.  asked: component of this weight along the axis.  stated:
    offset in the robot file.
    """

    weight: float
    asked: float
    stated: float

    def usual(self, varying: float) -> float:
        """Largest offset [N] that errors of the file and friction explain.

        varying: standard deviation of the effort [N].
        """
        each = at.MASSES * self.asked, at.LEVEL * self.weight, at.USUAL_OFFSET * varying  # by a cause of its own
        return math.hypot(*each)

    def excess(self, offset: float, varying: float) -> float:
        """Excess [N] of an offset over the largest one that errors of the file and friction explain."""
        return max(abs(offset - self.stated) - self.usual(varying), 0.0)


def slide_of(along: Array, gravity: Array, velocity: Array, stated: float) -> Slide | None:
    """Slide of a prismatic joint; None if an offset does not reveal its weight.

    along: its static efforts under 1 m/s2 of gravity in each direction of the base, (N, 3) [kg]; gravity [m/s2].
    """
    weight = float(np.mean(np.linalg.norm(along, axis=1)) * np.linalg.norm(gravity))
    asked = along @ gravity
    is_constant = float(np.std(asked)) <= at.CONSTANT_WEIGHT * weight
    is_reversing = min(np.mean(velocity > 0), np.mean(velocity < 0)) >= at.REVERSES
    return Slide(weight, float(asked.mean()), stated) if weight > 0 and is_constant and is_reversing else None

"""The weight on a slide is a constant effort, which a fitted offset takes, and with it a wrong gain or mounting.

On a joint that turns, gravity varies with the motion and is seen beside an offset.  Along a slide it is the same at
every position, so that only the file's masses tell it from an offset, and only as well as they are known.
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
    """A prismatic joint along which gravity is constant.

    weight: that it carries; asked: its part along the slide; stated: the offset in the file [N].
    """

    weight: float
    asked: float
    stated: float

    def usual(self, varying: float) -> float:
        """The largest offset that is no evidence, where the effort deviates so much from its mean [N]."""
        each = at.MASSES * self.asked, at.LEVEL * self.weight, at.USUAL_OFFSET * varying  # by a cause of its own
        return math.hypot(*each)

    def excess(self, offset: float, varying: float) -> float:
        """What of an offset neither the file's errors nor friction explain [N]."""
        return max(abs(offset - self.stated) - self.usual(varying), 0.0)


def slide_of(along: Array, gravity: Array, velocity: Array, stated: float) -> Slide | None:
    """The slide, None where an offset says nothing of its weight.

    along: its efforts at rest under 1 m/s2 of gravity in each direction of the base, (N, 3) [kg]; gravity [m/s2].
    """
    weight = float(np.mean(np.linalg.norm(along, axis=1)) * np.linalg.norm(gravity))
    asked = along @ gravity
    is_constant = float(np.std(asked)) <= at.CONSTANT_WEIGHT * weight
    is_reversing = min(np.mean(velocity > 0), np.mean(velocity < 0)) >= at.REVERSES
    return Slide(weight, float(asked.mean()), stated) if weight > 0 and is_constant and is_reversing else None

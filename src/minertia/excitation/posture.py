"""A posture to move about: the one given, or one that respects every limit at rest."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minertia.errors import Infeasible, ShapeError
from minertia.excitation.check import Checker, Margins

Array = NDArray[np.float64]
TRIES = 300


def feasible_posture(checker: Checker, start: ArrayLike | None, seed: int) -> Array:
    """The start posture (checked), or the middle of the ranges, or the best of random postures."""
    n = len(checker.limits.names)
    if start is not None:
        q = np.asarray(start, float)
        if q.shape != (n,) or not np.all(np.isfinite(q)):
            raise ShapeError(f"a start posture needs {n} finite numbers")
        margins = checker.posture(q)
        if not margins.is_feasible:
            raise Infeasible(f"the start posture is not possible: {checker.explain(margins)}")
        return q
    middle = checker.limits.middle
    first = checker.posture(middle)
    if _room(first) > 0.3:
        return middle
    rng = np.random.default_rng(seed)
    best, room = middle, _room(first)
    for _ in range(TRIES):
        q = rng.uniform(checker.limits.lower, checker.limits.upper) * 0.8 + 0.2 * middle
        found = _room(checker.posture(q))
        if found > room:
            best, room = q, found
    if room <= 0:
        raise Infeasible(
            f"no posture within the limits was found at which the robot can stand still: {checker.explain(first)}; "
            "give more room with --limits, such as a smaller margin or radius"
        )
    return best


def _room(margins: Margins) -> float:
    """How far a posture is from every limit, roughly: 1 when nothing is near, negative when one is not respected."""
    room = 1 - max(margins.effort or (0.0,))
    for _, distance in margins.boxes:
        room = min(room, 5 * distance)
    if margins.clearance is not None:
        room = min(room, 5 * (margins.clearance - margins.clearance_margin))
    return room

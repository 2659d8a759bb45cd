"""Start posture: the one given, or the one closest to the middle of the joint ranges with sufficient margin."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from minertia.excitation.check import Checker
from minertia.io.arrays import Array
from minertia.io.errors import Infeasible, ShapeError

TRIES = 4000
ROOM = 0.5  # of a posture to start from: this far from every limit there is somewhere to go
LEAST = 0.05  # without that much a search has no way out of the posture
STEPS = (0.5, 0.4, 0.3, 0.2, 0.2, 0.1, 0.1, 0.05)  # of the climb to more room, in parts of the ranges
RANGE = 0.8  # part of the ranges that is tried


def feasible_posture(checker: Checker, start: ArrayLike | None, seed: int) -> Array:
    """Start posture: the given one, the middle of the ranges, or the closest one with sufficient margin.

    If no posture has the required margin, 90 % of the largest margin found suffices; raises Infeasible if
    that margin is too small.
    """
    if start is not None:
        return _given(checker, start)
    middle = checker.limits.middle
    if checker.room(middle[None])[0] >= ROOM:
        return middle
    rng = np.random.default_rng(seed)
    q = _candidates(checker, rng)
    room = checker.room(q)
    if room.max() < ROOM:
        q = _climbed(checker, rng, q[int(np.argmax(room))])
        room = checker.room(q)
    most = float(room.max())
    if most < LEAST:
        worst = checker.tightest(checker.posture(q[int(np.argmax(room))]))
        raise Infeasible(
            f"no posture within the limits was found in which the robot can stand still: {worst}; relax --limits "
            "(wider positions, more effort or effort=none, a smaller margin or radius)"
        )
    enough = q[room >= min(ROOM, 0.9 * most)]
    return _drawn_in(checker, enough[int(np.argmin(_off(checker, enough)))], min(ROOM, 0.9 * most))


def _given(checker: Checker, start: ArrayLike) -> Array:
    n = len(checker.limits.names)
    try:
        q = np.asarray(start, float)
    except (TypeError, ValueError, OverflowError):
        q = np.empty(0)
    if q.shape != (n,) or not np.all(np.isfinite(q)):
        raise ShapeError(f"a start posture must be {n} finite numbers")
    margins = checker.posture(q)
    if not margins.is_feasible:
        raise Infeasible(f"the start posture violates a limit: {checker.explain(margins)}")
    return q


def _candidates(checker: Checker, rng: np.random.Generator) -> Array:
    """Random postures with some of the joints away from the middle, by small or large amounts."""
    limits = checker.limits
    n = len(limits.names)
    part = rng.uniform(-1, 1, (TRIES, n)) * rng.uniform(0.1, 1, (TRIES, 1)) * RANGE
    moved = rng.uniform(size=(TRIES, n)) < rng.uniform(0.2, 1, (TRIES, 1))
    return np.asarray(limits.middle + part * moved * limits.half)


def _climbed(checker: Checker, rng: np.random.Generator, q: Array) -> Array:
    """Local random search around the best posture with decreasing radius."""
    limits, size = checker.limits, RANGE * checker.limits.half
    for step in STEPS:
        moved = rng.normal(size=(TRIES // 10, len(q))) * (rng.uniform(size=(TRIES // 10, len(q))) < 0.5)
        tried = np.clip(q + step * size * moved, limits.middle - size, limits.middle + size)
        tried[0] = q
        q = tried[int(np.argmax(checker.room(tried)))]
    return tried


def _off(checker: Checker, q: Array) -> Array:
    """Normalised distance of postures (N, n) from the middle of the joint ranges.

    It is 1 for one joint displaced by half its range or by half a turn, whichever is less.
    """
    limits = checker.limits
    return np.asarray(np.linalg.norm((q - limits.middle) / np.minimum(limits.half, np.pi), axis=1))


def _drawn_in(checker: Checker, q: Array, room: float) -> Array:
    """Move each joint as close to the middle of its range as the margin allows, the least displaced first."""
    middle = checker.limits.middle
    for j in np.argsort(np.abs(q - middle) / checker.limits.half, kind="stable"):
        ways = np.linspace(0.0, 1.0, 21)
        tried = np.repeat(q[None], len(ways), axis=0)
        tried[:, j] = middle[j] + ways * (q[j] - middle[j])
        q = tried[int(np.argmax(checker.room(tried) >= room))]
    return np.asarray(q)

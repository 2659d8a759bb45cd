"""Point-to-point motions from rest to rest: straight in joint space, or around obstacles.

Each leg is a straight line in joint space, timed by a polynomial of degree 7 whose velocity, acceleration
and jerk vanish at both ends, so that legs, and the motions before and after, join continuously.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minertia.excitation.check import Checker, Margins
from minertia.excitation.trajectory import ContinuousMotion, frozen
from minertia.io.arrays import Array
from minertia.io.errors import Infeasible, ShapeError

# s = 35 x^4 - 84 x^5 + 70 x^6 - 20 x^7: largest rate, second and third derivative of it over 0 to 1
BLEND = np.polynomial.Polynomial([0, 0, 0, 0, 35, -84, 70, -20])
RATES = tuple(BLEND.deriv(k) for k in (1, 2, 3))
FASTEST, BENT, JERKED = 2.1875, 7.5132, 52.5
SHARE = 0.5  # part of the limits of velocity, acceleration and jerk that a transfer takes: it need not hurry
SHORTEST = 0.1  # s
STEP = 0.02  # rad or m between postures at which a leg is looked at on the way; the last check takes ten times as many
FINER = 10
NODES = 600  # tries of the trees that look for a way around; where there is one, a few dozen find it
REACH = 0.5  # rad or m that a branch of them grows at most
SHORTER = (1.0, 0.3, 0.1)  # parts of that, where something is in the way
NEARER = (1.0, 1.0, 0.5, 0.25)  # parts of the ranges that are aimed at: there is more room in their middle
SHORTCUTS = 150
SLOWER, TIMES = 1.25, 12  # how a leg is slowed down that needs too much effort, and how often


@dataclass(frozen=True, repr=False)
class Transfer(ContinuousMotion):
    """Legs between postures (legs + 1, n) [rad or m], each from rest to rest; ends (legs + 1,): their times [s]."""

    postures: Array
    ends: Array

    def __post_init__(self) -> None:
        for name in ("postures", "ends"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    @property
    def duration(self) -> float:  # type: ignore[override]
        """Total time of the motion [s]."""
        return float(self.ends[-1])

    def at(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """q, qd, qdd at times (N,), each of shape (N, n)."""
        leg, x, length, way = self._legs(t)
        s, rate, second = BLEND(x), RATES[0](x), RATES[1](x)
        return self.postures[leg] + s * way, rate / length * way, second / length**2 * way

    def jerk(self, t: ArrayLike) -> Array:
        """Third derivatives at times (N,), shape (N, n)."""
        _, x, length, way = self._legs(t)
        return np.asarray(RATES[2](x) / length**3 * way)

    def _legs(self, t: ArrayLike) -> tuple[NDArray[np.intp], Array, Array, Array]:
        """Leg index, normalised time, duration and displacement of the leg, for each time."""
        times = np.clip(np.atleast_1d(np.asarray(t, float)), 0.0, self.duration)
        leg = np.clip(np.searchsorted(self.ends, times, side="right") - 1, 0, len(self.ends) - 2)
        length = (self.ends[leg + 1] - self.ends[leg])[:, None]
        x = (times - self.ends[leg])[:, None] / length
        return leg, x, length, self.postures[leg + 1] - self.postures[leg]


def transfer(checker: Checker, start: ArrayLike, goal: ArrayLike, *, share: float = SHARE, seed: int = 0) -> Transfer:
    """Plan a motion from one posture to another within every limit; the error names the obstacle if none exists.

    share: fraction of the limits of velocity, acceleration and jerk that it may use.
    """
    a, b = (_posture(checker, q, what) for q, what in ((start, "initial posture"), (goal, "final posture")))
    if np.array_equal(a, b):
        return resting(a)
    way = _Ways(checker, np.random.default_rng(seed)).between(a, b)
    if way is None:
        line = _line(a, b, STEP)
        worst = line[int(np.argmin(checker.room(line)))]
        raise Infeasible(
            "no collision-free path was found from the given posture to the start of the trajectory: on the "
            f"straight line, {checker.explain(checker.posture(worst))}; give a posture nearer to the start, or "
            "move the robot there by hand"
        )
    return _timed(checker, way, share)


def resting(posture: ArrayLike) -> Transfer:
    """Zero motion: a posture held for a moment."""
    q = np.asarray(posture, float)
    return Transfer(np.array([q, q]), np.array([0.0, SHORTEST]))


def transfer_back(checker: Checker, way: Transfer, *, share: float = SHARE) -> Transfer:
    """Reverse of a transfer, retimed and checked again, as friction changes its efforts."""
    return _timed(checker, list(way.postures[::-1]), share)


def transfer_margins(checker: Checker, way: Transfer) -> Margins:
    """Margins of a transfer to every limit, at times at which no joint moves by more than `STEP` / `FINER`."""
    longest = float(np.abs(np.diff(way.postures, axis=0)).max(axis=1).sum())
    return checker.motion(way, max(200, int(np.ceil(FASTEST * FINER * longest / STEP))) + 1)


def _posture(checker: Checker, q: ArrayLike, what: str) -> Array:
    posture = np.asarray(q, float)
    n = len(checker.limits.names)
    if posture.shape != (n,) or not np.all(np.isfinite(posture)):
        raise ShapeError(f"the {what} must be {n} finite numbers")
    margins = checker.posture(posture)
    if not margins.is_feasible:
        raise Infeasible(f"the {what} violates a limit: {checker.explain(margins)}")
    return posture


def _timed(checker: Checker, way: list[Array], share: float) -> Transfer:
    """Time-scale the legs as fast as the fraction `share` of the limits allows, slower if efforts require it."""
    limits, postures = checker.limits, np.array(way)
    far = np.abs(np.diff(postures, axis=0))
    needs = [FASTEST * far / (share * limits.velocity), np.sqrt(BENT * far / (share * limits.acceleration))]
    if limits.jerk is not None:
        needs.append(np.cbrt(JERKED * far / (share * limits.jerk)))
    times = np.maximum(np.max(needs, axis=(0, 2)), SHORTEST)
    for _ in range(TIMES):
        found = Transfer(postures, np.concatenate([[0.0], np.cumsum(times)]))
        margins = transfer_margins(checker, found)
        if margins.is_feasible:
            return found
        times = SLOWER * times
    raise Infeasible(f"the path to the start of the trajectory violates a limit: {checker.explain(margins)}")


def _line(a: Array, b: Array, step: float) -> Array:
    """Postures on the straight line, at most `step` apart, including both ends."""
    count = max(2, int(np.ceil(np.abs(b - a).max() / step)) + 1)
    return np.asarray(a + np.linspace(0.0, 1.0, count)[:, None] * (b - a))


class _Ways:
    """Path planning in joint space by two trees that grow towards one another (RRT-connect)."""

    def __init__(self, checker: Checker, rng: np.random.Generator) -> None:
        self.checker, self.rng = checker, rng

    def between(self, a: Array, b: Array) -> list[Array] | None:
        """Postures of a path; None if none was found."""
        if self.is_free(a, b):
            return [a, b]
        found = self._grown(a, b)
        return None if found is None else self._shortened(found)

    def is_free(self, a: Array, b: Array) -> bool:
        """Whether the straight line respects every posture limit."""
        coarse = _line(a, b, 10 * STEP)
        return bool(self.checker.room(coarse).min() >= 0) and bool(
            self.checker.room(_line(a, b, STEP / FINER)).min() >= 0
        )

    def _grown(self, a: Array, b: Array) -> list[Array] | None:
        limits = self.checker.limits
        trees = (_Tree(a), _Tree(b))
        for k in range(NODES):
            own, other = trees[k % 2], trees[1 - k % 2]
            aim = limits.middle + self.rng.choice(NEARER) * limits.half * self.rng.uniform(-1, 1, len(a))
            if not self._extended(own, aim):
                continue
            while self._extended(other, own.last):
                if np.array_equal(other.last, own.last):
                    ways = [tree.way() for tree in trees]
                    return [*ways[0], *ways[1][-2::-1]]
        return None

    def _extended(self, tree: _Tree, aim: Array) -> bool:
        """Extend the tree towards a posture; return whether it grew."""
        nearest = tree.nearest(aim)
        way = aim - tree.nodes[nearest]
        far = float(np.abs(way).max())
        if far == 0:
            return False
        for part in SHORTER:
            reach = part * min(far, REACH)
            to = aim if reach >= far else tree.nodes[nearest] + reach / far * way
            if self.is_free(tree.nodes[nearest], to):
                tree.add(to, nearest)
                return True
        return False

    def _shortened(self, way: list[Array]) -> list[Array]:
        for _ in range(SHORTCUTS):
            if len(way) < 3:
                break
            i, j = sorted(self.rng.choice(len(way), 2, replace=False))
            if j > i + 1 and self.is_free(way[i], way[j]):
                way = [*way[: i + 1], *way[j:]]
        return way


class _Tree:
    """RRT: postures reached from the root, each with its parent."""

    def __init__(self, root: Array) -> None:
        self.nodes, self.parents = [root], [-1]

    @property
    def last(self) -> Array:
        """Posture added last."""
        return self.nodes[-1]

    def nearest(self, q: Array) -> int:
        """Index of the nearest posture."""
        return int(np.argmin(np.linalg.norm(np.array(self.nodes) - q, axis=1)))

    def add(self, q: Array, parent: int) -> None:
        """Add a posture."""
        self.nodes.append(q)
        self.parents.append(parent)

    def way(self) -> list[Array]:
        """Path from the root to the posture added last."""
        found, k = [], len(self.nodes) - 1
        while k >= 0:
            found.append(self.nodes[k])
            k = self.parents[k]
        return found[::-1]

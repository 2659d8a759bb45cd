"""Distances of a robot's capsules to the floor, to one another and to boxes, with exact derivatives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minertia.dynamics.loops.closing import closing_of
from minertia.excitation.capsules import Body, Capsule, Point, length, robot_body, shape_capsules
from minertia.excitation.distance import Nearest, between_segments, to_boxes
from minertia.excitation.model import PointModel
from minertia.excitation.poses import link_poses
from minertia.excitation.shapes import Shape, check_shapes
from minertia.io.arrays import Array
from minertia.io.errors import Infeasible
from minertia.robot.loops.closure import cut_joints
from minertia.robot.robot import Frame, Robot

Indices = NDArray[np.intp]
MARGIN, MARGIN_PART = 0.02, 0.02  # distance to keep [m], and at most this part of the robot's length
REACH = 0.3  # m: distances between capsules beyond this are given as this
CARE = 5.0  # margins from the limit at which a search begins to care
SPARE = 0.25  # margins that a search keeps more, for what happens between its samples
APART = 0.5  # margins beyond the margin that a pair, or a link and the floor, must be able to reach
FREE = 10.0  # margins beyond the margin at which a link is as free as can be
HANGS = 0.25  # part of the ends that move up and down, below the floor always, of a robot that does not stand on it
PROBES = 500
ALWAYS = 0.95  # a pair that is too near in more than this part of random postures is one that cannot come apart
MOST_AT_ONCE = 50_000  # distances
AXES = ((1, 0, 0), (0, 1, 0), (0, 0, 1))


class Close(NamedTuple):
    """Close pairs (M,): index of the posture and of the pair, its capsules (none for a box), nearest points.

    Distances are those between the capsule surfaces.
    """

    posture: Indices
    pair: Indices
    first: Indices
    second: Indices | None
    found: Nearest


@dataclass(frozen=True)
class Approach:
    """Smallest distance [m] in a trajectory, and the name of its pair."""

    distance: float
    name: str


class CollisionModel:
    """Collision model: capsules on a robot, boxes and capsules on the ground, and a floor.

    floor: height [m] in the base frame above which every capsule must stay, None for none.  margin:
    required distance [m], by default `MARGIN` or less for a small robot.  among_links: whether
    self-collision is checked.  Excluded are pairs of neighbouring links, pairs too near in nearly every
    posture (named in `ignored`) and ends of links that are never above the floor (named in `grounded`;
    `below` names those of them that can move vertically).
    """

    def __init__(
        self,
        robot: Robot,
        body: Body | None = None,
        obstacles: Sequence[Shape] = (),
        *,
        floor: float | None = 0.0,
        margin: float | None = None,
        among_links: bool = True,
    ) -> None:
        check_shapes(obstacles)
        self.robot = robot.numeric
        self.body = robot_body(robot) if body is None else body
        if not any(c.joint is not None for c in self.body.capsules):
            raise Infeasible(f"'{robot.name}' has no link whose distance could be checked")
        size = length(robot)
        self.margin = margin or (min(MARGIN, MARGIN_PART * size) if size > 0 else MARGIN)
        self.floor, self.among_links, self.obstacles = floor, among_links, tuple(obstacles)
        around = [c for shape in obstacles if shape.kind != "box" for c in shape_capsules(shape)]
        self.capsules = (*self.body.capsules, *around)
        self.boxes = (*self.body.boxes, *(shape for shape in obstacles if shape.kind == "box"))
        self.joined = _joined(robot)
        self.points, self.ends = _points(self.capsules)
        self.radius = np.array([c.radius for c in self.capsules])
        self.pairs, self.box_pairs, self.feet = self._pairs(), self._box_pairs(), self._feet()
        self._leave_out()

    @property
    def counts(self) -> bool:
        """Whether there are any distances to check."""
        return self.floor is not None or len(self.pairs) + len(self.box_pairs) > 0

    @property
    def keeps_links_apart(self) -> bool:
        """Whether any two links of the robot are checked for collision."""
        own = len(self.body.capsules)
        return self.among_links and bool(
            (self.pairs < own).all(axis=1).any()
            or len(self.box_pairs)
            and (self.box_pairs[:, 1] < len(self.body.boxes)).any()
        )

    @property
    def near(self) -> float:
        """Distance beyond the margin [m] at which the barrier of a search becomes active."""
        return CARE * self.margin

    # ------------------------------------------------------------------ what is kept apart

    def _pairs(self) -> Indices:
        """Capsule pairs (a, b) of different links that are not neighbours; obstacles have no neighbours."""
        own = len(self.body.capsules)
        pairs = []
        for a, first in enumerate(self.capsules):
            for b in range(a + 1, len(self.capsules)):
                second = self.capsules[b]
                is_obstacle = b >= own
                if first.joint == second.joint or (a >= own) or not (self.among_links or is_obstacle):
                    continue
                if is_obstacle or not self._neighbours(first.joint, second.joint):
                    pairs.append((a, b))
        return np.array(pairs, dtype=np.intp).reshape(-1, 2)

    def _box_pairs(self) -> Indices:
        """Pairs (capsule, box) to check; boxes of the robot's base are not checked against the first links."""
        pairs = []
        for a, capsule in enumerate(self.body.capsules):
            for k in range(len(self.boxes)):
                is_own = k < len(self.body.boxes)
                checked = self.among_links and not self._neighbours(capsule.joint, None) if is_own else True
                if capsule.joint is not None and checked:
                    pairs.append((a, k))
        return np.array(pairs, dtype=np.intp).reshape(-1, 2)

    def _neighbours(self, a: int | None, b: int | None) -> bool:
        """Whether links are adjacent, or separated by a prismatic joint and another joint."""
        return self._carries(a, b) or self._carries(b, a) or frozenset((a, b)) in self.joined

    def _carries(self, a: int | None, b: int | None) -> bool:
        if b is None:
            return False
        parent = self.robot.joints[b].parent
        if parent is None or parent == a:
            return parent == a
        between = self.robot.joints[parent]
        return between.kind == "prismatic" and between.parent == a

    def _feet(self) -> Indices:
        """(point, capsule) for every end of a moving capsule; a capsule is above the floor if both ends are."""
        found: dict[tuple[int, float], tuple[int, int]] = {}
        for c, capsule in enumerate(self.capsules):
            if self.floor is not None and capsule.joint is not None:
                for end in self.ends[c]:
                    key = (int(end), float(self.radius[c]))
                    if self.points[end].joint is not None:
                        found.setdefault(key, (int(end), c))
        return np.array(list(found.values()), dtype=np.intp).reshape(-1, 2)

    def _leave_out(self) -> None:
        """Remove the distances that cannot be kept, and select the pairs that a search evaluates."""
        low, high, near = self._statistics(probes(self.robot, PROBES))
        feet, pairs = len(self.feet), len(self.pairs)
        stuck, touching = np.asarray(near[:feet] == 1.0), np.asarray(near[feet:] > ALWAYS)
        rises = np.asarray(high[:feet] - low[:feet] > self.margin)
        names = self.names()
        self.grounded, self.ignored = _chosen(names[:feet], stuck), _chosen(names[feet:], touching)
        self.below = _chosen(names[:feet], stuck & rises)
        self.hangs = int((stuck & rises).sum()) > HANGS * int(rises.sum())
        self.most = high[~np.concatenate([stuck, touching])]  # that each distance can be, about
        self.feet = self.feet[~stuck]
        self.pairs, self.box_pairs = self.pairs[~touching[:pairs]], self.box_pairs[~touching[pairs:]]
        nearest = low[feet : feet + pairs][~touching[:pairs]]
        self.watched = np.flatnonzero(nearest < REACH)  # pairs that a search looks at

    def _statistics(self, q: Array) -> tuple[Array, Array, Array]:
        """Smallest value, largest value and violation frequency of each distance over postures (N, n)."""
        enough = (1 + APART) * self.margin  # a search needs some way to go
        parts = [(d.min(axis=0), d.max(axis=0), (d < enough).sum(axis=0)) for d in self._blocks(q)]
        low, high, count = zip(*parts, strict=True)
        return np.min(low, axis=0), np.max(high, axis=0), np.sum(count, axis=0) / len(q)

    @cached_property
    def standing(self) -> float:
        """Fraction of random postures above the floor; 0 if many vertically moving links are never above it."""
        enough = (1 + APART) * self.margin
        heights = self._heights(self.placed(probes(self.robot, PROBES)))
        return 0.0 if self.hangs else float((heights.min(axis=1, initial=np.inf) > enough).mean())

    def names(self) -> list[str]:
        """Name of each distance: links above the floor, then pairs."""

        def name(c: int) -> str:
            return self.capsules[c].name

        feet = [f"'{name(c)}'" for _, c in self.feet]
        pairs = [_both(name(a), name(b)) for a, b in self.pairs]
        return [*feet, *pairs, *(_both(name(a), self.boxes[k].name) for a, k in self.box_pairs)]

    # ------------------------------------------------------------------ distances

    def distances(self, q: ArrayLike) -> Array:
        """Distances [m] at postures (N, n), shape (N, names): heights above the floor, then of pairs, at most `REACH`.

        Negative for penetration of the floor or of two capsules.
        """
        return np.vstack([*self._blocks(np.atleast_2d(np.asarray(q, float)))])

    def _blocks(self, q: Array) -> Iterator[Array]:
        """Distances of some postures at a time, to limit memory."""
        size = max(1, MOST_AT_ONCE // max(1, len(self.feet) + len(self.pairs) + len(self.box_pairs)))
        for k in range(0, len(q), size):
            yield self._distances(q[k : k + size])

    def _distances(self, q: Array) -> Array:
        points = self.placed(q)
        feet, pairs = len(self.feet), len(self.pairs)
        found = np.full((len(q), feet + pairs + len(self.box_pairs)), REACH)
        found[:, :feet] = self._heights(points)
        for close in self._all_close(points, np.arange(pairs), REACH):
            first = feet if close.second is not None else feet + pairs
            found[close.posture, first + close.pair] = np.minimum(close.found.distance, REACH)
        return found

    def room(self, q: Array) -> Array:
        """Normalised margin of each posture (N, n) to all required distances.

        1 if nothing is near or distances cannot be larger, 0 at the margin, negative beyond it.
        """
        free = np.minimum(FREE * self.margin, self.most - self.margin)
        parts = [((d - self.margin) / free).min(axis=1, initial=1.0) for d in self._blocks(q)]
        return np.concatenate(parts)

    def approaches(self, q: Array) -> tuple[Approach | None, Approach | None]:
        """Smallest height above the floor and smallest pair distance in a trajectory (N, n); None if not checked."""
        smallest = np.min([d.min(axis=0) for d in self._blocks(q)], axis=0)
        names, feet = self.names(), len(self.feet)
        return _smallest(smallest[:feet], names[:feet]), _smallest(smallest[feet:], names[feet:])

    def placed(self, q: Array) -> Array:
        """Ends of the capsules (N, points, 3) in the base frame."""
        poses = link_poses(self.robot, q)
        found = np.empty((len(q), len(self.points), 3))
        for k, point in enumerate(self.points):
            found[:, k] = point.p if point.joint is None else poses[point.joint].place(np.array(point.p))
        return found

    def _heights(self, points: Array) -> Array:
        if self.floor is None:
            return np.empty((len(points), 0))
        return np.asarray(points[:, self.feet[:, 0], 2] - self.radius[self.feet[:, 1]] - self.floor)

    def _all_close(self, points: Array, chosen: Indices, reach: float) -> Iterator[Close]:
        """Close pairs among the chosen pairs of capsules, and of capsules and boxes."""
        yield self._close(points, chosen, reach)
        if len(self.box_pairs):
            yield self._close_boxes(points, reach)

    def _close(self, points: Array, chosen: Indices, reach: float) -> Close:
        """Chosen pairs of capsules whose bounding spheres are within reach."""
        first, last = points.take(self.ends[:, 0], axis=1), points.take(self.ends[:, 1], axis=1)
        twice, bound = first + last, self._bounds(first, last)
        a, b = self.pairs[chosen].T
        between = twice.take(a, axis=1) - twice.take(b, axis=1)
        within = 2 * (bound.take(a, axis=1) + bound.take(b, axis=1) + reach)
        posture, k = np.nonzero(np.einsum("npc,npc->np", between, between) < within * within)
        a, b = a[k], b[k]
        starts, ends = first.reshape(-1, 3), last.reshape(-1, 3)  # rows of one table are gathered far quicker
        on_a, on_b = posture * first.shape[1] + a, posture * first.shape[1] + b
        found = between_segments(*(side.take(row, axis=0) for row in (on_a, on_b) for side in (starts, ends)))
        apart = found.distance - self.radius[a] - self.radius[b]
        return Close(posture, chosen[k], a, b, found._replace(distance=apart))

    def _bounds(self, first: Array, last: Array) -> Array:
        """Radii (N or 1, capsules) of bounding spheres of capsules; only prismatic joints change their length."""
        some = slice(None) if self._has_slides else slice(1)
        return np.asarray(0.5 * np.linalg.norm(last[some] - first[some], axis=2) + self.radius)

    @cached_property
    def _has_slides(self) -> bool:
        return any(c.a.joint != c.b.joint for c in self.capsules)

    def _close_boxes(self, points: Array, reach: float) -> Close:
        """Pairs of capsules and boxes whose bounding spheres are within reach."""
        R, p, half = self._box_arrays
        a, k = self.box_pairs.T
        first, last = points[:, self.ends[a, 0]], points[:, self.ends[a, 1]]
        between = 0.5 * (first + last) - p[k]
        bound = 0.5 * np.sqrt(((last - first) ** 2).sum(axis=2)) + self.radius[a]
        within = bound + np.sqrt((half[k] ** 2).sum(axis=1)) + reach
        posture, pair = np.nonzero(np.einsum("npc,npc->np", between, between) < within * within)
        a, k = self.box_pairs[pair].T
        ends = [np.einsum("mi,mij->mj", points[posture, self.ends[a, e]] - p[k], R[k]) for e in (0, 1)]
        found = to_boxes(ends[0], ends[1], half[k])
        away = np.einsum("mj,mij->mi", found.away, R[k])  # back into the base frame
        return Close(posture, pair, a, None, found._replace(distance=found.distance - self.radius[a], away=away))

    @cached_property
    def _box_arrays(self) -> tuple[Array, Array, Array]:
        R = np.array([box.R for box in self.boxes], float).reshape(-1, 3, 3)
        p, half = (np.array([getattr(box, x) for box in self.boxes], float).reshape(-1, 3) for x in ("p", "size"))
        return R, p, half

    # ------------------------------------------------------------------ for a search

    @cached_property
    def _model(self) -> PointModel:
        return PointModel(self.robot, [Frame(point.joint, (AXES, point.p)) for point in self.points])

    def wall(self, q: Array) -> tuple[float, Array]:
        """Logarithmic barrier at the margin, summed over postures (N, n), and its gradient (N, n).

        The barrier is infinite beyond the margin.
        """
        points = self._model.value(q).reshape(len(q), -1, 3)
        margin = self.margin * (1 + SPARE)
        weights = np.zeros_like(points)
        value, slope = reach_wall(self._heights(points) - margin, self.near)
        if value < np.inf:
            np.add.at(weights[:, :, 2].T, self.feet[:, 0], slope.T)
        reach = margin + self.near
        for close in self._all_close(points, self.watched, reach):
            more, slope = reach_wall(close.found.distance - margin, self.near)
            value += more
            if value == np.inf:
                return value, q
            self._push(weights, close, slope)
        return value, self._model.vjp(q, weights.reshape(len(q), -1))

    def _push(self, weights: Array, close: Close, slope: Array) -> None:
        """Accumulate the gradient with respect to the capsule ends; slope: gradient for the distances (M,)."""
        force = slope[:, None] * close.found.away
        sides = [(close.first, close.found.on_first, force)]
        sides += [] if close.second is None else [(close.second, close.found.on_second, -force)]
        for capsule, part, pull in sides:
            for end, share in ((0, 1 - part), (1, part)):
                row = close.posture * weights.shape[1] + self.ends[capsule, end]
                place = 3 * row[:, None] + np.arange(3)  # number by number, which NumPy adds far quicker than rows
                np.add.at(weights.reshape(-1), place.ravel(), (share[:, None] * pull).ravel())


def _points(capsules: Sequence[Capsule]) -> tuple[tuple[Point, ...], Indices]:
    """Distinct ends of all capsules, and the indices of each capsule's ends, (capsules, 2)."""
    numbers: dict[Point, int] = {}
    ends = [[numbers.setdefault(end, len(numbers)) for end in (c.a, c.b)] for c in capsules]
    return tuple(numbers), np.array(ends, dtype=np.intp).reshape(-1, 2)


def _joined(robot: Robot) -> set[frozenset[int | None]]:
    """Pairs of links that may pass close by design.

    These are the links of one loop and their parents, and links of two loops that share a link.
    """
    found: set[frozenset[int | None]] = set()
    loops = [cut_joints(robot, cut) for cut in robot.cuts]
    for loop in loops:
        around: set[int | None] = {*loop, *(robot.joints[j].parent for j in loop)}
        found |= {frozenset(pair) for pair in combinations(around, 2)}
    for one, other in combinations(loops, 2):
        if one & other:
            found |= {frozenset(pair) for pair in product(one, other)}
    return found


def _chosen(names: Sequence[str], which: NDArray[np.bool_]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name, is_one in zip(names, which, strict=True) if is_one))


def _both(a: str, b: str) -> str:
    return " and ".join(f"'{name}'" for name in sorted((a, b)))


def _smallest(distances: Array, names: Sequence[str]) -> Approach | None:
    if not len(distances):
        return None
    k = int(np.argmin(distances))
    return Approach(float(distances[k]), names[k])


def reach_wall(d: Array, reach: float) -> tuple[float, Array]:
    """Barrier -sum log(1 - (1 - d / reach)^2) for distances d [m], and its derivative.

    Zero beyond `reach`, infinite at 0.
    """
    if d.size and not d.min() > 0:
        return np.inf, d
    r = np.minimum(d / reach, 1.0)
    s = r * (2 - r)
    return -float(np.log(s).sum()), -(2 - 2 * r) / s / reach


def probes(robot: Robot, count: int) -> Array:
    """Reproducible random postures (count, n) in the joint ranges of the robot file."""
    rng = np.random.default_rng(0)
    ranges = [joint_range(robot, j) for j in robot.independent]
    found = np.column_stack([rng.uniform(low, high, count) for low, high in ranges])
    return found[closing_of(robot.numeric).is_reached(found)] if robot.open_cuts else found


def joint_range(robot: Robot, j: int) -> tuple[float, float]:
    """Range of a joint in the robot file [rad or m]; half a turn or 0.5 m to each side where it has none."""
    limits, reach = robot.joints[j].limits, np.pi if robot.joints[j].kind == "revolute" else 0.5
    lower = -reach if limits.lower is None else limits.lower
    upper = reach if limits.upper is None else limits.upper
    return min(lower, upper), max(lower, upper)

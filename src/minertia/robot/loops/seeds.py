"""Closed configuration of a robot's closed chains: the given one, else by Newton's method from random starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from minertia.io.arrays import Array
from minertia.robot.joint import Joint
from minertia.robot.loops.closure import close, close_many, follower_map, jacobian, loop_joints, motions_left, residual
from minertia.robot.loops.forms import linear_rules
from minertia.robot.robot import SEED, Robot

DRAWS = 40
JUDGED = 12  # closed configurations among which the best is chosen
NEAR = (0.3, 1.0)  # rad, or part of the size: starts around a singular configuration
FAR_OFF = 0.1  # rad, or part of the size: a seed that closing moves further is not the one that was meant
REGULAR = 1e-3  # part of the largest singular value that the smallest one of a regular configuration has
INDEPENDENT = 1e-4  # part of a motion that is its own


@dataclass(frozen=True, slots=True)
class Seed:
    """A closed configuration.

    q: position of every joint.  motions: null-space motions of the independent joints under the closure
    constraints, (free joints, mobility).  moved: (joint, given position, found position) if the configuration
    found is far from the given one, else None.
    """

    q: Array
    motions: Array
    is_singular: bool
    is_given: bool = False
    was_drawn: bool = False
    zero_closes: bool = False
    moved: tuple[str, float, float] | None = None


def size_of(robot: Robot) -> float:
    """Largest length in the closed chains [m]."""
    numeric = robot.numeric
    lengths = [numeric.joints[j].p for j in loop_joints(robot)]
    lengths += [pose[1] for cut in numeric.cuts for pose in (cut.first_pose, cut.second_pose)]
    return max((float(np.linalg.norm(np.array(p, float))) for p in lengths), default=0.0) or 1.0


def singular_values(robot: Robot, q: Array) -> Array:
    """Singular values of the closure Jacobian of all open cuts, relative to the largest."""
    A = jacobian(robot, q) @ follower_map(robot)[0]
    values = _svdvals(A) if A.size else np.zeros(0)
    return np.asarray(values / max(float(values.max(initial=0.0)), 1e-300))


def _svdvals(A: Array) -> Array:
    return np.asarray(np.linalg.svd(A, compute_uv=False))


def independent_rows(rows: Mapping[int, Array], order: Sequence[int]) -> list[int]:
    """Joints, taken in this order, whose motions are linearly independent of the previous ones."""
    chosen: list[int] = []
    basis = np.zeros((0, len(next(iter(rows.values()), ()))))
    for j in order:
        rest = rows[j] - basis.T @ (basis @ rows[j])
        rest -= basis.T @ (basis @ rest)
        if np.linalg.norm(rest) > INDEPENDENT:
            basis = np.vstack([basis, rest / np.linalg.norm(rest)])
            chosen.append(j)
    return chosen


class SeedSearch:
    """Search for a closed configuration, regular where possible.

    reference: position of every joint in the file's reference configuration.  passive: {joint: whether it is
    passive}, for joints where this is known.  tolerance: largest error of a closed loop [m or rad]; cutoff:
    see `motions_left`.
    """

    def __init__(
        self, robot: Robot, reference: Array, passive: Mapping[str, bool], tolerance: float, cutoff: float
    ) -> None:
        active = [name for name, is_passive in passive.items() if not is_passive]
        self.robot, self.tolerance, self.cutoff = robot, tolerance, cutoff
        self.size, self.inside = size_of(robot), loop_joints(robot)
        self.names = [joint.name for joint in robot.joints]
        self.free = list(robot.opened.independent)
        self.outside = self._outside()
        self.active = [j for j in self.free if self.names[j] in active]
        self.S, c = follower_map(robot)
        self.reference = np.asarray(self.S @ reference[self.free] + c)
        self.rng = np.random.default_rng(SEED)

    def _outside(self) -> list[int]:
        """Joints that are neither on closed chains nor leaders of a joint on one."""
        moving = set(self.inside)
        leaders = {k for j in moving if (f := self.robot.joints[j].follows) is not None for k in f.joints}
        return [j for j in range(self.robot.n_joints) if j not in moving | leaders]

    # ------------------------------------------------------------------ starts

    def near(self, said: Mapping[str, float]) -> Seed | None:
        """Closed configuration at, or else nearest to, these positions; joints that are not given are free."""
        start = np.array([said.get(name, value) for name, value in zip(self.names, self.reference, strict=True)])
        named = [j for j, name in enumerate(self.names) if name in said]
        is_partial = not set(self.inside) <= set(named)
        drawn = [
            np.where(np.isin(np.arange(len(start)), named), start, self._drawn()) for _ in range(DRAWS * is_partial)
        ]
        motors = [j for j in self.active if j in named]
        best: tuple[float, Array] | None = None
        for held in (named, [*motors, *self.outside], self.outside):
            found, left = close_many(self.robot, np.array([start, *drawn]), held)
            closed = found[left <= self.tolerance]
            off = self._far(closed, start)[:, named].max(axis=1, initial=0.0)
            if np.any(off < FAR_OFF):
                seeds = [self._judged(q) for q in closed[off < FAR_OFF][:JUDGED]]
                return replace(max(seeds, key=self._merit), is_given=True, was_drawn=is_partial)
            nearest = int(np.argmin(off)) if len(off) else 0
            if len(off) and (best is None or off[nearest] < best[0]):
                best = float(off[nearest]), closed[nearest]
        if best is None:
            return None
        j = named[int(np.argmax(self._far(best[1], start)[named]))]
        return replace(self._judged(best[1]), moved=(self.names[j], float(start[j]), float(best[1][j])))

    def _far(self, q: Array, start: Array) -> Array:
        """Distance of each joint from the start: [rad], or relative to the loops' size if prismatic."""
        scales = np.array([1.0 if joint.kind == "revolute" else self.size for joint in self.robot.joints])
        return np.asarray(np.abs(q - start) / scales)

    def anywhere(self) -> Seed | None:
        """The file's configuration if it is closed and regular, else the best one found; None if there is none."""
        zero = self.reference
        zero_closes = bool(np.abs(residual(self.robot, zero)).max(initial=0.0) <= self.tolerance)
        if zero_closes:
            seed = self._judged(close(self.robot, zero, self.outside)[0])
            if not seed.is_singular:
                return seed
        found = self._best([self._drawn(around=zero) for _ in range(DRAWS)]) if zero_closes else None
        if found is None or found.is_singular:
            found = self._best([zero, *(self._drawn() for _ in range(DRAWS))]) or found
        return None if found is None else replace(found, was_drawn=True, zero_closes=zero_closes)

    def _best(self, starts: Sequence[Array]) -> Seed | None:
        """Best of the closed configurations reached from these starts."""
        found, left = close_many(self.robot, np.array(starts), self.outside)
        seeds = [self._judged(self._wrapped(q)) for q in found[left <= self.tolerance][:JUDGED]]
        return max(seeds, key=self._merit, default=None)

    def _wrapped(self, q: Array) -> Array:
        turning = np.array([joint.kind == "revolute" for joint in self.robot.opened.joints])
        lone = np.array([joint.follows is None for joint in self.robot.joints])
        linked = {k for joint in self.robot.joints if joint.follows is not None for k in joint.follows.joints}
        alone = lone & np.array([j not in linked for j in range(len(q))])
        return np.where(turning & alone, (q + np.pi) % (2 * np.pi) - np.pi, q)

    def _drawn(self, around: Array | None = None) -> Array:
        q = self.reference.copy()
        for j in self.inside:
            q[j] = self._draw(self.robot.joints[j])
        if around is not None:
            scales = np.array([1.0 if joint.kind == "revolute" else self.size for joint in self.robot.joints])
            scales *= self.rng.choice(NEAR)
            q[self.inside] = (around + self.rng.uniform(-1, 1, len(q)) * scales)[self.inside]
        S, c = follower_map(self.robot)
        return np.asarray(S @ q[self.free] + c)

    def _draw(self, joint: Joint) -> float:
        low, high = joint.limits.lower, joint.limits.upper
        reach = (-np.pi, np.pi) if joint.kind == "revolute" else (0.3 * self.size, 2.0 * self.size)
        if low is not None and high is not None and low < high:
            reach = (max(low, -np.pi), min(high, np.pi)) if joint.kind == "revolute" else (low, high)
        return float(self.rng.uniform(*reach)) if reach[0] < reach[1] else 0.0

    # ------------------------------------------------------------------ what is found

    def _judged(self, q: Array) -> Seed:
        motions = self._motions(q)
        around = [self._rank(near) for near in self._neighbours(q)]
        conditioned = self._conditioning(q) > REGULAR
        singular = self._rank(q) < max(around, default=0) or not conditioned
        return Seed(q, motions, singular)

    def _neighbours(self, q: Array) -> Iterator[Array]:
        near, left = close_many(self.robot, q + 0.02 * np.random.default_rng(SEED).uniform(-1, 1, (3, len(q))))
        yield from near[left <= self.tolerance]

    def _equations(self, q: Array) -> Array:
        return np.asarray(jacobian(self.robot, q) @ self.S)

    def _rank(self, q: Array) -> int:
        values = _svdvals(self._equations(q))
        return int(np.sum(values > self.cutoff * max(float(values.max(initial=0.0)), 1e-300)))

    def _motions(self, q: Array) -> Array:
        return np.asarray(motions_left(self._equations(q), self.cutoff))

    def _conditioning(self, q: Array) -> float:
        """Inverse condition number of the closure Jacobian: of all joints, or of those that are not active."""
        A = self._equations(q)
        rank = self._rank(q)
        moving = [k for k, j in enumerate(self.free) if j not in self.active]
        values = _svdvals(A[:, moving] if self.active and len(moving) >= rank else A)
        return float(values[rank - 1] / values[0]) if 0 < rank <= len(values) and values[0] > 0 else 1.0

    def _merit(self, seed: Seed) -> tuple[bool, int, int, float]:
        """Sort key: regular, most joints within limits, most parallelograms, farthest from a singularity."""
        conditioning = round(self._conditioning(seed.q), 9)
        return not seed.is_singular, self._in_limits(seed.q), self._parallelograms(seed), conditioning

    def _in_limits(self, q: Array) -> int:
        limits = [self.robot.joints[j].limits for j in self.inside]
        low = np.array([-np.inf if x.lower is None else x.lower for x in limits])
        high = np.array([np.inf if x.upper is None else x.upper for x in limits])
        return int(np.sum((low <= q[self.inside]) & (q[self.inside] <= high)))

    def _parallelograms(self, seed: Seed) -> int:
        rows = {j: seed.motions[k] for k, j in enumerate(self.free)}
        order = [j for j in self.free if j not in self.inside] + self.active
        active = independent_rows(rows, [*order, *(j for j in self.free if j not in order)])
        passive = [j for j in self.free if j not in active]
        return len(linear_rules(self.robot, seed.q, sorted(active), passive, self.tolerance)[1])

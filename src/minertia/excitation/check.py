"""Final check of a trajectory: every limit on a fine time grid, and how much of it is used."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from minertia.base.grouping import BaseParameters
from minertia.excitation.conditioning import ConditioningUse
from minertia.excitation.constraint import checked_margins
from minertia.excitation.effort import EffortModel
from minertia.excitation.limits import MotionLimits
from minertia.excitation.loops import LoopUse
from minertia.excitation.model import PointModel
from minertia.excitation.objective import box_corners
from minertia.excitation.trajectory import ContinuousMotion, Trajectory
from minertia.io.arrays import Array

ROUNDING = 1e-9
BLOCK = 2000
FREE = 0.2  # m: a frame this far inside its box is as free as can be


@dataclass(frozen=True)
class Margins:
    """Largest use of each limit (1 is the limit itself) and smallest distances [m]; None if not checked.

    position, velocity, acceleration, effort, jerk: per joint.  boxes: {frame: smallest distance to a face}.  floor:
    smallest height above it, and of what.  clearance: smallest distance to an obstacle or another link, and between
    what.  clearance_margin: required minimum of both.  loops: transmission angles, or ratios of singular values.
    passive: smallest margin of loops and of their passive joints (1 at best, 0 at a limit), and of what.
    constraints: {further constraint: smallest margin}.
    """

    position: tuple[float, ...]
    velocity: tuple[float, ...]
    acceleration: tuple[float, ...]
    effort: tuple[float, ...] | None = None
    boxes: tuple[tuple[str, float], ...] = ()
    floor: float | None = None
    lowest: str = ""
    clearance: float | None = None
    nearest: str = ""
    clearance_margin: float = 0.0
    loops: tuple[LoopUse | ConditioningUse, ...] = ()
    passive: float | None = None
    tightest_passive: str = ""
    jerk: tuple[float, ...] | None = None
    constraints: tuple[tuple[str, float], ...] = ()

    def __repr__(self) -> str:
        names = ("position", "velocity", "acceleration", "jerk", "effort")
        used = [(name, getattr(self, name)) for name in names]
        parts = [f"{name} {100 * max(values):.3g} %" for name, values in used if values]
        near = [] if self.clearance is None else [f"nearest approach {self.clearance:.3g} m"]
        return f"<Margins used at most: {', '.join([*parts, *near])}>"

    def uses(self) -> list[tuple[str, tuple[float, ...] | None]]:
        """(limit, fraction of it that each joint uses); jerk only if it is limited."""
        jerk = [] if self.jerk is None else [("jerk", self.jerk)]
        rates = [("position", self.position), ("velocity", self.velocity), ("acceleration", self.acceleration)]
        return [*rates, *jerk, ("effort", self.effort)]

    @property
    def worst(self) -> float:
        """Largest use of any limit; more than 1 if one is violated."""
        used = max(*self.position, *self.velocity, *self.acceleration, *(self.jerk or ()), *(self.effort or ()))
        if any(distance < 0 for _, distance in self.boxes):
            used = max(used, 1 - min(distance for _, distance in self.boxes))
        for distance in (self.floor, self.clearance):
            if distance is not None and distance < self.clearance_margin:
                used = max(used, 1 + self.clearance_margin - distance)
        used = max([used, *(1 - margin for _, margin in self.constraints if margin < 0)])
        return used if self.passive is None or self.passive >= 0 else max(used, 1 - self.passive)

    @property
    def is_feasible(self) -> bool:
        """Whether every limit is respected."""
        return self.worst <= 1 + ROUNDING

    @property
    def sentences(self) -> list[str]:
        """Sentences on the smallest distances."""
        lines = [f"Frame '{frame}' stays {distance:.3g} m inside its box." for frame, distance in self.boxes]
        if self.floor is not None:
            lines.append(f"Lowest: {self.floor:.3g} m above the floor ({self.lowest}).")
        if self.clearance is not None:
            lines.append(f"Nearest approach: {self.clearance:.3g} m ({self.nearest}).")
        lines += [f"Smallest margin of '{name}': {margin:.3g}." for name, margin in self.constraints]
        return [*lines, *(str(loop) for loop in self.loops)]

    def to_dict(self) -> dict[str, Any]:
        """Return as a dict of plain data, for JSON."""
        return {
            "position": list(self.position),
            "velocity": list(self.velocity),
            "acceleration": list(self.acceleration),
            "jerk": None if self.jerk is None else list(self.jerk),
            "effort": None if self.effort is None else list(self.effort),
            "boxes": dict(self.boxes),
            "floor": self.floor,
            "clearance": self.clearance,
            **({"constraints": dict(self.constraints)} if self.constraints else {}),
            "loops": {loop.name: [loop.smallest, loop.largest] for loop in self.loops},
        }


class Checker:
    """Constraint margins of trajectories and postures under given limits."""

    def __init__(self, limits: MotionLimits, base: BaseParameters, effort: EffortModel | None) -> None:
        if limits.effort is not None and effort is None:
            base.robot.parameters()  # says what is missing
        self.limits, self.base = limits, base
        self.effort = effort if limits.effort is not None else None
        frames = [box.frame for box in limits.boxes]
        self.points = PointModel(base.robot, frames) if frames else None

    def motion(self, motion: ContinuousMotion, count: int) -> Margins:
        """Margins of a motion at `count` times."""
        path = motion.sample(count)
        return self.states(path.q, path.qd, path.qdd, None if self.limits.jerk is None else motion.jerk(path.t))

    def trajectory(self, trajectory: Trajectory) -> Margins:
        """Margins at the samples of a trajectory; its jerk is the mean between two samples."""
        jerk = np.diff(trajectory.qdd, axis=0) / np.diff(trajectory.t)[:, None] if len(trajectory.t) > 1 else None
        return self.states(trajectory.q, trajectory.qd, trajectory.qdd, jerk)

    def posture(self, q: Array) -> Margins:
        """Margins of a posture at rest."""
        q = np.atleast_2d(q)
        return self.states(q, np.zeros_like(q), np.zeros_like(q))

    def states(self, q: Array, qd: Array, qdd: Array, jerk: Array | None = None) -> Margins:
        """Margins of any states (N, n).

        jerk: jerk values (any number of rows, n); None for states at rest.
        """
        found = self._states(q, qd, qdd)
        if self.limits.jerk is None:
            return found
        return replace(found, jerk=_largest((np.zeros_like(q[:1]) if jerk is None else jerk) / self.limits.jerk))

    def _states(self, q: Array, qd: Array, qdd: Array) -> Margins:
        limits, space = self.limits, self.limits.clearance
        loops = self._loops(q, qd)
        if loops is not None and loops[0] < 0:  # what does not close has no distances and no efforts
            return self._open(q, qd, qdd, *loops)
        low, near = (None, None) if space is None else space.approaches(q)
        return Margins(
            position=_largest((q - limits.middle) / limits.half),
            velocity=_largest(qd / limits.velocity),
            acceleration=_largest(qdd / limits.acceleration),
            effort=self._efforts(q, qd, qdd),
            boxes=self._boxes(q),
            floor=None if low is None else low.distance,
            lowest="" if low is None else low.name,
            clearance=None if near is None else near.distance,
            nearest="" if near is None else near.name,
            clearance_margin=0.0 if space is None else space.margin,
            loops=() if limits.loops is None else limits.loops.uses(q),
            passive=None if loops is None else loops[0],
            tightest_passive="" if loops is None else loops[1],
            constraints=tuple((c.name, float(checked_margins(c, q, qd, qdd).min())) for c in limits.constraints),
        )

    def _loops(self, q: Array, qd: Array) -> tuple[float, str] | None:
        """Smallest margin of the loop closures, and its name."""
        loops = self.limits.loops
        if loops is None:
            return None
        room, what = loops.nearest(q, qd)
        if room >= 0 and not loops.is_on_branch(q).all():
            return -1.0, "the assembly branch of the loops at the seed"
        return room, what

    def _open(self, q: Array, qd: Array, qdd: Array, room: float, what: str) -> Margins:
        """Margins of states that violate loop closures or passive joint limits."""
        limits = self.limits
        used = (_largest((q - limits.middle) / limits.half), _largest(qd / limits.velocity))
        return Margins(*used, _largest(qdd / limits.acceleration), passive=room, tightest_passive=what)

    def room(self, q: Array) -> Array:
        """Normalised margin of each posture (N, n) at rest to all limits except joint limits.

        1 if nothing is near, 0 at a limit, negative beyond it.
        """
        loops = self.limits.loops
        if loops is None:
            return self._room(q)
        rooms = np.nan_to_num(loops.rooms(q, np.zeros_like(q)).min(axis=1), nan=-1.0)
        closed = (rooms > 0) & loops.is_on_branch(q, alone=True)
        found = np.minimum(rooms, np.where(closed, 1.0, -1.0))
        if closed.any():
            found[closed] = np.minimum(2 * found[closed], self._room(q[closed]))
        return np.asarray(found)

    def _room(self, q: Array) -> Array:
        """`room` without loop-closure margins."""
        still = np.zeros_like(q)
        found = np.ones(len(q))
        if self.effort is not None and self.limits.effort is not None:
            found = np.minimum(found, 2 * (1 - self._effort_use(q, still, still).max(axis=1)))
        if self.points is not None:
            found = np.minimum(found, self._inside(q).min(axis=1) / FREE)
        for constraint in self.limits.constraints:
            found = np.minimum(found, checked_margins(constraint, q, still, still).min(axis=1))
        space = self.limits.clearance
        return found if space is None else np.minimum(found, space.room(q))

    def _efforts(self, q: Array, qd: Array, qdd: Array) -> tuple[float, ...] | None:
        if self.effort is None or self.limits.effort is None:
            return None
        parts = (slice(k, k + BLOCK) for k in range(0, len(q), BLOCK))
        return _largest(np.vstack([self._effort_use(q[part], qd[part], qdd[part]).max(axis=0) for part in parts]))

    def _effort_use(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Fraction of the effort limit that each state needs, (N, n)."""
        assert self.effort is not None and self.limits.effort is not None
        W = self.base.regressor(q, qd, qdd).reshape(-1, self.base.count)
        tau = self.effort.sizes(self.effort.efforts(W, q, qd, qdd))
        return np.asarray(tau / (self.limits.effort * (1 - self.limits.effort_margin)))

    def _inside(self, q: Array) -> Array:
        """Distance of each boxed frame to the nearest face of its box, (N, boxes)."""
        assert self.points is not None
        lower, upper = box_corners(self.limits)
        p = self.points.value(q)
        return np.asarray(np.minimum(p - lower, upper - p).reshape(len(q), -1, 3).min(axis=2))

    def _boxes(self, q: Array) -> tuple[tuple[str, float], ...]:
        if self.points is None:
            return ()
        inside = self._inside(q).min(axis=0)
        return tuple((box.frame, float(d)) for box, d in zip(self.limits.boxes, inside, strict=True))

    def tightest(self, margins: Margins) -> str:
        """Limit that a posture at rest is closest to, in words."""
        if not margins.is_feasible:
            return self.explain(margins)
        found: list[tuple[float, str]] = []
        if margins.effort is not None:
            j = int(np.argmax(margins.effort))
            used = margins.effort[j]
            found.append((1 - used, f"joint '{self.limits.names[j]}' needs {used:.2f} of its effort limit there"))
        for distance, name, said in (
            (margins.floor, margins.lowest, _high),
            (margins.clearance, margins.nearest, _apart),
        ):
            if distance is not None:
                found.append((distance - margins.clearance_margin, said(name, distance)))
        if margins.passive is not None:
            found.append(
                (0.5 * margins.passive, (f"it is close to violating a constraint: {margins.tightest_passive}"))
            )
        found += [(d, f"frame '{frame}' is {d:.3g} m inside its box") for frame, d in margins.boxes]
        found += [(0.5 * d, f"constraint '{name}' has a margin of {d:.3g} there") for name, d in margins.constraints]
        return min(found, default=(0.0, "a joint is at its limit"))[1]

    def explain(self, margins: Margins) -> str:
        """Violated limit, in words."""
        for what in ("position", "velocity", "acceleration", "jerk", "effort"):
            values = getattr(margins, what)
            if values is not None and max(values) > 1 + ROUNDING:
                j = int(np.argmax(values))
                return f"joint '{self.limits.names[j]}' needs {values[j]:.2f} times its {what} limit"
        for frame, distance in margins.boxes:
            if distance < 0:
                return f"frame '{frame}' is {-distance:.3g} m outside its box"
        for name, margin in margins.constraints:
            if margin < 0:
                return f"the constraint '{name}' is violated: its margin is {margin:.3g}"
        if margins.passive is not None and margins.passive < 0:
            return f"it violates a constraint: {margins.tightest_passive}"
        asked = f"at least {margins.clearance_margin:.3g} m is required"
        if margins.floor is not None and margins.floor < margins.clearance_margin:
            return f"{_high(margins.lowest, margins.floor)}, {asked} (change it with --floor Z or none)"
        if margins.clearance is not None and margins.clearance < margins.clearance_margin:
            said = f"{_apart(margins.nearest, margins.clearance)}, {asked}"
            space = self.limits.clearance
            return (
                said if space is None or space.obstacles else (f"{said} (change it with --self-collision on or none)")
            )
        return "every limit is respected"


def _high(name: str, distance: float) -> str:
    where = "above" if distance >= 0 else "below"
    return f"{name} is {abs(distance):.3g} m {where} the floor"


def _apart(names: str, distance: float) -> str:
    return f"{names} are {distance:.3g} m apart" if distance >= 0 else f"{names} overlap by {-distance:.3g} m"


def _largest(used: Array) -> tuple[float, ...]:
    return tuple(float(v) for v in np.abs(np.atleast_2d(used)).max(axis=0))

"""The last word on a motion: every limit on a fine grid of times, and how much of it is used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.base.grouping import BaseParameters
from minertia.excitation.effort import EffortModel
from minertia.excitation.limits import MotionLimits
from minertia.excitation.model import PointModel
from minertia.excitation.objective import box_corners
from minertia.excitation.trajectory import Motion, Trajectory

Array = NDArray[np.float64]
ROUNDING = 1e-9
BLOCK = 2000


@dataclass(frozen=True)
class Margins:
    """Largest use of each limit (1 is the limit itself) and smallest distances [m]; None where nothing was asked.

    position, velocity, acceleration, effort: per joint.  boxes: {frame: smallest distance to a face}.  clearance:
    smallest distance to an obstacle or another link, and between what.
    """

    position: tuple[float, ...]
    velocity: tuple[float, ...]
    acceleration: tuple[float, ...]
    effort: tuple[float, ...] | None = None
    boxes: tuple[tuple[str, float], ...] = ()
    clearance: float | None = None
    nearest: str = ""
    clearance_margin: float = 0.0

    def __repr__(self) -> str:
        names = ("position", "velocity", "acceleration", "effort")
        used = [(name, getattr(self, name)) for name in names]
        parts = [f"{name} {100 * max(values):.3g} %" for name, values in used if values]
        near = [] if self.clearance is None else [f"nearest approach {self.clearance:.3g} m"]
        return f"<Margins used at most: {', '.join([*parts, *near])}>"

    @property
    def worst(self) -> float:
        """Largest use of any limit; more than 1 when one is not respected."""
        used = max(*self.position, *self.velocity, *self.acceleration, *(self.effort or ()))
        if any(distance < 0 for _, distance in self.boxes):
            used = max(used, 1 - min(distance for _, distance in self.boxes))
        if self.clearance is not None and self.clearance < self.clearance_margin:
            used = max(used, 1 + self.clearance_margin - self.clearance)
        return used

    @property
    def is_feasible(self) -> bool:
        """Whether every limit is respected."""
        return self.worst <= 1 + ROUNDING

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "position": list(self.position),
            "velocity": list(self.velocity),
            "acceleration": list(self.acceleration),
            "effort": None if self.effort is None else list(self.effort),
            "boxes": dict(self.boxes),
            "clearance": self.clearance,
        }


class Checker:
    """Margins of motions and postures under given limits."""

    def __init__(self, limits: MotionLimits, base: BaseParameters, effort: EffortModel | None) -> None:
        if limits.effort is not None and effort is None:
            base.robot.parameters()  # says what is missing
        self.limits, self.base = limits, base
        self.effort = effort if limits.effort is not None else None
        frames = [box.frame for box in limits.boxes]
        self.points = PointModel(base.robot, frames) if frames else None

    def motion(self, motion: Motion, count: int) -> Margins:
        """Margins at `count` times."""
        return self.trajectory(motion.sample(count))

    def trajectory(self, trajectory: Trajectory) -> Margins:
        """Margins at the samples of a trajectory."""
        return self.states(trajectory.q, trajectory.qd, trajectory.qdd)

    def posture(self, q: Array) -> Margins:
        """Margins at rest."""
        q = np.atleast_2d(q)
        return self.states(q, np.zeros_like(q), np.zeros_like(q))

    def states(self, q: Array, qd: Array, qdd: Array) -> Margins:
        """Margins of any states (N, n)."""
        limits = self.limits
        clearance, nearest = self._clearance(q)
        return Margins(
            position=_largest((q - limits.middle) / limits.half),
            velocity=_largest(qd / limits.velocity),
            acceleration=_largest(qdd / limits.acceleration),
            effort=self._efforts(q, qd, qdd),
            boxes=self._boxes(q),
            clearance=clearance,
            nearest=nearest,
            clearance_margin=0.0 if limits.clearance is None else limits.clearance.margin,
        )

    def _efforts(self, q: Array, qd: Array, qdd: Array) -> tuple[float, ...] | None:
        if self.effort is None or self.limits.effort is None:
            return None
        used = np.zeros(q.shape[1])
        for k in range(0, len(q), BLOCK):
            part = slice(k, k + BLOCK)
            W = self.base.regressor(q[part], qd[part], qdd[part]).reshape(-1, self.base.count)
            tau = self.effort.efforts(W, q[part], qd[part], qdd[part])
            used = np.maximum(used, self.effort.largest(tau))
        return _largest(used / (self.limits.effort * (1 - self.limits.effort_margin)))

    def _boxes(self, q: Array) -> tuple[tuple[str, float], ...]:
        if self.points is None:
            return ()
        lower, upper = box_corners(self.limits)
        p = self.points.value(q)
        inside = np.minimum(p - lower, upper - p).min(axis=0).reshape(-1, 3).min(axis=1)
        return tuple((box.frame, float(d)) for box, d in zip(self.limits.boxes, inside, strict=True))

    def _clearance(self, q: Array) -> tuple[float | None, str]:
        if self.limits.clearance is None:
            return None, ""
        d = self.limits.clearance.distances(q)
        if d.size == 0:
            return None, ""
        pair = int(np.argmin(d.min(axis=0)))
        return float(d.min()), self.limits.clearance.pair_names()[pair]

    def explain(self, margins: Margins) -> str:
        """Which limit is not respected, in a few words."""
        for what in ("position", "velocity", "acceleration", "effort"):
            values = getattr(margins, what)
            if values is not None and max(values) > 1 + ROUNDING:
                j = int(np.argmax(values))
                return f"joint '{self.limits.names[j]}' needs {values[j]:.2f} times its limit of {what}"
        for frame, distance in margins.boxes:
            if distance < 0:
                return f"frame '{frame}' is {-distance:.3g} m outside its box"
        if margins.clearance is not None and margins.clearance < margins.clearance_margin:
            return f"{margins.nearest} are {margins.clearance:.3g} m apart, {margins.clearance_margin:.3g} m are asked"
        return "every limit is respected"


def _largest(used: Array) -> tuple[float, ...]:
    return tuple(float(v) for v in np.abs(np.atleast_2d(used)).max(axis=0))

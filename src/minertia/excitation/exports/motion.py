"""`ControllerMotion`: the common input of all controller exports."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minertia.excitation.route import Route
from minertia.excitation.trajectory import Trajectory
from minertia.io.errors import Infeasible
from minertia.robot.robot import Robot


@dataclass(frozen=True)
class ControllerMotion:
    """A route of a robot at equal times; begins: index of the first sample of each part of the route."""

    robot: Robot
    route: Route
    rate: float
    path: Trajectory
    begins: tuple[int, ...]

    @staticmethod
    def of(robot: Robot, route: Route, rate: float) -> ControllerMotion:
        """Sample the route at a rate [Hz].

        Parts begin at samples, so the previous one may rest for part of a period.
        """
        parts = [motion.at_rate(rate) for _, motion in route.parts]
        counts = [len(part.t) - 1 for part in parts]
        begins = np.concatenate([[0], np.cumsum(counts)])
        q, qd, qdd = (
            np.vstack([*(getattr(part, name)[:-1] for part in parts), getattr(parts[-1], name)[-1:]])
            for name in ("q", "qd", "qdd")
        )
        path = Trajectory(np.arange(len(q)) / rate, q, qd, qdd)
        return ControllerMotion(robot, route, rate, path, tuple(int(k) for k in begins[:-1]))

    @property
    def period(self) -> float:
        """Time between samples [s]."""
        return 1.0 / self.rate

    @property
    def names(self) -> tuple[str, ...]:
        """Joint names of the robot file."""
        return self.robot.coordinate_names

    @property
    def is_sliding(self) -> tuple[bool, ...]:
        """Mask of the prismatic coordinates [m]."""
        return tuple(self.robot.joints[j].kind == "prismatic" for j in self.robot.independent)

    def require_turning(self, count: int, what: str) -> None:
        """Raise an error unless the robot has exactly `count` revolute joints."""
        if self.robot.n != count or any(self.is_sliding):
            slides = sum(self.is_sliding)
            has = f"{self.robot.n} joints" + (f", {slides} of which are prismatic" if slides else "")
            more = "; lock the others with --hold" if self.robot.n > count else ""
            raise Infeasible(f"{what} moves {count} revolute joints, but '{self.robot.name}' has {has}{more}")


def number(value: float, digits: int = 9) -> str:
    """Position with fixed decimals, without negative zero."""
    return f"{round(float(value), digits) + 0.0:.{digits}f}"

"""Result of a fleet fit: values of the type, of each robot, and the variation between robots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from minertia.fleet.between import FEWEST_ROBOTS, Between, between_robots
from minertia.fleet.calendar import day_name
from minertia.fleet.day_memory import DayMemory
from minertia.fleet.index import LogFault
from minertia.fleet.outliers import OutlierRobot, outlier_robots
from minertia.identification.physical.fit import PhysicalFit
from minertia.identification.problem.linear import symbol_of
from minertia.io.arrays import Array
from minertia.io.notebook import plural

FORMAT = 1  # of the JSON


@dataclass(frozen=True)
class RobotFit:
    """Estimates of one robot with standard deviations (half width of the 95 % interval / 1.96).

    Standard deviations are NaN with too few days.  days: first and last day; count: number of days with
    logs.  not_shown: unidentifiable names, with a sentence each.
    """

    robot: str
    days: tuple[int, int]
    count: int
    names: tuple[str, ...]
    values: Array
    deviation: Array
    freedom: Array
    not_shown: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<RobotFit of '{self.robot}': {plural(len(self.names), 'value')} from {plural(self.count, 'day')}>"

    def to_json(self) -> dict[str, Any]:
        """Return as a dict of plain data, for JSON."""
        rows = zip(self.names, self.values.tolist(), self.deviation.tolist(), strict=True)
        return {
            "robot": self.robot,
            "days": [day_name(d) for d in self.days],
            "count": self.count,
            "values": {n: {"value": _number(v), "deviation": _number(s)} for n, v, s in rows},
            "not_shown": dict(self.not_shown),
            "remarks": list(self.remarks),
        }


@dataclass(frozen=True)
class PooledType:
    """Inertial parameters shared by a type, robots as clusters; physical: closest physically consistent robot."""

    name: str
    names: tuple[str, ...]
    values: Array
    deviation: Array
    robots: int
    free_is_physical: bool | None = None
    physical: PhysicalFit | None = None

    def __repr__(self) -> str:
        return f"<PooledType '{self.name}': {plural(len(self.names), 'value')} from {plural(self.robots, 'robot')}>"

    def to_json(self) -> dict[str, Any]:
        """Return as a dict of plain data, for JSON."""
        rows = zip(self.names, self.values.tolist(), self.deviation.tolist(), strict=True)
        found: dict[str, Any] = {
            "type": self.name,
            "robots": self.robots,
            "values": {n: {"value": v, "deviation": _number(s)} for n, v, s in rows},
        }
        if self.physical is not None:
            found["physical"] = {
                "free_is_physical": self.free_is_physical,
                "excess": self.physical.excess,
                "at_boundary": list(self.physical.at_boundary),
                "values": dict(zip(self.names, self.physical.beta.tolist(), strict=True)),
            }
        return found


@dataclass(frozen=True)
class FleetFit:
    """Fit of one type: shared values, each robot's values, and the variation between robots.

    between: variation of viscous and dry friction between robots, by joint; empty with fewer than three
    robots.  memory: autocorrelation of the day values of friction.  faults: excluded robots, and the
    reasons.  damaged: unreadable records.
    """

    type: PooledType
    robots: Mapping[str, RobotFit]
    symbols: tuple[str, ...]
    sigma: Array
    memory: DayMemory
    faults: Mapping[str, str] = field(default_factory=dict)
    damaged: tuple[LogFault, ...] = ()

    def __repr__(self) -> str:
        return (
            f"<FleetFit of '{self.type.name}': {plural(len(self.robots), 'robot')}, effects {', '.join(self.symbols)}>"
        )

    @cached_property
    def between(self) -> Mapping[str, Between]:
        """Variation between robots, by joint."""
        found = {}
        for joint in sorted({n[2:] for n in self._friction()}, key=lambda j: (len(j), j)):
            names = tuple(n for n in (f"FV{joint}", f"FC{joint}") if n in self._friction())
            values, covariances, robots = self._table(names)
            if len(robots) >= FEWEST_ROBOTS:
                found[joint] = between_robots(names, values, covariances)
        return found

    def outliers(self, q: float = 0.1) -> tuple[OutlierRobot, ...]:
        """Robots with outlying friction in some joint, at a false discovery rate of at most q."""
        joints = list(dict.fromkeys(n[2:] for n in self._friction()))
        tables = []
        for joint in joints:
            names = tuple(n for n in (f"FV{joint}", f"FC{joint}") if n in self._friction())
            values, covariances, robots = self._table(names)
            tables.append((robots, names, values, covariances))
        return outlier_robots(tables, q)

    def _friction(self) -> list[str]:
        first = next(iter(self.robots.values()))
        return [n for n in first.names if symbol_of(n) in ("FV", "FC")]

    def _table(self, names: Sequence[str]) -> tuple[Array, Array, tuple[str, ...]]:
        """Values and covariances of the robots that have all of these names."""
        values, covariances, robots = [], [], []
        for robot, own in self.robots.items():
            places = [own.names.index(n) for n in names if n in own.names]
            row, deviation = own.values[places], own.deviation[places]
            if len(places) == len(names) and np.all(np.isfinite(row)) and np.all(np.isfinite(deviation)):
                values.append(row)
                covariances.append(np.diag(deviation**2))
                robots.append(robot)
        p = len(names)
        return np.array(values).reshape(-1, p), np.array(covariances).reshape(-1, p, p), tuple(robots)

    def to_json(self) -> dict[str, Any]:
        """Return as a dict of plain data, for JSON."""
        return {
            "format": FORMAT,
            "type": self.type.to_json(),
            "effects": list(self.symbols),
            "day_effects": {"part": self.memory.part, "memory": self.memory.memory},
            "robots": [own.to_json() for own in self.robots.values()],
            "between": {
                joint: {
                    n: {"mean": m, "deviation": d, "spread": s}
                    for n, m, d, s in zip(
                        own.names, own.mean.tolist(), own.deviation.tolist(), own.spread.tolist(), strict=True
                    )
                }
                for joint, own in self.between.items()
            },
            "faults": {**self.faults, **{own.source: own.reason for own in self.damaged}},
        }


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None

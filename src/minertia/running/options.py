"""Options of a run: driver, speed stages, bounds at which the robot is stopped, command rate."""

from __future__ import annotations

from dataclasses import dataclass

from minertia.io.errors import Infeasible
from minertia.io.schema import Declared, check, option

SIMULATED = "sim"
DRIVERS = {SIMULATED: 125.0, "ur": 125.0, "ros2": 100.0}  # default command rate [Hz]
SLOWEST, FASTEST = 1.0, 100.0  # speed stages [%]


@dataclass(frozen=True, slots=True, repr=False)
class RunOptions(Declared):
    """Options of a run."""

    driver: str = option(
        SIMULATED,
        "Driver: simulated robot, Universal Robots, or ROS 2 (rosbridge).",
        choices=tuple(DRIVERS),
        command="driver",
    )
    speeds: tuple[float, ...] = option(
        (10.0, 50.0, 100.0),
        "Speed stages, run one after the other, by default 10,50,100; a real robot begins with 10 or less.",
        unit="%",
        range=(SLOWEST, FASTEST),
        command="speeds",
    )
    error: float | tuple[float, ...] | None = option(
        None,
        "Tracking error at which the robot is stopped, for all joints or one each; at most 0.5 rad, 0.1 m.",
        unit="rad or m",
        above=0,
        command="error",
        otherwise="0.1 rad, 0.02 m",
    )
    effort: float | tuple[float, ...] | None = option(
        None,
        "Effort at which the robot is stopped, in the driver's unit; requires a robot that reports efforts.",
        unit="N m, N or A",
        above=0,
        command="effort",
        otherwise="the limits of the robot file, which are also the largest allowed",
    )
    rate: float | None = option(
        None, "Command rate.", unit="Hz", range=(10, 1000), command="rate", otherwise="that of the rehearsal"
    )

    def __post_init__(self) -> None:
        check(self)
        if not self.speeds:
            raise Infeasible("speeds is empty; give at least one speed stage in %")
        if len({round(speed) for speed in self.speeds}) < len(self.speeds):
            raise Infeasible("speeds contains a stage twice; stages must differ by at least 1 %")

    @property
    def is_simulated(self) -> bool:
        """Whether the driver is simulated."""
        return self.driver == SIMULATED

    @property
    def factors(self) -> list[float]:
        """Speed stages as fractions of the full speed of the trajectory."""
        return [speed / 100 for speed in self.speeds]

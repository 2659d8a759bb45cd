"""`RobotType`: settings that determine how logs of a kind of robot become records, and their hashes."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from minertia.fleet.columns import ColumnSet, column_set, digest_of, kinematics_text
from minertia.fleet.options import FleetEntries, TypeEntries
from minertia.identification.campaigns.options import SensorOptions
from minertia.identification.campaigns.sensed import precise, sensed_robot
from minertia.identification.logs.options import ColumnMap
from minertia.identification.signals.filtering import EDGE, OVERSAMPLING
from minertia.identification.signals.options import Filter
from minertia.io.errors import MinertiaError
from minertia.io.notebook import clipped
from minertia.io.schema import like
from minertia.robot.robot import Robot

RECORD_VERSION = 3  # raised whenever the same log gives other numbers; older records are then another set


@dataclass(frozen=True)
class RobotType:
    """Type of robot in a fleet.

    columns: signal columns of its logs, units and drive gains.  filter: filter of the signals, with a given
    cut-off.  reference: robot whose inertial parameters give the load of load-dependent friction; None for
    the robot itself.  temperature [degC]: reference temperature of friction.  rest [rad/s or m/s]: speed
    below which a joint counts as at rest.  zone: time zone of the calendar days.  sensors: force/torque sensors,
    whose wrenches are logged beside the joints.
    """

    name: str
    robot: Robot
    columns: ColumnMap
    filter: Filter
    reference: Robot | None = None
    temperature: float = like(TypeEntries, "temperature")
    rest: float = like(TypeEntries, "rest")
    zone: str = FleetEntries().zone
    sensors: tuple[SensorOptions, ...] = ()

    def __post_init__(self) -> None:
        try:
            ZoneInfo(self.zone)
        except (ZoneInfoNotFoundError, ValueError):
            raise MinertiaError(
                f"the time zone '{self.zone[:60]}' of the type '{self.name}' is unknown; write it as Europe/Berlin"
            ) from None
        object.__setattr__(self, "filter", stated_filter(self.filter, self.name))
        if self.sensors:
            object.__setattr__(self, "filter", precise(self.filter))
            for name in ("robot", "reference"):
                robot = getattr(self, name)
                if robot is not None:
                    object.__setattr__(self, name, sensed_robot(robot, self.sensors))

    def __repr__(self) -> str:
        return f"<RobotType '{clipped(self.name, 40)}' of '{clipped(self.robot.name, 40)}', zone {self.zone}>"

    def __getstate__(self) -> dict[str, Any]:
        """State without derived data, so that a few kilobytes are sent to workers."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @cached_property
    def column_set(self) -> ColumnSet:
        """All regressor columns that records of this type may contain."""
        return column_set(self.robot, self.reference, temperature=self.temperature, rest=self.rest)

    @cached_property
    def hashes(self) -> dict[str, str]:
        """Hash of each part that a record depends on."""
        units = {k: v for k, v in asdict(self.columns).items() if k != "found"}
        if self.sensors:
            units["sensors"] = [asdict(one) for one in self.sensors]
        return {
            "kinematics": digest_of(kinematics_text(self.robot)),
            "columns": self.column_set.digest,
            "filter": digest_of(asdict(self.filter)),
            "units": digest_of(units),
            "kernels": self.column_set.kernels,
        }

    def key(self, kind: str = "scores") -> str:
        """Hash of all parts; records with different keys are never mixed."""
        zone = {"zone": self.zone, "type": self.name}
        return digest_of({"version": RECORD_VERSION, "stretches": kind, **zone, **self.hashes})


def stated_filter(filter: Filter, name: str) -> Filter:
    """Filter with every value specified, so that the same filter is applied to all logs of a type."""
    if filter.cutoff_hz is None:
        raise MinertiaError(
            f"the filter of the type '{name}' needs a cutoff_hz: records of logs with different cut-offs cannot "
            "be merged"
        )
    if filter.equations != "torque" or filter.derivative == "logged":
        raise MinertiaError(
            f"records of the type '{name}' need joint torques, and velocities differentiated from positions"
        )
    trim = EDGE / filter.cutoff_hz if filter.trim_s is None else filter.trim_s
    return replace(
        filter, on="signals", rate_hz=filter.rate_hz or OVERSAMPLING * filter.cutoff_hz, trim_s=trim, parallel_hz=None
    )

"""Evidence of many robots over many days."""

from minertia.fleet.add import AddResult
from minertia.fleet.alarms import FleetAlarm
from minertia.fleet.drift import FleetDrift
from minertia.fleet.evidence import FleetEvidence
from minertia.fleet.fit_result import FleetFit
from minertia.fleet.fleet import Fleet
from minertia.fleet.fleet_file import FleetFile, FleetRobot, read_fleet
from minertia.fleet.record import EvidenceRecord
from minertia.fleet.robot_type import RobotType

__all__ = [
    "AddResult",
    "EvidenceRecord",
    "Fleet",
    "FleetAlarm",
    "FleetDrift",
    "FleetEvidence",
    "FleetFile",
    "FleetFit",
    "FleetRobot",
    "RobotType",
    "read_fleet",
]

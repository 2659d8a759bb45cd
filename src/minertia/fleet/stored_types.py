"""Types and robots of a fleet as stored, so that records can be interpreted without other files."""

from __future__ import annotations

from dataclasses import dataclass

import tomli_w

from minertia.fleet.evidence import EvidenceLayout
from minertia.fleet.fleet_file import FleetRobot
from minertia.fleet.places import StoreError
from minertia.fleet.robot_type import RobotType
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.read import recorded_campaign
from minertia.identification.campaigns.record import campaign_record
from minertia.identification.model import frames_table
from minertia.io.documents import DocumentError, toml_document
from minertia.robot.files import parse_robot
from minertia.robot.formats.dh.write import toml_text
from minertia.robot.identified import with_frames

FORMAT = 1


@dataclass(frozen=True)
class StoredType:
    """Robot type as stored for the records of one key; kind: which statistics of time blocks are stored."""

    type: RobotType
    key: str
    kind: str
    layout: EvidenceLayout

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return self.type.robot.n


@dataclass(frozen=True)
class StoredFleet:
    """Robots known to a store, and the key of each type's current records."""

    keys: dict[str, str]
    robots: tuple[FleetRobot, ...]


def type_text(own: RobotType, key: str, kind: str) -> str:
    """Complete TOML text of a type, so that records can be interpreted without its source files."""
    record = campaign_record(Campaign(own.robot, columns=own.columns, filter=own.filter, sensors=own.sensors))
    layout = own.column_set.layout
    document = {
        "format": FORMAT,
        "name": own.name,
        "key": key,
        "stretches": kind,
        "zone": own.zone,
        "temperature": own.temperature,
        "rest": own.rest,
        "filter": record["filter"],
        "columns": record["columns"],
        "drive": record["drive"],
        **({"sensors": record["sensors"], "frames": frames_table(own.robot)} if own.sensors else {}),
        "layout": {"names": layout.names, "efforts": layout.efforts, "seen": [list(s) for s in layout.seen]},
        "robot": toml_text(own.robot.without_sensors),
        **({} if own.reference is None else {"reference": toml_text(own.reference.without_sensors)}),
    }
    return tomli_w.dumps(document)


def parsed_type(text: str, source: str) -> StoredType:
    """Parse a text written by `type_text`; source: its name in errors."""
    try:
        said = toml_document(text)
        robot = with_frames(parse_robot(said["robot"], source), said.get("frames", {}))
        reference = parse_robot(said["reference"], source) if "reference" in said else None
        settings = recorded_campaign(robot, said)
        own = RobotType(
            said["name"],
            robot,
            settings.map,
            settings.filter,
            reference,
            said["temperature"],
            said["rest"],
            said["zone"],
            tuple(settings.sensors),
        )
        layout = said["layout"]
        seen = tuple(tuple(part) for part in layout["seen"])
        stored = EvidenceLayout(tuple(layout["names"]), tuple(layout["efforts"]), seen)
        return StoredType(own, said["key"], said["stretches"], stored)
    except (DocumentError, KeyError, TypeError) as err:
        raise StoreError(
            f"{source}: the file of a robot type is damaged ({str(err)[:160]}); add one of its logs again"
        ) from None


def fleet_text(fleet: StoredFleet) -> str:
    """TOML text of robots and keys."""
    robots = [
        {"id": one.identity, "type": one.type}
        | ({} if one.since is None else {"since": one.since})
        | ({"line": one.line} if one.line else {})
        for one in fleet.robots
    ]
    return tomli_w.dumps({"format": FORMAT, "types": fleet.keys, "robots": robots})


def parsed_fleet(text: str) -> StoredFleet:
    """Parse a text written by `fleet_text`."""
    said = toml_document(text)
    robots = (
        FleetRobot(own["id"], own["type"], own.get("since"), own.get("line", "")) for own in said.get("robots", [])
    )
    return StoredFleet(dict(said.get("types", {})), tuple(robots))

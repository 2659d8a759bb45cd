"""A simulated fleet in a real store, as if its logs had been added."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np

from benchmarks.simulated_fleet import SimulatedFleet
from benchmarks.simulated_program import RATE, ROBOT, STRETCH, STRETCHES, simulated_layout
from minertia.fleet.calendar import day_name
from minertia.fleet.fleet import Fleet
from minertia.fleet.fleet_file import FleetFile, FleetRobot
from minertia.fleet.index import IndexRow
from minertia.fleet.record import EvidenceRecord, arithmetic
from minertia.fleet.robot_day import RobotDay
from minertia.fleet.robot_type import RECORD_VERSION, RobotType
from minertia.identification.logs.options import ColumnMap
from minertia.identification.signals.options import Filter
from minertia.robot.files import read_robot
from minertia.version import __version__

NAME = "arm"
SHIFT = 8 * 3600.0  # s


def simulated_type() -> RobotType:
    """The type of the simulated robots."""
    return RobotType(NAME, read_robot(ROBOT), ColumnMap(), Filter(cutoff_hz=5.0))


def simulated_store(url: str, fleet: SimulatedFleet, robots: Iterable[int] | None = None) -> Fleet:
    """The store of a simulated fleet; its records are those of days that were never logged."""
    kind = simulated_type()
    assert kind.column_set.layout == simulated_layout()
    opened = Fleet.open(url, FleetFile({NAME: kind}, (FleetRobot("r*", NAME),)))
    key = opened.store.keep_fleet(opened.described, "scores")[NAME]
    rows = []
    for k in range(fleet.robots) if robots is None else robots:
        for day, own in fleet.robot(k).items():
            record = simulated_record(kind, key, fleet.names()[k], day, own)
            rows.append(IndexRow.of(record, opened.store.put(record)))
    opened.store.write_index(rows)
    return opened


def simulated_record(kind: RobotType, key: str, robot: str, day: int, own: RobotDay) -> EvidenceRecord:
    """The record of one day."""
    n = kind.robot.n
    start = (day - 719_163) * 86_400.0 + 6 * 3600.0
    content = hashlib.sha256(f"{robot} {day}".encode()).hexdigest()
    samples = int(RATE * STRETCH * STRETCHES)
    assert own.histograms is not None and own.evidence.stretches is not None
    counts = np.round(own.histograms * samples).astype(np.int64)
    effort = np.array([float(np.sum(R[:, -1] ** 2)) for R in own.evidence.triangles])
    blind = bool(np.isnan(own.temperature).any())
    return EvidenceRecord(
        version=RECORD_VERSION, robot=robot, robot_type=NAME, day=day_name(day), content=content, length=samples,
        key=key, **kind.hashes, arithmetic=arithmetic(), minertia=__version__, clock="absolute", first=start,
        last=start + SHIFT, samples=samples, evidence=own.evidence,
        unexplained=np.sqrt(own.evidence.stretches.rest / effort), positions=counts[:n], speeds=counts[n:],
        temperatures=np.zeros((n, 16), np.int64), temperature=np.zeros(0) if blind else own.temperature,
        reach=np.zeros((3, n)), largest=np.zeros(0), programs={}, load=np.zeros(0), remarks=(),
        stretch_R=np.zeros(0), stretch_R_samples=np.zeros(0),
    )  # fmt: skip

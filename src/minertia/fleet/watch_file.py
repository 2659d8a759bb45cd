"""File of the state of a type's drift reports: a row per robot, with its numbers as one block of bytes.

It is only a cache: a missing, damaged or outdated file is computed again from the records.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.fleet.day_effects import DayEffects
from minertia.fleet.e_process import EvidenceState
from minertia.fleet.evidence import EvidenceLayout
from minertia.fleet.levels import Levels
from minertia.fleet.programs import ProgramState
from minertia.fleet.streams import Learnt, LevelStream, RobotBasis, RobotStreams, StreamType
from minertia.fleet.watch import FORMAT, EvidenceGroup, FollowedRobot, TypeBasis, WatchState
from minertia.io.documents import json_document
from minertia.io.extras import load

TYPE = b"type"  # key of the metadata
EVIDENCE = ("x", "P", "response", "A", "B", "raw", "e", "e_raw")  # arrays of an evidence state
BASIS = ("known", "inflation", "warm")


def state_bytes(state: WatchState) -> bytes:
    """Parquet bytes of the state of a type."""
    arrow, parquet = load("pyarrow", "logs"), load("pyarrow.parquet", "logs")
    basis = state.basis
    assert basis is not None
    rows = [_row(basis.robots[robot], own) for robot, own in state.robots.items()]
    table = arrow.table(
        {
            "robot": arrow.array(list(state.robots), arrow.string()),
            "said": arrow.array([said for said, _ in rows], arrow.string()),
            "numbers": arrow.array([numbers for _, numbers in rows], arrow.large_binary()),
        }
    )
    sink = io.BytesIO()
    parquet.write_table(
        table.replace_schema_metadata({TYPE: json.dumps(_type_said(basis))}), sink, compression="none",
        use_dictionary=False, write_statistics=False, row_group_size=64, write_page_checksum=True,
    )  # fmt: skip
    return sink.getvalue()


def parsed_state(data: bytes, layout: EvidenceLayout, kind: StreamType) -> WatchState:
    """State of a type from its bytes; raises any error if they are damaged or of another format."""
    parquet = load("pyarrow.parquet", "logs")
    table = parquet.ParquetFile(io.BytesIO(data), page_checksum_verification=True).read()
    said = json_document(table.schema.metadata[TYPE].decode())
    if said["format"] != FORMAT:
        return WatchState()
    calibration = {joint: DayEffects(**{**own, "omega": tuple(own["omega"])}) for joint, own in said["effects"].items()}
    learnt = Learnt(
        layout, Levels.of(layout, kind.symbols, kind.load), np.array(said["sigma"]), said["of_type"], {}, said["odd"]
    )
    bases, robots = {}, {}
    for name, text, cell in zip(
        table.column("robot").to_pylist(), table.column("said").to_pylist(), table.column("numbers"), strict=True
    ):
        one = _Row(json_document(text), np.frombuffer(cell.as_buffer(), np.float64))
        bases[name] = one.basis()
        robots[name] = one.robot(name, bases[name], layout)
    return WatchState(TypeBasis(said["key"], learnt, bases, calibration), robots)


def _type_said(basis: TypeBasis) -> dict[str, Any]:
    learnt = basis.learnt
    return {
        "format": FORMAT,
        "key": basis.key,
        "sigma": learnt.sigma.tolist(),
        "of_type": dict(learnt.of_type),
        "odd": dict(learnt.odd),
        "effects": {joint: asdict(own) for joint, own in basis.calibration.items()},
    }


def _row(basis: RobotBasis, own: FollowedRobot) -> tuple[str, bytes]:
    """Text and numbers of one robot."""
    arrays = {f"basis {name}": getattr(basis, name) for name in BASIS}
    arrays |= {f"P {k}": P for k, P in enumerate(basis.P)}
    arrays |= {"temperature": own.levels.temperature, "usual": own.program.usual, "moments": own.program.moments}
    arrays |= {"days": np.array(own.levels.days), "recorded": np.array(list(own.records))}
    for k, stream in enumerate(own.levels.streams):
        arrays |= {f"{name} {k}": getattr(stream, name) for name in ("days", "y", "V", "warm")}
    for k, group in enumerate(own.groups):
        arrays |= {f"{name} of {k}": getattr(group.state, name) for name in (*EVIDENCE, "starts", "days")}
    said = {
        "key": own.key,
        "records": " ".join(own.records.values()),
        "basis": {"window": basis.window, "load": basis.load, "heat": basis.heat, "reasons": basis.reasons},
        "program": {"count": own.program.count, "name": own.program.name, "changes": own.program.changes},
        "streams": [s.joint for s in own.levels.streams],
        "groups": [_group_said(group) for group in own.groups],
        "arrays": {name: array.shape for name, array in arrays.items()},
    }
    return json.dumps(said), b"".join(np.ascontiguousarray(array, np.float64).tobytes() for array in arrays.values())


def _group_said(group: EvidenceGroup) -> dict[str, Any]:
    state = group.state
    return {"joints": group.joints, "day": state.day, "marks": state.marks}


class _Row:
    """Text and numbers of one robot, as read."""

    def __init__(self, said: Mapping[str, Any], numbers: NDArray[np.float64]) -> None:
        self.said, self.arrays, done = said, {}, 0
        for name, shape in said["arrays"].items():
            size = math.prod(shape)
            self.arrays[name] = numbers[done : done + size].reshape(shape)
            done += size
        if done != len(numbers):
            raise ValueError(f"{len(numbers)} numbers instead of {done}")

    def basis(self) -> RobotBasis:
        """Values from the training days."""
        own = self.said["basis"]
        first, last = own["window"]
        P = tuple(self.arrays[name] for name in self.arrays if name.startswith("P ") and "of" not in name)
        known, inflation, warm = (self.arrays[f"basis {name}"] for name in BASIS)
        reasons = tuple((joint, why) for joint, why in own["reasons"])
        return RobotBasis((first, last), known, P, own["load"], inflation, warm, own["heat"], reasons)

    def robot(self, name: str, basis: RobotBasis, layout: EvidenceLayout) -> FollowedRobot:
        """Robot after its days so far."""
        program = self.said["program"]
        changes = tuple((day, note) for day, note in program["changes"])
        streams = tuple(self._stream(name, k, joint) for k, joint in enumerate(self.said["streams"]))
        levels = RobotStreams(
            name, basis.window, streams, basis.reasons, self.arrays["temperature"], tuple(self._days("days").tolist()),
            layout.efforts, basis.friction(layout),
        )  # fmt: skip
        return FollowedRobot(
            self.said["key"],
            dict(zip(self._days("recorded").tolist(), self.said["records"].split(" "), strict=True)),
            levels,
            ProgramState(self.arrays["usual"], self.arrays["moments"], program["count"], program["name"], changes),
            tuple(self._group(k, own) for k, own in enumerate(self.said["groups"])),
        )

    def _days(self, name: str) -> NDArray[np.int_]:
        return self.arrays[name].astype(int)

    def _stream(self, robot: str, k: int, joint: str | None) -> LevelStream:
        days, y, V, warm = self._days(f"days {k}"), *(self.arrays[f"{part} {k}"] for part in ("y", "V", "warm"))
        none = np.zeros((len(days), y.shape[1], 0))
        return LevelStream(robot, joint, days, y, V, warm, none, np.zeros((0, 0)))

    def _group(self, k: int, own: Mapping[str, Any]) -> EvidenceGroup:
        x, P, response, A, B, raw, e, e_raw = (self.arrays[f"{name} of {k}"] for name in EVIDENCE)
        starts, days = self._days(f"starts of {k}"), self._days(f"days of {k}")
        state = EvidenceState(own["day"], tuple(own["marks"]), x, P, starts, response, A, B, raw, days, e, e_raw)
        return EvidenceGroup(tuple(own["joints"]), state)

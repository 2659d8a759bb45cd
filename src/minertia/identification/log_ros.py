"""ROS 2 bags and MCAP files: the joint states of one topic, by the names of the joints.

The order of joints in a message is whatever the publisher chose, so columns are position_<joint>, velocity_<joint> and
effort_<joint>.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from minertia.errors import MinertiaError
from minertia.extras import load
from minertia.identification.log_file import Block, LogFile

if TYPE_CHECKING:
    from minertia.identification.columns import ColumnMap

MESSAGE = "sensor_msgs/msg/JointState"
FIELDS = ("position", "velocity", "effort")


class BagLog(LogFile):
    """The sensor_msgs/JointState messages of a bag; each becomes a row, values it lacks are NaN."""

    def __init__(self, path: Path, columns: ColumnMap) -> None:
        super().__init__(path, columns)
        self._names: tuple[str, ...] | None = None

    def names(self) -> tuple[str, ...]:
        """t and one column for each joint and field that the messages hold."""
        if self._names is None:
            found: dict[str, None] = {"t": None}
            for _, message in self._messages():
                found |= dict.fromkeys(_values(message))
            if len(found) == 1:
                raise self.fail("the joint states name no joints")
            self._names = self.unique(list(found))
        return self._names

    def blocks(self, wanted: Collection[str], rows: int) -> Iterator[Block]:
        """The wanted columns; messages with none of them, such as those of another robot, are left out."""
        chosen = [name for name in self.names() if name in wanted]
        joint_columns = {name for name in chosen if name != "t"}
        table: list[list[float]] = []
        start: int | None = None
        row = 1
        for stamp, message in self._messages():
            values = _values(message)
            if joint_columns and not joint_columns & values.keys():
                continue
            start = stamp if start is None else start
            values["t"] = (stamp - start) * 1e-9
            table.append([values.get(name, np.nan) for name in chosen])
            if len(table) == rows:
                yield _block(chosen, table, row)
                row, table = row + rows, []
        if table:
            yield _block(chosen, table, row)

    def _messages(self) -> Iterator[tuple[int, Any]]:
        """Time [ns] (of the message's header, or of the bag where that is 0) and message, one after the other."""
        rosbags, typesys = load("rosbags.highlevel", "logs"), load("rosbags.typesys", "logs")
        store = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)
        try:
            with rosbags.AnyReader([self._bag()], default_typestore=store) as reader:
                for connection, time, raw in reader.messages(connections=self._connections(reader)):
                    message = reader.deserialize(raw, connection.msgtype)
                    stamp = message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec
                    yield stamp or time, message
        except MinertiaError:
            raise
        except Exception as err:  # whatever a broken bag makes its readers raise
            raise self.fail(f"the bag cannot be read ({str(err)[:160] or err.__class__.__name__})") from None

    def _bag(self) -> Path:
        """The folder of a bag for one of its files; an MCAP file without one stands for itself."""
        folder = self.path if self.path.is_dir() else self.path.parent
        return folder if (folder / "metadata.yaml").is_file() else self.path

    def _connections(self, reader: Any) -> list[Any]:
        states = [c for c in reader.connections if c.msgtype == MESSAGE]
        topics = sorted({c.topic for c in states})
        if self.map.topic is not None:
            topics = [topic for topic in topics if topic == self.map.topic]
        if not topics:
            there = sorted({f"{c.topic} ({c.msgtype})" for c in reader.connections})[:20]
            raise self.fail(f"there are no messages of type {MESSAGE}; the bag has: {', '.join(there) or 'nothing'}")
        if len(topics) > 1:
            raise self.fail(f"joint states stand in {len(topics)} topics ({', '.join(topics)}); choose one with topic")
        return [c for c in states if c.topic == topics[0]]


def _values(message: Any) -> dict[str, float]:
    values: dict[str, float] = {}
    for field in FIELDS:
        numbers = getattr(message, field)
        if len(numbers) == len(message.name):
            values |= {f"{field}_{joint}": float(v) for joint, v in zip(message.name, numbers, strict=True)}
    return values


def _block(names: list[str], table: list[list[float]], row: int) -> Block:
    values = np.array(table, dtype=float)
    return Block({name: np.ascontiguousarray(values[:, k]) for k, name in enumerate(names)}, row)


__all__ = ["BagLog"]

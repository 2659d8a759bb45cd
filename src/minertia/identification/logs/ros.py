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
from minertia.identification.logs.bag_limits import Meter, bound_unpacking, check_bag
from minertia.identification.logs.file import Block, LogFile
from minertia.identification.logs.joint_state import Layout, layout_of, stamp_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from minertia.identification.logs.columns import ColumnMap

    Array = NDArray[np.float64]

MOST_LAYOUTS = 100
BLOCK_BYTES = 64_000_000  # of the messages of a block
MESSAGE = "sensor_msgs/msg/JointState"


class BagLog(LogFile):
    """The sensor_msgs/JointState messages of a bag; each becomes a row, values it lacks are NaN."""

    def __init__(self, path: Path, columns: ColumnMap) -> None:
        super().__init__(path, columns)
        self._names: tuple[str, ...] | None = None

    def names(self) -> tuple[str, ...]:
        """t and one column for each joint and field that the messages hold."""
        if self._names is None:
            found: dict[str, None] = {"t": None}
            last: Layout | None = None
            for _, layout, _ in self._messages():
                if layout is not last:
                    found |= dict.fromkeys(name for name, _ in layout.columns)
                    last = layout
            if len(found) == 1:
                raise self.fail("the joint states name no joints, or hold no numbers")
            self._names = self.unique(list(found))
        return self._names

    def blocks(self, wanted: Collection[str], rows: int) -> Iterator[Block]:
        """The wanted columns; messages with none of them, such as those of another robot, are left out."""
        chosen = [name for name in self.names() if name in wanted]
        joint_columns = {name for name in chosen if name != "t"}
        useful: dict[int, bool] = {}
        waiting: list[tuple[int, Layout, bytes]] = []
        start: int | None = None
        row, size = 1, 0
        for stamp, layout, raw in self._messages():
            if id(layout) not in useful:
                useful[id(layout)] = bool(joint_columns & {name for name, _ in layout.columns})
            if not useful[id(layout)]:
                continue
            start = stamp if start is None else start
            waiting.append((stamp - start, layout, raw))
            size += len(raw)
            if len(waiting) == rows or size > BLOCK_BYTES:
                yield Block(_columns(chosen, waiting), row)
                row, waiting, size = row + len(waiting), [], 0
        if waiting:
            yield Block(_columns(chosen, waiting), row)

    def _messages(self) -> Iterator[tuple[int, Layout, bytes]]:
        """Time [ns] (of the message's header, or of the bag where that is 0), layout and bytes of each message."""
        rosbags, typesys = load("rosbags.highlevel", "logs"), load("rosbags.typesys", "logs")
        store = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)
        layouts: list[Layout] = []
        bag = self._bag()
        try:
            bound_unpacking()
            meter = Meter(check_bag(bag))
            with rosbags.AnyReader([bag], default_typestore=store) as reader:
                for _, time, raw in reader.messages(connections=self._connections(reader)):
                    raw = bytes(raw)
                    meter.take(len(raw))
                    yield stamp_of(raw) or time, self._layout(raw, layouts), raw
        except MinertiaError:
            raise
        except Exception as err:  # whatever a broken bag makes its readers raise
            raise self.fail(f"the bag cannot be read ({str(err)[:160] or err.__class__.__name__})") from None

    def _layout(self, raw: bytes, known: list[Layout]) -> Layout:
        """The layout of a message, the same object for all that have it."""
        for layout in known:
            if layout.fits(raw):
                return layout
        found = layout_of(raw)
        if found is None:
            raise self.fail("a message does not hold joint states in little-endian CDR")
        if len(known) == MOST_LAYOUTS:
            raise self.fail(f"the joint states have more than {MOST_LAYOUTS} different sets of joints")
        known.insert(0, found)
        return found

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


def _columns(names: list[str], messages: list[tuple[int, Layout, bytes]]) -> dict[str, Array]:
    """The columns of some messages; those of one layout are read as one array."""
    columns = {name: np.full(len(messages), np.nan) for name in names}
    if "t" in columns:
        columns["t"] = np.array([stamp for stamp, _, _ in messages]) * 1e-9
    for layout in {id(layout): layout for _, layout, _ in messages}.values():
        rows = np.array([k for k, (_, own, _) in enumerate(messages) if own is layout])
        raw = np.frombuffer(b"".join(messages[k][2] for k in rows), np.uint8).reshape(len(rows), layout.length)
        for name, at in layout.columns:
            if name in columns:
                columns[name][rows] = np.ascontiguousarray(raw[:, at : at + 8]).view("<f8")[:, 0]
    return columns


__all__ = ["BagLog"]

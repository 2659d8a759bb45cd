"""ROS 2 bags and MCAP files: the joint states of one topic, by the names of the joints.

The order of joints in a message is chosen by the publisher, so columns are position_<joint>,
velocity_<joint> and effort_<joint>.  With a topic of commands each state gets the latest command before
it; states before the first command are dropped.  With a topic of measured poses there is one row per
pose, with the latest joint state.  Wrenches are columns of the next joint states, or rows with the pose of
their frame in tf.

Resources are limited when a bag is read: rosbags unpacks whatever a file contains, and SQLite evaluates any
view. An MCAP chunk of a few kilobytes can expand to gigabytes, a database can contain an endless view in
place of a table, and metadata can refer to themselves.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Sized
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from minertia.identification.logs.bag_messages import (
    ONLY,
    Layout,
    Numbers,
    Packed,
    TransformTree,
    command_numbers,
    is_motors,
    is_pose,
    is_wrench,
    layout_of,
    motor_numbers,
    pose_numbers,
    stamp_of,
    wrench_numbers,
)
from minertia.identification.logs.file import BLOCK_BYTES, Block, LogFile
from minertia.io.arrays import Array
from minertia.io.errors import MinertiaError
from minertia.io.extras import load
from minertia.io.files import is_file
from minertia.io.resources import room, too_large

if TYPE_CHECKING:
    from minertia.identification.logs.options import ColumnMap

METADATA_BYTES, METADATA_DEPTH = 1_000_000, 50
MOST_CHUNK = 50_000_000  # bytes that are unpacked at once; writers make chunks of about one million
MOST_PACKED = 200  # times the size of its file that a bag may hold: joint states are never that much alike
LEAST_MESSAGE = 20  # bytes
DATABASE = b"SQLite format 3\0"
_COMPUTED = re.compile(r"\b(as|generated|virtual)\b", re.IGNORECASE)


class Meter:
    """Limit on the unpacked size of a bag, relative to its size in bytes."""

    def __init__(self, size: int) -> None:
        self.left = max(MOST_PACKED * size, room())

    def take(self, size: int) -> None:
        """Count a message; raises ValueError beyond the limit."""
        self.left -= max(size, LEAST_MESSAGE)
        if self.left < 0:
            raise ValueError(f"it decompresses to more than {MOST_PACKED} times its own size")


def check_bag(bag: Path) -> int:
    """Size of a bag on disk [bytes]; raises ValueError for files that are unsafe to read."""
    _check_metadata(bag / "metadata.yaml")
    files = [file for file in bag.iterdir() if file.is_file()] if bag.is_dir() else [bag]
    for file in files:
        with open(file, "rb") as opened:
            if opened.read(len(DATABASE)) == DATABASE:
                _check_database(file)
    return sum(file.stat().st_size for file in files)


def _check_metadata(file: Path) -> None:
    if not is_file(file):
        return
    with open(file, "rb") as opened:
        data = opened.read(METADATA_BYTES + 1)
    if len(data) > METADATA_BYTES:
        raise ValueError("its metadata.yaml is too large")
    text = data.decode("utf-8")
    depth = accumulate((c in "[{") - (c in "]}") for c in text)
    if max(depth, default=0) > METADATA_DEPTH:
        raise ValueError("its metadata.yaml is nested too deeply")
    if "<<" in text:  # tables merged into tables double with every line
        raise ValueError("its metadata.yaml contains unexpected entries")


def _check_database(file: Path) -> None:
    """Raise an error for a database with anything but plain tables: views may be endless."""
    uri = f"{file.resolve().as_uri()}?mode=ro&immutable=1"
    connection = sqlite3.connect(uri, uri=True)
    try:
        found = connection.execute("SELECT type, length(sql), substr(sql, 1, 10000) FROM sqlite_master LIMIT 1000")
        is_plain = all(
            kind != "view" and (size or 0) <= 10_000 and not _COMPUTED.search(text or "") for kind, size, text in found
        )
    finally:
        connection.close()
    if not is_plain:
        raise ValueError("its database contains unexpected entries")


# ---------------------------------------------------------------------- unpacking


def bound_unpacking() -> None:
    """Limit the size to which rosbags unpacks a chunk, as rosbags itself sets no limit."""
    mcap, reader = load("rosbags.rosbag2.storage_mcap", "logs"), load("rosbags.rosbag2.reader", "logs")
    for module in (mcap, reader):
        if hasattr(module, "zstd") and not isinstance(module.zstd, _Zstandard):
            setattr(module, "zstd", _Zstandard(module.zstd))  # noqa: B010
    if hasattr(mcap, "lz4_decompress") and not isinstance(mcap.lz4_decompress, _Lz4):
        setattr(mcap, "lz4_decompress", _Lz4())  # noqa: B010


class _Zstandard:
    """Wrapper of the module zstd, with size limits."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def decompress(self, data: bytes) -> bytes:
        """Decompress with the module, limited to the size of a chunk."""
        return _unpacked(data, self._module.ZstdDecompressor)

    def open(self, file: Any, mode: str = "rb") -> Any:
        """Open a file with the module, limited to the available memory."""
        return _Counted(self._module.open(file, mode), room())


class _Lz4:
    def __call__(self, data: bytes) -> bytes:
        return _unpacked(data, load("lz4.frame", "logs").LZ4FrameDecompressor)


def _unpacked(data: bytes, decompressor: Callable[[], Any]) -> bytes:
    """Decompress all consecutive frames in the data."""
    parts: list[bytes] = []
    left = MOST_CHUNK
    while data:
        unpacker = decompressor()
        parts.append(unpacker.decompress(data, left + 1))
        left -= len(parts[-1])
        if left < 0:
            raise ValueError(f"a chunk of it is larger than {MOST_CHUNK // 1000000} MB")
        if not unpacker.eof:
            raise EOFError("a chunk of it is truncated")
        data = unpacker.unused_data or b""
    return parts[0] if len(parts) == 1 else b"".join(parts)


class _Counted:
    """File wrapper that limits the number of bytes read."""

    def __init__(self, file: Any, most: int) -> None:
        self.file, self.left, self.most = file, most, most

    def __enter__(self) -> _Counted:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def read(self, size: int = -1) -> bytes:
        """Read the next bytes; raises an error beyond the limit."""
        data: bytes = self.file.read(size if 0 <= size <= self.left else self.left + 1)
        self.left -= len(data)
        if self.left < 0:
            raise ValueError(too_large("uncompressed it takes more than", self.most))
        return data


# ------------------------------------------------------------------------------------------------------------ reading


MOST_LAYOUTS = 100
MESSAGE = "sensor_msgs/msg/JointState"
LOOKED_AT = 1000  # messages of each of several topics, to see which joints it holds


class BagLog(LogFile):
    """The sensor_msgs/JointState messages of a bag; each becomes a row, missing values are NaN."""

    def __init__(self, path: Path, columns: ColumnMap) -> None:
        super().__init__(path, columns)
        self._names: tuple[str, ...] | None = None
        self._topic: str | None = columns.topic
        self._fits: Callable[[Collection[str]], bool] | None = None
        self._by_wrench = False

    def by_wrench(self) -> None:
        """Make each wrench a row, with the latest joint state and the pose of its frame in tf."""
        self._by_wrench = True

    def look_for(self, fits: Callable[[Collection[str]], bool]) -> None:
        """Set the test that selects among several topics by their columns."""
        self._fits = fits

    def names(self) -> tuple[str, ...]:
        """Names of all columns: t, and one for each joint and field of the messages."""
        if self._names is None:
            found: dict[str, None] = {"t": None}
            last: Layout | Packed | None = None
            for _, layout, _ in self._messages():
                if layout is not last:
                    found |= dict.fromkeys(name for name, _ in layout.columns)
                    last = layout
            if len(found) == 1:
                raise self.fail("the joint states name no joints, or contain no numbers")
            self._names = self.unique(list(found))
        return self._names

    def blocks(self, wanted: Collection[str], rows: int) -> Iterator[Block]:
        """Iterate over the wanted columns; messages without them, such as those of another robot, are skipped."""
        chosen = [name for name in self.names() if name in wanted]
        joint_columns = {name for name in chosen if name != "t"}
        useful: dict[int, bool] = {}
        waiting: list[tuple[int, Layout | Packed, bytes]] = []
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

    def _messages(self) -> Iterator[tuple[int, Layout | Packed, bytes]]:
        """Time [ns] (from the message header, or from the bag if that is 0), layout and bytes of each message."""
        rosbags, typesys = load("rosbags.highlevel", "logs"), load("rosbags.typesys", "logs")
        store = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)
        bag = self._bag()
        try:
            bound_unpacking()
            meter = Meter(check_bag(bag))
            with rosbags.AnyReader([bag], default_typestore=store) as reader:
                yield from self._rows(reader, meter)
        except MinertiaError:
            raise
        except Exception as err:  # whatever a broken bag makes its readers raise
            raise self.fail(f"the bag cannot be read ({str(err)[:160] or err.__class__.__name__})") from None

    def _rows(self, reader: Any, meter: Meter) -> Iterator[tuple[int, Layout | Packed, bytes]]:
        """Rows of an open bag."""
        states, orders, poses = self._connections(reader), self._commands(reader), self._poses(reader)
        wrenches = self._wrenches(reader)
        frames = [c for c in reader.connections if self._by_wrench and c.msgtype.endswith("/TFMessage")]
        rows = _BagRows(self, reader, bool(orders), {c.topic: _prefix(c.topic, wrenches) for c in wrenches})
        others = [c for c in frames if c not in poses]
        for connection, time, raw in reader.messages(connections=[*states, *orders, *poses, *wrenches, *others]):
            raw, kind = bytes(raw), connection.msgtype
            meter.take(len(raw))
            if connection in frames:
                rows.tree.told(reader.deserialize(raw, kind))
            elif connection in wrenches:
                yield from rows.sensed(raw, connection, time, is_row=self._by_wrench)
            elif connection in orders:
                rows.told(raw, kind)
            elif connection in poses:
                yield from rows.measured(raw, kind, time)
            elif poses or self._by_wrench:
                rows.state = rows.row(raw, kind, time)
            elif rows.is_begun:
                yield rows.row(raw, kind, time)

    def _bag(self) -> Path:
        """Folder of the bag that a file belongs to; an MCAP file without one is returned itself."""
        folder = self.path if self.path.is_dir() else self.path.parent
        return folder if (folder / "metadata.yaml").is_file() else self.path

    def _connections(self, reader: Any) -> list[Any]:
        states = [c for c in reader.connections if c.msgtype == MESSAGE or is_motors(c.msgtype)]
        states = [c for c in states if c.topic != self.map.command_topic]
        topics = sorted({c.topic for c in states})
        if self._topic is not None:
            topics = [topic for topic in topics if topic == self._topic]
        if not topics and self._by_wrench:
            return []
        if not topics:
            there = sorted({f"{c.topic} ({c.msgtype})" for c in reader.connections})[:20]
            where = "" if self._topic is None else f" in topic '{self._topic}'"
            what = f"there are no messages of type {MESSAGE}{where}"
            raise self.fail(f"{what}; the bag has: {', '.join(there) or 'nothing'}")
        if len(topics) > 1:
            topics = [self._chosen(reader, states, topics)]
        self._topic = topics[0]
        return [c for c in states if c.topic == topics[0]]

    def _chosen(self, reader: Any, states: Sequence[Any], topics: list[str]) -> str:
        """Of several topics, the one that contains the robot's joints."""
        found = {topic: self._held(reader, [c for c in states if c.topic == topic]) for topic in topics}
        fits = topics if self._fits is None else [topic for topic in topics if self._fits(found[topic])]
        if len(fits) == 1:
            return fits[0]
        if fits:
            raise self.fail(
                f"joint states are in {len(fits)} topics ({', '.join(fits)}); choose one with topic: --topic "
                f'{fits[0]}, or topic = "{fits[0]}" in [columns]'
            )
        held = "; ".join(
            f"{topic}: {', '.join(sorted(names - {'t'})[:12]) or 'no numbers'}" for topic, names in found.items()
        )
        raise self.fail(
            f"none of the {len(topics)} topics with joint states has positions of all joints of this robot "
            f"({held}); name its joints as in the log, or name the columns in [columns]"
        )

    def _held(self, reader: Any, connections: Sequence[Any]) -> set[str]:
        """Columns in the first messages of a topic, read until they fit the robot or a limit is reached."""
        rows, names, size = _BagRows(self, reader, False), set[str](), 0
        for k, (connection, time, raw) in enumerate(reader.messages(connections=connections)):
            _, layout, _ = rows.row(bytes(raw), connection.msgtype, time)
            names |= {name for name, _ in layout.columns}
            size += len(raw)
            if k == LOOKED_AT or size > BLOCK_BYTES or (self._fits is not None and self._fits(names)):
                break
        return names

    def _commands(self, reader: Any) -> list[Any]:
        """Connections of the requested command topic."""
        wanted = self.map.command_topic
        found = [c for c in reader.connections if c.topic == wanted]
        if wanted is not None and not found:
            there = sorted({f"{c.topic} ({c.msgtype})" for c in reader.connections})[:20]
            raise self.fail(f"there is no topic '{wanted}' for commands; the bag has: {', '.join(there)}")
        return found

    def _wrenches(self, reader: Any) -> list[Any]:
        """Connections of the requested topic of wrenches, or of all."""
        wanted = self.map.wrench_topic
        found = [c for c in reader.connections if is_wrench(c.msgtype) and wanted in (None, c.topic)]
        topics = sorted({c.topic for c in found})
        if wanted is not None and not found:
            there = sorted({f"{c.topic} ({c.msgtype})" for c in reader.connections})[:20]
            raise self.fail(f"there is no topic '{wanted}' with wrenches; the bag has: {', '.join(there)}")
        if self._by_wrench and len(topics) != 1:
            what = (
                f"wrenches are in {len(topics)} topics ({', '.join(topics)})" if topics else "the bag has no wrenches"
            )
            raise self.fail(f'{what}; choose one with wrench_topic = "..." in [columns]')
        return found

    def _poses(self, reader: Any) -> list[Any]:
        """Connections of the requested topic of measured poses."""
        wanted = self.map.pose_topic
        found = [c for c in reader.connections if is_pose(c.msgtype)]
        if wanted is None:
            return []
        topics = sorted({c.topic for c in found if wanted in (ONLY, c.topic)})
        own = [topic for topic in topics if topic.rpartition("/")[2] not in ("tf", "tf_static")] or topics
        if len(own) != 1:
            there = sorted({f"{c.topic} ({c.msgtype})" for c in (found or reader.connections)})[:20]
            what = "several topics hold poses" if own else "no topic holds measured poses"
            raise self.fail(f'{what}; choose one with pose_topic = "..." in [columns]: {", ".join(there) or "none"}')
        return [c for c in found if c.topic == own[0]]


def _prefix(topic: str, wrenches: Sequence[Any]) -> str:
    """Prefix of the columns of a topic of wrenches; none for an only one."""
    is_only = len({c.topic for c in wrenches}) == 1
    return "" if is_only else f"{topic.strip('/').replace('/', '_')}_"


class _BagRows:
    """Conversion of messages to rows: known layouts, the latest command, wrenches and transforms.

    prefixes: prefix of the columns of each topic of wrenches.
    """

    def __init__(self, log: BagLog, reader: Any, is_commanded: bool, prefixes: Mapping[str, str] | None = None) -> None:
        self.log, self.reader, self.is_commanded = log, reader, is_commanded
        self.prefixes, self.tree = prefixes or {}, TransformTree()
        self.wrenches: dict[str, Numbers] = {}
        self.command: Numbers | None = None
        self.state: tuple[int, Layout | Packed, bytes] | None = None  # the latest, where rows are measured poses
        self.layouts: list[Layout] = []
        self.packed: dict[tuple[int, tuple[str, ...]], Packed] = {}  # by what is before, and the names behind it

    @property
    def is_begun(self) -> bool:
        """Whether a command has been received; always True without a command topic."""
        return self.command is not None or not self.is_commanded

    def told(self, raw: bytes, kind: str) -> None:
        """Store a received command."""
        self.command = command_numbers(self.reader.deserialize(raw, kind))

    def measured(self, raw: bytes, kind: str, time: int) -> Iterator[tuple[int, Layout | Packed, bytes]]:
        """Row of a measured pose with the latest joint state; none before the first one."""
        numbers = pose_numbers(self.reader.deserialize(raw, kind), self.log.map.pose_frame)
        if numbers is not None and self.state is not None:
            _, layout, state = self.state
            yield time, self._behind(layout, numbers.names), state + numbers.raw

    def sensed(
        self, raw: bytes, connection: Any, time: int, *, is_row: bool
    ) -> Iterator[tuple[int, Layout | Packed, bytes]]:
        """Store a wrench; is_row: yield it with the latest joint state and the pose of its frame in tf."""
        message = self.reader.deserialize(raw, connection.msgtype)
        numbers = wrench_numbers(message, self.prefixes[connection.topic])
        if not is_row:
            self.wrenches[connection.topic] = numbers
            return
        pose = self.tree.pose(message.header.frame_id)
        stamp = message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec
        layout, data = (None, b"") if self.state is None else self.state[1:]
        for part in (numbers, pose):
            if part is not None:
                layout, data = self._behind(layout, part.names), data + part.raw
        assert layout is not None
        yield stamp or time, layout, data

    def row(self, raw: bytes, kind: str, time: int) -> tuple[int, Layout | Packed, bytes]:
        """Time [ns], layout and bytes of a state, with the latest command and wrenches."""
        stamp, layout, raw = self._motors(raw, kind) if is_motors(kind) else self._joints(raw)
        if self.command is not None:
            layout, raw = self._behind(layout, self.command.names), raw + self.command.raw
        for own in self.wrenches.values():
            layout, raw = self._behind(layout, own.names), raw + own.raw
        return stamp or time, layout, raw

    def _motors(self, raw: bytes, kind: str) -> tuple[int, Layout | Packed, bytes]:
        numbers = motor_numbers(self.reader.deserialize(raw, kind))
        return 0, self._behind(None, numbers.names), numbers.raw

    def _joints(self, raw: bytes) -> tuple[int, Layout | Packed, bytes]:
        for layout in self.layouts:
            if layout.fits(raw):
                return stamp_of(raw), layout, raw
        found = layout_of(raw)
        if found is None:
            raise self.log.fail("a message does not contain joint states in little-endian CDR")
        self._count(self.layouts)
        self.layouts.insert(0, found)
        return stamp_of(raw), found, raw

    def _behind(self, first: Layout | Packed | None, names: tuple[str, ...]) -> Packed:
        """Layout of values with these names appended to another layout; one shared object per layout."""
        key = (0 if first is None else id(first), names)
        if key not in self.packed:
            self._count(self.packed)
            self.packed[key] = Packed.of(names) if first is None else Packed.of(names, first.columns, first.length)
        return self.packed[key]

    def _count(self, known: Sized) -> None:
        if len(known) == MOST_LAYOUTS:
            raise self.log.fail(f"the messages have more than {MOST_LAYOUTS} different sets of joints")


def _columns(names: list[str], messages: list[tuple[int, Layout | Packed, bytes]]) -> dict[str, Array]:
    """Columns of some messages; messages of the same layout are read as one array."""
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

"""What a ROS 2 bag may ask of its reader: rosbags unpacks whatever a file holds, and SQLite computes whatever it says.

A chunk of MCAP of a few kilobytes can stand for gigabytes, a database can hold a view that never ends in place of a
table, and metadata can refer to themselves.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import Any

from minertia.io.extras import load
from minertia.io.files import is_file
from minertia.io.resources import room, too_large

METADATA_BYTES, METADATA_DEPTH = 1_000_000, 50
MOST_CHUNK = 50_000_000  # bytes that are unpacked at once; writers make chunks of about one million
MOST_PACKED = 200  # times the size of its file that a bag may hold: joint states are never that much alike
LEAST_MESSAGE = 20  # bytes
DATABASE = b"SQLite format 3\0"
_COMPUTED = re.compile(r"\b(as|generated|virtual)\b", re.IGNORECASE)


class Meter:
    """Counts what a bag of so many bytes holds."""

    def __init__(self, size: int) -> None:
        self.left = max(MOST_PACKED * size, room())

    def take(self, size: int) -> None:
        """Count a message."""
        self.left -= max(size, LEAST_MESSAGE)
        if self.left < 0:
            raise ValueError(f"it holds more than {MOST_PACKED} times its own size")


def check_bag(bag: Path) -> int:
    """Bytes of a bag on disk; ValueError for files that a reader would brood over."""
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
        raise ValueError("its metadata.yaml holds what no writer of bags writes")


def _check_database(file: Path) -> None:
    """Refuse a database with anything but plain tables: what is computed has no end."""
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
        raise ValueError("its database holds what no writer of bags writes")


# ---------------------------------------------------------------------- unpacking


def bound_unpacking() -> None:
    """Have rosbags unpack no more than a chunk at once; it has no limit of its own."""
    mcap, reader = load("rosbags.rosbag2.storage_mcap", "logs"), load("rosbags.rosbag2.reader", "logs")
    for module in (mcap, reader):
        if hasattr(module, "zstd") and not isinstance(module.zstd, _Zstandard):
            setattr(module, "zstd", _Zstandard(module.zstd))  # noqa: B010
    if hasattr(mcap, "lz4_decompress") and not isinstance(mcap.lz4_decompress, _Lz4):
        setattr(mcap, "lz4_decompress", _Lz4())  # noqa: B010


class _Zstandard:
    """The module zstd, with limits."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def decompress(self, data: bytes) -> bytes:
        """As the module's, up to a chunk."""
        return _unpacked(data, self._module.ZstdDecompressor)

    def open(self, file: Any, mode: str = "rb") -> Any:
        """As the module's, up to what may be held."""
        return _Counted(self._module.open(file, mode), room())


class _Lz4:
    def __call__(self, data: bytes) -> bytes:
        return _unpacked(data, load("lz4.frame", "logs").LZ4FrameDecompressor)


def _unpacked(data: bytes, decompressor: Callable[[], Any]) -> bytes:
    """The frames in some bytes, one after the other."""
    parts: list[bytes] = []
    left = MOST_CHUNK
    while data:
        unpacker = decompressor()
        parts.append(unpacker.decompress(data, left + 1))
        left -= len(parts[-1])
        if left < 0:
            raise ValueError(f"a piece of it holds more than {MOST_CHUNK // 1_000_000} MB")
        if not unpacker.eof:
            raise EOFError("a piece of it is cut short")
        data = unpacker.unused_data or b""
    return parts[0] if len(parts) == 1 else b"".join(parts)


class _Counted:
    """A file that may be read so far and no further."""

    def __init__(self, file: Any, most: int) -> None:
        self.file, self.left, self.most = file, most, most

    def __enter__(self) -> _Counted:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        data: bytes = self.file.read(size if 0 <= size <= self.left else self.left + 1)
        self.left -= len(data)
        if self.left < 0:
            raise ValueError(too_large("unpacked it takes more than", self.most))
        return data

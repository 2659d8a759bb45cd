"""The bytes of a sensor_msgs/JointState message: where its numbers stand, found once for all messages of one layout.

A robot's joint states all have the same joints, so all but the first are read as one array; that is five times faster
than decoding them one by one.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

FIELDS = ("position", "velocity", "effort")
LITTLE = (1, 3)  # second byte of the CDR header of little-endian messages
MAX_NAMES = 10_000


@dataclass(frozen=True, slots=True)
class Layout:
    """Messages of this length that begin (after the stamp) and count alike hold their numbers at these places.

    places: field -> offset of its first number [bytes]; fields without numbers are left out.
    """

    length: int
    prefix: bytes
    counts: tuple[tuple[int, bytes], ...]
    names: tuple[str, ...]
    places: tuple[tuple[str, int], ...]

    def fits(self, raw: bytes) -> bool:
        """Whether a message has this layout."""
        return (
            len(raw) == self.length
            and raw[12 : 12 + len(self.prefix)] == self.prefix
            and all(raw[at : at + 4] == count for at, count in self.counts)
        )

    @property
    def columns(self) -> tuple[tuple[str, int], ...]:
        """Name of each column and the offset of its number."""
        return tuple((f"{field}_{name}", at + 8 * k) for field, at in self.places for k, name in enumerate(self.names))


def stamp_of(raw: bytes) -> int:
    """Time of the message's header [ns]."""
    seconds, nanoseconds = struct.unpack_from("<iI", raw, 4)
    return int(seconds * 1_000_000_000 + nanoseconds)


def layout_of(raw: bytes) -> Layout | None:
    """The layout of a message in little-endian CDR; None where the bytes are something else."""
    try:
        return _walked(raw)
    except (struct.error, UnicodeDecodeError, ValueError, IndexError):
        return None


def _walked(raw: bytes) -> Layout:
    if raw[1] not in LITTLE:
        raise ValueError("not little-endian CDR")
    _, at = _text(raw, 12)
    count, at = _count(raw, at)
    if count > MAX_NAMES:
        raise ValueError("too many joints")
    names = []
    for _ in range(count):
        name, at = _text(raw, at)
        names.append(name)
    prefix = raw[12:at]
    counts, places = [], []
    for field in FIELDS:
        where = _aligned(at, 4)
        count, at = _count(raw, at)
        counts.append((where, raw[where : where + 4]))
        if count:
            at = _aligned(at, 8)
            if count == len(names):
                places.append((field, at))
            at += 8 * count
    if at > len(raw):
        raise ValueError("the message is cut short")
    return Layout(len(raw), prefix, tuple(counts), tuple(names), tuple(places))


def _aligned(at: int, size: int) -> int:
    """The next offset that is aligned, counted from the end of the 4-byte header."""
    return at + (4 - at) % size


def _count(raw: bytes, at: int) -> tuple[int, int]:
    at = _aligned(at, 4)
    return int(struct.unpack_from("<I", raw, at)[0]), at + 4


def _text(raw: bytes, at: int) -> tuple[str, int]:
    size, at = _count(raw, at)
    if at + size > len(raw):
        raise ValueError("the message is cut short")
    return raw[at : at + size].rstrip(b"\0").decode(), at + size

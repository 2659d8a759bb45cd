"""Decoding of bag messages to named columns: joint states, commands, motors of Unitree robots.

All joint states of a robot have the same joints, so the byte offsets are determined once, and all messages
but the first are read as one array, which is five times faster than decoding them one by one.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

FIELDS = ("position", "velocity", "effort")
LITTLE = (1, 3)  # second byte of the CDR header of little-endian messages
MAX_NAMES = 10_000


@dataclass(frozen=True, slots=True)
class Layout:
    """Binary layout of messages with the same length, prefix (after the stamp) and array lengths.

    places: offset of the first value of each field [bytes]; empty fields are omitted.
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
        """Name of each column and the byte offset of its value."""
        return tuple((f"{field}_{name}", at + 8 * k) for field, at in self.places for k, name in enumerate(self.names))


def stamp_of(raw: bytes) -> int:
    """Time of the message's header [ns]."""
    seconds, nanoseconds = struct.unpack_from("<iI", raw, 4)
    return int(seconds * 1_000_000_000 + nanoseconds)


def layout_of(raw: bytes) -> Layout | None:
    """Layout of a message in little-endian CDR; None if the bytes are something else."""
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
        raise ValueError("the message is truncated")
    return Layout(len(raw), prefix, tuple(counts), tuple(names), tuple(places))


def _aligned(at: int, size: int) -> int:
    """Next aligned offset, counted from the end of the 4-byte header."""
    return at + (4 - at) % size


def _count(raw: bytes, at: int) -> tuple[int, int]:
    at = _aligned(at, 4)
    return int(struct.unpack_from("<I", raw, at)[0]), at + 4


def _text(raw: bytes, at: int) -> tuple[str, int]:
    size, at = _count(raw, at)
    if at + size > len(raw):
        raise ValueError("the message is truncated")
    return raw[at : at + size].rstrip(b"\0").decode(), at + size


# ----------------------------------------------------------------------------------------------------- other messages


Pose = tuple[Sequence[float], Sequence[float]]  # position [m] and quaternion x y z w
MOST = 1000  # numbers of one message
MOTORS, ORDERS = "motor_state", "motor_cmd"  # what Unitree's LowState and LowCmd hold
MOTOR_FIELDS = (("q", "q"), ("dq", "dq"), ("tau_est", "tau"))
NAN = float("nan")


class Numbers(NamedTuple):
    """Column names of a message, and their values."""

    names: tuple[str, ...]
    values: tuple[float, ...]

    @property
    def raw(self) -> bytes:
        """Values as bytes, eight per value."""
        return struct.pack(f"<{len(self.values)}d", *self.values)


@dataclass(frozen=True, slots=True)
class Packed:
    """Byte offsets of columns in messages of a given length, for messages other than joint states (`Layout`)."""

    length: int
    columns: tuple[tuple[str, int], ...]

    @staticmethod
    def of(names: Sequence[str], columns: Sequence[tuple[str, int]] = (), length: int = 0) -> Packed:
        """Layout of values with these names, appended to other columns."""
        own = [(name, length + 8 * k) for k, name in enumerate(names)]
        return Packed(length + 8 * len(own), (*columns, *own))


def is_motors(kind: str) -> bool:
    """Whether a message type contains the motors of a Unitree robot."""
    return kind.split("/")[0].startswith("unitree") and kind.endswith("/LowState")


def motor_numbers(message: Any) -> Numbers:
    """State of every motor, numbered from 0 as on the robot: motor0_q, motor0_dq, motor0_tau ..."""
    return _motors(getattr(message, MOTORS), MOTOR_FIELDS)


def command_numbers(message: Any) -> Numbers:
    """Commanded positions, with names command_<joint>, q_cmd1 ... for unnamed joints, or motor0_q_cmd ...

    Raises ValueError for messages that are not commands, and for whole trajectories in one message.
    """
    if hasattr(message, ORDERS):
        return _motors(getattr(message, ORDERS), (("q", "q_cmd"),))
    if hasattr(message, "points"):
        if len(message.points) != 1:
            raise ValueError(
                f"a command contains {len(message.points)} points; only commands with one point can be read"
            )
        return _named(message.joint_names, message.points[0].positions)
    for part in ("reference", "desired"):  # of controllers that tell what they follow
        if hasattr(message, part) and hasattr(message, "joint_names"):
            return _named(message.joint_names, getattr(message, part).positions)
    if hasattr(message, "name") and hasattr(message, "position"):
        return _named(message.name, message.position)
    if hasattr(message, "data"):
        values = _checked(message.data)
        return Numbers(tuple(f"q_cmd{k + 1}" for k in range(len(values))), values)
    raise ValueError("the messages of command_topic contain no positions")


POSES = ("PoseStamped", "PoseWithCovarianceStamped", "PointStamped", "TransformStamped", "TFMessage", "Odometry")
ONLY = "*"  # as topic of poses: the only one
PLACE, TURN = ("x", "y", "z"), ("qx", "qy", "qz", "qw")  # columns of measured poses [m]


def is_pose(kind: str) -> bool:
    """Whether a message type contains measured poses."""
    return kind.rpartition("/")[2] in POSES


def pose_numbers(message: Any, frame: str | None) -> Numbers | None:
    """Measured pose, with names x y z qx qy qz qw, or x y z of a point; None if the frame is not in the message.

    frame: child frame among the transforms of tf.  Raises ValueError if several could be meant.
    """
    if hasattr(message, "transforms"):
        known = {one.child_frame_id: one for one in message.transforms}
        if frame is None and len(known) > 1:
            raise ValueError(
                f"tf has several child frames ({', '.join(sorted(known)[:8])}); choose one with pose_frame"
            )
        chosen = known.get(frame) if frame is not None else next(iter(known.values()), None)
        return None if chosen is None else pose_numbers(chosen, None)
    if hasattr(message, "point"):
        return Numbers(PLACE, tuple(float(getattr(message.point, axis)) for axis in "xyz"))
    if hasattr(message, "transform"):
        place, turn = message.transform.translation, message.transform.rotation
    else:
        pose = message.pose.pose if hasattr(message.pose, "pose") else message.pose
        place, turn = pose.position, pose.orientation
    values = (*(float(getattr(place, a)) for a in "xyz"), *(float(getattr(turn, a)) for a in "xyzw"))
    return Numbers((*PLACE, *TURN), values)


WRENCH = "WrenchStamped"
FORCE = ("fx", "fy", "fz", "tx", "ty", "tz")  # columns of wrenches [N, N m]
SENSOR_POSE = ("px", "py", "pz", "qx", "qy", "qz", "qw")  # columns of the pose of a wrench's frame in tf


def is_wrench(kind: str) -> bool:
    """Whether a message type contains wrenches."""
    return kind.rpartition("/")[2] == WRENCH


def wrench_numbers(message: Any, prefix: str = "") -> Numbers:
    """Force and moment of a wrench, with names fx fy fz tx ty tz after a prefix."""
    force, torque = message.wrench.force, message.wrench.torque
    values = (*(float(getattr(force, a)) for a in "xyz"), *(float(getattr(torque, a)) for a in "xyz"))
    return Numbers(tuple(f"{prefix}{name}" for name in FORCE), values)


class TransformTree:
    """Latest transforms of tf, by child frame, and poses of frames in the root of their tree."""

    def __init__(self) -> None:
        self.parents: dict[str, tuple[str, Pose]] = {}

    def told(self, message: Any) -> None:
        """Store the transforms of a message."""
        for one in message.transforms:
            place, turn = one.transform.translation, one.transform.rotation
            found = [float(getattr(place, a)) for a in "xyz"], [float(getattr(turn, a)) for a in "xyzw"]
            self.parents[one.child_frame_id] = one.header.frame_id, found
            if len(self.parents) > MOST:
                raise ValueError("tf has too many frames")

    def pose(self, frame: str) -> Numbers | None:
        """Position and quaternion of a frame in the root; None for a frame that tf does not contain."""
        if frame not in self.parents:
            return None
        place, turn, seen = [0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0], set[str]()
        while frame in self.parents and frame not in seen:
            seen.add(frame)
            frame, (p, q) = self.parents[frame]
            place = [a + b for a, b in zip(p, _rotated(q, place), strict=True)]
            turn = _product(q, turn)
        return Numbers(SENSOR_POSE, (*place, *turn))


def _product(a: Sequence[float], b: Sequence[float]) -> list[float]:
    """Product of two quaternions x y z w."""
    (ax, ay, az, aw), (bx, by, bz, bw) = a, b
    return [
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    ]


def _rotated(q: Sequence[float], v: Sequence[float]) -> list[float]:
    """Vector turned by a unit quaternion x y z w."""
    return _product(_product(q, [*v, 0.0]), [-q[0], -q[1], -q[2], q[3]])[:3]


def _named(names: Any, values: Any) -> Numbers:
    numbers = _checked(values)
    if len(numbers) != len(names):
        raise ValueError(f"a command has {len(numbers)} positions for {len(names)} joints")
    return Numbers(tuple(f"command_{name}" for name in names), numbers)


def _motors(motors: Any, fields: Sequence[tuple[str, str]]) -> Numbers:
    if len(motors) * len(fields) > MOST:
        raise ValueError("a message contains too many motors")
    pairs = [
        (f"motor{k}_{word}", float(getattr(motor, own, NAN))) for k, motor in enumerate(motors) for own, word in fields
    ]
    return Numbers(tuple(name for name, _ in pairs), tuple(value for _, value in pairs))


def _checked(values: Any) -> tuple[float, ...]:
    if len(values) > MOST:
        raise ValueError("a command contains too many numbers")
    return tuple(float(v) for v in values)

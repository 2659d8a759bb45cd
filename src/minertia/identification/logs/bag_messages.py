"""Messages of bags that are no plain joint states: commands of several kinds, and the motors of Unitree's robots.

Whatever they are, they become names of columns and the bytes of their numbers, as joint states are read.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

MOST = 1000  # numbers of one message
MOTORS, ORDERS = "motor_state", "motor_cmd"  # what Unitree's LowState and LowCmd hold
MOTOR_FIELDS = (("q", "q"), ("dq", "dq"), ("tau_est", "tau"))
NAN = float("nan")


class Numbers(NamedTuple):
    """Names of columns, and their numbers."""

    names: tuple[str, ...]
    values: tuple[float, ...]

    @property
    def raw(self) -> bytes:
        """The numbers as bytes, eight each."""
        return struct.pack(f"<{len(self.values)}d", *self.values)


@dataclass(frozen=True, slots=True)
class Packed:
    """Where columns stand in bytes of a length; the counterpart of the `Layout` of joint states."""

    length: int
    columns: tuple[tuple[str, int], ...]

    @staticmethod
    def of(names: Sequence[str], columns: Sequence[tuple[str, int]] = (), length: int = 0) -> Packed:
        """Numbers with these names, behind other columns of some bytes."""
        own = [(name, length + 8 * k) for k, name in enumerate(names)]
        return Packed(length + 8 * len(own), (*columns, *own))


def is_motors(kind: str) -> bool:
    """Whether a type of messages holds the motors of a robot of Unitree."""
    return kind.split("/")[0].startswith("unitree") and kind.endswith("/LowState")


def motor_numbers(message: Any) -> Numbers:
    """State of every motor, counted from 0 as the robot does: motor0_q, motor0_dq, motor0_tau ..."""
    return _motors(getattr(message, MOTORS), MOTOR_FIELDS)


def command_numbers(message: Any) -> Numbers:
    """Positions that were asked for: command_<joint>, q_cmd1 ... where joints have no names, motor0_q_cmd ...

    ValueError for messages that are none, and for whole motions in one message.
    """
    if hasattr(message, ORDERS):
        return _motors(getattr(message, ORDERS), (("q", "q_cmd"),))
    if hasattr(message, "points"):
        if len(message.points) != 1:
            raise ValueError(f"a command holds {len(message.points)} points; only commands of one point can be read")
        return _named(message.joint_names, message.points[0].positions)
    for part in ("reference", "desired"):  # of controllers that tell what they follow
        if hasattr(message, part) and hasattr(message, "joint_names"):
            return _named(message.joint_names, getattr(message, part).positions)
    if hasattr(message, "name") and hasattr(message, "position"):
        return _named(message.name, message.position)
    if hasattr(message, "data"):
        values = _checked(message.data)
        return Numbers(tuple(f"q_cmd{k + 1}" for k in range(len(values))), values)
    raise ValueError("the messages of command_topic hold no positions")


def _named(names: Any, values: Any) -> Numbers:
    numbers = _checked(values)
    if len(numbers) != len(names):
        raise ValueError(f"a command has {len(numbers)} positions for {len(names)} joints")
    return Numbers(tuple(f"command_{name}" for name in names), numbers)


def _motors(motors: Any, fields: Sequence[tuple[str, str]]) -> Numbers:
    if len(motors) * len(fields) > MOST:
        raise ValueError("a message holds too many motors")
    pairs = [
        (f"motor{k}_{word}", float(getattr(motor, own, NAN))) for k, motor in enumerate(motors) for own, word in fields
    ]
    return Numbers(tuple(name for name, _ in pairs), tuple(value for _, value in pairs))


def _checked(values: Any) -> tuple[float, ...]:
    if len(values) > MOST:
        raise ValueError("a command holds too many numbers")
    return tuple(float(v) for v in values)

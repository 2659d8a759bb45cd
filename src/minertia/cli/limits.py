"""Options about limits and postures that several commands share, and how they are read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from minertia.io.errors import MinertiaError, UnknownName

if TYPE_CHECKING:
    from minertia.excitation.limits import MotionLimits
    from minertia.excitation.limits_table import LimitsTable
    from minertia.robot.robot import Robot

Limits = Annotated[
    list[str] | None,
    typer.Option(
        "--limits",
        metavar="NAME=VALUES|FILE",
        help="position=2, velocity=1.5,1,2 ..., acceleration=4, jerk=40, effort=file (those of the robot's file) or "
        "numbers; or a TOML file with these names, boxes for frames, obstacles, a table, self_collision "
        "(docs/excitation.md). May be repeated.",
        show_default=False,
    ),
]


Floor = Annotated[
    str | None,
    typer.Option(
        "--floor",
        metavar="Z|none",
        help="Height in the base frame [m] that every link stays above (the base plane unless told), or none.",
        show_default=False,
    ),
]
SelfCollision = Annotated[
    str | None,
    typer.Option(
        "--self-collision", metavar="on|none", help="Whether links keep apart (on unless told).", show_default=False
    ),
]


def read_limits(
    robot: Robot, given: Sequence[str], floor: str | None = None, self_collision: str | None = None
) -> MotionLimits:
    """Limits from the robot's file, changed by NAME=VALUES and by files; obstacles and boxes of all files count.

    floor, self_collision: texts of the options, which count more than the files.
    """
    from minertia.excitation.limits_table import limits_from_tables

    return limits_from_tables(robot, limit_tables(given, floor, self_collision))


def limit_tables(
    given: Sequence[str], floor: str | None = None, self_collision: str | None = None
) -> list[LimitsTable]:
    """The options as tables, in the order in which they count."""
    from minertia.excitation.limits_table import JOINT_LIMITS, LimitsTable

    tables = []
    for text in given:
        name, sign, values = text.partition("=")
        name = name.strip()
        if sign and name not in JOINT_LIMITS and not Path(text).is_file():
            raise UnknownName("limit", name, JOINT_LIMITS)
        is_option = sign and name in JOINT_LIMITS
        tables.append(LimitsTable({name: _value(name, values)}) if is_option else _limits_file(Path(text)))
    options: dict[str, Any] = {} if floor is None else {"floor": _height(floor)}
    if self_collision is not None:
        if self_collision not in ("on", "none"):
            raise UnknownName("choice of --self-collision", self_collision, ("on", "none"))
        options["self_collision"] = self_collision == "on"
    return [*tables, LimitsTable(options)]


def _height(text: str) -> float | bool:
    if text.strip() == "none":
        return False
    try:
        return float(text)
    except ValueError:
        raise MinertiaError(f"--floor needs a height in the base frame [m] or none, not '{text}'") from None


def read_posture(text: str | None) -> list[float] | str | None:
    """The posture of --start: numbers, "any", or None where nothing was told."""
    if text is None or text.strip() == "any":
        return None if text is None else "any"
    return numbers("--start", text)


def _value(name: str, text: str) -> Any:
    if name == "effort" and text.strip() in ("file", "none"):
        return text.strip() == "file"
    found = numbers(name, text)
    return found[0] if len(found) == 1 else found


def numbers(name: str, text: str) -> list[float]:
    """Numbers between commas."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise MinertiaError(f"{name} needs numbers separated by commas, not '{text}'") from None


def _limits_file(path: Path) -> LimitsTable:
    from minertia.excitation.limits_table import LimitsTable
    from minertia.io.files import is_file
    from minertia.io.tables import load_toml

    if not is_file(path):
        raise MinertiaError(f"'{path}' is neither NAME=VALUES nor a file that can be read")
    return load_toml(path, LimitsTable)

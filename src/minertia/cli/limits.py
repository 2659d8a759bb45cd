"""Limit and posture options shared by several commands, and their parsing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from minertia.cli.options import as_text
from minertia.excitation.options import JOINT_LIMITS, LimitOptions
from minertia.io.errors import MinertiaError, UnknownName
from minertia.io.schema import option_of

if TYPE_CHECKING:
    from minertia.excitation.limits import MotionLimits
    from minertia.excitation.limits_file import LimitsTable
    from minertia.robot.robot import Robot

Limits = Annotated[
    list[str] | None,
    typer.Option(
        "--limits",
        metavar="NAME=VALUES|FILE",
        help=f"A joint limit ({', '.join(JOINT_LIMITS)}), one number or one per joint; effort=file for the limits "
        "of the robot file. Or a TOML file with limits, boxes for frames, obstacles, a table, "
        "self_collision. May be repeated.",
        show_default=False,
    ),
]
Floor = as_text(option_of(LimitOptions, "floor"), "Z|none")
SelfCollision = as_text(option_of(LimitOptions, "self_collision"), "on|none")


def read_limits(
    robot: Robot, given: Sequence[str], floor: str | None = None, self_collision: str | None = None
) -> MotionLimits:
    """Motion limits of the robot file, overridden by NAME=VALUES and by files; obstacles and boxes accumulate.

    floor, self_collision: texts of the options, which take precedence over the files.
    """
    from minertia.excitation.limits_file import limits_from_tables

    return limits_from_tables(robot, limit_tables(given, floor, self_collision))


def limit_tables(
    given: Sequence[str], floor: str | None = None, self_collision: str | None = None
) -> list[LimitsTable]:
    """Limit options as tables, in order of precedence."""
    from minertia.excitation.limits_file import LimitsTable

    tables = []
    for text in given:
        name, sign, values = text.partition("=")
        name = name.strip()
        if sign and name not in JOINT_LIMITS and not Path(text).is_file():
            raise UnknownName("limit", name, JOINT_LIMITS)
        is_option = sign and name in JOINT_LIMITS
        tables.append(LimitsTable({name: _value(name, values)}) if is_option else _limits_file(Path(text)))
    asked = {"floor": floor, "self_collision": self_collision}
    return [*tables, LimitsTable({name: _value(name, text) for name, text in asked.items() if text is not None})]


def _value(name: str, text: str) -> Any:
    return True if text.strip() == "file" else option_of(LimitOptions, name).of_text(text)


def numbers(name: str, text: str) -> list[float]:
    """Parse comma-separated numbers."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise MinertiaError(f"{name} needs numbers separated by commas, not '{text}'") from None


def _limits_file(path: Path) -> LimitsTable:
    from minertia.excitation.limits_file import LimitsTable
    from minertia.io.files import is_file
    from minertia.io.tables import load_toml

    if not is_file(path):
        raise MinertiaError(f"'{path}' is neither NAME=VALUES nor a file that can be read")
    return load_toml(path, LimitsTable)

"""Limits as plain tables (of TOML files, or of options): every name and number is checked here, at the border."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from minertia.excitation.limits import MotionLimits, motion_limits
from minertia.excitation.shapes import Shape, box
from minertia.excitation.space import BASE, Box, Workspace
from minertia.io.errors import Infeasible
from minertia.io.tables import LARGEST, CheckedTable, finite
from minertia.robot.robot import Robot

JOINT_LIMITS = ("position", "velocity", "acceleration", "jerk", "effort", "effort_margin")
SPACE = ("box", "obstacle", "table", "floor", "self_collision", "margin", "radius", "transmission_deg")
WRITTEN = ("format", "made_for")  # in a file that `limits_file` wrote


@dataclass(frozen=True)
class LimitsTable(CheckedTable):
    """Limits of one file, or of one option of a command (without a source)."""

    def fail(self, message: str, key: str | None = None) -> Infeasible:
        """An error of this table, to be raised."""
        line = self.line(key)
        parts = [str(part) for part in (self.source, None if line is None else f"line {line}") if part is not None]
        told = [", ".join(parts)] if parts else []
        return Infeasible(": ".join([*told, *([self.where] if self.where else []), message]))


def limits_from_tables(robot: Robot, tables: Sequence[LimitsTable]) -> MotionLimits:
    """Limits of the robot's file, changed by tables as docs/excitation.md describes them.

    Boxes and obstacles of all tables count, of anything else the last.
    """
    chosen: dict[str, Any] = {}
    space: dict[str, Any] = {"boxes": [], "obstacles": []}
    for table in tables:
        table.only((*JOINT_LIMITS, *SPACE, *WRITTEN))
        chosen |= {name: _joint_limit(table, name) for name in JOINT_LIMITS if name in table}
        space["boxes"] += [b for entry in table.tables("box") for b in _boxes(entry)]
        space["obstacles"] += [
            _obstacle(entry, k) for k, entry in enumerate(table.tables("obstacle"), start=len(space["obstacles"]) + 1)
        ]
        space |= _space(table)
    jerk = chosen.pop("jerk", None)
    limits = motion_limits(robot, workspace=Workspace(**space), **chosen)
    return limits if jerk is None else limits.with_jerk(jerk)


def _joint_limit(table: LimitsTable, name: str) -> Any:
    """A number, a list of them, or pairs of them; true or false for efforts."""
    value = table.get(name)
    if name == "effort" and isinstance(value, bool):
        return value
    values = value if isinstance(value, list) else [value]
    flat = [v for row in values for v in (row if isinstance(row, list) else [row])]
    if not flat or not all(_is_number(v) for v in flat) or len({isinstance(row, list) for row in values}) > 1:
        usual = "true, a number or one per joint" if name == "effort" else "a number or one per joint"
        raise table.fail(f"the limit '{name}' must be {usual}, all of them finite", name)
    if name == "effort_margin" and isinstance(value, list):
        raise table.fail("the limit 'effort_margin' must be one number, a part of every limit of effort", name)
    if any(isinstance(row, list) and len(row) != 2 for row in values):
        raise table.fail(f"the limit '{name}' must have pairs of a lower and an upper number", name)
    return value


def _boxes(entry: LimitsTable) -> list[Box]:
    entry.only(("frame", "lower", "upper"))
    entry.needs(("frame", "lower", "upper"))
    frames = entry.texts("frame")
    if not frames:
        raise entry.fail("'frame' must be a name or a list of names", "frame")
    lower, upper = (_three(entry, name) for name in ("lower", "upper"))
    return [Box(frame, lower, upper) for frame in frames]


# ---------------------------------------------------------------------- distances


def _space(table: LimitsTable) -> dict[str, Any]:
    """What a table says of the surroundings."""
    numbers = ("margin", "radius", "transmission_deg")
    found: dict[str, Any] = {name: table.positive(name) for name in numbers if name in table}
    if "self_collision" in table:
        found["self_collision"] = table.flag("self_collision", True)
    if "floor" in table or "table" in table:
        found["floor"] = _floor(table)
    return found


def _floor(table: LimitsTable) -> float | str | None:
    """Height of the floor, or of the top of a table, None where it is switched off."""
    if "table" in table:
        if "floor" in table:
            raise table.fail("'floor' and 'table' are both what the robot stays above; give one of them", "table")
        top = table.table("table")
        top.only(("height",))
        top.needs(("height",))
        return top.number("height", 0.0)
    floor = table.get("floor")
    if floor is False:
        return None
    if floor != BASE and not _is_number(floor):
        raise table.fail(
            "'floor' must be its height in the base frame, a finite number [m], or false for none", "floor"
        )
    return BASE if floor == BASE else float(floor)


def _obstacle(entry: LimitsTable, k: int) -> Shape:
    entry.only(("name", "centre", "size"))
    entry.needs(("centre", "size"))
    size = _three(entry, "size")
    if min(size) <= 0:
        raise entry.fail("'size' must be three positive numbers, the whole sides [m]", "size")
    return box(entry.text("name", f"obstacle {k}"), _three(entry, "centre"), size)


def _three(entry: LimitsTable, name: str) -> tuple[float, float, float]:
    x, y, z = entry.numbers(name, 3, ())
    return x, y, z


def _is_number(value: Any) -> bool:
    number = finite(value)
    return number is not None and abs(number) <= LARGEST

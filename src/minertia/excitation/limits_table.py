"""Limits as plain tables (of a TOML file, or of options): every name and number is checked here, at the border."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from minertia.errors import Infeasible, UnknownName
from minertia.excitation.limits import MotionLimits, motion_limits
from minertia.excitation.shapes import Shape, box
from minertia.excitation.space import BASE, Box, Workspace
from minertia.robot.expression import LARGEST
from minertia.robot.robot import Robot

JOINT_LIMITS = ("position", "velocity", "acceleration", "effort", "effort_margin")
SPACE = ("box", "obstacle", "table", "floor", "self_collision", "margin", "radius")
LISTS = ("box", "obstacle")  # arrays of tables: those of several files are all respected


def limits_from_table(robot: Robot, table: Mapping[str, Any]) -> MotionLimits:
    """Limits of the robot's file, changed by a table as docs/excitation.md describes it."""
    for name in table:
        if name not in (*JOINT_LIMITS, *SPACE):
            raise UnknownName("limit", name, (*JOINT_LIMITS, *SPACE))
    chosen = {name: _joint_limit(name, table[name]) for name in JOINT_LIMITS if name in table}
    boxes = [b for entry in _tables(table, "box") for b in _boxes(entry)]
    return motion_limits(robot, workspace=Workspace(boxes=boxes, **_space(table)), **chosen)


def _joint_limit(name: str, value: Any) -> Any:
    """A number, a list of them, or pairs of them; true or false for efforts."""
    if name == "effort" and isinstance(value, bool):
        return value
    values = value if isinstance(value, list) else [value]
    flat = [v for row in values for v in (row if isinstance(row, list) else [row])]
    if not flat or not all(_is_number(v) for v in flat) or len({isinstance(row, list) for row in values}) > 1:
        usual = "true, a number or one per joint" if name == "effort" else "a number or one per joint"
        raise Infeasible(f"the limit '{name}' must be {usual}, all of them finite")
    if name == "effort_margin" and isinstance(value, list):
        raise Infeasible("the limit 'effort_margin' must be one number, a part of every limit of effort")
    if any(isinstance(row, list) and len(row) != 2 for row in values):
        raise Infeasible(f"the limit '{name}' must have pairs of a lower and an upper number")
    return value


def _boxes(entry: Mapping[str, Any]) -> list[Box]:
    _known(entry, "a box", ("frame", "lower", "upper"))
    frames = entry["frame"] if isinstance(entry["frame"], list) else [entry["frame"]]
    lower, upper = (_three(entry, "a box", name) for name in ("lower", "upper"))
    if not frames or not all(isinstance(frame, str) for frame in frames):
        raise Infeasible("the frame of a box must be a name or a list of names")
    return [Box(frame, lower, upper) for frame in frames]


# ---------------------------------------------------------------------- distances


def _space(table: Mapping[str, Any]) -> dict[str, Any]:
    among = table.get("self_collision", True)
    if not isinstance(among, bool):
        raise Infeasible("'self_collision' must be true or false")
    return {
        "floor": _floor(table),
        "self_collision": among,
        "obstacles": [_obstacle(k, entry) for k, entry in enumerate(_tables(table, "obstacle"))],
        **{name: _positive(table, name) for name in ("margin", "radius") if name in table},
    }


def _floor(table: Mapping[str, Any]) -> float | str | None:
    """Height of the floor, or of the top of a table, None where it is switched off, the base plane without either."""
    if "table" in table:
        if "floor" in table:
            raise Infeasible("'floor' and 'table' are both what the robot stays above; give one of them")
        return _top(table["table"])
    floor = table.get("floor", BASE)
    if floor is False:
        return None
    if floor != BASE and not _is_number(floor):
        raise Infeasible("'floor' must be its height in the base frame, a finite number [m], or false for none")
    return BASE if floor == BASE else float(floor)


def _obstacle(k: int, entry: Mapping[str, Any]) -> Shape:
    _known(entry, "an obstacle", ("centre", "size"), ("name",))
    size = _three(entry, "an obstacle", "size")
    if min(size) <= 0:
        raise Infeasible(f"the size of obstacle {k + 1} must be three positive numbers, its whole sides [m]")
    return box(str(entry.get("name", f"obstacle {k + 1}")), _three(entry, "an obstacle", "centre"), size)


def _top(entry: Any) -> float:
    if not isinstance(entry, dict):
        raise Infeasible("'table' must be a table with the height of its top [m]")
    _known(entry, "the table", ("height",))
    if not _is_number(entry["height"]):
        raise Infeasible("the height of the table must be a finite number [m]")
    return float(entry["height"])


# ---------------------------------------------------------------------- checks


def _tables(table: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    found = table.get(name, [])
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise Infeasible(f"'{name}' must be a list of tables, each written as [[{name}]]")
    return found


def _known(entry: Mapping[str, Any], what: str, needed: Iterable[str], more: Iterable[str] = ()) -> None:
    for name in entry:
        if name not in (*needed, *more):
            raise UnknownName(f"key of {what}", name, (*needed, *more))
    missing = [name for name in needed if name not in entry]
    if missing:
        raise Infeasible(f"{what} needs " + " and ".join(f"'{name}'" for name in missing))


def _three(entry: Mapping[str, Any], what: str, name: str) -> tuple[float, float, float]:
    values = entry[name]
    if not isinstance(values, list) or len(values) != 3 or not all(_is_number(v) for v in values):
        raise Infeasible(f"'{name}' of {what} must be three finite numbers [m]")
    x, y, z = map(float, values)
    return x, y, z


def _positive(table: Mapping[str, Any], name: str) -> float:
    value = table[name]
    if not _is_number(value) or not value > 0:
        raise Infeasible(f"'{name}' must be a positive number [m]")
    return float(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST

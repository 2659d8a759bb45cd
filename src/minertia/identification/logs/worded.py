"""Columns recognised by words of several languages and by units in their names: `Achse 1 Strom [A]`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from minertia.identification.logs.options import ColumnMap
from minertia.robot.robot import Robot

# a column belongs to a signal if one of its words ends in one of these: Istposition, Motorstrom
WORDS = {
    "t": "time zeit zeitstempel temps tiempo tempo",
    "q": "position pos lage winkel angle posizione posición posicion",
    "Nm": "torque moment couple coppia",
    "A": "current strom courant corriente corrente",
}
COMMANDED = frozenset(
    ["soll", "set", "setpoint", "target", "command", "cmd", "ref", "reference", "desired", "consigne"]
)
UNITS = {  # unit in a name -> option of the column map, and its value
    **dict.fromkeys(("s", "sec", "sek"), ("time_unit", "s")),
    "ms": ("time_unit", "ms"),
    **dict.fromkeys(("us", "µs", "μs"), ("time_unit", "us")),
    "ns": ("time_unit", "ns"),
    **dict.fromkeys(("°", "deg", "grad", "degree", "degrees"), ("angle", "deg")),
    "rad": ("angle", "rad"),
    **dict.fromkeys(("nm", "n m", "n·m", "n*m"), ("effort_unit", "Nm")),
    "a": ("effort_unit", "A"),
    "v": ("effort_unit", "V"),
    "%": ("effort_unit", "percent"),
    "‰": ("effort_unit", "permille"),
}
_UNIT = re.compile(r"[\[(<]\s*([^\])>]*?)\s*[\])>]\s*$")


def worded(names: Sequence[str], robot: Robot) -> ColumnMap:
    """Column map with the columns and units that the names of a header state; empty where they do not.

    A signal needs exactly one column for each coordinate, by its name or by a number counted from 0 or 1.
    """
    found: dict[str, list[tuple[str, str]]] = {signal: [] for signal in WORDS}
    for name in names:
        unit = _UNIT.search(name)
        rest = name[: unit.start()] if unit else name
        signal = _signal(rest)
        if signal is not None:
            found[signal].append((name, unit[1].lower() if unit else ""))
    times = found.pop("t")
    effort = next((own for kind in ("Nm", "A") if (own := _by_joint(found[kind], robot))), None)
    kind = next((kind for kind in ("Nm", "A") if _by_joint(found[kind], robot)), None)
    q = _by_joint(found["q"], robot)
    options: dict[str, object] = {"effort_unit": kind} if effort else {}
    stated = {**(q or {}), **(effort or {}), **(dict(times) if len(times) == 1 else {})}
    options |= _units(stated)
    options |= {"t": times[0][0]} if len(times) == 1 else {}
    options |= {"q": tuple(q)} if q else {}
    options |= {"effort": tuple(effort)} if effort else {}
    return ColumnMap(**options)  # type: ignore[arg-type]


def _signal(name: str) -> str | None:
    """Signal that the words of a name belong to; None for commands and for names of several signals or none."""
    words = [word.lower() for word in re.findall(r"[^\W\d_]+", name)]
    if COMMANDED.intersection(words) or any(word.startswith("soll") for word in words):
        return None
    ends = {signal: tuple(own.split()) for signal, own in WORDS.items()}
    told = [signal for signal, own in ends.items() if any(word.endswith(own) for word in words)]
    return told[0] if len(told) == 1 else None


def _by_joint(columns: Sequence[tuple[str, str]], robot: Robot) -> dict[str, str] | None:
    """Columns in the order of the coordinates, with their units; None unless each has exactly one."""
    joints = robot.coordinate_names
    if len(columns) != len(joints):
        return None
    named = [[column for column in columns if joint.lower() in column[0].lower()] for joint in joints]
    if all(len(own) == 1 for own in named) and len({own[0] for own in named}) == len(joints):
        return dict(own[0] for own in named)
    numbers = [re.findall(r"\d+", _UNIT.sub("", name)) for name, _ in columns]
    known = {int(own[-1]): column for own, column in zip(numbers, columns, strict=True) if own}
    first = min(known, default=-1)
    if first not in (0, 1) or sorted(known) != list(range(first, first + len(joints))):
        return None
    return dict(known[k] for k in sorted(known))


def _units(columns: Mapping[str, str]) -> dict[str, object]:
    """Options of units on which all names agree."""
    told: dict[str, set[str]] = {}
    for unit in columns.values():
        if unit in UNITS:
            key, value = UNITS[unit]
            told.setdefault(key, set()).add(value)
    return {key: next(iter(values)) for key, values in told.items() if len(values) == 1}

"""Wrong and right set-ups of one log of a floating base: changed columns, and what a verdict must name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

Table = dict[str, np.ndarray]
QUATERNION, GYRO, ACCEL = ([f"base_q{k}" for k in "xyzw"], [f"gyro_{k}" for k in "xyz"], [f"accel_{k}" for k in "xyz"])


def read_table(path: Path) -> Table:
    names = path.read_text().partition("\n")[0].split(",")
    return dict(zip(names, np.loadtxt(path, delimiter=",", skiprows=1).T, strict=True))


def write_table(path: Path, table: Table) -> Path:
    head = ",".join(table)
    np.savetxt(path, np.column_stack(list(table.values())), delimiter=",", header=head, comments="", fmt="%.7g")
    return path


def _of(table: Table, names: list[str]) -> np.ndarray:
    return np.column_stack([table[name] for name in names])


def _set(table: Table, names: list[str], values: np.ndarray) -> None:
    table |= dict(zip(names, values.T, strict=True))


def _forces(table: Table) -> list[list[str]]:
    """Columns of force and moment of each contact."""
    feet = [name[8:] for name in table if name.startswith("contact_")]
    return [[f"{foot}_{s}{k}" for k in "xyz"] for foot in feet for s in "fm" if f"{foot}_{s}x" in table]


def w_first(table: Table) -> None:
    _set(table, QUATERNION, _of(table, QUATERNION)[:, [3, 0, 1, 2]])


def inverse(table: Table) -> None:
    _set(table, QUATERNION, _of(table, QUATERNION) * [-1, -1, -1, 1])


def reversed_gravity(table: Table) -> None:
    _set(table, ACCEL, -_of(table, ACCEL))


def without_gravity(table: Table) -> None:
    R = Rotation.from_quat(_of(table, QUATERNION))
    _set(table, ACCEL, _of(table, ACCEL) - R.inv().apply([0, 0, 9.81]))


def in_g(table: Table) -> None:
    _set(table, ACCEL, _of(table, ACCEL) / 9.81)


def degrees(table: Table) -> None:
    _set(table, GYRO, np.degrees(_of(table, GYRO)))


def unit_turned(table: Table) -> None:
    for names in (GYRO, ACCEL):
        _set(table, names, _of(table, names) @ np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1.0]]).T)


def base_turned(table: Table) -> None:
    unit_turned(table)
    back = Rotation.from_matrix(np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1.0]]).T)
    _set(table, QUATERNION, (Rotation.from_quat(_of(table, QUATERNION)) * back).as_quat())


def on_the_floor(table: Table) -> None:
    for names in _forces(table):
        _set(table, names, -_of(table, names))


def in_base_axes(table: Table) -> None:
    R = Rotation.from_quat(_of(table, QUATERNION)).inv()
    for names in _forces(table):
        _set(table, names, R.apply(_of(table, names)))


def feet_exchanged(table: Table) -> None:
    feet = [name[8:] for name in table if name.startswith("contact_")][:2]
    old = dict(table)
    for one, other in (feet, feet[::-1]):
        for name in [n for n in table if n == f"contact_{one}" or n.startswith(f"{one}_") and n[-2] in "fm"]:
            table[name] = old[name.replace(one, other)]


def flags_late(table: Table) -> None:
    for name in [name for name in table if name.startswith("contact_")]:
        table[name] = np.roll(table[name], 30)


def as_it_is(table: Table) -> None:
    pass


# change, rows, and a word of the message that names the cause; "" for a right set-up
SETUPS: dict[str, tuple[Callable[[Table], None], str, str]] = {
    "right, base rows": (as_it_is, "base", ""),
    "right, all rows": (as_it_is, "all", ""),
    "right, projected": (as_it_is, "projected", ""),
    "quaternion w first": (w_first, "base", "order w, x, y, z"),
    "attitude inverse": (inverse, "base", "log its inverse"),
    "gravity reversed": (reversed_gravity, "base", "sign of gravity"),
    "no gravity": (without_gravity, "projected", "does not contain gravity"),
    "accelerometer in g": (in_g, "base", "in g"),
    "gyro in deg/s": (degrees, "projected", "deg/s"),
    "unit's axes exchanged": (unit_turned, "base", "axes seem exchanged"),
    "base axes exchanged": (base_turned, "base", "other axes"),
    "forces on the floor": (on_the_floor, "all", "those on the floor"),
    "forces in base axes": (in_base_axes, "base", 'axes = "base"'),
    "feet exchanged": (feet_exchanged, "base", "exchanged"),
    "flags late": (flags_late, "projected", "late"),
}

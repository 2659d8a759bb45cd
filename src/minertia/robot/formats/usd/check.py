"""Validation of attribute values of a stage: finite numbers, as many as the attribute requires."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from minertia.io.errors import DescriptionError
from minertia.robot.formats.usd.actuators import CONSTANT
from minertia.robot.formats.usd.attributes import (
    AXES,
    AXIS_SPEED,
    CENTRE,
    EFFECTS,
    FRAME,
    FULL,
    INERTIAL,
    LOWER,
    MASS,
    MOMENTS,
    NUMBER,
    RAW,
    SPEEDS,
    UPPER,
)
from minertia.robot.formats.usd.stage import Prim

LIST = -1
# attribute -> how many numbers it has, 0 for a single one, LIST for any number of them
COUNTS: Mapping[str, int] = {
    **{f"physics:localPos{k}": 3 for k in (0, 1)},
    **{f"physics:localRot{k}": 4 for k in (0, 1)},
    **{"physics:gravityDirection": 3, "physics:gravityMagnitude": 0},
    **{MASS: 0, CENTRE: 3, MOMENTS: 3, AXES: 4},
    **dict.fromkeys((LOWER, UPPER, *SPEEDS, "urdf:limit:effort"), 0),
    **{name: 0 for names in RAW.values() for name in names},
    **{name.format(word): 0 for names in EFFECTS.values() for name in names for word in ("angular", "linear")},
    **{f"drive:{word}:physics:maxForce": 0 for word in ("angular", "linear")},
    **{AXIS_SPEED.format(word): 0 for word in ("angular", "linear")},
    **{"newton:mimicCoef0": 0, "newton:mimicCoef1": 0, "minertia:follows:offset": 0},
    **{"minertia:gravity": 3, FRAME: 12, NUMBER: 0, CONSTANT: 0, "mjc:damping": 0},
    **{"mjc:stiffness": 0, "mjc:springref": 0, "mjc:ref": 0},
    **dict.fromkeys((INERTIAL, FULL, "minertia:coupling", "minertia:follows:ratios"), LIST),
}
STARTS: Mapping[str, int] = {  # of the names of further attributes
    **dict.fromkeys(("physxMimicJoint:", "limit:", "minertia:limit:", "minertia:effect:", "minertia:elastic:"), 0),
    "minertia:motor:": LIST,
}
WORDS = {LIST: "a list of numbers", 0: "a number", 3: "three numbers", 4: "four numbers", 12: "twelve numbers"}
# attributes in which "infinite" stands for "not given", or "no limit"
ENDLESS = (
    *(CENTRE, LOWER, UPPER, *SPEEDS, "physics:gravityMagnitude", "urdf:limit:effort"),
    *(f"drive:{word}:physics:maxForce" for word in ("angular", "linear")),
    *(AXIS_SPEED.format(word) for word in ("angular", "linear")),
)


def check_values(prim: Prim, what: str, source: str) -> None:
    """Raise an error for a value of the wrong type or count for its attribute."""
    for name, value in prim.values.items():
        count = COUNTS.get(name, next((STARTS[start] for start in STARTS if name.startswith(start)), None))
        if name.startswith("minertia:elastic:") and isinstance(value, float) and math.isnan(value):
            continue  # unknown
        if count is not None and not _fits(value, count, name in ENDLESS or name.startswith("limit:")):
            raise DescriptionError(f"{what}: {name} is not {WORDS[count]}; correct it", file=source)
    leaders = prim.values.get("minertia:follows:joints", ())
    if not isinstance(leaders, tuple) or not all(isinstance(leader, str) for leader in leaders):
        raise DescriptionError(f"{what}: minertia:follows:joints is not a list of names; correct it", file=source)
    axis = prim.values.get("physics:axis", "X")
    if axis not in ("X", "Y", "Z"):
        raise DescriptionError(f"{what}: physics:axis is neither X, Y nor Z; correct it", file=source)


def _fits(value: Any, count: int, endless: bool) -> bool:
    parts = value if isinstance(value, tuple) else (value,)
    if isinstance(value, tuple) != (count != 0) or (count != LIST and len(parts) != max(count, 1)):
        return False
    return all(
        isinstance(v, int | float) and not isinstance(v, bool) and (math.isfinite(v) or (endless and not math.isnan(v)))
        for v in parts
    )

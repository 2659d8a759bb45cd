"""What may be said of a calibration: its files' columns, what was measured, and what is corrected."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from minertia.io.schema import Declared, check, option

LENGTHS = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "in": 0.0254}
ANGLES = {"rad": 1.0, "mrad": 1e-3, "deg": math.pi / 180}
WIDTHS = {"xyzw": 4, "wxyz": 4, "rpy": 3, "vector": 3, "matrix": 9}  # columns of a rotation
LEVELS: dict[str, tuple[str, ...]] = {  # of corrections, with the groups of unknowns that each adds
    "zeros": ("zeros",),
    "geometry": ("lengths", "angles"),
    "sag": ("sag",),
    "transmission": ("gear", "harmonics", "coupling"),
}
MEASURED = (
    *("point", "pose", "orientation", "direction", "pixel", "pixel_tool"),
    *("distance", "distance_between", "same_point", "plane"),
)


@dataclass(frozen=True, slots=True, repr=False)
class MeasureColumns(Declared):
    """One [[measure]] of a file: what was measured, and where its numbers stand."""

    kind: str = option(help="What was measured.", choices=MEASURED)
    name: str = option("", "Name of the target, in results.", otherwise="its number")
    at: Sequence[str] = option((), "Columns of the place, direction, pixel or distance.")
    rotation: Sequence[str] = option((), "Columns of the rotation.")
    rotation_as: str = option("xyzw", "How the rotation is written.", choices=tuple(WIDTHS))
    groups: Sequence[str] = option((), "Columns whose equal entries mean one place, fixed point, plane or mark.")
    of: str | None = option(None, "Column in which two places differ whose distance is known.")
    within: Sequence[str] = option((), "Columns in which such places agree.")
    apart: float | None = option(None, "Their distance.", unit="m", key="length", above=0)
    camera: Sequence[float] | None = option(None, "Focal lengths and centre fx, fy, cx, cy.", unit="pixels", length=4)


@dataclass(frozen=True, slots=True, repr=False)
class MeasurementColumns(Declared):
    """What the columns of measurement files mean; measures: tables [[measure]], looked for in the header if none."""

    q: Sequence[str] | str | None = option(
        None, "Columns of the joints: a template with {j} or {joint}, or names.", otherwise="looked for in the header"
    )
    angle: str | None = option(None, "Unit of joints that turn.", choices=tuple(ANGLES))
    length: str | None = option(None, "Unit of lengths.", choices=tuple(LENGTHS))
    measures: tuple[MeasureColumns, ...] = field(default=())


@dataclass(frozen=True, slots=True, repr=False)
class CalibrationOptions(Declared):
    """What a calibration may take into account, and how its result is written."""

    levels: Sequence[str] | None = option(
        None, "Corrections to fit, in this order.", choices=tuple(LEVELS), otherwise="chosen by regions left out"
    )
    tip: str | None = option(None, "Link or frame that carries the target.", otherwise="the last link")
    root: str | None = option(None, "Link or frame where the chain begins.", otherwise="the ground")
    zeros: str = option(
        "file", "Zeros into the robot's frames, or as a table for its controller.", choices=("file", "controller")
    )

    def __post_init__(self) -> None:
        check(self)
        order = [level for level in LEVELS if level in (self.levels or ())]
        if self.levels is not None:
            object.__setattr__(self, "levels", tuple(order))

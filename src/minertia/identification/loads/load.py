"""`Load`: known payload of a log."""

from __future__ import annotations

from dataclasses import dataclass

from minertia.io.schema import Declared, option

LARGEST = 1e6  # kg, m or kg m2 of a load that can be meant


@dataclass(frozen=True, slots=True)
class Load(Declared):
    """Known payload of a log."""

    mass: float = option(help="Mass.", unit="kg", above=0, range=(0, LARGEST))
    com: tuple[float, ...] | None = option(
        None,
        "Centre of mass in the frame of the payload.",
        unit="m",
        range=(-LARGEST, LARGEST),
        length=3,
        otherwise="a point mass at the frame's origin",
    )
    inertia: tuple[float, ...] | None = option(
        None,
        "Inertia [Ixx, Ixy, Ixz, Iyy, Iyz, Izz] about the centre of mass.",
        unit="kg m2",
        range=(-LARGEST, LARGEST),
        length=6,
        otherwise="a point",
    )
    at: str | None = option(
        None, "Name of the frame in which `com` and `inertia` are given.", otherwise="the last link"
    )

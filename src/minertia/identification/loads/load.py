"""`Load`: what a robot is known to carry in a log."""

from __future__ import annotations

from dataclasses import dataclass

LARGEST = 1e6  # kg, m or kg m2 of a load that can be meant


@dataclass(frozen=True, slots=True)
class Load:
    """What the robot carries in a log: mass [kg], and centre [m] and inertia [kg m2] in a frame where known."""

    mass: float
    com: tuple[float, float, float] | None = None
    inertia: tuple[float, ...] | None = None
    at: str | None = None

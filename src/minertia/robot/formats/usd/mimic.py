"""Mimic joints of Newton and PhysX."""

from __future__ import annotations

from dataclasses import dataclass

from minertia.io.errors import DescriptionError
from minertia.robot.formats.usd.stage import Prim

CURVED = ("mjc:coef2", "mjc:coef3", "mjc:coef4")  # of the square and higher powers


@dataclass(frozen=True, slots=True)
class Mimic:
    """Position = ratio * position of the leader + offset, in the units of the file (degrees at revolute joints).

    leader: path of its prim.  has_units: whether the ratio has a unit where one turns and the other slides.
    """

    leader: str
    ratio: float
    offset: float
    has_units: bool


def newton_mimic(prim: Prim, name: str, source: str) -> Mimic | None:
    """Mimic joint of Newton; None if it is not one."""
    targets = prim.targets.get("newton:mimicJoint", ())
    if not targets or prim.values.get("newton:mimicEnabled") is False:
        return None
    if any(prim.values.get(key) for key in CURVED):
        key = next(key for key in CURVED if prim.values.get(key))
        text = f"joint '{name}' follows another by a polynomial ({key}), which is not supported; use a linear relation"
        raise DescriptionError(text, file=source)
    ratio, offset = (float(prim.values.get(f"newton:mimicCoef{k}", usual)) for k, usual in ((1, 1.0), (0, 0.0)))
    return Mimic(targets[0], ratio, offset, has_units=False)


def physx_mimic(prim: Prim) -> Mimic | None:
    """Mimic joint of PhysX: position + gearing * (position of the leader) + offset = 0; None if it is not one."""
    for key, targets in prim.targets.items():
        if key.startswith("physxMimicJoint:") and key.endswith(":referenceJoint") and targets:
            stem = key.rpartition(":")[0]
            ratio, offset = (float(prim.values.get(f"{stem}:{w}", d)) for w, d in (("gearing", 1.0), ("offset", 0.0)))
            return Mimic(targets[0], -ratio, -offset, has_units=True)
    return None

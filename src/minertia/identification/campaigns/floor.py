"""`Floor`: what a robot may touch while it follows commands (table [floor], docs/output-error.md)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from minertia.errors import MinertiaError, expect_kinds
from minertia.identification.logs.campaign_table import CampaignTable
from minertia.notebook import stated

UNKNOWN = "?"
RANGES = {"height": (-100.0, 100.0), "stiffness": (100.0, 1e7), "friction": (0.0, 5.0)}
Number: TypeAlias = "float | str"


@dataclass(frozen=True, slots=True)
class Floor:
    """A plane that frames of the robot cannot pass, level with gravity; none where nothing touches it.

    touches: links or frames of the robot's file whose origins touch it.  height [m]: along the direction up, from the
    base's origin; friction: its coefficient; stiffness [N/m], of the floor and what touches it.  "?": fitted.
    """

    touches: tuple[str, ...] = ()
    height: Number = UNKNOWN
    friction: Number = 0.0
    stiffness: Number = 1e4

    def __repr__(self) -> str:
        return stated(self)

    def __post_init__(self) -> None:
        expect_kinds(self)
        given: Any = self.touches
        if isinstance(given, str):
            object.__setattr__(self, "touches", (given,))
        elif isinstance(given, Sequence) and all(isinstance(name, str) for name in given):
            object.__setattr__(self, "touches", tuple(given))
        else:
            raise MinertiaError(f"touches names links or frames of the robot's file, not {given!r}")
        for name, (least, most) in RANGES.items():
            value = getattr(self, name)
            if value == UNKNOWN:
                continue
            is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            if not is_number or not least <= value <= most:
                raise MinertiaError(f'{name} of a floor is a number from {least:g} to {most:g}, or "?", not {value!r}')


FLOOR_KEYS = tuple(Floor.__dataclass_fields__)


def parse_floor(table: CampaignTable) -> Floor:
    """The floor of a table [floor], in which a question mark stands for what is fitted."""
    table.only(FLOOR_KEYS)
    try:
        return Floor(**{key: table.entries[key] for key in table})
    except MinertiaError as err:
        raise table.fail(str(err)) from None

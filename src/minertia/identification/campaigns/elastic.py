"""`ElasticJoints`: joints whose motors turn their links through springs (table [elastic], docs/elastic.md)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from minertia.errors import CampaignError, MinertiaError, UnknownName
from minertia.identification.logs.campaign_table import CampaignTable
from minertia.notebook import stated
from minertia.robot.joint import Elastic
from minertia.robot.robot import Robot

UNKNOWN = "?"
ENCODERS = ("both", "motor", "link")
SIDES = ("motor", "link")
STIFFNESS = 1.0, 1e9  # N m/rad or N/m between which a joint is elastic
Start: TypeAlias = "float | str"


@dataclass(frozen=True, slots=True)
class ElasticJoints:
    """Which joints are elastic, where their fit starts, and on which side they are measured.

    joints: by name or number from 1; none: those of the robot's file.  stiffness [N m/rad, N/m], damping [N m s/rad,
    N s/m], on the link side: a number to start from, for all of them or one each, or "?"; by default what the robot's
    file says.  encoder: the side on which positions were measured, "both", "motor" or "link"; None: both where the
    log has a second encoder.  feedback: the side that the joints' own position loops read, "motor" or "link".
    """

    joints: tuple[str | int, ...] = ()
    stiffness: Start | tuple[Start, ...] | None = None
    damping: Start | tuple[Start, ...] | None = None
    encoder: str | None = None
    feedback: str = "motor"

    def __repr__(self) -> str:
        return stated(self)

    def __post_init__(self) -> None:
        for name in ("joints", "stiffness", "damping"):
            value = getattr(self, name)
            if isinstance(value, Sequence) and not isinstance(value, str):
                object.__setattr__(self, name, tuple(value))
        if isinstance(self.joints, str | int):
            object.__setattr__(self, "joints", (self.joints,))
        if self.encoder is not None and self.encoder not in ENCODERS:
            raise UnknownName("side of an encoder", self.encoder, ENCODERS)
        if self.feedback not in SIDES:
            raise UnknownName("side that a position loop reads", self.feedback, SIDES)
        _check("stiffness", self.stiffness, STIFFNESS)
        _check("damping", self.damping, (0.0, STIFFNESS[1]))

    def of(self, robot: Robot) -> dict[int, Elastic]:
        """The elastic coordinates of a robot (from 0), with values to start from."""
        given = robot.elastic
        if self.joints:
            names = robot.coordinate_names
            chosen = sorted(_coordinate(names, joint) for joint in self.joints)
            if len(set(chosen)) < len(chosen):
                raise CampaignError(f"a joint is named twice in elastic.joints: {', '.join(map(str, self.joints))}")
            given = {c: given.get(c, Elastic()) for c in chosen}
        stiffness, damping = (self._each(name, len(given)) for name in ("stiffness", "damping"))
        return {
            c: Elastic(_number(k, own.stiffness), _number(d, own.damping))
            for (c, own), k, d in zip(given.items(), stiffness, damping, strict=True)
        }

    def _each(self, name: str, count: int) -> tuple[Start | None, ...]:
        value = getattr(self, name)
        if not isinstance(value, tuple):
            return (value,) * count
        if len(value) != count:
            raise CampaignError(f"elastic.{name} has {len(value)} values where {count} joints are elastic")
        return value


def _coordinate(names: Sequence[str], joint: str | int) -> int:
    if isinstance(joint, int) and not isinstance(joint, bool) and 1 <= joint <= len(names):
        return joint - 1
    if joint not in names:
        raise UnknownName("joint", joint, names)
    return list(names).index(str(joint))


def _number(given: Start | None, own: float | None) -> float | None:
    if given is None:
        return own
    return None if isinstance(given, str) else float(given)


def _check(name: str, given: Any, bounds: tuple[float, float]) -> None:
    for value in given if isinstance(given, tuple) else (given,):
        if value is None or value == UNKNOWN:
            continue
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if not is_number or not bounds[0] <= value <= bounds[1]:
            raise MinertiaError(
                f'{name} of an elastic joint is a number from {bounds[0]:g} to {bounds[1]:g}, or "?", not {value!r}'
            )


ELASTIC_KEYS = tuple(ElasticJoints.__dataclass_fields__)


def parse_elastic(table: CampaignTable) -> ElasticJoints:
    """The elastic joints of a table [elastic]."""
    table.only(ELASTIC_KEYS)
    given: dict[str, Any] = {}
    for key in table:
        value = table.entries[key]
        given[key] = table.text(key) if key in ("encoder", "feedback") else value
    try:
        return ElasticJoints(**given)
    except MinertiaError as err:
        raise table.fail(str(err)) from None

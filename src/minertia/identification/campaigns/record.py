"""Record of a campaign in a model, so that other logs can be read and evaluated in the same way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from minertia.identification.estimators.estimator import Estimator
from minertia.identification.problem.terms import Wanted, read_effect
from minertia.io.schema import Option, options, plain, stated
from minertia.robot.robot import Robot

APART = ("robot", "source", "places", "options")  # kept elsewhere, or where files are, or recorded with the estimator
# fields whose record has a form of its own
FORMED = ("train", "validate", "name", "columns", "repairs", "filter", "effects", "joints", "estimator", "fix", "prior",
          "evaluation")  # fmt: skip


def campaign_record(campaign: Any) -> dict[str, Any]:
    """Campaign as a dict of plain data, without its robot."""
    columns = stated(campaign.map)
    drive = columns.pop("drive", {})
    return {
        "name": campaign.name,
        "train": [log.name for log in campaign.train],
        "validate": [log.name for log in campaign.validate],
        "joints": list(campaign.joints),
        "estimator": {"name": _name(campaign.estimator), **campaign.options},
        "effects": None if campaign.effects is None else [_effect(campaign.robot, e) for e in campaign.effects],
        "fix": dict(campaign.fix),
        "prior": _prior(campaign.prior),
        "repairs": asdict(campaign.repairs),
        "columns": columns,
        "drive": drive,
        "filter": stated(campaign.filter),
        "evaluation": None if campaign.evaluation is None else asdict(campaign.evaluation),
        **further_fields(campaign),
    }


def further_fields(campaign: Any) -> dict[str, Any]:
    """Non-default campaign fields, as plain data, that have no record format of their own; includes new fields."""
    values = {one.name: (getattr(campaign, one.name), one.default) for one in further_options(type(campaign))}
    return {name: plain(value) for name, (value, usual) in values.items() if value != usual}


def further_options(kind: type) -> list[Option]:
    """Options of a campaign class that are recorded by value."""
    return [one for one in options(kind) if one.name not in (*APART, *FORMED)]


def _name(estimator: str | Estimator) -> str:
    return estimator if isinstance(estimator, str) else type(estimator).__name__


def _prior(prior: Any) -> str | None:
    if isinstance(prior, Robot):
        return prior.source or prior.name
    return "values" if isinstance(prior, Mapping) else None if prior is None else str(prior)


def _effect(robot: Robot, given: Wanted) -> Any:
    """Effect in the syntax of a campaign file."""
    effect = read_effect(robot, given)
    if effect.joints == robot.coordinate_names and not effect.options and not effect.known and not effect.tag:
        return effect.kind
    more = {**({"known": True} if effect.known else {}), **({"tag": effect.tag} if effect.tag else {})}
    return {"kind": effect.kind, "joints": list(effect.joints), **effect.options, **more}

"""What a model has to remember of its campaign, so that other logs can be read and judged in the same way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, asdict, fields, is_dataclass
from pathlib import Path
from typing import Any

from minertia.errors import MinertiaError
from minertia.identification.campaigns.campaign import Campaign, Repairs
from minertia.identification.campaigns.effects import EffectSpec
from minertia.identification.estimators.estimator import Estimator
from minertia.identification.logs.columns import ColumnMap
from minertia.identification.logs.drive import Drive
from minertia.identification.signals.evaluation import Evaluation
from minertia.identification.signals.filtering import Filter
from minertia.robot.robot import Robot

APART = ("robot", "source", "places", "options")  # kept elsewhere, or where files are, or recorded with the estimator
# fields whose record has a form of its own
FORMED = ("train", "validate", "name", "columns", "repairs", "filter", "effects", "joints", "estimator", "fix", "prior",
          "evaluation")  # fmt: skip


def campaign_record(campaign: Campaign) -> dict[str, Any]:
    """A campaign as plain data, without its robot."""
    drive = _stated(campaign.map.drive)
    columns = {key: value for key, value in _stated(campaign.map).items() if key not in ("drive", "found")}
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
        "filter": _stated(campaign.filter),
        "evaluation": None if campaign.evaluation is None else asdict(campaign.evaluation),
        **further_fields(campaign),
    }


def further_fields(campaign: Campaign) -> dict[str, Any]:
    """The fields of a campaign whose record is their value, where that is not the usual one: every new field."""
    values = {f.name: (getattr(campaign, f.name), _usual(f)) for f in _further(type(campaign))}
    return {name: _plain(value) for name, (value, usual) in values.items() if value != usual}


def recorded_campaign(robot: Robot, record: Mapping[str, Any]) -> Campaign:
    """The campaign of a record, without logs: how others are to be read, filtered and judged."""
    try:
        drive = Drive(**_tuples(record.get("drive", {})))
        evaluation = record.get("evaluation")
        return Campaign(
            name=str(record.get("name", robot.name)),
            robot=robot,
            train=(),
            columns=ColumnMap(**_tuples(record.get("columns", {})), drive=drive),
            repairs=Repairs(**record.get("repairs", {})),
            filter=Filter(**record.get("filter", {})),
            evaluation=None if evaluation is None else Evaluation(**evaluation),
            **{f.name: _as_usual(_usual(f), record[f.name]) for f in _further(Campaign) if f.name in record},
        )
    except (TypeError, ValueError, AttributeError) as err:
        raise MinertiaError(f"the model's record of its campaign cannot be read ({err})") from None


def _further(kind: type[Campaign]) -> list[Field[Any]]:
    return [f for f in fields(kind) if f.name not in (*APART, *FORMED)]


def _usual(given: Field[Any]) -> Any:
    return given.default_factory() if given.default_factory is not MISSING else given.default


def _plain(value: Any) -> Any:
    """A value of a field as JSON and TOML hold it."""
    if is_dataclass(value):
        return {key: _plain(v) for key, v in _stated(value).items()}
    if isinstance(value, Mapping):
        return {str(key): _plain(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return str(value) if isinstance(value, Path) else value


def _as_usual(usual: Any, value: Any) -> Any:
    """A recorded value as the field holds it, which its usual value tells."""
    kind: Any = type(usual)
    return kind(**_tuples(value)) if is_dataclass(usual) else _tuples({"": value})[""]


def _name(estimator: str | Estimator) -> str:
    return estimator if isinstance(estimator, str) else type(estimator).__name__


def _prior(prior: Any) -> str | None:
    if isinstance(prior, Robot):
        return prior.source or prior.name
    return "values" if isinstance(prior, Mapping) else None if prior is None else str(prior)


def _stated(value: Any) -> dict[str, Any]:
    """Fields that do not have their default."""
    usual = type(value)()
    return {f.name: getattr(value, f.name) for f in fields(value) if getattr(value, f.name) != getattr(usual, f.name)}


def _effect(robot: Robot, effect: EffectSpec | str | Mapping[str, Any]) -> Any:
    if not isinstance(effect, EffectSpec):
        return effect
    if len(effect.joints) == robot.n and not effect.options and not effect.known:
        return effect.kind
    names = [robot.coordinate_names[j] for j in effect.joints]
    return {"kind": effect.kind, "joints": names, **effect.options, **({"known": True} if effect.known else {})}


def _tuples(table: Mapping[str, Any]) -> dict[str, Any]:
    """Lists as tuples, as frozen data hold them."""

    def frozen(value: Any) -> Any:
        return tuple(map(frozen, value)) if isinstance(value, list) else value

    return {key: frozen(value) for key, value in table.items()}

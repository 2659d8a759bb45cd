"""Registry of the kinds of problems, each imported on demand; the logs of a campaign determine its kind."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence

from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.prepare import PreparedCampaign
from minertia.identification.kind import Problem
from minertia.identification.model import Model

KINDS = {  # the first that takes a campaign has it
    "geometry": "minertia.identification.geometry.problem:GeometryProblem",
    "wrench": "minertia.identification.wrench.problem:WrenchProblem",
    "commands": "minertia.identification.closed_loop.problem:CommandProblem",
    "efforts": "minertia.identification.efforts.problem:EffortProblem",
}
TABLES = {"geometry": ("calibration", "measures"), "wrench": ("wrench",)}  # without which a kind need not be imported


def kinds(without: Sequence[str] = ()) -> Iterator[type[Problem]]:
    """Iterate over all kinds of problems but some, each imported on demand."""
    for place in (place for kind, place in KINDS.items() if kind not in without):
        module, name = place.split(":")
        yield getattr(importlib.import_module(module), name)


def kind_of(campaign: Campaign | PreparedCampaign) -> type[Problem]:
    """Kind of a campaign, inferred from its logs."""
    absent = [kind for kind, fields in TABLES.items() if not any(getattr(campaign, name, None) for name in fields)]
    return next(kind for kind in kinds(absent) if kind.takes(campaign))


def kind_of_model(model: Model) -> type[Problem]:
    """The kind of problem that a model was identified from."""
    return next(kind for kind in kinds() if kind.remembers(model))

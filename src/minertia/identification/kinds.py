"""Registry of the kinds of problems, each imported on demand; the logs of a campaign determine its kind."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

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


def kinds() -> Iterator[type[Problem]]:
    """Iterate over all kinds of problems, each imported on demand."""
    for place in KINDS.values():
        module, name = place.split(":")
        yield getattr(importlib.import_module(module), name)


def kind_of(campaign: Campaign | PreparedCampaign) -> type[Problem]:
    """Kind of a campaign, inferred from its logs."""
    return next(kind for kind in kinds() if kind.takes(campaign))


def kind_of_model(model: Model) -> type[Problem]:
    """The kind of problem that a model was identified from."""
    return next(kind for kind in kinds() if kind.remembers(model))

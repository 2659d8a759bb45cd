"""Registry of the kinds of problems, each imported on demand; the logs of a campaign determine its kind."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator

from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.prepare import PreparedCampaign
from minertia.identification.closed_loop.commanded import is_commanded
from minertia.identification.kind import Problem
from minertia.identification.model import Model

KINDS: dict[str, tuple[str, Callable[[Campaign], object]]] = {  # place, and which campaigns are of the kind: the first
    "geometry": (
        "minertia.identification.geometry.problem:GeometryProblem",
        lambda campaign: campaign.calibration is not None or campaign.measures,
    ),
    "wrench": ("minertia.identification.wrench.problem:WrenchProblem", lambda campaign: campaign.wrench is not None),
    "commands": ("minertia.identification.closed_loop.problem:CommandProblem", is_commanded),
    "efforts": ("minertia.identification.efforts.problem:EffortProblem", lambda campaign: True),
}


def kinds() -> Iterator[type[Problem]]:
    """Iterate over all kinds of problems, each imported on demand."""
    return map(_imported, KINDS)


def _imported(kind: str) -> type[Problem]:
    module, name = KINDS[kind][0].split(":")
    found: type[Problem] = getattr(importlib.import_module(module), name)
    return found


def kind_of(campaign: Campaign | PreparedCampaign) -> type[Problem]:
    """Kind of a campaign, inferred from its logs; a prepared one has efforts."""
    if isinstance(campaign, PreparedCampaign):
        return _imported("efforts")
    return _imported(next(kind for kind, (_, takes) in KINDS.items() if takes(campaign)))


def kind_of_model(model: Model) -> type[Problem]:
    """The kind of problem that a model was identified from."""
    return next(kind for kind in kinds() if kind.remembers(model))

"""Short ways to a fit: the usual four effects and weighted least squares unless told otherwise."""

from __future__ import annotations

from typing import Any

from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.identify import Identification, identify

USUAL = ("rotor", "viscous", "coulomb", "offset")


def campaign(robot: Any, logs: Any, validate: Any = (), **choices: Any) -> Campaign:
    """A campaign with the usual effects and weighted least squares."""
    return Campaign(robot, logs, validate, **{"effects": USUAL, "estimator": "wls", **choices})


def fitted(robot: Any, logs: Any, validate: Any = (), **choices: Any) -> Identification:
    """The identification of such a campaign."""
    return identify(campaign(robot, logs, validate, **choices))

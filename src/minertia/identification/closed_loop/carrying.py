"""Known payloads in logs of commands: they add to the links, and fix the scale of their joints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from minertia.identification.campaigns.campaign import Campaign, Log
from minertia.identification.closed_loop.logs import LoopLog
from minertia.identification.closed_loop.model import Atom, ServoModel
from minertia.identification.loads.body import carried
from minertia.identification.loads.load import Load
from minertia.io.errors import CampaignError
from minertia.robot.inertia import transport_ten
from minertia.robot.joint import numeric_pose
from minertia.robot.parameters import LINK_SYMBOLS, full_name

Array = NDArray[np.float64]


def refuse_loads(campaign: Campaign) -> None:
    """Raise an error for payloads with fixed links, or a payload reference without a loaded training log."""
    is_loaded = any(log.load is not None for log in (*campaign.train, *campaign.validate))
    if is_loaded and campaign.links == "robot":
        raise CampaignError(
            "payloads of logs can be used in fits of commands only if the links are fitted; set links = "
            '"physical" in [model], or remove logs with payload'
        )
    if campaign.command.reference == "load" and not any(log.load is not None for log in campaign.train):
        raise CampaignError(
            'the reference "load" needs a training log with a known payload: load = {mass = ..., com = [...]} in [logs]'
        )


def with_loads(model: ServoModel, logs: Sequence[LoopLog], named: Iterable[Log]) -> list[LoopLog]:
    """Logs with the contribution of their known payloads to the parameters of the simulation."""
    pairs = zip(logs, named, strict=True)
    return [log if given.load is None else replace(log, carried=_atoms(model, given.load)) for log, given in pairs]


def _atoms(model: ServoModel, load: Load) -> Array:
    """Contribution of a payload to the simulation parameters: its inertial parameters, regrouped as in links."""
    robot, linear = model.robot, model.linear
    body = carried(robot, load)
    assert body is not None
    frame = robot.payload_frame(load.at)
    if frame.joint is None:
        raise CampaignError("a payload attached to the ground moves with no joint and does not fix the scale")
    ten = transport_ten(list(body.ten), numeric_pose(frame.pose, robot.symbol_values))
    named = {full_name(s, frame.joint + 1): float(v) for s, v in zip(LINK_SYMBOLS, ten, strict=True)}  # type: ignore[arg-type]
    standard = linear.standard_values(linear.values(named))
    found = np.zeros(len(model.atoms))
    for k, name in enumerate(model.links):
        found[model.index(Atom("link", k).kind, k)] = standard[name]
    return found

"""Known payloads in logs of commands: they add to the links, and fix the scale of their joints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from minertia.identification.campaigns.campaign import Campaign, Log
from minertia.identification.closed_loop.logs import LoopLog
from minertia.identification.closed_loop.model import ServoModel
from minertia.identification.loads.body import carried
from minertia.identification.loads.load import Load
from minertia.io.errors import CampaignError, RecordingError
from minertia.robot.inertia import transport_ten
from minertia.robot.joint import numeric_pose
from minertia.robot.parameters import LINK_SYMBOLS, full_name
from minertia.robot.robot import Robot

Array = NDArray[np.float64]


def refuse_loads(campaign: Campaign) -> None:
    """Raise an error for a payload reference without a loaded training log."""
    if campaign.command.reference == "load" and not any(log.load is not None for log in campaign.train):
        raise CampaignError(
            'the reference "load" needs a training log with a known payload: load = {mass = ..., com = [...]} in [logs]'
        )


def is_weightless(robot: Robot) -> bool:
    """Whether no link of a robot weighs anything, as of a servo whose loads are those of its logs."""
    return robot.has_parameters and not any(any(ten) for ten in robot.links if ten is not None)


def with_loads(model: ServoModel, logs: Sequence[LoopLog], named: Iterable[Log]) -> list[LoopLog]:
    """Logs with the contribution of their known payloads to the parameters of the simulation."""
    pairs = list(zip(logs, named, strict=True))
    bare = next((log.name for log, given in pairs if given.load is None), None)
    if bare is not None and is_weightless(model.robot):
        raise RecordingError(
            "the log states no load, and the servo carries nothing else; give the folder of runs whose index.csv has "
            "their loads and kp",
            file=bare,
        )
    return [log if given.load is None else replace(log, carried=_atoms(model, given.load)) for log, given in pairs]


def turned(names: Sequence[str], carried: Array) -> Array:
    """Derivative of a load's contribution to the parameters of a single joint by the load's angle about its axis."""
    own = dict(zip(names, carried.tolist(), strict=True))
    found = dict.fromkeys(names, 0.0) | {"MX1": -own["MY1"], "MY1": own["MX1"]}
    return np.array(list(found.values()))


def _atoms(model: ServoModel, load: Load) -> Array:
    """Contribution of a payload to the link parameters of the simulation: its own, regrouped as in links."""
    robot, linear = model.robot, model.linear
    body = carried(robot, load)
    assert body is not None
    frame = robot.payload_frame(load.at)
    if frame.joint is None:
        raise CampaignError(
            "a payload attached to the ground is moved by no joint and cannot determine the scale of efforts"
        )
    ten = transport_ten(list(body.ten), numeric_pose(frame.pose, robot.symbol_values))
    named = {full_name(s, frame.joint + 1): float(v) for s, v in zip(LINK_SYMBOLS, ten, strict=True)}  # type: ignore[arg-type]
    standard = linear.standard_values(linear.values(named))
    return np.array([standard[name] for name in model.links])

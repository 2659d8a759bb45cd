"""Recognition of campaigns whose logs contain commands instead of efforts."""

from __future__ import annotations

from minertia.identification.campaigns.campaign import Campaign, Log
from minertia.identification.logs.columns import choose
from minertia.identification.logs.readers import column_names
from minertia.identification.logs.recording import Recording
from minertia.io.errors import MinertiaError


def is_commanded(campaign: Campaign) -> bool:
    """Whether the fitted logs contain commands and no efforts."""
    return (
        bool(campaign.train)
        and not campaign.sensors
        and all(_has_commands_alone(campaign, log) for log in campaign.train)
    )


def _has_commands_alone(campaign: Campaign, log: Log) -> bool:
    if isinstance(log.source, Recording):
        return log.source.tau is None and "command" in log.source.channels
    if log.file is None:
        return False
    robot = campaign.robot
    try:
        found = choose(column_names(log.file, campaign.map, robot), campaign.map, robot, str(log.file), effort=False)
    except MinertiaError:
        return False  # told by whoever reads it
    return found.effort is None and found.command is not None

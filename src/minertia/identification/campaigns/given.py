"""A campaign without a file: a robot, its logs, and what a caller chose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from minertia.errors import CampaignError
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.logs.columns import ColumnMap
from minertia.identification.logs.columns_file import columns_beside, read_columns
from minertia.identification.logs.recording import Recording
from minertia.identification.signals.evaluation import Evaluation
from minertia.identification.signals.filtering import Filter
from minertia.robot.robot import Robot

TRIM_S = 0.5  # dropped at each end of a log before it is judged ...
FINER = 10.0  # rate at which efforts are judged over that of the logs, at most
TRIM_PART = 0.05  # ... or this part of a short one


def given_campaign(robot: Robot, logs: Sequence[str | Path], columns: ColumnMap | str | Path | None = None) -> Campaign:
    """The campaign of a robot and logs whose columns are told, stand in a file beside the first log, or are known."""
    if not logs:
        raise CampaignError("name at least one log")
    known = columns if isinstance(columns, ColumnMap) else None
    if known is None:
        first = Campaign(robot.name, robot, ()).entry(logs[0]).file
        known = columns_beside(first) if columns is None else read_columns(str(columns))
    if known.drive.coupling is not None:
        known.drive.checked(robot.n, robot.source)
        robot = replace(robot, coupling=known.drive.coupling)
    empty = Campaign(robot.name, robot, (), columns=known)
    return replace(empty, train=tuple(empty.entry(log) for log in logs))


def settled(campaign: Campaign, recordings: Sequence[Recording]) -> Campaign:
    """The campaign with the choices that depend on its logs made once, for all logs.

    The cut-off is the highest that any recording asks for; efforts are judged at the cut-off that the first one asks
    for, whatever the fit uses.
    """
    filter_, evaluation = campaign.filter, campaign.evaluation
    if filter_.cutoff_hz is None:
        filter_ = replace(filter_, cutoff_hz=max(filter_.resolved(r).cutoff_hz or 0.0 for r in recordings))
    if evaluation is None:
        evaluation = usual_evaluation(recordings[0])
    fastest = max(r.rate_hz for r in recordings)
    if evaluation.rate_hz > FINER * fastest:
        raise CampaignError(
            f"efforts cannot be judged at {evaluation.rate_hz:g} Hz: the logs have {fastest:.4g} samples per second; "
            "give evaluation a lower rate_hz",
            file=campaign.source or None,
            field="evaluation.rate_hz",
        )
    return replace(campaign, filter=filter_, evaluation=evaluation)


def usual_evaluation(recording: Recording) -> Evaluation:
    """The evaluation filter where none is given."""
    plan = Filter().resolved(recording)
    assert plan.cutoff_hz is not None and plan.rate_hz is not None
    return Evaluation(plan.cutoff_hz, plan.rate_hz, min(TRIM_S, TRIM_PART * recording.duration))

"""Choices of a campaign that depend on its logs, made once for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.logs.recording import Recording
from minertia.identification.signals.filtering import resolved
from minertia.identification.signals.options import Evaluation, Filter
from minertia.io.errors import CampaignError

TRIM_S = 0.5  # dropped at each end of a log before it is judged ...
FINER = 10.0  # rate at which efforts are judged over that of the logs, at most
TRIM_PART = 0.05  # ... or this part of a short one


def settled(campaign: Campaign, recordings: Sequence[Recording]) -> Campaign:
    """The campaign with the choices that depend on its logs made once, for all logs.

    The cut-off is the highest that any recording asks for; efforts are judged at the cut-off that the first one asks
    for, whatever the fit uses.
    """
    filter_, evaluation = campaign.filter, campaign.evaluation
    if filter_.cutoff_hz is None:
        filter_ = replace(filter_, cutoff_hz=max(resolved(filter_, r).cutoff_hz or 0.0 for r in recordings))
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
    plan = resolved(Filter(), recording)
    assert plan.cutoff_hz is not None and plan.rate_hz is not None
    return Evaluation(plan.cutoff_hz, plan.rate_hz, min(TRIM_S, TRIM_PART * recording.duration))

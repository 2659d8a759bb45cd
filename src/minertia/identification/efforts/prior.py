"""Prior values of a campaign."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.model import with_efforts
from minertia.identification.model_file import is_model_file, read_model
from minertia.io.errors import CampaignError
from minertia.robot.files import read_robot
from minertia.robot.robot import Robot


def prior_values(campaign: Campaign) -> dict[str, float] | None:
    """Prior values for regularising estimators, by full names of standard parameters."""
    prior = campaign.robot if campaign.prior == "robot" else campaign.prior
    if isinstance(prior, str | Path):
        prior = _read_prior(campaign.robot, Path(prior))
    if isinstance(prior, Robot):
        return dict(zip(prior.columns(True, True), prior.parameter_vector(True, True).tolist(), strict=True))
    return None if prior is None else dict(prior)


def _read_prior(robot: Robot, path: Path) -> Mapping[str, float] | Robot:
    if is_model_file(path):
        return dict(with_efforts(read_model(path), "a prior").standard)
    other = read_robot(path)
    if other.n_joints != robot.n_joints:
        raise CampaignError(f"the prior has {other.n_joints} joints, but the robot has {robot.n_joints}", file=path)
    return other

"""From a campaign to an identification: read, filter, fit, judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.errors import CampaignError
from minertia.identification.campaign import Campaign, LogEntry
from minertia.identification.evaluation import Evaluation, evaluated
from minertia.identification.filtering import Motion, decimated, half_length, prepared
from minertia.identification.identify import Identification, identify
from minertia.identification.model import read_model
from minertia.identification.recording import Recording
from minertia.robot.read import read_robot
from minertia.robot.robot import Robot

Array = NDArray[np.float64]


class Parallel:
    """Both sides of the equation through the filter of their motion."""

    def halo(self, section: Motion) -> int:
        """Samples on either side that a result depends on."""
        return half_length(section.filter, section.rate_hz)

    def __call__(self, section: Motion, columns: Array) -> Array:
        """Filtered columns at the samples that are kept."""
        return decimated(section, columns)[0]


@dataclass(frozen=True)
class Judged:
    """A whole log as it is judged, with what turns joint efforts into its own unit."""

    motion: Motion
    recording: Recording
    evaluation: Evaluation
    rows: tuple[int, ...]

    @property
    def t(self) -> Array:
        """Time [s]."""
        return self.motion.t

    @property
    def q(self) -> Array:
        """Positions."""
        return self.motion.q

    @property
    def qd(self) -> Array:
        """Velocities."""
        return self.motion.qd

    @property
    def qdd(self) -> Array:
        """Accelerations."""
        return self.motion.qdd

    @property
    def tau(self) -> Array:
        """Measured joint efforts, not filtered."""
        return self.motion.tau

    def compared(self, predicted: Array) -> tuple[Array, Array]:
        """Measured and predicted efforts through the evaluation filter."""
        rows, full = list(self.rows), np.array(self.motion.tau)
        full[:, rows] = predicted
        sides = (np.asarray(self.motion.tau), full)
        if self.evaluation.log_unit:
            sides = (self.recording.in_log_unit(sides[0]), self.recording.in_log_unit(sides[1]))
        measured, own = (evaluated(self.motion.t, side[:, rows], self.evaluation) for side in sides)
        return measured, own


def identify_campaign(campaign: Campaign, **changes: Any) -> Identification:
    """Run a campaign; `changes` are options of `identify` that replace the campaign's."""
    robot = campaign.robot
    first = 6 * robot.is_floating
    joints = [j + 1 for j in campaign.joints] or None
    rows = tuple(first + j for j in campaign.joints) or tuple(range(robot.n_velocity))
    train = {e.name: campaign.recording(e) for e in campaign.train}
    motions = [prepared(r, campaign.filter) for r in train.values()]
    evaluation = campaign.evaluation
    options: dict[str, Any] = {
        "effects": campaign.effects,
        "estimator": campaign.estimator,
        "options": campaign.options,
        "fix": campaign.fix,
        "joints": joints,
        "prior": _prior(campaign),
        "names": list(train),
        "validation_names": [e.name for e in campaign.validate],
        "rows": Parallel(),
    }
    if evaluation is None:
        unseen: list[Any] = [prepared(campaign.recording(e), campaign.filter) for e in campaign.validate]
    else:
        unseen = [_judged(campaign, e, evaluation, rows) for e in campaign.validate]
        options["judged_motions"] = [_judged(campaign, e, evaluation, rows) for e in campaign.train]
        options["judge"] = lambda section, predicted: section.compared(predicted)
    return identify(robot, motions, validation=unseen, **(options | changes))


def _judged(campaign: Campaign, entry: LogEntry, evaluation: Evaluation, rows: tuple[int, ...]) -> Judged:
    recording = campaign.recording(entry)
    return Judged(prepared(recording, campaign.filter, edges=True), recording, evaluation, rows)


def _prior(campaign: Campaign) -> Mapping[str, float] | Robot | None:
    """What an estimator with a prior is drawn to."""
    if campaign.prior is None:
        return None
    if campaign.prior == "robot":
        return campaign.robot
    path = Path(campaign.prior)
    if (
        path.suffix.lower() == ".toml"
        and "identified model" in path.read_text(encoding="utf-8", errors="replace")[:200]
    ):
        return dict(read_model(path).standard)
    other = read_robot(path)
    if other.n_joints != campaign.robot.n_joints:
        raise CampaignError(
            f"the prior has {other.n_joints} joints where the robot has {campaign.robot.n_joints}", file=path
        )
    return other

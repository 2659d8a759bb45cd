"""Logs of efforts to rows that are linear in the unknowns.  Nothing is fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.options import SETS
from minertia.identification.campaigns.prepare import (
    PreparedCampaign,
    Tell,
    prepare_campaign,
    refuse_unknown_gains,
)
from minertia.identification.campaigns.prepared import EffortLog
from minertia.identification.problem.diagnosis import ExcitationDiagnosis, excitation
from minertia.identification.problem.ladder import (
    START,
    Ladder,
    candidates,
    climbed,
    decoupled,
    highest_speeds,
    shortened,
    springs,
)
from minertia.identification.problem.linear import LinearModel, linear_model
from minertia.identification.problem.observation import Observation, observe
from minertia.identification.problem.prediction import load_efforts, with_fixed
from minertia.identification.problem.rows import LogMotion, blocks_of, judged_motion
from minertia.identification.problem.solve import best_terms, weighted_solution
from minertia.identification.problem.terms import everywhere
from minertia.io.errors import MinertiaError
from minertia.io.notebook import clipped, plural
from minertia.io.resources import one_thread

Array = NDArray[np.float64]


@dataclass(frozen=True)
class EffortRows:
    """The linear problem of a campaign: logs read, audited, repaired and filtered; rows, names and weights.

    campaign: with every choice that depends on its logs made.  logs, unseen: those fitted, and those only predicted.
    observation: the triangles of all unknowns; free: the same with what is fixed taken to the side of the efforts.
    fixed: unknowns that are known.  excitation: what the motion can tell apart.  ladder: how the effects were chosen,
    None where they were stated.
    """

    campaign: Campaign
    logs: tuple[EffortLog, ...]
    unseen: tuple[EffortLog, ...]
    observation: Observation = field(repr=False)
    free: Observation = field(repr=False)
    fixed: tuple[str, ...]
    excitation: ExcitationDiagnosis = field(repr=False)
    ladder: Ladder | None = None

    @property
    def linear(self) -> LinearModel:
        """The unknowns and their columns."""
        return self.observation.model

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the unknowns."""
        return self.linear.names

    @property
    def known(self) -> dict[str, float]:
        """Values of parameters that are not fitted, by name."""
        return {**self.linear.choice.fixed, **self.campaign.fix}

    def unseen_observation(self) -> Observation | None:
        """The linear problem of the logs that are only predicted, None without any."""
        if not self.unseen:
            return None
        return with_fixed(_observed(self.linear, self.unseen), self.known)[0]

    def in_torques(self, part: Observation) -> Observation | None:
        """The fitted logs with efforts for rows and the unknowns of a part; None where these are its rows."""
        if part.row_names == self.linear.row_names:
            return None
        whole = _observed(self.linear, [log.in_torques() for log in self.logs])
        return whole.reduced(part.keep, part.shift)

    def __repr__(self) -> str:
        e, seen = self.excitation, self.observation
        return (
            f"<{type(self).__name__} of '{clipped(self.campaign.robot.name, 40)}': {plural(seen.samples, 'sample')} of "
            f"{plural(len(seen.row_names), 'joint')} from {plural(len(self.logs), 'log')}, {e.rank} of {e.count} "
            "unknowns excited>"
        )


def build_rows(campaign: Campaign | PreparedCampaign, tell: Tell) -> EffortRows:
    """Read, audit, repair and filter the logs of a campaign, and make the rows of its linear problem."""
    stated = campaign.campaign if isinstance(campaign, PreparedCampaign) else campaign
    stated.robot.require_values("an identification")
    ready = campaign if isinstance(campaign, PreparedCampaign) else prepare_campaign(campaign, tell)
    if not ready.train:
        raise MinertiaError("there is no log to identify from; name at least one")
    ready.campaign.robot.require_values("an identification")
    refuse_unknown_gains(ready.campaign, ready.train)
    ladder = None
    if ready.campaign.effects is None:
        tell("choosing friction")
        ladder = chosen_effects(ready)
        ready = replace(ready, campaign=replace(ready.campaign, effects=ladder.effects))
    tell("making the linear problem")
    with one_thread():
        observation = best_terms(_observed(linear_of(ready.campaign), ready.train))
        return replace(_problem(ready, observation), ladder=ladder)


def linear_of(campaign: Campaign) -> LinearModel:
    """The unknowns of a campaign."""
    usual = (*(everywhere(campaign.robot, word) for word in START), *springs(campaign.robot))
    effects = usual if campaign.effects is None else campaign.effects
    return linear_model(campaign.robot, effects, joints=campaign.joints or None, method=SETS[campaign.parameters])


def chosen_effects(ready: PreparedCampaign) -> Ladder:
    """The effects that pay on folds of the fitted logs that were left out; the other logs are not looked at."""
    campaign = ready.campaign
    names = [log.name for log in ready.train]
    short = [judged_motion(shortened(log)) for log in ready.train]  # friction shows in efforts
    with one_thread():
        model = linear_of(campaign)
        first = observe(model, short, names=names)
        speeds = highest_speeds(first)
        wanted = candidates(campaign.robot, speeds)
        superset = linear_model(
            campaign.robot, wanted, joints=campaign.joints or None, method=SETS[campaign.parameters]
        )
        load = load_efforts(model, _plain_values(first))

        def seen(motions: Sequence[LogMotion], titles: Sequence[str]) -> Observation:
            return with_fixed(observe(superset, motions, names=titles, load=load), campaign.fix)[0]

        apart = decoupled([block for motion in short for block in blocks_of(motion)], campaign.robot)
        return climbed(seen(short, names), speeds, seen([apart], ["decoupled motion"]))


def _plain_values(observation: Observation) -> Array:
    part = observation.reduced(excitation(observation).independent)
    return part.expand(weighted_solution(part)[0])


def _problem(ready: PreparedCampaign, observation: Observation) -> EffortRows:
    free, fixed = with_fixed(observation, {**observation.model.choice.fixed, **ready.campaign.fix})
    found = excitation(free)
    if free.count and found.rank == 0:
        raise MinertiaError("nothing moved in these logs, so nothing can be identified")
    return EffortRows(ready.campaign, ready.train, ready.validate, observation, free, fixed, found)


def _observed(model: LinearModel, logs: Sequence[EffortLog]) -> Observation:
    """One pass, or two where friction depends on the load: first without it, to know the rigid-body torques."""
    names = [log.name for log in logs]
    if not model.choice.needs_load:
        return observe(model, logs, names=names)
    first = observe(model, logs, names=names, load=lambda q, qd, qdd: np.zeros((len(q), model.robot.n_velocity)))
    samples = sum(log.states or 0 for log in logs) or None
    return observe(model, logs, names=names, load=load_efforts(model, _plain_values(first), samples))

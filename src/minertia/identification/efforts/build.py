"""Linear regression equations from logs of efforts, without a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

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
from minertia.identification.efforts.delay import corrected, effort_delay
from minertia.identification.efforts.prior import prior_values
from minertia.identification.loads.gains import DriveGains, sensor_gains
from minertia.identification.logs.options import ColumnMap, Drive
from minertia.identification.logs.recording import SI
from minertia.identification.physical.consistency import prior_groups
from minertia.identification.problem.diagnosis import ExcitationDiagnosis, excitation
from minertia.identification.problem.ladder import (
    EFFECT_TIMES,
    Ladder,
    candidates,
    climbed,
    reach_of,
    shortened,
    usual_effects,
)
from minertia.identification.problem.linear import LinearModel, linear_model
from minertia.identification.problem.marginal import memory_of
from minertia.identification.problem.observation import Observation, observe
from minertia.identification.problem.prediction import load_efforts, with_fixed
from minertia.identification.problem.rows import judged_motion
from minertia.identification.problem.solve import best_terms, excited_fit
from minertia.identification.problem.tried import Tried
from minertia.io.errors import MinertiaError
from minertia.io.notebook import clipped, plural
from minertia.io.resources import one_thread

Array = NDArray[np.float64]
PASSES = 3  # of the correction of a delay


@dataclass(frozen=True)
class EffortRows:
    """Linear problem of a campaign: logs read, audited, repaired and filtered; equations, names and weights.

    campaign: with every choice that depends on its logs made.  logs, unseen: fitted logs, and validation logs.
    observation: the R factors of all unknowns; free: the same with fixed parameters moved to the right-hand side.
    fixed: known parameters.  excitation: which unknowns the motion distinguishes.  ladder: selection of the
    effects, None where they were specified.  gains: drive gains found from force/torque sensors; None where they
    were given or efforts are logged.  tried: all options of filter, delay and effects that were tried.  notes: messages
    on the choice of the delay.
    """

    campaign: Campaign
    logs: tuple[EffortLog, ...]
    unseen: tuple[EffortLog, ...]
    observation: Observation = field(repr=False)
    free: Observation = field(repr=False)
    fixed: tuple[str, ...]
    excitation: ExcitationDiagnosis = field(repr=False)
    ladder: Ladder | None = None
    gains: DriveGains | None = None
    tried: tuple[Tried, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def linear(self) -> LinearModel:
        """Linear model: the unknowns and their regressor columns."""
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
        """Linear problem of the validation logs; None if there are none."""
        if not self.unseen:
            return None
        return with_fixed(_observed(self.linear, self.unseen), self.known)[0]

    def in_torques(self, part: Observation) -> Observation | None:
        """Linear problem of a part's unknowns with effort equations; None if its equations are efforts already."""
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
    """Read, audit, repair and filter the logs of a campaign, and build its linear regression equations."""
    stated = campaign.campaign if isinstance(campaign, PreparedCampaign) else campaign
    stated.robot.require_values("an identification")
    ready = campaign if isinstance(campaign, PreparedCampaign) else prepare_campaign(campaign, tell)
    if not ready.train:
        raise MinertiaError("there is no log to identify from; name at least one")
    ready.campaign.robot.require_values("an identification")
    gains = None
    if stated.sensors and _is_in_currents(ready):
        tell("finding the drive gains from the sensors")
        with one_thread():
            gains = sensor_gains(_observed(linear_of(ready.campaign), ready.train))
        known = replace(ready.campaign.map.drive, gains=tuple(gains.gains.tolist()))
        ready = prepare_campaign(stated.reading(ColumnMap(drive=known)), tell)
    refuse_unknown_gains(ready.campaign, ready.train)
    found = replace(_built(ready, tell), gains=gains)
    is_open = ready is not campaign and _has_open_delay(stated)
    return _without_delay(found, stated.effects, tell) if is_open else found


def _has_open_delay(campaign: Campaign) -> bool:
    """Whether nobody stated the delay of the joint efforts."""
    known = [getattr(log.source, "undelayed", None) for log in campaign.train]
    stated = [*known, campaign.map.drive.delay]
    return not (campaign.sensors or campaign.robot.is_floating) and all(value is None for value in stated)


def with_delay(campaign: Campaign, tell: Tell) -> Campaign:
    """Campaign whose drive has the delay that its fitted logs show, if nobody stated one."""
    if not _has_open_delay(campaign):
        return campaign
    effects = usual_effects(campaign.robot) if campaign.effects is None else campaign.effects
    found = build_rows(replace(campaign, validate=(), effects=effects), tell).campaign
    return campaign.reading(ColumnMap(drive=Drive(delay=found.map.drive.delay)))


def _built(ready: PreparedCampaign, tell: Tell) -> EffortRows:
    """Linear problem of a prepared campaign, with its effects selected if they were not stated."""
    ladder = None
    if ready.campaign.effects is None:
        tell("choosing friction")
        ladder = chosen_effects(ready)
        ready = replace(ready, campaign=replace(ready.campaign, effects=ladder.effects))
    tell("building the linear problem")
    with one_thread():
        observation = best_terms(_observed(linear_of(ready.campaign), ready.train))
        tried = (*ready.tried, *(() if ladder is None else ladder.tried))
        return replace(_problem(ready, observation), ladder=ladder, tried=tried)


def _without_delay(found: EffortRows, effects: Any, tell: Tell) -> EffortRows:
    """Problem whose efforts are read earlier by the delay that the residuals of a fit show; effects: as stated.

    It is found as if efforts changed linearly with it, and effects are chosen anew: what is left is corrected, too.
    """
    filters, first, late = found.tried[: len(found.tried) - _count(found.ladder)], found, None
    for _ in range(PASSES):
        with one_thread():
            more = effort_delay(found.linear, plain_values(found.free), found.logs)
        if more is None:
            break
        late = more if late is None else late
        if more.reason:
            break
        if more is not late:
            late = replace(more, seconds=late.seconds + more.seconds, gain=1 - (1 - late.gain) * (1 - more.gain))
        tell("correcting the delay of the efforts")
        ready = prepare_campaign(corrected(replace(found.campaign, effects=effects), more.seconds), tell)
        found = _built(ready, tell)
    if late is None:
        return found
    tried = (*filters, late.tried, *(() if found.ladder is None else found.ladder.tried))
    return replace(found, tried=tried, notes=() if found is first else (late.sentence,), gains=first.gains)


def _count(ladder: Ladder | None) -> int:
    return 0 if ladder is None else len(ladder.tried)


def _is_in_currents(ready: PreparedCampaign) -> bool:
    """Whether joint efforts are fitted that are logged in another unit than N m, without gains."""
    logged = [log.recording for log in ready.train if log.recording is not None]
    return ready.campaign.rows != "sensors" and any(one.effort_unit != SI for one in logged)


def linear_of(campaign: Campaign) -> LinearModel:
    """Linear model of a campaign."""
    effects = usual_effects(campaign.robot) if campaign.effects is None else campaign.effects
    return linear_model(campaign.robot, effects, joints=campaign.efforts, method=SETS[campaign.parameters])


def chosen_effects(ready: PreparedCampaign) -> Ladder:
    """Selection of effects on the fitted logs; validation logs are not used."""
    campaign = ready.campaign
    names = [log.name for log in ready.train]
    short = [judged_motion(shortened(log)) for log in ready.train]  # friction shows in efforts
    with one_thread():
        model = linear_of(campaign)
        first = observe(model, short, names=names, blocks=1)
        reach = reach_of(first)
        wanted = candidates(campaign.robot, reach, memory=campaign.memory, fixed=campaign.fix)
        superset = linear_model(campaign.robot, wanted, joints=campaign.efforts, method=SETS[campaign.parameters])
        load = load_efforts(model, plain_values(first))
        seen = with_fixed(observe(superset, short, names=names, load=load, blocks=1), campaign.fix)[0]
        groups = prior_groups(seen, prior_values(campaign), campaign.fix)
        return climbed(seen, reach, groups, memory_of(first, EFFECT_TIMES))


def plain_values(observation: Observation) -> Array:
    """Values of all unknowns by weighted least squares, zero where the motion does not excite them."""
    fit = excited_fit(observation)
    return fit.part.expand(fit.beta)


def _problem(ready: PreparedCampaign, observation: Observation) -> EffortRows:
    free, fixed = with_fixed(observation, {**observation.model.choice.fixed, **ready.campaign.fix})
    found = excitation(free)
    if free.count and found.rank == 0:
        raise MinertiaError("no joint moves in these logs, so nothing is identifiable; record motion (minertia excite)")
    return EffortRows(ready.campaign, ready.train, ready.validate, observation, free, fixed, found)


def _observed(model: LinearModel, logs: Sequence[EffortLog]) -> Observation:
    """Observation in one pass, or in two for load-dependent friction: the first yields rigid-body torques."""
    names = [log.name for log in logs]
    if not model.choice.needs_load:
        return observe(model, logs, names=names)
    blank = np.zeros(model.robot.n_velocity)
    first = observe(model, logs, names=names, load=lambda q, qd, qdd: np.tile(blank, (len(q), 1)), blocks=1)
    samples = sum(log.states or 0 for log in logs) or None
    return observe(model, logs, names=names, load=load_efforts(model, plain_values(first), samples))

"""The first step of an identification: a campaign to its linear problem.  Nothing is fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from minertia.errors import MinertiaError
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.prepare import (
    PreparedCampaign,
    PreparedLog,
    Tell,
    prepare_campaign,
    refuse_unknown_gains,
    silent,
)
from minertia.identification.problem.diagnosis import Excitation, excitation
from minertia.identification.problem.linear import LinearModel, linear_model
from minertia.identification.problem.observation import Observation, observe
from minertia.identification.problem.prediction import load_efforts, pinned
from minertia.identification.problem.rows import LogMotion, states
from minertia.identification.problem.scan import best_terms
from minertia.identification.problem.solve import weighted_solution
from minertia.identification.problem.terms import DEFAULT_EFFECTS
from minertia.threads import one_thread

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Problem:
    """The linear problem of a campaign: logs read, audited, repaired and filtered; rows, names and weights.

    campaign: with every choice that depends on its logs made.  logs, unseen: those fitted, and those only predicted.
    observation: the triangles of all unknowns; free: the same with what is fixed taken to the side of the efforts.
    fixed: unknowns that are known.  excitation: what the motion can tell apart.
    """

    campaign: Campaign
    logs: tuple[PreparedLog, ...]
    unseen: tuple[PreparedLog, ...]
    observation: Observation = field(repr=False)
    free: Observation = field(repr=False)
    fixed: tuple[str, ...]
    excitation: Excitation = field(repr=False)

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
        return {**self.linear.choice.pinned, **self.campaign.fix}

    def unseen_observation(self) -> Observation | None:
        """The linear problem of the logs that are only predicted, None without any."""
        if not self.unseen:
            return None
        motions, names = [log.motion for log in self.unseen], [log.name for log in self.unseen]
        return pinned(_observed(self.linear, motions, names), self.known)[0]

    def __repr__(self) -> str:
        e = self.excitation
        return (
            f"<Problem of '{self.campaign.robot.name}': {self.observation.samples} samples of "
            f"{len(self.observation.row_names)} joints from {len(self.logs)} logs, {e.rank} of {e.count} unknowns excited>"
        )


def build_problem(campaign: Campaign | PreparedCampaign, *, tell: Tell = silent) -> Problem:
    """Read, audit, repair and filter the logs of a campaign, and make the rows of its linear problem."""
    ready = campaign if isinstance(campaign, PreparedCampaign) else prepare_campaign(campaign, tell)
    chosen = ready.campaign
    if not ready.train:
        raise MinertiaError("there is no log to identify from; name at least one")
    refuse_unknown_gains(chosen, ready.train)
    tell("making the linear problem")
    effects = DEFAULT_EFFECTS if chosen.effects is None else chosen.effects
    model = linear_model(chosen.robot, effects, joints=chosen.joints or None)
    with one_thread():
        observation = best_terms(
            _observed(model, [log.motion for log in ready.train], [log.name for log in ready.train])
        )
        return _problem(ready, observation, {**observation.model.choice.pinned, **chosen.fix})


def _problem(ready: PreparedCampaign, observation: Observation, known: Mapping[str, float]) -> Problem:
    free, fixed = pinned(observation, known)
    found = excitation(free)
    if free.count and found.rank == 0:
        raise MinertiaError("nothing moved in these logs, so nothing can be identified")
    return Problem(ready.campaign, ready.train, ready.validate, observation, free, fixed, found)


def _observed(model: LinearModel, motions: Sequence[LogMotion], names: Sequence[str]) -> Observation:
    """One pass, or two where friction depends on the load: first without it, to know the rigid-body torques."""
    if not model.choice.needs_load:
        return observe(model, motions, names=names)
    first = observe(model, motions, names=names, load=lambda q, qd, qdd: np.zeros((len(q), model.robot.n_velocity)))
    part = first.reduced(excitation(first).independent)
    beta = part.expand(weighted_solution(part)[0])
    samples = sum(states(m) or 0 for m in motions) or None
    return observe(model, motions, names=names, load=load_efforts(model, beta, samples))


def with_estimator(campaign: Campaign, name: str) -> Campaign:
    """The campaign with another estimator and its usual options."""
    return replace(campaign, estimator=name, options={})

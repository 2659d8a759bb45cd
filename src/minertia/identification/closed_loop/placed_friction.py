"""Position-dependent friction, as of joints driven through linkages, added if the logs support it.

It enters the fitted servo model with value zero at every joint.  It is fitted at a joint if the first
Gauss-Newton step changes it by many standard deviations and removes much of that joint's residual.  It is
retained if held-out data are predicted better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.prepare import Tell
from minertia.identification.closed_loop.build import loop_model
from minertia.identification.closed_loop.fit import output_error, probed
from minertia.identification.closed_loop.found import LoopFit
from minertia.identification.closed_loop.judge import finest_step, left_out
from minertia.identification.closed_loop.logs import LoopLog
from minertia.identification.closed_loop.model import ServoModel
from minertia.identification.evidence import thresholds as at
from minertia.identification.problem.ladder import usual_effects
from minertia.identification.problem.terms import at_joints
from minertia.identification.problem.tried import Tried

Array = NDArray[np.float64]
PLACED = "position_coulomb"
NO_JOINT = (
    f"at no joint the first step of a fit changes it by {at.PLACED_SURE:g} standard deviations and removes "
    f"{100 * at.PLACED_PART:.0f} % of the residual sum of squares"
)
TOO_LITTLE = f"the residual of a held-out part is not reduced by {100 * (1 - at.PLACED_BETTER):.0f} %"


@dataclass(frozen=True)
class PlacedFriction:
    """What was tried; where it is better, the campaign with position-dependent friction at some joints and a note."""

    tried: Tried
    campaign: Campaign | None = None
    note: str = ""


def with_placed_friction(campaign: Campaign, fit: LoopFit, logs: Sequence[LoopLog], tell: Tell) -> PlacedFriction:
    """Position-dependent friction at the joints whose residual asks for it, if it predicts a held-out part better."""
    is_open = campaign.effects is None and campaign.command.method == "output-error" and not fit.model.layout.elastic
    joints = _asked_for(campaign, fit, logs) if is_open else {}
    if not joints:
        return PlacedFriction(Tried("effects", PLACED, float("nan"), False, NO_JOINT))
    changed = _with(campaign, logs, joints)
    model = _model(changed, logs)
    found = output_error(model, logs, _moved(fit, model), steps=fit.steps, tell=tell)
    h = finest_step(found, logs)
    before, after = left_out(fit, logs, h, tell), left_out(found, logs, h, tell)
    names = ", ".join(campaign.robot.coordinate_names[j] for j in joints)
    gain = float("nan") if before is None or after is None else 1 - after.relative / before.relative
    if before is None or after is None or not after.relative < at.PLACED_BETTER * before.relative:
        return PlacedFriction(Tried("effects", f"{PLACED} at {names}", gain, False, TOO_LITTLE))
    told = ", ".join(f"{campaign.robot.coordinate_names[j]} ({100 * part:.0f} %)" for j, part in joints.items())
    note = (
        f"position-dependent friction (position_coulomb) was added at {told} (in parentheses: reduction of the "
        "residual sum of squares there); the relative residual of a held-out part becomes "
        f"{100 * after.relative:.3g} instead of {100 * before.relative:.3g} % (give effects to choose yourself)"
    )
    return PlacedFriction(Tried("effects", f"{PLACED} at {names}", gain, True), changed, note)


def _with(campaign: Campaign, logs: Sequence[LoopLog], joints: Any) -> Campaign:
    """Campaign with position-dependent friction at some joints, relative to the middle of their motion."""
    middle = np.median(np.concatenate([log.q[:, : campaign.robot.n] for log in logs]), axis=0)
    robot = campaign.robot
    more = [at_joints(robot, PLACED, [j], {"middle": round(float(middle[j]), 3)}) for j in joints]
    return replace(campaign, effects=(*usual_effects(robot), *more))


def _model(campaign: Campaign, logs: Sequence[LoopLog]) -> ServoModel:
    return loop_model(campaign, min(log.period for log in logs))


def _moved(fit: LoopFit, model: ServoModel) -> Array:
    """Estimates of a fit, mapped to a model with more unknowns."""
    own = dict(zip(fit.model.names, fit.theta, strict=True))
    return np.array([own.get(name, 0.0) for name in model.names])


def _asked_for(campaign: Campaign, fit: LoopFit, logs: Sequence[LoopLog]) -> dict[int, float]:
    """Joints (from 0) whose first step supports such friction, and the residual fraction that it removes."""
    every = range(campaign.robot.n)
    model = _model(_with(campaign, logs, every), logs)
    masked = [replace(log, pushed=rows) for log, rows in zip(logs, fit.pushed, strict=True)]
    found = probed(model, masked, _moved(fit, model), fit.steps)
    if found is None:
        return {}
    step, deviation, part = found
    places = {j: model.names.index(f"FCQ{j + 1}") for j in every if f"FCQ{j + 1}" in model.names}
    return {
        j: float(part[j])
        for j, k in places.items()
        if abs(step[k]) > at.PLACED_SURE * deviation[k] and part[j] > at.PLACED_PART
    }

"""Selection of the position filter's cut-off that explains the measured efforts best.

Too low a cut-off removes motion; too high a one passes noise that two derivatives amplify.  Their effect on
the efforts depends on the robot: high friction at low speeds needs a high cut-off, light links at high accelerations a
low one.  So the spectrum of the positions gives only the initial value, and short fits refine it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.prepared import EffortLog
from minertia.identification.campaigns.recorded import RecordedLog
from minertia.identification.loads.body import Carried, carried
from minertia.identification.logs.recording import SI
from minertia.identification.problem.ladder import FRACTIONS, candidates
from minertia.identification.problem.linear import LinearModel, linear_model
from minertia.identification.problem.observation import observe
from minertia.identification.problem.prediction import predict, with_fixed
from minertia.identification.problem.rows import motion_reach
from minertia.identification.problem.solve import excited_fit
from minertia.identification.problem.terms import DEFAULT_EFFECTS, Wanted
from minertia.identification.problem.tried import Tried
from minertia.identification.signals.filtering import resolved
from minertia.identification.signals.options import Filter
from minertia.identification.signals.spectrum import CYCLES, HIGHEST
from minertia.io.errors import MinertiaError
from minertia.io.resources import one_thread

STEP = 2**0.5  # ratio of neighbouring cut-offs
STEPS = 6  # in either direction, at most
LOGS, SAMPLES = 4, 20_000  # recordings, and samples of each, that the choice is made on
# effects that hardly depend on the cut-off
LEFT_OUT = ("load_coulomb", "stribeck", "shear_thinning", "cubic", "position_coulomb", "presliding")
WIDTH = 0.03  # of smooth Coulomb friction beside plain one, in parts of the highest speed
OWN_PASS = ("load_coulomb", "stribeck", "presliding")  # effects that need a pass over the data of their own


def fitted_cutoff(campaign: Campaign, logs: Sequence[RecordedLog], shortest: float) -> tuple[float, tuple[Tried, ...]]:
    """Cut-off [Hz] from which no step up or down lowers the residual that is evaluated, and those that were tried.

    campaign: with a cut-off already chosen, which is the initial value.  The residual is that of a weighted fit
    of the same logs; the number of unknowns is the same for all cut-offs, so that a lower residual is not due to
    a larger model.  shortest: duration [s] of the shortest log to be filtered, which must contain ten cycles
    of the cut-off.
    """
    assert campaign.filter.cutoff_hz is not None
    recordings = [log.beginning for log in logs]
    highest = HIGHEST * min(r.rate_hz for r in recordings)
    lowest = min(CYCLES / shortest, highest)
    start = max(campaign.filter.cutoff_hz, lowest)
    if any(r.effort_unit != SI for r in recordings) and campaign.robot.n > 1:
        return start, ()  # efforts without gains do not add up: there is nothing to fit yet
    short = [
        (RecordedLog.of(one.log, one.beginning.select(slice(0, SAMPLES))), carried(campaign.robot, one.log.load))
        for one in logs[:LOGS]
    ]
    with one_thread():
        model = _model(campaign, short)

    def cost(cutoff: float) -> float:
        plan = replace(campaign.filter, cutoff_hz=cutoff)
        return _residual(campaign, model, short, plan)

    with one_thread():
        best, costs = _descended(cost, start, (lowest, highest))
    return best, _tried(best, start, costs)


def _tried(best: float, start: float, costs: Mapping[float, float]) -> tuple[Tried, ...]:
    """Cut-offs that were tried, with their gains over the initial one."""
    found = []
    for cutoff, value in sorted(costs.items()):
        gain = 1 - value / costs[start] if np.isfinite(value) and costs[start] > 0 else float("nan")
        reason = "" if cutoff == best else "not below the selected one"
        found.append(Tried("cut-off", f"{cutoff:.3g} Hz", gain, cutoff == best, reason))
    return tuple(found)


def _descended(
    cost: Callable[[float], float], start: float, limits: tuple[float, float]
) -> tuple[float, dict[float, float]]:
    """Line search in steps, first downwards, then upwards; the initial value if nothing can be fitted there.

    Returns the best value, and the costs of all that were tried.
    """
    best, lowest = start, cost(start)
    costs = {start: lowest}
    if not np.isfinite(lowest):
        return start, costs
    for ratio in (1 / STEP, STEP):
        for _ in range(STEPS):
            following = min(max(best * ratio, limits[0]), limits[1])
            value = lowest if following == best else cost(following)
            costs[following] = value
            if not value < lowest:
                break
            best, lowest = following, value
        if best != start:
            break
    return best, costs


def _model(campaign: Campaign, short: Sequence[tuple[RecordedLog, Carried | None]]) -> LinearModel:
    """Model whose fits are compared; where the effects are open, with smooth friction and springs at each joint."""
    model = linear_model(campaign.robot, _effects(campaign), joints=campaign.efforts)
    if campaign.effects is not None:
        return model
    try:
        reach = motion_reach(campaign.robot, _filtered(campaign, model, short, campaign.filter))
    except MinertiaError:
        return model
    fractions = {**FRACTIONS, "FCT": (WIDTH,)}
    wanted = [e for e in candidates(campaign.robot, reach, fractions) if e.kind not in LEFT_OUT]
    return linear_model(campaign.robot, wanted, joints=campaign.efforts)


def _filtered(
    campaign: Campaign, model: LinearModel, recorded: Sequence[tuple[RecordedLog, Carried | None]], plan: Filter
) -> list[EffortLog]:
    assert campaign.evaluation is not None
    return [
        EffortLog.of(one, resolved(plan, one.beginning), campaign.evaluation, model.rows, load)
        for one, load in recorded
    ]


def _effects(campaign: Campaign) -> list[Wanted]:
    """Effects of the campaign, except those that need a separate pass over the data."""
    effects = DEFAULT_EFFECTS if campaign.effects is None else campaign.effects
    return [e for e in effects if getattr(e, "kind", e) not in OWN_PASS]


def _residual(
    campaign: Campaign,
    model: LinearModel,
    recorded: Sequence[tuple[RecordedLog, Carried | None]],
    plan: Filter,
) -> float:
    """Geometric mean of two relative residuals of a weighted fit with this filter: of all efforts, and of each.

    It is infinite if it cannot be fitted.
    """
    try:
        logs = _filtered(campaign, model, recorded, plan)
        known = {**model.choice.fixed, **campaign.fix}
        problem = with_fixed(observe(model, logs, blocks=1), known)[0]
    except MinertiaError:
        return float("inf")
    fit = excited_fit(problem)
    beta = fit.part.expand(fit.beta)
    rest, effort = np.zeros((2, len(model.rows)))
    for log in logs:
        for block in log.judged:
            measured, predicted = log.compared(block, predict(model, beta, block))
            rest += np.sum((measured - predicted) ** 2, axis=0)
            effort += np.sum(measured**2, axis=0)
    moved = (effort > 0) & (rest > 0)
    if not moved.any():
        return float("inf")
    each = np.mean(np.log(rest[moved] / effort[moved]))
    return float(np.exp(0.25 * (each + np.log(rest.sum() / effort.sum()))))

"""Estimation of the unknowns from commands, with the model changes that a first fit suggests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.options import SAME
from minertia.identification.campaigns.prepare import Tell
from minertia.identification.closed_loop.build import loop_model
from minertia.identification.closed_loop.elasticity import elasticity_notes
from minertia.identification.closed_loop.fit import output_error
from minertia.identification.closed_loop.found import LoopFit
from minertia.identification.closed_loop.judge import loose_gains
from minertia.identification.closed_loop.law import didim, law_fit
from minertia.identification.closed_loop.logs import LoopLog
from minertia.identification.closed_loop.model import ServoModel
from minertia.identification.closed_loop.placed_friction import with_placed_friction
from minertia.identification.estimators import table_name
from minertia.identification.estimators.estimate import Estimate
from minertia.identification.estimators.estimator import Estimator
from minertia.identification.problem.linear import symbol_of
from minertia.identification.problem.solve import inverse
from minertia.io.errors import CampaignError, MinertiaError, UnknownName
from minertia.io.schema import UNKNOWN
from minertia.io.steps import WorkStep, within

Array = NDArray[np.float64]
FITTED = 0.8  # part of the work: of about five minimisations of a campaign, the last belongs to the evidence
NOTE = "the logs hold commands and no efforts: fitted through the joints' position loops"


@dataclass(frozen=True, repr=False)
class ServoEstimate(Estimate):
    """Estimate from commands: the fit of the position servos, and the campaign with the choices it led to."""

    servo: LoopFit = field(kw_only=True)
    campaign: Campaign = field(kw_only=True)


E = TypeVar("E", bound=ServoEstimate)


def solve_commands(
    campaign: Campaign, servos: ServoModel, logs: list[LoopLog], method: str, tell: Tell
) -> ServoEstimate:
    """Fit the position servos, adapt the choices that the logs do not determine, and search for missing effects."""
    period = min(log.period for log in logs)
    ahead, notes = within(tell, 0.0, FITTED), []
    fit = fitted(servos, logs, method, ahead)
    for change in (_with_same_gains, _without_offsets):
        changed = change(campaign, fit)
        if changed is not None:
            campaign, note = changed
            fit = fitted(loop_model(campaign, period), logs, method, ahead)
            notes.append(note)
    tell(WorkStep("searching for position-dependent friction", FITTED))
    placed = with_placed_friction(campaign, fit, logs, within(tell, FITTED, FITTED))
    if placed is not None:
        campaign, fit, note = placed
        notes.append(note)
    tell(WorkStep("searching for elastic joints", FITTED))
    fit = replace(fit, notes=(*notes, *fit.notes, *elasticity_notes(campaign, fit, logs)))
    return servo_estimate(ServoEstimate, fit, campaign, method)


def asked_method(campaign: Campaign, estimator: str | Estimator | None) -> str:
    """Name of the requested method; raises an error for an effort estimator, which would have no effect."""
    asked = campaign.estimator if estimator is None else estimator
    if isinstance(asked, str) and asked in ("output-error", *METHODS):
        return asked
    if not isinstance(asked, str) or table_name(asked) not in ("auto", "wls"):
        word = f"'{asked}'" if isinstance(asked, str) else type(asked).__name__
        raise CampaignError(
            f'the estimator {word} does not fit commands; set method in [command], and links = "physical" in '
            "[model] for physically consistent links"
        )
    return campaign.command.method


def _with_same_gains(campaign: Campaign, fit: LoopFit) -> tuple[Campaign, str] | None:
    """Campaign with one common kp if the scale of some gains is not determined, and the reason; else None."""
    loose = loose_gains(fit)
    if not loose or any(value != UNKNOWN for value in campaign.command.each("kp", campaign.robot.n)):
        return None
    return replace(campaign, command=replace(campaign.command, kp=SAME)), (
        f"the scale of {', '.join(loose)} was not identifiable alone (standard deviation above 30 %): the servos "
        "were assumed to be equal, with one kp"
    )


def _without_offsets(campaign: Campaign, fit: LoopFit) -> tuple[Campaign, str] | None:
    """Campaign without offsets if they are confounded with the weights that scale kp, and the reason; else None."""
    loose = loose_gains(fit)
    offsets = [name for name in fit.model.names if symbol_of(name) == "OFF"]
    if not loose or not offsets or not fit.model.keeps_links:
        return None
    return replace(campaign, fix={**campaign.fix, **dict.fromkeys(offsets, 0.0)}), (
        f"the scale of {', '.join(loose)} was not distinguishable from offsets (standard deviation above 30 %), "
        "which act like weights here: offsets were assumed to be zero, as for servos whose commands and encoders "
        "have the same zeros"
    )


METHODS: dict[str, Callable[[ServoModel, list[LoopLog]], np.ndarray | None]] = {"law": law_fit, "didim": didim}


def fitted(model: ServoModel, logs: list[LoopLog], method: str, tell: Tell) -> LoopFit:
    """Fit by the given method; standard deviations and residuals always refer to the simulated positions."""
    if method == "output-error":
        return output_error(model, logs, tell=tell)
    if method not in METHODS:
        raise UnknownName("method without efforts", method, ("output-error", *METHODS))
    theta = METHODS[method](model, logs)
    if theta is None:
        raise MinertiaError("the control law cannot be fitted to the efforts: no joint moves in these logs")
    return output_error(model, logs, theta, iterate=False, tell=tell)


def servo_estimate(made: Callable[..., E], fit: LoopFit, campaign: Campaign, method: str, **further: Any) -> E:
    """Estimate of a fit; made: its class, with its further fields."""
    own = [k for k in fit.kept if k < fit.model.count]
    R = fit.part.triangle(fit.sigma)[:-1, :-1]
    A = R[:, : len(own)]
    scaled = A / np.linalg.norm(A, axis=0)
    white = inverse(R)
    covariance = np.zeros((fit.model.count, fit.model.count))
    covariance[np.ix_(own, own)] = (white @ white.T)[: len(own), : len(own)]
    return made(
        names=fit.model.names,
        classes=tuple("combination" if "+" in name else "alone" for name in fit.model.names),
        beta=fit.theta,
        covariance=covariance,
        sigma=fit.sigma,
        estimator=method,
        rank=len(own),
        condition=float(np.linalg.cond(A)),
        scaled_condition=float(np.linalg.cond(scaled)),
        not_excited=fit.hidden,
        notes=(NOTE,),
        part=fit.part,
        servo=fit,
        campaign=campaign,
        **further,
    )

"""Estimation of the unknowns from commands, with the model changes that a first fit suggests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.prepare import Tell
from minertia.identification.closed_loop.elasticity import elasticity_notes
from minertia.identification.closed_loop.fit import coarse_steps, output_error
from minertia.identification.closed_loop.found import LoopFit
from minertia.identification.closed_loop.judge import loose_gains
from minertia.identification.closed_loop.law import didim, law_fit
from minertia.identification.closed_loop.logs import LoopLog
from minertia.identification.closed_loop.model import ServoModel
from minertia.identification.closed_loop.search import (
    PROBED,
    ChosenCommands,
    chosen,
    is_open,
    shortened,
    with_scale,
)
from minertia.identification.estimators import table_name
from minertia.identification.estimators.estimate import Estimate
from minertia.identification.estimators.estimator import Estimator
from minertia.identification.problem.solve import inverse
from minertia.io.errors import CampaignError, MinertiaError, UnknownName
from minertia.io.steps import WorkStep, within

Array = NDArray[np.float64]
SEARCHED_PART = 0.3  # part of the work: choices, on part of the logs
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
    made, ahead = ChosenCommands(campaign, servos), within(tell, 0.0, FITTED)
    if method == "output-error" and is_open(campaign, servos):
        made = chosen(campaign, servos, logs, within(tell, 0.0, SEARCHED_PART))
        ahead = within(tell, SEARCHED_PART, FITTED)
    made, fit = _changed(made, logs, method, ahead)
    tell(WorkStep("searching for elastic joints", FITTED))
    short = shortened(logs, PROBED)
    notes = (*made.notes, *fit.notes, *elasticity_notes(made.campaign, replace(fit, steps=coarse_steps(short)), short))
    return servo_estimate(ServoEstimate, replace(fit, notes=notes), made.campaign, method, tried=made.tried)


def _changed(made: ChosenCommands, logs: list[LoopLog], method: str, tell: Tell) -> tuple[ChosenCommands, LoopFit]:
    """Fit, and again with the changes of gains and offsets that the fit asks for."""
    fit = fitted(made, logs, method, tell)
    loose = loose_gains(fit)
    again = with_scale(made, logs, fit.theta, loose, tell) if loose else made
    return (made, fit) if again is made else (again, fitted(again, logs, method, tell))


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


METHODS: dict[str, Callable[[ServoModel, list[LoopLog]], np.ndarray | None]] = {"law": law_fit, "didim": didim}


def fitted(made: ChosenCommands, logs: list[LoopLog], method: str, tell: Tell) -> LoopFit:
    """Fit by the given method; standard deviations and residuals always refer to the simulated positions."""
    if method == "output-error":
        return output_error(made.model, logs, made.start, tell=tell)
    if method not in METHODS:
        raise UnknownName("method without efforts", method, ("output-error", *METHODS))
    theta = METHODS[method](made.model, logs)
    if theta is None:
        raise MinertiaError("the control law cannot be fitted to the efforts: no joint moves in these logs")
    return output_error(made.model, logs, theta, iterate=False, tell=tell)


def servo_estimate(made: Callable[..., E], fit: LoopFit, campaign: Campaign, method: str, **further: Any) -> E:
    """Estimate of a fit; made: its class, with its further fields."""
    own = [k for k in fit.kept if k < fit.model.count]
    R = fit.R[:-1, :-1]
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

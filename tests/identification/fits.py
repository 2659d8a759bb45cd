"""Short ways to a fit: the usual four effects and weighted least squares unless told otherwise."""

from __future__ import annotations

from typing import Any

from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.prepared import EffortLog
from minertia.identification.efforts.judge import residuals_on
from minertia.identification.estimators.estimate import Estimate
from minertia.identification.identify import Identification, Problem, build_problem, identify, solve

USUAL = ("rotor", "viscous", "coulomb", "offset")


def campaign(robot: Any, logs: Any, validate: Any = (), **choices: Any) -> Campaign:
    """A campaign with the usual effects and weighted least squares."""
    return Campaign(robot, logs, validate, **{"effects": USUAL, "estimator": "wls", **choices})


def fitted(robot: Any, logs: Any, validate: Any = (), **choices: Any) -> Identification:
    """The identification of such a campaign."""
    return identify(campaign(robot, logs, validate, **choices))


def estimated(robot: Any, logs: Any, validate: Any = (), **choices: Any) -> tuple[Problem, Estimate]:
    """The values of such a campaign alone, in a third of the time that they take with their evidence."""
    problem = build_problem(campaign(robot, logs, validate, **choices))
    return problem, solve(problem)


def unseen_part(problem: Problem, estimate: Estimate) -> float:
    """Part of the efforts of the only unseen log that values leave, as it is judged."""
    (log,) = problem.unseen
    return part_left(problem, estimate, log)


def part_left(problem: Problem, estimate: Estimate, log: EffortLog) -> float:
    """Part of the efforts of a log that values leave, as it is judged."""
    return residuals_on(problem.linear, estimate.beta, log)[0].relative

"""`identify`: from logs to a model with evidence, in three steps: build the problem, solve it, evaluate the estimate.

The kind of the problem (`kinds`) implements each step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from minertia.identification.campaigns.campaign import Campaign, LogLike
from minertia.identification.campaigns.prepare import PreparedCampaign, Tell, silent
from minertia.identification.estimators.estimate import Estimate, EstimateSet
from minertia.identification.estimators.estimator import Estimator
from minertia.identification.evidence.verdict import verdict
from minertia.identification.kind import Problem
from minertia.identification.kinds import kind_of
from minertia.identification.problem.terms import Wanted
from minertia.identification.result import Identification
from minertia.io.arrays import Array
from minertia.io.errors import InputError, expected
from minertia.io.resources import one_thread
from minertia.robot.robot import Robot

__all__ = ["Identification", "Problem", "build_problem", "identify", "judge", "solve", "solve_many"]


def build_problem(campaign: Campaign | PreparedCampaign, *, tell: Tell = silent) -> Problem:
    """Read, audit and repair the logs of a campaign, and determine its unknowns, without a fit.

    Logs of efforts give equations that are linear in the unknowns; logs of commands without efforts are simulated.
    """
    if not isinstance(campaign, PreparedCampaign):
        expected(campaign, Campaign, "the campaign", "read_campaign")
    return kind_of(campaign).build(campaign, tell)


def solve(problem: Problem, estimator: str | Estimator | None = None, *, tell: Tell = silent) -> Estimate:
    """Fit the unknowns of a problem with the campaign's estimator, or another one by name or as an object."""
    expected(problem, Problem, "the problem", "build_problem")
    return problem.solve(estimator, tell)


def solve_many(problem: Problem, efforts: Array | Sequence[Array], estimator: str = "wls") -> EstimateSet:
    """Fit the unknowns to each of K sets of efforts on the motion of the problem's log, for Monte Carlo studies.

    efforts: (K, N, n) [N m or N] at the samples of `problem.logs[0].recording`; for several logs one array each.  They
    are filtered as the logged ones, and the result is that of K calls of `solve` with the same filter and effects; the
    regressor is computed once.  estimator: "wls" or "ols".
    """
    expected(problem, Problem, "the problem", "build_problem")
    return problem.solve_many(efforts, estimator)


def judge(problem: Problem, estimate: Estimate, *, tell: Tell = silent) -> Identification:
    """Evaluate an estimate: residuals, parameter uncertainty, and the verdict.  tell: progress callback."""
    expected(problem, Problem, "the problem", "build_problem")
    expected(estimate, Estimate, "the estimate", "solve")
    settled = problem.settled(estimate)
    if estimate.names != settled.names:
        raise InputError(
            "the estimate has the unknowns of another problem; give the estimate that solve returned for this problem"
        )
    with one_thread():
        evidence = settled.evidence(estimate, tell)
    return Identification(settled, estimate, evidence, verdict(evidence))


def identify(
    robot: Robot | str | Path | Campaign | PreparedCampaign,
    logs: LogLike | Sequence[LogLike] = (),
    *,
    validate: LogLike | Sequence[LogLike] = (),
    effects: str | Sequence[Wanted] | None = None,
    estimator: str | Estimator | None = None,
    fix: Mapping[str, float] | None = None,
    joints: Sequence[str | int] | None = None,
    tell: Tell = silent,
) -> Identification:
    """Identify a robot from its logs: paths, recordings or motions; or run a `Campaign` with all options.

    validate: validation logs.  effects: effects to fit in addition to link inertia (None: those of the
    campaign, else selected by the marginal likelihood).  Logs of commands (`q_cmd1`) without efforts are fitted
    through a model of the position servos (`Campaign.command`).  estimator: its name, or an object.  fix:
    parameters whose values are known, by full name.  joints: joints whose efforts are used, by name or number
    from 1.  tell: progress callback. `minertia identify` calls this function.
    """
    given: dict[str, Any] = {"effects": effects, "estimator": estimator, "fix": fix, "joints": joints}
    stated = {key: value for key, value in given.items() if value is not None}
    problem = build_problem(_campaign(robot, logs, validate, stated), tell=tell)
    tell("fitting")
    estimate = solve(problem, tell=tell)
    tell("judging")
    return judge(problem, estimate, tell=tell)


def _campaign(robot: Any, logs: Any, validate: Any, stated: dict[str, Any]) -> Campaign | PreparedCampaign:
    if isinstance(robot, PreparedCampaign) and not stated and not _is_given(logs) and not _is_given(validate):
        return robot
    if not isinstance(robot, Campaign):
        return Campaign(robot, logs, validate, **stated)
    if _is_given(logs):
        raise InputError(
            "the campaign already names the robot and the logs; give either a campaign, or a robot and logs"
        )
    if "estimator" in stated:
        stated["options"] = {}
    return replace(robot, **stated, **({"validate": validate} if _is_given(validate) else {}))


def _is_given(logs: Any) -> bool:
    return not (isinstance(logs, Sequence) and not isinstance(logs, str) and len(logs) == 0)

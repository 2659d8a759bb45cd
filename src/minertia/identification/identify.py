"""`identify`: logs in, a model with its evidence out.  Three steps: build the problem, solve it, judge the estimate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from minertia.errors import InputError
from minertia.identification.build import Problem, build_problem
from minertia.identification.campaigns.campaign import Campaign, LogLike
from minertia.identification.campaigns.prepare import PreparedCampaign, Tell, silent
from minertia.identification.closed_loop.identify import identify_commands, is_commanded
from minertia.identification.commanded import loop_identification
from minertia.identification.estimators.estimator import Estimator
from minertia.identification.judge import judge
from minertia.identification.problem.terms import Wanted
from minertia.identification.result import Identification
from minertia.identification.solve import solve
from minertia.robot.robot import Robot

__all__ = ["Identification", "Problem", "build_problem", "identify", "judge", "solve"]


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
    """Identify a robot from its logs: paths, recordings or motions; or run a `Campaign`, which has every choice.

    validate: logs that are only predicted.  effects: besides the links' inertia (None: the campaign's, else chosen).
    Logs of commands (`q_cmd1`) without efforts are fitted through the joints' position loops (`Campaign.command`).
    estimator: by name, or an object.  fix: parameters whose values are known, by full name.  joints: those whose
    efforts are used, by name or number from 1.  tell: told what is being done.  `minertia identify` runs this.
    """
    given: dict[str, Any] = {"effects": effects, "estimator": estimator, "fix": fix, "joints": joints}
    stated = {key: value for key, value in given.items() if value is not None}
    asked = _campaign(robot, logs, validate, stated)
    if isinstance(asked, Campaign) and is_commanded(asked):
        tell("the logs hold commands and no efforts: fitting through the joints' position loops")
        return loop_identification(identify_commands(asked, tell))
    problem = build_problem(asked, tell=tell)
    tell("fitting")
    estimate = solve(problem)
    tell("judging")
    return judge(problem, estimate)


def _campaign(robot: Any, logs: Any, validate: Any, stated: dict[str, Any]) -> Campaign | PreparedCampaign:
    if isinstance(robot, PreparedCampaign) and not stated and not _is_given(logs) and not _is_given(validate):
        return robot
    if not isinstance(robot, Campaign):
        return Campaign(robot, logs, validate, **stated)
    if _is_given(logs):
        raise InputError("the campaign names its logs; give either a campaign, or a robot and logs")
    if "estimator" in stated:
        stated["options"] = {}
    return replace(robot, **stated, **({"validate": validate} if _is_given(validate) else {}))


def _is_given(logs: Any) -> bool:
    return not (isinstance(logs, Sequence) and not isinstance(logs, str) and len(logs) == 0)

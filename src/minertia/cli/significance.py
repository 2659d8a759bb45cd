"""`minertia significance`: which values matter, and how few predict as well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from minertia.cli.campaigns import (
    CampaignFile,
    Choices,
    Columns,
    Cutoff,
    Data,
    DropTorn,
    Effects,
    Fix,
    Joints,
    Rate,
    RobotAndLogs,
    Validate,
    asked_campaign,
    say_findings,
)
from minertia.cli.options import AsJson, Gravity
from minertia.cli.progress import progress
from minertia.cli.terminal import say, say_json, say_table

if TYPE_CHECKING:
    from minertia.identification.significance import Significance

FORMAT = 1


def significance(
    robot_and_logs: RobotAndLogs = None,
    campaign: CampaignFile = None,
    data: Data = None,
    columns: Columns = None,
    validate: Validate = None,
    effects: Effects = None,
    fix: Fix = None,
    joints: Joints = None,
    gravity: Gravity = None,
    cutoff: Cutoff = None,
    rate: Rate = None,
    drop_torn: DropTorn = False,
    share: Annotated[
        float, typer.Option("--share", metavar="PERCENT", min=0.0, max=100.0, help="Of the rule of contributions.")
    ] = 1.0,
    as_json: AsJson = False,
) -> None:
    """Find which parameters matter: the 1 % rule, and backward elimination by relative deviation with an F test.

    The values that stay are fitted again; the curve gives the error on motion that was not fitted against their number.
    """
    from minertia.identification.run import observe_campaign, prepare_campaign
    from minertia.identification.significance import eliminate, one_percent

    choices = Choices(
        validate=validate, effects=effects, fix=fix, joints=joints, gravity=gravity, cutoff=cutoff, rate=rate,
        columns=columns, drop_torn=drop_torn,
    )  # fmt: skip
    asked = asked_campaign(robot_and_logs, campaign, data, choices)
    with progress(2 * (len(asked.train) + len(asked.validate)) + 3) as tell:
        ready = prepare_campaign(asked, tell)
        problem, unseen = observe_campaign(ready, tell=tell)
        tell("rule of contributions")
        rule = one_percent(problem, share / 100)
        tell("backward elimination")
        path = eliminate(problem, unseen=unseen)
    say_findings((*ready.train, *ready.validate))
    if as_json:
        data_ = {"format": FORMAT, "robot": asked.robot.name}
        say_json({**data_, "one_percent": rule.to_dict(), "elimination": path.to_dict()})
        return
    say(f"{asked.robot.name}: {len(rule.names)} parameters that these logs excite")
    for found in (rule, path):
        _say(found)


def _say(found: Significance) -> None:
    from minertia.report.identification_tables import curve_table, essential_table, percent

    say()
    say(f"{found.rule}: {len(found.essential)} stay")
    say(
        f"condition number {found.condition_before:.3g} before, {found.condition_after:.3g} after; "
        f"residual over effort {percent(found.residual_before)} before, {percent(found.residual_after)} after"
    )
    say_table(essential_table(found))
    if found.curve:
        say_table(curve_table(found), "error against number of values")

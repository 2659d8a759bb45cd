"""`minertia significance`: essential parameters, and the prediction error with fewer of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from minertia.cli.campaigns import ESTIMATION, campaign_command, say_findings
from minertia.cli.options import AsJson, Force
from minertia.cli.pages import Html, Pdf, check_pages, write_pages
from minertia.cli.progress import progress
from minertia.cli.terminal import say, say_json, say_table

if TYPE_CHECKING:
    from minertia.identification.campaigns.campaign import Campaign
    from minertia.identification.evidence.significance import Significance


@campaign_command(*ESTIMATION)
def significance(
    asked: Campaign,
    share: Annotated[
        float,
        typer.Option(
            "--share", metavar="PERCENT", min=0.0, max=100.0, help="Threshold of the contribution rule, as a fraction."
        ),
    ] = 1.0,
    html: Html = None,
    pdf: Pdf = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Find the essential parameters: the 1 % contribution rule, and backward elimination with an F test.

    The retained parameters are refitted; the curve shows the validation error against their number.
    """
    from minertia.identification.identify import build_problem
    from minertia.identification.significance import significance as significant

    check_pages(html, pdf, force=force)
    with progress(2 * (len(asked.train) + len(asked.validate)) + 4) as tell:
        problem = build_problem(asked, tell=tell)
        found = significant(problem, share=share / 100, tell=tell)
    if html or pdf:
        from minertia.report.pages import significance_page

        write_pages(significance_page(found, problem), html, pdf, force=force)
    say_findings((*problem.logs, *problem.unseen))
    if as_json:
        say_json(found.to_dict())
        return
    say(f"{found.robot}: {len(found.one_percent.names)} parameters excited in these logs")
    for each in (found.one_percent, found.elimination):
        _say(each)


def _say(found: Significance) -> None:
    from minertia.report.identification_tables import curve_table, essential_table, percent

    say()
    say(f"{found.rule}: {len(found.essential)} retained")
    say(
        f"condition number {found.condition_before:.3g} before, {found.condition_after:.3g} after; "
        f"residual over effort {percent(found.residual_before)} before, {percent(found.residual_after)} after"
    )
    say_table(essential_table(found))
    if found.curve:
        say_table(curve_table(found), "error over the number of parameters")

"""`minertia score`: evaluate a model that anybody made on a set of logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from minertia.cli.campaigns import Data
from minertia.cli.options import AsJson
from minertia.cli.progress import progress
from minertia.cli.terminal import say, say_json, say_table

if TYPE_CHECKING:
    from minertia.identification.score import Score


def score(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A model.toml, a robot with masses and friction (URDF, MJCF ...), or a table of predicted joint "
            "efforts (t, tau1 ...); for several logs a folder of tables, named like the logs.",
            show_default=False,
        ),
    ],
    on: Annotated[
        str,
        typer.Option(
            "--on", metavar="SET", help="Campaign file, or the name of one in examples/logs.", show_default=False
        ),
    ],
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate a model that anybody made on the validation logs of a campaign, as identify evaluates its own."""
    from minertia.identification.score import score_model

    with progress(4) as tell:
        found = score_model(model, on, data=data, tell=tell)
    if as_json:
        say_json(found.to_dict())
    else:
        _say(found)


def _say(found: Score) -> None:
    from minertia.report.identification_tables import residual_table, unique

    say(f"{found.entry} on {found.campaign}: residual over effort; nothing was fitted")
    rows = {} if found.training is None else {"training": found.training}
    for r in found.validation:
        rows[unique(rows, r.log)] = r
    for name, theirs in found.references.items():
        for r in theirs:
            rows[unique(rows, f"{name}, {r.log}")] = r
    say_table(residual_table(rows, "joint"))
    for sentence in found.sentences():
        say(f"- {sentence}")

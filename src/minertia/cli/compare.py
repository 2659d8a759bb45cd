"""`minertia compare`: two identified models side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from minertia.cli.options import AsJson, Force
from minertia.cli.pages import Html, Pdf, check_pages, write_pages
from minertia.cli.terminal import say, say_json, say_table

if TYPE_CHECKING:
    from minertia.identification.comparison import ModelComparison

First = Annotated[
    Path,
    typer.Argument(metavar="FIRST", help="Model file (model.toml of identify), or its folder.", show_default=False),
]
Second = Annotated[Path, typer.Argument(metavar="SECOND", help="Second model of the same robot.", show_default=False)]


def compare(
    first: First,
    second: Second,
    every: Annotated[bool, typer.Option("--all", help="Also list the values that agree.")] = False,
    html: Html = None,
    pdf: Pdf = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Compare two identified models of one robot: parameter differences, residuals and settings."""
    from minertia.identification.comparison import compare_models
    from minertia.identification.model_file import read_model

    check_pages(html, pdf, force=force)
    one, two = (read_model(path) for path in (first, second))
    found = compare_models(one, two, (str(first), str(second)))
    if html or pdf:
        from minertia.report.pages import comparison_page

        write_pages(comparison_page(found), html, pdf, force=force)
    if as_json:
        say_json(found.to_dict())
    else:
        _say(found, every)


def _say(found: ModelComparison, every: bool) -> None:
    from minertia.report.tables import Table

    say(f"{found.first.nominal.name}: {found.titles[0]} and {found.titles[1]}")
    rows = tuple(
        (v.name, *_side(v.first), *_side(v.second), "" if v.apart is None else f"{v.apart:.2g}")
        for v in (found.values if every else found.apart)
    )
    head = ("parameter", "first", "deviation", "second", "deviation", "apart")
    for sentence in found.sentences():
        say(sentence)
    if rows:
        say_table(Table(head, rows, right=(1, 2, 3, 4, 5)))
    for title, model in zip(found.titles, (found.first, found.second), strict=True):
        say(f"{title}: {_residuals(model.evidence)}")
    if found.settings:
        say_table(Table(("set differently", "first", "second"), tuple((k, *v) for k, v in found.settings.items())))


def _side(side: Any) -> tuple[str, str]:
    return ("", "") if side is None else (f"{side['value']:.5g}", f"{side['deviation']:.2g}")


def _residuals(evidence: Any) -> str:
    from minertia.report.identification_tables import percent

    unseen = [percent(float(r["relative"])) for r in evidence.get("validation") or ()]
    told = f", {', '.join(unseen)} on validation logs" if unseen else ""
    training = evidence.get("training")
    return (
        "no residuals recorded"
        if training is None
        else (f"residual {percent(training['relative'])} on training logs{told}")
    )

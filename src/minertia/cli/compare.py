"""`minertia compare`: two identified models side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from minertia.cli.campaigns import Columns, map_for
from minertia.cli.options import AsJson, Force
from minertia.cli.pages import Html, Pdf, check_pages, write_pages
from minertia.cli.progress import progress
from minertia.cli.terminal import say, say_json, say_table
from minertia.identification.logs.options import ColumnMap

if TYPE_CHECKING:
    from minertia.identification.comparison import ModelComparison
    from minertia.identification.kind import PredictedLog
    from minertia.identification.model import Model

First = Annotated[
    Path,
    typer.Argument(metavar="FIRST", help="Model file (model.toml of identify), or its folder.", show_default=False),
]
Second = Annotated[Path, typer.Argument(metavar="SECOND", help="Second model of the same robot.", show_default=False)]
Logs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="LOG...", help="Logs that both models predict: residuals, and curves on the page.", show_default=False
    ),
]


def compare(
    first: First,
    second: Second,
    reading: ColumnMap,
    logs: Logs = None,
    columns: Columns = None,
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
    predicted = _predicted((one, two), logs or [], columns, reading)
    if html or pdf:
        from minertia.report.pages import comparison_page

        write_pages(comparison_page(found, predicted), html, pdf, force=force)
    if as_json:
        say_json(found.to_dict() | {"predicted": [[log.residuals.to_dict() for log in own] for own in predicted]})
    else:
        _say(found, predicted, every)


def _predicted(
    models: tuple[Model, Model], logs: list[str], columns: Path | None, reading: ColumnMap
) -> list[tuple[PredictedLog, ...]]:
    """Logs as each of the models predicts them."""
    from minertia.identification.validate import predict_logs

    with progress(4 * len(logs)) as tell:
        return [predict_logs(own, logs, columns=map_for(own, columns, reading), tell=tell) for own in models if logs]


def _say(found: ModelComparison, predicted: list[tuple[PredictedLog, ...]], every: bool) -> None:
    from minertia.report.identification_tables import percent
    from minertia.report.tables import Table

    say(f"{found.first.nominal.name}: {found.titles[0]} and {found.titles[1]}")
    rows = tuple(
        (v.name, *_side(v.first), *_side(v.second), "" if v.apart is None else f"{v.apart:.2g}")
        for v in (found.values if every else found.apart)
    )
    head = ("parameter", "first", "deviation", "second", "deviation", "apart")
    for title, model in zip(found.titles, (found.first, found.second), strict=True):
        say(f"{title}: {_residuals(model.evidence)}")
    if predicted:
        pairs = zip(*predicted, strict=True)
        told = tuple((logs[0].name, *(percent(log.residuals.relative) for log in logs)) for logs in pairs)
        say_table(Table(("residual, predicted", "first", "second"), told, right=(1, 2)))
    for sentence in found.sentences():
        say(sentence)
    if rows:
        say_table(Table(head, rows, right=(1, 2, 3, 4, 5)))
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

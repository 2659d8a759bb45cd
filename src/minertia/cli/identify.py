"""`minertia identify` and `minertia validate`: identify a model from logs, and validate it on others."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from minertia.cli.campaigns import Columns, campaign_command, map_for, say_findings
from minertia.cli.logs import is_log
from minertia.cli.options import AsJson, Force
from minertia.cli.pages import Html, Pdf, check_pages, print_page, write_pages
from minertia.cli.progress import progress
from minertia.cli.sample import validated_as_samples
from minertia.cli.terminal import diagnose, say, say_changed_geometry, say_json, say_notes, say_table
from minertia.identification.logs.options import ColumnMap
from minertia.io.documents import json_document
from minertia.io.errors import InputError
from minertia.robot.options import ExportOptions
from minertia.simulation.options import ValidationOptions

if TYPE_CHECKING:
    from minertia.identification.campaigns.campaign import Campaign
    from minertia.identification.evidence.residuals import Residuals
    from minertia.identification.identify import Identification
    from minertia.identification.model import Model
    from minertia.robot.robot import Note

FORMAT = 1


@campaign_command()
def identify(
    asked: Campaign,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Folder for model.toml, report.html, result.json, the robot file with the new parameters, and "
            "for a URDF also an MJCF.",
            show_default=False,
        ),
    ] = None,
    exports: ExportOptions = ExportOptions(),
    pdf: Pdf = None,
    force: Force = False,
    as_json: AsJson = False,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Print every option that automatic choices tried, its gain, and the reason."),
    ] = False,
) -> None:
    """Identify a robot's dynamic parameters from measured logs, with confidence intervals and a verdict.

    A log needs time, positions and efforts of every joint; velocities are optional.  Without efforts, commanded
    positions suffice: the parameters are then estimated by closed-loop output error with simulated position servos.
    """
    run_identification(asked, out, pdf, exports.export, force=force, as_json=as_json, explain=explain)


def run_identification(
    asked: Campaign,
    out: Path | None,
    pdf: Path | None,
    exports: Sequence[str] = (),
    *,
    force: bool,
    as_json: bool,
    explain: bool = False,
) -> None:
    """Run the identification that a campaign specifies, of any kind; write and print the result.

    explain: also print every option of automatic choices.
    """
    from minertia.identification.identify import identify as identified

    if pdf is not None and out is None:
        raise InputError("--pdf prints the page that --out writes; give a folder with --out")
    if exports and out is None:
        raise InputError("--export adds files to the folder of a result; give it with --out")
    check_pages(None, pdf, force=force)
    if out is not None:
        from minertia.report.folders import check_identification

        check_identification(out, asked, exports, force=force)
    with progress(2 * (len(asked.train) + len(asked.validate)) + 5) as tell:
        result = identified(asked, tell=tell)
        notes = () if out is None else _write(out, result, exports, tell, force)
    say_changed_geometry(asked.robot)
    say_findings((*result.problem.logs, *result.problem.unseen))
    if as_json:
        say_json(result.to_dict() if out is None else json_document((out / "result.json").read_text(encoding="utf-8")))
    else:
        say_result(result, explain=explain)
    say_notes(notes, file=sys.stderr)
    if out is not None:
        diagnose(f"wrote {out}")
        print_page(out / "report.html", pdf, force=force)


def validate(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL|SAMPLES",
            help="Model file (model.toml of identify), samples.npz of sample, or the folder of one.",
            show_default=False,
        ),
    ],
    logs: Annotated[list[str], typer.Argument(metavar="LOG...", help="Logs to validate on.", show_default=False)],
    reading: ColumnMap,
    columns: Columns = None,
    how: ValidationOptions = ValidationOptions(),
    html: Html = None,
    pdf: Pdf = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Validate an identified model by predicting logs, with the settings of its identification logs."""
    from minertia.identification.evidence.verdict import grade_of
    from minertia.identification.model_file import read_model

    if validated_as_samples(model, logs, how, (columns, reading), with_page=bool(html or pdf), as_json=as_json):
        return
    if is_log(model):
        raise InputError(f"the first argument must be a model.toml written by identify, but '{model}' is a log")
    known = read_model(model)
    check_pages(html, pdf, force=force)
    if (html or pdf) and how.simulator is not None:
        raise InputError("a simulation in another simulator has no report page; use --json, or omit --in")
    with progress(2 * len(logs) + 1) as tell:
        mapping = map_for(known, columns, reading)
        if how.simulator is not None:
            from minertia.simulation.commanded_plant import validate_in_mujoco

            found = validate_in_mujoco(known, logs, step=how.step, columns=mapping, tell=tell)
        else:
            found = _predicted(known, model, (logs, how.tool), mapping, (html, pdf, force), tell)
    if as_json:
        data = {"format": FORMAT, "robot": known.robot.name, "model": model}
        grade = grade_of(known.evidence.get("verdict", {}))
        say_json({**data, "grade": grade, "validation": [r.to_dict() for r in found]})
        return
    _say_validated(known, found)


def _predicted(
    known: Model,
    model: str,
    logs: tuple[list[str], str],
    columns: ColumnMap | None,
    pages: tuple[Path | None, Path | None, bool],
    tell: Any,
) -> tuple[Residuals, ...]:
    """Residuals of predicted logs, which are given with the load on their sensors.

    pages: files of the page and its PDF, if any, and whether they are replaced.
    """
    from minertia.identification.campaigns.campaign import Log
    from minertia.identification.validate import predict_logs
    from minertia.report.pages import validation_page

    html, pdf, force = pages
    names, tool = logs
    given = [Log(Path(name), tool=tool) for name in names] if tool else names
    predicted = predict_logs(known, given, columns=columns, tell=tell)
    if html or pdf:
        write_pages(validation_page(known, model, predicted), html, pdf, force=force)
    return tuple(log.residuals for log in predicted)


def _say_validated(known: Model, found: tuple[Residuals, ...]) -> None:
    from minertia.identification.evidence.verdict import grade_sentence
    from minertia.identification.kinds import kind_of_model
    from minertia.report.identification_tables import residual_table, unique

    titles: dict[str, Any] = {}
    for r in found:
        titles[unique(titles, r.log)] = r
    say(f"{known.robot.name}: residual over {kind_of_model(known).measure.word}; nothing was fitted")
    say(f"effects of the model: {', '.join(known.effect_names) or 'none'}")
    say_table(residual_table(titles, kind_of_model(known).measure.each))
    if told := grade_sentence(known.evidence.get("verdict", {})):
        say(f"- {told}")
    for title, r in titles.items():
        for remark in r.remarks:
            say(f"- {title}: {remark}")


def say_result(result: Identification, *, explain: bool = False) -> None:
    """Print values, residuals, sections and verdict of a result; explain: also what automatic choices tried."""
    from minertia.report.identification_tables import (
        DEVIATIONS,
        parameter_table,
        physical_sentence,
        residual_table,
        result_rows,
        section_table,
        verdict_sentence,
    )

    e = result.estimate
    lost = f" ({len(e.not_excited)} of them not identifiable from these logs)" if e.not_excited else ""
    say(f"{result.robot.name}, {e.estimator}: {len(e.names)} parameters{lost}, condition number {e.condition:.3g}")
    say(DEVIATIONS)
    say_table(parameter_table(result))
    say(f"residual over {result.problem.measure.word}:")
    say_table(residual_table(result_rows(result), result.problem.measure.each))
    for note in (*e.notes, physical_sentence(e.verdict)):
        if note:
            say(note)
    sections = [s for s in result.problem.sections(e) if explain or not s.is_detail]
    if explain and not any(s.is_detail for s in sections):
        say(result.problem.all_given)
    for section in sections:
        say("\n".join((f"{section.title}:", *section.sentences)))
        if section.rows:
            say_table(section_table(section))
    say(verdict_sentence(result))
    for reason in (*result.verdict.lines, *result.verdict.reasons):
        say(f"- {reason}")


def _write(out: Path, result: Identification, exports: Sequence[str], tell: Any, force: bool) -> tuple[Note, ...]:
    from minertia.report.folders import write_identification

    return write_identification(out, result, exports=exports, tell=tell, force=force)

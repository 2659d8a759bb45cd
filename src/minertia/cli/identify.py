"""`minertia identify` and `minertia validate`: logs to a model, and a model on other logs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from minertia.cli.campaigns import Columns, DropTorn, campaign_command, read_map, say_findings
from minertia.cli.logs import is_log
from minertia.cli.options import AsJson, Force, finite, model_notes
from minertia.cli.progress import progress
from minertia.cli.terminal import diagnose, say, say_changed_geometry, say_json, say_notes, say_table
from minertia.errors import InputError

if TYPE_CHECKING:
    from minertia.identification.campaigns.campaign import Campaign
    from minertia.identification.evidence.residuals import Residuals
    from minertia.identification.identify import Identification
    from minertia.identification.model import IdentifiedModel
    from minertia.robot.robot import Note, Robot

FORMAT = 1
TEMPLATES = (".urdf", ".xml", ".mjcf")


@campaign_command()
def identify(
    asked: Campaign,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Folder for model.toml, report.html, result.json, the robot's own file with the new parameters, and "
            "an MJCF beside a URDF.",
            show_default=False,
        ),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Identify a robot's dynamic parameters from measured logs, and say how far the result can be trusted.

    A log needs time, positions and efforts of every joint; velocities are optional. Commanded positions can stand in
    for efforts: then the joints' position loops are simulated (docs/output-error.md).
    """
    from minertia.identification.identify import identify as identified

    if out is not None:
        _check(out, asked, force)
    with progress(2 * (len(asked.train) + len(asked.validate)) + 5) as tell:
        result = identified(asked, tell=tell)
        notes = () if out is None else _write(out, result, tell, force)
    say_changed_geometry(asked.robot)
    say_findings((*result.problem.logs, *result.problem.unseen))
    if as_json:
        say_json(result.to_dict())
    else:
        _say_result(result)
    say_notes(notes, file=sys.stderr)
    if out is not None:
        diagnose(f"wrote {out}")


def validate(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model.toml of identify.", show_default=False)],
    logs: Annotated[list[str], typer.Argument(metavar="LOG...", help="Logs to predict.", show_default=False)],
    columns: Columns = None,
    drop_torn: DropTorn = False,
    simulator: Annotated[
        str | None,
        typer.Option(
            "--in",
            metavar="mujoco",
            help="For models of commands: repeat the logs in MuJoCo with its own integrator.",
            show_default=False,
        ),
    ] = None,
    step: Annotated[
        float, typer.Option("--step", metavar="S", help="MuJoCo's step [s], with --in mujoco.", callback=finite)
    ] = 1e-3,
    as_json: AsJson = False,
) -> None:
    """Predict logs with an identified model, without fitting, judged as its own logs were."""
    from minertia.identification.model_file import read_model
    from minertia.identification.validate import validate as validated
    from minertia.report.identification_tables import residual_table, unique

    if is_log(model):
        raise InputError(f"the first name must be that of a model.toml which identify wrote; '{model}' is a log")
    known = read_model(model)
    with progress(2 * len(logs) + 1) as tell:
        mapping = None if columns is None else read_map(columns)
        if simulator is not None:
            found = _in_simulator(known, logs, simulator, step, tell)
        else:
            found = validated(known, logs, columns=mapping, drop_torn=drop_torn, tell=tell)
    if as_json:
        say_json(
            {
                "format": FORMAT,
                "robot": known.robot.name,
                "model": model,
                "validation": [r.to_dict() for r in found],
            }
        )
        return
    titles: dict[str, Any] = {}
    for r in found:
        titles[unique(titles, r.log)] = r
    say(f"{known.robot.name}: residual over {'lag' if 'loop' in known.evidence else 'effort'}; nothing was fitted")
    say(f"effects of the model: {', '.join(known.effect_names) or 'none'}")
    say_table(residual_table(titles))
    for title, r in titles.items():
        for remark in r.remarks:
            say(f"- {title}: {remark}")


def _in_simulator(
    model: IdentifiedModel, logs: list[str], simulator: str, step: float, tell: Any
) -> tuple[Residuals, ...]:
    from minertia.errors import UnknownName
    from minertia.validation.commanded_plant import validate_in_mujoco

    if simulator != "mujoco":
        raise UnknownName("simulator", simulator, ("mujoco",))
    return validate_in_mujoco(model, logs, step=step, tell=tell)


def _say_result(result: Identification) -> None:
    from minertia.report.identification_tables import (
        DEVIATIONS,
        parameter_table,
        physical_sentence,
        residual_table,
        residual_word,
        result_rows,
        verdict_sentence,
    )

    e = result.estimate
    say(f"{result.robot.name}, {e.estimator}: {len(e.names)} parameters, condition number {e.condition:.3g}")
    say(DEVIATIONS)
    say_table(parameter_table(result))
    say(f"residual over {residual_word(result)}:")
    say_table(residual_table(result_rows(result)))
    for note in (*e.notes, physical_sentence(e.verdict)):
        if note:
            say(note)
    say(verdict_sentence(result))
    for reason in result.verdict.reasons:
        say(f"- {reason}")


def _check(out: Path, asked: Campaign, force: bool) -> None:
    """Say before the work, not after it, that the result cannot be written."""
    from minertia.files import check_folder, reading

    reading(*(log.file for log in (*asked.train, *asked.validate) if log.file is not None))
    own = _own_file(asked.robot)
    names = ("model.toml", "result.json", "report.html", *(() if own is None else _robot_files(own)))
    check_folder(out, names, force=force)


def _write(out: Path, result: Identification, tell: Any, force: bool) -> tuple[Note, ...]:
    """All files of a result, at once; the notes say what the robot's own file cannot hold."""
    from minertia.files import folder_at_once, write_file
    from minertia.identification.model_file import write_model
    from minertia.report.identification_page import identification_page

    tell("finding physical parameters")
    model = result.model()
    tell("writing")
    with folder_at_once(out, force=force) as draft:
        write_model(model, draft / "model.toml")
        if "loop" in model.evidence:
            write_file(draft / "result.json", result.to_json() + "\n")
            return _write_loops(model, draft)
        write_file(draft / "result.json", result.to_json() + "\n")
        write_file(draft / "report.html", identification_page(result, model))
        notes = _write_robot(model, draft, out)
    return (*notes, *_loss(result, model, [note.where for note in notes]))


def _write_loops(model: IdentifiedModel, draft: Path) -> tuple[Note, ...]:
    """The position loops for simulators, where a scale is known."""
    from minertia.files import write_file
    from minertia.identification.actuators import isaac_lab_text, position_mjcf
    from minertia.robot.robot import Note

    if model.evidence["loop"]["gauges"] or not model.is_physical:
        return (Note("warning", "actuators.mjcf", "not written: a simulator needs a scale and bodies that can exist"),)
    write_file(draft / "actuators.mjcf", position_mjcf(model))
    write_file(draft / "isaac_lab.py", isaac_lab_text(model))
    return ()


def _loss(result: Identification, model: IdentifiedModel, where: Sequence[str]) -> tuple[Note, ...]:
    """What other programs miss of the URDF that was written, and where they find it."""
    from minertia.identification.loss import urdf_loss
    from minertia.robot.robot import Note

    source = _own_file(model.nominal)
    if source is None or source.suffix.lower() != ".urdf" or source.name in where:
        return ()
    text = urdf_loss(result, model)
    beside = "robot.mjcf has it for MuJoCo; minertia.to_pinocchio(model) has rotor inertias for Pinocchio"
    return () if text is None else (Note("warning", "robot.urdf", f"{text}; {beside}"),)


def _robot_files(own: Path) -> tuple[str, ...]:
    """Names of the robot's files in a result: its own, and beside a URDF an MJCF, which holds more."""
    suffix = own.suffix.lower()
    return (f"robot{suffix}", *(("robot.mjcf",) if suffix == ".urdf" else ()))


def _own_file(robot: Robot) -> Path | None:
    """The URDF or MJCF a robot was read from."""
    source = Path(robot.source or "")
    return source if source.suffix.lower() in TEMPLATES and source.is_file() else None


def _write_robot(model: IdentifiedModel, draft: Path, out: Path) -> tuple[Note, ...]:
    """The robot's own URDF or MJCF with the identified parameters, and an MJCF beside a URDF, if they are possible."""
    from minertia.errors import MinertiaError
    from minertia.files import FileError
    from minertia.robot.robot import Note
    from minertia.robot.write import write_robot

    source = _own_file(model.nominal)
    if source is None:
        return ()
    name, *beside = _robot_files(source)
    older = f"; the {name} there is that of an earlier result" if (out / name).exists() else ""
    if not model.is_physical:
        text = f"not written: no real robot can have these values; try --physical{older}"
        return (Note("warning", source.name, text),)
    robot = model.robot
    try:
        notes = (*model_notes(robot), *write_robot(robot, draft / name, template=source))
        for other in beside:
            told = write_robot(robot, draft / other)
            notes = (*notes, *(replace(n, where=f"{other}, {n.where}") for n in told if n.level != "info"))
        return notes
    except FileError:
        raise
    except MinertiaError as err:
        return (Note("warning", source.name, f"not written with the new parameters: {err}{older}"),)

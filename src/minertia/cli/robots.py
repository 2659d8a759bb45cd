"""`minertia robots`, `show`, `check` and `convert`: robot files."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from minertia.cli.campaigns import CampaignFile, Columns
from minertia.cli.options import (
    AsJson,
    Force,
    RobotName,
    Snap,
    Without,
    complete_robot,
    model_notes,
    read_given,
    refuse_stated,
)
from minertia.cli.terminal import PROBLEMS, diagnose, note_data, problem_count, say, say_json, say_notes, say_table
from minertia.identification.logs.options import ColumnMap
from minertia.io.errors import InputError
from minertia.robot.options import ExportOptions, RobotOptions

if TYPE_CHECKING:
    from minertia.identification.campaigns.campaign import Campaign
    from minertia.robot.robot import Note, Robot

FORMAT = 1


def robots(as_json: AsJson = False) -> None:
    """List the bundled robots with their joints and the number of base parameters.

    The JSON output gives the sources of their values.
    """
    from minertia.report.tables import Table
    from minertia.robot.files import bundled_robots

    found = [_bundled(name) for name in bundled_robots()]
    if as_json:
        say_json({"format": FORMAT, "robots": found})
        return
    headers = ("name", "joints", "kinds", "base parameters", "what it is")
    rows = tuple(tuple(str(entry[key]) for key in _KEYS) for entry in found)
    say_table(Table(headers, rows, right=(1, 3)))


_KEYS = ("name", "joints", "kinds", "base_parameters", "title")


def _bundled(name: str) -> dict[str, Any]:
    from minertia.base.derive import base_parameters
    from minertia.report.tables import kinds_text
    from minertia.robot.files import read_robot

    robot, comment = read_robot(name), _source_comment(name)
    return {
        "name": name,
        "joints": robot.n_joints,
        "kinds": kinds_text(robot),
        "base": robot.base,
        "base_parameters": base_parameters(robot.numeric).count,  # letters would be held at a second draw of theirs
        "title": comment[0] if comment else robot.name,
        "source": " ".join(comment),
    }


def _source_comment(name: str) -> list[str]:
    """Header comment of a bundled file: the source of its values."""
    from importlib.resources import files

    lines = (files("minertia.robot") / "library" / f"{name}.toml").read_text(encoding="utf-8").splitlines()
    comment = []
    for line in lines:
        if not line.startswith("#"):
            break
        comment.append(line.lstrip("# ").strip())
    return comment


def show(robot: RobotName, how: RobotOptions, snap: Snap = None, as_json: AsJson = False) -> None:
    """Show a robot as it was parsed: joints, placements, limits, drives, symbols and notes."""
    from minertia.report.robot_views import robot_data
    from minertia.report.tables import joint_tables, symbol_table

    found = read_given(robot, how, snap)
    if as_json:
        say_json(robot_data(found))
        return
    say(found)
    say(_summary(found))
    tables = joint_tables(found) | ({"letters": symbol_table(found)} if found.symbols else {})
    for number, (title, table) in enumerate(tables.items(), 1):
        say_table(table, title, last=number == len(tables))
    say_notes(found.notes)


def _summary(robot: Robot) -> str:
    from minertia.report.tables import moving_mass

    mass = moving_mass(robot)
    moving = "no inertial parameters" if mass is None else f"moving mass {mass:.6g} kg"
    without = robot.missing_links if mass is not None else ()
    missing = f"; without parameters: {', '.join(without)}" if without else ""
    coupled = "" if robot.coupling is None else "; coupled drives"
    return f"gravity ({', '.join(f'{g:g}' for g in robot.gravity)}) m/s2; {moving}{missing}{coupled}"


def check(
    robot_or_log: Annotated[
        str,
        typer.Argument(
            metavar="ROBOT|LOG",
            help="A robot file, model or bundled robot, or a log (.csv, .csv.gz, .parquet, .npz, .mat, .mcap ...).",
            autocompletion=complete_robot,
            show_default=False,
        ),
    ],
    reading: ColumnMap,
    how: RobotOptions,
    of: Annotated[
        str | None,
        typer.Option(
            "--robot",
            metavar="ROBOT",
            help="Robot of the log: also checks limits, units and the delay of the efforts.",
            autocompletion=complete_robot,
            show_default=False,
        ),
    ] = None,
    columns: Columns = None,
    campaign: CampaignFile = None,
    *,
    snap: Snap = None,
    as_json: AsJson = False,
) -> None:
    """Check a robot file or a log: report faults, where they are, and what to do.

    With --campaign, the robot and the columns are those of the file; contacts and the inertial unit of a floating base
    are checked as well.

    Exit code 0: nothing wrong; 1: warnings or errors; 2: the file cannot be read.
    """
    from minertia.cli.logs import check_log, is_log

    if is_log(robot_or_log):
        asked = None if campaign is None else _campaign_of(campaign, of, columns, how)
        if of is None and asked is None:
            refuse_stated(how, "name the robot of the log with --robot")
        robot = asked.robot.on_ground if asked else None if of is None else read_given(of, how, snap).on_ground
        check_log(robot_or_log, robot, columns, reading, as_json=as_json, campaign=asked)
        return
    is_no_log = f"this applies to a log; '{robot_or_log}' does not have the extension of one"
    refuse_stated(reading, is_no_log)
    if of is not None or columns is not None or campaign is not None:
        option = "--robot" if of is not None else "--columns" if columns is not None else "--campaign"
        raise InputError(f"{option}: {is_no_log}")
    _check_robot(robot_or_log, how, snap, as_json)


def _campaign_of(file: Path, robot: str | None, columns: Path | None, how: RobotOptions) -> Campaign:
    """Campaign of a log to check, which names robot and columns."""
    from minertia.identification.campaigns.read import read_campaign

    if robot is not None or columns is not None:
        given = "--robot" if robot is not None else "--columns"
        raise InputError(f"{given} cannot be combined with --campaign, which names robot and columns; omit one of them")
    return read_campaign(file, robot=how)


def _check_robot(robot_file: str, how: RobotOptions, snap: float | None, as_json: bool) -> None:
    from minertia.robot.check import check_robot

    robot = read_given(robot_file, how, snap)
    notes = check_robot(robot)
    problems = sum(note.level in PROBLEMS for note in notes)
    if as_json:
        data = {"format": FORMAT, "file": robot_file, "robot": robot.name, "ok": not problems}
        say_json({**data, "problems": problems, "notes": note_data(notes)})
    else:
        say_notes(notes)
        say(f"{robot}: {problem_count(problems)}")
    if problems:
        raise typer.Exit(1)


def convert(
    source: Annotated[
        str, typer.Argument(metavar="IN", help="A robot file, model or bundled robot.", show_default=False)
    ],
    target: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="File to write: .toml, .urdf, .mjcf, .xml or .usda, .usd, .usdc; a folder for --export c and fmu.",
            show_default=False,
        ),
    ],
    how: RobotOptions,
    template: Annotated[
        Path | None,
        typer.Option(
            "--template",
            metavar="FILE",
            help="Template in the format of OUT: copied with only the parameters changed; "
            "for USD, a layer that overrides it is written.",
            show_default=False,
        ),
    ] = None,
    without: Without = None,
    *,
    snap: Snap = None,
    programs: ExportOptions = ExportOptions(),
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Convert a robot to another file format; reports what that format cannot represent.

    An identified model is written with the best-fitting parameters that the target can represent, and their
    relative residual on its logs is reported. --export newton adds actuators to a USD file, isaac-lab a
    configuration of the same name beside it; c and fmu write code. A USD file is read back in double and in single
    precision; the exit code is 1 if its efforts differ. Without a template the whole file is written:
    joints, inertias, limits and drives, no meshes.
    """
    from minertia.robot.files import write_robot
    from minertia.robot.targets import STAGES, target_of

    stages = [file for file in (source, template) if file is not None and Path(file).suffix.lower() in STAGES]
    if how.prim and not stages:
        raise InputError(
            f"--prim applies to USD stages only, but '{source}' has another file name extension"
            + ("" if template is None else f", and so has '{template}'")
        )
    if programs.export:
        _convert_for(source, target, programs.export, force=force, as_json=as_json, is_plain=template is None)
        return
    kind, is_stage = target_of(target), target.suffix.lower() in STAGES
    own = how if Path(source).suffix.lower() in STAGES else replace(how, prim="")  # else it is that of the template
    robot = read_given(source, own, snap, without=without, target="" if kind is None else kind.name)
    notes = (*model_notes(robot), *write_robot(robot, target, template=template, force=force, prim=how.prim))
    is_changed = bool(without) or replace(how, prim="") != RobotOptions()
    exports, told = ([], ()) if kind is None or is_changed else _exported(source, target)
    there = "" if template is None else how.prim  # a file without a template has no other robot
    proof, proved = _proof(robot, target, there) if is_stage else (None, ())
    notes = (*notes, *told, *proved)
    if as_json:
        data = {"format": FORMAT, "robot": robot.name, "file": str(target), "notes": note_data(notes)}
        say_json(data | ({"exports": exports} if exports else {}) | ({"proof": proof} if proof else {}))
    else:
        say_notes(notes, file=sys.stderr)
        diagnose(f"wrote {target}")
    if any(note.level == "error" for note in proved):
        raise typer.Exit(1)


def _convert_for(
    source: str, target: Path, names: Sequence[str], *, force: bool, as_json: bool, is_plain: bool
) -> None:
    """Write an identified model for a program of --export, and print what its file leaves on the logs."""
    from minertia.identification.model_file import is_model_file, read_model
    from minertia.robot.files import model_in
    from minertia.robot.targets import BY_NAME
    from minertia.simulation.export_files import write_export

    name, row = names[0], BY_NAME[names[0]]
    file = str(model_in(source))
    if len(names) > 1:
        raise InputError(f"--export takes one program here, not {len(names)}; run convert once for each program")
    if not is_plain:
        raise InputError("--export takes no --template")
    if not is_model_file(file):
        raise InputError(f"--export {name} needs an identified model: give a model.toml that identify wrote")
    if target.suffix.lower() not in row.suffixes and not row.is_whole:
        raise InputError(f"--export {name} writes files ending in {', '.join(row.suffixes)}, not '{target.name}'")
    notes = write_export(read_model(file), target, name, force=force)
    exports, told = _exported(file, target, name)
    if as_json:
        data = {"format": FORMAT, "file": str(target), "export": name, "notes": note_data((*notes, *told))}
        say_json(data | ({"exports": exports} if exports else {}))
    else:
        say_notes((*notes, *told), file=sys.stderr)
        diagnose(f"wrote {target}")


def _proof(robot: Robot, target: Path, prim: str) -> tuple[dict[str, Any] | None, tuple[Note, ...]]:
    """Difference between the efforts of a written USD file and those of the robot, as data and as a note."""
    from minertia.io.errors import MinertiaError, MissingExtra
    from minertia.robot.robot import Note
    from minertia.simulation.proof import prove

    try:
        proof = prove(robot, target, prim)
    except MissingExtra as err:
        return None, (Note("info", target.name, f"not read back: {err}"),)
    except MinertiaError as err:
        return None, (Note("error", target.name, f"the written file cannot be read back: {err}"),)
    text = (
        f"efforts computed from the file differ from the robot's by {proof.read_back:.1g} of the largest effort, and "
        f"by {proof.single:.1g} in a program that reads 32-bit attributes only"
    )
    return proof.record(), (Note("info" if proof.is_held else "error", target.name, text),)


def _exported(source: str, target: Path, export: str = "") -> tuple[list[dict[str, Any]], tuple[Note, ...]]:
    """Residuals of an exported identified model on its identification logs, as data and as notes.

    Both are empty if `source` is not a model file, or has no export for the format of `target`.  export: name of the
    target program, by default by the extension.
    """
    from minertia.identification.model_file import is_model_file, read_model
    from minertia.report.export_tables import export_notes, exports_record
    from minertia.simulation.read_back import read_by_engine

    if not is_model_file(source):
        return [], ()
    model = read_by_engine(read_model(source), target, export)
    return ([], ()) if model is None else (exports_record(model), export_notes(model))

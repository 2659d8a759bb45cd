"""`minertia calibrate`: calibrate lengths, angles and joint zeros from measurements of the tool."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from minertia.cli.campaigns import CampaignFile, Data
from minertia.cli.identify import run_identification
from minertia.cli.options import AsJson, Force, complete_robot, option, read_given, whole
from minertia.cli.pages import Pdf
from minertia.cli.terminal import diagnose, say, say_json
from minertia.excitation.exports.options import MotionFiles
from minertia.identification.campaigns.options import LEVELS, CalibrationOptions
from minertia.identification.logs.options import ColumnMap
from minertia.io.errors import InputError
from minertia.io.schema import option_of
from minertia.robot.options import RobotOptions

if TYPE_CHECKING:
    from minertia.calibration.plan import PosturePlan
    from minertia.identification.campaigns.campaign import Campaign
    from minertia.robot.robot import Robot


def said(cls: type, name: str, metavar: str = "", flag: str = "") -> Any:
    """Typer option of a declared field, with its help text."""
    one = option_of(cls, name)
    otherwise = f"; default: {one.otherwise.replace('`', '')}" if one.otherwise else ""
    text = f"{one.sentence.removesuffix('.')}{otherwise}."
    return option(flag or name, metavar or "|".join(one.names), text)


RobotAndFiles = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[ROBOT MEASUREMENTS...]",
        help="A robot (file, model or bundled name) and files of readings, one row per posture; "
        "neither with --campaign.",
        autocompletion=complete_robot,
        show_default=False,
    ),
]
Plan = Annotated[
    int | None, option("plan", "N", "Plan N collision-free postures to measure, instead of a fit.", parser=whole)
]
Rehearse = Annotated[
    int | None,
    option(
        "rehearse",
        "N",
        "Simulate calibrations from N postures of robots with random geometric errors; report the accuracy.",
        parser=whole,
    ),
]
Measured = Annotated[
    str, typer.Option("--measure", metavar="KIND", help="With --plan and --rehearse: kind of measurement.")
]
Unseen = Annotated[list[str] | None, option("validate", "FILE", "Validation measurements, never fitted.")]
Tip = Annotated[str | None, said(CalibrationOptions, "tip", "FRAME")]
Root = Annotated[str | None, said(CalibrationOptions, "root", "FRAME")]
ColumnsFile = Annotated[
    Path | None, option("columns", "FILE", "TOML file with [columns] and [[measure]]: the meaning of the columns.")
]
Angle = Annotated[str | None, said(ColumnMap, "angle")]
Length = Annotated[str | None, said(ColumnMap, "length")]
Effects = Annotated[list[str] | None, said(CalibrationOptions, "levels", ",".join(LEVELS), "effects")]
Zeros = Annotated[str | None, said(CalibrationOptions, "zeros")]
Instrument = Annotated[
    tuple[float, float, float] | None,
    option(
        "instrument", "X Y Z", "With --plan: place of the instrument in the base frame, which must see the tip [m]."
    ),
]
Cone = Annotated[
    float | None,
    option("cone", "DEG", "With --instrument: largest angle from the tip's z axis to the instrument; default: any."),
]
Exports = Annotated[
    list[str] | None,
    option(
        "export",
        "ros2|urscript|krl|franka|mujoco|csv",  # the table of them loads NumPy
        "With --plan: write the motion through the postures, with a stop at each, for this controller; may be "
        "repeated.",
    ),
]
Out = Annotated[
    Path | None, option("out", "DIR", "Folder for model.toml, report.html, result.json and the corrected robot.")
]


def calibrate(
    how: RobotOptions,
    robot_and_files: RobotAndFiles = None,
    campaign: CampaignFile = None,
    data: Data = None,
    validate: Unseen = None,
    tip: Tip = None,
    root: Root = None,
    columns: ColumnsFile = None,
    angle: Angle = None,
    length: Length = None,
    corrections: Effects = None,
    zeros: Zeros = None,
    plan: Plan = None,
    rehearse: Rehearse = None,
    measure: Measured = "points",
    instrument: Instrument = None,
    cone: Cone = None,
    exports: Exports = None,
    out: Out = None,
    pdf: Pdf = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Calibrate lengths, angles and joint zeros from tool measurements, with confidence intervals and a verdict."""
    levels = tuple(name.strip() for one in corrections or () for name in one.split(",") if name.strip()) or None
    names = list(robot_and_files or ())
    if plan is not None:
        postures = _postures(_robot(names, campaign, data, how), plan, measure, levels, tip, instrument, cone)
        found = _written(postures, MotionFiles(exports=tuple(exports or ())), out, force=force)
        _say_plan(found, is_written=out is not None, as_json=as_json)
        return
    if exports or instrument or cone is not None:
        raise InputError("--export, --instrument and --cone apply to planned postures; give --plan N, too")
    if rehearse is not None:
        _rehearse(_robot(names, campaign, data, how), rehearse, measure, levels, tip, as_json=as_json)
        return
    asked = _campaign(names, (campaign, data), columns, how)
    if validate:
        asked = replace(asked, validate=validate)
    units: dict[str, Any] = {"angle": angle or asked.map.angle, "length": length or asked.map.length}
    given: dict[str, Any] = {"levels": levels, "tip": tip, "root": root, "zeros": zeros}
    stated = {key: value for key, value in given.items() if value is not None}
    options = replace(asked.calibration or CalibrationOptions(), **stated)
    asked = replace(asked, calibration=options, columns=replace(asked.map, **units))
    run_identification(asked, out, pdf, force=force, as_json=as_json)


def _campaign(
    names: Sequence[str], file: tuple[Path | None, Path | None], columns: Path | None, how: RobotOptions
) -> Campaign:
    """Campaign read from a file in a folder of logs, or built from a robot and measurement files."""
    from minertia.identification.campaigns.campaign import Campaign
    from minertia.identification.campaigns.read import read_campaign

    path, data = file
    if path is not None:
        if names:
            raise InputError("give either --campaign, which names robot and files, or ROBOT MEASUREMENTS..., not both")
        found = read_campaign(path, data, how)
        return found if columns is None else replace(found, columns=columns, measures=())
    if len(names) < 2:
        raise InputError(
            "name a robot and files of measurements, or a --campaign; --plan N computes postures to measure"
        )
    robot = read_given(names[0], how)
    return Campaign(robot, names[1:], columns=columns, calibration=CalibrationOptions())  # type: ignore[arg-type]


def _robot(names: Sequence[str], file: Path | None, data: Path | None, how: RobotOptions) -> Robot:
    """Robot for which measurement postures are planned."""
    if not names and file is None:
        raise InputError("name the robot for which postures are to be planned")
    return read_given(names[0], how) if names else _campaign((), (file, data), None, how).robot


def _rehearse(
    robot: Robot, count: int, measure: str, levels: tuple[str, ...] | None, tip: str | None, *, as_json: bool
) -> None:
    from minertia.calibration.plan import USUAL
    from minertia.calibration.rehearse import rehearse_calibration

    found = rehearse_calibration(robot, count, measure, levels=USUAL if levels is None else levels, tip=tip)
    if as_json:
        say_json(found.to_dict())
        return
    for sentence in found.sentences():
        say(sentence)


def _postures(
    robot: Robot,
    count: int,
    measure: str,
    levels: tuple[str, ...] | None,
    tip: str | None,
    instrument: tuple[float, float, float] | None,
    cone: float | None,
) -> PosturePlan:
    from minertia.calibration.plan import USUAL, Sight, plan_postures

    if cone is not None and instrument is None:
        raise InputError("--cone applies to an instrument; give its place with --instrument X Y Z")
    sight = None if instrument is None else Sight(instrument, None if cone is None else math.radians(cone))
    return plan_postures(robot, count, measure, levels=USUAL if levels is None else levels, tip=tip, sight=sight)


def _written(found: PosturePlan, files: MotionFiles, out: Path | None, *, force: bool) -> PosturePlan:
    """Write planned postures, and the motion through them for controllers."""
    from minertia.excitation.exports.table import EXPORTS, export
    from minertia.io.files import make_folder, write_file

    if out is None:
        if files.exports:
            raise InputError("--export writes files; give their folder with --out")
        return found
    texts = {"postures.csv": found.to_csv()}
    if files.exports:
        route = found.route()
        missed = [str(k) for k in range(1, len(found.q) + 1) if f"posture {k}" not in route.names]
        if missed:
            diagnose(f"warning: no collision-free way was found to posture {', '.join(missed)}: not in the motion")
        for form in files.exports:
            texts |= {**export(found.chain.robot, route, form, files.rate), **EXPORTS[form].programs}
    make_folder(out)
    for name, text in texts.items():
        write_file(out / name, text, force=force)
        diagnose(f"minertia: wrote {out / name}")
    return found


def _say_plan(found: PosturePlan, *, is_written: bool, as_json: bool) -> None:
    from minertia.calibration.plan import told_deviation

    if as_json:
        say_json(found.to_dict())
        return
    name, count = found.chain.robot.name, len(found.q)
    say(f"{count} postures of {name} for measurements of kind {found.measure}: condition {found.condition:.3g}")
    for group, deviation in found.deviations.items():
        say(f"- {told_deviation(group, deviation)} with readings of 0.1 mm and 0.1 mrad")
    if not is_written:
        say(found.to_csv().rstrip("\n"), wrap=False)

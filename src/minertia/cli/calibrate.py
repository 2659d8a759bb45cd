"""`minertia calibrate`: lengths, angles and zeros of a robot from measurements of its tool."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from minertia.cli.options import AsJson, Force, Gravity, RobotName, option, read_given
from minertia.cli.progress import progress
from minertia.cli.terminal import diagnose, say, say_json, say_table
from minertia.errors import InputError

if TYPE_CHECKING:
    from minertia.calibration.readings import MeasurementColumns
    from minertia.calibration.result import Calibration

STEPS = 3  # of which it tells
Files = Annotated[
    list[str], typer.Argument(metavar="MEASUREMENTS...", help="Files of readings, a row for each posture.")
]
Unseen = Annotated[
    list[str] | None,
    typer.Option("--validate", metavar="FILE", help="Readings to judge on, never fitted.", show_default=False),
]
Tip = Annotated[str | None, option("tip", "FRAME", "Link or frame that carries the target; default: the last link.")]
Root = Annotated[str | None, option("root", "FRAME", "Link or frame where the chain begins; default: the ground.")]
ColumnsFile = Annotated[
    Path | None, option("columns", "FILE", "TOML file with [columns] and [[measure]]: what the columns mean.")
]
Angle = Annotated[str | None, option("angle", "rad|mrad|deg", "Unit of joints that turn.")]
Length = Annotated[str | None, option("length", "m|cm|mm|um|in", "Unit of lengths.")]
Effects = Annotated[
    str | None,
    option("effects", "zeros,geometry,sag,transmission", "What to correct; default: chosen by regions left out."),
]
Zeros = Annotated[
    str, typer.Option("--zeros", metavar="file|controller", help="Zeros into the robot's frames, or as a table.")
]
Out = Annotated[Path | None, option("out", "DIR", "Folder for calibration.json and the corrected robot.")]


def calibrate(
    robot: RobotName,
    measurements: Files,
    validate: Unseen = None,
    tip: Tip = None,
    root: Root = None,
    columns: ColumnsFile = None,
    angle: Angle = None,
    length: Length = None,
    effects: Effects = None,
    zeros: Zeros = "file",
    gravity: Gravity = None,
    out: Out = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Correct lengths, angles and joint zeros by measurements of the tool, with intervals and a verdict."""
    from minertia.calibration.calibrate import CalibrationOptions
    from minertia.calibration.calibrate import calibrate as calibrated

    given = read_given(robot)
    given = given if gravity is None else given.with_gravity(gravity)
    levels = None if effects is None else tuple(name.strip() for name in effects.split(",") if name.strip())
    options = CalibrationOptions(levels, tip, root, zeros)
    with progress(STEPS) as told:
        found = calibrated(given, measurements, validate or (), _columns(columns, angle, length), options, tell=told)
    if out is not None:
        from minertia.calibration.save import save_calibration

        for path in save_calibration(found, out, force=force):
            diagnose(f"minertia: wrote {path}")
    if as_json:
        say_json(found.to_dict())
    else:
        _show(found)


def _columns(file: Path | None, angle: str | None, length: str | None) -> MeasurementColumns:
    from dataclasses import replace

    from minertia.calibration.readings import ANGLES, LENGTHS, MeasurementColumns, parse_columns
    from minertia.tables import CheckedTable, load_toml

    for value, known, name in ((angle, ANGLES, "angle"), (length, LENGTHS, "length")):
        if value is not None and value not in known:
            raise InputError(f"--{name} is one of {', '.join(known)}, not '{value}'")
    given = parse_columns(load_toml(file, CheckedTable)) if file is not None else MeasurementColumns()
    return replace(given, angle=angle or given.angle, length=length or given.length)


def _show(found: Calibration) -> None:
    from minertia.report.calibration_tables import calibration_text, error_table, value_table

    say(calibration_text(found))
    say_table(error_table(found), "errors [mm]", last=not found.values)
    if found.values:
        say_table(value_table(found), "corrections")

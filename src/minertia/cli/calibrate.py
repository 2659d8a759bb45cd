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
    from minertia.robot.robot import Robot

STEPS = 3  # of which it tells
Files = Annotated[
    list[str] | None,
    typer.Argument(metavar="MEASUREMENTS...", help="Files of readings, a row for each posture.", show_default=False),
]
Plan = Annotated[int | None, option("plan", "N", "Choose N postures to measure instead, free of collisions.")]
Measured = Annotated[str, typer.Option("--measure", metavar="KIND", help="With --plan: what will be measured.")]
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
    measurements: Files = None,
    validate: Unseen = None,
    tip: Tip = None,
    root: Root = None,
    columns: ColumnsFile = None,
    angle: Angle = None,
    length: Length = None,
    effects: Effects = None,
    zeros: Zeros = "file",
    plan: Plan = None,
    measure: Measured = "points",
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
    if plan is not None:
        _plan(given, plan, measure, levels, tip, out, force=force, as_json=as_json)
        return
    if not measurements:
        raise InputError("give files of measurements, or --plan N for postures to measure")
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


def _plan(
    robot: Robot,
    count: int,
    measure: str,
    levels: tuple[str, ...] | None,
    tip: str | None,
    out: Path | None,
    *,
    force: bool,
    as_json: bool,
) -> None:
    from minertia.calibration.plan import USUAL, plan_postures

    found = plan_postures(robot, count, measure, levels=USUAL if levels is None else levels, tip=tip)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        found.save(out / "postures.csv", force=force)
        diagnose(f"minertia: wrote {out / 'postures.csv'}")
    if as_json:
        say_json(found.to_dict())
        return
    say(f"{count} postures of {robot.name} for measurements of kind {measure}: condition {found.condition:.3g}")
    for group, deviation in found.deviations.items():
        say(f"- {group}: typical deviation {1e3 * deviation:.2g} mm or mrad with readings of 0.1 mm or mrad")
    if out is None:
        say(found.to_csv().rstrip("\n"), wrap=False)


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

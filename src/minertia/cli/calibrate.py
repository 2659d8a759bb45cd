"""`minertia calibrate`: lengths, angles and zeros of a robot from measurements of its tool."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from minertia.calibration.options import LEVELS, CalibrationOptions, MeasurementColumns
from minertia.cli.options import AsJson, Force, Gravity, RobotName, option, read_given
from minertia.cli.progress import progress
from minertia.cli.terminal import diagnose, say, say_json, say_table
from minertia.io.errors import InputError
from minertia.io.schema import option_of

if TYPE_CHECKING:
    from minertia.calibration.result import Calibration
    from minertia.robot.robot import Robot

STEPS = 3  # of which it tells


def said(cls: type, name: str, metavar: str = "", flag: str = "") -> Any:
    """An option as it is declared."""
    one = option_of(cls, name)
    otherwise = f"; default: {one.otherwise}" if one.otherwise else ""
    text = f"{one.sentence.removesuffix('.')}{otherwise}."
    return option(flag or name, metavar or "|".join(one.names), text)


Files = Annotated[
    list[str] | None,
    typer.Argument(metavar="MEASUREMENTS...", help="Files of readings, a row for each posture.", show_default=False),
]
Plan = Annotated[int | None, option("plan", "N", "Choose N postures to measure instead, free of collisions.")]
Measured = Annotated[str, typer.Option("--measure", metavar="KIND", help="With --plan: what will be measured.")]
Unseen = Annotated[list[str] | None, option("validate", "FILE", "Readings to judge on, never fitted.")]
Tip = Annotated[str | None, said(CalibrationOptions, "tip", "FRAME")]
Root = Annotated[str | None, said(CalibrationOptions, "root", "FRAME")]
ColumnsFile = Annotated[
    Path | None, option("columns", "FILE", "TOML file with [columns] and [[measure]]: what the columns mean.")
]
Angle = Annotated[str | None, said(MeasurementColumns, "angle")]
Length = Annotated[str | None, said(MeasurementColumns, "length")]
Effects = Annotated[list[str] | None, said(CalibrationOptions, "levels", ",".join(LEVELS), "effects")]
Zeros = Annotated[str, said(CalibrationOptions, "zeros")]
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
    corrections: Effects = None,
    zeros: Zeros = "file",
    plan: Plan = None,
    measure: Measured = "points",
    gravity: Gravity = None,
    out: Out = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Correct lengths, angles and joint zeros by measurements of the tool, with intervals and a verdict."""
    from minertia.calibration.calibrate import calibrate as calibrated

    given = read_given(robot)
    given = given if gravity is None else given.with_gravity(gravity)
    names = [name.strip() for one in corrections or () for name in one.split(",") if name.strip()]
    levels = tuple(names) or None
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

    from minertia.calibration.readings import parse_columns
    from minertia.io.tables import CheckedTable, load_toml

    given = parse_columns(load_toml(file, CheckedTable)) if file is not None else MeasurementColumns()
    return replace(given, angle=angle or given.angle, length=length or given.length)


def _show(found: Calibration) -> None:
    from minertia.calibration.measures import SHOWN
    from minertia.report.calibration_tables import calibration_text, error_table, value_table

    say(calibration_text(found))
    say_table(error_table(found), f"errors [{SHOWN[found.training.unit][0]}]", last=not found.values)
    if found.values:
        say_table(value_table(found), "corrections")

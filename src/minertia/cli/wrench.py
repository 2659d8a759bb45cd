"""`minertia wrench`: tool, bias and tilt of a force/torque sensor from its wrenches at rest or in motion."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from minertia.cli.calibrate import Angle, ColumnsFile, said
from minertia.cli.campaigns import CampaignFile, Data
from minertia.cli.identify import run_identification
from minertia.cli.options import AsJson, Force, complete_robot, option, read_given, refuse_stated
from minertia.cli.pages import Pdf
from minertia.identification.campaigns.options import WrenchOptions
from minertia.io.errors import InputError
from minertia.robot.options import RobotOptions

if TYPE_CHECKING:
    from minertia.identification.campaigns.campaign import Campaign

RobotAndFiles = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[[ROBOT] POSES...]",
        help="Files of wrenches: one row per pose at rest, or logs of motion. A robot (file, model or bundled name) "
        "before them places the "
        "sensor if the files contain joint positions instead of its orientation; neither with --campaign.",
        autocompletion=complete_robot,
        show_default=False,
    ),
]
Unseen = Annotated[list[str] | None, option("validate", "FILE", "Validation poses, never fitted.")]
Frame = Annotated[str | None, said(WrenchOptions, "frame", "FRAME")]
Axes = Annotated[str | None, said(WrenchOptions, "axes")]
Of = Annotated[str | None, said(WrenchOptions, "of")]
Bias = Annotated[str | None, said(WrenchOptions, "bias")]
Moment = Annotated[str | None, said(WrenchOptions, "moment")]
Names = Annotated[str | None, said(WrenchOptions, "columns", "fx,fy,fz,tx,ty,tz", "wrench")]
Motion = Annotated[str | None, said(WrenchOptions, "motion")]
RotationAs = Annotated[str | None, said(WrenchOptions, "rotation_as", flag="rotation-as")]
Out = Annotated[Path | None, option("out", "DIR", "Folder for model.toml, report.html and result.json.")]


def wrench(
    how: RobotOptions,
    robot_and_files: RobotAndFiles = None,
    campaign: CampaignFile = None,
    data: Data = None,
    validate: Unseen = None,
    frame: Frame = None,
    axes: Axes = None,
    of: Of = None,
    bias: Bias = None,
    moment: Moment = None,
    motion: Motion = None,
    names: Names = None,
    rotation_as: RotationAs = None,
    columns: ColumnsFile = None,
    angle: Angle = None,
    out: Out = None,
    pdf: Pdf = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Identify a tool's mass, centre of mass and inertia, and the force/torque sensor's bias and tilt."""
    asked = _campaign(list(robot_and_files or ()), (campaign, data), columns, how)
    if validate:
        asked = replace(asked, validate=validate)
    if angle is not None:
        asked = replace(asked, columns=replace(asked.map, angle=angle))
    given: dict[str, Any] = {"frame": frame, "axes": axes, "of": of, "bias": bias, "moment": moment}
    given |= {"motion": motion, "rotation_as": rotation_as, "columns": None if names is None else _split(names)}
    stated = {key: value for key, value in given.items() if value is not None}
    options = replace(asked.wrench or WrenchOptions(), **stated)
    run_identification(replace(asked, wrench=options), out, pdf, force=force, as_json=as_json)


def _split(names: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in names.split(",") if name.strip())


def _campaign(
    names: list[str], file: tuple[Path | None, Path | None], columns: Path | None, how: RobotOptions
) -> Campaign:
    """Campaign read from a file in a folder of logs, or built from a robot and files of poses."""
    from minertia.identification.campaigns.campaign import Campaign
    from minertia.identification.campaigns.read import read_campaign
    from minertia.identification.geometry.readings import BAGS, TEXT
    from minertia.identification.logs.readers import is_bag
    from minertia.identification.weigh import sensor_alone

    path, data = file
    if path is not None:
        if names:
            raise InputError("give either --campaign, which names robot and files, or [ROBOT] POSES..., not both")
        found = read_campaign(path, data, how)
        return found if columns is None else replace(found, columns=columns)
    has_robot = bool(names) and Path(names[0]).suffix.lower() not in (*TEXT, *BAGS) and not is_bag(names[0])
    files = names[1:] if has_robot else names
    if not files:
        raise InputError(
            "name files of wrenches at poses, after the robot if they contain joint positions, or a --campaign"
        )
    if not has_robot:
        refuse_stated(replace(how, gravity=None), "name the robot before the files")
    robot = read_given(names[0], how) if has_robot else sensor_alone()
    if how.gravity is not None:
        robot = robot.with_gravity(how.gravity)
    return Campaign(robot, files, columns=columns, wrench=WrenchOptions())  # type: ignore[arg-type]

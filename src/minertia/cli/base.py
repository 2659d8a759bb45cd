"""`minertia base`: base parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from minertia.cli.options import (
    AsJson,
    Force,
    Numbers,
    RobotName,
    Snap,
    complete_method,
    option,
    read_given,
)
from minertia.cli.pages import Html, Pdf, check_pages, write_pages
from minertia.cli.terminal import diagnose, say, say_changed_geometry, say_json
from minertia.robot.options import RobotOptions

if TYPE_CHECKING:
    from minertia.base.grouping import BaseParameters
    from minertia.robot.robot import Robot

FRAMES = ("joint", "file")


def known_frames(value: str) -> str:
    """Validate the --frames option: one of its two choices."""
    if value not in FRAMES:
        raise typer.BadParameter(f"choose from: {', '.join(FRAMES)}")
    return value


Method = Annotated[
    str,
    typer.Option(
        "--method",
        metavar="closed-form|mlc|numeric",
        help="Method: regrouping rules, minimal linear combinations of composite bodies (mlc), or numerical rank.",
        autocompletion=complete_method,
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        metavar="NAME",
        help="Standard parameter to prefer as representative of its group; may be repeated or a,b,c.",
        show_default=False,
    ),
]
Frames = Annotated[
    str,
    typer.Option(
        "--frames",
        metavar="joint|file",
        callback=known_frames,
        help="Frames for the identifiability classes: joint frames of the model, or link frames of the robot file.",
    ),
]


Sensors = Annotated[
    list[str] | None,
    typer.Option(
        "--sensor",
        metavar="PLACE",
        help="Force/torque sensor whose wrench is measured: a link or frame, a joint (just before it), or plate (under "
        "the base); may be repeated.",
        show_default=False,
    ),
]


def base(
    robot: RobotName,
    how: RobotOptions,
    method: Method = "closed-form",
    rotors: Annotated[bool, typer.Option("--rotors", help="Include rotor inertias (IA).")] = False,
    friction: Annotated[bool, typer.Option("--friction", help="Include friction and offsets (FV, FC, OFF).")] = False,
    keep: Keep = None,
    numbers: Numbers = False,
    snap: Snap = None,
    sensor: Sensors = None,
    frames: Frames = "joint",
    latex: Annotated[bool, typer.Option("--latex", help="Print the relations as LaTeX.")] = False,
    html: Html = None,
    pdf: Pdf = None,
    force: Force = False,
    as_json: AsJson = False,
    geometry: Annotated[
        bool, typer.Option("--geometry", help="Base geometric parameters instead of base inertial parameters.")
    ] = False,
    measure: Annotated[
        str, typer.Option("--measure", metavar="KIND", help="With --geometry: kind of measurement.")
    ] = "pose",
    tip: Annotated[
        str | None, option("tip", "FRAME", "With --geometry: link or frame whose position is measured.")
    ] = None,
) -> None:
    """Derive a robot's symbolic base parameters with a rank certificate."""
    from minertia.base.derive import base_parameters
    from minertia.robot.divided import with_sensors

    given = with_sensors(read_given(robot, how, snap, numbers=numbers), sensor or ())
    if geometry:
        _geometry(given, measure, tip, as_json=as_json)
        return
    check_pages(html, pdf, force=force)
    found = base_parameters(
        given,
        method,
        rotors=rotors,
        friction=friction,
        keep=[name for given in keep or () for name in given.split(",")],
    )
    say_changed_geometry(found.robot, "--snap 0")
    if html or pdf:
        from minertia.report.pages import base_page

        write_pages(base_page(found, frames), html, pdf, force=force)
    if as_json:
        say_json({**found.to_dict(), "frames": frames, "classes": found.classes(frames)})
    elif latex:
        say(found.to_latex().rstrip("\n"), wrap=False)
    else:
        say(found)
        say(_class_line(found, frames))
        if found.method != method:
            diagnose(f"minertia: the rules of '{method}' do not apply to this robot, so the numerical set is shown")


def _geometry(robot: Robot, measure: str, tip: str | None, *, as_json: bool) -> None:
    from minertia.identification.geometry.base import geometric_base_parameters

    found = geometric_base_parameters(robot, measure, tip=tip)
    if as_json:
        say_json(found.to_dict())
    else:
        say(found)


def _class_line(found: BaseParameters, frames: str) -> str:
    from minertia.report.tables import class_counts

    counts = class_counts(found, frames)
    return (
        f"of {len(found.columns)} standard parameters {counts['alone']} are identifiable alone, "
        f"{counts['combination']} only in linear combination, {counts['none']} have no effect"
    )

"""`minertia payload`: payload identification, or drive gains from a known payload."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from minertia.cli.campaigns import CampaignFile, Columns, Data, map_for, read_map, say_findings
from minertia.cli.options import AsJson, Force, complete_robot, finite, not_negative, option, read_given, refuse_stated
from minertia.cli.pages import Html, Pdf, check_pages, write_pages
from minertia.cli.progress import progress
from minertia.cli.terminal import diagnose, say, say_json, say_table
from minertia.identification.logs.options import ColumnMap
from minertia.io.errors import InputError
from minertia.robot.options import RobotOptions

if TYPE_CHECKING:
    from minertia.identification.campaigns.campaign import Campaign
    from minertia.identification.loads.gains import DriveGains
    from minertia.identification.loads.payload import Payload
    from minertia.identification.model import IdentifiedModel
    from minertia.robot.robot import Robot

FORMAT = 1


Unloaded = Annotated[
    str,
    typer.Argument(
        metavar="UNLOADED", help="Log without the payload, or a model file or its folder.", show_default=False
    ),
]
Loaded = Annotated[list[str], typer.Argument(metavar="LOADED...", help="Logs with the payload.", show_default=False)]
RobotUnlessNamed = Annotated[
    str | None,
    option("robot", "ROBOT", "Robot; default: that of the model or campaign.", autocompletion=complete_robot),
]
AtFrame = Annotated[
    str | None, option("at", "FRAME", "Link or frame in which the payload is given; default: the last link.")
]
AtFlange = Annotated[
    str | None,
    option(
        "flange",
        "FRAME|X,Y,Z,R,P,Y",
        "Frame in which the controller expects the payload, or its offset from --at [m, rad]; default: tool0, "
        "flange ... of the file.",
    ),
]
KnownMass = Annotated[
    float | None,
    option(
        "mass",
        "KG",
        "Mass of a known payload [kg], from which the drive gains are identified instead.",
        callback=not_negative,
    ),
]
KnownCentre = Annotated[
    tuple[float, float, float] | None,
    option("com", "X Y Z", "Centre of mass of the known payload [m].", callback=finite),
]


def payload(
    unloaded: Unloaded,
    loaded: Loaded,
    reading: ColumnMap,
    how: RobotOptions,
    robot: RobotUnlessNamed = None,
    campaign: CampaignFile = None,
    data: Data = None,
    columns: Columns = None,
    at: AtFrame = None,
    flange: AtFlange = None,
    mass: KnownMass = None,
    com: KnownCentre = None,
    html: Html = None,
    pdf: Pdf = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Identify mass, centre of mass and inertia of a payload from logs without and with it."""
    from minertia.identification.campaigns.campaign import Campaign
    from minertia.identification.payload import identify_payload
    from minertia.robot.flange import load_frame

    known = _unloaded(unloaded, robot, (campaign, data), columns, how)
    mapping = None
    if isinstance(known, Campaign):
        known = known.reading(reading)
    else:
        mapping = map_for(known, columns, reading)
    if mass is None and com is not None:
        raise InputError("--com needs the --mass of a known payload")
    if mass is not None and flange is not None:
        raise InputError("--flange applies to an unknown payload; give the frame of a known one with --at")
    if at is None and (mass is not None or load_frame(known.robot, _flange_name(flange)) is None):
        _say_where(known.robot)
    check_pages(html, pdf, force=force)
    with progress(2 * (len(loaded) + 1)) as tell:
        if mass is None:
            found: Any = identify_payload(known, loaded, at=at, flange=_flange(flange), columns=mapping, tell=tell)
        elif isinstance(known, Campaign):
            found = _gains(known, loaded, (mass, com, at), tell)
        else:
            raise InputError(
                "drive gains are identified from logs without and with the payload, not from a model; give such logs"
            )
    if html or pdf:
        write_pages(_page(known.robot.name, found, mass is None), html, pdf, force=force)
    say_findings(found.logs)
    if as_json:
        say_json({"format": FORMAT, "robot": known.robot.name, **found.to_dict()})
    elif mass is None:
        _say_load(found)
    else:
        _say_gains(found)


def _page(robot: str, found: Any, is_load: bool) -> str:
    from minertia.report.pages import gains_page, payload_page

    return payload_page(found, robot) if is_load else gains_page(found, robot)


def _unloaded(
    unloaded: str,
    robot: str | None,
    file: tuple[Path | None, Path | None],
    columns: Path | None,
    how: RobotOptions,
) -> Campaign | IdentifiedModel:
    """Robot without the payload: an identified model, or the campaign of a log.

    file: campaign, and the folder of its logs.
    """
    from dataclasses import replace

    from minertia.identification.campaigns.campaign import Campaign
    from minertia.identification.campaigns.read import read_campaign
    from minertia.identification.model import with_efforts
    from minertia.identification.model_file import is_model_file, read_model

    path, data = file
    if is_model_file(unloaded):
        if robot is not None or path is not None:
            raise InputError("the model already names its robot; omit --robot and --campaign")
        refuse_stated(how, "the model is that of its own robot")
        return with_efforts(read_model(unloaded), "a load")
    if unloaded.lower().endswith(".toml"):  # says what is wrong with it
        read_model(unloaded)
    if (robot is None) == (path is None):
        raise InputError("the robot is missing; give --robot or a --campaign")
    if robot is not None:
        return Campaign(read_given(robot, how), unloaded, columns=columns)  # type: ignore[arg-type]
    assert path is not None
    found = replace(read_campaign(path, data, how), train=unloaded, validate=())  # type: ignore[arg-type]
    return found if columns is None else replace(found, columns=read_map(columns))


def _flange(given: str | None) -> str | list[float] | None:
    """Parse the flange: the name of a frame, or the values of an offset."""
    try:
        return None if given is None else [float(part) for part in given.split(",")]
    except ValueError:
        return given


def _flange_name(given: str | None) -> str | None:
    found = _flange(given)
    return found if isinstance(found, str) else None


def _gains(known: Campaign, loaded: list[str], load: tuple[float, Any, str | None], tell: Any) -> DriveGains:
    from minertia.identification.loads.load import Load
    from minertia.identification.payload import identify_gains

    mass, com, at = load
    return identify_gains(known, loaded, Load(mass, com, at=at), tell=tell)


def _say_where(robot: Robot) -> None:
    """Print the link assumed to carry the payload, if the robot has several end links."""
    carriers = {joint.parent for joint in robot.joints}
    ends = [joint.link or joint.name for j, joint in enumerate(robot.joints) if j not in carriers]
    taken = robot.joints[robot.tip].link or robot.joints[robot.tip].name
    others = [name for name in ends if name != taken]
    if others:
        which = "an end in no loop" if robot.cuts else "the last link"
        diagnose(
            f"the payload is assumed to be at '{taken}', {which} of the robot file; give --at NAME if it is at "
            f"{' or '.join(repr(name) for name in others)}"
        )


def _say_load(found: Payload) -> None:
    from minertia.report.tables import Table

    names = ("mass [kg]", *(f"centre {a} [m]" for a in "xyz"), *(f"I{ab} [kg m2]" for ab in _PAIRS))
    values = (found.mass, *found.com, *found.inertia)
    deviations = (found.mass_deviation, *found.com_deviation, *found.inertia_deviation)
    rows = tuple((n, f"{v:.5g}", f"{d:.2g}") for n, v, d in zip(names, values, deviations, strict=True))
    say(f"payload in the frame of '{found.frame}', inertia about its centre of mass")
    say_table(Table(("", "value", "deviation"), rows, right=(1, 2)))
    for why in found.not_excited.values():
        say(why)
    if not found.is_physical:
        say("these values are not physically consistent")
    if found.fields_frame is None:
        say(f"without the fields of a controller: {found.flange}")
    else:
        say(f"in the fields of a controller, in the frame of the flange '{found.fields_frame}':")
        for vendor in _VENDORS:
            say(f"{vendor}: {_rounded(found.fields(vendor))}")
    for caution in found.cautions:
        say(f"caution: {caution}")


_PAIRS = ("xx", "xy", "xz", "yy", "yz", "zz")
_VENDORS = ("ur", "kuka", "franka")


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(v) for key, v in value.items()}
    if isinstance(value, list):
        return [_rounded(v) for v in value]
    return float(f"{value:.5g}")


def _say_gains(found: DriveGains) -> None:
    from minertia.report.tables import Table

    rows = tuple(
        (joint, f"{gain:.5g}", f"{d:.2g}")
        for joint, gain, d in zip(found.joints, found.gains, found.deviations, strict=True)
    )
    say_table(Table(("joint", "gain [N m or N per logged unit]", "standard deviation"), rows, right=(1, 2)))
    say("For [drive] of the campaign file:")
    say(f"gains = [{', '.join(f'{gain:.5g}' for gain in found.gains)}]")
    say(f"gain_deviations = [{', '.join(f'{d:.2g}' for d in found.deviations)}]")

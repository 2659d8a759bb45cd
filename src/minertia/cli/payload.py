"""`minertia payload`: what the hand carries, or the gains of the drives from a load that is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from minertia.cli.campaigns import CampaignFile, Columns, Data, DropTorn, read_map, say_findings
from minertia.cli.options import AsJson, complete_robot, finite, not_negative, read_given
from minertia.cli.progress import progress
from minertia.cli.terminal import diagnose, say, say_json, say_table
from minertia.errors import InputError

if TYPE_CHECKING:
    from minertia.identification.campaigns.campaign import Campaign
    from minertia.identification.model import IdentifiedModel
    from minertia.identification.payload import Payload
    from minertia.robot.robot import Robot

FORMAT = 1


def payload(
    unloaded: Annotated[
        str, typer.Argument(metavar="UNLOADED", help="A log without the load, or a model.toml.", show_default=False)
    ],
    loaded: Annotated[
        list[str], typer.Argument(metavar="LOADED...", help="Logs with the load.", show_default=False)
    ],
    robot: Annotated[
        str | None,
        typer.Option(
            "--robot", metavar="ROBOT", help="The robot, unless a model or campaign names it.",
            autocompletion=complete_robot, show_default=False,
        ),
    ] = None,
    campaign: CampaignFile = None,
    data: Data = None,
    columns: Columns = None,
    drop_torn: DropTorn = False,
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="FRAME", help="Link or frame the load is given in.", show_default=False),
    ] = None,
    mass: Annotated[
        float | None,
        typer.Option(
            "--mass", metavar="KG", callback=not_negative,
            help="The load is known: find the gains of the drives instead, from efforts as logged.",
            show_default=False,
        ),
    ] = None,
    com: Annotated[
        tuple[float, float, float] | None,
        typer.Option("--com", metavar="X Y Z", callback=finite, help="Centre of that load, in m.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Find mass, centre and inertia of a load from logs without and with it, in the fields that controllers ask for."""
    model, how = _asked(unloaded, loaded, robot, campaign, data, columns)
    if drop_torn:
        how = replace(how, columns=replace(how.columns, drop_torn=True))
    if at is None:
        _say_where(how.robot)
    if mass is not None:
        _gains(unloaded, loaded, how, model, (mass, com), at, as_json)
        return
    if com is not None:
        raise InputError("--com goes with the --mass of a known load")
    _load(unloaded, loaded, how, model, at, as_json)


def _asked(
    unloaded: str, loaded: list[str], robot: str | None, file: Path | None, data: Path | None, columns: Path | None
) -> tuple[IdentifiedModel | None, Campaign]:
    """The model, where one was named, and how logs are read."""
    from minertia.identification.campaigns.campaign import read_campaign
    from minertia.identification.campaigns.given import given_campaign
    from minertia.identification.campaigns.record import recorded_campaign
    from minertia.identification.model import is_model_file, read_model

    if is_model_file(unloaded):
        if robot is not None or file is not None:
            raise InputError("the model names its robot; give neither --robot nor --campaign with it")
        model = read_model(unloaded)
        if len(model.model.rows) != model.robot.n_velocity:
            raise InputError("the model was identified from some of the joints; a load needs all of them")
        how = recorded_campaign(model.robot, model.campaign)
        return model, how if columns is None else replace(how, columns=read_map(columns))
    if unloaded.lower().endswith(".toml"):  # says what is wrong with it
        read_model(unloaded)
    if (robot is None) == (file is None):
        raise InputError("name the robot with --robot, or with a --campaign")
    if robot is not None:
        return None, given_campaign(read_given(robot), [unloaded, *loaded], columns)
    assert file is not None
    how = read_campaign(file, data)
    return None, how if columns is None else replace(how, columns=read_map(columns))


def _motions(campaign: Campaign, groups: list[list[str]], *, as_logged: bool = False) -> list[list[Any]]:
    """The logs of each group, read and filtered alike; as_logged: in whatever unit the efforts are."""
    from minertia.identification.run import prepare_campaign, refuse_unknown_gains

    names = [name for group in groups for name in group]
    entries = tuple(campaign.entry(name) for name in names)
    with progress(2 * len(names)) as tell:
        ready = prepare_campaign(replace(campaign, train=entries, validate=()), tell)
    say_findings(ready.train)
    if not as_logged:
        refuse_unknown_gains(ready.train)
    motions = iter([log.motion for log in ready.train])
    return [[next(motions) for _ in group] for group in groups]


def _load(
    unloaded: str, loaded: list[str], how: Campaign, model: IdentifiedModel | None, at: str | None, as_json: bool
) -> None:
    from minertia.identification.payload import identify_payload
    from minertia.identification.run import Parallel

    if model is not None:
        (with_load,) = _motions(how, [loaded])
        known: Any = (model.model, model.beta, model.covariance)
    else:
        with_load, known = _motions(how, [loaded, [unloaded]])
    found = identify_payload(how.robot, with_load, known, at=at, effects=how.effects, rows=Parallel())
    if as_json:
        say_json({"format": FORMAT, "robot": how.robot.name, **found.to_dict()})
    else:
        _say_load(found)


def _say_where(robot: Robot) -> None:
    """Which link is taken to carry the load, where there are several ends to carry it."""
    carriers = {joint.parent for joint in robot.joints}
    ends = [joint.link or joint.name for j, joint in enumerate(robot.joints) if j not in carriers]
    if len(ends) > 1:
        diagnose(
            f"the load is taken to be at '{ends[-1]}', the last link of the robot's file; '--at NAME' says if it is at "
            f"{' or '.join(repr(name) for name in ends[:-1])}"
        )


def _say_load(found: Payload) -> None:
    from minertia.report.tables import Table

    names = ("mass [kg]", *(f"centre {a} [m]" for a in "xyz"), *(f"I{ab} [kg m2]" for ab in _PAIRS))
    values = (found.mass, *found.com, *found.inertia)
    deviations = (found.mass_deviation, *found.com_deviation, *found.inertia_deviation)
    rows = tuple((n, f"{v:.5g}", f"{d:.2g}") for n, v, d in zip(names, values, deviations, strict=True))
    say(f"load in the frame of '{found.frame}', inertia about its centre of mass")
    say_table(Table(("", "value", "deviation"), rows, right=(1, 2)))
    for why in found.not_excited.values():
        say(why)
    if not found.is_physical:
        say("no real body has these values")
    say("in the fields of a controller:")
    for vendor in _VENDORS:
        say(f"{vendor}: {_rounded(found.fields(vendor))}")


_PAIRS = ("xx", "xy", "xz", "yy", "yz", "zz")
_VENDORS = ("ur", "kuka", "franka")


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(v) for key, v in value.items()}
    if isinstance(value, list):
        return [_rounded(v) for v in value]
    return float(f"{value:.5g}")


def _gains(
    unloaded: str,
    loaded: list[str],
    how: Campaign,
    model: IdentifiedModel | None,
    load: tuple[float, tuple[float, float, float] | None],
    at: str | None,
    as_json: bool,
) -> None:
    """Drive gains; gains that the mapping states already are left out of it."""
    from minertia.identification.gains import drive_gains
    from minertia.identification.run import Parallel
    from minertia.report.tables import Table

    if model is not None:
        raise InputError("gains come from a log without the load and one with it, both as logged; name both")
    drive = replace(how.columns.drive, gains=None)
    how = replace(how, columns=replace(how.columns, drive=drive))
    without, with_load = _motions(how, [[unloaded], loaded], as_logged=True)
    found = drive_gains(how.robot, without, with_load, load[0], load[1], at=at, effects=how.effects, rows=Parallel())
    if as_json:
        say_json({"format": FORMAT, "robot": how.robot.name, **found.to_dict()})
        return
    rows = tuple(
        (joint, f"{gain:.5g}", f"{d:.2g}")
        for joint, gain, d in zip(found.joints, found.gains, found.deviations, strict=True)
    )
    say_table(Table(("joint", "effort per logged unit", "deviation"), rows, right=(1, 2)))

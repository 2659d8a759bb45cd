"""`minertia fleet fit`, `drift` and `report`: analyse the records of a fleet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from minertia.cli.fleet import FORMAT, ExitZero, Store
from minertia.cli.options import AsJson
from minertia.cli.terminal import diagnose, say, say_json, say_table
from minertia.fleet.options import DriftOptions, FitOptions

if TYPE_CHECKING:
    from minertia.fleet.drift import FleetDrift
    from minertia.fleet.fit_result import FleetFit
    from minertia.fleet.fleet import Fleet
    from minertia.report.blocks import BlockPage

Days = Annotated[
    str | None,
    typer.Option("--days", metavar="A:B", help="Range of days to use, as 2026-03-01:2026-03-31.", show_default=False),
]
Force = Annotated[bool, typer.Option("--force", help="Replace files that minertia did not write.")]
Events = Annotated[
    Path | None,
    typer.Option("--events", metavar="CSV", help="File of maintenance, tool and program events; default: "
"events.csv of the store.",
                 show_default=False),
]  # fmt: skip


def fit(
    store: Store,
    options: FitOptions,
    type: Annotated[
        str | None, typer.Option("--type", metavar="T", help="Robot type; default: all.", show_default=False)
    ] = None,
    robot: Annotated[
        str | None, typer.Option("--robot", metavar="R", help="Use one robot only.", show_default=False)
    ] = None,
    days: Days = None,
    models: Annotated[
        bool, typer.Option("--models", help="Also write model-ROBOT.toml for each robot, as identify does.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder for fits and models.", show_default=False)
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Fit the robots of a store: inertial parameters per type, friction per robot, and their variation.

    Exit code 1 if records are damaged; these are reported, and all others are fitted.
    """
    from minertia.fleet.fleet import Fleet
    from minertia.io.errors import InputError

    if models and out is None:
        raise InputError("models are written to files; give the folder with --out DIR")
    own = Fleet.open(store)
    fits = {name: own.fit(name, options, robot=robot, days=days) for name in _types(own, type, robot)}
    if out is not None:
        files = {f"fit-{name}.json": _text(found.to_json()) for name, found in fits.items()}
        _write(out, files | (_model_files(own, fits) if models else {}), force)
    if as_json:
        say_json({"format": FORMAT, "store": store, "types": [found.to_json() for found in fits.values()]})
    else:
        for found in fits.values():
            _say_fit(found, robot)
    if any(found.damaged for found in fits.values()):
        raise typer.Exit(1)


def drift(
    store: Store,
    options: DriftOptions,
    events: Events = None,
    days: Days = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="PAGE", help="Also write the report page.", show_default=False)
    ] = None,
    force: Force = False,
    exit_zero: ExitZero = False,
    as_json: AsJson = False,
) -> None:
    """Detect robots whose friction or load has changed, with a specified false discovery rate.

    Exit code 1 if there are alarms, if a robot assessed before no longer is, or if records are damaged; all others
    are assessed.
    """
    from minertia.fleet.fleet import Fleet
    from minertia.io.files import check_file, write_file
    from minertia.report.bundle import require_bundle

    own = Fleet.open(store)
    if html is not None:
        check_file(html, force=force)
        require_bundle()
    found = own.drift(options=options, events=events, days=days)
    if html is not None:
        write_file(html, _page(own, store, found, {}).written(), force=force)
    if as_json:
        say_json(_data(own, store, found))
    else:
        _say_drift(found)
    if found.needs_a_look and not exit_zero:
        raise typer.Exit(1)


def report(
    store: Store,
    options: DriftOptions,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Output folder for the report page and its data.")],
    events: Events = None,
    days: Days = None,
    force: Force = False,
    exit_zero: ExitZero = False,
    as_json: AsJson = False,
) -> None:
    """Write a fleet report: alarms, robots not assessed, every robot and day, and outlier robots.

    Writes fleet.html, drift.json and fit-TYPE.json into the folder.  Exit code 1 as for `drift`.
    """
    from minertia.fleet.fleet import Fleet
    from minertia.io.files import check_folder
    from minertia.report.bundle import NOT_WRITTEN, is_built

    own = Fleet.open(store)
    names = _types(own, None, None)
    check_folder(out, ("fleet.html", "drift.json", *(f"fit-{name}.json" for name in names)), force=force)
    found = own.drift(options=options, events=events, days=days)
    fits = {name: own.fit(name, days=days) for name in names}
    page = {"fleet.html": _page(own, store, found, fits).written()} if is_built() else {}
    files = {**page, "drift.json": _text(_data(own, store, found))}
    files |= {f"fit-{name}.json": _text(one.to_json()) for name, one in fits.items()}
    _write(out, files, force)
    if as_json:
        say_json(_data(own, store, found))
    else:
        _say_drift(found)
        say(f"written: {', '.join(str(out / name) for name in files)}")
    if not page:
        diagnose(f"fleet.html: {NOT_WRITTEN}")
    if found.needs_a_look and not exit_zero:
        raise typer.Exit(1)


JUDGING_COMMANDS = (fit, drift, report)


def _types(own: Fleet, type: str | None, robot: str | None) -> list[str]:
    """Requested types that have records."""
    from minertia.io.errors import MinertiaError, UnknownName

    known = dict.fromkeys(row.robot_type for row in own.rows(robot))
    if type is not None and type not in known:
        raise UnknownName("type of robots", type, known)
    if not known:
        raise MinertiaError("the store has no records yet; add logs first: minertia fleet add")
    return [type] if type is not None else list(known)


def _data(own: Fleet, store: str, found: FleetDrift) -> dict[str, Any]:
    faults = [{"source": f.source, "robot": f.robot, "reason": f.reason} for f in own.conflicts()]
    return found.to_json(store, faults, _arithmetic(own))


def _arithmetic(own: Fleet) -> list[str]:
    return sorted({row.arithmetic for row in own.rows()})


def _page(own: Fleet, store: str, found: FleetDrift, fits: dict[str, FleetFit]) -> BlockPage:
    from minertia.report.fleet_page import fleet_page

    faults = [str(fault) for fault in own.conflicts()]
    return fleet_page(found, fits, store=store, faults=faults, arithmetic=_arithmetic(own))


def _model_files(own: Fleet, fits: dict[str, FleetFit]) -> dict[str, str]:
    """Model file text of each robot."""
    from minertia.identification.model import model_text

    return {
        f"model-{robot}.toml": model_text(own.model(found, robot)) for found in fits.values() for robot in found.robots
    }


def _text(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=1, allow_nan=False) + "\n"


def _write(out: Path, files: dict[str, str], force: bool) -> None:
    from minertia.io.files import folder_at_once, write_file

    with folder_at_once(out, force=force) as draft:
        for name, text in files.items():
            write_file(draft / name, text)


def _say_fit(found: FleetFit, robot: str | None) -> None:
    from minertia.report.fleet_tables import friction_table, inertial_table, robot_table

    say(f"{found.type.name}: {len(found.robots)} robots, effects {', '.join(found.symbols)}")
    for name, why in found.faults.items():
        say(f"fault: {name}: {why}")
    for fault in found.damaged:
        say(f"fault: {fault}")
    say_table(inertial_table(found), "shared inertial values")
    for name in found.robots if robot is not None or len(found.robots) < 3 else ():
        say_table(robot_table(found, name), f"friction of {name}")
        for remark in found.robots[name].remarks:
            say(f"{name}: {remark}")
    if found.between:
        say_table(friction_table(found), "friction")


def _say_drift(found: FleetDrift) -> None:
    from minertia.report.fleet_tables import alarm_table, finding_table, life_table, no_longer_table, not_judged_table

    say(found.statement)
    for fault in found.faults:
        say(f"fault: {fault}")
    if found.alarms:
        say_table(finding_table(found.findings), "robots")
        say_table(alarm_table(found.alarms), "alarms")
    dealt = [life for life in found.lives if life.is_living]
    if dealt:
        say_table(life_table(dealt), "states")
    if found.watch:
        say_table(alarm_table(found.watch), "to be monitored, without a bound on false alarms")
    if found.no_longer:
        say_table(no_longer_table(found), "no longer judged")
    if found.not_judged:
        say_table(not_judged_table(found), "not judged")
    for left in found.left_out:
        say(f"note: {left}")
    for note in found.notes:
        say(f"note: {note}")

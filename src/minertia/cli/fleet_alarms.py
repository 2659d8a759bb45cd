"""`minertia fleet alarm` and `event`: states of alarms, and events of robots."""

from __future__ import annotations

import getpass
from datetime import date
from typing import Annotated

import typer

from minertia.cli.fleet import FORMAT, ExitZero, Store
from minertia.cli.options import AsJson
from minertia.cli.terminal import say, say_json, say_table
from minertia.fleet.options import AlarmOptions, DriftOptions, EventOptions, PublishOptions

LIST, ADD = "list", "add"


def alarm(
    action: Annotated[str, typer.Argument(metavar="ACTION", help="list, acknowledge, mute, open or close.")],
    store: Store,
    options: AlarmOptions,
    alarms: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ALARM]...", help="Alarms, as `list` prints them.", show_default=False),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="List closed alarms, too.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the alarms of a store with their states, or acknowledge, mute, open or close some.

    `drift` and `report` return exit code 1 for new and open alarms only.
    """
    from minertia.fleet.fleet import Fleet
    from minertia.io.errors import InputError
    from minertia.report.fleet_tables import life_table

    own = Fleet.open(store)
    if action != LIST and not alarms:
        raise InputError(f"name the alarms to {action[:40]}; 'minertia fleet alarm list' prints them")
    if action != LIST:
        by = options.by or getpass.getuser()
        found = [own.act(name, action, by, options.reason, options.until) for name in alarms or ()]
    else:
        found = [life for life in own.alarms() if every or life.is_living]
    if as_json:
        say_json({"format": FORMAT, "store": store, "alarms": [life.to_json() for life in found]})
    elif found:
        say_table(life_table(found), "alarms")
    else:
        say("no alarms")


def event(
    action: Annotated[str, typer.Argument(metavar="ACTION", help="add or list.")],
    store: Store,
    options: EventOptions,
    as_json: AsJson = False,
) -> None:
    """Add an event of a robot to the events of a store, or list them.

    Levels of friction and load start anew at an event.
    """
    from minertia.fleet.calendar import day_name
    from minertia.fleet.fleet import Fleet
    from minertia.fleet.judging import stored_events
    from minertia.io.errors import InputError

    own = Fleet.open(store)
    if action not in (ADD, LIST):
        raise InputError(f"there is no action '{action[:40]}' on events; use {ADD} or {LIST}")
    if action == ADD:
        if not options.robot:
            raise InputError("an event needs the robot to which it happened; give --robot NAME")
        own.add_event(options.robot, options.day or date.today().isoformat(), options.kind, options.joint, options.note)
    rows = [
        {"robot": e.robot, "day": day_name(e.day), "joint": e.joint, "kind": e.kind, "note": e.note}
        for e in stored_events(own.store, None)
    ]
    if as_json:
        say_json({"format": FORMAT, "store": store, "events": rows})
        return
    for row in rows:
        say("  ".join(value for value in row.values() if value))
    say(f"{len(rows)} event{'s' * (len(rows) != 1)}")


def publish(
    store: Store,
    options: PublishOptions,
    drift: DriftOptions,
    exit_zero: ExitZero = False,
) -> None:
    """Assess the fleet as `drift` does, and send the result: metrics, webhook, e-mail, Parquet tables.

    Webhook and e-mail are used only if the report raises new alarms.  Exit code 1 as for `drift`.
    """
    from pathlib import Path

    from minertia.fleet import publish as out
    from minertia.fleet.alarm_store import read_history
    from minertia.fleet.fleet import Fleet
    from minertia.io.errors import InputError
    from minertia.io.files import write_file

    if not any((options.prometheus, options.webhook, options.mail, options.tables)):
        raise InputError("say where to publish: --prometheus FILE, --webhook URL, --mail ADDRESS or --tables DIR")
    own = Fleet.open(store)
    found = own.drift(options=drift)
    if options.prometheus:
        write_file(Path(options.prometheus), out.metrics(found), force=True, seal=False)
    if options.tables:
        folder = Path(options.tables)
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in out.tables(found, read_history(own.store)).items():
            write_file(folder / name, data, force=True, seal=False)
    fresh, told = out.new_alarms(found), out.message(found, store)
    if fresh and options.webhook:
        out.post(options.webhook, told)
    if fresh and options.mail:
        out.send_mail(options.mail, options.mailer, told)
    say(f"{found.statement}; {len(fresh)} new alarm{'s' * (len(fresh) != 1)}")
    if found.needs_a_look and not exit_zero:
        raise typer.Exit(1)


ALARM_COMMANDS = (alarm, event, publish)

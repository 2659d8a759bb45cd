"""`minertia fleet`: store, merge and check the records of logs of many robots and days."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from minertia.cli.options import AsJson, option, whole
from minertia.cli.progress import progress
from minertia.cli.terminal import diagnose, say, say_json
from minertia.fleet.options import AddOptions, PruneOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minertia.fleet.add import AddResult
    from minertia.fleet.index import LogFault

FORMAT = 1
PARTS = 1000  # steps of a bar whose length is not known
fleet = typer.Typer(
    name="fleet", help="Fleets of robots: store sufficient statistics of their logs over days, and detect drift."
)
Store = Annotated[
    str,
    typer.Option(
        "--store",
        metavar="DIR|URL",
        help="Store of the records: a folder, or a URL such as s3://...",
        show_default=False,
    ),
]
ExitZero = Annotated[bool, typer.Option("--exit-zero", help="Exit with status 0 whatever was found, for dashboards.")]


def add(
    logs: Annotated[
        list[str], typer.Argument(metavar="LOGS...", help="Logs, or folders or URLs with logs.", show_default=False)
    ],
    options: AddOptions,
    fleet_file: Annotated[
        Path | None,
        typer.Option("--fleet", metavar="FLEET.toml", help="Fleet file; default: the copy in the store.",
                     show_default=False),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="DIR|URL", help="Store of the records; default: that of the fleet file.",
                     show_default=False),
    ] = None,
    exit_zero: ExitZero = False,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Read logs into a store of records; logs already in the store are skipped.

    The records are reproducible byte for byte.  Exit code 1 if logs have faults; all others are added.
    """
    from minertia.fleet.fleet import Fleet
    from minertia.fleet.fleet_file import read_fleet
    from minertia.fleet.sources import find_logs
    from minertia.io.errors import InputError

    file = None if fleet_file is None else read_fleet(fleet_file)
    place = store or (file.store if file is not None else None)
    if place is None:
        raise InputError('the store is missing; give --store DIR, or store = "DIR" in the fleet file')
    own, found = Fleet.open(place, file), find_logs(logs)
    with progress(len(found)) as tell:
        done = own.add(
            found, workers=options.workers, scheduler=options.scheduler, stretches=options.stretches, tell=tell
        )
    if as_json:
        say_json(_added_data(done, place))
    else:
        _say_added(done, place)
    _end(bool(done.faults), exit_zero)


def compact(
    store: Store,
    before: Annotated[
        str | None,
        typer.Option("--before", metavar="YYYY-MM", help="First month to keep as daily records; default: this "
"month.",
                     show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Merge the records of whole months into few files; daily files are deleted only after verification."""
    from minertia.fleet.fleet import Fleet

    with progress(PARTS) as tell:
        made = Fleet.open(store).compact(before, tell)
    if as_json:
        say_json({"format": FORMAT, "store": store, "files": made})
        return
    for name in made:
        say(name)
    say(f"{len(made)} file{'s' * (len(made) != 1)} of months written")


def check(store: Store, exit_zero: ExitZero = False, as_json: AsJson = False) -> None:
    """Check every record: checksums, names, types, duplicates, overlaps, missing days.

    Exit code 1 if something is wrong; missing days are reported but do not count as a fault.
    """
    from minertia.fleet.fleet import Fleet

    with progress(PARTS) as tell:
        found = Fleet.open(store).check(tell)
    if as_json:
        say_json({"format": FORMAT, "store": store, **found.to_dict()})
    else:
        _say_faults(found.faults)
        for robot, days in found.missing.items():
            say(f"{robot}: no record on {', '.join(days[:10])}{' ...' * (len(days) > 10)}")
        if len(found.arithmetics) > 1:
            diagnose(_several(list(found.arithmetics)))
        keys = f", in {len(found.keys)} sets that cannot be merged" if len(found.keys) > 1 else ""
        wrong = (
            f"{len(found.faults)} fault{'s' * (len(found.faults) != 1)}" if found.faults else "nothing wrong was found"
        )
        say(f"{found.records} records of {found.robots} robots{keys}: {wrong}")
    _end(bool(found.faults), exit_zero)


def prune(store: Store, options: PruneOptions, as_json: AsJson = False) -> None:
    """Delete records of monitored days that are older than some days; training days are kept.

    Drift reports continue from their stored state.  Fits use the remaining records.
    """
    from minertia.fleet.fleet import Fleet

    done = Fleet.open(store).prune(options.keep, superseded=options.superseded)
    if as_json:
        say_json({"format": FORMAT, "store": store, "old": done.old, "superseded": done.superseded})
    else:
        say(f"{store}: {done.old} old records deleted, {done.superseded} of earlier settings")


def migrate(
    fleet_file: Annotated[
        Path, typer.Option("--fleet", metavar="FLEET.toml", help="Fleet file with the changed settings.",
                           show_default=False),
    ],
    store: Store,
    workers: Annotated[
        int | None, option("workers", "N", "Number of worker processes.", parser=whole)
    ] = None,
    exit_zero: ExitZero = False,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Read the logs of a store again after a filter, gain or column of their type has changed.

    Exit code 1 if logs have faults or are gone; records of these logs keep their earlier settings.
    """
    from minertia.fleet.fleet import Fleet
    from minertia.fleet.fleet_file import read_fleet

    with progress(PARTS) as tell:
        done, gone = Fleet.open(store, read_fleet(fleet_file)).migrate(workers, tell)
    if as_json:
        say_json({**_added_data(done, store), "gone": gone})
    else:
        _say_added(done, store)
        for name in gone:
            say(f"gone: {name}")
    _end(bool(done.faults or gone), exit_zero)


FLEET_COMMANDS = (add, compact, check, prune, migrate)


def _end(has_faults: bool, exit_zero: bool) -> None:
    if has_faults and not exit_zero:
        raise typer.Exit(1)


def _say_faults(faults: Sequence[LogFault]) -> None:
    for fault in faults:
        say(f"fault: {fault}")


def _say_added(done: AddResult, store: str) -> None:
    _say_faults(done.faults)
    if len(done.arithmetics) > 1:
        diagnose(_several(done.arithmetics))
    early = f", {done.count('early')} before the first day of their robot" if done.count("early") else ""
    wrong = f", {len(done.faults)} fault{'s' * (len(done.faults) != 1)}" if done.faults else ""
    say(f"{store}: {done.count('new')} logs added, {done.skipped + done.count('known')} already known{early}{wrong}")


def _several(arithmetics: Sequence[str]) -> str:
    return (
        f"minertia: these records were computed with {len(arithmetics)} different arithmetic libraries and agree "
        "to 1e-12, but not bit by bit: "
    ) + " | ".join(arithmetics)


def _added_data(done: AddResult, store: str) -> dict[str, object]:
    rows = [
        {
            "source": row.source,
            "robot": row.robot,
            "status": row.status,
            "seconds": row.seconds,
            **({} if row.row is None else {"day": row.row.day, "record": row.row.record, "samples": row.row.samples}),
        }
        for row in done.rows
    ]
    faults = [{"source": f.source, "robot": f.robot, "reason": f.reason} for f in done.faults]
    counts = {status: done.count(status) for status in ("new", "known", "early")}
    told = {"skipped": done.skipped, "logs": rows, "faults": faults, "arithmetics": list(done.arithmetics)}
    return {"format": FORMAT, "store": store, **counts, **told}

"""Fits and drift of what a store holds: types and robots read, events and earlier calibrations looked up."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path

from minertia.documents import DocumentError, json_document
from minertia.errors import MinertiaError
from minertia.fleet.calendar import day_name
from minertia.fleet.day_effects import DayEffects
from minertia.fleet.drift import DriftOptions, FleetDrift, TypeFleet, fleet_drift
from minertia.fleet.events import RobotEvent, read_events
from minertia.fleet.evidence import FleetEvidence
from minertia.fleet.fit import FitOptions, fit_fleet
from minertia.fleet.fit_result import FleetFit
from minertia.fleet.index import IndexRow
from minertia.fleet.readout import StoredDays, StoredStacks, load_directions, stream_type
from minertia.fleet.store import EvidenceStore
from minertia.fleet.stored_types import StoredType
from minertia.robot.read import read_text

EVENTS, CALIBRATION = "events.csv", "calibration"


def fit_stored(
    store: EvidenceStore, stored: StoredType, rows: Sequence[IndexRow], options: FitOptions | None = None
) -> FleetFit:
    """The fit of one type's rows."""
    own = [row for row in rows if row.key == stored.key]
    days = StoredDays(store, stored, own)

    def one_day(robot: str) -> FleetEvidence | None:
        found = days[robot]
        return found[max(found)].evidence if found else None

    stacks, model = StoredStacks(store, stored, own), stored.type.column_set.model
    opts = options or FitOptions()
    if opts.load is None and len(stacks) > 1:  # robots of one type carry what they carry
        opts = replace(opts, load=load_directions(model))
    return fit_fleet(stored.type.name, stacks, opts, model, one_day, stacks.alone)


def judge_stored(
    store: EvidenceStore,
    types: Sequence[StoredType],
    rows: Sequence[IndexRow],
    options: DriftOptions,
    events: Sequence[RobotEvent],
) -> FleetDrift:
    """The drift of all types; what was learnt of day effects is kept for days on which fewer robots tell it.

    Events that are planned, later than today and than all logs, have not happened: nothing starts anew at them.
    """
    fleets, page = [], max([date.today().isoformat(), *(row.day for row in rows)])
    happened = [event for event in events if day_name(event.day) <= page]
    for stored in types:
        own = [row for row in rows if row.key == stored.key]
        if own:
            known = read_calibration(store, stored)
            fleets.append(TypeFleet(stream_type(stored), StoredDays(store, stored, own), known))
    found = fleet_drift(fleets, options, happened)
    for stored in types:
        learnt = found.calibration.get(stored.type.name)
        if learnt:
            write_calibration(store, stored, learnt)
    return found


def stored_events(store: EvidenceStore, path: Path | None) -> tuple[RobotEvent, ...]:
    """Events of a file, by default of the store's own."""
    if path is not None:
        return read_events(read_text(path), str(path))
    if not store.place.exists(EVENTS):
        return ()
    return read_events(store.place.read(EVENTS).decode("utf-8", "replace"), f"{store.place.url}/{EVENTS}")


def _calibration_name(stored: StoredType) -> str:
    return f"{CALIBRATION}/{stored.key[:16]}.json"


def read_calibration(store: EvidenceStore, stored: StoredType) -> dict[str, DayEffects]:
    """Day effects of a type by joint, as last learnt; none where none were."""
    name = _calibration_name(stored)
    if not store.place.exists(name):
        return {}
    try:
        said = json_document(store.place.read(name).decode())
        return {joint: DayEffects(**{**own, "omega": tuple(own["omega"])}) for joint, own in said["joints"].items()}
    except (DocumentError, UnicodeDecodeError, KeyError, TypeError, AttributeError):
        raise MinertiaError(
            f"{store.place.url}: {name} is no calibration; take it away, and the next page learns it again"
        ) from None


def write_calibration(store: EvidenceStore, stored: StoredType, learnt: Mapping[str, DayEffects]) -> None:
    """Keep day effects beside the records."""
    text = json.dumps(
        {"version": 1, "type": stored.type.name, "joints": {joint: asdict(own) for joint, own in learnt.items()}},
        indent=1,
    )
    name = _calibration_name(stored)
    if not store.place.exists(name) or store.place.read(name) != text.encode():
        store.place.write(name, text.encode())

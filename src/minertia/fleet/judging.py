"""Fit and drift detection on the records of a store, with its robot types, events and earlier calibrations."""

from __future__ import annotations

import contextlib
import json
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path

from minertia.fleet.alarm_store import keep_alarms
from minertia.fleet.calendar import day_name
from minertia.fleet.day_effects import DayEffects
from minertia.fleet.drift import FleetDrift, NoEvidence, NotJudged, TypeFleet, fleet_drift
from minertia.fleet.events import EVERY, HEADER, RobotEvent, event_line, read_events
from minertia.fleet.evidence import FleetEvidence
from minertia.fleet.fit import fit_fleet
from minertia.fleet.fit_result import FleetFit
from minertia.fleet.index import IndexRow, LogFault
from minertia.fleet.judged import (
    JUDGED,
    CountedRows,
    JudgedBefore,
    counted_rows,
    judged_after,
    no_longer_judged,
    read_judged,
    write_judged,
)
from minertia.fleet.options import DriftOptions, FitOptions
from minertia.fleet.places import StoreError
from minertia.fleet.readout import StoredDays, StoredStacks, load_directions, stream_type
from minertia.fleet.store import EvidenceStore
from minertia.fleet.stored_types import StoredType
from minertia.fleet.streams import StreamType
from minertia.fleet.watch import WatchState
from minertia.fleet.watch_file import parsed_state, state_bytes
from minertia.io.documents import DocumentError, json_document
from minertia.io.errors import MinertiaError, UnknownName
from minertia.io.notebook import plural
from minertia.robot.formats.reading import read_text

EVENTS, CALIBRATION = "events.csv", "calibration"


def fit_stored(
    store: EvidenceStore, stored: StoredType, rows: Sequence[IndexRow], options: FitOptions | None = None
) -> FleetFit:
    """Fit one robot type to its records, given as index rows."""
    own = [row for row in rows if row.key == stored.key]
    days = StoredDays(store, stored, own)

    def one_day(robot: str) -> FleetEvidence | None:
        for day in sorted(days.records(robot), reverse=True):
            found = days.read(robot, [day])
            if found:
                return found[day].evidence
        return None

    stacks, model = StoredStacks(store, stored, own), stored.type.column_set.model
    opts = options or FitOptions()
    if opts.load is None and len(stacks) > 1:  # robots of one type carry what they carry
        opts = replace(opts, load=load_directions(model))
    found = fit_fleet(stored.type.name, stacks, opts, model, one_day, stacks.alone)
    return replace(found, damaged=stacks.faults())


def judge_stored(
    store: EvidenceStore,
    types: Sequence[StoredType],
    rows: Sequence[IndexRow],
    options: DriftOptions,
    events: Sequence[RobotEvent],
    doubted: Sequence[IndexRow] = (),
    *,
    is_kept: bool = True,
) -> FleetDrift:
    """Detect drift in all types; store estimated day effects for days on which few robots have logs.

    Planned events, dated after both today and the last log, are ignored.
    doubted: rows that conflict with others, used only as far as they were assessed before.  is_kept: store the
    assessments, and keep earlier ones unchanged.
    """
    before, broken = read_judged(store, options.learning) if is_kept else (JudgedBefore(), [])
    counted = counted_rows(rows, doubted, before)
    page = max([date.today().isoformat(), *(row.day for row in counted.rows)])
    happened = [event for event in events if day_name(event.day) <= page]
    fleets, read, notes = [], [], [*counted.notes]
    known_states: dict[str, WatchState] = {}
    for stored in types:
        own = [row for row in counted.rows if row.key == stored.key]
        if own:
            known, said = usable_calibration(store, stored)
            kind = stream_type(stored)
            state, since = read_state(store, stored, kind, options) if is_kept else (WatchState(), math.inf)
            known_states[stored.type.name] = state
            read.append(StoredDays(store, stored, own, since))
            fleets.append(TypeFleet(kind, read[-1], known, before.windows(stored.key), state))
            notes += said
    try:
        found = fleet_drift(fleets, options, happened)
    except NoEvidence:
        _refuse_damaged(store, [fault for days in read for fault in days.faults()])
        raise
    faults = (*broken, *(fault for days in read for fault in days.faults()))
    found = replace(
        found,
        not_judged=(*found.not_judged, *_uncounted(found, rows, doubted, counted)),
        notes=(*found.notes, *notes),
        faults=faults,
        left_out=tuple(counted.left_out),
    )
    found = replace(found, no_longer=no_longer_judged(found, before, happened))
    if not is_kept:
        return found
    keys = {stored.type.name: stored.key for stored in types}
    unkept = write_judged(store, options.learning, judged_after(found, counted.rows, before, keys))
    for stored in types if unkept is None else ():
        learnt = found.calibration.get(stored.type.name)
        if learnt:
            write_calibration(store, stored, learnt)
        state = found.states.get(stored.type.name, WatchState())
        if not state.is_same(known_states.get(stored.type.name, WatchState())):
            write_state(store, stored, options, state)
    return with_lives(store, found) if unkept is None else replace(found, notes=(*found.notes, unkept))


def with_lives(store: EvidenceStore, found: FleetDrift) -> FleetDrift:
    """Report with the states of its alarms, which are stored; a note if their history cannot be read or stored."""
    try:
        return replace(found, lives=tuple(keep_alarms(store, found)))
    except MinertiaError as err:
        why = str(err).removeprefix(f"{store.place.url}: ")
        return replace(found, notes=(*found.notes, f"the states of alarms are unknown: {why}"))


def state_name(stored: StoredType, options: DriftOptions) -> str:
    """File name of the state of a type's reports."""
    return f"{JUDGED}/{stored.key[:16]}-learning-{options.learning}.state"


def read_state(
    store: EvidenceStore, stored: StoredType, kind: StreamType, options: DriftOptions
) -> tuple[WatchState, float]:
    """State after the last report, and when it was stored [s since 1970]; empty if there is none that can be used."""
    name = state_name(stored, options)
    when = store.place.changed([name]).get(name, math.inf)
    data = store.read(name)
    if data is None:
        return WatchState(), math.inf
    try:
        return parsed_state(data, stored.layout, kind), when
    except Exception:  # whatever a broken file makes Arrow or NumPy raise; all is computed again
        return WatchState(), math.inf


def write_state(store: EvidenceStore, stored: StoredType, options: DriftOptions, state: WatchState) -> None:
    """Store the state of a type for the next report; without it, that report takes longer."""
    with contextlib.suppress(StoreError, OSError):
        if state.basis is None:
            store.place.remove(state_name(stored, options))
        else:
            store.place.write(state_name(stored, options), state_bytes(state))


def _refuse_damaged(store: EvidenceStore, faults: Sequence[LogFault]) -> None:
    if faults:
        raise StoreError(f"{store.place.url}: no record can be assessed: {faults[0]}")


def _uncounted(
    found: FleetDrift, rows: Sequence[IndexRow], doubted: Sequence[IndexRow], counted: CountedRows
) -> list[NotJudged]:
    """List, as not assessed, the robots all of whose logs are excluded."""
    there = {row.robot for row in counted.rows} | {own.robot for own in found.not_judged}
    missing = Counter(row.robot for row in {row.identity: row for row in (*rows, *doubted)}.values())
    return [
        NotJudged(
            robot,
            f"none of its {plural(count, 'log')} counts: each is also stored for another robot, or overlaps in time",
        )
        for robot, count in sorted(missing.items())
        if robot not in there
    ]


def stored_events(store: EvidenceStore, path: Path | None) -> tuple[RobotEvent, ...]:
    """Read robot events from a file; default: the events of the store itself."""
    if path is not None:
        return read_events(read_text(path), str(path))
    data = store.read(EVENTS)
    return () if data is None else read_events(data.decode("utf-8", "replace"), f"{store.place.url}/{EVENTS}")


def add_event(store: EvidenceStore, event: RobotEvent, joints: Collection[str]) -> None:
    """Add an event to the events of a store; joints: names of the robot's joints."""
    if event.joint != EVERY and event.joint not in joints:
        raise UnknownName("joint", event.joint, [EVERY, *joints])
    before = (store.read(EVENTS) or b"").decode("utf-8", "replace")
    read_events(before, f"{store.place.url}/{EVENTS}")
    text = before if before.endswith("\n") or not before else f"{before}\n"
    line = event_line(event)
    read_events(f"{','.join(HEADER)}\n{line}", "event")
    store.write(EVENTS, f"{text or ','.join(HEADER) + chr(10)}{line}".encode())


def _calibration_name(stored: StoredType) -> str:
    return f"{CALIBRATION}/{stored.key[:16]}.json"


def read_calibration(store: EvidenceStore, stored: StoredType) -> dict[str, DayEffects]:
    """Read the last learnt day effects of a type, by joint; empty if none are stored."""
    name = _calibration_name(stored)
    data = store.read(name)
    if data is None:
        return {}
    try:
        said = json_document(data.decode())
        return {joint: DayEffects(**{**own, "omega": tuple(own["omega"])}) for joint, own in said["joints"].items()}
    except (DocumentError, UnicodeDecodeError, KeyError, TypeError, AttributeError):
        raise MinertiaError(
            f"{store.place.url}: {name} is not a calibration; remove it, and the next report computes it again"
        ) from None


def usable_calibration(store: EvidenceStore, stored: StoredType) -> tuple[dict[str, DayEffects], list[str]]:
    """Read the last learnt day effects; if they cannot be read, return none and a note, as they are optional."""
    try:
        return read_calibration(store, stored), []
    except StoreError:
        raise
    except MinertiaError as err:
        return {}, [str(err).removeprefix(f"{store.place.url}: ")]


def write_calibration(store: EvidenceStore, stored: StoredType, learnt: Mapping[str, DayEffects]) -> None:
    """Store the day effects of a type beside its records."""
    text = json.dumps(
        {"version": 1, "type": stored.type.name, "joints": {joint: asdict(own) for joint, own in learnt.items()}},
        indent=1,
    )
    store.write(_calibration_name(stored), text.encode())

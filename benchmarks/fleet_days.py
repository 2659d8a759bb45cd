"""A fleet over 60 days with planted changes, assessed day by day from the state of the day before.

`python -m benchmarks.fleet_days [SEED] [ROBOTS]` prints false alarms, delays, named causes and sizes.  Rules were
chosen with the even robots in view; figures are those of the odd ones.
`python -m benchmarks.fleet_days scale [ROBOTS ...]` prints the cost of one new day in a store.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.fleet_drift import MOVING_MASS, NAMES, Lazy
from benchmarks.simulated_fleet import START, FleetChange, SimulatedFleet
from benchmarks.simulated_program import simulated_model
from benchmarks.simulated_store import simulated_record, simulated_store, simulated_type
from minertia.fleet.calendar import day_name
from minertia.fleet.drift import FleetDrift, TypeFleet, fleet_drift
from minertia.fleet.findings import EXCHANGED
from minertia.fleet.fleet import Fleet
from minertia.fleet.index import IndexRow
from minertia.fleet.judging import read_state, write_state
from minertia.fleet.options import DriftOptions
from minertia.fleet.readout import StoredDays, load_directions, stream_type
from minertia.fleet.robot_day import RobotDay
from minertia.fleet.streams import LEARNING, StreamType, training
from minertia.fleet.watch import FleetDays, WatchState, robot_key, type_key

ROBOTS, DAYS, DAY = 200, 60, 40
WEAR, WITHIN = 0.2, 5  # size of the wear, and days in which it must be found
# kinds of robots in turn, by number modulo 20: 6 wear, 3 swap, 2 tool, 2 program, 2 twin, 2 temperature, 3 healthy
KINDS = ("wear",) * 6 + ("swap",) * 3 + ("tool",) * 2 + ("program",) * 2 + ("twin",) * 2 + ("temperature",) * 2
KINDS += ("healthy",) * 3


def kind_of(k: int) -> str:
    """Kind of a robot; odd and even robots have all kinds."""
    return KINDS[(k // 2) % len(KINDS)]


def planted(robots: int, seed: int) -> SimulatedFleet:
    """The fleet with its changes, all on one day."""
    changes, new, twins = [], {}, {}
    for k in range(robots):
        kind = kind_of(k)
        if kind == "wear":
            changes.append(FleetChange(k, ("viscous", "dry")[(k // 40) % 2], WEAR, DAY, k % 6))
        elif kind == "swap":
            changes.append(FleetChange(k, "swap", 1.0, DAY))
        elif kind == "tool":
            changes.append(FleetChange(k, "load", 0.01 * MOVING_MASS, DAY))
        elif kind == "temperature":
            changes.append(FleetChange(k, "temperature", 8.0, DAY))
        elif kind == "program":
            new[k] = DAY
        elif kind == "twin":
            twins[k] = DAY
    return SimulatedFleet(robots, DAYS, seed, changes, new_programs=new, twin_programs=twins, stretches_until=LEARNING)


class _Until(FleetDays):
    """Days of a fleet until one of them."""

    def __init__(self, robots: Mapping[str, Mapping[int, RobotDay]], last: int) -> None:
        self._robots, self._last = robots, last

    def robots(self) -> list[str]:
        return list(self._robots)

    def records(self, robot: str) -> Mapping[int, str]:
        return {day: "" for day in self._robots[robot] if day <= self._last}

    def read(self, robot: str, days: Collection[int]) -> dict[int, RobotDay]:
        return {day: self._robots[robot][day] for day in sorted(days)}


@dataclass
class Tally:
    """Counts over the daily pages, of the robots that are reported."""

    alarms: int = 0
    false: int = 0
    worst: float = 0.0
    pages: int = 0


def main(seed: int, robots: int) -> None:
    """Assess the fleet day by day and print the figures of the odd robots."""
    fleet = planted(robots, seed)
    days = Lazy(fleet)
    kind = StreamType("arm", load_directions(simulated_model()), MOVING_MASS)
    truth = {f"r{c.robot:03d}": c for c in fleet.changes if c.what != "temperature"}
    odd = {name for k, name in enumerate(fleet.names()) if k % 2}
    state, tally = WatchState(), Tally()
    ever: set[tuple[str, str | None]] = set()
    first: dict[str, int] = {}
    named: dict[str, int] = {}
    page: FleetDrift | None = None
    for day in range(DAY - 3, DAYS):
        source = TypeFleet(kind, _Until(days, START + day), before=state)
        page = fleet_drift([source], DriftOptions())
        state = page.states["arm"]
        own = [a for a in page.alarms if a.robot in odd]
        wrong = [a for a in own if not is_true(truth.get(a.robot), a.joint, day)]
        ever |= {(a.robot, a.joint) for a in wrong}
        tally.alarms, tally.false, tally.pages = tally.alarms + len(own), tally.false + len(wrong), tally.pages + 1
        tally.worst = max(tally.worst, len(wrong) / max(len(own), 1))
        for alarm in own:
            if alarm not in wrong:
                first.setdefault(alarm.robot, day - DAY)
        for finding in page.findings:
            if finding.cause == EXCHANGED and finding.robot in odd:
                named.setdefault(finding.robot, day - DAY)
    assert page is not None
    streams = sum(s.stream.robot in odd for s in page.streams)
    print(f"seed {seed}: {len(odd)} odd robots of {robots}, {streams} streams, {tally.pages} daily pages")
    print(f"  false: {tally.false} of {tally.alarms} alarms over all pages (stated at most {page.options.q:.0%}); "
          f"worst page {tally.worst:.1%}; streams ever false {sorted(ever, key=str)}")  # fmt: skip
    for what in ("wear", "swap", "tool"):
        who = [name for k, name in enumerate(fleet.names()) if name in odd and kind_of(k) == what]
        delays = np.array([first.get(name, 999) for name in who])
        print(f"  {what}: {np.mean(delays <= WITHIN):.0%} of {len(who)} found within {WITHIN} days, median "
              f"{np.median(delays):g}, {np.mean(delays < 999):.0%} by the last day")  # fmt: skip
        if what == "swap":
            print(f"  swap named as such: {np.mean([name in named for name in who]):.0%}; "
                  f"others named so: {sorted(set(named) - set(who))}")  # fmt: skip
    print(f"  95 % intervals that hold: {coverage(page, fleet, odd)}")
    quiet = [name for k, name in enumerate(fleet.names()) if kind_of(k) in ("program", "twin", "temperature")]
    print(f"  alarms of robots with a new program, its twin or another temperature on the last page: "
          f"{sorted({a.robot for a in page.alarms if a.robot in quiet and a.robot in odd})}")  # fmt: skip


def is_true(change: FleetChange | None, joint: str | None, day: int) -> bool:
    """Whether an alarm is of a planted change that has happened."""
    if change is None or day < change.day:
        return False
    if change.what == "swap":
        return joint is not None
    return joint == (None if change.what == "load" else f"j{change.joint + 1}")


def coverage(page: FleetDrift, fleet: SimulatedFleet, odd: Collection[str]) -> str:
    """Part of the alarms whose 95 % interval holds the planted size, for each kind of change."""
    held: dict[str, list[bool]] = {}
    for alarm in page.alarms:
        own = next((c for c in fleet.changes if f"r{c.robot:03d}" == alarm.robot), None)
        if alarm.robot not in odd or not is_true(own, alarm.joint, DAYS) or own is None:
            continue
        size = own.size
        if own.what == "swap":
            other = np.random.default_rng([fleet.seed, own.robot, 1]).normal(size=(2, 2, 6))
            row = ("viscous friction", "dry friction").index(alarm.what)
            size = float(np.exp(0.1 * (other[0] - other[1]))[row, int((alarm.joint or "j1")[1:]) - 1] - 1)
        elif alarm.what != NAMES[own.what]:
            continue
        held.setdefault(own.what, []).append(abs(alarm.change - size) <= 1.96 * alarm.deviation)
    return ", ".join(f"{what} {sum(own)} of {len(own)}" for what, own in sorted(held.items()))


# ---------------------------------------------------------------------- cost of one new day


def scale(robots: int, folder: Path, base: int = 6) -> None:
    """Cost of the report of one new day.

    Of the robots, `base` are assessed from zero; all are copies of their states, with own records on the new day.
    """
    made = SimulatedFleet(base, LEARNING + 3, 3, programs=3)
    fleet = simulated_store(str(folder), made)
    new = day_name(START + LEARNING + 2)
    rows = fleet.store.index()
    fleet.store.write_index([row for row in rows if row.day < new])
    begun = time.process_time()
    fleet.drift()
    zero = (time.process_time() - begun) / (base * (LEARNING + 2))
    stored, options = fleet.stored_type(), DriftOptions()
    kind = stream_type(stored)
    state, _ = read_state(fleet.store, stored, kind, options)
    assert state.basis is not None
    names = {f"r{k:04d}": f"r{k % base:03d}" for k in range(robots)}
    every = [
        replace(row, robot=name, clock="relative", content=f"{name}{row.content}"[:64])
        for name, of in names.items()
        for row in rows
        if row.robot == of and row.day < new
    ]
    source = StoredDays(fleet.store, stored, every)
    trained = training({name: source.records(name) for name in names})
    own = {name: state.basis.robots[of] for name, of in names.items()}
    basis = replace(state.basis, key=type_key(kind, options, trained, source), robots=own)
    key = robot_key(basis, basis.calibration, options)
    copies = {
        name: replace(state.robots[of], key=key, records=dict(source.records(name))) for name, of in names.items()
    }
    last = {f"r{k:03d}": made.robot(k)[START + LEARNING + 2] for k in range(base)}
    for name, of in names.items():  # the new day is a record of its own
        record = simulated_record(simulated_type(), stored.key, name, START + LEARNING + 2, last[of])
        every.append(IndexRow.of(record, fleet.store.put(record)))
    fleet.store.write_index(every)
    for file in fleet.store.place.names("judged"):
        fleet.store.place.remove(file)
    write_state(fleet.store, stored, options, WatchState(basis, copies))
    begun, wall = time.process_time(), time.perf_counter()
    found = Fleet.open(folder).drift()
    spent, wall = time.process_time() - begun, time.perf_counter() - wall
    size = sum(len(fleet.store.place.read(name)) for name in fleet.store.place.names("judged"))
    print(f"{robots} robots: one new day {spent:.1f} s of processor time ({1e3 * spent / robots:.1f} ms a robot), "
          f"{wall:.1f} s elapsed, state {size / 1e6:.0f} MB; from zero {1e3 * zero:.1f} ms a record "
          f"({len(found.streams)} streams)", flush=True)  # fmt: skip


if __name__ == "__main__":
    if sys.argv[1:2] == ["scale"]:
        for count in [int(a) for a in sys.argv[2:]] or [10, 100, 1000]:
            with tempfile.TemporaryDirectory() as name:
                scale(count, Path(name) / "store")
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 0, int(sys.argv[2]) if len(sys.argv) > 2 else ROBOTS)

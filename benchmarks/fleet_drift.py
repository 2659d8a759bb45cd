"""Drift over simulated fleets of 200 robots and 60 days: the stated rate, delays and causes.

`python -m benchmarks.fleet_drift [SEED ...]` prints what docs/fleet-drift.md states.  Robots 0 to 159 change on day
35, 20 in each of eight ways; the others stay as they are.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.simulated_fleet import START, FleetChange, SimulatedFleet
from benchmarks.simulated_program import simulated_model
from minertia.fleet.alarms import JudgedStream
from minertia.fleet.drift import FleetDrift, TypeFleet, e_bh, fleet_drift
from minertia.fleet.options import DriftOptions
from minertia.fleet.readout import load_directions
from minertia.fleet.robot_day import RobotDay
from minertia.fleet.streams import LEARNING, StreamType

ROBOTS, DAYS, DAY, EACH = 200, 60, 35, 20
MOVING_MASS = 37.0  # kg: the load that is put on is 1 % of it
# what, joint from 0, size, days it takes to grow; days from the change to a lone alarm, at most, in the median
WAYS = (
    ("FV +10 % (2)", "viscous", 1, 0.10, 0, 17.0),
    ("FV +20 % (2)", "viscous", 1, 0.20, 0, 6.0),
    ("FV +20 % (4)", "viscous", 3, 0.20, 0, 4.0),
    ("FC +10 % (2)", "dry", 1, 0.10, 0, 7.0),
    ("FC +10 % (4)", "dry", 3, 0.10, 0, 6.0),
    ("FC +20 % (2)", "dry", 1, 0.20, 0, 4.0),
    ("FC +20 % grown over 20 days (2)", "dry", 1, 0.20, 20, 10.0),
    ("load +0.37 kg", "load", 0, 0.37, 0, 4.0),
)
NAMES = {"viscous": "viscous friction", "dry": "dry friction", "load": "load"}


class Lazy(Mapping[str, Mapping[int, RobotDay]]):
    """Robots made when they are asked for, and kept."""

    def __init__(self, fleet: SimulatedFleet) -> None:
        self.fleet, self._kept = fleet, dict[str, Mapping[int, RobotDay]]()
        self._places = {name: k for k, name in enumerate(fleet.names())}

    def __getitem__(self, name: str) -> Mapping[int, RobotDay]:
        if name not in self._kept:
            self._kept[name] = self.fleet.robot(self._places[name])
        return self._kept[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def changes(each: int = EACH, ways: tuple[int, ...] = tuple(range(len(WAYS)))) -> list[FleetChange]:
    """The changes of the first robots, `each` of them in each way."""
    found = []
    for place, number in enumerate(ways):
        _, what, joint, size, grows, _ = WAYS[number]
        found += [FleetChange(place * each + k, what, size, DAY, joint, grows) for k in range(each)]
    return found


@dataclass(frozen=True)
class Outcome:
    """What all pages of a fleet would have said.

    delays: of each way, days from the change to a lone alarm (inf: never).  false: healthy streams that
    e-BH alarms on some day; alarms: all that it alarms; causes: right and all.  exceeded: part of the healthy streams
    with e >= 1/alpha at any time, by alpha.
    """

    delays: dict[str, list[float]]
    false: int
    alarms: int
    worst_page: float
    causes: tuple[int, int]
    exceeded: dict[float, float]
    streams: int


def judged(seed: int, robots: int = ROBOTS, changed: list[FleetChange] | None = None) -> FleetDrift:
    """The page of the last day."""
    changed = changes() if changed is None else changed
    fleet = SimulatedFleet(robots, DAYS, seed, changed, stretches_until=LEARNING)  # later ones are not asked for
    kind = StreamType("arm", load_directions(simulated_model()), MOVING_MASS)
    return fleet_drift([TypeFleet(kind, Lazy(fleet))], DriftOptions())


def outcome(page: FleetDrift, changed: list[FleetChange]) -> Outcome:
    """What a page and all pages before it would have said."""
    truth = {(f"r{c.robot:03d}", None if c.what == "load" else f"j{c.joint + 1}"): c for c in changed}
    streams = page.streams
    key = [(s.stream.robot, s.stream.joint) for s in streams]
    healthy = [k for k in range(len(streams)) if key[k] not in truth]
    pages = [set(e_bh([float(s.process.e[d]) for s in streams], page.options.q)) for d in range(DAYS - LEARNING)]
    ever = set().union(*pages)
    bad = {k for k in ever if key[k] not in truth}
    bad |= {k for d, own in enumerate(pages) for k in own if key[k] in truth and d + LEARNING < truth[key[k]].day}
    shares = [len(own & bad) / max(len(own), 1) for own in pages]
    delays: dict[str, list[float]] = {way[0]: [] for way in WAYS}
    right = total = 0
    for k, s in enumerate(streams):
        if key[k] in truth:
            change = truth[key[k]]
            delays[way_of(change)].append(_delay(s, len(streams) / page.options.q, change.day))
            if k in pages[-1]:
                total += 1
                right += s.stream.parts[s.cause] == NAMES[change.what]
    top = np.array([streams[k].process.e.max() for k in healthy])
    exceeded = {alpha: float(np.mean(top >= 1 / alpha)) for alpha in (0.1, 0.05, 0.01, 0.001)}
    return Outcome(delays, len(bad), len(ever), max(shares), (right, total), exceeded, len(streams))


def way_of(change: FleetChange) -> str:
    """Name of the way in which a robot changes."""
    return next(w[0] for w in WAYS if w[1:5] == (change.what, change.joint, change.size, change.grows))


def _delay(judged: JudgedStream, threshold: float, day: int) -> float:
    over = np.flatnonzero(judged.process.e >= threshold)
    return float(judged.process.days[over[0]] - START - day) if len(over) else float("inf")


def main() -> None:
    """One line for each way and seed."""
    for seed in [int(a) for a in sys.argv[1:]] or [0, 1, 2]:
        begun = time.process_time()
        found = outcome(judged(seed), changes())
        print(f"seed {seed}: {found.streams} streams, {time.process_time() - begun:.0f} s CPU", flush=True)
        print(
            f"  alarms on some day {found.alarms}, false {found.false}, most of a page {100 * found.worst_page:.1f} %"
        )
        print(f"  causes right {found.causes[0]} of {found.causes[1]}; healthy above 1/alpha: {found.exceeded}")
        for name, *_, goal in WAYS:
            own = np.array(found.delays[name])
            within = ", ".join(f"{100 * np.mean(own <= d):.0f} % in {d}" for d in (3, 7, 25))
            print(f"  {name}: median {np.median(own):g} days (goal {goal:g}); {within}", flush=True)


if __name__ == "__main__":
    main()

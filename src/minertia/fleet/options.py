"""Options of a fleet: the fleet file, adding of logs, fits of robots and drift detection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from minertia.identification.campaigns.options import SensorOptions
from minertia.identification.signals.options import Filter
from minertia.io.schema import Declared, option

if TYPE_CHECKING:
    from minertia.io.arrays import Array

FORMAT = 1  # of the fleet file
STRETCHES = ("scores", "triangles")  # what is kept of stretches
LONGEST = 3650  # days
SHORTEST = 7  # days of records that are kept at least: late logs and repeated reports need them
EVENTS = ("maintenance", "tool", "program", "calibration", "exchanged", "retired")  # kinds of events


def _effects() -> Iterable[str]:
    from minertia.robot.effects import TABLE

    return [effect.name for level in ("day", "robot") for effect in TABLE if effect.fleet == level]


# ---------------------------------------------------------------------- the fleet file


@dataclass(frozen=True, slots=True, repr=False)
class TypeEntries(Declared):
    """Table [types.NAME] of a fleet file: how logs of a robot type become records."""

    robot: str = option(help="Robot of this type: a description file beside the fleet file, or a bundled robot.")
    reference: str | None = option(
        None,
        "Robot or model whose inertial parameters give the joint load of load-dependent friction.",
        otherwise="the robot itself",
    )
    temperature: float = option(
        25.0, "Reference temperature of the friction parameters.", unit="degC", range=(-273.15, 1000)
    )
    rest: float = option(1e-3, "Velocity below which a joint is at rest.", unit="rad/s or m/s", range=(0, 1e3))
    zone: str | None = option(
        None,
        "Time zone in which days begin and end, such as `Europe/Berlin`.",
        otherwise="that of the fleet",
    )
    filter: Filter = option(
        factory=Filter, help="Filter, as in campaigns; its `cutoff_hz` is required.", otherwise="required"
    )
    sensors: tuple[SensorOptions, ...] = option(
        (),
        "Force/torque sensors and force plates, as in campaigns: tables `[[types.NAME.sensor]]`. Their biases are free "
        "on each day.",
        key="sensor",
        otherwise="none",
    )
    columns: Mapping[str, Any] = option(factory=dict, help="Columns of the logs, as in campaigns.", otherwise="by name")
    drive: Mapping[str, Any] = option(
        factory=dict, help="Drive of the robot, as in campaigns; no delay is chosen.", otherwise="none"
    )


@dataclass(frozen=True, slots=True, repr=False)
class RobotEntry(Declared):
    """Table [[robots]] of a fleet file: one robot, or a pattern that matches several."""

    id: str = option(help="Identity of the robot; `*` and `?` make a pattern, such as `line3-*`.")
    type: str | None = option(None, "Type of the robot.", otherwise="the only one")
    since: Any = option(None, "First day to include, such as 2026-03-31.", otherwise="all days")
    line: str = option("", "Line or cell of the robot, by which pages group and filter.", otherwise="none")


@dataclass(frozen=True, slots=True, repr=False)
class FleetEntries(Declared):
    """Top-level entries of a fleet file."""

    format: int = option(FORMAT, f"Format of the file, always {FORMAT}.", range=(FORMAT, FORMAT), otherwise="required")
    store: str | None = option(
        None, "Store of the records: a folder beside this file, or a URL.", otherwise="that of `--store`"
    )
    zone: str = option("UTC", "Time zone of types that do not name one.")
    types: Mapping[str, Any] = option(factory=dict, help="Types of robots, one table `[types.NAME]` each.",
                                      otherwise="required")  # fmt: skip
    robots: tuple[RobotEntry, ...] = option((), "Robots, one table `[[robots]]` each.", otherwise="required")


# ---------------------------------------------------------------------- verbs


@dataclass(frozen=True, slots=True, repr=False)
class AddOptions(Declared):
    """Options of adding logs to a store."""

    workers: int | None = option(
        None,
        "Number of local worker processes; 0: logs are read in this process.",
        range=(0, 10_000),
        command="workers",
        otherwise="one for each core",
    )
    scheduler: str | None = option(None, "Address of the Dask scheduler.", command="scheduler", otherwise="none")
    stretches: str = option(
        "scores",
        "Statistics stored per time block: score vectors, or these and triangular factors.",
        choices=STRETCHES,
        command="stretches",
    )


@dataclass(frozen=True, repr=False)
class FitOptions(Declared):
    """Options of a fleet fit."""

    symbols: tuple[str, ...] | None = option(
        None,
        "Effects besides inertia.",
        choices=_effects,
        command="columns",
        otherwise="FV, FC, OFF and those that the records contain",
    )
    half_life: float | None = option(
        None,
        "Half-life of the exponential forgetting of past data.",
        unit="days",
        above=0,
        command="half-life",
        otherwise="all days have equal weight",
    )
    load: Array | None = option(
        None,
        "Payload directions (inertial columns, k): a mass of 1 kg at the flange, and optionally first moments. For "
        "robots with different payloads: estimates of the type then include the mean payload, and a robot's payload "
        "is the difference from it.",
    )
    physical: bool = option(False, "Also compute the best physically consistent parameters.", command="physical")
    workers: int = option(2, "Threads.", range=(1, 1000))


@dataclass(frozen=True, slots=True, repr=False)
class DriftOptions(Declared):
    """Options of drift detection and its report."""

    q: float = option(
        0.1,
        "False discovery rate: expected fraction of false alarms among the alarms.",
        range=(1e-4, 0.9),
        command="q",
        label="false alarms among alarms",
    )
    horizon: int = option(
        90,
        "Prior of the onset of a change: number of days with logs over which its probability is spread.",
        unit="days",
        range=(1, LONGEST),
        command="horizon",
        label="onset of a change within",
    )
    learning: int = option(
        30,
        "Number of training days: the first days with logs.",
        unit="days",
        range=(2, LONGEST),
        command="learning",
        label="training days",
    )
    today: int | None = option(
        None,
        "Day of the report, as the ordinal number that `date.toordinal` returns.",
        otherwise="the day of the newest log that is not dated in the future",
    )


@dataclass(frozen=True, slots=True, repr=False)
class AlarmOptions(Declared):
    """Options of an action on alarms."""

    by: str = option("", "Person who acts.", command="by", otherwise="the name of the user")
    reason: str = option("", "Reason; required to mute.", command="reason", otherwise="none")
    until: str = option("", "Last day on which an alarm is muted, as 2026-03-31.", command="until", otherwise="none")


@dataclass(frozen=True, slots=True, repr=False)
class EventOptions(Declared):
    """Row of the events of a store."""

    robot: str = option("", "Robot.", command="robot", otherwise="required")
    day: str = option("", "Day of the event, as 2026-03-31.", command="day", otherwise="today")
    joint: str = option("*", "Joint that was maintained; `*`: the whole robot.", command="joint")
    kind: str = option("maintenance", "Kind of event.", choices=EVENTS, command="kind")
    note: str = option("", "Note.", command="note", otherwise="none")


@dataclass(frozen=True, slots=True, repr=False)
class PublishOptions(Declared):
    """Where a report is sent."""

    prometheus: str = option("", "File for metrics in Prometheus text format.", command="prometheus", otherwise="none")
    webhook: str = option("", "URL that receives new alarms as JSON, by POST.", command="webhook", otherwise="none")
    mail: str = option("", "Address that receives new alarms by e-mail.", command="mail", otherwise="none")
    mailer: str = option("sendmail", "Program that sends e-mail; called as `sendmail -t`.", command="mailer")
    tables: str = option("", "Folder for alarms.parquet and levels.parquet.", command="tables", otherwise="none")


@dataclass(frozen=True, slots=True, repr=False)
class PruneOptions(Declared):
    """Options of the deletion of old records."""

    keep: int = option(
        365,
        "Days before the newest log whose records are kept.",
        unit="days",
        range=(SHORTEST, LONGEST),
        command="keep",
    )
    superseded: bool = option(
        False, "Also delete records of earlier settings whose logs were added again.", command="superseded"
    )

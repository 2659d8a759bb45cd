"""Wrenches of force/torque sensors in logs of joints: efforts of the sensors of a robot, beside those of its joints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from minertia.dynamics.model import forward_kinematics
from minertia.identification.campaigns.options import MOMENTS, SensorOptions
from minertia.identification.logs.file import Block, LogFile
from minertia.identification.logs.options import ColumnMap
from minertia.identification.logs.readers import open_log
from minertia.identification.logs.recording import Recording
from minertia.identification.signals.options import Filter
from minertia.io.arrays import Array
from minertia.io.errors import CampaignError, RecordingError
from minertia.robot.divided import PLATE, with_sensor
from minertia.robot.robot import Frame, Robot
from minertia.robot.sensor import AXES, Sensor

PLACED = "frame of the sensor"
SUFFIXES = (AXES, ("fx", "fy", "fz", "tx", "ty", "tz"))
ROWS = 1_000_000
HELD = 1 / 3  # part of rows that repeat the wrench before them, from which the sensor is slower than the joints
SLOWEST = 0.1  # s between wrenches, above which they say nothing of a motion


def sensed_robot(robot: Robot, sensors: Sequence[SensorOptions], tools: Sequence[str] = ("",)) -> Robot:
    """Robot with the sensors of a campaign; one sensor for each load, if its logs have different ones."""
    wanted = {_full_name(one, tool) for one in sensors for tool in tools or ("",)}
    known = [one.name for one in robot.sensors]
    if wanted <= set(known) or (known and not tools):  # a campaign without logs names no load
        return robot
    if known:
        raise CampaignError(
            f"the sensors are {', '.join(known)}; name one of their loads with tool in the log (--tool)"
        )
    for one in sensors:
        for tool in tools or ("",):
            robot = with_sensor(robot, one.at, _full_name(one, tool))
            if len(tools) > 1 and robot.sensors[-1].beyond:
                raise CampaignError(
                    f"sensor '{one.name or one.at}' carries joints, so that its logs cannot have different loads; "
                    "remove tool from the logs"
                )
    return robot


def loads_of_rows(sensors: Sequence[SensorOptions], rows: Sequence[str]) -> tuple[str, ...]:
    """Names of the loads on sensors, from the names of their efforts."""
    found: dict[str, None] = {}
    for one in sensors[:1]:
        own = one.name or one.at
        found |= dict.fromkeys(row[len(own) : -len(AXES[0])].strip() for row in rows if row.startswith(f"{own} "))
    return tuple(found) or ("",)


def _full_name(one: SensorOptions, tool: str) -> str:
    return f"{one.name or one.at} {tool}".strip()


def with_sensed(
    recording: Recording,
    robot: Robot,
    sensors: Sequence[SensorOptions],
    columns: ColumnMap,
    file: Path,
    tool: str = "",
) -> Recording:
    """Recording of joints with the wrenches of sensors from the same file, as efforts of the robot's sensors.

    tool: load on the sensors; efforts of sensors with another load are zero.
    """
    log = open_log(file, columns, robot)
    named = _columns_of(log, sensors, file)
    blocks = list(log.blocks(frozenset(name for own in named for name in own), ROWS))
    return _with_wrenches(recording, robot, sensors, [_wrench(blocks, own) for own in named], file, tool)


def sensed_blocks(
    recordings: Iterable[Recording],
    robot: Robot,
    sensors: Sequence[SensorOptions],
    columns: ColumnMap,
    file: Path,
    rows: int,
) -> Iterator[Recording]:
    """Blocks of `rows` samples of a recording of joints, each with the wrenches of sensors from the same file."""
    log = open_log(file, columns, robot)
    named = _columns_of(log, sensors, file)
    blocks = log.blocks(frozenset(name for own in named for name in own), rows)
    for recording, block in zip(recordings, blocks, strict=True):
        yield _with_wrenches(recording, robot, sensors, [_wrench([block], own) for own in named], file)


def _columns_of(log: LogFile, sensors: Sequence[SensorOptions], file: Path) -> list[tuple[str, ...]]:
    """Columns of the wrench of each sensor."""
    known = log.names()
    return [_names(one, known, len(sensors), file) for one in sensors]


def _wrench(blocks: Sequence[Block], names: Sequence[str]) -> Array:
    """Wrench (N, 6) as logged."""
    return np.column_stack([np.concatenate([block.columns[name] for block in blocks]) for name in names])


def _with_wrenches(
    recording: Recording,
    robot: Robot,
    sensors: Sequence[SensorOptions],
    wrenches: Sequence[Array],
    file: Path,
    tool: str = "",
) -> Recording:
    """Recording with the logged wrenches (N, 6) of sensors as efforts."""
    found = np.zeros((len(recording), 6 * len(robot.sensors)))
    for one, wrench in zip(sensors, wrenches, strict=True):
        k = [each.name for each in robot.sensors].index(_full_name(one, tool))
        place = robot.sensors[k]
        if len(wrench) != len(recording):
            raise RecordingError(
                f"the columns of sensor '{place.name}' and of the joints differ in length; repair the malformed rows",
                file=file,
            )
        wrench = at_every_row(recording.t, wrench, place.name, str(file))
        wrench[:, 3:] *= MOMENTS[one.moment]
        sign = -1.0 if one.of == "sensor" else 1.0
        found[:, 6 * k : 6 * k + 6] = sign * in_sensor_axes(robot, one, place, recording.q, wrench)
    return replace(recording, sensed=found)


def _names(one: SensorOptions, known: Sequence[str], count: int, file: Path) -> tuple[str, ...]:
    """Columns of a sensor's wrench: as given, else its name with a suffix, else the suffix of an only sensor."""
    if one.columns is not None:
        for name in one.columns:
            if name not in known:
                raise RecordingError(
                    f"there is no column '{name}' for the wrench of sensor '{one.name or one.at}'; correct columns in "
                    "[[sensor]]",
                    file=file,
                )
        return tuple(one.columns)
    stems = [f"{one.name or one.at}_", *([""] if count == 1 else [])]
    tried = [tuple(f"{stem}{suffix}" for suffix in own) for stem in stems for own in SUFFIXES]
    for names in tried:
        if set(names) <= set(known):
            return names
    nearest = max(tried, key=lambda names: len(set(names) & set(known)))
    missing = " ".join(name for name in nearest if name not in known)
    raise RecordingError(
        f"the log has no columns {missing} for the wrench of sensor '{one.name or one.at}'; name six columns with "
        "columns in [[sensor]]",
        file=file,
    )


def at_every_row(t: Array, wrench: Array, name: str, source: str) -> Array:
    """Wrench (N, 6) at every row of a log whose joints may be sampled faster.

    Rows without a wrench, or with that of the row before, are interpolated between the others.
    """
    is_new = np.isfinite(wrench).all(axis=1)
    same = np.zeros(len(wrench), bool)
    same[1:] = np.all(wrench[1:] == wrench[:-1], axis=1)
    if is_new.all() and same.mean() > HELD:
        is_new &= ~same
    if is_new.all():
        return wrench.copy()
    own = np.flatnonzero(is_new)
    steps = np.diff(t[own])
    if len(own) < 2 or float(np.median(steps)) > SLOWEST:
        rate = "less than 2 wrenches" if len(own) < 2 else f"a wrench every {float(np.median(steps)):.2g} s"
        raise RecordingError(
            f"sensor '{name}' has {rate}, too few for a log of motion; record it at 10 Hz or more, or weigh the tool "
            "at rest (minertia wrench)",
            file=source,
        )
    return np.stack([np.interp(t, t[own], wrench[own, k]) for k in range(6)], axis=1)


def in_sensor_axes(robot: Robot, one: SensorOptions, sensor: Sensor, q: Array, wrench: Array) -> Array:
    """Wrench at the sensor's origin in its axes, from its axes or from those of the base."""
    if one.axes == "sensor" or one.at == PLATE:
        return wrench
    R = np.asarray(forward_kinematics(placed_frame(robot, sensor), q, PLACED)[0])
    return np.concatenate([np.einsum("...ji,...j->...i", R, wrench[:, s]) for s in (slice(0, 3), slice(3, 6))], axis=1)


def placed_frame(robot: Robot, sensor: Sensor) -> Robot:
    """Robot with whole links and the frame of a sensor, named `PLACED`."""
    return replace(robot.without_sensors, frames={**robot.frames, PLACED: Frame(sensor.joint, sensor.pose)})


def settled_rows(rows: str | None, recordings: Sequence[Recording]) -> str:
    """Equations to fit: all, or those of the sensors where logs have no joint efforts."""
    without = [r.source for r in recordings if r.tau is None]
    if rows == "all" and without:
        raise RecordingError('the log has no joint efforts; record them, or set rows = "sensors"', file=without[0])
    return rows or ("sensors" if without else "all")


def precise(given: Filter) -> Filter:
    """Filter whose derivatives are as precise as force/torque sensors.

    Differences over 3 points err by 2e-4 at 0.5 Hz and a rate of 100 Hz, more than gains from a plate do.
    """
    return replace(given, derivative="central5") if given.derivative == "central" else given


def refuse_with_sensors(equations: str, is_loaded: bool) -> None:
    """Raise an error for settings that equations of sensors do not support."""
    if equations != "torque":
        raise CampaignError(f"{equations} equations have no wrenches of sensors; use torque equations in [filter]")
    if is_loaded:
        raise CampaignError("a known payload and sensors cannot be combined; remove load from the log, or [[sensor]]")

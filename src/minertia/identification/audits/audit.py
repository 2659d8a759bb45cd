"""`audit`: data quality check of a recording, each finding with its channel and row."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from minertia.identification.audits import motion, time, values
from minertia.identification.audits.findings import LEVELS, Finding
from minertia.identification.audits.values import commands
from minertia.identification.logs.recording import MATRICES, Recording, expect_recording
from minertia.io.resources import one_thread
from minertia.robot.files import RobotLike, as_robot
from minertia.robot.robot import Robot

SHORTEST = 10  # samples below which the values are not looked at
Check = Callable[[Recording, Robot | None], Iterator[Finding]]

# in the order in which they are told; the others look at the longest part without values that are not numbers
WHOLE_CHECKS: tuple[Check, ...] = (
    time.length,
    time.torn,
    time.rate,
    time.unit,
    time.order,
    time.gaps,
    values.not_numbers,
)
CHECKS: tuple[Check, ...] = (
    values.constant,
    values.held,
    values.stuck,
    values.saturation,
    values.quantisation,
    values.spikes,
    motion.degrees,
    motion.limits,
    motion.velocities,
    motion.accelerations,
    motion.standstill,
    motion.delay,
    commands,
)


def audit(recording: Recording, robot: RobotLike | None = None) -> tuple[Finding, ...]:
    """Check the data quality of a recording; `robot` adds checks of limits, units and the delay of the efforts."""
    expect_recording(recording)
    if robot is not None:
        robot = as_robot(robot)
    with np.errstate(all="ignore"), one_thread():  # absurd values are told of, not warned about
        found = [finding for check in WHOLE_CHECKS for finding in check(recording, robot)]
        part = _finite_part(recording)
        if part is not None:
            found += [finding for check in CHECKS for finding in check(part, robot)]
    return tuple(found)


def _finite_part(recording: Recording) -> Recording | None:
    """Longest segment of rows without non-finite values; None if it is too short."""
    if recording.has_gaps_in_values:
        channels = [getattr(recording, name) for name in MATRICES if getattr(recording, name) is not None]
        finite = np.logical_and.reduce([np.isfinite(v).all(axis=1) for v in channels])
        a, b = max(values.runs(finite), key=lambda run: run[1] - run[0], default=(0, -1))
        recording = recording.select(slice(a, b + 1))
    return recording if len(recording) >= SHORTEST else None


def worst(findings: tuple[Finding, ...]) -> str:
    """Highest severity level among findings; "info" if there are none."""
    return max((f.level for f in findings), key=LEVELS.index, default="info")


__all__ = ["CHECKS", "WHOLE_CHECKS", "Finding", "audit", "worst"]

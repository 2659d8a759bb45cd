"""`audit`: what a recording is worth before anything is fitted to it, each finding with its channel and row."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from minertia.identification import audit_motion, audit_time, audit_values
from minertia.identification.findings import LEVELS, Finding
from minertia.identification.recording import Recording
from minertia.robot.robot import Robot

Check = Callable[[Recording, Robot | None], Iterator[Finding]]

# in the order in which they are told
CHECKS: tuple[Check, ...] = (
    audit_time.length,
    audit_time.rate,
    audit_time.order,
    audit_time.gaps,
    audit_values.not_numbers,
    audit_values.constant,
    audit_values.held,
    audit_values.stuck,
    audit_values.saturation,
    audit_values.quantisation,
    audit_values.spikes,
    audit_motion.degrees,
    audit_motion.limits,
    audit_motion.velocities,
    audit_motion.accelerations,
    audit_motion.standstill,
    audit_motion.delay,
)


def audit(recording: Recording, robot: Robot | None = None) -> tuple[Finding, ...]:
    """Everything worth saying about a recording; `robot` adds limits, units and the delay of the efforts."""
    return tuple(finding for check in CHECKS for finding in check(recording, robot))


def worst(findings: tuple[Finding, ...]) -> str:
    """The highest level among findings."""
    return max((f.level for f in findings), key=LEVELS.index, default="info")


__all__ = ["CHECKS", "Finding", "audit", "worst"]

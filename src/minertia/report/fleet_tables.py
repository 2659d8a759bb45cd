"""Tables of fleets, for the terminal and the page."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from minertia.fleet.alarm_life import AlarmLife
from minertia.fleet.alarms import FleetAlarm
from minertia.fleet.calendar import day_name
from minertia.fleet.drift import FleetDrift
from minertia.fleet.findings import RobotFinding
from minertia.fleet.fit_result import FleetFit
from minertia.fleet.outliers import OutlierRobot
from minertia.report.tables import Table

MOST_ROBOTS = 12  # named in one line


def change_text(alarm: FleetAlarm) -> str:
    """Change of an alarm as text: +19.8 % +- 1.6 %, or +0.37 +- 0.01 kg."""
    if alarm.unit == "kg":
        return f"{alarm.change:+.3g} \u00b1 {1.96 * alarm.deviation:.2g} kg"
    return f"{100 * alarm.change:+.1f} \u00b1 {196 * alarm.deviation:.1f} %"


def since_text(alarm: FleetAlarm) -> str:
    """Start of a change as text: a day, or the days between which it began."""
    first, last = (day_name(d) for d in alarm.since)
    return first if first == last else f"{first} to {last}"


def chance_text(alarm: FleetAlarm) -> str:
    """Bound on the chance of a false alarm as text: 1 in the alarm's e-value."""
    if alarm.e > 1e6:
        return f"1 in 10^{int(np.floor(np.log10(alarm.e)))}"
    return f"1 in {alarm.e:.0f}"


def alarm_table(alarms: Sequence[FleetAlarm]) -> Table:
    """Alarms, worst first."""
    headers = ("robot", "joint", "what changed", "by", "since", "by chance", "of the effort limit")
    rows = tuple(
        (
            a.robot,
            a.joint or "",
            a.what,
            change_text(a),
            since_text(a),
            chance_text(a),
            "" if a.cost is None else f"{100 * a.cost:.1f} %",
        )
        for a in alarms
    )
    return Table(headers, rows, right=(3, 5, 6), keys=2).without_empty_columns()


def finding_table(findings: Sequence[RobotFinding]) -> Table:
    """Robots with alarms, with the cause that explains their alarms together."""
    rows = tuple((own.robot, own.text, ", ".join(own.joints), own.suggestion) for own in findings)
    return Table(("robot", "what happened", "joints", "what to do"), rows, keys=1).without_empty_columns()


def life_table(lives: Sequence[AlarmLife]) -> Table:
    """Alarms with their states."""
    headers = ("alarm", "state", "what", "since", "last", "by", "reason", "until")
    rows = tuple(
        (own.row.alarm, own.state, own.row.what, own.row.since_first, own.last, own.by, own.reason, own.until)
        for own in lives
    )
    return Table(headers, rows, keys=1).without_empty_columns()


def not_judged_table(found: FleetDrift) -> Table:
    """Robots not evaluated and why; joints of one robot with the same reason are grouped."""
    groups: OrderedDict[tuple[str, str], list[str]] = OrderedDict()
    for own in found.not_judged:
        groups.setdefault((own.robot, own.reason), []).append(own.joint or "")
    rows = tuple((robot, ", ".join(j for j in joints if j), reason) for (robot, reason), joints in groups.items())
    return Table(("robot", "joints", "why"), rows, keys=1).without_empty_columns()


def ranked_robots(found: FleetDrift) -> tuple[list[str], int]:
    """All robots, alarms first by severity, then those no longer evaluated; and the size of these two groups."""
    worst = {alarm.robot: k for k, alarm in reversed(list(enumerate(found.alarms)))}
    lost = {own.robot for own in found.no_longer}
    names = sorted(found.robots, key=lambda r: (worst.get(r, len(found.alarms)), r not in lost, r))
    return names, sum(name in worst or name in lost for name in names)


def no_longer_table(found: FleetDrift) -> Table:
    """Robots that were evaluated earlier but no longer are."""
    rows = tuple((own.robot, ", ".join(own.joints), day_name(own.until), own.reason) for own in found.no_longer)
    return Table(("robot", "joints", "judged until", "why"), rows, keys=1).without_empty_columns()


def outlier_table(outliers: Sequence[OutlierRobot], fit: FleetFit) -> Table:
    """Outlier robots, with the most deviating parameter."""
    rows = []
    for own in outliers:
        robot, joint = fit.robots[own.robot], own.name[2:]
        value = robot.values[robot.names.index(own.name)]
        between = fit.between.get(joint)
        usual = "" if between is None else f"{between.mean[between.names.index(own.name)]:.4g}"
        rows.append((own.robot, own.name, f"{value:.4g}", usual, f"{own.deviations:+.1f}", f"{own.p:.1g}"))
    return Table(("robot", "value", "is", "usual", "deviations", "p"), tuple(rows), right=(2, 3, 4, 5), keys=2)


def friction_table(fit: FleetFit) -> Table:
    """Variation between robots of a type, joint by joint."""
    rows = [
        (name, f"{mean:.4g}", f"{deviation:.2g}", f"{spread:.2g}")
        for own in fit.between.values()
        for name, mean, deviation, spread in zip(own.names, own.mean, own.deviation, own.spread, strict=True)
    ]
    return Table(("value", "fleet mean", "its deviation", "between robots"), tuple(rows), right=(1, 2, 3))


def robot_table(fit: FleetFit, robot: str) -> Table:
    """Parameters of one robot."""
    own = fit.robots[robot]
    rows = tuple(
        (name, f"{value:.5g}", "" if np.isnan(deviation) else f"{deviation:.2g}")
        for name, value, deviation in zip(own.names, own.values, own.deviation, strict=True)
        if np.isfinite(value)
    )
    return Table(("value", "is", "deviation"), rows, right=(1, 2)).without_empty_columns()


def inertial_table(fit: FleetFit) -> Table:
    """Parameters shared by robots of a type."""
    own = fit.type
    physical = [f"{v:.5g}" for v in own.physical.beta] if own.physical is not None else [""] * len(own.names)
    rows = tuple(
        (name, f"{value:.5g}", "" if np.isnan(deviation) else f"{deviation:.2g}", body)
        for name, value, deviation, body in zip(own.names, own.values, own.deviation, physical, strict=True)
    )
    headers = ("value", "is", "deviation", "physical robot")
    return Table(headers, rows, right=(1, 2, 3)).without_empty_columns()

"""`LoopLog`: commands and positions of one log, uniformly sampled, and the command in each simulation step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minertia.codegen.rollout.commands import Follow, HeldCommand, followed
from minertia.codegen.rollout.task import OF_SUPPLY, LoopCommand, Supply
from minertia.identification.campaigns.campaign import Campaign, Log, joint_names
from minertia.identification.campaigns.options import REFERENCE, ElasticJoints
from minertia.identification.campaigns.prepared import PreparedLog
from minertia.identification.campaigns.recorded import RecordedLog, recorded_log
from minertia.identification.closed_loop.layout import SprungLayout
from minertia.identification.logs.recording import Recording, check_finite
from minertia.io.errors import CampaignError, RecordingError
from minertia.robot.joint import Elastic
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
SKIPPED = 0.3  # s at the start that are simulated and not counted: where it starts is only estimated
START_ROWS = 8  # from which the start is estimated
REST = 3.0  # deviations of a starting velocity below which the robot stands
WITHOUT_LOAD = 90  # percentile of the logged voltages that is that without load; higher ones may be misread
FEWEST = 20  # rows that can be fitted
FASTER = 2.0  # times the highest speed between two rows: within them a joint may be faster
LEAST_TRAVEL = 1e-9  # rad or m between two rows of a joint that stands


class GivenCommands(NamedTuple):
    """Commands u (M, n) as they were given, and when (M,), counted from the first row of a log [s].

    ud (M, n): commanded velocities, or None.
    """

    u: Array
    t: Array
    ud: Array | None

    def later(self, time: float) -> GivenCommands:
        """Commands counted from a later time on [s]; the first one is that which is held then."""
        first = max(int(np.searchsorted(self.t, time, side="right")) - 1, 0)
        return GivenCommands(
            self.u[first:], np.asarray(self.t[first:] - time), None if self.ud is None else self.ud[first:]
        )


@dataclass(frozen=True)
class LoopLog(PreparedLog):
    """Log of commands, as one block: sampling period, positions, commands and initial state.

    period [s].  q, u (N, n): measured positions and commands [rad or m].  ud: commanded velocities, or None.
    q0, v0: initial state.  With elastic joints (layout), q contains the measured coordinates, and q0, v0 all
    coordinates.  lead: time by which a row's command takes effect before the row's positions are read [s].
    first: first row that is fitted and evaluated.  carried: contribution of a known payload to the link
    parameters of a simulation, else None.  pushed: mask (N, n) of positions known to be under external
    contact, which are excluded from fits; None if a fit is to detect them.  supply: what drives the motors in
    each row (N, n), of servos with the law "servo".  logged: commands as they were given, at times that
    need not be those of rows; None: at the rows.
    """

    recording: Recording
    period: float
    q: Array
    u: Array
    ud: Array | None
    q0: Array
    v0: Array
    lead: float
    first: int
    carried: Array | None = None
    pushed: NDArray[np.bool_] | None = None
    layout: SprungLayout | None = None
    supply: Supply | None = None
    logged: GivenCommands | None = None

    @property
    def given(self) -> GivenCommands:
        """Commands, and when they were given."""
        return self.logged or GivenCommands(self.u, np.asarray(self.period * np.arange(len(self.u)), float), self.ud)

    @property
    def told(self) -> Array:
        """Command of the joint of each measured position, (N, outputs)."""
        return self.u if self.layout is None else np.asarray(self.u[:, self.layout.joint_of])

    @property
    def lag(self) -> Array:
        """Tracking error: measured positions minus commands (N, outputs) [rad or m]."""
        return np.asarray(self.q - self.told)

    @property
    def rows(self) -> slice:
        """Slice of the rows that are fitted and evaluated."""
        return slice(self.first, None)

    @property
    def samples(self) -> int:
        """Number of rows that are fitted and evaluated."""
        return len(self.q) - self.first

    def fastest_start(self, layout: SprungLayout) -> Array:
        """Velocity at which each coordinate starts at most, from the highest one between any two rows."""
        rates = np.abs(np.diff(self.q, axis=0)).max(axis=0, initial=LEAST_TRAVEL) / self.period
        return np.asarray(np.maximum(FASTER * rates[list(layout.shown_by)], np.abs(self.v0)))

    def part(self, first: int, stop: int) -> LoopLog:
        """Segment of the log as a separate log."""
        rows = slice(first, stop)
        q0, v0 = start_of(self.q[rows], self.period, self.layout)
        ud = None if self.ud is None else self.ud[rows]
        return replace(
            self, name=f"{self.name}, a part", q=self.q[rows], u=self.u[rows], ud=ud, q0=q0, v0=v0,
            recording=self.recording.select(rows), pushed=None if self.pushed is None else self.pushed[rows],
            supply=None if self.supply is None else rows_of(self.supply, rows),
            logged=None if self.logged is None else self.logged.later(self.period * first),
        )  # fmt: skip

    def command(
        self,
        steps: int,
        delay: float,
        joints: tuple[int, ...],
        *,
        linear: bool,
        by_rate: bool,
        target: Sequence[Array] | None = None,
        follow: Follow = followed,
    ) -> LoopCommand:
        """Command of a joint group in each simulation step, with `steps` per row and the given delay [s].

        target: speeds at which the targets follow the commands [rad/s, m/s], and lapses, of each joint; None: at once.
        follow: what computes these targets.
        """
        told, own = self.given, list(joints)
        u, h, count = told.u[:, own], self.period / steps, (len(self.u) - 1) * steps
        if self.supply is not None:
            speeds, lapses = np.zeros((2, len(joints))) if target is None else target
            found = follow(u, told.t, speeds, lapses, self.lead - delay, h, count)
            supply = rows_of(self.supply, np.s_[: len(self.u), own])
            return LoopCommand(found.means, found.by_delay, u_s=found.by_speed, u_l=found.by_lapse, supply=supply)
        edges = np.asarray(h * np.arange(count + 1) - delay + self.lead, float)
        mean, slope = HeldCommand(u, told.t, linear).means(edges)
        if not by_rate:
            return LoopCommand(mean, slope)
        if told.ud is not None:
            rate, rate_slope = HeldCommand(told.ud[:, own], told.t, linear).means(edges)
        else:
            ends = HeldCommand(u, told.t, True).at(edges)
            rate = np.diff(ends, axis=0) / h
            rate_slope = -np.gradient(rate, h, axis=0)
        return LoopCommand(mean, slope, rate, rate_slope)


def rows_of(supply: Supply, rows: Any) -> Supply:
    """Supply of some rows, or rows and joints."""
    return Supply(**{key: getattr(supply, key)[rows] for key in OF_SUPPLY})


def supply_of(campaign: Campaign, log: Log, whole: Recording, given: Recording | None = None) -> Supply | None:
    """What drives the motors in each row of a log, under the law "servo"; else None.  given: before resampling."""
    command, shape = campaign.command, whole.q.shape
    if command.law != "servo":
        return None
    assert command.error_gain is not None  # `Command` refuses others
    register = command.register if log.register is None else log.register
    if register is None:
        raise CampaignError(
            f"the firmware's gain of {log.name} is not known; give register in [command], or with the log"
        )
    logged = whole.channels.get("volts")
    volts = logged
    if volts is None:
        stated = command.volts if log.volts is None else log.volts
        if stated is None:
            raise CampaignError(
                f"the supply voltage of {log.name} is not known; give volts in [command] or with the log, or name its "
                "column, volts in [columns]"
            )
        volts = np.full(shape, stated)
    on = np.where(np.asarray(whole.channels.get("enabled", np.ones(shape))) > 0.5, 1.0, 0.0)
    if given is not None and "enabled" in given.channels:  # means of rows: a motor is switched between them, too
        switched = np.where(given.channels["enabled"] > 0.5, 1.0, 0.0)
        period = whole.duration / (len(whole) - 1)
        at_once = np.zeros(shape[1])
        on[:-1] = followed(switched, given.t - whole.t[0], at_once, at_once, 0.0, period, len(on) - 1).means
    warm = whole.channels.get("temperature", np.full(shape, command.temperature))
    sags = command.each("supply_sag", shape[1])
    if any(sags):  # a servo that is asked once a second for its supply answers with what it was at that instant
        volts = np.broadcast_to(np.percentile(volts, WITHOUT_LOAD, axis=0), shape)
    own = np.asarray(volts * on)
    return Supply(command.error_gain * register * own, command.duty_limit * own, on, own, warm - REFERENCE)


def with_supply(campaign: Campaign, logs: Sequence[LoopLog]) -> Campaign:
    """Campaign whose servos have a register, supply and temperature: as given, else the medians of the logs."""
    command = campaign.command
    if command.law != "servo":
        return campaign
    registers = [x for log in campaign.train if (x := command.register if log.register is None else log.register)]
    own = [log.supply for log in logs if log.supply is not None]
    volts, heat = (
        float(np.median(np.concatenate([getattr(x, key)[x.on > 0] for x in own]))) for key in ("volts", "heat")
    )
    register = float(np.median(registers)) if command.register is None else command.register
    supply = volts if command.volts is None else command.volts
    command = replace(command, register=register, volts=supply, temperature=REFERENCE + heat)
    return replace(campaign, command=command)


def loop_log(campaign: Campaign, log: Log) -> LoopLog:
    """Read and repair a log of commands and positions; raises an error where it has no commands."""
    return commanded_log(campaign, recorded_log(campaign, log, simulated=True))


def commanded_log(campaign: Campaign, log: RecordedLog) -> LoopLog:
    """Command log of a log that was read and repaired; raises an error for positions that appear to be degrees."""
    wrong = next((f for f in log.findings if f.check == "degrees"), None)
    if wrong is not None:
        raise RecordingError(
            f'{wrong.text} (if so, set angle = "deg" in [columns], of the campaign or of a file given '
            "with --columns; convert scaled values, such as -100 to 100, first)",
            file=log.log.name,
            column=wrong.channel or None,
        )
    made = made_log(campaign, log.log.name, log.beginning)
    supply, given = supply_of(campaign, log.log, log.beginning, log.given), log.given
    logged = None
    if given is not None:
        times = np.asarray(given.t - log.beginning.t[0], float)
        logged = GivenCommands(np.asarray(given.channels["command"]), times, given.channels.get("command_velocity"))
    return replace(made, findings=log.findings, supply=supply, logged=logged)


def made_log(campaign: Campaign, name: str, whole: Recording) -> LoopLog:
    """Command log of a uniformly sampled recording."""
    u = whole.channels.get("command")
    if u is None:
        raise RecordingError(
            "the log has neither efforts nor commands; name the columns of either (effort, or command) in [columns], "
            "of the campaign or of a file given with --columns",
            file=name,
        )
    check_finite(whole, ("command",))
    period = whole.duration / (len(whole) - 1)
    first = round(SKIPPED / period)
    if len(whole) - first < FEWEST:
        raise RecordingError(f"the log has {len(whole)} rows, too few to be simulated and fitted", file=name)
    layout = layout_of(campaign)
    q = _measured(whole, layout)
    q0, v0 = start_of(q, period, layout)
    lead = period if campaign.map.command_when == "after" else 0.0
    ud = whole.channels.get("command_velocity")
    return LoopLog(name, whole, period, q, np.asarray(u), ud, q0, v0, lead, first, layout=layout)


def elastic_joints(given: ElasticJoints, robot: Robot) -> dict[int, Elastic]:
    """Elastic coordinates of a robot (from 0), with initial values of stiffness and damping."""
    known = robot.elastic
    if given.joints:
        names = joint_names(robot, given.joints)
        known = {c: known.get(c, Elastic()) for c in map(robot.coordinate_names.index, names)}
    starts = []
    for name in ("stiffness", "damping"):
        value = getattr(given, name)
        if isinstance(value, tuple) and len(value) != len(known):
            raise CampaignError(f"elastic.{name} has {len(value)} values, but {len(known)} joints are elastic")
        starts.append(value if isinstance(value, tuple) else (value,) * len(known))
    return {
        c: Elastic(_start(k, own.stiffness), _start(d, own.damping))
        for (c, own), k, d in zip(known.items(), *starts, strict=True)
    }


def _start(given: float | str | None, own: float | None) -> float | None:
    if given is None:
        return own
    return None if isinstance(given, str) else float(given)


def layout_of(campaign: Campaign) -> SprungLayout:
    """Layout of a campaign's coordinates; raises an error if the encoder side of elastic joints is unspecified."""
    robot, given = campaign.robot, campaign.elastic
    elastic = tuple(elastic_joints(given, robot))
    if elastic and given.encoder is None:
        raise CampaignError(
            'some joints are elastic, but the logs contain one position per joint; set encoder = "motor" or '
            '"link" in [elastic] for the side on which it was measured, or name the columns of the second '
            "encoder, motor in [columns]"
        )
    return SprungLayout(robot.n, elastic, given.encoder or "link", given.feedback)


def with_encoder(campaign: Campaign, recordings: Sequence[Recording]) -> Campaign:
    """Campaign with the encoder side of its elastic joints set: "both" where the logs have two encoders."""
    given = campaign.elastic
    if given.encoder is not None or not elastic_joints(given, campaign.robot):
        return campaign
    both = all("motor" in recording.channels for recording in recordings)
    return replace(campaign, elastic=replace(given, encoder="both")) if both else campaign


def _measured(whole: Recording, layout: SprungLayout) -> Array:
    """Measured positions of the outputs of a layout, (N, outputs)."""
    q, motor = np.asarray(whole.q), whole.channels.get("motor")
    if not layout.elastic or layout.encoder == "link" or (layout.encoder == "motor" and motor is None):
        return q
    if motor is None:
        raise RecordingError(
            "the log has one encoder per joint, but two are requested; name the columns of the motor positions, "
            'motor in [columns], or set encoder = "motor" or "link" in [elastic]',
            file=whole.source or None,
        )
    own = np.asarray(motor[:, layout.elastic])
    if not np.isfinite(own).all():
        raise RecordingError(
            "a motor position is not a number; drop such rows with --drop-torn", file=whole.source or None
        )
    if layout.encoder == "both":
        return np.asarray(np.hstack([q, own]))
    return np.asarray(np.where(np.isin(np.arange(layout.n), layout.elastic), motor, q))


def start_of(q: Array, period: float, layout: SprungLayout | None = None) -> tuple[Array, Array]:
    """Initial position and velocity from a parabola through the first rows; zero velocity if probably at rest.

    A joint that begins to move within these rows bends the parabola: its first half of them tells no such velocity.
    layout: of elastic joints, whose unmeasured coordinates are initialised with the other side of their spring.
    """
    rows = min(START_ROWS, len(q))
    t = period * np.arange(rows)
    A = np.stack([np.ones(rows), t, t * t], axis=1)
    found, *_ = np.linalg.lstsq(A, q[:rows], rcond=None)
    noise = np.sqrt(np.sum((q[:rows] - A @ found) ** 2, axis=0) / max(rows - 3, 1))
    deviation = noise * np.sqrt(np.linalg.inv(A.T @ A)[1, 1])
    half = rows // 2
    spread = t[:half] - t[:half].mean()
    early = spread @ q[:half] / np.sum(spread**2)
    begins = early * np.sign(found[1]) <= REST * noise / np.sqrt(np.sum(spread**2))
    is_still = np.abs(found[1]) <= REST * deviation + 1e-12
    place = np.where(is_still, q[:rows].mean(axis=0), np.where(begins, q[:half].mean(axis=0), found[0]))
    q0, v0 = place, np.where(is_still | begins, 0.0, found[1])
    own = slice(None) if layout is None else list(layout.shown_by)
    return q0[own], v0[own]

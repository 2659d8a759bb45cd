"""`minertia run`: run a trajectory on a robot in speed stages, monitored in every period."""

from __future__ import annotations

import select
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from minertia.cli.limits import Floor, Limits, SelfCollision, limit_tables
from minertia.cli.options import AsJson, Force, RobotName, Snap, option, read_given
from minertia.cli.stop import was_stopped
from minertia.cli.terminal import diagnose, say, say_json, say_table
from minertia.io.errors import MinertiaError
from minertia.robot.options import RobotOptions
from minertia.running.options import DRIVERS, SIMULATED, RunOptions

if TYPE_CHECKING:
    from minertia.excitation.route import Route
    from minertia.identification.watch import OnlineWatch
    from minertia.robot.robot import Robot
    from minertia.running.driver import Driver, JointReading
    from minertia.running.gate_limits import GateLimits
    from minertia.running.guard import Guard
    from minertia.running.ladder import RungLog, Stop

SAME_RATE = 0.02  # part by which the rate of a run may differ from that of the levels of its watch

MotionPlace = Annotated[
    Path, typer.Argument(metavar="MOTION", help="Output folder of excite, or one of its CSV files.")
]
Host = Annotated[
    str | None, option("host", "HOST", "Host name or address of the robot; for ros2 that of rosbridge, ws://HOST:9090.")
]
Rehearsed = Annotated[
    Path | None, option("rehearsed", "FILE", "run.toml of a rehearsal of the same trajectory on the simulated robot.")
]
Levels = Annotated[
    Path | None,
    option(
        "levels",
        "FILE",
        "levels.toml of `minertia watch --out`: report changes of payload or residuals; ROBOT must then be the model.",
    ),
]
LogsPlace = Annotated[Path, typer.Option("--out", metavar="DIR", help="Output folder for the logs and the record.")]


@dataclass(frozen=True)
class LogFolder:
    """Output settings of logs: folder, overwriting and message format."""

    out: Path
    force: bool
    as_json: bool


@dataclass(frozen=True)
class _RunTask:
    """Settings of a run: speed factors, command rate [Hz], and the limits that the trajectory was checked against."""

    robot: Robot
    way: Route
    driver: str
    parts: list[float]
    guard: Guard
    rate: float
    held: GateLimits

    @property
    def limits(self) -> str:
        """Digest of the limits that the trajectory was checked against."""
        return self.held.digest(self.robot)

    @property
    def is_simulated(self) -> bool:
        """Whether the driver is simulated."""
        return self.driver == SIMULATED


def run(
    robot: RobotName,
    motion: MotionPlace,
    options: RunOptions,
    how: RobotOptions,
    host: Host = None,
    rehearsed: Rehearsed = None,
    limits: Limits = None,
    floor: Floor = None,
    self_collision: SelfCollision = None,
    levels: Levels = None,
    out: LogsPlace = Path("run"),
    snap: Snap = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Run a trajectory on a robot at 10, 50 and 100 % speed, stop at the first fault, and record the logs."""
    from minertia.excitation.limits_file import LimitsTable
    from minertia.io.files import check_folder
    from minertia.running.gate import read_route
    from minertia.running.gate_limits import gate_limits
    from minertia.running.guard import Guard
    from minertia.running.ladder import check_first
    from minertia.running.record import FILE, log_name, require_rehearsed

    given = read_given(robot, how, snap, numbers=True)
    parts = options.factors
    if not options.is_simulated:
        check_first(parts)
    guard = Guard.of(given, options.error, options.effort, in_amperes=options.driver == "ur")
    tables: list[LimitsTable] = limit_tables(limits or (), floor, self_collision)
    held = gate_limits(motion, given, tables)
    way = read_route(motion, given, held.limits)
    often = _rate(options, rehearsed)
    _check_rate(way, guard, often)
    task = _RunTask(given, way, options.driver, parts, guard, often, held)
    _say_unwatched(guard)
    diagnose(held.sentence)
    if not task.is_simulated:
        require_rehearsed(rehearsed, given, way, max(parts), rate=often, limits=task.limits)
    check_folder(out, (FILE, *map(log_name, parts)), force=force)
    logs, column, failed = _climbed(task, host, levels)
    _deliver(task, column, logs, LogFolder(out, force, as_json))
    if failed:
        diagnose(failed)
    if logs[-1].aborted or failed:
        if was_stopped():
            raise KeyboardInterrupt
        raise typer.Exit(1)


def _climbed(task: _RunTask, host: str | None, levels: Path | None) -> tuple[list[RungLog], str, str]:
    """Run the speed stages; return their logs, the template of the effort columns, and the closing error or ""."""
    from minertia.running.identity import check_identity
    from minertia.running.ladder import climb

    logs: list[RungLog] = []
    column = ""
    try:
        with _driver(task, host) as arm, _stop_key() as stop:
            column = arm.effort
            if not task.is_simulated:
                diagnose(check_identity(arm, task.robot, task.held.limits))
            watch = _Listener.of(task.robot, arm, levels)
            logs = climb(
                arm, task.way, task.guard, speeds=task.parts, stop=stop, progress=_say_rung, listen=watch, say=diagnose
            )
    except (Exception, KeyboardInterrupt) as err:
        if not logs:
            raise
        first = (str(err).splitlines() or [""])[0][:120]
        return logs, column, f"the driver could not be closed ({type(err).__name__}: {first}); check the robot"
    return logs, column, ""


def _rate(options: RunOptions, rehearsed: Path | None) -> float:
    """Command rate [Hz]: as given, as rehearsed, or the driver's default."""
    from minertia.running.record import rehearsed_rate

    if options.rate is not None:
        return options.rate
    found = None if rehearsed is None or options.is_simulated else rehearsed_rate(rehearsed)
    return DRIVERS[options.driver] if found is None else found


def _check_rate(way: Route, guard: Guard, rate: float) -> None:
    from minertia.excitation.sampled import SampledMotion
    from minertia.running.gate import check_rate

    for _, part in way.parts:
        if isinstance(part, SampledMotion):
            check_rate(part, guard.error, rate, guard.names)


class _Listener:
    """On-line monitor beside a run; it reports alarms and never stops the robot."""

    def __init__(self, watch: OnlineWatch | None) -> None:
        self.watch = watch

    @classmethod
    def of(cls, robot: Robot, driver: Driver, levels: Path | None) -> _Listener:
        """Monitor for the rate and the effort unit of a driver."""
        if levels is None:
            return cls(None)
        from minertia.identification.online.levels import read_levels
        from minertia.identification.watch import OnlineWatch

        known = read_levels(levels)
        if not driver.effort.startswith("tau"):
            raise MinertiaError("monitoring needs efforts in N m or N, but this driver reports currents; omit --levels")
        if abs(known.rate * driver.period - 1) > SAME_RATE:
            raise MinertiaError(
                f"the noise levels are for {known.rate:.4g} samples per second, but the robot is sampled "
                f"{1 / driver.period:.4g} times per second; give that --rate"
            )
        return cls(OnlineWatch(robot, known))

    def __call__(self, now: JointReading) -> None:
        alarm = None if self.watch is None or now.effort is None else self.watch.step(now.q, now.effort)
        if alarm is not None:
            diagnose(alarm.sentence())


def _say_unwatched(guard: Guard) -> None:
    """Print the joints whose efforts are monitored, if some are not."""
    joints = guard.unwatched
    if joints:
        whose = "no joint" if len(joints) == len(guard.names) else f"all joints but {', '.join(joints)}"
        diagnose(f"efforts are monitored at {whose}; give bounds with --effort")


@contextmanager
def _driver(task: _RunTask, host: str | None) -> Iterator[Driver]:
    """Context with the driver of the task; a simulated robot exists as long as the context."""
    robot, rate = task.robot, task.rate
    if task.is_simulated:
        from minertia.running.simulated import LoopbackDriver, RobotServer, SimulatedRobot
        from minertia.simulation.possible import simulable_robot

        stands_in, notes = simulable_robot(robot)
        for note in notes:
            diagnose(f"note: {note}")
        simulated = SimulatedRobot(stands_in, task.way.at(0.0)[0][0], period=1 / rate)
        with (
            RobotServer(simulated) as server,
            LoopbackDriver(server.address, robot.n, period=1 / rate) as link,
        ):
            yield link
        return
    if host is None:
        raise MinertiaError(f"the driver '{task.driver}' needs the address of the robot; give --host")
    with _remote(task.driver, robot, host, rate) as driver:
        yield driver


def _remote(name: str, robot: Robot, host: str, rate: float) -> Driver:
    if name == "ur":
        from minertia.running.universal import UniversalDriver

        return UniversalDriver(host, robot.n, rate=rate)
    from minertia.running.rosbridge import RosbridgeDriver

    return RosbridgeDriver(host if "://" in host else f"ws://{host}:9090", robot.coordinate_names, rate=rate)


@contextmanager
def _stop_key() -> Iterator[Stop]:
    """Context manager; yields a function that returns whether Enter was pressed, if there is a keyboard.

    Ctrl-C always stops the run.
    """
    if not sys.stdin.isatty() or sys.platform == "win32":
        yield lambda: False
        return
    diagnose("Enter or Ctrl-C stops the robot")
    yield lambda: bool(select.select([sys.stdin], [], [], 0.0)[0])


def _say_rung(log: RungLog) -> None:
    end = f"stopped: {log.aborted}" if log.aborted else f"{log.t[-1]:.1f} s, ended"
    diagnose(f"{100 * log.speed:g} %: {end}")


def _deliver(task: _RunTask, column: str, logs: Sequence[RungLog], place: LogFolder) -> None:
    """Write the logs, complete up to the last row, and the run record; print a summary."""
    from minertia.io.files import folder_at_once, write_file
    from minertia.running.record import FILE, log_csv, log_name, record_of

    record = record_of(task.robot, task.way, task.driver, logs, rate=task.rate, limits=task.limits)
    kept = [log for log in logs if len(log.t)]
    with folder_at_once(place.out, force=place.force) as draft:
        for log in kept:
            write_file(draft / log_name(log.speed), log_csv(log, column))
        write_file(draft / FILE, record.to_toml())
    files = [*(log_name(log.speed) for log in kept), FILE]
    if place.as_json:
        say_json({**record.to_dict(), "files": [str(place.out / file) for file in files]})
    else:
        _say(task.robot, logs, record.aborted)
    for file in files:
        diagnose(f"wrote {place.out / file}")


def _say(robot: Robot, logs: Sequence[RungLog], aborted: str) -> None:
    from minertia.report.tables import Table

    speeds = [f"at {100 * log.speed:g} %" for log in logs]
    errors = [log.largest_error for log in logs]
    rows = tuple((name, *(f"{error[j]:.3g}" for error in errors)) for j, name in enumerate(robot.coordinate_names))
    say_table(
        Table(("joint", *speeds), rows, right=tuple(range(1, len(speeds) + 1))),
        "largest tracking error [rad or m]",
    )
    say(f"Stopped: {aborted}." if aborted else "The trajectory was completed at every speed.")

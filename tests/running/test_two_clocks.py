"""Drivers that lie, break or are of another robot: the run is stopped or refused, and no command is too fast.

This computer's clock is one that the test moves on, so that nothing here depends on how busy a machine is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from minertia import read_robot
from minertia.io.errors import InputError, MinertiaError
from minertia.running import ladder
from minertia.running.driver import Driver, DriverError, JointReading, RobotIdentity
from minertia.running.guard import Guard
from minertia.running.identity import check_identity
from minertia.running.ladder import WATCHDOG, check_first, climb
from tests.running.followers import GUARD, HERE, NAMES, PERIOD, motion

FASTEST = np.abs(motion().at(np.linspace(0, 2, 999))[1]).max(axis=0)
Told = Callable[[float], float]
BAD = 40  # reading in which something goes wrong
FIRST = 0.1  # part of its speed at which a motion begins; of motion(FIRST) that is as fast as motion() is


class Wall:
    """A clock of this computer."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Real(Driver):
    """A robot that follows; each reading takes `wait` of the wall clock and stamps go on by `stamps` of it.

    sent: (time on the wall, position) of each command.
    """

    def __init__(
        self,
        wall: Wall,
        stamps: Callable[[float], float] = lambda t: t,
        wait: Callable[[int], float] = lambda k: PERIOD,
    ) -> None:
        self.period, self.wall, self.stamps, self.wait = PERIOD, wall, stamps, wait
        self.q, self.k, self.stops, self.start = HERE.copy(), 0, 0, wall.now
        self.sent: list[tuple[float, np.ndarray]] = []

    def read(self) -> JointReading | None:
        self.wall.now += self.wait(self.k)
        self.k += 1
        return self.told(JointReading(77.0 + self.stamps(self.wall.now - self.start), self.q.copy(), np.zeros(2)))

    def told(self, reading: JointReading) -> JointReading | None:
        return reading

    def command(self, q, qd):
        self.sent.append((self.wall.now, q))
        self.q = q

    def stop(self):
        self.stops += 1

    def close(self):
        pass

    def fastest_command(self) -> np.ndarray:
        """Largest velocity of the commands over the wall clock, in steps of a tenth of a second."""
        t, q = np.array([t for t, _ in self.sent]), np.array([q for _, q in self.sent])
        later = np.searchsorted(t, t + 0.1)
        ok = later < len(t)
        rates = np.abs(q[later[ok]] - q[ok]) / (t[later[ok]] - t[ok])[:, None]
        return rates.max(axis=0) if ok.any() else np.zeros(2)

    def largest_step(self) -> np.ndarray:
        return np.abs(np.diff([HERE, *(q for _, q in self.sent)], axis=0)).max(axis=0)


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> Wall:
    clock = Wall()
    monkeypatch.setattr(ladder, "monotonic", clock)
    return clock


def bounded(driver: Real, speed: float) -> bool:
    """No step is more than that of a period, and no tenth of a second is faster than the stage."""
    is_step_small = (driver.largest_step() <= speed * FASTEST * PERIOD * 1.001).all()
    return bool(is_step_small and (driver.fastest_command() <= speed * FASTEST * 1.3).all())


# ---------------------------------------------------------------------- two clocks


@pytest.mark.parametrize("speed", [0.1, 1.0])
@pytest.mark.parametrize(
    "stamps, wait, how",
    [
        (lambda t: 8 * t, lambda k: PERIOD, "faster"),
        (lambda t: 8 * t, lambda k: PERIOD / 8, "faster"),  # states come eight times as often, each a period on
        (lambda t: t / 8, lambda k: PERIOD, "slower"),
        (lambda t: 1.3 * t, lambda k: PERIOD, "faster"),
        (lambda t: 1e6 * t, lambda k: PERIOD / 100, "faster"),
        (lambda t: t + (t > 0.4) * 3600, lambda k: PERIOD, "faster"),
        (lambda t: t + 1e-6 * (t > 0.3), lambda k: 0.2 if k == BAD else PERIOD, ""),  # a pause of this computer alone
    ],
    ids=["8", "8, often", "1/8", "1.3", "1e6", "an hour", "a pause"],
)
def test_stamps_are_held_against_this_computers_clock(wall, stamps, wait, how, speed):
    driver = Real(wall, stamps, wait)
    (log,) = climb(driver, motion(FIRST / speed), GUARD, speeds=[FIRST])
    assert bounded(driver, speed)
    assert f"clock runs {how} than this computer's" in log.aborted if how else not log.aborted
    if how:
        assert driver.stops == 1 and len(log.t) < 60, "within half a second"


def test_clocks_with_jitter_and_lost_messages_agree(wall):
    rng = np.random.default_rng(1)
    waits = PERIOD * rng.uniform(0.5, 1.5, 5000)
    lost = set(rng.choice(5000, 100, replace=False))

    class Losing(Real):
        def told(self, reading):
            return None if self.k in lost else reading

    driver = Losing(wall, lambda t: 1.001 * t + 0.004 * np.sin(40 * t), lambda k: waits[k])
    logs = climb(driver, motion(), GUARD, speeds=[0.1, 0.5, 1.0])
    assert not any(log.aborted for log in logs) and bounded(driver, 1.0)
    assert wall.now - driver.start < 1.3 * (20 + 4 + 2 + 0.6), "and the motion is not much slower for it"


def test_a_burst_of_old_states_is_no_reason_to_hurry(wall):
    """Thirty states come at once, after a second without any that the driver waited through."""
    driver = Real(wall, wait=lambda k: PERIOD if k < BAD or k > BAD + 30 else 1e-5)
    driver.stamps = lambda t: PERIOD * driver.k
    (log,) = climb(driver, motion(FIRST), GUARD, speeds=[FIRST])
    assert bounded(driver, 1.0) and "clock runs faster" in log.aborted


@pytest.mark.slow
def test_what_was_lost_is_not_made_up_for_in_a_burst(wall):
    """A clock that is a little slow, as clocks may be, falls behind; then states come at once, a period on each."""
    slow, before, late = 0.985, 4000, 60
    driver = Real(wall, wait=lambda k: 1e-6 if before <= k < before + late else PERIOD)
    driver.stamps = lambda t: PERIOD * (slow * min(driver.k, before) + max(0, driver.k - before))
    go = motion(2 * slow * before * PERIOD)  # the burst comes where it is fastest
    (log,) = climb(driver, motion(FIRST * go.ends[1]), GUARD, speeds=[FIRST])
    fastest = np.abs(go.at(np.linspace(0, go.duration, 999))[1]).max(axis=0)
    burst = [q for t, q in driver.sent if abs(t - driver.start - before * PERIOD) < PERIOD / 2]
    assert not log.aborted and len(burst) > late, "the clocks agree"
    assert (np.abs(burst[-1] - burst[0]) <= 5 * PERIOD * fastest).all(), "a few periods at most, though many came"


@pytest.mark.parametrize(
    "stamp",
    [lambda t, k: t if k < BAD else 0.3, lambda t, k: t if k < BAD else t - 2.0, lambda t, k: -t if k >= BAD else t],
    ids=["stale", "back once", "backwards"],
)
def test_stamps_that_do_not_go_on_are_silence(wall, stamp):
    driver = Real(wall)
    driver.stamps = lambda t: stamp(t, driver.k)
    (log,) = climb(driver, motion(FIRST), GUARD, speeds=[FIRST])
    assert (
        f"reported no new state for {WATCHDOG} periods" in log.aborted and len(driver.sent) <= BAD and driver.stops == 1
    )


def test_a_simulated_robot_says_so_and_keeps_its_own_time(wall):
    driver = Real(wall, lambda t: 50 * t)
    driver.is_simulated = True
    (log,) = climb(driver, motion(FIRST), GUARD, speeds=[FIRST])
    assert not log.aborted and (driver.largest_step() <= FASTEST * PERIOD * 1.001).all()


# ---------------------------------------------------------------------- what a robot tells


@pytest.mark.parametrize(
    "change, said, at",
    [
        (lambda r: r._replace(q=np.zeros(3)), "reports 3 positions for 2 joints", 0),
        (lambda r: r._replace(q=np.zeros((2, 1))), "reports 2 positions for 2 joints", 0),
        (lambda r: r._replace(effort=np.zeros(6)), "reports 6 efforts for 2 joints", 0),
        (lambda r: r._replace(q=np.zeros(1)), "reports 1 positions for 2 joints", BAD),
        (lambda r: r._replace(effort=None), "hip, knee are to be monitored, but the robot does not", 0),
        (lambda r: r._replace(effort=np.array([0, np.nan])), "knee are to be monitored, but the robot does not", 0),
        (lambda r: r._replace(effort=None), "no longer reports efforts", BAD),
        (lambda r: r._replace(effort=np.array([np.inf, 0])), "'hip' reports no effort", BAD),
        (lambda r: r._replace(effort=np.array([0, np.nan])), "'knee' reports no effort", BAD),
        (lambda r: r._replace(q=np.array([np.nan, 0])), "'hip' is at nan", 0),
        (lambda r: r._replace(t=np.inf), "reports no time", BAD),
        (lambda r: r._replace(t=-np.inf), "reports no time", 0),
        (lambda r: "nonsense", "the run failed (AttributeError", BAD),
    ],
)
def test_what_is_guarded_must_be_told(wall, change, said, at):
    driver = Real(wall)
    driver.told = lambda reading: change(reading) if driver.k > at else reading
    (log,) = climb(driver, motion(FIRST), GUARD, speeds=[FIRST])
    assert said in log.aborted and driver.stops == 1 and "\n" not in log.aborted
    assert len(driver.sent) == at and len(log.t) <= at + 1


def test_limits_of_the_file_that_the_robot_does_not_tell_are_named(wall):
    guard = Guard(NAMES, GUARD.error, np.array([5.0, 5.0]), must_tell=False)
    said: list[str] = []
    driver = Real(wall)
    driver.told = lambda reading: reading._replace(effort=np.array([np.nan, 1.0]))
    logs = climb(driver, motion(), guard, speeds=[0.1, 1.0], say=said.append)
    assert not logs[-1].aborted and said == ["the robot does not report the effort of hip, so it is not monitored"]
    driver.told = lambda reading: reading._replace(effort=np.array([np.nan, 6.0]))
    assert "'knee' needs an effort of 6" in climb(driver, motion(FIRST), guard, speeds=[FIRST])[0].aborted


# ---------------------------------------------------------------------- calls that fail


@pytest.mark.parametrize(
    "error", [RuntimeError("no\nroute"), ValueError(), DriverError("gone"), OSError(5, "io"), TypeError("x" * 500)]
)
@pytest.mark.parametrize("call", ["read", "command", "listen", "stop key"])
def test_nothing_that_fails_loses_the_log(wall, error, call):
    """Neither in a driver nor in what listens, and the robot is stopped; a stop that fails, too, is said."""
    driver = Real(wall)

    def broken(*_):
        if len(driver.sent) >= BAD:
            raise error
        return False

    def stop():
        driver.stops += 1
        raise error

    driver.stop = stop
    command, read = driver.command, driver.read
    if call == "command":
        driver.command = lambda q, qd: (broken(), command(q, qd))
    if call == "read":
        driver.read = lambda: broken() or read()
    options = {"listen": broken} if call == "listen" else {"stop": broken} if call == "stop key" else {}
    (log,) = climb(driver, motion(FIRST), GUARD, speeds=[FIRST], **options)
    assert BAD <= len(log.t) <= BAD + 1 and driver.stops == 1
    assert "stopping the robot failed as well" in log.aborted and "press the emergency stop" in log.aborted
    assert len(log.aborted) < 400 and "\n" not in log.aborted


def test_a_listener_that_fails_between_two_speeds_keeps_the_logs(wall):
    def gone(log):
        raise BrokenPipeError("stderr")

    logs = climb(Real(wall), motion(), GUARD, progress=gone)
    assert len(logs) == 1 and "BrokenPipeError" in logs[0].aborted and len(logs[0].t) > 100


def test_a_second_ctrl_c_does_not_get_between_the_robot_and_its_stop(wall):
    driver, presses = Real(wall), []

    def pressed():
        presses.append(1)
        if len(presses) == 1:
            raise KeyboardInterrupt

    driver.stop = pressed
    (log,) = climb(driver, motion(FIRST), GUARD, speeds=[FIRST], stop=lambda: len(driver.sent) == BAD)
    assert log.aborted == "stopped by hand" and len(presses) == 2 and len(log.t) == BAD + 1


# ---------------------------------------------------------------------- caps


def test_bounds_that_guard_nothing_are_refused():
    puma, slide = read_robot("puma560_physical"), read_robot("emps")
    for asked, said in (
        ({"error": 1e6}, "at most 0.5 rad"),
        ({"error": 0.6}, "at most 0.5 rad"),
        ({"error": [0.1, 0.1, 0.1, 0.1, 0.1, 9.0]}, "'j6'.*at most 0.5 rad"),
        ({"error": np.nan}, "finite"),
        ({"error": 0.0}, "positive"),
        ({"effort": 1e6}, "effort limit of 97.6 in the robot file"),
        ({"effort": [np.inf] * 6}, "effort limit of 97.6 in the robot file"),
        ({"effort": [97.6, 186.4, 89.4, 24.2, 20.1, 22.0]}, "'j6' has an effort limit of 21.3"),
        ({"effort": -1.0}, "positive"),
    ):
        with pytest.raises(MinertiaError, match=said):
            Guard.of(puma, **asked)
    with pytest.raises(InputError, match="at most 0.1 m"):
        Guard.of(slide, 0.2)
    with pytest.raises(InputError, match="at most 0.5 rad"):
        Guard(NAMES, 0.51)
    assert Guard.of(puma, 0.5, 20.0).must_tell and not Guard.of(puma).must_tell
    assert Guard.of(puma, None, 200.0, in_amperes=True).effort is not None, "limits in N m bound no currents"


@pytest.mark.parametrize("speeds", [[1.0], [1.0, 0.1], [0.11], [0.5, 1.0]])
def test_a_real_robot_begins_slowly(speeds):
    with pytest.raises(InputError, match="must begin with at most 10 % of the speed.*--speeds 10,50,100"):
        check_first(speeds)
    check_first([0.1, 1.0])


@pytest.mark.parametrize("speeds", [[1.0], [0.11], [0.5, 1.0]])
def test_python_begins_slowly_too(wall, speeds):
    driver = Real(wall)
    with pytest.raises(InputError, match="a real robot must begin with at most 10 % of the speed"):
        climb(driver, motion(), GUARD, speeds=speeds)
    assert not driver.sent and driver.k == 0


@pytest.mark.parametrize(
    "off",
    [pytest.param(0.0099, marks=pytest.mark.slow), 0.004, pytest.param(-0.009, marks=pytest.mark.slow), 2e-4, 0.0],
)
def test_the_first_command_is_where_the_robot_stands(wall, off):
    """A robot near the first posture creeps there, from rest to rest, before the motion begins."""
    driver = Real(wall)
    driver.q = HERE + [off, -off / 2]
    start = driver.q.copy()
    logs = climb(driver, motion(), GUARD, speeds=[0.1, 0.5])
    assert not any(log.aborted for log in logs)
    sent = np.array([start, *(q for _, q in driver.sent)])
    creep = np.abs(np.diff(sent[: 1 + round(abs(off) / 0.02 / PERIOD)], axis=0))
    assert (creep <= 0.02 * PERIOD * 1.001 + 1e-12).all(), "2 cm or 0.02 rad a second"
    assert (np.abs(np.diff(sent, axis=0)).max(axis=0) <= 0.5 * FASTEST * PERIOD * 1.001).all(), "nor any step later"
    if abs(off) > 1e-3:
        second = np.diff(sent[: len(creep)], 2, axis=0) / PERIOD**2
        assert np.abs(second).max() < 0.5, "rad/s2"
    reached = np.abs(sent - HERE).max(axis=1)
    np.testing.assert_allclose(reached[len(creep) * 2 + 2 :].min(), 0, atol=1e-4)


def test_a_robot_that_sags_is_not_told_to_sag_further(wall):
    """The second speed begins from the command that is held, not from where the robot hangs below it."""
    driver = Real(wall)
    driver.told = lambda reading: reading._replace(q=reading.q - 0.008)
    driver.q = HERE + 0.008
    logs = climb(driver, motion(), GUARD, speeds=[0.1, 0.5])
    assert not any(log.aborted for log in logs), logs[-1].aborted
    np.testing.assert_allclose(logs[1].commanded[0], logs[0].commanded[-1], atol=1e-3)


@pytest.mark.parametrize("period", [0.0, -0.01, 1.0, float("nan"), float("inf")])
def test_a_driver_whose_commands_would_be_far_apart(wall, period):
    driver = Real(wall)
    driver.period = period
    with pytest.raises(InputError, match="the command period of a robot must be"):
        climb(driver, motion(), GUARD, speeds=[0.1])


# ---------------------------------------------------------------------- another robot


@pytest.mark.parametrize(
    "found, name, said",
    [
        (RobotIdentity(joints=("a", "b")), "planar2r", "reports joints 'a', 'b', but not 'j1', 'j2'"),
        (RobotIdentity(joints=("j1",)), "planar2r", "but not 'j2'"),
        (RobotIdentity(joints=("j1", "j2"), order=("j2", "j1")), "planar2r", "order j2, j1"),
        (RobotIdentity(order=("j1", "j2", "j3")), "planar2r", "order j1, j2, j3"),
        (RobotIdentity(model="UR5", serial="2019"), "ur10e", "is a UR5, but its file describes 'UR10e"),
        (RobotIdentity(model="UR3e"), "ur10e", "another robot"),
    ],
)
def test_another_robot_is_refused(wall, found, name, said):
    driver = Real(wall)
    driver.identity = lambda: found
    with pytest.raises(MinertiaError, match=said):
        check_identity(driver, read_robot(name))


@pytest.mark.parametrize(
    "found, name, said",
    [
        (RobotIdentity(), "planar2r", "cannot identify the robot that it moves"),
        (RobotIdentity(joints=("gripper", "j2", "j1"), order=("j1", "j2")), "planar2r", "the order of commands"),
        (RobotIdentity(joints=("j1", "j2")), "planar2r", "joints 'j1', 'j2', but not the order of commands"),
        (RobotIdentity(model="UR10", serial="20195500001"), "ur10e", "model UR10, serial number 20195500001$"),
        (RobotIdentity(model="UR10"), "planar2r", "make sure that it is 'planar"),
    ],
)
def test_what_a_driver_can_tell_is_said(wall, found, name, said):
    import re

    driver = Real(wall)
    driver.identity = lambda: found
    assert re.search(said, check_identity(driver, read_robot(name)))

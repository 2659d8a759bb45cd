"""The ladder: every fault ends a run in the period in which it shows, and the log is whole up to there."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from minertia.io.errors import InputError
from minertia.running.driver import JointReading
from minertia.running.guard import Guard
from minertia.running.ladder import SETTLE, WATCHDOG, climb
from tests.running.followers import GUARD, HERE, NAMES, PERIOD, THERE, Follower, Gone, motion

BAD = 60  # period in which something goes wrong


def changed(k_bad, change):
    """A robot that tells `change(reading)` from a period on."""
    return Follower(lambda k, reading: change(reading) if k >= k_bad else reading)


def moved(reading, j, by):
    q = reading.q.copy()
    q[j] += by
    return reading._replace(q=q)


def test_a_robot_that_follows_climbs_to_the_top():
    driver, seen = Follower(lag=3), []
    logs = climb(driver, motion(), GUARD, progress=seen.append)
    assert [log.speed for log in logs] == [0.1, 0.5, 1.0] and not any(log.aborted for log in logs) and seen == logs
    for log in logs:
        lasts = 2.0 / log.speed
        assert log.t[-1] == pytest.approx(lasts + SETTLE, abs=3 * PERIOD)
        np.testing.assert_allclose(np.diff(log.t), PERIOD)
        np.testing.assert_allclose(log.q[[0, -1]], [HERE, HERE], atol=1e-9)
        assert np.abs(log.commanded - THERE).max(axis=1).min() < 0.03
        assert log.effort is not None and log.q.shape == log.commanded.shape == log.effort.shape
    fastest = [np.abs(np.diff(log.commanded, axis=0)).max() for log in logs]
    np.testing.assert_allclose(np.array(fastest) / fastest[-1], [0.1, 0.5, 1.0], rtol=0.02)


def test_a_row_is_a_state_and_the_command_sent_after_it():
    (log,) = climb(Follower(), motion(), GUARD, speeds=[1.0])
    np.testing.assert_allclose(log.q[1:], log.commanded[:-1], atol=1e-12)
    np.testing.assert_allclose(log.commanded[20], motion().at(21 * PERIOD)[0][0], atol=1e-12)
    np.testing.assert_allclose(log.largest_error, 0, atol=1e-12)


@pytest.mark.parametrize(
    "change, said",
    [
        (lambda r: moved(r, 1, 0.11), "joint 'knee' has a tracking error of 0.11"),
        (lambda r: moved(r, 0, -0.06), "joint 'hip' jumped by"),
        (lambda r: r._replace(effort=np.array([0.0, -5.1])), "joint 'knee' needs an effort of -5.1"),
        (lambda r: r._replace(effort=np.array([np.nan, 0])), "joint 'hip' reports no effort"),
        (lambda r: moved(r, 1, np.nan), "joint 'knee' reports no position"),
        (lambda r: r._replace(effort=None), "no longer reports efforts"),
    ],
)
def test_a_fault_ends_the_run_in_the_period_in_which_it_shows(change, said):
    driver = changed(BAD, change)
    logs = climb(driver, motion(), GUARD, speeds=[0.5, 1.0])
    assert len(logs) == 1 and said in logs[0].aborted
    assert driver.stopped_at == BAD and driver.reads == BAD + 1
    assert len(logs[0].t) == BAD + 1, "the log is whole: also the row that shows the fault"
    np.testing.assert_allclose(np.diff(logs[0].t), PERIOD)


@pytest.mark.parametrize("speed", [0.5, 1.0])
@pytest.mark.parametrize("lag", [0, 4])
def test_a_joint_that_sticks_is_seen_in_the_next_period(speed, lag):
    """Long before it is far from its command."""
    k_bad = round(0.5 / speed / PERIOD)  # in full motion
    held = {}

    def stick(k, reading):
        if k < k_bad:
            held["q"] = reading.q[1]
            return reading
        return moved(reading, 1, held["q"] - reading.q[1])

    driver = Follower(stick, lag)
    (log,) = climb(driver, motion(), GUARD, speeds=[speed])
    assert "joint 'knee' stands still" in log.aborted
    assert driver.stopped_at == k_bad
    assert log.largest_error.max() < 0.1


def test_states_that_are_told_twice_are_no_standstill_and_a_robot_that_stands_is():
    """A robot that publishes on its own tells a state again before the next command comes; not twice."""
    told = {}

    def again(k, reading):
        told[k] = reading.q if k % 7 else told.get(k - 1, reading.q)
        return reading._replace(q=told[k])

    (log,) = climb(Follower(again), motion(), GUARD, speeds=[1.0])
    assert not log.aborted
    driver = Follower(
        lambda k, reading: reading._replace(q=told.setdefault("held", reading.q)) if k >= BAD else reading
    )
    (log,) = climb(driver, motion(), GUARD, speeds=[1.0])
    assert "stands still" in log.aborted and driver.stopped_at <= BAD + 2


def test_coarse_encoders_and_standstill_are_no_faults():
    """Steps of 3 mrad, and a motion that rests in the middle."""
    step = 3e-3
    driver = Follower(lambda k, r: r._replace(q=np.round(r.q / step) * step), lag=3)
    logs = climb(driver, motion(), GUARD, speeds=[0.1, 0.3, 1.0])
    assert not any(log.aborted for log in logs), logs[-1].aborted


@pytest.mark.slow
def test_a_noisy_encoder_is_no_fault():
    rng = np.random.default_rng(4)
    driver = Follower(lambda k, r: r._replace(q=r.q + rng.normal(size=2) * 1e-3), lag=2)
    assert not any(log.aborted for log in climb(driver, motion(), GUARD))


@pytest.mark.parametrize("tells", [lambda r: None, lambda r: r._replace(t=1.0)], ids=["nothing", "no new"])
def test_a_silent_robot_is_stopped_by_the_watchdog(tells):
    driver = changed(BAD, tells)
    (log,) = climb(driver, motion(), GUARD, speeds=[1.0])
    assert "reported no new state for 5 periods (50 ms)" in log.aborted
    assert driver.reads == BAD + WATCHDOG and WATCHDOG <= 5
    assert driver.stopped_at == BAD and len(log.t) == BAD


def test_a_few_lost_messages_are_no_silence():
    """And the motion goes on from where it was: by at most a period at once."""
    lost = set(range(50, 50 + WATCHDOG - 1)) | {80, 90}
    count = {"reads": 0}

    def lose(k, reading):
        count["reads"] += 1
        return None if count["reads"] in lost else reading._replace(t=5.0 + count["reads"] * PERIOD)

    (log,) = climb(Follower(lose), motion(), GUARD, speeds=[1.0])
    assert not log.aborted
    way = np.abs(np.diff(log.commanded, axis=0)).max(axis=0)
    assert (way <= PERIOD * np.abs(motion().at(np.linspace(0, 2, 999))[1]).max(axis=0) * 1.001).all()


def test_a_robot_silent_from_the_start():
    driver = changed(0, lambda r: None)
    (log,) = climb(driver, motion(), GUARD, speeds=[1.0])
    assert "reported no new" in log.aborted and len(log.t) == 0 and driver.k == 0


def test_a_robot_that_stands_elsewhere_gets_no_command():
    driver = changed(0, lambda r: moved(r, 1, 0.02))
    (log,) = climb(driver, motion(), GUARD, speeds=[1.0])
    assert "joint 'knee' is at -0.18, but the trajectory begins at -0.2" in log.aborted and driver.k == 0


def test_a_person_stops_it():
    driver, asked = Follower(), []

    def stop():
        asked.append(driver.k)
        return driver.k == BAD

    logs = climb(driver, motion(), GUARD, stop=stop)
    assert logs[0].aborted == "stopped by hand" and driver.stopped_at == BAD and len(logs) == 1
    assert asked == list(range(1, BAD + 1)), "asked once a period"


def test_ctrl_c_stops_the_robot_and_keeps_the_log():
    def interrupted(reading):
        raise KeyboardInterrupt

    driver = changed(BAD, interrupted)
    (log,) = climb(driver, motion(), GUARD, speeds=[1.0])
    assert log.aborted == "stopped by hand" and driver.stopped_at == BAD and len(log.t) == BAD


def test_a_connection_that_ends_keeps_the_log():
    driver = Gone(BAD)
    (log,) = climb(driver, motion(), GUARD, speeds=[1.0])
    assert log.aborted.startswith("the robot closed the connection; stopping the robot failed as well")
    assert len(log.t) == BAD and driver.stopped_at == BAD


def test_a_fault_of_the_program_stops_the_robot_and_keeps_the_log():
    def broken(reading):
        raise ZeroDivisionError

    driver = changed(BAD, broken)
    (log,) = climb(driver, motion(), GUARD, speeds=[1.0])
    assert log.aborted == "the run failed (ZeroDivisionError)" and driver.stopped_at == BAD == len(log.t)
    with pytest.raises(SystemExit):
        climb(changed(BAD, lambda reading: sys.exit(3)), motion(), GUARD, speeds=[1.0])


@pytest.mark.parametrize("from_period", [0, BAD])
def test_a_robot_without_a_clock_gets_no_more_commands(from_period):
    driver = changed(from_period, lambda r: r._replace(t=float("nan")))
    (log,) = climb(driver, motion(), GUARD, speeds=[1.0])
    assert log.aborted == "the robot reports no time" and driver.stopped_at == driver.k == len(log.t) == from_period
    assert np.isfinite(log.commanded).all()


def test_ctrl_c_between_two_speeds_keeps_the_logs():
    driver, seen = Follower(), []

    def told(log):
        seen.append(log)
        if len(seen) == 2:
            raise KeyboardInterrupt

    logs = climb(driver, motion(), GUARD, progress=told)
    assert [log.aborted for log in logs] == ["", "stopped by hand"] and driver.stopped_at is not None
    assert len(logs[1].t) == len(seen[1].t)


def test_joints_without_a_bound_leave_the_others_watched():
    guard = Guard(("hip", "knee"), np.array([0.1, 0.1]), np.array([np.inf, 5.0]))
    assert guard.unwatched == ("hip",) and Guard(("hip", "knee"), 0.1).unwatched == ("hip", "knee")
    driver = changed(BAD, lambda r: r._replace(effort=np.array([1e6, -5.1])))
    (log,) = climb(driver, motion(), guard, speeds=[1.0])
    assert "joint 'knee' needs an effort of -5.1" in log.aborted
    with pytest.raises(Exception, match="finite number"):
        Guard(("hip", "knee"), 0.1, np.inf)


@pytest.mark.parametrize("speeds", [[], [0.0], [1.1], [0.5, float("nan")]])
def test_speeds_nobody_runs_at(speeds):
    with pytest.raises(InputError, match="fractions of the trajectory's own speed"):
        climb(Follower(), motion(), GUARD, speeds=speeds)


@pytest.mark.parametrize("error", [0.0, -1.0, float("inf"), [0.1, 0.1, 0.1]])
def test_bounds_nobody_means(error):
    with pytest.raises(Exception, match="error"):
        Guard(("a", "b"), error)


def test_states_without_efforts_are_recorded_without():
    driver = Follower(lambda k, r: JointReading(r.t, r.q))
    (log,) = climb(driver, motion(), Guard(NAMES, GUARD.error), speeds=[1.0])
    assert log.effort is None and not log.aborted

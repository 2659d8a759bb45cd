"""What an audit says, and what a repair does: each trap planted in a clean motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from minertia.dynamics.model import inverse_dynamics
from minertia.identification.audits.audit import audit, worst
from minertia.identification.logs.recording import Recording
from minertia.identification.logs.repair import moving_range, repaired
from minertia.io.errors import RecordingError
from tests.identification.logs import chain, motion, recorded
from tests.random_robots import random_robot

ROBOT = chain("RR", limit=3.0)


def checks(recording: Recording, robot=None) -> dict[str, tuple]:
    return {f.check: (f.level, f.channel, f.row, f.text) for f in audit(recording, robot)}


def test_clean_motion_has_nothing_but_a_rate():
    found = audit(recorded())
    assert [f.check for f in found] == ["rate"]
    assert found[0].text.startswith("200 Hz, uniformly sampled") and worst(found) == "info"


def test_jitter_repeats_and_gaps():
    m = motion()
    t = m["t"] + 0.001 * (np.arange(2000) % 2)
    t[500] = t[499]
    t[1000:] += 0.02
    found = checks(Recording(t, m["q"], m["tau"]))
    assert "non-uniformly sampled" in found["jitter"][3]
    assert found["repeated stamps"][:3] == ("info", "t", 501)
    assert found["gaps"][2] == 1000 and "the longest 24 ms" in found["gaps"][3]


def test_time_that_goes_back():
    m = motion()
    t = np.concatenate([m["t"][:1000], m["t"][:1000]])
    found = checks(Recording(t, m["q"], m["tau"]))
    assert found["backward stamps"][0] == "error" and found["backward stamps"][2] == 1001
    assert "two logs" in found["backward stamps"][3]
    with pytest.raises(RecordingError, match="row 1001: time goes back by"):
        repaired(Recording(t, m["q"], m["tau"]))


def test_degrees():
    m = motion()
    found = audit(Recording(m["t"], np.rad2deg(m["q"]), m["tau"]), ROBOT)
    assert [f.channel for f in found if f.check == "degrees" and f.level == "error"] == ["q1", "q2"]
    assert "degrees" not in checks(Recording(m["t"], m["q"], m["tau"]), ROBOT)


def test_a_clock_that_does_not_count_seconds():
    m = motion(2)
    found = [f for f in audit(Recording(1e3 * m["t"], m["q"], m["tau"])) if f.check == "clock"]
    assert [f.level for f in found] == ["error"] and "a sample every 5 s" in found[0].text
    assert "clock" not in checks(Recording(m["t"], m["q"], m["tau"]), ROBOT)


def test_velocities_in_degrees():
    m = motion()
    found = checks(recorded(qd=np.rad2deg(m["qd"])))
    assert "one of the two is in degrees" in found["qd inconsistent"][3]


def test_accelerations_that_are_not():
    m = motion()
    assert "qdd inconsistent" in checks(recorded(qdd=1.3 * m["qdd"]))
    assert "qdd inconsistent" not in checks(recorded())


def test_saturation_spikes_and_constant_effort():
    m = motion()
    tau = np.clip(m["tau"], -2.0, None)
    found = checks(recorded(tau=tau))
    assert found["saturation"][1] == "tau1" or found["saturation"][1] == "tau2"
    assert "the smallest value -2" in found["saturation"][3]
    tau = m["tau"].copy()
    tau[700, 1] += 40
    assert checks(recorded(tau=tau))["spikes"][:3] == ("warning", "tau2", 701)
    tau = m["tau"].copy()
    tau[:, 0] = 1.5
    assert checks(recorded(tau=tau))["constant"][:2] == ("error", "tau1")


def test_stuck_channel_and_joint_that_does_not_move():
    m = motion()
    q = m["q"].copy()
    q[1010:1060, 0] = q[1010, 0]
    found = checks(Recording(m["t"], q, m["tau"]))
    assert found["stuck"][1] == "q1" and found["stuck"][2] == 1011
    q = m["q"].copy()
    q[:, 1] = 0.3
    assert checks(Recording(m["t"], q, m["tau"]))["constant"][1] == "q2"


def test_quantisation():
    m = motion()
    found = checks(Recording(m["t"], np.round(m["q"] / 0.002) * 0.002, m["tau"]))
    assert "quantised at 0.002" in found["quantisation"][3]


def test_short_log():
    m = {name: values[:15] for name, values in motion().items()}
    assert checks(Recording(m["t"], m["q"], m["tau"]))["length"][0] == "error"


def test_positions_outside_the_limits():
    m = motion()
    assert checks(Recording(m["t"], m["q"] + 2.5, m["tau"]), ROBOT)["limits"][0] == "warning"


@pytest.mark.parametrize("late", [0.03, -0.02, 0.0, 0.15, -0.2])
def test_delay_is_estimated(late: float):
    robot = random_robot(3, n=3)
    m = motion(3, seconds=20.0)
    tau = inverse_dynamics(robot, m["q"], m["qd"], m["qdd"])
    noise = 1e-3 * np.random.default_rng(0).normal(size=tau.shape) * np.abs(tau).max(0)
    logged = np.column_stack([np.interp(m["t"] - late, m["t"], x) for x in tau.T]) + noise
    found = checks(Recording(m["t"], m["q"], logged), robot)
    if late == 0:
        assert "delay" not in found
    else:
        stated = float(found["delay"][3].split("delay = ")[1])
        assert stated == pytest.approx(late, abs=0.002)


def test_a_delay_beyond_what_is_looked_for_is_told_as_such():
    robot = random_robot(3, n=3)
    m = motion(3, seconds=20.0)
    tau = inverse_dynamics(robot, m["q"], m["qd"], m["qdd"])
    logged = np.column_stack([np.interp(m["t"] - 0.6, m["t"], x) for x in tau.T])
    told = checks(Recording(m["t"], m["q"], logged), robot)["delay"][3]
    assert "lag the positions by 500 ms or more, the longest delay tried" in told


def still(m: dict[str, np.ndarray], before: int, after: int) -> Recording:
    """A motion with standstill around it."""
    t = np.arange(len(m["t"]) + before + after) / 200
    hold = lambda x: np.concatenate([np.repeat(x[:1], before, 0), x, np.repeat(x[-1:], after, 0)])  # noqa: E731
    return Recording(t, hold(m["q"]), hold(m["tau"]))


def test_standstill_is_told_and_cut():
    recording = still(motion(), 300, 500)
    assert "1.4" in checks(recording)["standstill"][3]
    part = repaired(recording)
    assert abs(part.first_row - 301) < 25 and abs(part.duration - 10) < 0.2
    assert "standstill removed" in part.notes[-1]
    assert len(repaired(recording, standstill=False)) == len(recording)


def test_the_approach_is_not_part_of_the_motion():
    recording = still(motion(), 600, 300)
    q = recording.q.copy()
    q[:100] -= 0.2 * np.linspace(1, 0, 100)[:, None]
    first, _ = moving_range(replace(recording, q=q))
    assert abs(first - 600) < 25


def test_repairs_are_named_and_nothing_else_is_done():
    m = motion()
    clean = Recording(m["t"], m["q"], m["tau"])
    assert repaired(clean) is clean
    rng = np.random.default_rng(1)
    t = np.sort(m["t"] + 0.001 * rng.uniform(size=2000))
    t[10] = t[9]
    uneven = Recording(t, *(np.column_stack([np.interp(t, m["t"], x) for x in m[s].T]) for s in ("q", "tau")))
    even = repaired(uneven)
    assert [note.split(" ")[0] for note in even.notes] == ["1", "resampled"]
    assert np.ptp(np.diff(even.t)) < 1e-9
    inner = (even.t > 0.1) & (even.t < 9.9)
    w = 2 * np.pi * np.array([0.2, 0.3])
    np.testing.assert_allclose(even.q[inner], np.sin(np.outer(even.t[inner], w)), atol=1e-4)


def test_wide_gaps_are_not_bridged():
    m = motion()
    t = m["t"] + 3.0 * (np.arange(2000) >= 800)
    with pytest.raises(RecordingError, match=r"column 't', row 800: a gap of 3 s follows"):
        repaired(Recording(t, m["q"], m["tau"]))
